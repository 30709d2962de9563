"""The size of the first proximal step."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.solvers.proximal_point_newton.settings import SETTINGS
from fenchel.solvers.subsampling.samples import strided


def first_step(rows: Any, z: np.ndarray) -> float:
    """A step size gamma that brings about half of the rows to a nonsmooth point, or is as curved as they are: half of those
    that any step can bring there, because with the best intercept for w = 0 many may begin at one."""
    problem = rows.problem
    some = strided(problem.n, min(problem.n, rows.first_step_rows))
    z = z[some]
    size = max(float(np.abs(z).mean()), rows.target_size(some)) or 1.0  # scores may all be about 0
    z = rows.without_ties(z, size)
    low, high = size / SETTINGS.first_step_range, size * SETTINGS.first_step_range
    at_low, at_high = rows.linear(some, low, z), rows.linear(some, high, z)
    if not at_low > at_high:
        return size
    goal = 0.5 * (at_low + at_high)
    while high > 2.0 * low:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if rows.linear(some, middle, z) > goal else (low, middle)
    return high
