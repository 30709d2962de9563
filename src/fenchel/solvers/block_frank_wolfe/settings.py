"""The tuning numbers of `BlockFrankWolfe` and of the pool of labels, with the reason for each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Fields in the order: epochs, evaluations of the gap, the pool of labels."""

    # In one of so many epochs every example is visited and its max-oracle is called, since gaps seen earlier and labels found
    # earlier become out of date.
    epochs_per_full_epoch: int = 8

    # P and D, which cost a pass, are evaluated when the estimated gap has fallen to this fraction of the last one.
    evaluation_gap_ratio: float = 0.5
    # Without such a fall they are evaluated after as many epochs as there were so far, divided by this number ...
    evaluation_interval_divisor: int = 4
    # ... but not before this many epochs.
    min_evaluation_interval_epochs: int = 2

    # A step on an example costs this many times the work that its model declares: its max-oracle, and the labels of its pool.
    step_cost_per_model_work: float = 4.0
    # A pool that is full grows by this many places per label that is needed, so that it seldom has to be copied ...
    pool_growth_per_label: int = 2
    # ... and by at least this many places per example.
    min_pool_growth: int = 4


SETTINGS = Settings()
