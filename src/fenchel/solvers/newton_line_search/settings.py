"""Tuning numbers of Newton directions by Cholesky and of the line search along them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Ridges of the factorization, and the safeguards of the line search."""

    # The diagonal of a Hessian is increased by these fractions, one after the other, until the factorization succeeds:
    # rounding can leave a nearly singular matrix indefinite.
    relative_ridges: tuple[float, ...] = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
    # The line search ends where the derivative is at most this fraction of the one at t = 0.
    max_slope_ratio: float = 0.1
    # The value after a step may exceed the one before it by this fraction, which is what rounding can hide.
    value_rounding: float = 1e-13
    # A line search that has not ended after so many evaluations returns the longest step along which the value still falls.
    max_trials: int = 60
    # As long as no step is known to be too long, the next trial is at least this multiple of the last one.
    min_extrapolation: float = 1.5
    # As long as no step is known to be too long, the next trial is at most this multiple of the last one.
    max_extrapolation: float = 4.0
    # Without curvature along the line there is no Newton trial, and the next one is this multiple of the last one.
    plain_extrapolation: float = 2.0
    # A trial closer to an end of the bracket than this fraction of its width is replaced by bisection.
    min_bracket_fraction: float = 1e-3
    # If no step is known to be short enough yet, that replacement is this fraction of the step that was too long.
    first_cut: float = 0.1


SETTINGS = Settings()
