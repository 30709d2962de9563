"""The layout of the emission weights in w: for all pairs of feature and label, or for those seen in training."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.compile.dispatch import method
from fenchel.data.accept import read_only, size
from fenchel.data.dense import Dense


@method()
def column_scores(layout, w, j, x, s):
    """s += x (the weights of feature j for every label)."""


@method()
def column_add(layout, j, x, p, out):
    """(The weights of feature j in out) += x p."""


@method()
def column_place(layout, j, c):
    """The index of the weight of feature j for label c; -1 if there is none."""


class Full(NamedTuple):
    """Every feature has a weight for each of m labels: (features, m), flat."""

    features: int
    m: int

    @property
    def weights(self) -> int:
        return self.features * self.m

    def column_scores(self, w, j, x, s):
        m = np.uint64(self.m)
        at = np.uint64(j) * m
        for c in range(m):
            s[c] += x * w[at + c]

    def column_add(self, j, x, p, out):
        m = np.uint64(self.m)
        at = np.uint64(j) * m
        for c in range(m):
            out[at + c] += x * p[c]

    def column_place(self, j, c):
        return np.int64(j) * self.m + c

    def expand(self, weights: np.ndarray, m: int) -> np.ndarray:
        """(features, m)."""
        return weights.reshape(-1, m)


class Observed(NamedTuple):
    """Feature j has weights for label[start[j]] .. label[start[j+1] - 1] only; their scores for other labels are 0."""

    start: np.ndarray
    label: np.ndarray

    @property
    def weights(self) -> int:
        return self.label.size

    def column_scores(self, w, j, x, s):
        for k in range(self.start[j], self.start[np.uint64(j) + np.uint64(1)]):
            s[self.label[k]] += x * w[k]

    def column_add(self, j, x, p, out):
        for k in range(self.start[j], self.start[np.uint64(j) + np.uint64(1)]):
            out[k] += x * p[self.label[k]]

    def column_place(self, j, c):
        for k in range(self.start[j], self.start[np.uint64(j) + np.uint64(1)]):
            if self.label[k] == c:
                return np.int64(k)
        return np.int64(-1)

    def expand(self, weights: np.ndarray, m: int) -> np.ndarray:
        """(features, m), with 0 where there is no weight."""
        table = np.zeros((self.start.size - 1, m))
        table[np.repeat(np.arange(table.shape[0]), np.diff(self.start).astype(np.int64)), self.label] = weights
        return table


def observed(rows: Any, features: int, y: np.ndarray, m: int) -> Observed:
    """The pairs (feature, label) that occur together at some position."""
    if isinstance(rows, Dense):
        stored = sp.csr_matrix(rows.values)
        columns, indptr, values = stored.indices, stored.indptr, stored.data
    else:
        columns, indptr, values = rows.indices, rows.indptr, rows.values
    codes = columns.astype(np.int64) * m + np.repeat(y, np.diff(indptr).astype(np.int64))
    codes = np.unique(codes[values != 0.0])
    start = np.searchsorted(codes, np.arange(features + 1, dtype=np.int64) * m)
    narrow = np.uint16 if m <= 1 << 16 else np.uint32  # arrays that are read for every feature should stay in the cache
    short = np.uint32 if codes.size < 1 << 32 else np.uint64
    return Observed(read_only(start.astype(short)), read_only((codes % m).astype(narrow)))


def observed_pairs(y: np.ndarray, first: np.ndarray, m: int) -> np.ndarray:
    """Numbers a m + b of the pairs of labels (a, b) that follow each other somewhere."""
    inside = np.ones(y.size, dtype=bool)
    inside[first[:-1]] = False  # the first position of an example follows nothing
    codes = y[:-1].astype(np.int64) * m + y[1:]
    return np.unique(codes[inside[1:]])


def weights_touched(rows: Any, layout: Full | Observed) -> int:
    """The number of weights that are added in the scores of all positions."""
    if isinstance(layout, Full):
        return size(rows) * layout.m
    labels = np.diff(layout.start).astype(np.int64)
    if isinstance(rows, Dense):
        return rows.values.shape[0] * int(labels.sum())
    return int(labels[rows.indices].sum())
