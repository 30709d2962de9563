"""The tuning numbers of `CuttingPlane`, with the reason for each."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """Fields in the order in which a round meets them."""

    # The weights of the known labels are optimized until the gap over these labels is this fraction of the gap over all.
    inner_gap_ratio = 0.1
    # A round takes at most this many epochs of steps on the known labels.
    max_epochs_per_round = 100


SETTINGS = Settings()
