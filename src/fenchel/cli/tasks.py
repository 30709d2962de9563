"""The problems for the rows of a file and a loss; train and verify must build exactly the same ones."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from fenchel.errors import InputError

if TYPE_CHECKING:
    from fenchel.cli.reading import Rows
    from fenchel.problems.kinds_of_loss import AnyLoss

MOST_LABELS, DOUBTFUL, ROWS_PER_LABEL = 1000, 20, 10
EXACT = 2.0**53  # below this, floats represent integers exactly

LOG = logging.getLogger("fenchel")


class Task(NamedTuple):
    """The problems to be solved on the rows of a file."""

    labels: list[Any] | None  # the labels of the scores; None if scores are predictions themselves
    targets: list[np.ndarray | None]  # one vector for each problem
    groups: np.ndarray | None = None  # the query of each row


def queries_for(loss: AnyLoss) -> Literal["auto", True, False]:
    """Whether the loss needs query ids: True, False (they are ignored) or "auto" (they are used if there are any)."""
    from fenchel.measures import is_measure

    return (True if loss.needs_groups else "auto") if is_measure(loss) else False


def arrange(
    data: Rows, loss: AnyLoss, path: str, labels: Sequence[Any] | None = None, ranking: bool | None = None
) -> Task:
    """The task for a loss and a file; `labels` and `ranking` are those of a fitted model."""
    words = labels is not None and isinstance(labels[0], str)
    if words or data.words is not None:
        return _arrange_words(data, loss, path, labels, ranking)
    from fenchel.measures import is_measure
    from fenchel.multiclass import is_vector_loss

    if is_measure(loss) and (data.qid is not None if ranking is None else ranking):
        return Task(None, [np.where(data.y > 0.0, 1.0, -1.0) if loss.signs_only else data.y], data.qid)
    if not is_measure(loss) and not is_vector_loss(loss):
        task = task_of(loss)
        found = (labels or labels_of(data.y, path)) if task == "classification" else None
        return Task(None if found is None else list(found), targets(data.y, task, found, path))
    found = list(labels or _labels_for(loss, data.y, path))
    _require_labels(data.y, found, path)
    places = _places(data.y, found)
    if not is_measure(loss):
        return Task(found, [places])
    return Task(found, [places.astype(float) if loss.task == "ordinal" else np.where(places == 1, 1.0, -1.0)])


def _arrange_words(data: Rows, loss: AnyLoss, path: str, labels: Sequence[Any] | None, ranking: bool | None) -> Task:
    """The same for labels that are words: the problems are built for their numbers, and the words are the labels."""
    task = task_of(loss)
    if task == "novelty":
        return Task(None, [None])
    words, y = data.words or list(labels or ()), data.y
    if task == "regression" or (ranking if ranking is not None else data.qid is not None):
        raise InputError(
            f"{path}: the targets are words ({', '.join(words[:3])}, ...), but {type(loss).__name__} needs numbers"
        )
    if labels is not None:
        words, y = list(labels), places_of(data, labels, path).astype(float)
    elif len(words) < 2:
        raise InputError(f"{path} has only one label ({words[0]!r}): a classifier needs two, or use --loss novelty")
    if labels is None:
        _require_unordered(loss, path, words)
    found = arrange(
        data._replace(words=None, y=y), loss, path, None if labels is None else list(range(len(words))), ranking
    )
    return found._replace(labels=[words[k] for k in found.labels or ()])


def places_of(data: Rows, labels: Sequence[Any], path: str) -> np.ndarray:
    """The index of every row's label among those of a model."""
    words = isinstance(labels[0], str)
    if words != (data.words is not None):
        have, want = ("numbers", "words") if words else ("words", "numbers")
        raise InputError(f"{path} has {have} as labels, but the model has {want}: {list(labels)[:10]}")
    if data.words is None:
        _require_labels(data.y, labels, path)
        return _places(data.y, labels)
    place = {label: k for k, label in enumerate(labels)}
    found = np.array([place.get(word, -1) for word in data.words])[data.y.astype(int)]
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        word = data.words[int(data.y[row])]
        raise InputError(f"{path}: row {row + 1} has the label {word!r}, which the model does not know")
    return found


def _places(y: np.ndarray, labels: Sequence[Any]) -> np.ndarray:
    """The indices of numbers among the labels, which may be in any order."""
    order = np.argsort(labels)
    return order[np.minimum(np.searchsorted(np.array(labels)[order], y), len(labels) - 1)]


