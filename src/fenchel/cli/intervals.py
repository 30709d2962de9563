"""Bootstrap confidence intervals: units are drawn with replacement, and the interval is bounded by percentiles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from fenchel.cli.quality import Quality
from fenchel.errors import InputError


class Estimate(NamedTuple):
    """A value and its confidence interval (NaN if there is none)."""

    value: float
    low: float
    high: float


def intervals(quality: Quality, resamples: int, seed: int, level: float) -> dict[str, Estimate]:
    """Every metric with the (1 - level)/2 and (1 + level)/2 quantiles over the resamples in which it is defined.

    >>> from fenchel.cli.quality import mean_of
    >>> found = intervals(Quality("", "rows", 4, [mean_of("a", True, [1, 1, 0, 1])]), 200, 0, 0.9)["a"]
    >>> found.value, found.low <= 0.75 <= found.high
    (0.75, True)
    """
    if resamples < 0:
        raise InputError(f"--resamples must be at least 0, got {resamples}")
    if not 0.0 < level < 1.0:
        raise InputError(f"--level must be between 0 and 1, got {level!r}")
    rng, n = np.random.default_rng(seed), quality.size
    drawn = np.empty((resamples, len(quality.metrics)))
    with threadpool_limits(1, "blas"):  # starting threads costs more than such short products
        for b in range(resamples):
            counts = np.bincount(rng.integers(0, n, n), minlength=n).astype(float)
            drawn[b] = [metric.value(counts) for metric in quality.metrics]
    once = np.ones(n)
    return {
        metric.name: Estimate(metric.value(once), *_between(drawn[:, j], level))
        for j, metric in enumerate(quality.metrics)
    }


def _between(values: np.ndarray, level: float) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    if known.size == 0:
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return float(low), float(high)
