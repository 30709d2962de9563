"""Validation shared by structured models."""

from __future__ import annotations

import math
from collections.abc import Sized

import numpy as np

from fenchel.data.dtypes import is_integer
from fenchel.errors import InputError, UnknownNameError

LOSSES = ("hinge", "log")


def known_loss(loss: str) -> None:
    """Raise unless it is one of LOSSES."""
    if loss not in LOSSES:
        raise UnknownNameError("loss of a structured model", loss, LOSSES)


def accept_beta(beta: float, loss: str = "hinge") -> None:
    """Raise unless the cost of a label can be rescaled so: beta 0 is margin rescaling, 1 slack rescaling."""
    if isinstance(beta, (bool, str)) or not 0.0 <= beta < math.inf:
        raise InputError(f"beta must be a finite number of at least 0 (0: margin, 1: slack rescaling), got {beta!r}")
    if loss == "log" and beta != 0.0:
        raise InputError(f"the log-loss has no cost to rescale with: beta must be 0, got {beta!r}")


def same_count(examples: Sized, labels: Sized) -> None:
    """Raise unless there is one label per example, and at least one."""
    if len(examples) != len(labels):
        raise InputError(f"there are {len(examples)} examples but {len(labels)} labels: one label per example")
    if len(examples) == 0:
        raise InputError("there are no examples: pass at least one")


def node_labels(i: int, label: object, count: int) -> np.ndarray:
    """The labels 0, 1, 2, ... of the nodes of example i."""
    y = np.asarray(label)
    if y.shape != (count,) or not is_integer(y):
        raise InputError(f"example {i} has {count} nodes, but its labels have shape {y.shape}, type {y.dtype}")
    if y.min() < 0:
        raise InputError(f"the label of node {int(np.argmin(y))} of example {i} is {y.min()}: labels are 0, 1, 2, ...")
    return y.astype(np.int32)
