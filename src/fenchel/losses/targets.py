"""Validity of targets and parameters of losses."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from fenchel.errors import InputError

L = TypeVar("L")


def is_sign(y):
    return (y == 1.0) | (y == -1.0)


def is_nonnegative(y):
    return y >= 0.0


def is_anything(y):
    return np.isfinite(y)


def for_signs(cls: type[L]) -> type[L]:
    """Decorator of losses of targets -1 and +1, which are never negative, as are all losses of this package."""
    return _declared(cls, valid_target=staticmethod(is_sign), target_rule="-1 or +1", task="binary")


def for_numbers(cls: type[L]) -> type[L]:
    """Decorator of losses of targets that may be any number, which are never negative, as are all losses of this package."""
    return _declared(cls, valid_target=staticmethod(is_anything), target_rule="any finite number", task="regression")


def _declared(cls: type[L], **facts: object) -> type[L]:
    for name, fact in (facts | {"nonnegative": True}).items():
        setattr(cls, name, fact)
    return cls


def require(condition: bool, name: str, rule: str, got: float) -> None:
    if not condition:
        raise InputError(f"{name} must be {rule}, got {got!r}")
