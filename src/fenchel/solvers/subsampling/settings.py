"""Tuning numbers of the samples on which Newton solvers start."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """How large samples are, and how accurately the problem on each of them is solved."""

    # A sample has at least so many rows per feature: fewer would be overfitted, and the start would be a bad one.
    min_rows_per_feature = 40
    # Semismooth Newton stops reducing gamma on a sample once fewer rows per feature than this have curvature: a smaller
    # gamma would fit the sample and not the rest.
    min_curved_rows_per_feature = 20
    # The problem on a sample, with a differentiable loss, is solved to this relative gap.
    max_relative_gap = 0.1
    # At most so many Newton steps are made on one sample.
    max_newton_steps = 50
    # The smallest sample has this fraction of all rows, unless `min_rows_per_feature` asks for more.
    min_row_fraction = 1 / 64
    # No sample has more than this fraction of all rows.
    max_row_fraction = 1 / 3
    # Each sample has so many times the rows of the one before it.
    size_growth = 8
    # Samples before one that stores at most so many values are left out, because they would save nothing.
    min_stored_values = 1 << 16
    # A sample stores at most so many values, because it is held in memory even if the data are on disk.
    max_stored_values = 1 << 25
    # The smallest gamma on m rows, relative to the first one, is this times sqrt(d / m), about the error of scores that
    # were found on m rows: less smoothing would gain little.
    gamma_per_score_error = 1.5


SETTINGS = Settings()
