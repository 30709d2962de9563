"""Samples of the rows to start on: the first Newton steps, which find the region of the solution, need few rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.oracles.row_samples import in_order_of_length
from fenchel.solvers.subsampling.settings import SETTINGS


def sizes(n: int, d: int, stored: int) -> list[int]:
    """Growing sample sizes for n rows of d features with `stored` values; empty if the data are too small to gain by it."""
    found = []
    m = max(SETTINGS.min_rows_per_feature * d, int(n * SETTINGS.min_row_fraction))
    while m <= SETTINGS.max_row_fraction * n and m * (stored / n) <= SETTINGS.max_stored_values:
        found.append(m)
        m *= SETTINGS.size_growth
    while len(found) > 1 and found[1] * (stored / n) <= SETTINGS.min_stored_values:
        found.pop(0)
    return found


def strided(n: int, m: int) -> np.ndarray:
    """m row numbers, one at random from each of m consecutive ranges of rows: increasing, and spread over the data."""
    edges = np.arange(m + 1) * n // m
    return edges[:-1] + (np.random.default_rng(0).random(m) * np.diff(edges)).astype(int)


def drawn(rows: Any, n: int, m: int) -> np.ndarray:
    """m row numbers as `strided` draws them; sparse rows in memory are ordered by length."""
    return in_order_of_length(rows, strided(n, m))


def smallest_gamma(d: int, m: int) -> float:
    """The smallest useful gamma relative to the first one: scores found on m rows have errors of about sqrt(d / m)."""
    return SETTINGS.gamma_per_score_error * float(np.sqrt(d / m))
