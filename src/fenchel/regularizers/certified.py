"""Custom regularizers in certificates: their conjugate is compared with their values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fenchel.errors import InputError
from fenchel.regularizers import derived
from fenchel.regularizers.base import Regularizer, inner_regularizers, is_trusted
from fenchel.regularizers.numerics import Vector


class _Tested:
    """R with checks: R*(v) >= v'w - R(w) at many w, including the given point, and `dual_scale` in [0, 1]."""

    def __init__(self, regularizer: Regularizer, point: Vector):
        self.regularizer, self.point = regularizer, np.asarray(point, dtype=np.float64)
        self.alpha = regularizer.alpha

    def value(self, w: ArrayLike) -> float:
        return float(self.regularizer.value(w))

    def dual_scale(self, v: ArrayLike) -> float:
        scale = float(self.regularizer.dual_scale(v))
        if not 0.0 <= scale <= 1.0:
            raise InputError(
                f"dual_scale of {type(self.regularizer).__name__} is {scale!r}: it must lie between 0 and 1"
            )
        return scale

    def conjugate(self, v: ArrayLike) -> float:
        """R*(v); InputError if a w proves that it is larger."""
        v = np.asarray(v, dtype=np.float64)
        bound = float(self.regularizer.conjugate(v))
        if bound == np.inf or not np.isfinite(v).all():
            return np.inf
        known = np.isfinite(bound)
        w = derived.counterexample(self.regularizer, v, bound, [self.point]) if known else None
        if w is not None or not known:
            raise InputError(_too_small(self.regularizer, v, bound, w))
        return bound


def _too_small(regularizer: Regularizer, v: Vector, bound: float, w: Vector | None) -> str:
    name = type(regularizer).__name__
    source = "conjugate" if has_conjugate(regularizer) else "prox (from which the conjugate is derived)"
    if w is None:
        return f"{source} of {name} is {bound} at some v: no certificate can be given"
    return (
        f"{source} of {name} is wrong: R*(v) is {bound:.6g}, but v'w - value(w) = {float(v @ w - regularizer.value(w)):.6g} "
        "at a w of "
        f"largest entry {float(np.max(np.abs(w))):.6g}, so that a lower bound from it would be wrong. No certificate can be "
        f"given; fenchel.regularizers.check(regularizer, dim={v.size}) lists what is wrong"
    )


def has_conjugate(regularizer: Regularizer) -> bool:
    """Whether the class, and those of inner regularizers, define `conjugate`, so that it is not derived."""
    own = type(regularizer).conjugate is not Regularizer.conjugate
    return own and all(map(has_conjugate, inner_regularizers(regularizer)))


def certified_regularizer(regularizer: Regularizer, point: Vector) -> Any:
    """The regularizer for the certificate of `point`: built-in ones unchanged, custom ones with checks.

    >>> from fenchel.regularizers import L2
    >>> certified_regularizer(L2(0.5), np.zeros(2))
    L2(alpha=0.5)
    """
    return regularizer if is_trusted(regularizer) else _Tested(regularizer, point)


def resting_on(words: str, regularizer: Regularizer) -> str:
    """The addition to the basis of a dual value for a custom regularizer: R* as given or derived."""
    if is_trusted(regularizer):
        return words
    return words + ("; R* as given" if has_conjugate(regularizer) else "; R* from prox")
