"""Pairs of a relevant document and another one, for mean average precision and mean reciprocal rank."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.measures.level_pairs import Levels, Pair
from fenchel.measures.pairs import PairMeasure
from fenchel.measures.protocol import Vector


class RelevantPairs(PairMeasure):
    """p_ij equal for all pairs of a relevant document i (y_i > 0) and another one j;   `PairMeasure` defines the loss

    There are only two kinds of documents; the measure determines the weights of queries, by the largest loss in each.
    """

    tex = r"\frac{c}{M} \sum_{y_i > 0 \ge y_j} \phi(z_i - z_j)"
    tex_where = "M the number of such pairs, c what the measure can lose in a query; the mean over queries"
    needs_groups: ClassVar[bool] = True

    def relevances(self, y: Vector) -> Vector:
        """1 for relevant documents."""
        return (y > 0.0).astype(np.float64)

    def pair_weights(self, levels: Levels, pair: Pair) -> Vector:
        """1."""
        return np.ones(pair.high.size)

    def worst(self, levels: Levels) -> Vector:
        """The loss of the measure when all relevant documents are ranked last."""
        relevant = levels.add(levels.target * levels.rows).astype(np.int64)
        return self._worst(relevant, levels.sizes - relevant)

    @abstractmethod
    def _worst(self, relevant: NDArray[np.int64], others: NDArray[np.int64]) -> Vector:
        """The same as a function of the numbers of relevant and of other documents."""


@dataclass(frozen=True)
class MAPPairs(RelevantPairs):
    """sum over pairs y_i > 0 >= y_j of φ(z_i - z_j), times 1/M (1 - the least average precision);   M the number of pairs

    The mean over queries of this, with φ as in `PairMeasure`. The least average precision, all R relevant documents behind
    the N others, is the mean of r/(N + r) over r = 1 ... R.

    >>> value, slope = MAPPairs().evaluate([0.5, 1.0, 0.0], [1, 0, 0], groups=[7, 7, 7])
    >>> round(value, 4), slope.round(4)
    (0.4167, array([-0.6667,  0.5   ,  0.1667]))
    """

    loss: str = "squared_hinge"

    def _worst(self, relevant: NDArray[np.int64], others: NDArray[np.int64]) -> Vector:
        harmonic: Vector = np.append(0.0, np.cumsum(1.0 / np.arange(1.0, (relevant + others).max() + 1.0)))
        # r/(N + r) = 1 - N/(N + r), so the loss is the mean of N/(N + r).
        lost: Vector = (
            others.astype(np.float64) * (harmonic[relevant + others] - harmonic[others]) / np.maximum(relevant, 1)
        )
        return lost


@dataclass(frozen=True)
class MRRPairs(RelevantPairs):
    """sum over pairs y_i > 0 >= y_j of φ(z_i - z_j), times 1/M (1 - 1/(N + 1));   M the number of pairs

    The mean over queries of this, with φ as in `PairMeasure`; 1/(N + 1) is the reciprocal rank of the first relevant document
    behind all N others.

    >>> value, slope = MRRPairs().evaluate([0.5, 1.0, 0.0], [1, 0, 0], groups=[7, 7, 7])
    >>> round(value, 4), slope.round(4)
    (0.4167, array([-0.6667,  0.5   ,  0.1667]))
    """

    loss: str = "squared_hinge"

    def _worst(self, relevant: NDArray[np.int64], others: NDArray[np.int64]) -> Vector:
        count = others.astype(np.float64)
        return count / (count + 1.0)
