"""The tuning numbers of `Extragradient`, with the reason for each."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """Fields in the order: evaluations of the gap, block steps."""

    # P and D, which cost passes, are evaluated at iteration k, and again k divided by this number of iterations later.
    evaluation_interval_divisor = 10

    # In one of so many epochs of block steps every example is visited, since gains seen earlier become out of date.
    epochs_per_full_epoch = 4
    # With more marginals than this, steps are on all examples at once by default, which store none: 1 GB.
    max_stored_marginals = 1 << 27

    # The radius of a ball, to which lengths are relative, is taken to be at least this.
    min_radius = 1e-150


SETTINGS = Settings()