def places_or_beyond(data: Rows, labels: Sequence[Any], path: str) -> tuple[np.ndarray, list[Any]]:
    """(the index of every row's label among those of a model, the unknown labels, whose indices follow)."""
    words = isinstance(labels[0], str)
    if words != (data.words is not None):
        return places_of(data, labels, path), []  # raises an error that says what is wrong
    own = np.unique(data.y).tolist() if data.words is None else data.words
    strange = [label for label in own if label not in set(labels)]
    everything = [*labels, *strange]
    return places_of(data, everything, path), strange


def _require_unordered(loss: AnyLoss, path: str, words: Sequence[str]) -> None:
    """Reject words as labels: measures and trees need an order, and alphabetical order has no meaning for them."""
    from fenchel.losses.task import innermost
    from fenchel.losses.task import task_of as said_by

    name, ordinal = type(innermost(loss)).__name__, said_by(loss) == "ordinal"
    if ordinal or hasattr(innermost(loss), "leaf"):
        what = "in their order" if ordinal else "as the tree numbers its leaves, 0, 1, 2, ..."
        raise InputError(f"{path} has words as labels ({', '.join(words[:3])}, ...): {name} needs numbers {what}")


def _labels_for(loss: AnyLoss, y: np.ndarray, path: str) -> list[Any]:
    """The labels of a loss of several scores, or of a measure without queries."""
    from fenchel.losses.task import innermost
    from fenchel.measures import is_measure
    from fenchel.models.parts import classes_known

    if hasattr(innermost(loss), "leaf"):
        leaves = list(range(classes_known(loss) or 0))
        if not np.isin(y, leaves).all():
            row = int(np.argmin(np.isin(y, leaves)))
            raise InputError(
                f"{path}: row {row + 1} has the label {y[row]:g}, but the tree has the leaves 0 to {leaves[-1]}"
            )
        return leaves
    found = labels_of(y, path)
    cost = getattr(innermost(loss), "cost", None)
    known = len(cost) if cost is not None else len(found)
    if known != len(found):
        raise InputError(f"--cost is for {known} labels, but {path} has {len(found)}: {found[:10]}")
    if is_measure(loss) and loss.task != "ordinal" and len(found) != 2:
        raise InputError(f"measure {type(loss).__name__} needs two labels, but {path} has {len(found)}: {found[:10]}")
    return found


def task_of(loss: AnyLoss) -> str:
    """ "classification", "regression" or "novelty".

    >>> from fenchel.losses import Hinge, Moreau, Squared
    >>> task_of(Moreau(Hinge(), 0.1)), task_of(Squared())
    ('classification', 'regression')
    """
    from fenchel.losses.task import task_of as said_by

    said = said_by(loss)
    return said if said in ("regression", "novelty") else "classification"


def labels_of(y: np.ndarray, path: str) -> list[Any]:
    """The distinct labels in ascending order; integers as int."""
    labels = np.unique(y)
    if labels.size < 2:
        raise InputError(f"{path} has only one label ({labels[0]:g}): a classifier needs two, or use --loss novelty")
    if labels.size > MOST_LABELS:
        raise InputError(
            f"{path} has {labels.size} different labels and a classifier takes at most {MOST_LABELS}: "
            "is this regression? Then use a loss such as squared, huber or absolute"
        )
    return [int(label) if label.is_integer() and abs(label) < EXACT else float(label) for label in labels]


def with_positive(task: Task, label: str | None, path: str) -> Task:
    """The task with this label as that of positive scores; by default it is the greater of two labels.

    >>> with_positive(Task(["no", "yes"], [np.array([1.0, -1.0])]), "no", "file")
    Task(labels=['yes', 'no'], targets=[array([-1.,  1.])], groups=None)
    """
    if label is None:
        return task
    names = [str(one) for one in task.labels or ()]
    if label not in names or len(names) != 2:
        raise InputError(
            f"--positive {label}: it must be one of two labels, and {path} has {', '.join(names[:10]) or 'none'}"
        )
    if names[1] == label or task.labels is None:
        return task
    y = np.asarray(task.targets[0])
    turned = -y if y.min() < 0 else 1 - y  # -1 and +1, or places
    return task._replace(labels=task.labels[::-1], targets=[turned])


def ask_whether_regression(task: Task, path: str) -> None:
    """Warn if a classifier is fitted to targets that look like those of a regression: many values, with few rows of each."""
    labels, rows = task.labels or [], 0 if task.targets[0] is None else len(task.targets[0])
    if len(labels) > DOUBTFUL and not isinstance(labels[0], str) and len(labels) * ROWS_PER_LABEL > rows:
        LOG.warning(
            "%s has %d different labels in %d rows: is this regression? Then use --loss squared, huber or absolute",
            path, len(labels), rows,
        )  # fmt: skip


def targets(y: np.ndarray, task: str, labels: Sequence[Any] | None, path: str) -> list[np.ndarray | None]:
    """One vector of targets per score: +1 for the greater of two labels, else for one label against the rest.

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
