"""The rules by which `solver="auto"` selects solvers: in which order, for how many passes, and the reason it reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel import solvers
from fenchel.data.mapped import release
from fenchel.errors import IncompatibleError
from fenchel.kernels.passes import mean_square
from fenchel.losses.protocol import curvature
from fenchel.selection import requirements, scores
from fenchel.solvers.base import Solver
from fenchel.solvers.dual_ascent.initial_epochs import dual_start_pays
from fenchel.solvers.newton_cg.passes import costs_of
from fenchel.solvers.newton_cg.settings import SETTINGS as NEWTON_CG

if TYPE_CHECKING:
    from fenchel.problems.scalar import Problem
    from fenchel.problems.structured import StructuredProblem
    from fenchel.problems.vector import VectorProblem


class Choice(NamedTuple):
    """A solver, the reason for choosing it, and the number of passes after which a slow solve moves on to the next one."""

    solver: Solver
    reason: str
    passes: float = math.inf


class Rule(NamedTuple):
    """A solver, the condition under which it is preferred, the reason, and for how many passes."""

    name: str
    when: Callable[[Any], bool]
    reason: str
    passes: Callable[[Any], float] = lambda problem: math.inf
    remote_only: bool = False
    remote_when: Callable[[Any], bool] = lambda problem: True  # a further condition if the rows are on a cluster
    rough_only: bool = False  # only if tol is at least ROUGH_TOL


# Costs are estimated from counts, not measured by the clock, so that every run of a problem makes the same choice.
NEWTON_STEPS = 30.0  # typical number of steps of semismooth Newton
ACTIVE_FRACTION = 0.15  # typical fraction of rows near a nonsmooth point in such a step
MAX_FACTOR_PASSES = 12.0  # passes: below this cost of a factorization with all rows, Newton steps pay
ROWS_PER_VARIABLE = 2.0  # enough rows with curvature for a max hinge: pays at 2.8 (USPS), not at 1.3 (MNIST)
EXPENSIVE_FACTOR_PASSES = 100.0  # passes: a factorization that costs more is avoided
SAMPLED_TARGETS, FAR_SCORE = 4, 50.0  # number of targets, and score, at which zero curvature is tested
FEW_FEATURES = 200  # with rows on a cluster: the Hessian is small enough to send
ROUGH_TOL = 1e-3  # a tolerance that dual ascent, whose first epochs gain most, often reaches before a Newton step ends
ROUGH_PASSES = 30.0  # typical passes of Newton's method to such a tolerance
# The coupling of rows is the mean of |x|^2 / (n alpha) over SAMPLED_ROWS rows. Dual ascent is preferred up to COUPLING times
# the squared cost of a factorization in passes; for rough tolerances up to COUPLING_ROUGH times the fourth power of that cost
# (of MAX_FACTOR_COST, if that is less).
COUPLING, SAMPLED_ROWS = 0.045, 1000
COUPLING_ROUGH, MAX_FACTOR_COST = 0.009, 8.0
WIDE_COUPLING, WIDE_COUPLING_ROUGH = 20.0, 100.0  # the limits for wide sparse rows
PATIENCE = 3.0  # semismooth Newton may take this multiple of its estimated passes before dual ascent is tried
PROXIMAL_SYSTEMS, PASSES_PER_SYSTEM, SYSTEM_NS = 10.0, 3.0, 3e5  # typical costs of the proximal point method
EPOCH_NS = 5e4  # of an epoch of dual ascent, without the work on rows
ROWS_PER_FEATURE = 2.0  # from here on, semismooth Newton was up to 10 times as fast as the proximal point method
# Values of X up to which several methods are tried, and their passes: most such problems take the proximal point method at
# most 150. Poisson regression on 28 x 438 rows with counts up to 1e8 took it minutes, and cutting planes 0.01 s.
SMALL_TRIAL_DATA, PROXIMAL_TRIAL_PASSES = 200_000, 1000.0
PLANE_TRIAL_PASSES, GRADIENT_TRIAL_PASSES = 300.0, 3000.0
# Structured hinge losses: coefficients up to which, and entries of a label from which on, cutting planes come first. On grids
# of 144 pixels block steps had a relative gap of 0.1 to 1 after three to eight times the time of cutting planes, which took at
# most 7 passes for each coefficient. On short labels both take milliseconds, and block steps can go on from an earlier solve.
FEW_PLANES, PASSES_PER_PLANE, LONG_LABELS = 128, 30.0, 50
# Structured hinge losses with L1: coefficients from which on steps on single examples come first, and numbers that a step may
# threshold for each that it reads. With 4,082 coefficients (OCR letters) cutting planes took twice the time of these steps or
# more, with 1,800 (scene) half of it.
MANY_COEFFICIENTS, THRESHOLD_SHARE = 2500, 100.0
FLAT_PASSES = 100.0  # what the proximal point method takes, about, where some rows have no curvature
SMALL_DATA = 40_000  # values of X up to which the proximal point method takes at most about 30 ms
TINY_FEATURES = 100  # features: such problems take milliseconds, and Newton's method is the most accurate


def _newton_passes(problem: Problem) -> float:
    """Estimated cost of semismooth Newton in passes over the data; infinite if it does not support the problem."""
    if not requirements.fits(solvers.SemismoothNewton, problem):
        return math.inf
    costs = costs_of(problem)
    factor = NEWTON_CG.factor_ns_per_product * float(problem.d) ** 3 / 3.0
    return NEWTON_STEPS * (1.5 + (factor + ACTIVE_FRACTION * costs.gram) / costs.product)


def _newton_budget(problem: Problem) -> float:
    """Passes after which semismooth Newton hands over to dual ascent. It can converge slowly, for example on separable rows
    with linearly dependent columns."""
    return PATIENCE * _newton_passes(problem)


def _has_few_planes(problem: StructuredProblem) -> bool:
    """Few coefficients that all examples share, and labels with many entries: block steps undo each other."""
    return problem.compiled and problem.d <= FEW_PLANES and int(problem.first[-1]) >= LONG_LABELS * problem.n


def _has_many_sparse_coefficients(problem: StructuredProblem) -> bool:
    """So many coefficients that cutting planes are slow, but not so many that a threshold of all would dominate a step."""
    step = problem.model.work / problem.n if problem.compiled else math.inf
    return MANY_COEFFICIENTS <= problem.d <= THRESHOLD_SHARE * step


def _weakly_coupled(problem: Problem) -> bool:
    """Strong regularization: a dual step hardly changes the scores of other rows, so that few epochs are enough."""
    coupling, cost = _coupling(problem)
    return coupling <= COUPLING * cost**2


def _weakly_coupled_for_rough_tol(problem: Problem) -> bool:
    coupling, cost = _coupling(problem)
    return coupling <= COUPLING_ROUGH * min(cost, MAX_FACTOR_COST) ** 4


def _coupling(problem: Problem) -> tuple[float, float]:
    """(coupling of the rows, cost of a factorization in passes); infinite coupling where dual ascent is not considered."""
    if (
        problem.d <= TINY_FEATURES
        or problem.smooth_loss
        or not hasattr(problem.regularizer, "alpha")
        or _by_prox(problem)
    ):
        return math.inf, 1.0
    costs = costs_of(problem)
    return _mean_coupling(problem), costs.factor / costs.product


def _mean_coupling(problem: Problem) -> float:
    """The mean of |x|^2 / (n alpha) over a sample of rows: how far a dual step moves the score of its own row."""
    size = min(problem.n, SAMPLED_ROWS)
    sample = (np.arange(size) * (problem.n / size)).astype(np.uint64)
    mean = mean_square(problem.rows, sample)
    release(problem.rows)
    return mean / (problem.n * problem.regularizer.alpha)


def _inexpensive_factor(problem: Problem) -> bool:
    costs = costs_of(problem)
    return costs.factor <= MAX_FACTOR_PASSES * costs.product or problem.d <= TINY_FEATURES


def _wide_and_flat(problem: Problem) -> bool:
    """A factorization would cost more than the epochs of dual ascent, and rows may have no curvature (Huber, ...)."""
    if not problem.is_scalar or not problem.smooth_loss or _by_prox(problem):
        return False
    costs = costs_of(problem)
    return costs.factor > EXPENSIVE_FACTOR_PASSES * costs.product and _flat_ends(problem)


def _flat_ends(problem: Problem) -> bool:
    """Whether the loss has no curvature far from the target (squared hinge, Huber, ...)."""
    ends = (curvature(problem.loss, z, y) for y in _some_targets(problem) for z in (-FAR_SCORE, FAR_SCORE))
    return problem.smooth_loss and any(end == 0.0 for end in ends)


def _some_targets(problem: Problem) -> set[float]:
    return set(problem.y[:SAMPLED_TARGETS].tolist())


def _wide_and_sparse(problem: Problem) -> bool:
    return _wide_within(problem, WIDE_COUPLING_ROUGH)


def _wide_sparse_and_weakly_coupled(problem: Problem) -> bool:
    return _wide_within(problem, WIDE_COUPLING)


def _wide_within(problem: Problem, max_coupling: float) -> bool:
    if not problem.is_scalar or not problem.smooth_loss or problem.d <= TINY_FEATURES:
        return False
    return dual_start_pays(problem) and _mean_coupling(problem) <= max_coupling


def _tall_with_intercept(problem: Problem) -> bool:
    return problem.fit_intercept and not problem.smooth_loss and problem.n > problem.d


def _truncated_newton(problem: VectorProblem) -> bool:
    if problem.is_scalar or problem.is_measure:
        return True
    if problem.free and not problem.smooth_loss:  # no other solver can balance dual variables at nonsmooth points
        return True
    features, most = problem.d // problem.outputs, NEWTON_CG.max_preconditioned_features
    return features <= most and (problem.smooth_loss or problem.n >= ROWS_PER_VARIABLE * problem.d)


def _flat_and_small(problem: Problem) -> bool:
    """L1 or ElasticNet, little data, and a smooth loss with zero curvature somewhere: working sets can then be slow."""
    if not _sparse_answer(problem) or not problem.smooth_loss or problem.n * problem.d > SMALL_DATA:
        return False
    return _has_flat_rows(problem)


def _has_flat_rows(problem: Problem) -> bool:
    """Whether the loss has zero curvature at the target or far from it."""
    at_targets = (curvature(problem.loss, y, y) for y in _some_targets(problem))
    return _flat_ends(problem) or any(middle == 0.0 for middle in at_targets)


def _tall_and_sparse_answer(problem: Problem) -> bool:
    """L1 or ElasticNet with many more rows than features: factorizations of feature size cost less than steps in all dual
    variables."""
    return _sparse_answer(problem) and problem.n >= ROWS_PER_FEATURE * problem.d


def _proximal_newton_budget(problem: Problem) -> float:
    """Passes after which semismooth Newton hands over to the proximal point method."""
    return 3.0 * PATIENCE * _proximal_newton_passes(problem)


def _sparse_answer(problem: Problem) -> bool:
    """L1 or ElasticNet, for which dual ascent and cutting planes converge slowly at small alpha."""
    return problem.is_scalar and requirements.REGULARIZER["soft_threshold"].met(problem)


def _by_prox(problem: Problem) -> bool:
    """Neither quadratic nor L1 (entropies, q-norms, groups, constraints, custom regularizers), or with unpenalised
    coefficients."""
    if not problem.is_scalar or _sparse_answer(problem):
        return False
    return not hasattr(problem.regularizer, "hessian") or not requirements.REGULARIZER["penalised"].met(problem)


def _small_by_prox(problem: Problem) -> bool:
    """The same with so little data that it costs little to try another method."""
    return _by_prox(problem) and problem.n * problem.d <= SMALL_TRIAL_DATA


def _proximal_newton_trial(problem: Problem) -> float:
    """Passes after which the proximal point method hands over to the methods that are tried next."""
    return PROXIMAL_TRIAL_PASSES if _small_by_prox(problem) else math.inf


def _flat_budget(problem: Problem) -> float:
    """Passes after which working sets hand over, where rows may have no curvature."""
    flat = problem.is_scalar and _sparse_answer(problem) and problem.smooth_loss and _has_flat_rows(problem)
    return FLAT_PASSES if flat else math.inf


def _proximal_newton_passes(problem: Problem) -> float:
    """Estimated cost of the proximal point method in passes over the data."""
    costs = costs_of(problem)
    factor = NEWTON_CG.factor_ns_per_product * min(problem.n, problem.d) ** 3 / 3.0
    return PROXIMAL_SYSTEMS * (
        PASSES_PER_SYSTEM + (SYSTEM_NS + factor + ACTIVE_FRACTION * costs.gram) / (EPOCH_NS + costs.product)
    )


def _always(problem: Problem) -> bool:
    return True


RULES: list[Rule] = [
    Rule(
        "swap_descent", _always, "the penalty is not convex: local minima by swaps, and a bound of the global optimum"
    ),
    Rule(
        "proximal_point_newton",
        _flat_and_small,
        "the loss has no curvature on some rows, which slows down working sets of columns",
    ),
    Rule(
        "working_set",
        _always,
        "few coefficients are nonzero, and Newton steps on those are inexpensive",
        _flat_budget,
    ),
    Rule(
        "semismooth_newton",
        _tall_and_sparse_answer,
        "few features, so Newton steps on the smoothed problem are inexpensive",
        _proximal_newton_budget,
    ),
    Rule(
        "proximal_point_newton",
        _sparse_answer,
        "neither loss nor regularizer has to be smooth, and few Newton steps are needed",
    ),
    Rule(
        "dual_ascent",
        _wide_and_flat,
        "rows on which the loss is flat need no dual steps, and factorizations would be expensive",
    ),
    Rule(
        "dual_ascent",
        _wide_and_sparse,
        "dual ascent needs few epochs on wide sparse rows for a rough tolerance",
        lambda problem: ROUGH_PASSES,
        rough_only=True,
    ),
    Rule(
        "dual_ascent",
        _wide_sparse_and_weakly_coupled,
        "rows are weakly coupled, so dual ascent needs few epochs",
        lambda problem: ROUGH_PASSES,
    ),
    Rule(
        "newton_cg",
        _truncated_newton,
        "the loss has curvature, so few Newton steps with Hessian-vector products are needed",
        remote_when=lambda problem: problem.d <= FEW_FEATURES,
    ),
    Rule(
        "dual_ascent",
        _weakly_coupled_for_rough_tol,
        "rough tolerance, and dual ascent costs less than factorizations",
        _newton_passes,
        rough_only=True,
    ),
    Rule("dual_ascent", _weakly_coupled, "rows are weakly coupled, so dual ascent needs few epochs", _newton_passes),
    Rule("semismooth_newton", _inexpensive_factor, "few features, so Newton steps are inexpensive", _newton_budget),
    Rule(
        "bundle",
        lambda problem: problem.is_structured and not problem.log and _has_few_planes(problem),
        "labels are long and coefficients few, so few cutting planes are needed",
        lambda problem: PASSES_PER_PLANE * problem.d + PLANE_TRIAL_PASSES,
    ),
    Rule(
        "block_frank_wolfe",
        lambda problem: problem.is_structured and not problem.log,
        "a step on one example needs a single call of its max-oracle, or none if cached labels suffice",
    ),
    Rule(
        "proximal_frank_wolfe",
        lambda problem: problem.is_structured and not problem.log and _has_many_sparse_coefficients(problem),
        "many coefficients, so that cutting planes would be many, and steps on single examples cost little",
    ),
    Rule(
        "block_ascent",
        scores.wide_scores,
        "at least as many features as rows, so few exact dual steps are needed",
        scores.block_budget,
    ),
    Rule(
        "dual_ascent", _by_prox, "a dual step reads one row and never decreases the dual value", _proximal_newton_passes
    ),
    Rule(
        "proximal_point_newton",
        _by_prox,
        "Newton steps on the duals of proximal steps, if dual ascent converges slowly",
        _proximal_newton_trial,
    ),
    Rule(
        "bundle",
        _small_by_prox,
        "on little data, trying cutting planes costs little",
        lambda problem: PLANE_TRIAL_PASSES,
    ),
    Rule(
        "proximal_gradient",
        _small_by_prox,
        "on little data, trying gradient steps costs little",
        lambda problem: GRADIENT_TRIAL_PASSES,
    ),
    Rule(
        "proximal_point_newton", _by_prox, "Newton steps on the duals of proximal steps, if no other method is faster"
    ),
    Rule("lbfgs", _always, "loss and regularizer are differentiable"),
    Rule("dual_ascent", _always, "a dual step reads one row and never decreases the dual value", _newton_passes),
    Rule("semismooth_newton", _always, "Newton steps, if dual ascent converges slowly"),
    Rule(
        "proximal_gradient",
        scores.is_smooth_by_entries,
        "the loss is differentiable and the regularizer has a prox",
        scores.proximal_newton_budget,
    ),
    Rule(
        "block_ascent",
        scores.quick_newton,
        "a step on all scores of a row is exact and never decreases the dual value",
        scores.block_budget,
    ),
    Rule("bundle", scores.planes_may_do, "few variables, so cutting planes may be enough", scores.plane_trial),
    Rule(
        "proximal_point_newton",
        scores.quick_newton,
        "neither loss nor regularizer has to be smooth, and few Newton steps are needed",
    ),
    Rule(
        "proximal_point_newton",
        scores.by_prox,
        "neither loss nor regularizer has to be smooth, and few Newton steps are needed",
    ),
    Rule(
        "pairwise_ascent", _tall_with_intercept, "steps on pairs of rows satisfy the constraint of the free intercept"
    ),
    Rule(
        "block_ascent",
        scores.few_variables,
        "a step on all scores of a row is exact and never decreases the dual value",
        scores.plane_passes,
    ),
    Rule("bundle", scores.few_variables, "few variables, so few cutting planes, if block dual ascent converges slowly"),
    Rule("block_ascent", _always, "a step on all scores of a row is exact and never decreases the dual value"),
    Rule(
        "proximal_point_newton",
        lambda problem: problem.is_vector,
        "neither loss nor regularizer has to be smooth, and few Newton steps are needed",
    ),
    Rule("proximal_gradient", _always, "the loss is differentiable and the regularizer has a prox"),
    Rule(
        "cocoa",
        lambda problem: not problem.smooth_loss,
        "epochs of dual ascent on each worker need few rounds of messages",
        remote_only=True,
    ),
    Rule("bundle", _always, "cutting planes need only values and slopes of the loss"),
]


class Choices:
    """A lazy list of choices: most solves end with the first, so the others are computed only when needed."""

    def __init__(self, source: Iterable[Choice]):
        self.source, self.found = iter(source), list[Choice]()

    def get(self, number: int) -> Choice | None:
        """The choice with this number; None if there are fewer."""
        while len(self.found) <= number:
            if (choice := next(self.source, None)) is None:
                return None
            self.found.append(choice)
        return self.found[number]


def candidates(problem: Problem, remote: bool = False, tol: float = 0.0) -> list[Choice]:
    """All choices that `offers` yields."""
    return list(offers(problem, remote, tol))


def offers(problem: Problem, remote: bool = False, tol: float = 0.0) -> Iterator[Choice]:
    """The compatible solvers, the preferred one first; the next one takes over if a solver stalls or is too slow.

    A solver with a limited number of passes may occur again. `remote`: the rows are on a cluster."""
    ended: set[str] = set()  # solvers that were offered without a limit
    fitting: dict[str, bool] = {}  # solvers of which is known whether they support the problem
    found = False

    def fits(name: str) -> bool:
        if name not in fitting:
            fitting[name] = requirements.fits(solvers.SOLVERS[name], problem, remote)
        return fitting[name]

    for rule in RULES:
        away = remote or problem.remote
        if (rule.remote_only and not away) or (away and not rule.remote_when(problem)):
            continue
        if rule.rough_only and tol < ROUGH_TOL:
            continue
        if rule.name not in ended and fits(rule.name) and rule.when(problem):
            passes, found = rule.passes(problem), True
            if math.isinf(passes):
                ended.add(rule.name)
            yield Choice(solvers.SOLVERS[rule.name](), rule.reason, passes)
    if not found:
        lacks = "; ".join(
            f"{cls.__name__}: {requirements.missing(cls, problem, remote)[0]}" for cls in solvers.SOLVERS.values()
        )
        raise IncompatibleError(f"no solver supports {problem!r}. {lacks}")
