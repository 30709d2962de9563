"""The tuning numbers of `FrankWolfe` and of the cutting planes that it shares with `Bundle`, with the reason for each."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """Fields in the order: cutting planes, line search."""

    # For a loss that grows exponentially, tangents are taken within this distance of the best scores, because slopes farther
    # away grow exponentially as well.
    max_score_distance = 2.0
    # The root of the slope along a step, which lies in [0, 1], is found to this absolute accuracy.
    line_search_tolerance = 1e-15


SETTINGS = Settings()
