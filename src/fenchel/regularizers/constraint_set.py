"""The base of constraint sets: R is 0 on a closed convex set and inf outside, so there is no strength."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.numerics import positive

ROUNDING = 16.0 * 2.0**-52  # relative, by which a sum or a norm may exceed its bound: what convex combinations round to


@dataclass(frozen=True, eq=False, repr=False)
class ConstraintSet(Regularizer):
    """The base of regularizers that are 0 on a set and inf outside; alpha is fixed, as a multiple of them is the same.

    >>> from fenchel.regularizers import L2Ball
    >>> isinstance(L2Ball(3.0), ConstraintSet), L2Ball(3.0).scaled(7.0)
    (True, L2Ball(radius=3.0))
    """

    alpha: float = field(init=False, default=1.0)

    def __post_init__(self) -> None:
        self._set(alpha=1.0)

    @classmethod
    def example(cls, dim: int) -> Self:
        """An example with default parameters."""
        return cls()

    def scaled(self, alpha: float) -> Self:
        """The set itself, because multiples of 0 and inf are the same."""
        return self


@dataclass(frozen=True, eq=False, repr=False)
class Ball(ConstraintSet):
    """The base of the sets on which a norm is at most `radius`."""

    radius: float = 1.0
    tex_where: ClassVar[str] = "ι 0 where its condition holds, else infinite; r the radius"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(radius=positive("radius", self.radius))


def is_within(size: float, bound: float) -> bool:
    """size <= bound up to rounding.

    >>> is_within(1.0 + 1e-15, 1.0), is_within(1.0 + 1e-14, 1.0)
    (True, False)
    """
    return size <= bound * (1.0 + ROUNDING)


def refit(x: Any, size: float, bound: float) -> Any:
    """x times bound / size if size > bound: removes the rounding error by which a projection exceeds its bound."""
    return x * (bound / size) if size > bound else x
