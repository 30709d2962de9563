"""The dual step of the cost-sensitive hinge when the classes have different weights in its constraint."""

from __future__ import annotations

from fenchel.compile.dispatch import helper
from fenchel.multiclass.transfers import clear

MAX_TRIES = 100
EPSILON = 2.0**-52


@helper
def cost_step(c, weight, g, y, out):
    """out = the u that maximises <c, b> - g/2 (|b|^2 + S^2), b >= 0, S = sum b, sum_j weight_j b_j <= 1; c is overwritten.

    g b_j = (c_j - p weight_j - x)_+ with x = g S, and p >= 0 the multiplier of the constraint. p is measured downwards from
    the largest P = c_r / weight_r at which some b_j > 0: p = P - s, so that c_j - p weight_j = (c_j - P weight_j) + s weight_j
    keeps its accuracy. For class r alone the constraint is tight at s = 2 g / weight_r^2, which bounds the root. For each s,
    x is found by a finite search; the sum in the constraint increases with s and is linear while the same b_j are positive.
    """
    price, r = 0.0, y
    for j in range(c.size):
        if j != y and c[j] > price * weight[j]:
            price, r = c[j] / weight[j], j
    clear(out)
    if r == y:
        return
    for j in range(c.size):
        c[j] = c[j] - price * weight[j] if j != r else 0.0
    low, high = 0.0, min(price, 2.0 * g / (weight[r] * weight[r]))
    s = high
    x = 0.5 * weight[r] * s
    for attempt in range(MAX_TRIES):
        x, count, weights, squares, used = level(c, weight, s, x, y)
        if used > g:
            high = s
        else:
            low = s
        if low == high or abs(used - g) <= EPSILON * g or high - low <= EPSILON * high:
            break
        newton = s + (g - used) / (squares - weights * weights / (count + 1))
        newton = newton if low < newton < high and attempt % 4 != 3 else 0.5 * (low + high)
        x = max(0.5 * weight[r] * newton, x + (newton - s) * weights / (count + 1))  # a tangent: x is convex in s
        s = newton
    for j in range(c.size):
        if j != y:
            out[j] = max(0.0, c[j] + s * weight[j] - x) / g
            out[y] -= out[j]


@helper
def level(c, weight, s, x, y):
    """x with sum (c_j + s weight_j - x)_+ = x, j != y -> (x, #, sum weight, sum weight^2, sum weight (c + s weight - x)).

    The sums are over the positive terms. Newton's steps from an x on the left increase to the root of a convex function.
    """
    before = -1
    while True:  # x does not decrease, so count decreases or this returns: at most c.size rounds
        count, total, weights, squares, products = 0, 0.0, 0.0, 0.0, 0.0
        for j in range(c.size):
            excess = c[j] + s * weight[j]
            if excess > x and j != y:
                count += 1
                total += excess
                weights += weight[j]
                squares += weight[j] * weight[j]
                products += weight[j] * (excess - x)
        if count == before or count == 0:
            return x, count, weights, squares, products
        before = count
        x = max(x, total / (count + 1))
