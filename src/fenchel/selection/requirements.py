"""Requirements of solvers, as sentences: what is missing, why it is needed, and which solvers could do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from fenchel import solvers
from fenchel.compile.dispatch import is_ours
from fenchel.errors import IncompatibleError
from fenchel.losses import Hinge
from fenchel.losses.protocol import dual_domain
from fenchel.regularizers import L1, L2, ElasticNet, Quadratic
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
    """`met(problem)`, and the sentence that is true when it is not met ({name} is the loss or regularizer)."""

    met: Callable[[Any], bool]
    missing: str


STEEPEST = 1e6  # larger slopes count as unbounded: without `dual_domain`, only slopes at scores up to 2^60 are known


def _is(regularizer: Regularizer, *kinds: type) -> bool:
    """Whether it is one of these with equal weights; a subclass may define another function."""
    return type(regularizer) in kinds and getattr(regularizer, "weights", None) is None


def _steepest_slope(problem: Problem) -> float:
    """The largest |u| in the dual domains of some targets, including the extreme ones."""
    if hasattr(problem.loss, "largest_slope"):
        return problem.loss.largest_slope()
    return max(abs(end) for target in problem.some_targets() for end in dual_domain(problem.loss, target))


def _has_second_derivative(problem: Problem) -> bool:
    """Whether Newton's method knows how to take it."""
    if problem.is_measure:
        return problem.smooth_loss and hasattr(problem.loss, "hessian_product")
    return problem.smooth_loss if problem.is_scalar else has_curvature(problem.loss)


LOSS: dict[str, Requirement] = {
    "bounded_slopes": Requirement(
        lambda problem: problem.is_structured or _steepest_slope(problem) < STEEPEST,
        "loss `{name}` has slopes without bound (the dual variables must lie in a bounded box)",
    ),
    "hinge": Requirement(
        lambda problem: isinstance(problem.loss, Hinge),
        "loss `{name}` is not `Hinge` (the method is written for it)",
    ),
    "dual_prox": Requirement(
        lambda problem: hasattr(problem.loss, "dual_prox"),
        "loss `{name}` has no `dual_prox` (the exact step on all scores of a row)",
    ),
    "curvature": Requirement(
        _has_second_derivative,
        "the second derivative of loss `{name}` is not known (the method solves with it)",
    ),
    "differentiable": Requirement(
        lambda problem: problem.smooth_loss,
        "loss `{name}` is not differentiable (the method follows its derivative; Moreau(loss, gamma) would smooth it)",
    ),
}
REGULARIZER: dict[str, Requirement] = {
    "l2": Requirement(
        lambda problem: _is(problem.regularizer, L2),
        "regularizer `{name}` is not `L2` (the method's step is the decay of its gradient)",
    ),
    "gradient": Requirement(
        lambda problem: hasattr(problem.regularizer, "gradient"),
        "regularizer `{name}` has no `gradient` (the method follows the derivative of the whole objective)",
    ),
    "prox": Requirement(
        lambda problem: hasattr(problem.regularizer, "prox"),
        "regularizer `{name}` has no `prox` (the method's step is a proximal step on it)",
    ),
    "prox_jacobian": Requirement(
        lambda problem: has_jacobian(problem.regularizer, problem.d),
        "the prox of regularizer `{name}` couples the weights, and there are more than "
        f"{POINT_NEWTON.max_coupled_features} features (the method factors its Jacobian)",
    ),
    "penalised": Requirement(
        lambda problem: not problem.is_scalar or problem.regularizer.unpenalised(problem.d) is None,
        "regularizer `{name}` leaves coefficients unpenalised (the method's dual points would all give the bound -inf)",
    ),
    "primal_from_dual": Requirement(
        lambda problem: hasattr(problem.regularizer, "primal_from_dual"),
        "regularizer `{name}` has no `primal_from_dual` (it maps the dual variables to weights)",
    ),
    "strongly_convex": Requirement(
        lambda problem: problem.regularizer.strongly_convex,
        "regularizer `{name}` is not strongly convex (a step along the dual would have no bound on its curvature)",
    ),
    "hessian": Requirement(
        lambda problem: is_ours(type(problem.regularizer)) and hasattr(problem.regularizer, "hessian"),
        "regularizer `{name}` has no `hessian` (the method solves with the second derivative of the objective)",
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
        "regularizer `{name}` has no mirror map for dual steps (it turns dual variables into weights)",
    ),
    "separable_quadratic": Requirement(
        lambda problem: _is(problem.regularizer, L2, ElasticNet),
        "regularizer `{name}` has no quadratic part that is the same for every weight",
    ),
    "soft_threshold": Requirement(
        lambda problem: _is(problem.regularizer, L1, ElasticNet),
        "regularizer `{name}` is neither `L1` nor `ElasticNet` (the method works on the columns whose weights are not 0)",
    ),
    "quadratic_part": Requirement(
        lambda problem: _is(problem.regularizer, L2, Quadratic, ElasticNet),
        "regularizer `{name}` has no quadratic part (it bounds how a dual step changes the scores)",
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
        "the labels of this model are not made of parts whose marginals are known (the method steps on those)",
    ),
}


