"""Tuning numbers of `LBFGS`."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """The weak Wolfe line search, and which curvature pairs are kept."""

    # A step must lower the objective by this fraction of what its initial slope promises (the Armijo condition).
    min_decrease_ratio = 1e-4
    # The slope at the end of a step may be at most this fraction of the initial one: 0.9 is the usual choice for
    # quasi-Newton directions, whose first trial is then nearly always accepted.
    max_slope_ratio = 0.9
    # A line search that has not ended after so many evaluations returns the best point it has found.
    max_trials = 60
    # Objective values that differ by less than this, relatively, differ by rounding only, and slopes decide instead.
    value_rounding = 1e-14
    # A pair (s, y) is kept only if <s, y> exceeds this fraction of |s| |y|: below it the curvature is rounding error.
    min_pair_curvature_ratio = 1e-14
    # After a trial at which the objective overflows, with no finite trial before it, the step is cut by this factor.
    overflow_cut = 0.1
    # An interpolated step is at least this fraction of the bracket from its lower end, so that every trial shortens it.
    min_bracket_fraction = 0.1
    # An interpolated step is at most this fraction of the bracket from its lower end.
    max_bracket_fraction = 0.7


SETTINGS = Settings()
