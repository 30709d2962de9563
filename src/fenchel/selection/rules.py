"""Which solver, and why."""

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
from fenchel.regularizers import Slope
from fenchel.selection import requirements
from fenchel.solvers.base import Solver
from fenchel.solvers.dual_ascent.initial_epochs import dual_start_pays
from fenchel.solvers.newton_cg.passes import costs_of
from fenchel.solvers.newton_cg.settings import SETTINGS as NEWTON_CG

if TYPE_CHECKING:
    from fenchel.problems.scalar import Problem
    from fenchel.problems.vector import VectorProblem


class Choice(NamedTuple):
    """A solver with the reason for it, and the passes after which the next one is to be tried if this one is not near."""

    solver: Solver
    reason: str
    passes: float = math.inf


class Rule(NamedTuple):
    """A solver, when to prefer it, why, and for how many passes."""

    name: str
    when: Callable[[Any], bool]
    reason: str
    passes: Callable[[Any], float] = lambda problem: math.inf
    remote_only: bool = False
    remote_when: Callable[[Any], bool] = lambda problem: True  # beside `when`, for rows on a cluster
    rough_only: bool = False  # for tolerances from ROUGH on


# Estimates of cost, from counts and not from the clock, so that a rerun chooses the same.
STEPS = 30.0  # of semismooth Newton, about
ACTIVE = 0.15  # share of the rows near a nonsmooth point in such a step, about
CHEAP = 12.0  # passes: a factor of all rows that costs less makes Newton steps cheap beside what they save
ROWS_PER_VARIABLE = 2.0  # at which a max hinge has enough rows with curvature: 2.8 of USPS pays, 1.3 of MNIST does not
EXPENSIVE = 100.0  # passes: a factor that costs more is not made
FEW, FAR = 4, 50.0  # targets and scores at which a loss is asked whether it is flat
FEW_FEATURES = 200  # with rows on a cluster: a Hessian that may travel
ROUGH = 1e-3  # tolerance that dual steps, whose first epochs gain most, often reach before a Newton step is made
ROUGH_PASSES = 30.0  # what Newton's method needs then, about
LOOSE_ROUGH, MAX_FACTOR_COST = (
    0.009,
    8.0,
)  # the same as LOOSE for rough answers; by the fourth power of the cost up to here
LOOSE, SOME = 0.045, 1000  # |x|^2 / (n alpha) on average over some rows, for a factor of one pass: dual steps are few
NOT_FAR, FAR_ROUGH = 20.0, 100.0  # |x|^2 / (n alpha) of wide sparse rows up to which few epochs do it; do it roughly
PATIENT = 3.0  # times what semismooth Newton costs as a rule: what dual steps are thought to cost where it needs longer
PROXIMAL_SYSTEMS, PASSES_PER_SYSTEM, SYSTEM_NS = 10.0, 3.0, 3e5  # of proximal points with Newton steps, about
EPOCH_NS = 5e4  # of dual steps, beside the work on rows
ROWS_PER_FEATURE = 2.0  # from where on semismooth Newton was measured to be up to 10 times as fast as proximal points
# Several scores: cutting planes took 0.02 s where steps on rows took more than 1 s (iris, top-2, alpha 1e-4).
MAX_PLANE_VARIABLES, PLANES_PER_VARIABLE = 300, 4.0
SMALL = 40_000  # values of X up to which proximal points with Newton steps take some 30 ms at most
TINY_FACTOR = 100  # features: such problems take milliseconds, and Newton's answers have the most digits


def _newton_passes(problem: Problem) -> float:
    """What semismooth Newton would cost, about, in passes over the data; infinite if it does not fit."""
    if not requirements.fits(solvers.SemismoothNewton, problem):
        return math.inf
    costs = costs_of(problem)
    factor = NEWTON_CG.factor_ns_per_product * float(problem.d) ** 3 / 3.0
    return STEPS * (1.5 + (factor + ACTIVE * costs.gram) / costs.product)


def _several_newtons(problem: Problem) -> float:
    """When the solver hands over to dual ascent: Newton can converge slowly, for example on separable rows whose columns
    depend on each other."""
    return PATIENT * _newton_passes(problem)


def _loose_rows(problem: Problem) -> bool:
    """Strong regularization: a dual step changes the scores of the other rows little, so few epochs do it."""
    coupling, cost = _coupling(problem)
    return coupling <= LOOSE * cost**2


def _loose_rows_roughly(problem: Problem) -> bool:
    coupling, cost = _coupling(problem)
    return coupling <= LOOSE_ROUGH * min(cost, MAX_FACTOR_COST) ** 4


def _coupling(problem: Problem) -> tuple[float, float]:
    """(how much rows have to do with each other, a factor's cost in passes); infinite coupling where dual steps need not be
    thought of."""
    if (
        problem.d <= TINY_FACTOR
        or problem.smooth_loss
        or not hasattr(problem.regularizer, "alpha")
        or _by_prox(problem)
    ):
        return math.inf, 1.0
    costs = costs_of(problem)
    return _reach(problem), costs.factor / costs.product


