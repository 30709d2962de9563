"""Cross-validation: the folds, and the output of liblinear's -v."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.cli.fitting import model_of, problems, solve_all, unstopped
from fenchel.cli.problem_options import asked_constant
from fenchel.cli.reading import Rows
from fenchel.cli.tasks import Task
from fenchel.data.dtypes import is_text
from fenchel.errors import InputError

if TYPE_CHECKING:
    import scipy.sparse as sp

    from fenchel.problems.kinds_of_loss import AnyLoss
    from fenchel.regularizers import Regularizer

SEED = 0


def held_out(task: Task, y: np.ndarray | None, n: int, k: int, seed: int = SEED) -> list[np.ndarray]:
    """k disjoint sets of rows: shuffled and stratified by label, or with the rows of each query together.

    >>> parts = held_out(Task(None, [None]), None, 7, 3)
    >>> sorted(len(part) for part in parts), sorted(np.concatenate(parts).tolist())
    ([2, 2, 3], [0, 1, 2, 3, 4, 5, 6])
    """
    if not 2 <= k <= n:
        raise InputError(f"the number of folds must be from 2 to {n}, the number of rows, got {k}")
    rng = np.random.default_rng(seed)
    if task.groups is not None:
        queries, place = np.unique(task.groups, return_inverse=True)
        if queries.size < k:
            raise InputError(f"{k} folds need at least {k} queries, but there are {queries.size}")
        fold = rng.permutation(queries.size) % k
        return [np.flatnonzero(fold[place] == j) for j in range(k)]
    order = rng.permutation(n)
    if task.labels is not None and y is not None:
        order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(n, dtype=np.int64)
    fold[order] = np.arange(n) % k
    return [np.flatnonzero(fold == j) for j in range(k)]


def part_of(task: Task, rows: np.ndarray) -> Task:
    """The task restricted to some rows."""
    targets = [None if y is None else y[rows] for y in task.targets]
    return Task(task.labels, targets, None if task.groups is None else task.groups[rows])


def fold_problems(
    arguments: Namespace,
    X: np.ndarray | sp.csr_matrix,
    task: Task,
    weights: list[Any],
    loss: AnyLoss,
    penalty: Regularizer,
    rows: np.ndarray,
) -> list[Any]:
    """The problems restricted to some rows, in which every label must occur."""
    part = part_of(task, rows)
    _require_all(part)
    own = [None if weight is None else weight[rows] for weight in weights]
    return problems(arguments, X[rows], part, loss, penalty, own)


def _require_all(part: Task) -> None:
    if part.labels is None:
        return
    expected = len(part.labels) if len(part.targets) == 1 else 2  # otherwise one label against the rest
    if any(np.unique(np.asarray(y)).size < expected for y in part.targets):
        raise InputError("a label has too few rows to occur in every fold: use fewer folds, or remove the label")


def cross_validate(
    arguments: Namespace,
    data: Rows,
    task: Task,
    weights: list[Any],
    loss: AnyLoss,
    strength: Callable[[int, list[Any]], Regularizer],
) -> Any:
    """(out-of-fold predictions for every row, the gaps of all solves)."""
    X, n = data.matrix, data.matrix.shape[0]
    predicted: Any = None
    gaps = []
    for rows in held_out(task, data.y, n, arguments.folds):
        rest = np.setdiff1d(np.arange(n), rows)
        own = [None if weight is None else weight[rest] for weight in weights]
        wanted = fold_problems(arguments, X, task, weights, loss, strength(rest.size, own), rest)
        results = unstopped(solve_all(arguments, wanted))
        gaps += [result.certificate.relative_gap for result in results]
        found = model_of(results, data, part_of(task, rest), asked_constant(arguments), keep_dual=False).predict(
            X[rows]
        )
        if predicted is None:
            predicted = np.empty(n, dtype=found.dtype if not is_text(found) else object)
        predicted[rows] = found
    return predicted, gaps


def validate(
    arguments: Namespace, data: Rows, task: Task, weights: list[Any], loss: AnyLoss, penalty: Regularizer
) -> int:
    """liblinear's -v: print the quality of the out-of-fold predictions."""
    from fenchel.cli.problem_options import alpha_of, of_strength
    from fenchel.cli.terminal import as_json

    if task.groups is not None or task.targets[0] is None:
        raise InputError("-v is for classification and regression; for rankings see fenchel path")

    def strength(n: int, own: list[Any]) -> Any:
        return of_strength(penalty, alpha_of(arguments, n, loss, own))

    predicted, gaps = cross_validate(arguments, data, task, weights, loss, strength)
    found: dict[str, Any] = {"folds": arguments.folds, "rows": len(predicted), "worst_relative_gap": max(gaps)}
    truth = data.y if data.words is None else np.array(data.words, dtype=object)[data.y.astype(int)]
    if task.labels is not None:
        found["accuracy"] = float(np.mean(predicted == truth))
        text = f"Cross Validation Accuracy = {100 * found['accuracy']:.6g}%"
    else:
        found["mean_squared_error"] = float(np.mean((predicted - truth) ** 2))
        found["squared_correlation"] = _squared_correlation(predicted, truth)
        text = f"Cross Validation Mean squared error = {found['mean_squared_error']:.6g}\n"
        text += f"Cross Validation Squared correlation coefficient = {found['squared_correlation']:.6g}"
    print(as_json(found) if arguments.json else text)
    return 0 if max(gaps) <= arguments.tol else 3


def _squared_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """cov(a, b)^2 / (var a var b), NaN if one of them is constant."""
    a, b = a - a.mean(), b - b.mean()
    scale = float((a @ a) * (b @ b))
    return float((a @ b) ** 2 / scale) if scale > 0.0 else float("nan")
