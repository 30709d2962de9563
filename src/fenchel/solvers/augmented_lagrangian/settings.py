"""Tuning numbers of the dual augmented Lagrangian, for exact inner solves (Algorithm 2)."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """When the augmented problem counts as solved, and what happens to the penalty then."""

    # The augmented problem counts as solved when its gap is at most this fraction of its penalty term, ...
    inner_gap_per_penalty = 0.1
    # ... or at most this fraction of P, which is rounding.
    rounding_gap_ratio = 1e-13
    # The multiplier moves after so many inner epochs even if the augmented problem is not solved.
    max_inner_epochs = 40
    # The inner gap is first evaluated after so many epochs, ...
    min_epochs_per_test = 2
    # ... and again when 1 / 4 as many have followed as there were, so that evaluations stay inexpensive.
    epochs_per_test_divisor = 4
    # Every so many inner epochs visit all rows and not only the active ones.
    epochs_per_full_epoch = 4
    # The penalty grows if |sum p u| is above this fraction of what it was at the last multiplier step, ...
    max_violation_ratio = 0.5
    # ... by this factor.
    penalty_growth = 4.0


SETTINGS = Settings()
