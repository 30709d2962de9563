"""Rows without influence: their deletion cannot change the optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fenchel.certificates.passes import slopes_pass
from fenchel.errors import InputError
from fenchel.proofs.ball import ball

if TYPE_CHECKING:
    from fenchel.result import Result


def removable_rows(result: Result) -> np.ndarray:
    """Rows that can be deleted without changing the exact optimum: a boolean per row; True is a proof.

    The loss of such a row is flat at every score that it can have in `result.ball()`, so its dual variable u*_i is 0: a hinge
    beyond its margin, or a residual within an epsilon. The other rows keep their weights s_i / S: after a deletion the
    same S belongs under the sum, not the sum of the weights that are left.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [9.0], [-1.0]], [1, 1, -1], loss="hinge", alpha=0.5)
    >>> fenchel.removable_rows(fenchel.solve(problem, tol=1e-6)).tolist()
    [False, True, False]
    """
    problem = result.problem
    if not (problem.is_scalar or problem.is_kernel):
        raise InputError(
            f"loss {type(problem.loss).__name__} is not a sum of losses of one score, so its rows cannot be examined one by one"
        )
    region = ball(result)
    low, high = region.scores(region.space.training_rows(), problem.offset)
    finite = np.isfinite(low) & np.isfinite(high)
    ends = np.empty((2, problem.n))
    for scores, slopes in zip((low, high), ends, strict=True):
        slopes_pass(problem.compiled_loss, problem.y, np.where(finite, scores, 0.0), slopes)
    return (finite & (ends == 0.0).all(axis=0)) | (problem.weights == 0.0)
