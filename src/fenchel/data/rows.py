"""The operations through which kernels access a row of X; all other code is written once, for every storage format."""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import method
from fenchel.compile.kernel import kernel


@method()
def dot(rows, i, w):
    """<x_i, w>."""


@method()
def sized_dot(rows, i, w):
    """(<x_i, w>, sum_j |x_ij w_j|): the product, and the magnitude to which its rounding error is proportional."""


@method()
def apply(transfer, v):
    """The primal coordinate that a mirror map (`fenchel.mirror_maps`) assigns to the dual coordinate v."""


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


@kernel(fastmath=True)  # it bounds rounding errors, so its own additions may be reordered
def norm_sum_pass(rows, start, stop, p, u):
    """sum_i |p_i u_i| |x_i| over the rows start..stop."""
    total = 0.0
    for i in range(start, stop):
        a = abs(p[i] * u[i])
        if a != 0.0:
            total += a * np.sqrt(sqnorm(rows, i))
    return total


def _add_sized_rows(rows, start, stop, p, u, out):
    add_rows(rows, start, stop, p, u, out)
    return norm_sum_pass(rows, start, stop, p, u)


@method(_add_sized_rows)
def add_sized_rows(rows, start, stop, p, u, out):
    """`add_rows`; returns sum_i |p_i u_i| |x_i|, to which the rounding error of `out` is proportional."""


@method()
def add_outer(rows, i, a, out):
    """out += a x_i x_i', each pair of stored entries once, so only one of the two triangles is filled."""


@method()
def sqnorm(rows, i):
    """<x_i, x_i>."""


@method()
def row_span(rows, i):
    """(start, stop): the positions k of row i's stored entries, for loops that need both column and value."""


@method()
def row_column(rows, k):
    """The column of the entry at position k."""


@method()
def row_entry(rows, i, k):
    """The value of the entry at position k of row i."""


@method()
def row_vector(rows, i, work):
    """x_i as a dense vector: the stored row itself if it is dense, else `work`, which is overwritten."""


@method()
def row_parts(rows, i):
    """(columns, values) of row i's stored entries; columns is None for dense rows."""
