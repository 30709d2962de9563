"""Tuning numbers of proofs that take several steps."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """Of `leave_one_out`: numbers that decide about time, never about truth."""

    # Columns, and columns^2 rows, up to which the curvature of the losses is used.
    max_size = 2000
    max_work = 1e12
    # The fractions of the rows that a reach is to cover, one after the other.
    shares = (1.0, 0.99, 0.9, 0.5)
    # A reach is larger than the one at the point itself by this factor, as the curvature may be less nearby.
    margin = 1.5
    # A row's score is probed with these multiples of its own dual variable ...
    slopes = (0.25, 0.5, 1.0, 2.0, 4.0)
    # ... and with these of the slope whose bound is about narrowest.
    probes = (0.5, 1.0, 2.0)
    # The number of shifts of a dual point at which its conjugates are evaluated, and the ratio of one to the next.
    grid = 24
    ratio = 1.6
    # If at most this fraction of the rows is open, they are fitted again without trying a second kind of bound.
    few = 0.01
    # A prediction for losses of two linear pieces is given up after so many changes of the rows at breakpoints, or with more of
    # them than `max_breakpoints`.
    max_breakpoint_events = 100
    # It is tried for so many rows left out together: for whole folds the way is long, and a refit costs less.
    max_breakpoint_rows = 10
    max_breakpoints = 1000
    # The relative gaps of a refit, one after the other, until the row is decided.
    tols = (1e-6, 1e-9, 1e-12)
    # The width of an interval that counts as decided in regression, relative to the standard deviation of the scores.
    width = 1e-3


SETTINGS = Settings()
