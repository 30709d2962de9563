"""Checks of the parameters of measures."""

from __future__ import annotations

import math
from numbers import Integral, Real

import numpy as np

from fenchel.errors import InputError


def positive(name: str, value: object) -> float:
    """A finite number > 0, as a float.

    >>> positive("scale", -1)
    Traceback (most recent call last):
    fenchel.errors.InputError: scale must be > 0 and finite, got -1
    """
    if isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) and 0.0 < float(value) < math.inf:
        return float(value)
    raise InputError(f"{name} must be > 0 and finite, got {value!r}")


def rank(name: str, value: object) -> int:
    """An integer of at least 1."""
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1:
        return int(value)
    raise InputError(f"{name} must be an integer of at least 1, got {value!r}")


def finite(name: str, value: object) -> float:
    """A finite number, as a float."""
    if isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) and math.isfinite(float(value)):
        return float(value)
    raise InputError(f"{name} must be a finite number, got {value!r}")
