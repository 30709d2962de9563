"""A row of X is touched through five operations only; everything else is written once, for every storage format."""

from __future__ import annotations

from fenchel.typed import method


@method("rows, i, w")
def dot(rows, i, w):
    """<x_i, w>."""


@method("rows, i, w")
def sized_dot(rows, i, w):
    """(<x_i, w>, sum_j |x_ij w_j|): the product, and what its rounding is proportional to."""


@method("rows, i, v, transfer")
def mapped_dot(rows, i, v, transfer):
    """<x_i, transfer(v)> with the transfer function applied coordinate by coordinate, only where x_i is stored."""


@method("rows, i, a, out")
def axpy(rows, i, a, out):
    """out += a x_i."""


@method("rows, i")
def sqnorm(rows, i):
    """<x_i, x_i>."""