def _reach(problem: Problem) -> float:
    """|x|^2 / (n alpha) on average over some rows: how far a dual step moves the score of its own row."""
    some = (np.arange(min(problem.n, SOME)) * (problem.n / min(problem.n, SOME))).astype(np.uint64)
    mean = mean_square(problem.rows, some)
    release(problem.rows)
    return mean / (problem.n * problem.regularizer.alpha)


def _cheap_factor(problem: Problem) -> bool:
    costs = costs_of(problem)
    return costs.factor <= CHEAP * costs.product or problem.d <= TINY_FACTOR


def _wide_and_flat(problem: Problem) -> bool:
    """A factor would cost more than the dual epochs, and rows may have no curvature (squared hinge, Huber, ...)."""
    if not problem.is_scalar or not problem.smooth_loss or _by_prox(problem):
        return False
    costs = costs_of(problem)
    return costs.factor > EXPENSIVE * costs.product and _flat_ends(problem)


def _flat_ends(problem: Problem) -> bool:
    """Whether the loss has no curvature far from the target (squared hinge, Huber, ...)."""
    ends = (curvature(problem.loss, z, float(y)) for y in problem.y[:FEW] for z in (-FAR, FAR))
    return problem.smooth_loss and any(end == 0.0 for end in ends)


def _wide_and_sparse(problem: Problem) -> bool:
    return _wide_within(problem, FAR_ROUGH)


def _wide_sparse_and_loose(problem: Problem) -> bool:
    return _wide_within(problem, NOT_FAR)


def _wide_within(problem: Problem, far: float) -> bool:
    if not problem.is_scalar or not problem.smooth_loss or problem.d <= TINY_FACTOR:
        return False
    return dual_start_pays(problem) and _reach(problem) <= far


def _wide_scores(problem: VectorProblem) -> bool:
    return problem.is_vector and not (problem.own or problem.free) and problem.features >= problem.n


def _pairs(problem: Problem) -> bool:
    return problem.fit_intercept and not problem.smooth_loss and problem.n > problem.d


def _few_variables(problem: VectorProblem) -> bool:
    """Several scores, a nonsmooth loss, and so few variables that cutting planes soon describe the risk."""
    return problem.is_vector and not problem.smooth_loss and problem.d <= MAX_PLANE_VARIABLES and problem.n >= problem.d


def _planes(problem: VectorProblem) -> float:
    """What cutting planes would cost, about, in passes over the data."""
    return PLANES_PER_VARIABLE * problem.d


def _truncated_newton(problem: VectorProblem) -> bool:
    if problem.is_scalar or problem.is_measure:
        return True
    if problem.free and not problem.smooth_loss:  # nobody else balances dual variables at nonsmooth points
        return True
    features, most = problem.d // problem.outputs, NEWTON_CG.max_preconditioned_features
    return features <= most and (problem.smooth_loss or problem.n >= ROWS_PER_VARIABLE * problem.d)


def _flat_and_small(problem: Problem) -> bool:
    """L1 or ElasticNet, little data, and a smooth loss that is flat or linear somewhere: working sets can then take long."""
    if not _sparse_answer(problem) or not problem.smooth_loss or problem.n * problem.d > SMALL:
        return False
    at_targets = (curvature(problem.loss, float(y), float(y)) for y in problem.y[:FEW])
    return _flat_ends(problem) or any(middle == 0.0 for middle in at_targets)


def _tall_and_sparse_answer(problem: Problem) -> bool:
    """L1 or ElasticNet with rows enough: factors with a row for each feature are cheaper than steps in all dual variables."""
    return _sparse_answer(problem) and problem.n >= ROWS_PER_FEATURE * problem.d


def _several_proximal_newtons(problem: Problem) -> float:
    """After how many passes semismooth Newton hands over to proximal points."""
    return 3.0 * PATIENT * _proximal_newton_passes(problem)


def _sparse_answer(problem: Problem) -> bool:
    """L1 or ElasticNet: dual steps and cutting planes converge slowly at small alpha."""
    return problem.is_scalar and requirements.REGULARIZER["soft_threshold"].met(problem)


def _by_prox(problem: Problem) -> bool:
    """Neither quadratic nor with L1: entropies, q-norms, groups, constraints, and regularizers of one's own; or there are
    unpenalised coefficients. With sorted coefficients, the prox has so many pieces that gradient steps are faster."""
    if not problem.is_scalar or _sparse_answer(problem):
        return False
    if type(problem.regularizer) is Slope and problem.smooth_loss:
        return False
    return not hasattr(problem.regularizer, "hessian") or not requirements.REGULARIZER["penalised"].met(problem)


def _proximal_newton_passes(problem: Problem) -> float:
    """What proximal points with Newton steps would cost, about, in passes over the data."""
    costs = costs_of(problem)
    factor = NEWTON_CG.factor_ns_per_product * min(problem.n, problem.d) ** 3 / 3.0
    return PROXIMAL_SYSTEMS * (
        PASSES_PER_SYSTEM + (SYSTEM_NS + factor + ACTIVE * costs.gram) / (EPOCH_NS + costs.product)
    )


