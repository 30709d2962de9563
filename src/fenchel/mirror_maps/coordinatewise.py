"""Transfer functions w = grad h(v) from dual to primal coordinates, as dual solvers need them: row by row.

h is the conjugate of the regularizer, with its strength folded into v. A transfer function is a NamedTuple with the methods

    row_score(rows, i, v, bound)  (score <x_i, w>, curvature of h along x_i at v or an upper bound of it)
    row_magnitude(rows, i, v)     the sum of the absolute values of the terms of the score, which bounds its rounding error
    row_score_at(rows, i, a, v)   the score at v + a x_i
    row_update(rows, i, a, v)     v += a x_i, together with what is cached about v
    renew(v)                      recompute what is cached about v
    add_weights(v, a, out)        out += a w
    steepening(i)                 s: along x_i the curvature changes by at most the factor e^(s |a|) within a

The defaults suit a transfer function that acts on each coordinate separately, by `apply`, and caches nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from fenchel.compile.dispatch import method
from fenchel.data.rows import apply, axpy, dot, mapped_dot, row_column, row_entry, row_span


def _score(transfer, rows, i, v, bound):
    return mapped_dot(rows, i, v, transfer), bound


def _magnitude(transfer, rows, i, v):
    total = 0.0
    start, stop = row_span(rows, i)
    for k in range(start, stop):
        total += abs(row_entry(rows, i, k) * apply(transfer, v[row_column(rows, k)]))
    return total


def _score_at(transfer, rows, i, a, v):
    total = 0.0
    start, stop = row_span(rows, i)
    for k in range(start, stop):
        x = row_entry(rows, i, k)
        total += x * apply(transfer, v[row_column(rows, k)] + a * x)
    return total


def _update(transfer, rows, i, a, v):
    axpy(rows, i, a, v)


def _renew(transfer, v):
    return None


def _add_weights(transfer, v, a, out):
    for j in range(v.size):
        out[j] += a * apply(transfer, v[j])


def _steepening(transfer, i):
    return 0.0


@method(_score)
def row_score(transfer, rows, i, v, bound):
    """(score of row i, curvature along it)."""


@method(_magnitude)
def row_magnitude(transfer, rows, i, v):
    """The sum of the absolute values of the terms of row i's score."""


@method(_score_at)
def row_score_at(transfer, rows, i, a, v):
    """The score of row i at v + a x_i."""


@method(_update)
def row_update(transfer, rows, i, a, v):
    """v += a x_i."""


@method(_renew)
def renew(transfer, v):
    """Recompute what is cached about v."""


@method(_add_weights)
def add_weights(transfer, v, a, out):
    """out += a w."""


@method(_steepening)
def steepening(transfer, i):
    """s: the curvature along row i changes by at most e^(s |a|) between v and v + a x_i; 0 where a bound is global."""


class Identity(NamedTuple):
    """w = v (the strength of the regularizer is folded into v): L2."""

    def apply(self, v):
        return v

    def row_score(self, rows, i, v, bound):
        return dot(rows, i, v), bound


class Soft(NamedTuple):
    """w = sign(v) max(0, |v| - threshold): L1 + L2."""

    threshold: float

    def apply(self, v):
        return math.copysign(max(abs(v) - self.threshold, 0.0), v)


Coordinatewise: TypeAlias = Identity | Soft


def apply_to(transfer: Coordinatewise, v: np.ndarray) -> np.ndarray:
    """w = transfer(v) for a transfer function that acts on each coordinate separately."""
    if isinstance(transfer, Soft):
        return np.sign(v) * np.maximum(np.abs(v) - transfer.threshold, 0.0)
    return v.copy()