KINDS = {
    "scalar": "loss `{name}` is of one score per row (the method steps on several scores at once)",
    "vector": "loss `{name}` is of several scores per row (the method is written for one)",
    "own vector": "loss `{name}` of several scores is not one of Fenchel's (the method's dual variables can be certified only "
    "with a conjugate that is known to be right)",
    "free vector": "several intercepts are free (the method cannot balance the dual variables of several scores)",
    "set": "loss `{name}` is of all scores together (the method needs a loss for each row)",
    "structured": "loss `{name}` is of structured outputs (the method is written for scores of rows)",
    "kernel": "the features are those of a kernel (the method needs rows of features)",
    "structured log": "loss `{name}` is a log-loss of structured outputs (the method is not written for it)",
}


REMOTE = "the rows are on a cluster ({why})"


def missing(solver: Solver | type[Solver], problem: Problem, remote: bool = False) -> list[str]:
    """The unmet requirements of this solver, as sentences; `remote`: the rows are on a cluster."""
    return [sentence.format(name=type(thing).__name__) for sentence, thing in _lacks(solver, problem, remote)]


def _lacks(solver: Solver | type[Solver], problem: Problem, remote: bool) -> Iterator[tuple[str, Any]]:
    """(sentence, the part of the problem that it names) for everything that is missing."""
    if problem.kind not in solver.kinds:
        yield KINDS[problem.kind], problem.loss
        return
    if (remote or getattr(problem, "remote", False)) and problem.kind not in solver.remote:
        yield REMOTE.format(why=solver.at_home), problem
    for words, table, thing in (
        (solver.needs.loss, LOSS, problem.loss),
        (solver.needs.regularizer, REGULARIZER, problem.regularizer),
        (solver.needs.problem, PROBLEM, problem),
    ):
        for word in words:
            if not table[word].met(problem):
                yield table[word].missing, thing


def fits(solver: Solver | type[Solver], problem: Problem, remote: bool = False) -> bool:
    """True if the solver claims to solve the problem."""
    return next(_lacks(solver, problem, remote), None) is None


def who_can(problem: Problem, remote: bool = False) -> list[str]:
    """Names of the solvers that fit the problem."""
    return [cls.__name__ for cls in solvers.SOLVERS.values() if fits(cls, problem, remote)]


def require_fit(solver: Solver, problem: Problem, remote: bool = False) -> None:
    """Raise IncompatibleError unless the solver fits the problem."""
    lacks = missing(solver, problem, remote)
    if lacks:
        can = ", ".join(who_can(problem, remote)) or "none yet"
        raise IncompatibleError(
            f"{type(solver).__name__} cannot solve this problem: {'; '.join(lacks)}. Solvers that can: {can}."
        )
