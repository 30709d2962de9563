"""Passes over all rows of an oracle with the smoothed losses of `kernels/envelope.py`, block by block."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.kernels.envelope import envelope_line, envelope_pass


class RowState:
    """What is known of every row: score z, centre u0, dual variable u and t = p du/dz."""

    def __init__(self, u0: np.ndarray, u: np.ndarray):
        self.u0, self.u = u0, u
        self.z, self.t = np.zeros(u.size), np.zeros(u.size)


class Sums(NamedTuple):
    """sum p phi, sum p loss, sum p of the Fenchel-Young residuals, sum p u, sum t, sum t (x - offset)."""

    value: float
    risk: float
    residual: float
    slopes: float
    bend: float
    kinks: float


def smoothed_sums(
    oracle: Any, w: np.ndarray, b: float, gamma: float, rows: RowState, g: np.ndarray, border: np.ndarray, fresh: bool
) -> Sums:
    """Scores at (w, b) (those stored, unless `fresh`), dual variables and curvatures in one pass, into `rows`.

    g += sum p (change of u) x, and border, if it has entries, becomes sum t x.
    """
    oracle.passes += 1.0 if fresh else 0.5
    loss = oracle.problem.compiled_loss

    def work(block):
        part = slice(block.start, block.stop)
        change, bent = np.zeros(w.size), np.zeros(border.size)
        sums = envelope_pass(
            loss, block.rows, block.y, block.p, block.offset, w, b, gamma, fresh,
            rows.u0[part], rows.z[part], rows.u[part], rows.t[part], change, bent,
        )  # fmt: skip
        return *sums, change, bent

    *sums, change, bent = oracle.engine.sum(work, oracle.blocks)
    g += change
    border[:] = bent
    return Sums(*sums)


def smoothed_line(
    oracle: Any, z: np.ndarray, dz: np.ndarray, t: float, u0: np.ndarray, gamma: float
) -> tuple[float, float, float]:
    """(sum p phi, its derivatives in t) at scores z + t dz: no pass over X."""
    loss = oracle.problem.compiled_loss

    def work(block):
        part = slice(block.start, block.stop)
        return envelope_line(loss, block.y, block.p, z[part], dz[part], t, u0[part], gamma)

    value, slope, bend = oracle.engine.sum(work, oracle.blocks)
    return value, slope, bend
