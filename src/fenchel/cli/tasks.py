"""From an svmlight file and a loss to the problems that are solved: train and verify must build the very same ones."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from fenchel.errors import InputError

MOST_LABELS = 1000
EXACT = 2.0**53  # below, every whole float is the int that it looks like


def read(path: str, index_base: Any = "auto", n_features: int | None = None) -> Any:
    """The rows of an svmlight file, "-" for stdin."""
    from fenchel.data.read_svmlight import read_svmlight

    source: Any = sys.stdin.buffer if path == "-" else path
    data = read_svmlight(source, index_base=index_base, n_features=n_features, qid=False)
    if data.X.shape[0] == 0:
        raise InputError(f"{path}: there is no row in it")
    return data


def read_for(model: Any, path: str, model_path: str) -> Any:
    """The rows of a file with the model's features; an svmlight file does not say that its last columns are empty."""
    base = "auto" if model.index_base is None else model.index_base
    data = read(path, index_base=base)
    if data.X.shape[1] > model.d:
        raise InputError(
            f"{path} has {data.X.shape[1]} features, but the model {model_path} has {model.d}: "
            "they do not belong together"
        )
    data.X.resize((data.X.shape[0], model.d))
    return data


def task_of(loss: Any) -> str:
    """ "classification", "regression" or "novelty", by the targets that the loss takes.

    >>> from fenchel.losses import Hinge, Moreau, Squared
    >>> task_of(Moreau(Hinge(), 0.1)), task_of(Squared())
    ('classification', 'regression')
    """
    while hasattr(loss, "loss"):
        loss = loss.loss
    if "+1" in loss.target_rule:
        return "classification"
    return "novelty" if "not used" in loss.target_rule else "regression"


def labels_of(y: np.ndarray, path: str) -> list[Any]:
    """The different labels, ascending; whole numbers as int."""
    labels = np.unique(y)
    if labels.size < 2:
        raise InputError(f"{path} has one label only ({labels[0]:g}): a classifier needs two, or use --loss novelty")
    if labels.size > MOST_LABELS:
        raise InputError(
            f"{path} has {labels.size} different labels and a classifier takes at most {MOST_LABELS}: "
            "is this regression? Then use a loss such as squared, huber or absolute"
        )
    return [int(label) if label.is_integer() and abs(label) < EXACT else float(label) for label in labels]


def targets(y: np.ndarray, task: str, labels: Sequence[Any] | None, path: str) -> list[np.ndarray | None]:
    """One vector of targets per score: +1 for the greater of two labels, or one label against the rest each.

    >>> [t.tolist() for t in targets(np.array([3.0, 7.0]), "classification", (3, 7), "file")]
    [[-1.0, 1.0]]
    """
    if task == "novelty":
        return [None]
    if labels is None:
        return [y]
    unknown = ~np.isin(y, np.array(labels))
    if unknown.any():
        row = int(np.argmax(unknown))
        raise InputError(f"{path}: row {row + 1} has the label {y[row]:g}, which the model does not know")
    wanted = labels[1:] if len(labels) == 2 else labels
    return [np.where(y == label, 1.0, -1.0) for label in wanted]
