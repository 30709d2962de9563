"""Distributions over a few labels: operations on the simplex."""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.projections.chain_newton import simplex_threshold


@kernel
def project_simplex(theta):
    """theta = the nearest distribution."""
    tau = simplex_threshold(theta, 1.0)
    for k in range(theta.size):
        theta[k] = max(theta[k] - tau, 0.0)
    recover_simplex(theta)


@kernel
def gibbs_simplex(theta):
    """theta = exp(theta), scaled to sum 1."""
    top = theta[0]
    for k in range(theta.size):
        top = max(top, theta[k])
    for k in range(theta.size):
        theta[k] = np.exp(theta[k] - top)
    recover_simplex(theta)


@kernel
def recover_simplex(mu):
    """mu = its positive part, scaled to sum 1."""
    total = 0.0
    for k in range(mu.size):
        mu[k] = mu[k] if mu[k] > 0.0 else 0.0
        total += mu[k]
    for k in range(mu.size):
        mu[k] = mu[k] / total if total > 0.0 else 1.0 / mu.size


def _project(self, i, theta):
    project_simplex(theta)


def _gibbs(self, i, theta):
    gibbs_simplex(theta)


def _recover(self, i, mu):
    recover_simplex(mu)


ON_SIMPLEX = _project, _gibbs, _recover  # the methods of parts whose mu is one distribution
