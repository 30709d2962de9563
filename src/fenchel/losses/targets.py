"""Validity of targets and parameters of losses."""

from __future__ import annotations

import numpy as np

from fenchel.errors import InputError


def is_sign(y):
    return (y == 1.0) | (y == -1.0)


def is_nonnegative(y):
    return y >= 0.0


def is_anything(y):
    return np.isfinite(y)


def require(condition: bool, name: str, rule: str, got: float) -> None:
    if not condition:
        raise InputError(f"{name} must be {rule}, got {got!r}")
