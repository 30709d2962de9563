"""Array parameters of losses of several scores: frozen copies, equality and hashing by type and content."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fenchel.compile.dispatch import helper
from fenchel.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class ByContent:
    """Mixin for a NamedTuple with array fields. A plain tuple would equal any loss with the same numbers."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        pairs = zip(self, other, strict=True)  # type: ignore[call-overload]
        return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        fields = (f.tobytes() if isinstance(f, np.ndarray) else f for f in self)  # type: ignore[attr-defined]
        return hash((type(self).__name__, *fields))


def frozen(name: str, values: ArrayLike, ndim: int) -> NDArray[np.float64]:
    """A contiguous read-only copy, finite and of the right number of dimensions."""
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InputError(f"{name} must be an array of numbers, got {values!r}") from None
    if array.ndim != ndim or array.size == 0:
        raise InputError(f"{name} must be a {ndim}-dimensional array of numbers, got shape {array.shape}")
    if not np.isfinite(array).all():
        place = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
        raise InputError(f"{name} must be finite, but {name}{place} = {array[tuple(place)]}")
    array.setflags(write=False)
    return array


def rank_weights(rho: ArrayLike) -> NDArray[np.float64]:
    """rho_1 >= rho_2 >= ... >= 0, rho_1 > 0."""
    array = frozen("rho", rho, 1)
    if array[0] <= 0.0:
        raise InputError(f"rho[0], the largest weight, must be positive, got {array[0]}")
    if array.min() < 0.0:
        i = int(np.argmax(array < 0.0))
        raise InputError(f"rho must not be negative, but rho[{i}] = {array[i]}")
    rising = np.diff(array) > 0.0
    if rising.any():
        i = int(np.argmax(rising))
        raise InputError(f"rho must not increase, but rho[{i}] = {array[i]} < rho[{i + 1}] = {array[i + 1]}: sort it")
    return array


def rank_count(k: ArrayLike) -> int:
    """k = 1, 2, ..."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise InputError(f"k must be an integer, got {k!r}")
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}")
    return int(k)


@helper
def equal_weights(k):
    """rho = 1/k at the first k ranks."""
    rho = np.empty(k)
    for i in range(k):
        rho[i] = 1.0 / k
    return rho


def fits(m: int, name: str, length: int) -> int:
    """m, after checking that there are at least `length` classes besides the true one."""
    if length > m - 1:
        raise InputError(
            f"{name} must be less than the number of classes, {m}, got {length}: "
            f"at most {m - 1} classes can be ranked above the true one"
        )
    return m
