"""Accelerated proximal gradient with backtracking and restart.

Problem      min over w, b of F(w, b) + R(w), F differentiable, R with a prox (intercepts are variables R ignores,
             and steps are made as if features were centred: `centred_variables.py`)
Update       x+ = prox(y - grad F(y) / L), y+ = x+ + beta (x+ - x); L grows until the quadratic bound holds at x+ and is
             reduced again in every iteration; momentum restarts when it points uphill
Certificate  the slopes at x+; for L1 and other indicators scaled into the domain of R*
Reference    Beck and Teboulle (2009); O'Donoghue and Candes (2015) for the restart
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.centred_variables import pack, packed_gradient, scales, unpack
from fenchel.solvers.dual_estimates import dual_estimate
from fenchel.solvers.proximal_gradient.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle

# The gradient in w, and the derivative in b.
Slopes = tuple[np.ndarray, float]


@dataclass(frozen=True)
class ProximalGradient(Solver):
    """Accelerated proximal gradient for a differentiable loss and any regularizer that has a prox.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="logistic", regularizer="l1", alpha=0.1)
    >>> fenchel.solve(problem, solver=ProximalGradient()).status.name
    'CERTIFIED'
    """

    cost = "about one pass over the data"
    convergence = "suboptimality O(1/iterations^2); geometric for strongly convex objectives"
    kinds = ("scalar", "vector", "own vector", "free vector")
    needs = Needs(loss=("differentiable",), regularizer=("prox",))
    waits = 500  # with momentum, the gap can stay constant for hundreds of iterations before it decreases again
    remote = kinds

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        regularizer, d, metric = oracle.problem.regularizer, oracle.problem.d, scales(oracle)
        of_w = metric[:-1] if isinstance(metric, np.ndarray) else metric  # Steps are 1 / (bound metric).
        x = y = pack(oracle, start.coef, start.intercept)
        if start.memory is None:
            at_x = smooth_part(oracle, y)
            value, gradient = at_x[:2]
            bound, momentum = first_bound(oracle, x, gradient, metric), 1.0
        else:
            x, y, at_x, (value, gradient), bound, momentum = start.memory["state"]
        while True:
            state = (x, y, at_x, (value, gradient), bound, momentum)
            yield claim(oracle, x, at_x[0], at_x[2])._replace(memory=partial(dict, state=state))
            while True:
                step = y - gradient / (bound * metric)
                new = np.append(regularizer.prox(step[:d], 1.0 / (bound * of_w)), step[d])
                move = new - y
                at_new = smooth_part(oracle, new)
                allowed = value + float(gradient @ move) + 0.5 * bound * float(move @ (metric * move))
                if at_new[0] <= allowed + SETTINGS.value_rounding * abs(value) or np.array_equal(new, y):
                    break
                bound *= SETTINGS.bound_growth
                if not np.isfinite(bound):
                    return
            if float((metric * (y - new)) @ (new - x)) > 0.0:  # The momentum points uphill: restart it.
                momentum = 1.0
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
            beta = (momentum - 1.0) / following
            y, x, at_x, momentum = new + beta * (new - x), new, at_new, following
            value, gradient = (at_x if beta == 0.0 else smooth_part(oracle, y))[:2]
            if not np.isfinite(value):  # The extrapolation overflowed: continue from x.
                y, (value, gradient), momentum = x, at_x[:2], 1.0
            bound *= SETTINGS.bound_shrink


def smooth_part(oracle: Oracle, x: np.ndarray) -> tuple[float, np.ndarray, Slopes]:
    """Risk and gradient at the centred variables x, and the gradient in (w, b)."""
    w, b = unpack(oracle, x)
    value, g, slopes = oracle.risk(w, b)
    return value, packed_gradient(oracle, g, slopes), (g, slopes)


def first_bound(oracle: Oracle, x: np.ndarray, gradient: np.ndarray, metric: np.ndarray | float) -> float:
    """Curvature along the gradient, in the metric, by a small step."""
    root = np.sqrt(metric)
    size = float(np.linalg.norm(gradient / root))
    if size == 0.0:
        return 1.0
    scale = SETTINGS.probe_length_ratio * (float(np.linalg.norm(root * x)) or 1.0 / size)
    if not 0.0 < scale < np.inf:
        return 1.0
    other = smooth_part(oracle, x + scale * gradient / (metric * size))[1]
    found = float(np.linalg.norm((other - gradient) / root)) / scale
    return found if np.isfinite(found) and found > 0.0 else 1.0


def claim(oracle: Oracle, x: np.ndarray, value: float, slopes: Slopes) -> Iterate:
    """The iterate with an estimate of its dual value, in O(d)."""
    w, b = unpack(oracle, x)
    primal = value + oracle.problem.regularizer.value(w)
    return Iterate(w, b, primal, dual_estimate(oracle, w, b, value, *slopes))
