"""What a loss of several scores need not say: the number of scores, and whether its slopes jump."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.errors import InputError
from fenchel.multiclass.check import require_methods
from fenchel.multiclass.classes import class_count

LINES, HALVINGS = 24, 40
JUMP = 1e-5  # of the slopes' change along a line that is left when the line has become short
STILL = 1e-4  # of the slopes, below which their change may be rounding


def outputs(loss: Any, y: np.ndarray) -> int:
    """The number of scores: what the loss says, else the columns of y, or its classes."""
    if hasattr(loss, "outputs"):
        return int(loss.outputs(y))
    require_methods(loss)
    if np.ndim(y) == 2:
        if np.shape(y)[1] == 0:
            raise InputError("y must have at least one column")
        return int(np.shape(y)[1])
    return class_count(y)


def smoothness(loss: Any, m: int, targets: Any) -> float | None:
    """What the loss says; else None if its slopes jump somewhere on some lines of scores, inf if they do not."""
    if hasattr(loss, "smoothness"):
        return loss.smoothness()
    rng = np.random.default_rng(1)
    for y in targets:
        centre = np.asarray(y, dtype=float) if np.ndim(y) else np.zeros(m)
        for size in np.tile([0.5, 3.0, 20.0], LINES // 3):
            a, b = centre + size * rng.standard_normal((2, m))
            if _jumps(loss, a, b, y):
                return None
    return np.inf


def _jumps(loss: Any, a: np.ndarray, b: np.ndarray, y: Any) -> bool:
    """Follow the half of the line in which the slopes change most."""
    at = [np.empty(a.size) for _ in range(2)]
    for z, u in zip((a, b), at, strict=True):
        loss.slopes(z, y, u)
    whole = float(np.abs(at[1] - at[0]).max())
    for _ in range(HALVINGS):
        middle, u = 0.5 * (a + b), np.empty(a.size)
        loss.slopes(middle, y, u)
        if np.abs(u - at[0]).max() >= np.abs(at[1] - u).max():
            b, at[1] = middle, u
        else:
            a, at[0] = middle, u
    steepest = max(float(np.abs(u).max()) for u in at)
    return float(np.abs(at[1] - at[0]).max()) > JUMP * max(whole, STILL * steepest)
