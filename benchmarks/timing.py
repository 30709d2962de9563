"""Times of functions on a machine whose load changes."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np


def in_turns(*functions: Callable, repeats: int) -> np.ndarray:
    """Median milliseconds of each function, taken in turns so that load of the machine hits all alike."""
    times = np.empty((repeats, len(functions)))
    for row in times:
        for j, function in enumerate(functions):
            start = time.perf_counter()
            function()
            row[j] = 1e3 * (time.perf_counter() - start)
    return np.median(times, axis=0)
