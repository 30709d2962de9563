"""Requirements of solvers, each with the sentence that says what is missing and why it is needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from fenchel import solvers
from fenchel.compile.dispatch import is_ours
from fenchel.errors import IncompatibleError, InputError
from fenchel.losses import Hinge
from fenchel.losses.protocol import dual_domain
from fenchel.regularizers import L1, L2, ElasticNet, L2Ball, Quadratic
from fenchel.regularizers.base import is_convex
from fenchel.regularizers.nonconvex import Nonconvex
from fenchel.solvers.base import Solver
from fenchel.solvers.dual_ascent.mirror_form import has_form
from fenchel.solvers.newton_cg.vector_system import has_curvature
from fenchel.solvers.proximal_point_newton.prox_operator import has_jacobian
from fenchel.solvers.proximal_point_newton.settings import SETTINGS as POINT_NEWTON
from fenchel.structured.marginals import parts_of

if TYPE_CHECKING:
    from fenchel.problems.scalar import Problem
    from fenchel.regularizers.base import Regularizer

MOST_FEATURES = 2000


class Requirement(NamedTuple):
    """A test `met(problem)`, and the sentence to show if it fails ({name} is the loss or regularizer)."""

    met: Callable[[Any], bool]
    missing: str


STEEPEST = 1e6  # larger slopes count as unbounded: without `dual_domain`, only slopes at scores up to 2^60 are known


def _is(regularizer: Regularizer, *kinds: type) -> bool:
    """Whether the regularizer is exactly one of these classes (a subclass may be another function) with equal weights."""
    return type(regularizer) in kinds and getattr(regularizer, "weights", None) is None


def _steepest_slope(problem: Problem) -> float:
    """The largest |u| in the dual domains of some targets, including the extreme ones."""
    if hasattr(problem.loss, "largest_slope"):
        return problem.loss.largest_slope()
    loss = problem.loss if hasattr(problem.loss, "dual_domain") else _Extended(problem.loss)
    return max(abs(end) for target in problem.some_targets() for end in dual_domain(loss, target))


class _Extended:
    """A loss whose value is inf and whose slope is NaN where Python raises and compiled code does not, far from 0."""

    def __init__(self, loss: Any):
        self.loss = loss

    def value(self, z: float, y: float) -> float:
        try:
            return self.loss.value(z, y)
        except (OverflowError, ZeroDivisionError):
            return math.inf

    def slope(self, z: float, y: float) -> float:
        try:
            return self.loss.slope(z, y)
        except (OverflowError, ZeroDivisionError):
            return math.nan


def _has_second_derivative(problem: Problem) -> bool:
    """Whether Newton's method supports the regularizer."""
    if problem.is_measure:
        return problem.smooth_loss and hasattr(problem.loss, "hessian_product")
    return problem.smooth_loss if problem.is_scalar else has_curvature(problem.loss)


