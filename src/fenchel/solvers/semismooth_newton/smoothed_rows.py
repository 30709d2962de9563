"""Passes over all rows of an oracle with the smoothed losses of `kernels/envelope.py`, block by block.

Scores, losses and sums are separate kernels, so that none is compiled for every pair of a loss and a storage format. A block is
still in the cache when its rows are read again, and only the rows whose u changed are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.kernels.envelope import curved_along, curved_rows, smoothed_along, smoothed_rows
from fenchel.kernels.passes import combine_pass, scores_pass
from fenchel.solvers.semismooth_newton.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.engines.local import Block
    from fenchel.oracles.scalar import Oracle


class RowState:
    """The state of every row: score z, proximal centre u0, dual variable u and curvature t = p du/dz."""

    def __init__(self, u0: np.ndarray, u: np.ndarray):
        self.u0, self.u = u0, u
        self.z, self.t = np.zeros(u.size), np.zeros(u.size)


class Sums(NamedTuple):
    """sum p phi, sum p loss, sum p of the Fenchel-Young residuals, sum p u, sum t, sum t (x - offset)."""

    value: float
    risk: float
    residual: float
    slopes: float
    total_curvature: float
    breakpoints: float


def smoothed_sums(
    oracle: Oracle,
    w: np.ndarray,
    b: float,
    gamma: float,
    rows: RowState,
    g: np.ndarray,
    border: np.ndarray,
    fresh: bool,
) -> Sums:
    """Scores at (w, b) (those stored, unless `fresh`), dual variables and curvatures in one pass, into `rows`.

    g += sum p (change of u) x, and border, if it has entries, becomes sum t x.
    """
    loss = oracle.problem.compiled_loss

    def work(block: Block) -> tuple[Any, ...]:
        at = slice(block.start, block.stop)
        z, u0, u, t, p = rows.z[at], rows.u0[at], rows.u[at], rows.t[at], block.p
        change, curvature, step = np.zeros(w.size), np.zeros(border.size), np.empty(z.size)
        if fresh:
            scores_pass(block.rows, block.offset, w, z)
            z += b
        if gamma > 0.0:
            sums = smoothed_rows(loss, block.y, p, block.offset, gamma, u0, z, u, t, step)
        else:
            sums = curved_rows(loss, block.y, p, block.offset, z, u, t, step)
        combine_pass(block.rows, p, step, change)
        if curvature.size:
            combine_pass(block.rows, p, np.divide(t, np.maximum(p, SETTINGS.min_weight), out=step), curvature)
        return *sums, change, curvature

    *sums, change, curvature = oracle.sum_blocks(work, oracle.blocks, directions=2 if fresh else 1)
    g += change
    border[:] = curvature
    return Sums(*sums)


def smoothed_line(
    oracle: Oracle, z: np.ndarray, dz: np.ndarray, t: float, u0: np.ndarray, gamma: float
) -> tuple[float, float, float]:
    """(sum p phi, its derivatives in t) at scores z + t dz: no pass over X."""
    loss = oracle.problem.compiled_loss

    def work(block: Block) -> tuple[Any, ...]:
        at = slice(block.start, block.stop)
        if gamma > 0.0:
            return smoothed_along(loss, block.y, block.p, z[at], dz[at], t, u0[at], gamma)
        return curved_along(loss, block.y, block.p, z[at], dz[at], t)

    value, slope, total_curvature = oracle.engine.sum(work, oracle.blocks)
    return value, slope, total_curvature
