"""Sums over the pairs of rows of different levels: losses of score differences, their slopes and Hessian-vector products.

A pair of a higher row j and a lower row i costs C φ(m) with the margin m = z_j - z_i and C a number for their two levels:

    hinge           max(0, 1 - m)            squared hinge   max(0, 1 - m)^2 / 2            logistic   log(1 + e^-m)

For the hinges a pair counts if z_i + 1/2 > z_j - 1/2. In the order of the scores these rows form a window that only grows,
so one sweep over the higher rows and one over the lower rows find all sums per level: O(n K) for K levels, after the sort.
Both compare the same two numbers, so they agree on every pair. The sums of 1 - m and of its square are updated by terms that
are all positive, so no digits cancel. The logistic loss has no such form; its pairs are visited one by one.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.compile.kernel import kernel

HINGE, SQUARED_HINGE, LOGISTIC = 0, 1, 2


@kernel
def hinge_pairs(z, level, cost, squared, slope):
    """The sum over pairs of sorted scores; `slope` is overwritten with its derivative."""
    n, K = z.size, cost.shape[0]
    count, first, second = np.zeros(K), np.zeros(K), np.zeros(K)
    value, p = 0.0, n - 1
    for j in range(n - 1, -1, -1):  # the higher rows of pairs, from the top
        if j < n - 1:
            widen(count, first, second, z[j + 1] - z[j])
        while p >= 0 and z[p] + 0.5 > z[j] - 0.5:  # p falls
            take_in(count, first, second, level[p], 1.0 - z[j] + z[p])
            p -= 1
        a, share = level[j], 0.0
        for b in range(a):
            share += cost[a, b] * (first[b] if squared else count[b])
            value += cost[a, b] * (0.5 * second[b] if squared else first[b])
        slope[j] = 0.0 - share
    count[:], first[:], p = 0.0, 0.0, 0
    for i in range(n):  # the lower rows, from the bottom
        if i > 0:
            widen(count, first, second, z[i] - z[i - 1])
        while p < n and z[p] - 0.5 < z[i] + 0.5:  # p rises
            take_in(count, first, second, level[p], 1.0 + z[i] - z[p])
            p += 1
        for a in range(level[i] + 1, K):
            slope[i] += cost[a, level[i]] * (first[a] if squared else count[a])
    return value


@kernel
def widen(count, first, second, shift):
    """Every pair of the window falls short by `shift` more: update the sums of t and t^2, t = 1 - m."""
    for b in range(count.size):
        second[b] += shift * (2.0 * first[b] + shift * count[b])
        first[b] += shift * count[b]


@kernel
def take_in(count, first, second, b, t):
    """A row of level b enters the window with t = 1 - m."""
    count[b] += 1.0
    first[b] += t
    second[b] += t * t


@kernel
def squared_hinge_product(z, level, cost, d, out):
    """out = (Hessian of the squared hinge at sorted scores z) d."""
    n, K = z.size, cost.shape[0]
    count, total = np.zeros(K), np.zeros(K)
    p = n - 1
    for j in range(n - 1, -1, -1):
        while p >= 0 and z[p] + 0.5 > z[j] - 0.5:  # p falls
            count[level[p]] += 1.0
            total[level[p]] += d[p]
            p -= 1
        a, product = level[j], 0.0
        for b in range(a):
            product += cost[a, b] * (count[b] * d[j] - total[b])
        out[j] = product
    count[:], total[:], p = 0.0, 0.0, 0
    for i in range(n):
        while p < n and z[p] - 0.5 < z[i] + 0.5:  # p rises
            count[level[p]] += 1.0
            total[level[p]] += d[p]
            p += 1
        for a in range(level[i] + 1, K):
            out[i] += cost[a, level[i]] * (count[a] * d[i] - total[a])


@kernel
def logistic_pairs(z, level, cost, slope):
    """As `hinge_pairs`, for the logistic loss; scores in any order."""
    n = z.size
    slope[:] = 0.0
    value = 0.0
    for j in range(n):
        for i in range(n):
            if level[i] < level[j]:
                c, m = cost[level[j], level[i]], z[j] - z[i]
                e = math.exp(-abs(m))
                value += c * (math.log1p(e) + max(-m, 0.0))
                share = c * (e if m > 0.0 else 1.0) / (1.0 + e)
                slope[j] -= share
                slope[i] += share
    return value


@kernel
def logistic_product(z, level, cost, d, out):
    """As `squared_hinge_product`, for the logistic loss."""
    n = z.size
    out[:] = 0.0
    for j in range(n):
        for i in range(n):
            if level[i] < level[j]:
                e = math.exp(-abs(z[j] - z[i]))
                product = cost[level[j], level[i]] * e / ((1.0 + e) * (1.0 + e)) * (d[j] - d[i])
                out[j] += product
                out[i] -= product
