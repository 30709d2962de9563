"""Decisions that cannot change: the class of a row at the exact optimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.errors import InputError
from fenchel.losses.task import innermost, task_of
from fenchel.proofs.ball import Ball, ball, ball_at
from fenchel.proofs.spaces import space_of

if TYPE_CHECKING:
    from fenchel.result import Result

WIDENING = 1.0 + 1e-9  # for the rounding of the distances between classes


def certain(result: Result, X: Any, offset: Any = None) -> np.ndarray:
    """Whether the exact optimum puts each row into the same class as the result: a boolean per row.

    True is a proof: the sign of <x, w> + b, or the class with the largest score, is the same at the result and at every
    point of `result.ball()`. False says nothing. It is a statement about the optimum of this training problem, not about
    the true class of a row.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="logistic", alpha=0.1)
    >>> fenchel.solve(problem, tol=1e-3).certain([[1.0], [0.0], [-2.0]]).tolist()
    [True, False, True]
    """
    problem = result.problem
    _require_classes(problem)
    region = ball(result)
    z = region.space.reach(X, np.asarray(result.coef)).scores + result.intercept
    if problem.is_vector:
        return _largest_in_region(region, X, z)
    low, high = region.scores(X, offset)
    z = z if offset is None else z + np.asarray(offset, dtype=np.float64)
    return ((low > 0.0) & (z > 0.0)) | ((high < 0.0) & (z < 0.0))


@dataclass(frozen=True)
class Decisions:
    """When `fenchel.solve(problem, until=Decisions(X))` may stop: as soon as the exact optimum is proven to put every row of X
    into the same class as the result.

    The status is then DECIDED, and the gap may still be above tol. It is a proof about the optimum of the training problem and
    these rows, not about their true classes. A row whose score at the optimum is about 0 is never decided: the solve then goes
    on to tol.

    >>> import numpy as np, fenchel
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> problem = fenchel.Problem(X, np.sign(X[:, 0] + 0.1), loss="logistic", alpha=0.01)
    >>> until = fenchel.Decisions([[1.0, 0.0, 0.0], [-1.0, 0.5, 0.0]])
    >>> result = fenchel.solve(problem, tol=1e-10, until=until)
    >>> result.status.name, result.certain(until.X).tolist()
    ('DECIDED', [True, True])
    """

    X: Any
    offset: Any = None

    def require(self, problem: Any) -> None:
        """Raise InputError before the solve if decisions can never be proven for this problem."""
        _require_classes(problem)
        if space_of(problem).metric is None:
            ball_at(problem, np.zeros(0), 0.0, None, None)  # raises an error that says why
        if problem.is_vector and problem.has_intercept:
            raise InputError(
                "free intercepts of several scores are not bounded, so no decision is ever proven: remove `until`"
            )

    def settled(self, result: Result) -> bool:
        """Whether no decision can change."""
        return bool(certain(result, self.X, self.offset).all())


def _require_classes(problem: Any) -> None:
    if not classifies(problem):
        raise InputError(
            f"loss {type(problem.loss).__name__} does not classify rows, so there are no decisions; result.ball().scores(X) "
            "bounds the scores of the exact optimum"
        )


def classifies(problem: Any) -> bool:
    """Whether the sign of a score, or the largest score of a class, is a decision."""
    if problem.is_structured:
        return False
    return task_of(problem.loss) == ("classes" if problem.is_vector else "binary")


def _largest_in_region(region: Ball, X: Any, scores: np.ndarray) -> np.ndarray:
    """Whether the class with the largest score at the result has it at every point of the region."""
    low, high = region.intercept
    centers, width = region.around(X)
    if not np.isfinite(low).all() or not np.isfinite(high).all():
        return np.zeros(centers.shape[0], dtype=bool)
    return largest_is_certain(region.space.problem, centers, width, scores)[0]


def largest_is_certain(
    problem: Any, centers: np.ndarray, width: np.ndarray, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(whether the class with the largest score has it at every W whose scores are within `width` of the centres, the class).

    Two classes whose scores are sums a and a' of the scores of a row differ by (a - a')'W x, which moves by at most
    |a - a'| |x| distance.
    """
    loss = innermost(problem.loss)
    sums = getattr(loss, "class_scores", np.asarray)(np.eye(centers.shape[1]))  # scores x classes
    z = centers @ sums
    best = np.argmax(scores @ sums, axis=1)
    away = np.linalg.norm(sums.T[best][:, :, None] - sums[None, :, :], axis=1)  # rows x classes
    apart = np.take_along_axis(z, best[:, None], axis=1) - z
    proven = apart > away * width[:, None] * WIDENING
    np.put_along_axis(proven, best[:, None], True, axis=1)
    return proven.all(axis=1), best
