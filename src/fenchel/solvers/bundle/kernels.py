"""A compiled active-set method for quadratic programs over the probability simplex.

    min over a >= 0, sum a = 1 of   1/2 a'Ga - c'a

On the simplex 1/2 a'Ga and 1/2 a'Ma with M = G + shift 11' differ by a constant, and M is positive definite on every set of
affinely independent planes. The Cholesky factor of M on the support is kept while coordinates enter and leave, so that a
step costs O(k^2) for a support of k coordinates, and O(m k) for the gradient of all m.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.compile.kernel import kernel


@kernel
def active_set(G, c, a, tol, max_steps, shift, ridge):
    """Improve a, feasible, until <gradient, a> - min gradient <= tol; returns that gap, which tells whether it did.

    A step adds the coordinate with the least gradient to the support and moves to the minimum over its face; a coordinate
    that reaches 0 on the way leaves. `ridge` is the least square of a pivot: along a direction without curvature the minimum
    over the face is then far away, and the step ends where a coordinate leaves. There are at most `max_steps` such steps.
    """
    m = c.size
    L = np.zeros((m, m))
    support = np.empty(m, dtype=np.int64)
    inside = np.zeros(m, dtype=np.bool_)
    x, e = np.empty(m), np.empty(m)
    k = 0
    for j in range(m):
        if a[j] > 0.0:
            append_row(G, L, support, k, j, shift, ridge)
            inside[j] = True
            k += 1
    gradient = np.empty(m)
    gap = np.inf
    fresh = True  # whether the point may not be the minimum over its face
    for _ in range(max_steps):
        if not fresh:
            gap, entering = gradient_and_gap(G, c, a, support, k, gradient)
            if gap <= tol or inside[entering]:
                return gap
            append_row(G, L, support, k, entering, shift, ridge)
            inside[entering] = True
            k += 1
        leaving = face_step(L, c, a, support, k, x, e)
        if leaving == k:
            break
        fresh = leaving >= 0
        if fresh:
            j = support[leaving]
            a[j] = 0.0
            inside[j] = False
            remove_row(L, support, k, leaving)
            k -= 1
    return gradient_and_gap(G, c, a, support, k, gradient)[0]


@kernel
def gradient_and_gap(G, c, a, support, k, gradient):
    """(<gradient, a> - min gradient, the index of the minimum) for the gradient Ga - c, which is stored."""
    m = c.size
    for j in range(m):
        gradient[j] = -c[j]
    for t in range(k):
        i = support[t]
        weight = a[i]
        for j in range(m):
            gradient[j] += weight * G[i, j]
    mean, least, where = 0.0, np.inf, 0
    for t in range(k):
        mean += a[support[t]] * gradient[support[t]]
    for j in range(m):
        if gradient[j] < least:
            least, where = gradient[j], j
    return mean - least, where


@kernel
def append_row(G, L, support, k, j, shift, ridge):
    """Extend the factor of M on the support's first k coordinates by coordinate j."""
    pivot = G[j, j] + shift
    for r in range(k):
        value = G[support[r], j] + shift
        for t in range(r):
            value -= L[r, t] * L[k, t]
        L[k, r] = value / L[r, r]
        pivot -= L[k, r] * L[k, r]
    L[k, k] = math.sqrt(max(pivot, ridge))
    support[k] = j


@kernel
def remove_row(L, support, k, at):
    """Remove place `at` from the support and its factor; rotations of columns restore the triangle."""
    for r in range(at, k - 1):
        support[r] = support[r + 1]
        for t in range(r + 2):
            L[r, t] = L[r + 1, t]
    for t in range(at, k - 1):
        length = math.hypot(L[t, t], L[t, t + 1])
        cosine, sine = L[t, t] / length, L[t, t + 1] / length
        L[t, t], L[t, t + 1] = length, 0.0
        for r in range(t + 1, k - 1):
            left, right = L[r, t], L[r, t + 1]
            L[r, t] = cosine * left + sine * right
            L[r, t + 1] = cosine * right - sine * left


@kernel
def face_step(L, c, a, support, k, x, e):
    """Move a to the minimum over the face of the support, or as far as it stays feasible: the place that has reached 0, or -1.

    The minimum is M^-1 c + nu M^-1 1 with the nu that makes its sum 1. The weights are scaled to sum 1 against drift. Where
    the planes of the support depend on each other so much that the solution overflows: k, and a stays as it was.
    """
    for r in range(k):
        left, right = c[support[r]], 1.0
        for t in range(r):
            left -= L[r, t] * x[t]
            right -= L[r, t] * e[t]
        x[r], e[r] = left / L[r, r], right / L[r, r]
    sum_x, sum_e = 0.0, 0.0
    for r in range(k - 1, -1, -1):
        for t in range(r + 1, k):
            x[r] -= L[t, r] * x[t]
            e[r] -= L[t, r] * e[t]
        x[r] /= L[r, r]
        e[r] /= L[r, r]
        sum_x += x[r]
        sum_e += e[r]
    nu = (1.0 - sum_x) / sum_e
    step, leaving = 1.0, -1
    for r in range(k):
        here = a[support[r]]
        direction = x[r] + nu * e[r] - here
        if not math.isfinite(direction):
            return k
        if here + step * direction < 0.0:
            step, leaving = here / -direction, r
    total = 0.0
    for r in range(k):
        j = support[r]
        a[j] = max(a[j] + step * (x[r] + nu * e[r] - a[j]), 0.0)
        total += a[j]
    for r in range(k):
        a[support[r]] /= total
    return leaving
