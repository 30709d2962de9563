"""Dual coordinate steps on one block of distributed rows; only v = -sum p u x / strength is sent."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.certificates.passes import clip_pass
from fenchel.data.accept import read_only
from fenchel.engines.local import Block
from fenchel.kernels.dual_phase import REPEAT_RULE, phase, row_scores
from fenchel.kernels.passes import combine_pass, conjugate_sum, loss_sums, norms_pass
from fenchel.mirror_maps.coordinatewise import Coordinatewise


class Round(NamedTuple):
    """The input of a block: v, the fraction of its last change to keep, the factor by which its change of v counts, the number
    of epochs."""

    v: np.ndarray
    kept: float
    coupling: float
    epochs: int


class LocalDual:
    """The dual variables of a block; `before` are those of its last result."""

    def __init__(self, loss: Any, block: Block, transfer: Coordinatewise, strength: float, seed: int):
        self.loss, self.block, self.transfer, self.strength = loss, block, transfer, strength
        n = block.stop - block.start
        self.u = self.before = np.empty(n)
        clip_pass(loss, block.y, np.zeros(n), np.empty(0), np.empty(0), self.u)
        self.norms = np.empty(n)
        norms_pass(block.rows, self.norms)
        self.last: np.ndarray | None = None
        self.work, self.z = np.empty((2, n), dtype=np.uint64), np.zeros(n)
        self.random = np.random.default_rng(seed).integers(1, 2**63, 1, dtype=np.uint64)

    def combined(self, d: int) -> np.ndarray:
        """sum p u x."""
        out = np.zeros(d)
        combine_pass(self.block.rows, self.block.p, self.u, out)
        return out

    def round(self, told: Round) -> tuple[float, float, float, float, np.ndarray, float]:
        """(sum p loss at transfer(v) and at the midpoint of this v and the last one, sum p loss*(u) - u offset before and after
        the epochs, the change of v, its square)."""
        rows, y, p, offset = self.block[:4]
        self.before = self.before + told.kept * (self.u - self.before)
        losses, between = self._losses(told.v), self._losses(halfway(told.v, self.last))
        self.last = told.v
        conjugates = conjugate_sum(self.loss, y, p, offset, self.before)
        self.u, own, rate = self.before.copy(), np.array(told.v), told.coupling / self.strength
        phase(
            self.loss, self.transfer, rows, y, p, offset, read_only(p * self.norms * rate), rate, 0.0, 0.0, 0.0,
            self.u, own, np.empty(0), REPEAT_RULE[True], told.epochs, self.work, self.random,
        )  # fmt: skip
        change = (own - told.v) / told.coupling
        after = conjugate_sum(self.loss, y, p, offset, self.u)
        return losses, between, conjugates, after, change, float(change @ change)

    def _losses(self, v: np.ndarray) -> float:
        rows, y, p, offset = self.block[:4]
        row_scores(self.transfer, rows, p, offset, 0.0, v, self.z)
        return loss_sums(self.loss, y, p, self.z, 0.0)[0]


def halfway(v: np.ndarray, last: np.ndarray | None) -> np.ndarray:
    """The midpoint of the last v and this one."""
    return v if last is None else 0.5 * (v + last)