def _always(problem: Problem) -> bool:
    return True


RULES: list[Rule] = [
    Rule(
        "proximal_point_newton",
        _flat_and_small,
        "rows whose loss is flat leave no curvature to Newton steps in columns",
    ),
    Rule("working_set", _always, "few of the columns matter, and Newton steps on those are cheap"),
    Rule(
        "semismooth_newton",
        _tall_and_sparse_answer,
        "few features, so Newton steps on the smoothed problem are cheap",
        _several_proximal_newtons,
    ),
    Rule("proximal_point_newton", _sparse_answer, "neither part need be smooth, and Newton steps are few"),
    Rule(
        "dual_ascent",
        _wide_and_flat,
        "rows whose loss is flat drop out of the dual steps, and factorizations would be expensive",
    ),
    Rule(
        "dual_ascent",
        _wide_and_sparse,
        "a rough answer on wide sparse rows takes few epochs of dual steps",
        lambda problem: ROUGH_PASSES,
        rough_only=True,
    ),
    Rule(
        "dual_ascent",
        _wide_sparse_and_loose,
        "rows have little to do with each other, so dual steps are few",
        lambda problem: ROUGH_PASSES,
    ),
    Rule(
        "newton_cg",
        _truncated_newton,
        "the loss has curvature, so Newton steps on products with the Hessian are few",
        remote_when=lambda problem: problem.d <= FEW_FEATURES,
    ),
    Rule(
        "dual_ascent",
        _loose_rows_roughly,
        "a rough answer, and dual steps are cheap beside factors",
        _newton_passes,
        rough_only=True,
    ),
    Rule("dual_ascent", _loose_rows, "rows have little to do with each other, so dual steps are few", _newton_passes),
    Rule("semismooth_newton", _cheap_factor, "few features, so Newton steps are cheap", _several_newtons),
    Rule(
        "block_frank_wolfe",
        lambda problem: problem.is_structured and not problem.log,
        "steps on one example's labels need one call of its oracle, and none where known labels will do",
    ),
    Rule("block_ascent", _wide_scores, "at least as many features as rows, so few exact dual steps do it"),
    Rule("dual_ascent", _by_prox, "a dual step costs one row and never loses ground", _proximal_newton_passes),
    Rule("proximal_point_newton", _by_prox, "Newton steps on duals of proximal steps, where dual steps come to little"),
    Rule("lbfgs", _always, "loss and regularizer are differentiable"),
    Rule("dual_ascent", _always, "a dual step costs one row and never loses ground", _newton_passes),
    Rule("semismooth_newton", _always, "Newton steps, where dual steps come to little"),
    Rule("pairwise_ascent", _pairs, "steps on pairs of rows keep the free intercept's constraint"),
    Rule("block_ascent", _few_variables, "a step on all scores of a row is exact and never loses ground", _planes),
    Rule("bundle", _few_variables, "few variables, so few cutting planes, where steps on rows come to little"),
    Rule("block_ascent", _always, "a step on all scores of a row is exact and never loses ground"),
    Rule("proximal_gradient", _always, "the loss is differentiable and the regularizer has a prox"),
    Rule(
        "cocoa",
        lambda problem: not problem.smooth_loss,
        "epochs of dual steps where the rows lie need few rounds of messages",
        remote_only=True,
    ),
    Rule("bundle", _always, "cutting planes need only value and slope"),
]


class Choices:
    """Choices by number, looked for when they are asked for: most solves end with the first."""

    def __init__(self, source: Iterable[Choice]):
        self.source, self.found = iter(source), list[Choice]()

    def get(self, number: int) -> Choice | None:
        """The choice of this number; None if there are not so many."""
        while len(self.found) <= number:
            if (choice := next(self.source, None)) is None:
                return None
            self.found.append(choice)
        return self.found[number]


def candidates(problem: Problem, remote: bool = False, tol: float = 0.0) -> list[Choice]:
    """All that `offers` has."""
    return list(offers(problem, remote, tol))


def offers(problem: Problem, remote: bool = False, tol: float = 0.0) -> Iterator[Choice]:
    """The solvers that fit, the preferred one first; a later one takes over if an earlier one stalls or is too slow.

    One whose passes are limited may have another turn. `remote`: the rows are on a cluster."""
    ended: set[str] = set()  # had a turn without limit
    none = True
    for rule in RULES:
        solver = solvers.SOLVERS[rule.name]
        away = remote or problem.remote
        if (rule.remote_only and not away) or (away and not rule.remote_when(problem)):
            continue
        if rule.rough_only and tol < ROUGH:
            continue
        if rule.name not in ended and requirements.fits(solver, problem, remote) and rule.when(problem):
            passes, none = rule.passes(problem), False
            if math.isinf(passes):
                ended.add(rule.name)
            yield Choice(solver(), rule.reason, passes)
    if none:
        lacks = "; ".join(
            f"{cls.__name__}: {requirements.missing(cls, problem, remote)[0]}" for cls in solvers.SOLVERS.values()
        )
        raise IncompatibleError(f"no solver fits {problem!r}. {lacks}")
