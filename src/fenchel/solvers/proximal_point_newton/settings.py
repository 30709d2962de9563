"""Tuning numbers of `ProximalPointNewton`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The proximal steps, the Newton steps that solve each of them, and their linear systems."""

    # Proximal steps
    # --------------
    # The first step size is found with so many rows, because it only has to be right within a factor.
    first_step_rows: int = 2000
    # The first step size is searched between the mean of |scores| divided and multiplied by this.
    first_step_range: float = 1e8
    # With dual variables from a warm start, the first step is so many times larger.
    warm_start_growth: float = 10.0
    # A start with dual variables whose relative gap is above this is worse than none, and is not used.
    max_warm_start_gap: float = 0.1
    # The step size grows by this factor after an inner solve of at most `max_quick_systems` Newton systems.
    quick_growth: float = 3.0
    max_quick_systems: int = 6
    # The step size grows by this factor after an inner solve of at most `max_fair_systems` Newton systems.
    fair_growth: float = 1.5
    max_fair_systems: int = 12
    # An inner solve ends after so many Newton systems, and the step size is then multiplied by `slow_growth`.
    max_systems: int = 25
    slow_growth: float = 0.25
    # The step size never exceeds this multiple of the first one: rounding errors of the scores are proportional to it.
    max_step_ratio: float = 1e8
    # The weight of the squared distance to the last dual variables is this multiple of (first step size)^2 / step size: at the
    # first step a row reaches the end of its domain within about the change of its score that leads to a nonsmooth point.
    dual_distance_ratio: float = 0.3
    # That weight is at least this multiple of the step size, which bounds the condition number of the systems.
    min_dual_distance_ratio: float = 1e-13

    # Newton steps of one proximal step
    # ---------------------------------
    # An inner solve ends when its residual is at most this fraction of the change of scores and coefficients ...
    inner_error_ratio: float = 0.06
    # ... divided by the number of the proximal step to this power, so that the errors have a finite sum.
    inner_error_power: float = 1.5
    # An inner solve ends in any case at this residual, relative to the scores, where rounding dominates.
    inner_rounding: float = 1e-14
    # A full Newton step is accepted if the derivative at its end is at most this fraction of the one at its beginning.
    max_full_step_slope_ratio: float = 0.3
    # The sum of u x is recomputed after so many Newton steps, because updating it accumulates rounding errors.
    systems_per_refresh: int = 20

    # Linear systems
    # --------------
    # Unknowns up to which a system is factored; with more, conjugate gradients are used.
    max_factored_unknowns: int = 3000
    # Conjugate gradients end at this relative residual, or after so many products.
    cg_tolerance: float = 1e-3
    max_cg_products: int = 300
    # With at most so many columns the Gram matrix is that of all of them.
    max_columns_without_selection: int = 300
    # A copy of columns is kept while it has at most this multiple of the active ones.
    max_copied_column_ratio: float = 2.0

    # Jacobians of proxes
    # -------------------
    # A Jacobian that is not diagonal is formed for at most so many features.
    max_coupled_features: int = 1000
    # Differences of a prox are over this length, relative to the largest entry of its argument.
    difference_length_ratio: float = 1e-6


SETTINGS = Settings()
