"""Problems of several scores per row: conditions and estimated costs for the rules."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fenchel.problems.vector import VectorProblem

# Cutting planes took 0.02 s where block dual ascent took more than 1 s (iris, top-2, alpha 1e-4).
MAX_PLANE_VARIABLES, PLANES_PER_VARIABLE = 300, 4.0
# Up to so many rows times squared variables the proximal point method takes at most about 0.3 s, whatever the strength. Where
# the loss is not differentiable, block dual ascent and cutting planes are then given so many passes to be faster.
SMALL_GRAM_PRODUCTS, BLOCK_TRIAL_PASSES, PLANE_TRIAL_PASSES = 5e7, 300.0, 60.0
# Passes of proximal gradient steps that take as long as the proximal point method, about (softmax on digits) ...
PROXIMAL_NEWTON_PASSES = 400.0
# ... up to so many rows times squared variables: on MNIST, its first steps alone took longer than all gradient steps.
MAX_GRAM_PRODUCTS = 4e9


def wide_scores(problem: VectorProblem) -> bool:
    return problem.is_vector and not (problem.own or problem.free) and problem.features >= problem.n


def few_variables(problem: VectorProblem) -> bool:
    """Several scores, a nonsmooth loss, and so few variables that few cutting planes describe the risk."""
    return problem.is_vector and not problem.smooth_loss and problem.d <= MAX_PLANE_VARIABLES and problem.n >= problem.d


def quick_newton(problem: VectorProblem) -> bool:
    """Several scores, a nonsmooth loss, and so little data that the proximal point method is quick."""
    if not problem.is_vector or problem.smooth_loss or problem.own or not hasattr(problem.loss, "dual_prox"):
        return False
    return float(problem.n) * problem.d**2 <= SMALL_GRAM_PRODUCTS


def block_budget(problem: VectorProblem) -> float:
    """Passes after which block dual ascent hands over to the proximal point method, where that is quick."""
    return BLOCK_TRIAL_PASSES if quick_newton(problem) else math.inf


def plane_passes(problem: VectorProblem) -> float:
    """Estimated cost of cutting planes in passes over the data."""
    return min(PLANES_PER_VARIABLE * problem.d, block_budget(problem))


def planes_may_do(problem: VectorProblem) -> bool:
    """Few variables, and the proximal point method is quick: cutting planes are at times faster still."""
    return quick_newton(problem) and few_variables(problem)


def plane_trial(problem: VectorProblem) -> float:
    """Passes after which cutting planes hand over to the proximal point method, where that is quick."""
    return PLANE_TRIAL_PASSES if quick_newton(problem) else math.inf


def by_prox(problem: VectorProblem) -> bool:
    """Several scores, a regularizer with a prox and no gradient, and a loss or intercepts that dual steps do not support.

    ElasticNet with a nonsmooth loss is left to those and to cutting planes: on pendigits they took 0.1 s to 2 s, and the
    proximal point method 4 s to 30 s.
    """
    return _without_gradient(problem) and (problem.smooth_loss or problem.free or not problem.penalty.strongly_convex)


def is_smooth_by_entries(problem: VectorProblem) -> bool:
    """Several scores, a differentiable loss, and a prox with a step for each coefficient, so that scales do not matter."""
    return _without_gradient(problem) and problem.smooth_loss and problem.regularizer.separable


def _without_gradient(problem: VectorProblem) -> bool:
    return problem.is_vector and not hasattr(problem.regularizer, "gradient")


def proximal_newton_budget(problem: VectorProblem) -> float:
    """Passes after which proximal gradient steps hand over to the proximal point method; infinite if its systems are large."""
    return PROXIMAL_NEWTON_PASSES if float(problem.n) * problem.d**2 <= MAX_GRAM_PRODUCTS else math.inf
