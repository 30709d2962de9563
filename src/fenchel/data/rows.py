"""A row of X is touched through few operations only; everything else is written once, for every storage format."""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import method
from fenchel.compile.kernel import kernel


@method()
def dot(rows, i, w):
    """<x_i, w>."""


@method()
def sized_dot(rows, i, w):
    """(<x_i, w>, sum_j |x_ij w_j|): the product, and what its rounding is proportional to."""


@method()
def apply(transfer, v):
    """One coordinate of the primal point that belongs to the dual coordinate v, for a mirror map (`fenchel.mirror_maps`)."""


@method()
def mapped_dot(rows, i, v, transfer):
    """<x_i, transfer(v)> with the transfer function applied coordinate by coordinate, only where x_i is stored."""


@method()
def axpy(rows, i, a, out):
    """out += a x_i."""


def _add_rows(rows, start, stop, p, u, out):
    for i in range(start, stop):
        a = p[i] * u[i]
        if a != 0.0:
            axpy(rows, i, a, out)


@method(_add_rows)
def add_rows(rows, start, stop, p, u, out):
    """out += sum_i p_i u_i x_i over the rows start..stop (unsigned numbers)."""


@kernel(fastmath=True)  # a bound on roundings, which may itself be rounded in any order
def spread_pass(rows, start, stop, p, u):
    """sum_i |p_i u_i| |x_i| over the rows start..stop."""
    spread = 0.0
    for i in range(start, stop):
        a = abs(p[i] * u[i])
        if a != 0.0:
            spread += a * np.sqrt(sqnorm(rows, i))
    return spread


def _add_sized_rows(rows, start, stop, p, u, out):
    add_rows(rows, start, stop, p, u, out)
    return spread_pass(rows, start, stop, p, u)


@method(_add_sized_rows)
def add_sized_rows(rows, start, stop, p, u, out):
    """`add_rows`; returns sum_i |p_i u_i| |x_i|, which the rounding of `out` is proportional to."""


@method()
def add_outer(rows, i, a, out):
    """out += a x_i x_i', each pair of stored entries once (so off the diagonal in one of the two places)."""


@method()
def sqnorm(rows, i):
    """<x_i, x_i>."""


@method()
def row_span(rows, i):
    """(start, stop): the places k of row i's stored entries, for loops that need both column and value."""


@method()
def row_column(rows, k):
    """The column of the entry at place k."""


@method()
def row_entry(rows, i, k):
    """The value of the entry at place k of row i."""


@method()
def row_vector(rows, i, work):
    """x_i with its zeros: the row itself if it is stored so, else `work`, which is written over."""


@method()
def row_parts(rows, i):
    """(columns, values) of row i's stored entries; columns is None if all are stored."""
