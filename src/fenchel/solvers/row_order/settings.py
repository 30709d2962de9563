"""Tuning numbers of the order in which an epoch visits the rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """How rows are shuffled in blocks."""

    # Consecutive rows that are shuffled together: with 16 there are 10-15 % more epochs, but each takes little more than half
    # the time.
    rows_per_block: int = 16
    # With fewer blocks than this, rows are shuffled one by one.
    min_blocks: int = 64


SETTINGS = Settings()
