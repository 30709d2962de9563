"""From an svmlight file and a loss to the problems that are solved: train and verify must build the very same ones."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fenchel.errors import InputError

MOST_LABELS = 1000
EXACT = 2.0**53  # below, every whole float is the int that it looks like


class Task(NamedTuple):
    """What is to be solved on the rows of a file."""

    labels: list[Any] | None  # what the scores mean; None if they are predictions themselves
    targets: list[np.ndarray | None]  # of every problem
    groups: np.ndarray | None = None  # the query of every row


def read(path: str, index_base: Any = "auto", n_features: int | None = None, qid: Any = False) -> Any:
    """The rows of an svmlight file, "-" for stdin, or of a folder that `fenchel convert` wrote."""
    from fenchel.data.read_svmlight import SvmlightData, read_svmlight

    if os.path.isdir(path):
        from fenchel.data.store import open_store

        stored = open_store(path)
        if qid is True and stored.groups is None:
            raise InputError(f"{path} has no queries: convert data with qid, or a table with --group")
        return SvmlightData(stored, stored.y, stored.groups if qid else None, 1)
    source: Any = sys.stdin.buffer if path == "-" else path
    data = read_svmlight(source, index_base=index_base, n_features=n_features, qid=qid)
    if data.X.shape[0] == 0:
        raise InputError(f"{path}: there is no row in it")
    return data


def read_for(model: Any, path: str, model_path: str, qid: Any = False) -> Any:
    """The rows of a file with the model's features; an svmlight file does not say that its last columns are empty."""
    base = "auto" if model.index_base is None else model.index_base
    data = read(path, index_base=base, qid=qid)
    if data.X.shape[1] > model.d:
        raise InputError(
            f"{path} has {data.X.shape[1]} features, but the model {model_path} has {model.d}: "
            "they do not belong together"
        )
    if os.path.isdir(path):
        data = data._replace(X=data.X.X)
    if data.X.shape[1] == model.d:
        return data
    if isinstance(data.X, np.ndarray):
        raise InputError(f"{path} has {data.X.shape[1]} features, but the model {model_path} has {model.d}")
    data.X.resize((data.X.shape[0], model.d))
    return data


def queries_for(loss: Any) -> Any:
    """Whether a file must have query ids for the loss: True, False (they do not matter) or "auto" (they count if there)."""
    from fenchel.measures import is_measure

    return (True if loss.needs_groups else "auto") if is_measure(loss) else False


def arrange(data: Any, loss: Any, path: str, labels: Sequence[Any] | None = None, ranking: bool | None = None) -> Task:
    """The task that a loss and a file make; `labels` and `ranking` are those of a model that has been fitted."""
    from fenchel.model_parts import family_of

    family = family_of(loss)
    if family == "set" and (data.qid is not None if ranking is None else ranking):
        signs = type(loss).__name__ in ("FBeta", "ROCArea")  # they know two kinds of rows only
        return Task(None, [np.where(data.y > 0.0, 1.0, -1.0) if signs else data.y], data.qid)
    if family == "scalar":
        task = task_of(loss)
        found = (labels or labels_of(data.y, path)) if task == "classification" else None
        return Task(None if found is None else list(found), targets(data.y, task, found, path))
    found = list(labels or _labels_for(loss, data.y, path))
    _require_labels(data.y, found, path)
    places = np.searchsorted(np.array(found), data.y)
    if family == "vector" or type(loss).__name__ == "Ordinal":
        return Task(found, [places if family == "vector" else places.astype(float)])
    return Task(found, [np.where(places == 1, 1.0, -1.0)])


def _labels_for(loss: Any, y: np.ndarray, path: str) -> list[Any]:
    """The labels of a loss of several scores, or of a measure without queries."""
    from fenchel.model_parts import classes_known, innermost

    if hasattr(innermost(loss), "leaf"):
        leaves = list(range(classes_known(loss) or 0))
        if not np.isin(y, leaves).all():
            row = int(np.argmin(np.isin(y, leaves)))
            raise InputError(
                f"{path}: row {row + 1} has the label {y[row]:g}, but the tree has the leaves 0 to {leaves[-1]}"
            )
        return leaves
    found = labels_of(y, path)
    name, cost = type(loss).__name__, getattr(innermost(loss), "cost", None)
    known = len(cost) if cost is not None else len(found)
    if known != len(found):
        raise InputError(f"--cost is for {known} labels, but {path} has {len(found)}: {found[:10]}")
    if getattr(loss, "needs_groups", None) is not None and name != "Ordinal" and len(found) != 2:
        raise InputError(f"measure {name} is for two labels, but {path} has {len(found)}: {found[:10]}")
    return found


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
    _require_labels(y, labels, path)
    wanted = labels[1:] if len(labels) == 2 else labels
    return [np.where(y == label, 1.0, -1.0) for label in wanted]


def _require_labels(y: np.ndarray, labels: Sequence[Any], path: str) -> None:
    unknown = ~np.isin(y, np.array(labels))
    if unknown.any():
        row = int(np.argmax(unknown))
        raise InputError(f"{path}: row {row + 1} has the label {y[row]:g}, which the model does not know")
