"""Tuning numbers of block ascent."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """When rows are left out or repeated, and when P and D are evaluated."""

    # A row whose dual variables have not changed for so many epochs is left out of the active set.
    max_idle_epochs = 3
    # P and D are evaluated after at least so many passes over the rows: an evaluation costs about half a pass.
    min_passes_per_evaluation = 2.5
    # The interval grows to 1 / 8 of all passes so far.
    passes_per_evaluation_divisor = 8
    # They are also evaluated after at least so many epochs, however few rows these visited, ...
    min_epochs_per_evaluation = 8
    # ... an interval that grows to 1 / 4 of all epochs so far.
    epochs_per_evaluation_divisor = 4
    # The active rows have converged when the total length of the steps of an epoch is at most this fraction of that of the
    # last epoch over all rows.
    converged_step_ratio = 0.1
    # V is recomputed from U after more than so many passes over the rows, to remove the drift of many small updates.
    max_passes_per_recomputation = 50.0
    # Epochs over the high-gain rows alone, those that gained more than the mean: they have most of what is left to gain.
    high_gain_epochs = 2
    # If more than this fraction of the active rows are high-gain, they have no epochs of their own.
    max_high_gain_fraction = 0.5
    # In the first passes all rows have much to gain, and none are repeated.
    min_passes_before_repeats = 8.0
    # Zeros of U are not stored from so many scores on: with fewer scores it takes time, with 1000 it saves some.
    min_sparse_scores = 100


SETTINGS = Settings()
