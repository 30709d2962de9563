"""Which solver, and why."""

from __future__ import annotations

from typing import Any, NamedTuple

from fenchel import compat, solvers
from fenchel.errors import IncompatibleError
from fenchel.solvers.base import Solver


class Choice(NamedTuple):
    """A solver with the reason for it."""

    solver: Solver
    reason: str


RULES: list[tuple[str, str]] = [
    ("lbfgs", "loss and regularizer are differentiable"),
    ("dual_ascent", "the regularizer has a quadratic part, so every dual coordinate step is exact"),
    ("proximal_gradient", "the loss is differentiable and the regularizer has a prox"),
    ("bundle", "cutting planes need only value and slope"),
]


def candidates(problem: Any) -> list[Choice]:
    """All solvers that fit, the preferred one first; a later one takes over if an earlier one stalls."""
    found = [
        Choice(solvers.SOLVERS[name](), reason)
        for name, reason in RULES
        if name in solvers.SOLVERS and compat.fits(solvers.SOLVERS[name], problem)
    ]
    if not found:
        lacks = "; ".join(f"{cls.__name__}: {compat.missing(cls, problem)[0]}" for cls in solvers.SOLVERS.values())
        raise IncompatibleError(f"no solver fits {problem!r}. {lacks}")
    return found
