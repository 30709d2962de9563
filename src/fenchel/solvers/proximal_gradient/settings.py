"""Tuning numbers of `ProximalGradient`."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """The backtracking search for the curvature bound L, and the scales of the variables."""

    # L is multiplied by this after every iteration, so that a bound found where the curvature is high is not kept forever.
    bound_shrink = 0.9
    # L is multiplied by this whenever the quadratic bound fails; each failure costs one pass.
    bound_growth = 2.0
    # The quadratic bound may be exceeded by this fraction of the value, which is what rounding can cause.
    value_rounding = 1e-14
    # The first L is a finite difference of gradients over a step of this length, relative to |x| (or to 1 / |gradient|).
    probe_length_ratio = 1e-4
    # Variances of columns below this fraction of the largest one are replaced by it.
    min_variance_ratio = 1e-12


SETTINGS = Settings()
