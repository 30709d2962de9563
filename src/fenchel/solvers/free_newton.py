"""Newton steps of the dual on the free rows of a part, damped, and projected in several goes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fenchel.kernels.free_rows import go_towards, hold_clipped, probe_rows, solve_free
from fenchel.result import Iterate

DAMPING = 0.03  # at the start, relative to the mean q of the rows
LEAST, MOST = 1e-12, 1e3  # ... and where it ends
GOES = 5  # solves of a step: rows that leave their domain are held at its end, and the others solved for again
STEPS = 200  # of conjugate gradients in a go, at most
MOST_WORK = 1e8  # stored values to walk in a go, at most
RESIDUAL = 0.3  # of the linear system, relative to the first one
GOOD, FULL, SHORT = 0.25, 0.9, 0.5  # the gap after a step relative to that before; the share of a step that is taken


class Newton:
    """Steps on the free rows of the part, and how strongly they are damped."""

    def __init__(self, phases: Any):
        self.phases = phases
        self.scale = float(np.mean(phases.whole.q))
        self.damping = DAMPING
        self.zeros = np.zeros(phases.v.size)
        self.share = 1.0

    def step(self) -> Iterator[Iterate]:
        """u <- u + t x with (Q + rho + damping) x = r nearly, within the domain; yields between long solves."""
        phases, part, z = self.phases, self.phases.part, self.phases.part_z
        numbers = np.empty(part.n, dtype=np.uint64)
        r, rho = np.empty(part.n), np.empty(part.n)
        count = probe_rows(phases.loss, part.y, part.p, part.q, part.u, z, numbers, r, rho)
        free, r, rho = numbers[:count], r[:count], rho[:count]
        shift = rho + self.damping * self.scale
        x, goal, held, work = np.zeros(count), np.empty(count), np.zeros(count, dtype=bool), np.empty((4, count))
        steps = int(max(min(STEPS, MOST_WORK / max(part.stored, 1)), 10))
        first = 0.0
        for go in range(GOES):
            if go > 0 and taken * part.stored > MOST_WORK / GOES:
                yield phases.latest._replace(primal=None, dual=np.nan)
            taken, first = solve_free(
                part.rows, part.p, part.q, shift, 1.0 / phases.strength, phases.inverse_bias,
                free, r, held, x, first, steps, RESIDUAL, self.zeros, work,
            )  # fmt: skip
            phases.oracle.passes += (taken + 0.5) * part.stored / phases.whole.stored
            if hold_clipped(phases.loss, part.y, part.q, free, r, rho, part.u, z, held, x, goal) == 0:
                break
        self.share, phases.b = go_towards(
            phases.loss, part.rows, part.y, part.p, phases.strength, phases.inverse_bias,
            free, r, goal, part.u, phases.v, z, phases.b, self.zeros,
        )  # fmt: skip

    def adapt(self, ratio: float) -> None:
        """Damp less after a step that did well, more after one that had to be cut; `ratio` is of the gaps after and before."""
        if self.share < SHORT:
            factor = 3.0
        elif ratio < GOOD:
            factor = 0.1
        else:
            factor = 0.3 if self.share > FULL else 1.0
        self.damping = min(max(self.damping * factor, LEAST), MOST)
