"""The tuning numbers of `BlockFrankWolfe` and of the pool of labels, with the reason for each."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """Fields in the order: epochs, evaluations of the gap, the pool of labels."""

    # In one of so many epochs every example is visited and its max-oracle is called, since gaps seen earlier and labels found
    # earlier become out of date.
    epochs_per_full_epoch = 8

    # P and D, which cost a pass, are evaluated when the estimated gap has fallen to this fraction of the last one.
    evaluation_gap_ratio = 0.5
    # Without such a fall they are evaluated after as many epochs as there were so far, divided by this number ...
    evaluation_interval_divisor = 4
    # ... but not before this many epochs.
    min_evaluation_interval_epochs = 2

    # A step on an example costs this many times the work that its model declares: its max-oracle, and the labels of its pool.
    step_cost_per_model_work = 4.0
    # A pool that is full grows by this many places per label that is needed, so that it seldom has to be copied ...
    pool_growth_per_label = 2
    # ... and by at least this many places per example.
    min_pool_growth = 4


SETTINGS = Settings()
