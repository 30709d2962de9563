"""Tuning numbers of Newton directions by Cholesky and of the line search along them."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """Ridges of the factorization, and the safeguards of the line search."""

    # The diagonal of a Hessian is increased by these fractions, one after the other, until the factorization succeeds:
    # rounding can leave a nearly singular matrix indefinite.
    relative_ridges = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
    # The line search ends where the derivative is at most this fraction of the one at t = 0.
    max_slope_ratio = 0.1
    # The value after a step may exceed the one before it by this fraction, which is what rounding can hide.
    value_rounding = 1e-13
    # A line search that has not ended after so many evaluations returns the longest step along which the value still falls.
    max_trials = 60
    # It also ends so once the bracket is narrower than this fraction of its upper end, where rounding hides the minimum ...
    min_relative_bracket = 1e-9
    # ... or once that end is at most this step.
    min_step = 1e-15
    # A step is tiny if the full one changes the scores by less than this fraction of the largest score ...
    tiny_relative_change = 1e-8
    # ... and is then at most this multiple of the full one.
    max_tiny_step = 1e4
    # As long as no step is known to be too long, the next trial is at least this multiple of the last one.
    min_extrapolation = 1.5
    # As long as no step is known to be too long, the next trial is at most this multiple of the last one.
    max_extrapolation = 4.0
    # Without curvature along the line there is no Newton trial, and the next one is this multiple of the last one.
    plain_extrapolation = 2.0
    # A trial closer to an end of the bracket than this fraction of its width is replaced by bisection.
    min_bracket_fraction = 1e-3
    # If no step is known to be short enough yet, that replacement is this fraction of the step that was too long.
    first_cut = 0.1


SETTINGS = Settings()
