"""All pairs of different targets, with equal weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenchel.measures.level_pairs import Levels, Pair
from fenchel.measures.pairs import PairMeasure
from fenchel.measures.protocol import Vector


@dataclass(frozen=True)
class AreaPairs(PairMeasure):
    """1/M sum over pairs y_i > y_j of φ(z_i - z_j),   M the number of such pairs

    With two different targets this is a loss for the ROC area (`ROCArea` with margin 1, if φ is the hinge), with more for the
    concordance of scores and targets. With groups, the mean over queries. `PairMeasure` lists the choices for φ.

    >>> AreaPairs().evaluate([2.0, 0.5, 0.0], [1, -1, 1])
    (0.5625, array([ 0.  ,  0.75, -0.75]))
    """

    tex = r"\frac{1}{M} \sum_{y_i > y_j} \phi(z_i - z_j)"
    tex_where = "M the number of such pairs, φ the loss of a difference"
    loss: str = "squared_hinge"

    task: ClassVar[str] = "binary"
    signs_only: ClassVar[bool] = True

    def relevances(self, y: Vector) -> Vector:
        """The targets."""
        return y

    def pair_weights(self, levels: Levels, pair: Pair) -> Vector:
        """1."""
        return np.ones(pair.high.size)

    def worst(self, levels: Levels) -> Vector:
        """1: every pair is in the wrong order."""
        return np.ones(levels.number.size)
