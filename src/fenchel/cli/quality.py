"""The metrics of a task, each as a function of the number of times that every unit is counted.

A unit is a row, a query or a sequence. If all units are counted once, the result is the metric itself; if they are counted as
often as they were drawn in a bootstrap resample, it is the value on that resample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike
    from fenchel.models.scored import Scored
    from fenchel.problems.kinds_of_loss import AnyLoss

Counts = np.ndarray
SMALLEST = np.finfo(float).eps  # lower bound of probabilities in the log loss


class Metric(NamedTuple):
    """A name, whether higher is better, and the value for given counts (NaN where it is not defined)."""

    name: str
    more_is_better: bool
    value: Callable[[Counts], float]


class Quality(NamedTuple):
    """The metrics of a model on some data, the default one first."""

    task: str
    unit: str
    size: int
    metrics: list[Metric]


OTHER_NAMES = {"auc": "roc_area", "roc_auc": "roc_area", "f1_score": "f1"}  # names that other programs use


def named_metric(quality: Quality, name: str | None) -> Metric:
    """The metric of this name, in any common spelling; None: the default one.

    >>> named_metric(Quality("regression", "rows", 1, [mean_of("mean_level_error", False, [1.0])]), "Mean level-error").name
    'mean_level_error'
    """
    if name is None:
        return quality.metrics[0]
    plain = name.strip().lower().replace(" ", "_").replace("-", "_").replace("@", "_at_")
    plain = plain.removeprefix("cv_")
    found = [m for m in quality.metrics if m.name == plain or m.name == OTHER_NAMES.get(plain)]
    if not found:
        known = ", ".join(metric.name.replace("_", " ") for metric in quality.metrics)
        raise InputError(f"--metric {name}: not a metric for {quality.task}; known: {known}")
    return found[0]


def mean_of(name: str, more_is_better: bool, parts: ArrayLike, sizes: ArrayLike | None = None) -> Metric:
    """sum of parts / sum of sizes (1 each if not given).

    >>> mean_of("accuracy", True, [1.0, 0.0]).value(np.array([3, 1]))
    0.75
    """
    a = np.asarray(parts, dtype=float)
    b = np.ones(a.size) if sizes is None else np.asarray(sizes, dtype=float)
    return Metric(name, more_is_better, lambda counts: _ratio(counts @ a, counts @ b))


def _ratio(a: float, b: float) -> float:
    return float(a / b) if b > 0.0 else float("nan")


def quality_of(model: Scored, X: MatrixLike, y: np.ndarray, groups: np.ndarray | None = None) -> Quality:
    """Metrics of a model; y holds indices into `model.labels`, or targets. Larger indices stand for labels that the model
    does not know, so that every prediction is wrong."""
    from fenchel.losses.task import task_of

    if model.labels is not None:
        return Quality("classification", "rows", y.size, _classification(model, X, y.astype(int)))
    if model.is_measure:
        return _ranking(model.scores(X), y, groups, getattr(model.loss, "k", None))
    if task_of(model.loss) == "novelty":
        return Quality("novelty", "rows", y.size, [mean_of("novel", False, model.predict(X) < 0)])
    return Quality("regression", "rows", y.size, _regression(_inner(model.loss), model.predict(X), y))


def _inner(loss: AnyLoss) -> Any:
    from fenchel.losses.task import innermost

    return innermost(loss)


def _classification(model: Any, X: MatrixLike, y: np.ndarray) -> list[Metric]:
    labels = len(model.labels)
    known, size = y < labels, max(labels, int(y.max()) + 1)
    place = {label: k for k, label in enumerate(model.labels)}
    found = np.array([place[label] for label in model.predict(X).tolist()])
    metrics = [
        mean_of("accuracy", True, found == y),
        Metric("balanced_accuracy", True, lambda c: _balanced(c, y, found, size)),
        Metric("f1" if labels == 2 else "f1_macro", True, lambda c: _f1(c, y, found, size, labels == 2)),
    ]
    if model.thresholds is not None and labels > 2:
        return [*metrics, mean_of("mean_level_error", False, np.where(known, np.abs(found - y), 0), known)]
    scores, nearest = model.label_scores(X), np.where(known, y, 0)
    if labels == 2:
        z = scores if scores.ndim == 1 else scores[:, 1] - scores[:, 0]
        area = roc_area(z, y == 1)
        metrics.append(area._replace(value=lambda counts: area.value(counts * known)))
    else:
        k = min(getattr(_inner(model.loss), "k", 5), labels - 1)
        best = among_the_best(scores, nearest, k) * known
        metrics += [mean_of(f"top_{k}_accuracy", True, best)] if k > 1 else []
    if hasattr(model.loss, "probability"):
        p = model.probabilities(X)[np.arange(y.size), nearest] * known
        metrics.append(mean_of("log_loss", False, -np.log(np.clip(p, SMALLEST, 1.0 - SMALLEST))))
    return metrics


def _sums(counts: Counts, labels: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(labels, weights=counts, minlength=size)


def _balanced(counts: Counts, y: np.ndarray, found: np.ndarray, size: int) -> float:
    """Balanced accuracy: the mean recall of the labels that occur."""
    total, right = _sums(counts, y, size), _sums(counts * (found == y), y, size)
    return float(np.mean(right[total > 0] / total[total > 0]))


def _f1(counts: Counts, y: np.ndarray, found: np.ndarray, size: int, of_two: bool) -> float:
    """F1 = 2 true positives / (actual + predicted positives): of the second of two labels, else the mean over labels."""
    right, both = _sums(counts * (found == y), y, size), _sums(counts, y, size) + _sums(counts, found, size)
    if of_two:
        return float(2.0 * right[1] / both[1]) if both[1] > 0 else 0.0
    return float(np.mean(2.0 * right[both > 0] / both[both > 0]))


def roc_area(z: np.ndarray, positive: np.ndarray) -> Metric:
    """The fraction of pairs (positive row, negative row) with scores in this order; ties count as one half.

    >>> roc_area(np.array([0.0, 1.0, 1.0, 2.0]), np.array([False, False, True, True])).value(np.ones(4))
    0.875
    """
    _, level = np.unique(z, return_inverse=True)

    def value(counts: Counts) -> float:
        up = np.bincount(level, weights=counts * positive)
        down = np.bincount(level, weights=counts * ~positive)
        below = np.cumsum(down) - 0.5 * down
        return _ratio(float(up @ below), float(up.sum() * down.sum()))

    return Metric("roc_area", True, value)


def among_the_best(scores: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """1 if the label is among the k highest scores of its row; for ties, the fraction of orders in which it is.

    >>> among_the_best(np.array([[3.0, 2.0, 1.0], [1.0, 1.0, 0.0]]), np.array([1, 1]), 1)
    array([0. , 0.5])
    """
    own = scores[np.arange(y.size), y][:, None]
    higher, equal = (scores > own).sum(axis=1), (scores == own).sum(axis=1)
    return np.clip((k - higher) / equal, 0.0, 1.0)


def _regression(loss: AnyLoss, found: np.ndarray, y: np.ndarray) -> list[Metric]:
    from fenchel.losses import Poisson, Quantile

    error = found - y

    def r2(counts: Counts) -> float:
        total = counts.sum()
        centre = counts @ y / total
        return 1.0 - _ratio(counts @ error**2, counts @ (y - centre) ** 2)

    common = [
        Metric("rmse", False, lambda counts: float(np.sqrt(counts @ error**2 / counts.sum()))),
        mean_of("mae", False, np.abs(error)),
        Metric("r2", True, r2),
    ]
    if isinstance(loss, Quantile):
        pinball = np.where(error < 0.0, -loss.tau * error, (1.0 - loss.tau) * error)
        return [mean_of("pinball_loss", False, pinball), mean_of("coverage", True, error >= 0.0), *common]
    if isinstance(loss, Poisson):
        from scipy.special import xlogy

        return [mean_of("poisson_deviance", False, 2.0 * (xlogy(y, y) - xlogy(y, found) + error)), *common]
    return common


def _ranking(z: np.ndarray, y: np.ndarray, groups: np.ndarray | None, k: int | None) -> Quality:
    from fenchel.metrics import mrr, ndcg

    query = np.zeros(y.size, dtype=int) if groups is None else np.unique(groups, return_inverse=True)[1]
    rows = np.split(np.argsort(query, kind="stable"), np.cumsum(np.bincount(query))[:-1])
    told = [part for part in rows if (y[part] > 0).any()]
    if not told:
        raise InputError("no query has a relevant row: ranking metrics are not defined")
    metrics = [mean_of("mrr", True, [mrr(y[part], z[part]) for part in told])]
    if (y >= 0.0).all():
        cut = int(k or 10)
        metrics.insert(0, mean_of(f"ndcg_at_{cut}", True, [ndcg(y[part], z[part], k=cut) for part in told]))
        metrics.insert(0, mean_of("ndcg", True, [ndcg(y[part], z[part]) for part in told]))
    return Quality("ranking", "queries", len(told), metrics)


def sequence_quality(labels: list[list[str]], predicted: list[list[str]]) -> Quality:
    """Metrics of labelled sequences."""
    from fenchel.sequences.metrics import chunk_scores

    right = [sum(a == b for a, b in zip(t, p, strict=True)) for t, p in zip(labels, predicted, strict=True)]
    sizes = [len(t) for t in labels]
    metrics = [
        mean_of("token_accuracy", True, right, sizes),
        mean_of("sequence_accuracy", True, np.equal(right, sizes)),
    ]
    try:
        chunks = [chunk_scores([t], [p]) for t, p in zip(labels, predicted, strict=True)]
    except InputError:  # the labels are not chunk labels
        return Quality("sequences", "sequences", len(labels), metrics)
    correct, said, true = (np.array([part[k] for part in chunks], dtype=float) for k in (3, 4, 5))
    spans = [
        mean_of("span_f1", True, 2.0 * correct, said + true),
        mean_of("span_precision", True, correct, said),
        mean_of("span_recall", True, correct, true),
    ]
    return Quality("sequences", "sequences", len(labels), [*spans[:1], *metrics, *spans[1:]])
