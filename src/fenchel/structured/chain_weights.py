"""The parts of a chain's w, by name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class ChainWeights(NamedTuple):
    """The parts of w. Parts that the model does not have are None."""

    emissions: np.ndarray
    bias: np.ndarray | None
    transitions: np.ndarray
    start: np.ndarray | None
    end: np.ndarray | None
    edges: np.ndarray | None


class Places(NamedTuple):
    """The indices at which the parts of w begin (-1: there is no such part) and the length of w."""

    bias: int
    pairs: int
    start: int
    end: int
    edges: int
    size: int


def places(emissions: int, pairs: int, m: int, edge_features: int, bias: bool, ends: bool) -> Places:
    """The indices at which the parts of w begin."""
    at_pairs = emissions + bias * m
    at_start = at_pairs + pairs
    at_edges = at_start + 2 * m * ends
    size = at_edges + edge_features * m * m
    at = (emissions, at_pairs, at_start, at_start + m)
    return Places(at[0] if bias else -1, at[1], at[2] if ends else -1, at[3] if ends else -1, at_edges, size)


def split(w: np.ndarray, at: Places, m: int) -> ChainWeights:
    """The parts of a w that has all pairs."""
    emissions = w[: at.bias if at.bias >= 0 else at.pairs].reshape(-1, m)
    return ChainWeights(
        emissions,
        w[at.bias : at.pairs] if at.bias >= 0 else None,
        w[at.pairs : at.pairs + m * m].reshape(m, m),
        w[at.start : at.end] if at.start >= 0 else None,
        w[at.end : at.edges] if at.start >= 0 else None,
        w[at.edges :].reshape(-1, m, m) if at.size > at.edges else None,
    )