LOSS: dict[str, Requirement] = {
    "bounded_slopes": Requirement(
        lambda problem: problem.is_structured or _steepest_slope(problem) < STEEPEST,
        "loss `{name}` has unbounded slopes (the dual variables must lie in a bounded box)",
    ),
    "hinge": Requirement(
        lambda problem: isinstance(problem.loss, Hinge),
        "loss `{name}` is not `Hinge` (the method is specific to it)",
    ),
    "dual_prox": Requirement(
        lambda problem: hasattr(problem.loss, "dual_prox"),
        "loss `{name}` has no `dual_prox` (the method takes exact steps on all scores of a row)",
    ),
    "prox": Requirement(
        lambda problem: problem.is_scalar or problem.is_structured or hasattr(problem.loss, "dual_prox"),
        "loss `{name}` of several scores has no `dual_prox` (the method takes proximal steps)",
    ),
    "curvature": Requirement(
        _has_second_derivative,
        "the second derivative of loss `{name}` is not known (the method solves systems with it)",
    ),
    "differentiable": Requirement(
        lambda problem: problem.smooth_loss,
        "loss `{name}` is not differentiable (the method follows its derivative; Moreau(loss, gamma) would smooth it)",
    ),
}
REGULARIZER: dict[str, Requirement] = {
    "l2": Requirement(
        lambda problem: _is(problem.regularizer, L2),
        "regularizer `{name}` is not `L2` (the method's update is specific to it)",
    ),
    "l2_or_its_ball": Requirement(
        lambda problem: _is(problem.regularizer, L2) or type(problem.regularizer) is L2Ball,
        "regularizer `{name}` is neither `L2` nor `L2Ball` (the method's steps in w are specific to them)",
    ),
    "gradient": Requirement(
        lambda problem: hasattr(problem.regularizer, "gradient"),
        "regularizer `{name}` has no `gradient` (the method follows the derivative of the whole objective)",
    ),
    "prox": Requirement(
        lambda problem: hasattr(problem.regularizer, "prox"),
        "regularizer `{name}` has no `prox` (the method takes proximal steps)",
    ),
    "prox_jacobian": Requirement(
        lambda problem: has_jacobian(getattr(problem, "penalty", problem.regularizer), problem.d),
        "the prox of regularizer `{name}` couples the coefficients, and there are more than "
        f"{POINT_NEWTON.max_coupled_features} features (the method factors its Jacobian)",
    ),
    "penalised": Requirement(
        lambda problem: not problem.is_scalar or problem.regularizer.unpenalised(problem.d) is None,
        "regularizer `{name}` leaves coefficients unpenalised (all dual points of the method would have the value -inf)",
    ),
    "primal_from_dual": Requirement(
        lambda problem: hasattr(problem.regularizer, "primal_from_dual"),
        "regularizer `{name}` has no `primal_from_dual` (the method needs it to compute coefficients from dual variables)",
    ),
    "strongly_convex": Requirement(
        lambda problem: problem.regularizer.strongly_convex,
        "regularizer `{name}` is not strongly convex (the curvature of the dual would be unbounded)",
    ),
    "hessian": Requirement(
        lambda problem: is_ours(type(problem.regularizer)) and hasattr(problem.regularizer, "hessian"),
        "regularizer `{name}` has no `hessian` (the method solves systems with the second derivative of the objective)",
    ),
    "quadratic": Requirement(
        lambda problem: _is(getattr(problem.regularizer, "inner", problem.regularizer), L2, Quadratic),
        "regularizer `{name}` is not quadratic (the method needs a constant second derivative)",
    ),
    "few_features": Requirement(
        lambda problem: problem.d <= MOST_FEATURES,
        f"there are more than {MOST_FEATURES} features (the method factors a matrix with a row for each)",
    ),
    "transfer": Requirement(
        lambda problem: has_form(problem.regularizer),
        "regularizer `{name}` has no mirror map (dual steps need it to compute coefficients from dual variables)",
    ),
    "separable_quadratic": Requirement(
        lambda problem: _is(problem.regularizer, L2, ElasticNet),
        "regularizer `{name}` has no quadratic part that is the same for every coefficient",
    ),
    "soft_threshold": Requirement(
        lambda problem: _is(problem.regularizer, L1, ElasticNet),
        "regularizer `{name}` is neither `L1` nor `ElasticNet` (the method works on the columns with nonzero coefficients)",
    ),
    "nonconvex": Requirement(
        lambda problem: isinstance(problem.regularizer, Nonconvex),
        "regularizer `{name}` is none of `L0`, `MCP` and `SCAD` (the method is for these; convex ones have solvers that reach "
        "the optimum)",
    ),
    "quadratic_part": Requirement(
        lambda problem: _is(problem.regularizer, L2, Quadratic, ElasticNet),
        "regularizer `{name}` has no quadratic part (the method needs it to bound how a dual step changes the scores)",
    ),
}
PROBLEM: dict[str, Requirement] = {
    "no_intercept": Requirement(
        lambda problem: not problem.fit_intercept,
        "the intercept is free (the method does not keep the dual variables balanced)",
    ),
    "smoothed_by_parts": Requirement(
        lambda problem: (
            hasattr(problem.regularizer, "hessian")
            or (type(problem.regularizer) in (L1, ElasticNet) and not problem.smooth_loss)
        ),
        "the regularizer is not quadratic, and it is not L1 or ElasticNet or the loss is smooth (the method smooths both, or "
        "none)",
    ),
    "marginals": Requirement(
        lambda problem: not problem.is_structured or parts_of(problem.model) is not None,
        "the labels of this model do not decompose into parts with known marginals (the method works on those; "
        "a model of your own has them if it lists its labels, `labels(x)`)",
    ),
}


