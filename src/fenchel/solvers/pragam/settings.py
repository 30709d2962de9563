"""The tuning numbers of `Pragam` and of steps on marginals, with the reason for each."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """Fields in the order: steps, evaluations, rounding, sums over marginals."""

    # An L that proves too small for a step is multiplied by this factor.
    lipschitz_growth = 2.0
    # L is divided by this factor after every step: a smaller and a larger one were both slower.
    lipschitz_decay = 1.1
    # P and D, which cost passes, are evaluated at iteration k, and again k divided by this number of iterations later.
    evaluation_interval_divisor = 10
    # The scores of w, which are updated by a recursion, are recomputed after this many accepted steps.
    steps_per_score_refresh = 50
    # The sums behind the gradient g may have a rounding error of this fraction of g, which the test of L allows for.
    gradient_rounding_ratio = 1e-14
    # The smoothing mu and L stay above this value, because the proximal maps divide by them.
    min_smoothing = 1e-150
    # The search for the intercept begins with the last change, and at least this fraction of 1 + |intercept|.
    min_intercept_stride_ratio = 1e-9

    # The norm of the feature map is found by at most this many power iterations.
    max_power_iterations = 100
    # Power iteration ends when the squared norm grows by at most this fraction.
    power_iteration_tolerance = 1e-3
    # The norm is multiplied by this factor, since power iteration approaches it from below.
    norm_safety_factor = 1.02
    # A step on a part costs as much as this many stored values: a projection takes some Newton steps.
    values_per_part_step = 50.0
    # A dual prox costs as much as this many stored values for each score: the scores of the row are sorted.
    values_per_dual_prox = 20.0


SETTINGS = Settings()
