"""Validation shared by structured models."""

from __future__ import annotations

from collections.abc import Sized

from fenchel.errors import InputError, UnknownNameError

LOSSES = ("hinge", "log")


def known_loss(loss: str) -> None:
    """Raise unless it is one of LOSSES."""
    if loss not in LOSSES:
        raise UnknownNameError("loss of a structured model", loss, LOSSES)


def same_count(examples: Sized, labels: Sized) -> None:
    """Raise unless there is one label per example, and at least one."""
    if len(examples) != len(labels):
        raise InputError(f"there are {len(examples)} examples but {len(labels)} labels: one label per example")
    if len(examples) == 0:
        raise InputError("there are no examples: pass at least one")
