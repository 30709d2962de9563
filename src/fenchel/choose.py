"""Which solver, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fenchel import compat, solvers
from fenchel.errors import IncompatibleError
from fenchel.solvers.base import Solver
from fenchel.solvers.newton_system import FACTORED


class Choice(NamedTuple):
    """A solver with the reason for it."""

    solver: Solver
    reason: str


class Rule(NamedTuple):
    """A solver, when to prefer it, and why."""

    name: str
    when: Callable[[Any], bool]
    reason: str


def _few_features(problem: Any) -> bool:
    return problem.d <= SMALL_FACTOR and (problem.n >= problem.d or problem.d <= TINY_FACTOR)


def _wide(problem: Any) -> bool:
    return problem.d >= problem.n and not problem.fit_intercept


def _wide_scores(problem: Any) -> bool:
    return problem.kind == "vector" and problem.features >= problem.n


def _pairs(problem: Any) -> bool:
    return problem.fit_intercept and not problem.smooth_loss and problem.n > problem.d


def _truncated_newton(problem: Any) -> bool:
    if problem.family == "scalar":
        return False
    features = problem.d // problem.outputs
    return features <= FACTORED and (problem.smooth_loss or problem.n >= ROWS_PER_VARIABLE * problem.d)


ROWS_PER_VARIABLE = 2.0  # at which a max hinge has enough rows with curvature: 2.8 of USPS pays, 1.3 of MNIST does not
SMALL_FACTOR = 500  # features up to which factoring a matrix of that size is cheaper than the passes it saves
TINY_FACTOR = (
    100  # ... also with fewer rows than features: such problems take milliseconds, and Newton's answers most digits
)
RULES: list[Rule] = [
    Rule("semismooth_newton", _few_features, "few features, so Newton steps are cheap"),
    Rule("dual_ascent", _wide, "at least as many features as rows, so few exact dual steps do it"),
    Rule(
        "block_frank_wolfe",
        lambda problem: problem.kind == "structured",
        "steps on one example's labels need one call of its oracle, and none where known labels will do",
    ),
    Rule("newton_cg", _truncated_newton, "few features, so a preconditioner makes Newton steps cheap"),
    Rule("block_ascent", _wide_scores, "at least as many features as rows, so few exact dual steps do it"),
    Rule("lbfgs", lambda problem: True, "loss and regularizer are differentiable"),
    Rule(
        "pairwise_ascent", _pairs, "the loss has kinks, and steps on pairs of rows keep the free intercept's constraint"
    ),
    Rule("dual_ascent", lambda problem: True, "a dual step costs one row and never loses ground"),
    Rule("block_ascent", lambda problem: True, "a step on all scores of a row is exact and never loses ground"),
    Rule("proximal_gradient", lambda problem: True, "the loss is differentiable and the regularizer has a prox"),
    Rule("bundle", lambda problem: True, "cutting planes need only value and slope"),
]


def candidates(problem: Any) -> list[Choice]:
    """All solvers that fit, the preferred one first; a later one takes over if an earlier one stalls."""
    found: dict[str, Choice] = {}
    for rule in RULES:
        solver = solvers.SOLVERS[rule.name]
        if rule.name not in found and compat.fits(solver, problem) and rule.when(problem):
            found[rule.name] = Choice(solver(), rule.reason)
    if not found:
        lacks = "; ".join(f"{cls.__name__}: {compat.missing(cls, problem)[0]}" for cls in solvers.SOLVERS.values())
        raise IncompatibleError(f"no solver fits {problem!r}. {lacks}")
    return list(found.values())
