"""Arithmetic that survives extreme scales: products whose intermediate results neither overflow nor underflow.

A regularizer multiplies alpha, squares of scales and sums. In plain floats 1e-300 * (1e200)^2 is inf and
(1e-170)^2 / 1e-300 is 0, although both true values are ordinary numbers; a dual value that loses R*(v) to underflow
would claim too much. Mantissas and exponents are therefore multiplied apart and joined once at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.errors import InputError

Vector = NDArray[np.float64]
TINY, HUGE = 1e-280, 1e280  # far from where numbers lose digits

# Overflow to inf is a legal answer here and no news to the user; NaN is excluded by construction and by the tests.
quiet = np.errstate(all="ignore")


def vector(x: ArrayLike) -> Vector:
    """x as float64, without a copy where it already is.

    >>> vector([1, 2]).dtype
    dtype('float64')
    """
    return np.asarray(x, dtype=np.float64)


def number(name: str, value: object) -> float:
    """A finite real number as a float, or an InputError that names the argument.

    >>> number("alpha", 1)
    1.0
    """
    if isinstance(value, Real) and not isinstance(value, (bool, np.bool_)):
        result = float(value) + 0.0  # -0.0 becomes 0.0: equal parameters have equal bytes
        if math.isfinite(result):
            return result
    raise InputError(f"{name} must be a finite number, got {value!r}.")


def positive(name: str, value: object) -> float:
    """A finite number > 0 as a float, or an InputError that names the argument.

    >>> positive("alpha", 0)
    Traceback (most recent call last):
    fenchel.errors.InputError: alpha must be > 0 and finite, got 0.
    """
    if isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) and 0.0 < float(value) < math.inf:
        return float(value)
    raise InputError(f"{name} must be > 0 and finite, got {value!r}.")


def _split(factors: tuple[float, ...], over: tuple[float, ...]) -> tuple[float, int]:
    mantissa, exponent = 1.0, 0
    for factor in factors:
        m, e = math.frexp(factor)
        mantissa, exponent = mantissa * m, exponent + e
    for factor in over:
        m, e = math.frexp(factor)
        mantissa, exponent = mantissa / m, exponent - e
    m, e = math.frexp(mantissa)
    return m, exponent + e


def product(*factors: float, over: tuple[float, ...] = ()) -> float:
    """prod(factors) / prod(over), rounded as if the exponent range were unlimited until the last step.

    >>> product(1e-300, 1e200, 1e200), product(1e-170, 1e-170, over=(1e-300,))
    (1e+100, 1e-40)
    """
    value = 1.0
    for factor in factors:
        value *= factor
        if not TINY < abs(value) < HUGE:
            return _far_product(factors, over)
    for factor in over:
        value /= factor
        if not TINY < abs(value) < HUGE:
            return _far_product(factors, over)
    return value  # with the same roundings: they do not depend on exponents within the range


def _far_product(factors: tuple[float, ...], over: tuple[float, ...]) -> float:
    mantissa, exponent = _split(factors, over)
    try:
        return math.ldexp(mantissa, exponent)
    except OverflowError:
        return math.copysign(math.inf, mantissa)


@quiet
def rescale(x: Vector, *factors: float, over: tuple[float, ...] = ()) -> Vector:
    """x * prod(factors) / prod(over); zeros stay zero even where the factor itself overflows.

    >>> rescale(np.array([0.0, 1e-200]), 1e300, 1e300, over=(1e200,))
    array([0.e+000, 1.e+200])
    """
    mantissa, exponent = _split(factors, over)
    return np.ldexp(x * mantissa, exponent)


def largest(x: Vector) -> float:
    """max_j |x_j|, 0 for an empty vector.

    >>> largest(np.array([1.0, -3.0]))
    3.0
    """
    return float(np.max(np.abs(x), initial=0.0))


def unit(x: Vector) -> tuple[Vector, float]:
    """(x / s, s) with s = max_j |x_j|; (x, 0) for x = 0.

    >>> unit(np.array([2.0, -4.0]))
    (array([ 0.5, -1. ]), 4.0)
    """
    scale = largest(x)
    return (x / scale, scale) if scale > 0.0 else (x, 0.0)


@quiet
def norm(x: Vector) -> float:
    """|x|_2, without overflow or underflow of the squares.

    >>> norm(np.array([3e200, 0.0]))
    3e+200
    """
    square = float(np.vdot(x, x))
    if TINY < square < HUGE:
        return math.sqrt(square)
    shape, scale = unit(x)
    return scale * math.sqrt(float(np.vdot(shape, shape)))


def round_into(scale: float, is_inside: Callable[[float], bool]) -> float:
    """A scale that is inside: the given one less as many roundings as it takes, 0 at last.

    >>> round_into(1.0 / 3.0, lambda c: 3.0 * c < 1.0)
    0.33333333333333326
    """
    shrinkage = 2.0**-52
    while scale > 0.0 and not is_inside(scale):
        scale = scale * (1.0 - shrinkage) if shrinkage < 1.0 else 0.0
        shrinkage *= 2.0
    return scale


def half_square(x: Vector, *factors: float, over: tuple[float, ...] = ()) -> float:
    """1/2 |x|^2 prod(factors) / prod(over).

    >>> half_square(np.array([3.0, 4.0]), 2.0), half_square(np.array([1e200]), 1e-300)
    (25.0, 5e+99)
    """
    square = float(np.vdot(x, x))
    if 1e-280 < square < 1e280:  # nothing that matters was lost inside the sum
        return product(0.5, square, *factors, over=over)
    return _extreme_half_square(x, factors, over)


@quiet
def _extreme_half_square(x: Vector, factors: tuple[float, ...], over: tuple[float, ...]) -> float:
    scale = largest(x)
    if not math.isfinite(scale) or scale == 0.0:
        return scale
    shape = x / scale
    return product(0.5, float(np.vdot(shape, shape)), scale, scale, *factors, over=over)


@quiet
def soft_threshold(x: Vector, threshold: float | Vector) -> Vector:
    """sign(x) max(|x| - threshold, 0), the prox of threshold |x|_1.

    >>> soft_threshold(np.array([3.0, -0.5]), 1.0)
    array([ 2., -0.])
    """
    return np.copysign(np.maximum(np.abs(x) - threshold, 0.0), x)


def symmetric(H: Vector) -> Vector:
    """(H + H') / 2: removes the rounding asymmetry of a matrix that is symmetric by its formula.

    >>> symmetric(np.array([[1.0, 2.0], [4.0, 1.0]]))
    array([[1., 3.],
           [3., 1.]])
    """
    return 0.5 * (H + H.T)
