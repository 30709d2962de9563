"""Newton steps of the dual on the rows whose u is free, by damped conjugate gradients.

Near u_i the derivative of the loss's conjugate is c_i + rho_i u, so that the best change x of all free u satisfies

    (Q + rho + gamma) x = r,   Q_ij = p_j (<x_i, x_j> / strength + inverse_bias),   r_i = z_i - c_i - rho_i u_i.

gamma damps it: near-duplicate rows make Q singular, and rho is 0 for hinges. r and rho are read off two dual steps with
large q, t(q) = r / (rho + q), which stay near u: this serves every loss, exactly where its conjugate is piecewise linear or
quadratic. Rows that x moves out of their piece are held at its end, and the others solved for again; without this a few of
them spoil the step. It ends with an exact search on the segment, so that D never falls.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fenchel.data.accept import read_only
from fenchel.data.row_blocks import LONGEST
from fenchel.kernels.dual_phase import dual_steps
from fenchel.kernels.free_rows import add_rows, multiply, solve_free
from fenchel.kernels.passes import conjugate_sum
from fenchel.result import Iterate

PROBE = 16.0  # steps are probed with so many times the row's own q, and twice that
FLAT = 1e-6  # rho below this share of the probe is rounding
SAME = 1e-6  # a relative change by the projection that is rounding
DAMPING = 0.03  # at the start, relative to the mean q of the rows
LEAST, MOST = 1e-12, 1e3  # ... and where it ends
MOST_LEAST = 0.1  # that a step which had to be cut may set
GOES = 4  # solves of a step
STEPS = 200  # of conjugate gradients in a go, at most
MOST_WORK = 1e8  # stored values to walk in a go, at most
RESIDUAL = 0.5  # of the linear system, relative to the first one
HALVINGS, ENOUGH = 20, 0.1  # of a step that does not raise D by this share of what its slope promises
GOOD, FULL, SHORT = 0.25, 0.9, 0.5  # the gap after a step relative to that before; the share of a step that is taken


class Free:
    """The free rows of a part: y, p, q, u, z of them, and r and rho."""

    def __init__(self, loss: Any, part: Any, z: np.ndarray):
        self.loss = loss
        near, far = np.empty(part.n), np.empty(part.n)
        dual_steps(loss, part.y, part.q, part.u, z, 0.0, PROBE, near)
        dual_steps(loss, part.y, part.q, part.u, z, 0.0, 2.0 * PROBE, far)
        self.rows = np.flatnonzero((far != 0.0) & (part.p > 0.0)).astype(np.uint64)
        self.y, self.p, self.offset = (read_only(f[self.rows]) for f in (part.y, part.p, part.offset))
        self.q, self.probe = part.q[self.rows], read_only(PROBE * part.q[self.rows])
        self.u, self.z, near, far = part.u[self.rows], z[self.rows], near[self.rows], far[self.rows]
        curvature = (2.0 * far - near) * self.probe / np.where(near != far, near - far, np.inf)
        self.rho = np.where((curvature > FLAT * self.probe) & (curvature < np.inf), curvature, 0.0)
        self.r = far * (2.0 * self.probe + self.rho)

    def projection(self, x: np.ndarray) -> np.ndarray:
        """The move that is left of x: a dual step from the score that the row would have at u + x."""
        move = np.empty(x.size)
        score = self.z - self.r + (self.rho + self.probe) * x
        dual_steps(self.loss, self.y, self.probe, self.u, score, 0.0, 1.0, move)
        return move

    def conjugates(self, u: np.ndarray) -> float:
        """sum p (loss*(u) - u z)."""
        total = conjugate_sum(self.loss, self.y, self.p, self.offset, u)
        return total - float((self.p * u) @ (self.z - self.offset))


class Newton:
    """Steps on the free rows of the part, and how strongly they are damped."""

    def __init__(self, phases: Any):
        self.phases = phases
        self.scale = float(np.mean(phases.whole.q))
        self.damping, self.least = DAMPING, LEAST
        self.zeros = np.zeros(phases.v.size)
        self.share = 1.0

    def step(self) -> Iterator[Iterate]:
        """u <- u + t x within the domain; yields between long solves."""
        phases, part = self.phases, self.phases.part
        free = Free(phases.loss, part, phases.part_z)
        count = free.rows.size
        shift = free.rho + self.damping * self.scale
        x, held, work = np.zeros(count), np.zeros(count, dtype=bool), np.empty((4, count))
        stored = part.stored
        steps = int(max(min(STEPS, MOST_WORK / stored), 10))
        first, taken = 0.0, 0
        for _ in range(GOES):
            if taken * stored > MOST_WORK / GOES:
                yield phases.latest._replace(primal=None, dual=np.nan)
            taken, first = (solve_free if stored <= LONGEST else solved_in_steps)(
                part.rows, free.p, free.q, shift, 1.0 / phases.strength, phases.inverse_bias,
                free.rows, free.r, held, x, first, steps, RESIDUAL, self.zeros, work,
            )  # fmt: skip
            phases.oracle.passes += (taken + 0.5) * phases.share
            move = free.projection(x)
            clipped = ~held & (np.abs(move - x) > SAME * (np.abs(move) + np.abs(x) + SAME * np.abs(free.u)))
            x[clipped] = move[clipped]
            held |= clipped
            if not clipped.any():
                break
        self.take(free, move)

    def take(self, free: Free, move: np.ndarray) -> None:
        """The share of the move that is best for D."""
        phases, part = self.phases, self.phases.part
        mass = free.p * move
        total = float(mass.sum())
        change = np.zeros(phases.v.size)
        add_rows(part.rows, free.rows, -mass / phases.strength, change)
        rise = float(mass @ free.r)
        curvature = phases.strength * float(change @ change) + phases.inverse_bias * total * total
        before = free.conjugates(free.u)
        whole = before - free.conjugates(free.u + move)  # what the losses' part of D gains by the whole move
        curved = curvature + 2.0 * (rise - whole)  # D(t) = rise t - curved t^2 / 2 where it is a parabola
        t = min(rise / curved, 1.0) if curved > 0.0 else 1.0
        for _ in range(HALVINGS):
            new = np.clip(free.u + t * move, np.minimum(free.u, free.u + move), np.maximum(free.u, free.u + move))
            if before - free.conjugates(new) - 0.5 * curvature * t * t >= ENOUGH * rise * t:
                break
            t *= 0.5
        else:
            t = 0.0
        self.share = t
        if t > 0.0:
            part.u[free.rows] = new
            phases.v += t * change
            phases.b -= t * total * phases.inverse_bias

    def adapt(self, ratio: float) -> None:
        """Damp less after a step that did well, more after one that had to be cut, and never again as little as then;
        `ratio` is of the gaps after and before."""
        if self.share < SHORT:
            factor = 3.0
            self.least = max(self.least, min(factor * self.damping, MOST_LEAST))
        elif ratio < GOOD:
            factor = 0.1
        else:
            factor = 0.3 if self.share > FULL else 1.0
        self.damping = min(max(self.damping * factor, self.least), MOST)


def solved_in_steps(rows, p, q, shift, inverse_strength, inverse_bias, free, r, held, x, first, steps, enough, g, work):
    """`solve_free`, a compiled call for every step: for so many rows that it must be possible to break it off."""
    residual, s, direction, out = work
    out[:] = 0.0
    if first > 0.0:
        multiply(rows, p, shift, inverse_strength, inverse_bias, free, x, g, out)
    residual[:] = np.where(held, 0.0, r - out)
    s[:] = residual / (q + shift)
    direction[:] = s
    product, taken = float(np.sum(p * residual * s)), 0
    first = first if first != 0.0 else product
    while taken < steps and product > enough * enough * first:
        multiply(rows, p, shift, inverse_strength, inverse_bias, free, direction, g, out)
        taken += 1
        curvature = float(np.sum(p * direction * out))
        if not curvature > 0.0:
            break
        step, old = product / curvature, product
        x[~held] += step * direction[~held]
        residual[~held] -= step * out[~held]
        s[~held] = (residual / (q + shift))[~held]
        product = float(np.sum((p * residual * s)[~held]))
        direction[:] = s + product / old * direction
    return taken, first
