"""Losses of rows whose scores are known, as all passes need them: nothing counts where p is 0."""

from __future__ import annotations

from fenchel.compile.dispatch import helper
from fenchel.losses.protocol import local_model

STEEPEST = 1e12  # curvature beyond which a row counts as nonsmooth


@helper
def counted(p, f, u):
    """(f, u), or zeros where p is 0, whatever they are. (Two sums with a condition each would not be vectorised.)"""
    return (f, u) if p > 0.0 else (0.0, 0.0)


@helper
def model_rows(loss, y, p, start, stop, z, u, h):
    """Slopes u and curvatures h at the scores z of the rows start .. stop, 0 where p is; returns (sum p loss, sum p u)."""
    total, slopes = 0.0, 0.0
    for i in range(start, stop):
        f, slope, curvature = local_model(loss, z[i], y[i])
        counts = p[i] > 0.0
        f = f if counts else 0.0
        u[i] = slope if counts else 0.0
        h[i] = min(curvature, STEEPEST) if counts else 0.0
        total += p[i] * f
        slopes += p[i] * u[i]
    return total, slopes
