"""Tuning numbers of `ProximalGradient`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The backtracking search for the curvature bound L, and the scales of the variables."""

    # L is multiplied by this after every iteration, so that a bound found where the loss is curved is not kept for good.
    bound_shrink: float = 0.9
    # L is multiplied by this whenever the quadratic bound fails; each failure costs one pass.
    bound_growth: float = 2.0
    # The quadratic bound may be exceeded by this fraction of the value, which is what rounding can cause.
    value_rounding: float = 1e-14
    # The first L is a finite difference of gradients over a step of this length, relative to |x| (or to 1 / |gradient|).
    probe_length_ratio: float = 1e-4
    # Variances of columns below this fraction of the largest one are replaced by it.
    min_variance_ratio: float = 1e-12


SETTINGS = Settings()
