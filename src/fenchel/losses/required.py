"""The two required methods of a loss, as functions that kernels call (the others are in protocol.py)."""

from __future__ import annotations

from fenchel.compile.dispatch import method


@method()
def value(loss, z, y):
    """loss(z, y)."""


@method()
def slope(loss, z, y):
    """An element of the subdifferential of the loss at z."""
