"""Decisions of a fitted linear model that cannot change: the exact optimum puts the row into the same class.

A model has no rows of the training data. What is left of its certificate is the gap, |w* - w|_M^2 <= 2 gap in the norm in which
the regularizer is strongly convex, and, of models with a free intercept, an interval that holds the best intercept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel.compile.dispatch import is_ours
from fenchel.errors import InputError
from fenchel.losses.task import task_of
from fenchel.models.parts import model_rows
from fenchel.models.roles import without_offset

EPS = float(np.finfo(np.float64).eps)
WIDENING = 1.0 + 1e-9  # for the rounding of lengths

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.models.model import Model
    from fenchel.result import Result


def intercept_bounds(results: Sequence[Result]) -> tuple[float, ...] | None:
    """The ends of the intervals that hold the best intercepts, problem by problem; None if they are unknown or not needed."""
    problem: Any = results[0].problem
    known = problem.is_scalar and problem.fit_intercept and not problem.remote and task_of(problem.loss) == "binary"
    if not known or not is_ours(type(problem.regularizer)) or problem.regularizer.metric(problem.d) is None:
        return None
    return ends_of(result.ball() for result in results)


def ends_of(balls: Iterable[Any]) -> tuple[float, ...] | None:
    """The ends of the intervals of intercepts, region by region; None if one of them is not known."""
    ends = tuple(float(end) for ball in balls for end in ball.intercept)
    return ends if np.isfinite(ends).all() else None


def certain(model: Model, X: ArrayLike | sp.csr_matrix) -> np.ndarray:
    """Whether the exact optimum of every problem puts each row into the same class as the model."""
    from fenchel.proofs.decisions import largest_is_certain  # proofs can solve, too: a prediction need not import that

    _require(model)
    rows = model_rows(without_offset(X)[0], model.d)
    if model.constant is not None:
        column = np.full((rows.shape[0], 1), model.constant)
        rows = (
            sp.hstack([rows, sp.csr_matrix(column)], format="csr") if sp.issparse(rows) else np.hstack([rows, column])
        )
    rows = rows.astype(np.float64)
    metric = model.regularizer.metric(model.coef.shape[-1])
    assert metric is not None
    lengths, z = metric.dual_norms(rows) * WIDENING, model.scores(X)
    squares = rows.multiply(rows).sum(axis=1) if sp.issparse(rows) else np.einsum("ij,ij->i", rows, rows)
    size = np.sqrt(np.asarray(squares).ravel()) * float(np.linalg.norm(model.coef)) * (rows.shape[1] + 2)
    rounding = EPS * (size + 8.0 * np.abs(z if z.ndim == 2 else z[:, None]).max(axis=1))
    distances = np.sqrt([2.0 * (max(one.gap, 0.0) + one.floor) for one in model.certificates])
    if model.is_vector:
        return largest_is_certain(model, z, np.where(lengths > 0.0, lengths * distances[0], 0.0) + rounding, z)[0]
    b = np.atleast_1d(model.intercept)
    ends = np.zeros((len(b), 2)) if model.intercept_bounds is None else np.reshape(model.intercept_bounds, (-1, 2))
    width = np.where(lengths[:, None] > 0.0, lengths[:, None] * distances, 0.0) + rounding[:, None]
    z = z if z.ndim == 2 else z[:, None]
    low, high = z - width + (ends[:, 0] - b), z + width + (ends[:, 1] - b)
    if model.k == 1:
        return ((low > 0.0) & (z > 0.0) | (high < 0.0) & (z < 0.0))[:, 0]
    best = np.argmax(z, axis=1)[:, None]
    np.put_along_axis(high, best, -np.inf, axis=1)
    return np.asarray(np.take_along_axis(low, best, axis=1)[:, 0] > high.max(axis=1))


def _require(model: Any) -> None:
    """Raise InputError if the model's decisions cannot be proven."""
    name = type(model.loss).__name__
    if model.labels is None or model.is_measure or task_of(model.loss) not in ("binary", "classes"):
        raise InputError(
            f"a model of {name} has no decisions with a proof: it needs labels and a sum of losses of rows"
        )
    if not is_ours(type(model.regularizer)) or model.regularizer.metric(model.coef.shape[-1]) is None:
        raise InputError(
            f"regularizer {type(model.regularizer).__name__} is not strongly convex in a norm that is known, so the gap "
            "does not bound the distance to the optimum: use L2, ElasticNet or another regularizer that is"
        )
    if not all(np.isfinite(one.gap) and np.isfinite(one.floor) for one in model.certificates):
        raise InputError("the model has no finite dual value, so nothing is proven about its decisions")
    if model.fit_intercept and model.is_vector:
        raise InputError("free intercepts of several scores are not bounded by a certificate, so no decision is proven")
    if model.fit_intercept and model.intercept_bounds is None:
        raise InputError(
            "the training rows bound the free intercept, and an estimator does not keep them: call predict_certain(X, "
            "training=(X_train, y_train)), or use result.certain(X) of fenchel.solve, fenchel.Model.from_result or the file of "
            "fenchel train, which keep the interval"
        )
