"""Tuning numbers of `SemismoothNewton`."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """The smoothing gamma, the Newton steps at one gamma, and the row reduction."""

    # Smoothing
    # ---------
    # After an inner solve, gamma is multiplied by this.
    gamma_shrink = 0.3
    # After an inner solve of more than `max_quick_newton_steps`, and after a step that failed, gamma shrinks by this instead.
    slow_gamma_shrink = 0.5
    # An inner solve of more Newton steps than this is slow.
    max_quick_newton_steps = 6
    # An inner solve ends when its error is at most this multiple of the error that smoothing makes.
    inner_error_ratio = 3.0
    # On a sample of the rows, an inner solve ends at this multiple.
    sample_inner_error_ratio = 1.0
    # An inner solve ends in any case when its error is this fraction of the objective, where rounding dominates.
    inner_rounding = 1e-15
    # Gamma never falls below this fraction of the first one.
    min_gamma_ratio = 1e-9
    # With dual variables from a warm start, gamma begins at this fraction of what it would be without.
    warm_start_gamma_ratio = 0.1
    # The first gamma is found with so many rows, because it only has to be right within a factor.
    first_gamma_rows = 2000
    # A gamma is very large if it is so many times the mean size of scores and targets.
    large_gamma_ratio = 1e8
    # The search for the first gamma stops halving at this value, also if half of the rows still have curvature.
    min_first_gamma = 1e-18
    # The search for the first gamma stops doubling at this value, also if fewer rows have curvature.
    max_first_gamma = 1e60

    # Newton steps at one gamma
    # -------------------------
    # A full step is accepted if the derivative at its end is at most this fraction of the one at its beginning.
    max_full_step_slope_ratio = 0.3
    # After a step of more than this multiple of the full one, scores are recomputed instead of updated.
    max_stored_step = 100.0
    # A step of which the line search leaves less than this fraction counts as short.
    short_step = 0.05
    # After so many short steps in a row gamma grows, because too few rows have curvature.
    max_short_steps = 5
    # Gamma then grows by this factor.
    gamma_growth = 4.0
    # The sum of u x is recomputed after so many Newton steps, because updating it accumulates rounding errors.
    newton_steps_per_refresh = 20
    # A dual value is claimed if its dual point can be balanced but for this: sum p u where no row has curvature, for slopes of
    # about 1, or the cost of balancing, relative to the objective.
    max_imbalance = 1e-9
    # Weights by which something is divided are taken to be at least this, because those of rows may be 0.
    min_weight = 1e-300

    # For a smoothed regularizer, the Hessian gets this times the variance of each column, over gamma, on its diagonal.
    coefficient_ridge = 1e-6

    # Row reduction
    # -------------
    # After an inner solve, rows are left out if less than this fraction must be kept. The copy takes that much memory.
    max_kept_row_fraction = 0.6
    # Within an inner solve, after a full step, rows are left out if less than this fraction must be kept.
    early_max_kept_row_fraction = 0.3
    # With so many rows or fewer none is left out, because nothing is gained by it.
    min_rows_to_reduce = 400
    # A row is left out if its loss is linear within a radius of its score: this multiple of the mean change of the scores in
    # the last full step.
    radius_per_score_change = 6.0
    # The radius is at least this multiple of gamma.
    radius_per_gamma = 3.0
    # The radius is multiplied by this when a check finds that the reduced problem was misleading.
    radius_growth = 3.0
    # A check is due when the gap of the reduced problem has fallen to this fraction of the gap at the last check.
    check_gap_ratio = 0.1
    # A check is due after so many steps without one.
    max_steps_per_check = 10
    # A check is due when the scores have changed by more than this multiple of the radius, in the mean.
    max_score_change_per_radius = 1.0
    # The reduced problem was misleading if the gap of all rows is more than this multiple of its gap.
    max_gap_ratio = 4.0


SETTINGS = Settings()
