"""The problems of `benchmarks.grid` in CVXPY, and their objective in plain Python."""

from __future__ import annotations

import time
from typing import Any

import cvxpy as cp
import numpy as np

from problems import cvxpy_loss, cvxpy_regularizer
from vector_problems import COST, TREE

TINY_STEP = 1e-300  # of a prox that moves a point into the domain of R and no further


def penalty_of(p: Any) -> Any:
    """R without free intercepts."""
    return p.penalty if p.is_vector else p.regularizer


def size_of(p: Any) -> int:
    """The number of coefficients without free intercepts."""
    return p.features * p.outputs if p.is_vector else p.d


def at_start(p: Any) -> float:
    """P at the coefficients that solvers start from."""
    return objective(p, penalty_of(p).start(size_of(p)), 0.0)


def objective(p: Any, w: np.ndarray, b: Any) -> float:
    """P by the definitions, in plain Python; w is moved into the domain of R if rounding errors put it outside."""
    penalty = penalty_of(p)
    value = float(penalty.value(w))
    if not np.isfinite(value) and hasattr(penalty, "prox"):
        w = np.asarray(penalty.prox(w, TINY_STEP))
        value = float(penalty.value(w))
    if p.is_vector:
        Z = p.X @ w.reshape(p.features, p.outputs) + b
        losses = [float(p.loss.value(z, y)) for z, y in zip(Z, p.y, strict=True)]
    else:
        z = p.X @ w + p.offset + b
        losses = [p.loss.value(float(s), float(t)) for s, t in zip(z, p.y, strict=True)]
    return float(p.weights @ np.array(losses)) + value


def by_cvxpy(p: Any, limit: float) -> tuple[float, float]:
    """(the objective at CVXPY's point, CPU seconds); infinite where it fails."""
    began = time.process_time()
    penalty = penalty_of(p)
    w = cp.Variable(size_of(p))
    if p.is_vector:
        b = cp.Variable((1, p.outputs))
        Z = p.X @ cp.reshape(w, (p.features, p.outputs), order="C") + (np.ones((p.n, 1)) @ b if p.free else 0.0)
        risk = p.weights @ vector_losses(p.loss, Z, p.y)
    else:
        b = cp.Variable()
        risk = p.weights @ cvxpy_loss(p.loss, p.X @ w + p.offset + (b if p.fit_intercept else 0.0), p.y)
    regular, constraints = cvxpy_regularizer(penalty, w)
    model = cp.Problem(cp.Minimize(risk + regular), constraints)
    try:
        model.solve(solver="CLARABEL", time_limit=limit)
    except (cp.SolverError, ValueError):
        return np.inf, time.process_time() - began
    seconds = time.process_time() - began
    if w.value is None:
        return np.inf, seconds
    free = b.value is not None and (p.is_vector or p.fit_intercept)
    return objective(
        p, w.value, np.ravel(b.value) if free and p.is_vector else float(b.value) if free else 0.0
    ), seconds


def vector_losses(loss: Any, Z: Any, y: np.ndarray) -> Any:
    """The losses of several scores, as one expression for all rows."""
    name, (n, m) = type(loss).__name__, Z.shape
    if name == "MultivariateSquared":
        metric = loss.M if np.size(loss.M) > 1 else np.eye(m)
        return cp.sum(cp.square((Z - y) @ np.linalg.cholesky(metric)), axis=1) / 2
    k = np.asarray(y, dtype=np.int64)
    if name.startswith("Hierarchical"):
        Z = Z @ TREE.incidence().T
        m = Z.shape[1]
    unit = 1.0 - np.eye(m)[k]
    own = cp.sum(cp.multiply(Z, 1.0 - unit), axis=1)
    rest = Z - cp.reshape(own, (n, 1), order="C") @ np.ones((1, m))
    if name in ("Softmax", "HierarchicalSoftmax"):
        return cp.log_sum_exp(Z, axis=1) - own
    if name == "HierarchicalHinge":
        return cp.max(rest + TREE.cost_matrix("tree")[k], axis=1)
    if name == "CostHinge" and loss.beta > 0.0:
        return cp.max(cp.multiply(COST[k], 1.0 + rest), axis=1)
    if name == "MoreauVector":
        moved = cp.Variable((n, m))
        return vector_losses(loss.loss, moved, y) + cp.sum(cp.square(moved - Z), axis=1) / (2 * loss.gamma)
    c = rest + (COST[k] if name == "CostHinge" else unit)
    if name in ("CostHinge", "MaxHinge"):
        return cp.max(c, axis=1)
    return sorted_sums(name, loss, c)


def sorted_sums(name: str, loss: Any, c: Any) -> Any:
    """Weighted sums of the largest entries of every row; the sum of the k largest is min over t of k t + sum_j (c_j - t)_+."""
    n, m = c.shape
    even = {"TopK": [0.5, 0.5], "Usunier": [1 / 3] * 3}
    rho = np.append(np.asarray(even.get(name) or loss.rho, dtype=float), 0.0)
    inner = cp.pos(c) if "Usunier" in name else c
    total: Any = 0.0
    for j, fall in enumerate(rho[:-1] - rho[1:]):
        if fall > 0.0:
            t = cp.Variable((n, 1))
            total += fall * ((j + 1) * t[:, 0] + cp.sum(cp.pos(inner - t @ np.ones((1, m))), axis=1))
    return total if "Usunier" in name else cp.pos(total)
