"""Defaults for a custom loss of several scores: the number of scores, and whether its slopes jump."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.errors import InputError
from fenchel.multiclass.check import require_methods
from fenchel.multiclass.classes import class_count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.multiclass.protocol import VectorLoss

LINES, HALVINGS = 24, 40
JUMP = 1e-5  # slopes jump if this fraction of their change along a line remains when the line has become short
STILL = 1e-4  # changes below this fraction of the slopes may be rounding errors


def outputs(loss: VectorLoss, y: np.ndarray) -> int:
    """The number of scores: as the loss declares it, else the number of columns of y, or of its classes."""
    if hasattr(loss, "outputs"):
        return int(loss.outputs(y))
    require_methods(loss)
    if np.ndim(y) == 2:
        if np.shape(y)[1] == 0:
            raise InputError("y must have at least one column")
        return int(np.shape(y)[1])
    return class_count(y)


def smoothness(loss: Any, m: int, targets: Any) -> float | None:
    """As the loss declares it; else None if its slopes jump on one of several random lines of scores, inf if not."""
    if hasattr(loss, "smoothness"):
        return loss.smoothness()
    rng = np.random.default_rng(1)
    centres = [np.asarray(y, dtype=float) if np.ndim(y) else np.zeros(m) for y in targets]
    sizes = np.tile([0.5, 3.0, 20.0], LINES // 3)
    with np.errstate(all="ignore"):
        lines = [
            (y, centre + size * rng.standard_normal((2, m)))
            for y, centre in zip(targets, centres, strict=True)
            for size in sizes
        ]
        steepest = max(float(np.abs(_slopes(loss, z, y)).max()) for y, ends in lines for z in ends)
        return None if any(_jumps(loss, ends[0], ends[1], y, steepest) for y, ends in lines) else np.inf


def _slopes(loss: VectorLoss, z: np.ndarray, y: ArrayLike) -> np.ndarray:
    out = np.empty(z.size)
    loss.slopes(z, y, out)
    return out


def _jumps(loss: VectorLoss, a: np.ndarray, b: np.ndarray, y: ArrayLike, steepest: float) -> bool:
    """Bisect towards the half of the line in which the slopes change more; True if a jump remains."""
    left, right = _slopes(loss, a, y), _slopes(loss, b, y)
    whole = float(np.abs(right - left).max())
    for _ in range(HALVINGS):
        middle = 0.5 * (a + b)
        u = _slopes(loss, middle, y)
        if np.abs(u - left).max() >= np.abs(right - u).max():
            b, right = middle, u
        else:
            a, left = middle, u
    return float(np.abs(right - left).max()) > JUMP * max(whole, STILL * steepest)
