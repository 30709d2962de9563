"""Bounds of exponentials, logarithms and powers of rational numbers, and of losses.

Sums, products and comparisons are those of `fractions.Fraction`, without any rounding. `decimal` rounds its exp and ln
correctly, so that the next number with that many digits is a bound.

    loss                value                             conjugate, on its domain
    hinge               max(0, m)                         margin y u                  y u in [-1, 0],  m = margin - y z
    squared_hinge       max(0, m)^2 / 2                   margin y u + u^2 / 2        y u <= 0
    power_hinge         max(0, 1 - y z)^p / p             y u + |u|^q / q             y u <= 0,  1/p + 1/q = 1
    smoothed_hinge      as a Moreau envelope of hinge     y u + gamma u^2 / 2         y u in [-1, 0]
    logistic            log(1 + exp(-y z))                s log s + (1-s) log(1-s)    s = -y u in [0, 1]
    exponential         exp(-y z)                         s log s - s                 s >= 0
    squared             (z - y)^2 / 2                     u y + u^2 / 2
    absolute            |z - y|                           u y                         |u| <= 1
    quantile            max(tau (y-z), (1-tau) (z-y))     u y                         u in [-tau, 1 - tau]
    epsilon_insensitive max(0, |z - y| - eps)^p / p       u y + eps |u| + |u|^q / q   |u| <= 1 if p = 1
    huber               r^2/2, or delta |r| - delta^2/2   u y + u^2 / 2               |u| <= delta
    poisson             exp(z) - y z + y log y - y        t log t - t - y log y + y   t = u + y >= 0
    novelty             max(0, 1 - z)                     u                           u in [-1, 0]
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from fenchel import losses

DIGITS = 40
DOWN, UP = (
    decimal.Context(prec=DIGITS, rounding=rounding, Emin=-400, Emax=400, traps=[])
    for rounding in (decimal.ROUND_FLOOR, decimal.ROUND_CEILING)
)
LARGEST = 900  # an exponent beyond which e^x counts as infinite, and below the negative of which as e^-900
HALF, ONE, ZERO = Fraction(1, 2), Fraction(1), Fraction(0)
Number = Fraction | None  # None: infinity


def exp_above(x: Fraction) -> Number:
    """At least e^x; None if it is huge."""
    if x > LARGEST:
        return None
    return Fraction(UP.next_plus(UP.exp(_decimal(max(x, Fraction(-LARGEST)), UP))))


def log_above(x: Fraction) -> Fraction:
    """At least log x, for x > 0."""
    return Fraction(UP.next_plus(UP.ln(_decimal(x, UP))))


def log_below(x: Fraction) -> Fraction:
    """At most log x, for x > 0."""
    return Fraction(DOWN.next_minus(DOWN.ln(_decimal(x, DOWN))))


def power_above(x: Fraction, p: Fraction) -> Number:
    """At least x^p, for x >= 0 and p > 0."""
    if x == 0 or p == 1:
        return x
    return x * x if p == 2 else exp_above(p * log_above(x))


def _decimal(x: Fraction, context: decimal.Context) -> decimal.Decimal:
    """A number rounded in the direction of the context."""
    return context.divide(decimal.Decimal(x.numerator), decimal.Decimal(x.denominator))


def x_log_x_above(x: Fraction) -> Fraction:
    """At least x log x, for x >= 0."""
    return x * log_above(x) if x > 0 else ZERO


class Exact(NamedTuple):
    """Of a loss: upper bounds of its value at z and of its conjugate at u, and the domain of the conjugate (None: no end)."""

    value: Callable[[Any, Fraction, Fraction], Number]
    conjugate: Callable[[Any, Fraction, Fraction], Number]
    domain: Callable[[Any, Fraction], tuple[Number, Number]]


def _signed(low: Number) -> Callable[[Any, Fraction], tuple[Number, Number]]:
    """The domain y u in [low, 0]."""
    return lambda loss, y: (low, ZERO) if y > 0 else (ZERO, None if low is None else -low)


def _about_zero(size: Callable[[Any], Number]) -> Callable[[Any, Fraction], tuple[Number, Number]]:
    def domain(loss: Any, y: Fraction) -> tuple[Number, Number]:
        top = size(loss)
        return (None, None) if top is None else (-top, top)

    return domain


def _powered(loss: Any, x: Fraction) -> Number:
    p = Fraction(loss.p)
    found = power_above(x, p)
    return None if found is None else found / p


def _dual_power(loss: Any, u: Fraction) -> Number:
    """|u|^q / q."""
    q = Fraction(loss.p) / (Fraction(loss.p) - 1)
    found = power_above(abs(u), q)
    return None if found is None else found / q


def _plus(a: Number, b: Fraction) -> Number:
    return None if a is None else a + b


def _smoothed_hinge(loss: Any, z: Fraction, y: Fraction) -> Fraction:
    m, gamma = max(ZERO, 1 - y * z), Fraction(loss.gamma)
    return m * m / (2 * gamma) if m <= gamma else m - gamma / 2


def _logistic(loss: Any, z: Fraction, y: Fraction) -> Number:
    m = y * z
    small = exp_above(-abs(m))
    assert small is not None
    return max(-m, ZERO) + log_above(1 + small)


def _logistic_conjugate(loss: Any, u: Fraction, y: Fraction) -> Fraction:
    s = -y * u
    return x_log_x_above(s) + x_log_x_above(1 - s)


def _huber(loss: Any, z: Fraction, y: Fraction) -> Fraction:
    r, delta = abs(z - y), Fraction(loss.delta)
    return r * r / 2 if r <= delta else delta * (r - delta / 2)


def _poisson(loss: Any, z: Fraction, y: Fraction) -> Number:
    return _plus(exp_above(z), x_log_x_above(y) - y * z - y)


def _poisson_conjugate(loss: Any, u: Fraction, y: Fraction) -> Fraction:
    t = u + y
    return x_log_x_above(t) - t - (y * log_below(y) if y > 0 else ZERO) + y


def _tube_conjugate(loss: Any, u: Fraction, y: Fraction) -> Number:
    linear = u * y + Fraction(loss.epsilon) * abs(u)
    return linear if loss.p == 1.0 else _plus(_dual_power(loss, u), linear)


EXACT: dict[type, Exact] = {
    losses.Absolute: Exact(lambda f, z, y: abs(z - y), lambda f, u, y: u * y, _about_zero(lambda f: ONE)),
    losses.EpsilonInsensitive: Exact(
        lambda f, z, y: _powered(f, max(ZERO, abs(z - y) - Fraction(f.epsilon))), _tube_conjugate,
        _about_zero(lambda f: ONE if f.p == 1.0 else None),
    ),
    losses.Exponential: Exact(lambda f, z, y: exp_above(-y * z), lambda f, u, y: x_log_x_above(-y * u) + y * u, _signed(None)),
    losses.Hinge: Exact(
        lambda f, z, y: max(ZERO, Fraction(f.margin) - y * z), lambda f, u, y: Fraction(f.margin) * y * u, _signed(-ONE)
    ),
    losses.Huber: Exact(_huber, lambda f, u, y: u * y + u * u / 2, _about_zero(lambda f: Fraction(f.delta))),
    losses.Logistic: Exact(_logistic, _logistic_conjugate, _signed(-ONE)),
    losses.Novelty: Exact(lambda f, z, y: max(ZERO, 1 - z), lambda f, u, y: u, lambda f, y: (-ONE, ZERO)),
    losses.Poisson: Exact(_poisson, _poisson_conjugate, lambda f, y: (-y, None)),
    losses.PowerHinge: Exact(
        lambda f, z, y: _powered(f, max(ZERO, 1 - y * z)), lambda f, u, y: _plus(_dual_power(f, u), y * u), _signed(None)
    ),
    losses.Quantile: Exact(
        lambda f, z, y: max(Fraction(f.tau) * (y - z), (1 - Fraction(f.tau)) * (z - y)), lambda f, u, y: u * y,
        lambda f, y: (-Fraction(f.tau), 1 - Fraction(f.tau)),
    ),
    losses.SmoothedHinge: Exact(
        _smoothed_hinge, lambda f, u, y: y * u + Fraction(f.gamma) * u * u / 2, _signed(-ONE)
    ),
    losses.Squared: Exact(lambda f, z, y: (z - y) ** 2 / 2, lambda f, u, y: u * y + u * u / 2, lambda f, y: (None, None)),
    losses.SquaredHinge: Exact(
        lambda f, z, y: max(ZERO, Fraction(f.margin) - y * z) ** 2 / 2,
        lambda f, u, y: Fraction(f.margin) * y * u + u * u / 2, _signed(None),
    ),
}  # fmt: skip
