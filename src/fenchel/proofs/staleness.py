"""How far new rows can move a fitted model: is a refit necessary?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel.certificates.scalar import certifier_of
from fenchel.errors import InputError
from fenchel.problems.scalar import Problem
from fenchel.proofs.ball import Ball, ball_at
from fenchel.result import Certificate

if TYPE_CHECKING:
    from fenchel.result import Result


@dataclass(frozen=True)
class Staleness:
    """What the old coefficients are worth for the rows with the new ones added.

    Attributes
    ----------
    certificate : that of the old coefficients for the larger problem: their relative gap there.
    ball : region that holds the optimum of the larger problem.
    needs_refit : whether the relative gap is above the tolerance of the old solve.
    """

    certificate: Certificate
    ball: Ball
    needs_refit: bool
    old: Result

    def shift(self, X: Any) -> np.ndarray:
        """By how much the scores of rows can change at most, from the old coefficients to the optimum of the larger problem."""
        low, high = self.ball.scores(X)
        z = np.asarray(X @ np.asarray(self.old.coef).T) + self.old.intercept
        return np.maximum(high - z, z - low)


def staleness(result: Result, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Staleness:
    """How far the rows (X, y), added to those of the result with weights s_i (1 each), can move its coefficients and scores.

    The old dual point with the slopes of the new rows' losses is a dual point of the larger problem, so one certificate
    answers; nothing is fitted. All weights are normalised together.

    >>> import numpy as np, fenchel
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((200, 2)), np.where(rng.random(200) < 0.5, -1.0, 1.0)
    >>> result = fenchel.solve(fenchel.Problem(X[:199], y[:199], loss="logistic", alpha=0.1), tol=1e-3)
    >>> stale = result.staleness(X[199:], y[199:])
    >>> refit = fenchel.solve(fenchel.Problem(X, y, loss="logistic", alpha=0.1), tol=1e-10)
    >>> bool(np.all(np.abs(X @ (refit.coef - result.coef)) <= stale.shift(X)))
    True
    """
    problem = result.problem
    known = (problem.is_scalar or problem.is_vector) and not (problem.is_kernel or problem.remote)
    if not known or result.dual_point is None:
        raise InputError(
            "staleness is known for losses of rows with features in memory and a finite dual value; solve the larger problem "
            "with start=result instead"
        )
    if getattr(problem, "own", False):
        raise InputError(
            f"loss {type(problem.loss).__name__} of several scores is not one of Fenchel's: its duals are planes"
        )
    given: Any = getattr(problem, "given", problem.regularizer)
    more: dict[str, Any] = {} if offset is None else {"offset": offset}
    new = Problem(X, y, loss=problem.loss, regularizer=given, sample_weight=sample_weight, **more)
    both = _joined(problem, new)
    w, b = both.variables(result.coef, result.intercept)
    certifier = certifier_of(both)
    slopes = certifier.slopes_at(both, w, b)[problem.n :]
    u = result.dual_point
    u = sp.vstack([u, sp.csr_matrix(slopes)]).tocsr() if sp.issparse(u) else np.concatenate([np.asarray(u), slopes])
    found, point = certifier.certificate(both, w, b, u)
    region = ball_at(both, result.coef, result.intercept, found, point)
    return Staleness(found, region, not found.holds(result.tol), result)


def _joined(old: Any, new: Any) -> Any:
    """The problem of the rows of both."""
    if old.X.shape[1] != new.X.shape[1]:
        raise InputError(f"X must have {old.X.shape[1]} columns like the rows of the result, got {new.X.shape[1]}")
    if sp.issparse(old.X) or sp.issparse(new.X):
        X: Any = sp.vstack([sp.csr_matrix(old.X), sp.csr_matrix(new.X)], format="csr")
    else:
        X = np.vstack([old.X, new.X])
    more: dict[str, Any] = {}
    if old.has_offset or new.has_offset:
        more["offset"] = np.concatenate([old.offset, new.offset])
    return Problem(
        X, np.concatenate([old.y, new.y]), loss=old.loss, regularizer=getattr(old, "given", old.regularizer),
        fit_intercept=old.has_intercept,
        sample_weight=np.concatenate([old.weights * old.total_weight, new.weights * new.total_weight]), **more,
    )  # fmt: skip
