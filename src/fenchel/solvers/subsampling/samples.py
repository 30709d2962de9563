"""Sub-samples to start from: the first steps, which find the region of the solution, need few rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.data.mapped import is_mapped

PER_FEATURE = 40  # rows: fewer would be fitted too well
BENT = 20  # rows with curvature, per feature, below which a smaller gamma would fit the sample and not the rest
ROUGH = 0.1  # relative gap at which a sub-sample of a differentiable loss is left
MOST_STEPS = 50
SMALLEST_SHARE, LARGEST_SHARE, GROWTH = 1 / 64, 1 / 3, 8
LITTLE = 1 << 16  # stored values of a sample up to which a smaller one before it would save nothing
LONGEST = (1 << 16) - 1  # entries of a row up to which lengths are told apart
MOST_STORED = 1 << 25  # values of a sample, which is in memory also if the data are on disk


def sizes(n: int, d: int, stored: int) -> list[int]:
    """Numbers of rows, growing, of data with so many stored values; none if the problem is too small for it to pay."""
    found = []
    m = max(PER_FEATURE * d, int(n * SMALLEST_SHARE))
    while m <= LARGEST_SHARE * n and m * (stored / n) <= MOST_STORED:
        found.append(m)
        m *= GROWTH
    while len(found) > 1 and found[1] * (stored / n) <= LITTLE:
        found.pop(0)
    return found


def strided(n: int, m: int) -> np.ndarray:
    """m row numbers, one at random from each of m runs of rows: rising, and spread over data in any order."""
    edges = np.arange(m + 1) * n // m
    return edges[:-1] + (np.random.default_rng(0).random(m) * np.diff(edges)).astype(int)


def drawn(rows: Any, n: int, m: int) -> np.ndarray:
    """m row numbers as `strided` draws them; those of sparse rows in memory by rising length, so that the processor foresees
    where each ends: wrong guesses take a third of the time of short rows."""
    chosen = strided(n, m)
    if not hasattr(rows, "indptr") or is_mapped(rows):
        return chosen
    lengths = rows.indptr[chosen + 1] - rows.indptr[chosen]
    return chosen[np.argsort(np.minimum(lengths, LONGEST).astype(np.uint16), kind="stable")]  # by counting


def smallest_gamma(d: int, m: int) -> float:
    """Relative to the first: scores found on m rows are off by about sqrt(d / m), and less smoothing helps little."""
    return 1.5 * float(np.sqrt(d / m))
