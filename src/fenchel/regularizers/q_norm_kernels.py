"""The loops of the prox of `QNorm`: a root for each coefficient inside of a root for the norm."""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.compile.kernel import kernel
from fenchel.regularizers.numerics import Vector

HUGE = 1e300
TINY = 1e-300
MAX_STEPS = 100  # of each root; 5 to 10 are taken as a rule
LOG_RANGE = 200.0  # how far below |w|_q the logarithm of the norm of a prox is searched
LOG_WIDTH = 1e-15  # of the bracket of that logarithm, at the end


@helper
def convex_root(size: float, factor: float, exponent: float) -> float:
    """x >= 0 with x + factor x^exponent = size, exponent >= 1, by Newton's method from above."""
    if factor < TINY:
        return size
    x = min(size, (size / factor) ** (1.0 / exponent))
    for _ in range(MAX_STEPS):
        following = x - (x + factor * x**exponent - size) / (1.0 + factor * exponent * x ** (exponent - 1.0))
        if not following < x:
            break
        x = max(following, 0.0)
    return x


@kernel
def log_excess(log_norm: float, size: Vector, factor: float, q: float, power: float, x: Vector) -> float:
    """log |x|_q - log N, with x_j + factor N^(power - q) x_j^(q - 1) = size_j: it falls with N."""
    along = min(factor * np.exp(log_norm * (power - q)), HUGE)
    exponent, total = q - 1.0, 0.0
    for j in range(size.size):
        if exponent >= 1.0 or along < TINY:
            x[j] = convex_root(size[j], along, exponent)
        else:  # in x^exponent, in which the equation is convex
            x[j] = convex_root(size[j] / along, 1.0 / along, 1.0 / exponent) ** (1.0 / exponent)
        total += x[j] ** q
    return np.log(max(total, TINY)) / q - log_norm


@kernel
def q_norm_prox(size: Vector, factor: float, q: float, power: float, log_size: float, x: Vector) -> None:
    """x >= 0 with x_j + factor N^(power - q) x_j^(q - 1) = size_j and N = |x|_q; log_size = log |size|_q.

    The root in log N is bracketed, then found by false position with halved end values (Illinois).
    """
    high, low = log_size + 1e-9, log_size - 1.0
    at_low = log_excess(low, size, factor, q, power, x)
    while at_low < 0.0 and low > log_size - LOG_RANGE:
        high, low = low, log_size - 2.0 * (log_size - low)
        at_low = log_excess(low, size, factor, q, power, x)
    if not at_low > 0.0:
        return
    at_high, side = log_excess(high, size, factor, q, power, x), 0
    for _ in range(MAX_STEPS):
        middle = (at_high * low - at_low * high) / (at_high - at_low)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        here = log_excess(middle, size, factor, q, power, x)
        if here == 0.0 or high - low <= LOG_WIDTH * (1.0 + abs(middle)):
            break
        if here > 0.0:
            low, at_low = middle, here
            at_high = 0.5 * at_high if side > 0 else at_high
            side = 1
        else:
            high, at_high = middle, here
            at_low = 0.5 * at_low if side < 0 else at_low
            side = -1
        if not low < 0.5 * (low + high) < high:
            break