KINDS = {
    "scalar": "loss `{name}` is a function of one score per row (the method updates several scores at once)",
    "vector": "loss `{name}` is a function of several scores per row (the method supports only one)",
    "own vector": "loss `{name}` of several scores is a custom loss (the method's dual variables can be certified only "
    "with the conjugate of a built-in loss)",
    "free vector": "several intercepts are free (the method cannot balance the dual variables of several scores)",
    "set": "loss `{name}` is a function of all scores together (the method needs a loss for each row)",
    "structured": "loss `{name}` has structured outputs (the method supports only scores of rows)",
    "kernel": "the problem has a kernel (the method needs rows of features)",
    "structured log": "loss `{name}` is a structured log-loss (the method supports only the hinge)",
}


NONCONVEX = "regularizer `{name}` is not convex (the method assumes that it is)"
REMOTE = "the rows are on a cluster ({why})"


def missing(solver: Solver | type[Solver], problem: Problem, remote: bool = False) -> list[str]:
    """The unmet requirements of this solver, as sentences; `remote` means that the rows are on a cluster."""
    return [sentence.format(name=type(thing).__name__) for sentence, thing in _lacks(solver, problem, remote)]


def _lacks(solver: Solver | type[Solver], problem: Problem, remote: bool) -> Iterator[tuple[str, Any]]:
    """(sentence, the part of the problem that it names) for every unmet requirement."""
    if problem.kind not in solver.kinds:
        yield KINDS[problem.kind], problem.loss
        return
    if not solver.nonconvex and not is_convex(problem):
        yield NONCONVEX, problem.regularizer
    if (remote or getattr(problem, "remote", False)) and problem.kind not in solver.remote:
        yield REMOTE.format(why=solver.local_reason), problem
    for words, table, thing in (
        (solver.needs.loss, LOSS, problem.loss),
        (solver.needs.regularizer, REGULARIZER, problem.regularizer),
        (solver.needs.problem, PROBLEM, problem),
    ):
        for word in words:
            if word not in table:
                raise InputError(f"`needs` of {_name(solver)} has {word!r}: known are {', '.join(table)}")
            if not table[word].met(problem):
                yield table[word].missing, thing


def _name(solver: Solver | type[Solver]) -> str:
    return (solver if isinstance(solver, type) else type(solver)).__name__


def fits(solver: Solver | type[Solver], problem: Problem, remote: bool = False) -> bool:
    """Whether the solver supports the problem."""
    return next(_lacks(solver, problem, remote), None) is None


def who_can(problem: Problem, remote: bool = False) -> list[str]:
    """Names of the solvers that support the problem."""
    return [cls.__name__ for cls in solvers.SOLVERS.values() if fits(cls, problem, remote)]


def require_fit(solver: Solver, problem: Problem, remote: bool = False) -> None:
    """Raise IncompatibleError unless the solver supports the problem."""
    lacks = missing(solver, problem, remote)
    if lacks:
        can = who_can(problem, remote)
        name = type(solver).__name__
        shown = repr(solver) if name in can else name  # with other settings the same solver can
        raise IncompatibleError(
            f"{shown} cannot solve this problem: {'; '.join(lacks)}. Solvers that can: {', '.join(can) or 'none yet'}."
        )
