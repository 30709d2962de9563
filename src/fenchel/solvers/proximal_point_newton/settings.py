"""Tuning numbers of `ProximalPointNewton`."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """The proximal steps, the Newton steps that solve each of them, and their linear systems."""

    # Proximal steps
    # --------------
    # The first step size is found with so many rows, because it only has to be right within a factor.
    first_step_rows = 2000
    # With several scores fewer, because their Jacobians are measured score by score.
    first_step_score_rows = 200
    # The first step size is searched between the mean of |scores| divided and multiplied by this.
    first_step_range = 1e8
    # With dual variables from a warm start, the first step is so many times larger.
    warm_start_growth = 10.0
    # A start with dual variables whose relative gap is above this is worse than none, and is not used.
    max_warm_start_gap = 0.1
    # The step size grows by this factor after an inner solve of at most `max_quick_systems` Newton systems.
    quick_growth = 3.0
    max_quick_systems = 6
    # The step size grows by this factor after an inner solve of at most `max_fair_systems` Newton systems.
    fair_growth = 1.5
    max_fair_systems = 24
    # An inner solve ends after so many Newton systems, and the step size is then multiplied by `slow_growth`.
    max_systems = 40
    slow_growth = 0.25
    # Steps in coefficients, times the variances of their columns, are larger than those in scores by the number of rows, but
    # with several scores by at most this: larger ones cost dozens of systems in the first steps (softmax + L1 on digits).
    score_step_ratio = 10.0
    # Where the prox sorts coefficients, by this: larger steps change the order in nearly every Newton step. Four of six
    # problems with nonsmooth losses and `Slope` were far from done after 1,000 systems; with this they took 88 to 318.
    sorted_step_ratio = 0.3
    # The step size never exceeds this multiple of the first one: rounding errors of the scores are proportional to it.
    max_step_ratio = 1e8
    # The weight of the squared distance to the last dual variables is this multiple of (first step size)^2 / step size: at the
    # first step a row reaches the end of its domain within about the change of its score that leads to a nonsmooth point.
    dual_distance_ratio = 0.3
    # That weight is at least this multiple of the step size, which bounds the condition number of the systems.
    min_dual_distance_ratio = 1e-13

    # Newton steps of one proximal step
    # ---------------------------------
    # An inner solve ends when its residual is at most this fraction of the change of scores and coefficients ...
    inner_error_ratio = 0.2
    # ... divided by the number of the proximal step to this power, so that the errors have a finite sum.
    inner_error_power = 1.5
    # An inner solve ends in any case at this residual, relative to the scores and to gamma u, where rounding dominates.
    inner_rounding = 1e-14
    # A full Newton step is accepted if the derivative at its end is at most this fraction of the one at its beginning.
    max_full_step_slope_ratio = 0.3
    # A line search ends in any case where the derivative is at most this fraction of the one at its beginning: a higher value
    # is then rounding.
    sure_slope_ratio = 0.01
    # The sum of u x is recomputed after so many Newton steps, because updating it accumulates rounding errors.
    systems_per_refresh = 20

    # Linear systems
    # --------------
    # Unknowns up to which a system is factored; with more, conjugate gradients are used.
    max_factored_unknowns = 3000
    # With several scores, a factor is made of at most so many unknowns squared times rows ...
    max_gram_products = 1e9
    # ... and of a dense copy of the columns with at most so many values.
    max_dense_values = 1 << 23
    # Blocks of the preconditioner, one for each score, are inverted up to so many unknowns.
    max_block_unknowns = 1000
    # Where coefficients move together, the unknowns are the sets of them if these are at most this fraction of the columns.
    max_set_ratio = 0.7
    # Conjugate gradients end at this relative residual, or after so many products.
    cg_tolerance = 1e-3
    max_cg_products = 300
    # With at most so many columns the Gram matrix is that of all of them.
    max_columns_without_selection = 300
    # A copy of columns is kept while it has at most this multiple of the active ones.
    max_copied_column_ratio = 2.0

    # Jacobians of proxes
    # -------------------
    # A Jacobian that is not diagonal is formed for at most so many features.
    max_coupled_features = 1000
    # Rates of the dual steps of several scores that are this close to 0 or 1 are 0 or 1: they are measured by differences.
    jacobian_rounding = 1e-6
    # Differences of a prox are over this length, relative to the largest entry of its argument.
    difference_length_ratio = 1e-6


SETTINGS = Settings()
