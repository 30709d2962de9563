"""The evaluation of a run on given rows: counts and curves, without the values of any row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.errors import InputError
from fenchel.multiclass import is_vector_loss
from fenchel.report.subject import Run

if TYPE_CHECKING:
    import scipy.sparse as sp

Z95 = 1.959963984540054
MOST_LABELS = 12
BINS = 10
MOST_POINTS = 160


class Evaluation(NamedTuple):
    """The results: `numbers` (name -> value, or value with a confidence interval), and tables for the charts."""

    rows: int
    numbers: dict[str, tuple[float, ...]]
    confusion: tuple[list[str], np.ndarray] | None = None
    roc: dict[str, dict[str, list[float]]] | None = None  # one per label; "" if there are two labels
    calibration: dict[str, list[float]] | None = None
    histogram: dict[str, list[float]] | None = None
    by_prediction: dict[str, list[float]] | None = None
    note: str | None = None


def evaluate(run: Run, X: Any, y: Any, groups: np.ndarray | None = None) -> Evaluation:
    """The evaluation for the task; `groups` are the queries of a ranking."""
    if run.task == "structured":
        return _structured(run, X, y)
    if run.scores is None:
        return Evaluation(len(y), {}, note="This run cannot score new rows: pass its estimator instead.")
    target = np.asarray(y)
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if target.shape[:1] != (rows,):
        raise InputError(f"data: X has {rows} rows, but y has the shape {target.shape}")
    if run.task in ("two classes", "classes"):
        return _classes(run, X, target)
    if run.task == "novelty":
        return _novelty(run, X)
    if run.task == "ranking":
        return _ranking(np.ravel(run.scores(X)), target.astype(float), groups)
    if target.ndim != 1:
        return Evaluation(rows, {}, note="Several targets per row are not supported: evaluate each of them separately.")
    return _regression(run, X, target.astype(float))


def _classes(run: Run, X: np.ndarray | sp.csr_matrix, y: np.ndarray) -> Evaluation:
    assert run.scores is not None and run.labels is not None
    labels = list(run.labels)
    place = {label: k for k, label in enumerate(labels)}
    try:
        true = np.array([place[label] for label in y.tolist()])
    except KeyError as error:
        raise InputError(f"data: y has the label {error.args[0]!r}, which the model does not know") from None
    z = np.asarray(run.scores(X))
    numbers: dict[str, tuple[float, ...]] = {}
    confusion = None
    if run.predict is not None:
        predicted = np.array([place[label] for label in np.asarray(run.predict(X)).tolist()])
        numbers["Accuracy"] = wilson(int((true == predicted).sum()), true.size)
        counts = np.zeros((len(labels), len(labels)), dtype=int)
        np.add.at(counts, (true, predicted), 1)
        numbers["Balanced accuracy"] = (_balanced(counts),)
        confusion = ([str(label) for label in labels], counts)
    p = None if run.probabilities is None else np.asarray(run.probabilities(X))
    curves = _rocs(_separate(z, joint=is_vector_loss(run.loss)) if p is None or len(labels) == 2 else p, true, labels)
    if curves:
        mean = "Area under the ROC curve" + (", mean over labels" if len(labels) > 2 else "")
        numbers[mean] = (float(np.mean([area for _, area in curves.values()])),)
    calibration = None
    if p is not None:
        sure, right = (p[:, 1], true == 1) if len(labels) == 2 else (p.max(axis=1), p.argmax(axis=1) == true)
        calibration = reliability(sure, right)
        chosen = np.clip(p[np.arange(true.size), true], 1e-300, 1.0)
        numbers["Mean log loss"] = (float(-np.log(chosen).mean()),)
        numbers["Brier score" if len(labels) == 2 else "Brier score, summed over labels"] = (brier(p, true),)
    return Evaluation(true.size, numbers, confusion, {name: curve for name, (curve, _) in curves.items()}, calibration)


def brier(p: np.ndarray, true: np.ndarray) -> float:
    """The mean of (P(label 1) - [label is 1])^2 for two labels; for more, of the sum over labels of such squares, up to 2.

    This is the definition in scikit-learn; for two labels the sum over both would be twice as large.

    >>> brier(np.array([[0.25, 0.75], [1.0, 0.0]]), np.array([1, 0]))
    0.03125
    """
    squares = (p - np.eye(p.shape[1])[true]) ** 2
    return float((squares[:, 1] if p.shape[1] == 2 else squares.sum(axis=1)).mean())


def _separate(z: np.ndarray, joint: bool) -> np.ndarray:
    """Scores that can be compared between rows: for a joint loss, differences to the largest score of the other labels.

    >>> _separate(np.array([[3.0, 1.0, 2.0]]), joint=True)
    array([[ 1., -2., -1.]])
    """
    if z.ndim == 1 or not joint or z.shape[1] < 3:
        return z
    others = [np.delete(z, k, axis=1).max(axis=1) for k in range(z.shape[1])]
    return z - np.column_stack(others)


def _rocs(z: np.ndarray, true: np.ndarray, labels: Sequence[Any]) -> dict[str, tuple[dict[str, list[float]], float]]:
    """The ROC curve for two labels; for more, one for each label against the rest, if it has scores."""
    if len(labels) == 2:
        scores = {"": (true == 1, z if z.ndim == 1 else z[:, 1] - z[:, 0])}
    else:
        scores = {str(label): (true == k, z[:, k]) for k, label in enumerate(labels) if z.ndim == 2}
    return {name: roc(positive, s) for name, (positive, s) in scores.items() if 0 < positive.sum() < true.size}


def _balanced(counts: np.ndarray) -> float:
    """The mean recall of the classes that occur."""
    total = counts.sum(axis=1)
    return float((np.diag(counts)[total > 0] / total[total > 0]).mean())


def wilson(right: int, total: int) -> tuple[float, float, float]:
    """(proportion, lower, upper): Wilson's 95 % confidence interval, for independent rows.

    >>> [round(v, 4) for v in wilson(45, 50)]
    [0.9, 0.7864, 0.9565]
    """
    share, z2 = right / total, Z95 * Z95
    middle = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = Z95 / (1 + z2 / total) * math.sqrt(share * (1 - share) / total + z2 / (4 * total * total))
    return share, max(0.0, middle - half), min(1.0, middle + half)


def roc(positive: np.ndarray, scores: np.ndarray) -> tuple[dict[str, list[float]], float]:
    """False and true positive rates as the threshold falls, and the area below the curve.

    >>> roc(np.array([False, True, True]), np.array([0.1, 0.2, 0.3]))[1]
    1.0
    """
    from sklearn.metrics import auc, roc_curve

    false, true, _ = roc_curve(positive, scores)
    kept = np.unique(np.linspace(0, true.size - 1, min(true.size, MOST_POINTS)).round().astype(int))
    return {"false_positive": false[kept].tolist(), "true_positive": true[kept].tolist()}, float(auc(false, true))


def reliability(p: np.ndarray, right: np.ndarray) -> dict[str, list[float]]:
    """Groups of about equal size by predicted probability: its mean, the observed frequency and its 95 % interval."""
    groups = equal_groups(p)
    columns: dict[str, list[float]] = {name: [] for name in ("predicted", "observed", "low", "high", "rows")}
    for rows in groups:
        share, low, high = wilson(int(right[rows].sum()), rows.size)
        for name, value in zip(columns, (float(p[rows].mean()), share, low, high, float(rows.size)), strict=True):
            columns[name].append(value)
    return columns


def equal_groups(values: np.ndarray, bins: int = BINS, least: int = 10) -> list[np.ndarray]:
    """Rows sorted by value, in at most `bins` groups of at least `least` rows; equal values are in the same group.

    >>> [len(group) for group in equal_groups(np.arange(100.0))]
    [10, 10, 10, 10, 10, 10, 10, 10, 10, 10]
    """
    order = np.argsort(values, kind="stable")
    count = max(1, min(bins, values.size // least))
    edges = np.linspace(0, values.size, count + 1).round().astype(int)
    starts = np.unique(np.searchsorted(values[order], values[order][edges[:-1]], side="left"))
    return [part for part in np.split(order, starts[1:]) if part.size]


def _regression(run: Run, X: np.ndarray | sp.csr_matrix, y: np.ndarray) -> Evaluation:
    from scipy.special import xlogy

    from fenchel.losses import Poisson
    from fenchel.losses.task import innermost

    assert run.predict is not None
    predicted = np.asarray(run.predict(X), dtype=float)
    residual = y - predicted
    spread = float(((y - y.mean()) ** 2).sum())
    numbers: dict[str, tuple[float, ...]] = {
        "R²": (1.0 - float((residual**2).sum()) / spread if spread else math.nan,),
        "Mean absolute error": (float(np.abs(residual).mean()),),
        "Root mean squared error": (float(np.sqrt((residual**2).mean())),),
        "Mean residual": (float(residual.mean()),),
        "Fraction of rows below the prediction": wilson(int((y <= predicted).sum()), y.size),
    }
    if isinstance(innermost(run.loss), Poisson) and (y >= 0.0).all():
        deviance = 2.0 * (xlogy(y, y) - xlogy(y, predicted) + predicted - y)
        numbers = {"Mean Poisson deviance": (float(deviance.mean()),)} | numbers
    return Evaluation(y.size, numbers, histogram=histogram(residual), by_prediction=_banded(predicted, residual))


def _banded(predicted: np.ndarray, residual: np.ndarray) -> dict[str, list[float]]:
    """The mean residual and its 10 % and 90 % quantiles, in groups by prediction."""
    columns: dict[str, list[float]] = {name: [] for name in ("predicted", "mean", "low", "high", "rows")}
    for rows in equal_groups(predicted):
        part = residual[rows]
        low, high = np.quantile(part, [0.1, 0.9])
        values = (float(predicted[rows].mean()), float(part.mean()), float(low), float(high), float(rows.size))
        for name, value in zip(columns, values, strict=True):
            columns[name].append(value)
    return columns


def histogram(values: np.ndarray) -> dict[str, list[float]]:
    """Counts between edges that are round numbers, so that the edges do not reveal values of rows."""
    low, high = float(values.min()), float(values.max())
    width = (high - low) / min(24, max(4, int(math.sqrt(values.size))))
    power = 10.0 ** math.floor(math.log10(width)) if width > 0.0 else 1.0
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= width)
    edges = np.arange(math.floor(low / step), math.floor(high / step) + 2) * step
    counts, _ = np.histogram(values, edges)
    return {"from": edges[:-1].tolist(), "to": edges[1:].tolist(), "rows": counts.astype(float).tolist()}


def _ranking(z: np.ndarray, y: np.ndarray, groups: Any) -> Evaluation:
    """Ranking metrics, averaged over queries."""
    from fenchel.metrics import mrr, ndcg

    if groups is None or not (y.min() >= 0.0 and y.max() > 0.0):
        note = "To evaluate rankings, pass nonnegative relevances and queries: data=(X, y, groups)."
        return Evaluation(y.size, {}, note=note)
    numbers: dict[str, tuple[float, ...]] = {
        "NDCG of the first 10": (ndcg(y, z, groups, 10),),
        "Mean reciprocal rank": (mrr(y, z, groups),),
    }
    return Evaluation(y.size, numbers)


def _novelty(run: Run, X: np.ndarray | sp.csr_matrix) -> Evaluation:
    assert run.predict is not None and run.scores is not None
    z, predicted = np.ravel(run.scores(X)), np.asarray(run.predict(X))
    return Evaluation(
        z.size, {"Fraction predicted to be novel": wilson(int((predicted < 0).sum()), z.size)}, histogram=histogram(z)
    )


def _structured(run: Run, X: Sequence[Any], y: Sequence[Any]) -> Evaluation:
    """Accuracy of the labels of tokens, if examples have any, and of whole examples."""
    if run.predict is None:
        return Evaluation(len(y), {}, note="A Result cannot predict structured outputs: pass its StructuredModel.")
    predicted = run.predict(X)
    same = [bool(np.array_equal(np.asarray(a), np.asarray(b))) for a, b in zip(predicted, y, strict=True)]
    numbers: dict[str, tuple[float, ...]] = {"Accuracy of whole examples": wilson(sum(same), len(same))}
    flat_true, flat_found = _flat(y), _flat(predicted)
    if len(flat_true) != len(flat_found) or not flat_true or not all(isinstance(v, (str, int)) for v in flat_true):
        return Evaluation(len(same), numbers)
    hits = sum(a == b for a, b in zip(flat_true, flat_found, strict=True))
    numbers["Labels right"] = wilson(hits, len(flat_true))
    labels = sorted({*flat_true, *flat_found}, key=str)
    place = {label: k for k, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels)), dtype=int)
    for a, b in zip(flat_true, flat_found, strict=True):
        counts[place[a], place[b]] += 1
    note = "Labels of one example are dependent, so that the interval for single labels is too narrow."
    return Evaluation(len(same), numbers, ([str(label) for label in labels], counts), note=note)


def _flat(parts: Any) -> list[Any]:
    return [
        v.item() if isinstance(v, np.generic) else v for part in parts for v in np.ravel(np.asarray(part, dtype=object))
    ]
