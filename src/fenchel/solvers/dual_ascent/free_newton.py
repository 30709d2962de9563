"""Newton steps of the dual on the rows whose u is free, by damped conjugate gradients.

Near u_i the derivative of the loss's conjugate is c_i + rho_i u, so that the best change x of all free u satisfies

    (Q + rho + gamma) x = r,   Q_ij = p_j (<x_i, x_j> / strength + inverse_bias),   r_i = z_i - c_i - rho_i u_i.

gamma damps it: near-duplicate rows make Q singular, and rho is 0 for hinges. r and rho are read off two dual steps with
large q, t(q) = r / (rho + q), which stay near u: this serves every loss, and is exact where its conjugate is piecewise linear
or quadratic. Rows that x moves out of their piece are held at its end, and the system is solved again for the others; without
this a few rows spoil the step. A line search ends it, so that D never falls.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.data.accept import read_only
from fenchel.data.row_blocks import MAX_CALL_VALUES
from fenchel.kernels.dual_phase import dual_steps
from fenchel.kernels.free_rows import add_rows, multiply, solve_free
from fenchel.kernels.passes import conjugate_sum
from fenchel.result import Iterate
from fenchel.solvers.dual_ascent.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.losses.protocol import Loss


class Free:
    """The free rows of a subset: their y, p, q, u and z, and r and rho."""

    def __init__(self, loss: Loss, subset: Any, z: np.ndarray):
        probe = SETTINGS.newton_probe_ratio
        self.loss = loss
        near, far = np.empty(subset.n), np.empty(subset.n)
        dual_steps(loss, subset.y, subset.q, subset.u, z, 0.0, probe, near)
        dual_steps(loss, subset.y, subset.q, subset.u, z, 0.0, 2.0 * probe, far)
        self.rows = np.flatnonzero((far != 0.0) & (subset.p > 0.0)).astype(np.uint64)
        self.y, self.p, self.offset = (read_only(f[self.rows]) for f in (subset.y, subset.p, subset.offset))
        self.q, self.probe = subset.q[self.rows], read_only(probe * subset.q[self.rows])
        self.u, self.z, near, far = subset.u[self.rows], z[self.rows], near[self.rows], far[self.rows]
        curvature = (2.0 * far - near) * self.probe / np.where(near != far, near - far, np.inf)
        least = SETTINGS.newton_min_curvature_ratio * self.probe
        self.rho = np.where((curvature > least) & (curvature < np.inf), curvature, 0.0)
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
    """Steps on the free rows of the active subset, and how strongly they are damped."""

    def __init__(self, phases: Any):
        self.phases = phases
        self.scale = float(np.mean(phases.all_rows.q))
        self.damping, self.min_damping = SETTINGS.newton_first_damping_ratio, SETTINGS.newton_min_damping_ratio
        self.zeros = np.zeros(phases.v.size)
        self.step_fraction = 1.0

    def step(self) -> Iterator[Iterate]:
        """u <- u + t x within the domain; yields between expensive solves."""
        phases, subset = self.phases, self.phases.subset
        free = Free(phases.loss, subset, phases.subset_z)
        count = free.rows.size
        shift = free.rho + self.damping * self.scale
        x, held, work = np.zeros(count), np.zeros(count, dtype=bool), np.empty((4, count))
        stored = subset.stored
        affordable = SETTINGS.newton_max_values_per_solve / stored
        steps = int(max(min(SETTINGS.newton_max_cg_steps, affordable), SETTINGS.newton_min_cg_steps))
        first, taken, rounding = 0.0, 0, SETTINGS.newton_rounding_ratio
        for _ in range(SETTINGS.newton_max_solves_per_step):
            if taken * stored > SETTINGS.newton_max_values_per_solve / SETTINGS.newton_max_solves_per_step:
                yield phases.latest._replace(primal=None, dual=np.nan)
            taken, first = (solve_free if stored <= MAX_CALL_VALUES else solved_in_steps)(
                subset.rows, free.p, free.q, shift, 1.0 / phases.strength, phases.inverse_bias,
                free.rows, free.r, held, x, first, steps, SETTINGS.newton_cg_residual_ratio, self.zeros, work,
            )  # fmt: skip
            phases.oracle.count((taken + 0.5) * phases.stored_fraction)
            move = free.projection(x)
            clipped = ~held & (np.abs(move - x) > rounding * (np.abs(move) + np.abs(x) + rounding * np.abs(free.u)))
            x[clipped] = move[clipped]
            held |= clipped
            if not clipped.any():
                break
        self.take(free, move)

    def take(self, free: Free, move: np.ndarray) -> None:
        """Takes the fraction t of the move that is best for D."""
        phases, subset = self.phases, self.phases.subset
        mass = free.p * move
        total = float(mass.sum())
        change = np.zeros(phases.v.size)
        add_rows(subset.rows, free.rows, -mass / phases.strength, change)
        rise = float(mass @ free.r)
        curvature = phases.strength * float(change @ change) + phases.inverse_bias * total * total
        before = free.conjugates(free.u)
        gain = before - free.conjugates(free.u + move)  # What the loss part of D gains by the full move.
        curved = curvature + 2.0 * (rise - gain)  # D(t) = rise t - curved t^2 / 2 where it is a parabola.
        t = min(rise / curved, 1.0) if curved > 0.0 else 1.0
        for _ in range(SETTINGS.newton_max_halvings):
            new = np.clip(free.u + t * move, np.minimum(free.u, free.u + move), np.maximum(free.u, free.u + move))
            if before - free.conjugates(new) - 0.5 * curvature * t * t >= SETTINGS.newton_min_rise_ratio * rise * t:
                break
            t *= 0.5
        else:
            t = 0.0
        self.step_fraction = t
        if t > 0.0:
            subset.u[free.rows] = new
            phases.v += t * change
            phases.b -= t * total * phases.inverse_bias

    def adapt(self, ratio: float) -> None:
        """Damp less after a good or full step; more after one that had to be cut, and then never again as little.
        `ratio` is the gap after the step relative to that before."""
        if self.step_fraction < SETTINGS.newton_cut_step_fraction:
            factor = SETTINGS.newton_cut_damping_factor
            floor = min(factor * self.damping, SETTINGS.newton_max_damping_floor_ratio)
            self.min_damping = max(self.min_damping, floor)
        elif ratio < SETTINGS.newton_good_gap_ratio:
            factor = SETTINGS.newton_good_damping_factor
        elif self.step_fraction > SETTINGS.newton_full_step_fraction:
            factor = SETTINGS.newton_full_damping_factor
        else:
            factor = 1.0
        self.damping = min(max(self.damping * factor, self.min_damping), SETTINGS.newton_max_damping_ratio)


def solved_in_steps(rows, p, q, shift, inverse_strength, inverse_bias, free, r, held, x, first, steps, enough, g, work):
    """`solve_free` with one compiled call per step, so that large systems can be interrupted."""
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
