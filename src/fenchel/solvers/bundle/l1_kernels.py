"""A compiled simplex method for the linear programs of bundle methods with L1.

    max over a >= 0, sum a = 1 of   c'a   with |(A a)_j| <= limit_j for every j

A basis is a set of planes and of one tight coordinate (with its side) less. A new plane leaves the last basis feasible, so
that few pivots follow; every point on the way is feasible and its value a bound. The inverse of the basis matrix, whose first
row is that of the sum and whose others are the tight coordinates' entries of A, is updated: O(k^2) for k planes in the basis,
and O(k d) for the coordinates. The multipliers y of the tight coordinates give the point w = -y that minimises the model
max_j <A_j, w> + c_j + sum_j limit_j |w_j|.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.solvers.bundle.settings import SETTINGS

ROUNDING, SMALL_PIVOT = SETTINGS.simplex_rounding, SETTINGS.min_pivot_ratio


@kernel
def box_program(rows, c, limit, coords, planes, tight, sides, inverse, k, a, w, tol, max_pivots):
    """Improve the basis of k tight coordinates in place -> (new k, how far c'a is from the maximum at most).

    rows[i] is plane i, `coords` the coordinates that can be tight. `a` and `w` are set: weights of the planes, and the point.
    k = -1: the basis is not feasible or its matrix is singular.
    """
    m, d = rows.shape
    is_tight = np.zeros(d, dtype=np.bool_)
    basic = np.zeros(m, dtype=np.bool_)
    for t in range(k):
        is_tight[tight[t]] = True
    for i in range(k + 1):
        basic[planes[i]] = True
    if not begin(rows, limit, planes, tight, sides, inverse, k, a):
        return -1, math.inf
    v, dv, y = np.zeros(d), np.zeros(d), np.empty(inverse.shape[0])
    x = np.empty(inverse.shape[0])
    combine(rows, coords, planes, k, a, v)
    left = math.inf
    for _ in range(max_pivots + 1):
        left, plane, row = multipliers(rows, c, limit, planes, tight, sides, inverse, k, a, basic, y)
        if left <= tol or (plane < 0 and row < 0):
            break
        direction(rows, coords, planes, tight, sides, inverse, k, plane, row, x, dv)
        opposite = 2.0 * limit[tight[row]] if row >= 0 else math.inf
        step, leaving, joining, side = ratio_test(limit, coords, planes, k, a, v, dv, x, is_tight, opposite)
        if step == math.inf:
            break
        for i in range(k + 1):
            a[planes[i]] = max(a[planes[i]] + step * x[i], 0.0)
        if plane >= 0:
            a[plane] += step
        for q in range(coords.size):
            v[coords[q]] += step * dv[coords[q]]
        if row >= 0 and leaving < 0 and joining < 0:  # from one side of the box to the other
            sides[row] = -sides[row]
        elif plane >= 0 and leaving >= 0:
            basic[planes[leaving]], basic[plane] = False, True
            a[planes[leaving]] = 0.0
            planes[leaving] = plane
            replace_plane(inverse, k, leaving, x)
        elif plane >= 0:
            basic[plane], is_tight[joining] = True, True
            extend(rows, planes, tight, inverse, k, plane, joining, x, y)
            sides[k] = side
            k += 1
        elif leaving >= 0:
            basic[planes[leaving]], is_tight[tight[row]] = False, False
            a[planes[leaving]] = 0.0
            shrink(planes, tight, sides, inverse, k, leaving, row)
            k -= 1
        else:
            is_tight[tight[row]], is_tight[joining] = False, True
            replace_row(rows, planes, inverse, k, row, joining, y)
            tight[row], sides[row] = joining, side
    w[:] = 0.0
    for t in range(k):
        w[tight[t]] = -y[t + 1]
    return k, left


@kernel
def begin(rows, limit, planes, tight, sides, inverse, k, a):
    """Set the weights that the basis has; a drifted inverse is recomputed. False: there is none, or weights are negative."""
    for attempt in range(2):
        a[:] = 0.0
        for i in range(k + 1):
            total = inverse[i, 0]
            for t in range(k):
                total += inverse[i, t + 1] * (sides[t] * limit[tight[t]])
            a[planes[i]] = total
        if residual(rows, limit, planes, tight, sides, k, a) <= ROUNDING:
            break
        if attempt == 1 or not invert(rows, planes, tight, inverse, k):
            return False
    for i in range(k + 1):
        if not a[planes[i]] >= -10.0 * ROUNDING:
            return False
        a[planes[i]] = max(a[planes[i]], 0.0)
    return True


@kernel
def residual(rows, limit, planes, tight, sides, k, a):
    """How far the sum of the weights is from 1, and the tight coordinates from their limits, relative to them."""
    worst = -1.0
    for i in range(k + 1):
        worst += a[planes[i]]
    worst = abs(worst)
    for t in range(k):
        value = 0.0
        for i in range(k + 1):
            value += a[planes[i]] * rows[planes[i], tight[t]]
        worst = max(worst, abs(value - sides[t] * limit[tight[t]]) / limit[tight[t]])
    return worst if worst == worst else math.inf


@kernel
def invert(rows, planes, tight, inverse, k):
    """inverse = that of the basis matrix, by elimination with row pivots; False if it is singular."""
    n = k + 1
    M = np.empty((n, 2 * n))
    for r in range(n):
        for i in range(n):
            M[r, i] = 1.0 if r == 0 else rows[planes[i], tight[r - 1]]
            M[r, n + i] = 1.0 if r == i else 0.0
    for p in range(n):
        best = p
        for r in range(p + 1, n):
            if abs(M[r, p]) > abs(M[best, p]):
                best = r
        pivot = M[best, p]
        if not abs(pivot) > 0.0:
            return False
        for i in range(2 * n):
            M[best, i], M[p, i] = M[p, i], M[best, i] / pivot
        for r in range(n):
            factor = M[r, p]
            if r != p and factor != 0.0:
                for i in range(2 * n):
                    M[r, i] -= factor * M[p, i]
    for r in range(n):
        for i in range(n):
            inverse[r, i] = M[r, n + i]
    return True


@kernel
def combine(rows, coords, planes, k, weights, out):
    """out_j = sum over the planes of the basis of weight rows_j, for the coordinates that can be tight."""
    for q in range(coords.size):
        out[coords[q]] = 0.0
    for i in range(k + 1):
        weight = weights[planes[i]]
        if weight != 0.0:
            for q in range(coords.size):
                out[coords[q]] += weight * rows[planes[i], coords[q]]


@kernel
def multipliers(rows, c, limit, planes, tight, sides, inverse, k, a, basic, y):
    """(how far c'a is from the maximum at most, the plane that shall enter or -1, the place of the coordinate that shall leave
    its limit or -1); y = c'M^-1."""
    for t in range(k + 1):
        y[t] = 0.0
    value = 0.0
    for i in range(k + 1):
        value += a[planes[i]] * c[planes[i]]
        for t in range(k + 1):
            y[t] += c[planes[i]] * inverse[i, t]
    norm, gain, row = 0.0, 0.0, -1
    for t in range(k):
        size = limit[tight[t]]
        norm += size * abs(y[t + 1])
        if -sides[t] * y[t + 1] * size > gain:
            gain, row = -sides[t] * y[t + 1] * size, t
    top, plane = -math.inf, -1
    for p in range(c.size):
        height = c[p]
        for t in range(k):
            height -= y[t + 1] * rows[p, tight[t]]
        if height > top:
            top = height
        if not basic[p] and height - y[0] > gain:
            gain, plane, row = height - y[0], p, -1
    return max(top, y[0]) + norm - value, plane, row


@kernel
def direction(rows, coords, planes, tight, sides, inverse, k, plane, row, x, dv):
    """x = the change of the weights of the basis when a plane enters, or a coordinate leaves its limit; dv that of A a."""
    for i in range(k + 1):
        if plane >= 0:
            total = inverse[i, 0]
            for t in range(k):
                total += inverse[i, t + 1] * rows[plane, tight[t]]
            x[i] = -total
        else:
            x[i] = -sides[row] * inverse[i, row + 1]
    for q in range(coords.size):
        dv[coords[q]] = rows[plane, coords[q]] if plane >= 0 else 0.0
    for i in range(k + 1):
        for q in range(coords.size):
            dv[coords[q]] += x[i] * rows[planes[i], coords[q]]


@kernel
def ratio_test(limit, coords, planes, k, a, v, dv, x, is_tight, opposite):
    """(step, the place of the plane whose weight ends at 0 or -1, the coordinate that becomes tight or -1, its side).

    Of those that end within rounding of each other, the one with the largest pivot; `opposite`: the longest step of a
    coordinate that leaves its limit.
    """
    most = opposite
    for i in range(k + 1):
        if x[i] < -SMALL_PIVOT:
            most = min(most, (a[planes[i]] + ROUNDING) / -x[i])
    for q in range(coords.size):
        j = coords[q]
        if not is_tight[j] and abs(dv[j]) > SMALL_PIVOT * limit[j]:
            room = limit[j] * (1.0 + ROUNDING) - (v[j] if dv[j] > 0.0 else -v[j])
            most = min(most, max(room, ROUNDING * limit[j]) / abs(dv[j]))
    step, leaving, joining, side, pivot = most, -1, -1, 0.0, 0.0
    if most == math.inf or most == opposite:
        return step, leaving, joining, side
    for i in range(k + 1):
        if x[i] < -SMALL_PIVOT and -x[i] > pivot and a[planes[i]] / -x[i] <= most:
            pivot, leaving, step = -x[i], i, a[planes[i]] / -x[i]
    for q in range(coords.size):
        j = coords[q]
        if not is_tight[j] and abs(dv[j]) > max(SMALL_PIVOT, pivot) * limit[j]:
            room = limit[j] - (v[j] if dv[j] > 0.0 else -v[j])
            if room / abs(dv[j]) <= most:
                pivot, leaving, joining, step = abs(dv[j]) / limit[j], -1, j, max(room, 0.0) / abs(dv[j])
                side = 1.0 if dv[j] > 0.0 else -1.0
    return step, leaving, joining, side


@kernel
def replace_plane(inverse, k, leaving, x):
    """The inverse after a plane, whose column times the inverse is -x, has taken a place."""
    pivot = -x[leaving]
    for t in range(k + 1):
        inverse[leaving, t] /= pivot
    for i in range(k + 1):
        if i != leaving and x[i] != 0.0:
            for t in range(k + 1):
                inverse[i, t] += x[i] * inverse[leaving, t]


@kernel
def extend(rows, planes, tight, inverse, k, plane, joining, x, y):
    """The basis with a plane and a coordinate more: x is minus the plane's column times the inverse; y is overwritten."""
    n = k + 1
    corner = rows[plane, joining]
    for t in range(n):
        y[t] = 0.0
    for i in range(n):
        entry = rows[planes[i], joining]
        corner += entry * x[i]
        for t in range(n):
            y[t] += entry * inverse[i, t]
    for i in range(n):
        for t in range(n):
            inverse[i, t] -= x[i] * y[t] / corner
        inverse[i, n] = x[i] / corner
    for t in range(n):
        inverse[n, t] = -y[t] / corner
    inverse[n, n] = 1.0 / corner
    planes[n], tight[k] = plane, joining


@kernel
def shrink(planes, tight, sides, inverse, k, leaving, row):
    """The basis without a plane and a coordinate: the last ones take their places."""
    at = row + 1
    pivot = inverse[leaving, at]
    for i in range(k + 1):
        if i != leaving:
            factor = inverse[i, at] / pivot
            for t in range(k + 1):
                inverse[i, t] -= factor * inverse[leaving, t]
    for t in range(k + 1):
        inverse[leaving, t] = inverse[k, t]
    for i in range(k):
        inverse[i, at] = inverse[i, k]
    planes[leaving] = planes[k]
    tight[row], sides[row] = tight[k - 1], sides[k - 1]


@kernel
def replace_row(rows, planes, inverse, k, row, joining, y):
    """The inverse after a coordinate has taken the place of another; y is overwritten."""
    n, at = k + 1, row + 1
    for t in range(n):
        y[t] = 0.0
    for i in range(n):
        entry = rows[planes[i], joining]
        for t in range(n):
            y[t] += entry * inverse[i, t]
    for i in range(n):
        inverse[i, at] /= y[at]
        for t in range(n):
            if t != at:
                inverse[i, t] -= y[t] * inverse[i, at]
