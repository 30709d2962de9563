"""A problem without some of its rows: they stay in memory, with weight 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.data.accept import read_only
from fenchel.errors import InputError
from fenchel.problems.vector import Unpenalised


def without(problem: Any, rows: np.ndarray, renormalise: bool) -> Any:
    """The problem whose other rows have weights that sum to 1 again.

    With renormalise=False they keep their weights p: the objective, divided by their sum, is that of alpha divided by it.
    """
    p = np.array(problem.weights)
    p[rows] = 0.0
    total = float(p.sum())
    if not total > 0.0:
        raise InputError("the rows that are left have no weight")
    changes: dict[str, Any] = {"weights": read_only(p / total), "total_weight": problem.total_weight * total}
    if not renormalise:
        changes |= _with_strength(problem, problem.regularizer.alpha / total)
    new = object.__new__(type(problem))
    kept = {name: part for name, part in problem.__dict__.items() if name != "digest"}
    new.__dict__.update(kept | changes)
    return new


def _with_strength(problem: Any, alpha: float) -> dict[str, Any]:
    """The attributes that depend on the strength, with another one."""
    if problem.is_vector:
        penalty = problem.penalty.scaled(alpha)
        regularizer = Unpenalised(penalty, problem.outputs) if problem.free else penalty
        return {"given": problem.given.scaled(alpha), "penalty": penalty, "regularizer": regularizer}
    found: dict[str, Any] = {"regularizer": problem.regularizer.scaled(alpha)}
    return found | {"alpha": alpha} if problem.is_kernel else found
