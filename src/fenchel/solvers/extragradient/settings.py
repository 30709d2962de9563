"""The tuning numbers of `Extragradient`, with the reason for each."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """One field: when the gap is evaluated."""

    # P and D, which cost passes, are evaluated at iteration k, and again k divided by this number of iterations later.
    evaluation_interval_divisor = 10


SETTINGS = Settings()
