"""What all constraint sets have in common: R is 0 on a closed convex set and inf outside, so there is no strength."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from fenchel.regularizers.base import Regularizer

ROUNDING = 16.0 * 2.0**-52  # relative, by which a sum or a norm may exceed its bound: what convex combinations round to


@dataclass(frozen=True, eq=False)
class ConstraintSet(Regularizer):
    """The base of regularizers that are 0 on a set and inf outside; alpha is fixed, as a multiple of them is the same.

    >>> from fenchel.regularizers import L2Ball
    >>> isinstance(L2Ball(3.0), ConstraintSet), L2Ball(3.0).scaled(7.0)
    (True, L2Ball(radius=3.0))
    """

    alpha: float = field(init=False, default=1.0)

    __repr__ = Regularizer.__repr__

    def __post_init__(self) -> None:
        self._set(alpha=1.0)

    @classmethod
    def example(cls, dim: int) -> Self:
        """That with default parameters."""
        return cls()

    def scaled(self, alpha: float) -> Self:
        """The same: a multiple of 0 and inf."""
        return self


def is_within(size: float, bound: float) -> bool:
    """size <= bound up to rounding.

    >>> is_within(1.0 + 1e-15, 1.0), is_within(1.0 + 1e-14, 1.0)
    (True, False)
    """
    return size <= bound * (1.0 + ROUNDING)


def refit(x: Any, size: float, bound: float) -> Any:
    """x times bound / size where size > bound: removes what a projection exceeds its bound by, through rounding."""
    return x * (bound / size) if size > bound else x
