"""Targets that are classes: the integers 0 .. m - 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fenchel.data.dtypes import is_number
from fenchel.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def class_count(y: ArrayLike, known: int | None = None) -> int:
    """The number of classes m: the largest of the targets 0 .. m - 1 plus one, or the known number.

    >>> class_count([0, 2, 1, 2])
    3
    """
    classes = np.asarray(y)
    if classes.ndim != 1 or classes.size == 0:
        raise InputError(f"y must be a vector with one class per row, got an array of shape {classes.shape}")
    if not is_number(classes):
        raise InputError(f"y must hold classes 0 .. m - 1 as integers, got {classes[0]!r} first: number the classes")
    bad = ~((classes >= 0) & (classes == np.floor(classes)) & np.isfinite(classes))
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(f"y must hold classes 0 .. m - 1 as integers, but y[{i}] = {classes[i]}: number the classes")
    last = int(np.argmax(classes))
    m = int(classes[last]) + 1
    if known is not None and m > known:
        raise InputError(f"y[{last}] = {m - 1}, but there are only {known} classes, 0 .. {known - 1}")
    m = m if known is None else known
    if m < 2:
        raise InputError("y must hold at least two classes, got only class 0")
    return m
