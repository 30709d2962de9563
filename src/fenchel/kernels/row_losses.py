"""Losses of rows whose scores are known, for all passes; rows with p = 0 are ignored."""

from __future__ import annotations

from fenchel.compile.dispatch import helper
from fenchel.losses.protocol import local_model

MAX_CURVATURE = 1e12  # larger curvatures are truncated


@helper
def counted(p, f, u):
    """(f, u), or zeros if p = 0, even if f is not finite. (Two sums with a condition each would not be vectorised.)"""
    return (f, u) if p > 0.0 else (0.0, 0.0)


@helper
def model_rows(loss, y, p, start, stop, z, u, h):
    """Slopes u and curvatures h at the scores z of the rows start .. stop, 0 where p = 0; returns (sum p loss, sum p u)."""
    total, slopes = 0.0, 0.0
    for i in range(start, stop):
        f, slope, curvature = local_model(loss, z[i], y[i])
        counts = p[i] > 0.0
        f = f if counts else 0.0
        u[i] = slope if counts else 0.0
        h[i] = min(curvature, MAX_CURVATURE) if counts else 0.0
        total += p[i] * f
        slopes += p[i] * u[i]
    return total, slopes
