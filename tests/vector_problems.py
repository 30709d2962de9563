"""Small problems with several scores per row, and their optimum by CVXPY."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import fenchel
from fenchel import multiclass as M
from problems import cvxpy_regularizer

COST = np.array([[0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 1.0, 2.0], [2.0, 1.0, 0.0, 1.0], [3.0, 0.5, 1.0, 0.0]])
TREE = M.Tree(["a/b", "a/c", "d/e", "d/f"])


def hinges(cost, tree):
    """Every loss whose dual variables are mostly zero."""
    return {
        "max_hinge": M.MaxHinge(),
        "cost_margin": M.CostHinge(cost),
        "cost_slack": M.CostHinge(cost, beta=1.0),
        "top_k": M.TopK(2),
        "weighted_top_k": M.WeightedTopK([0.6, 0.3, 0.1]),
        "usunier": M.Usunier(3),
        "weighted_usunier": M.WeightedUsunier([0.6, 0.4]),
        "tree_hinge": M.HierarchicalHinge(tree),
        "moreau": M.MoreauVector(M.MaxHinge(), 0.2),
    }


LOSSES = {
    **hinges(COST, TREE),
    "softmax": M.Softmax(),
    "squares": M.MultivariateSquared(),
    "metric": M.MultivariateSquared([[2.0, 0.5], [0.5, 1.0]]),
    "tree_softmax": M.HierarchicalSoftmax(TREE),
}


def problem(name, regularizer, free=False, weighted=False, storage=np.asarray, n=24, d=3):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((n, d))
    y = (X @ rng.standard_normal((d, 4)) + 0.7 * rng.standard_normal((n, 4))).argmax(axis=1)
    y[:4] = range(4)
    if getattr(LOSSES[name], "several_targets", False):
        y = X[:, :2] @ np.array([[1.0, -0.5], [0.3, 0.8]]) + 0.3 * rng.standard_normal((n, 2))
    weights = rng.integers(0, 4, n) + (np.arange(n) < 4) if weighted else None
    return fenchel.Problem(
        storage(X), y, loss=LOSSES[name], regularizer=regularizer, fit_intercept=free, sample_weight=weights
    )


def losses_in_cvxpy(name, loss, Z, y):
    """One expression per row."""
    m, rows = Z.shape[1], []
    for i in range(Z.shape[0]):
        z = Z[i]
        if name in ("squares", "metric"):
            metric = np.eye(2) if name == "squares" else loss.M
            rows.append(0.5 * cp.quad_form(z - y[i], metric))
            continue
        k = int(y[i])
        if name.startswith("tree"):
            scores = TREE.incidence() @ z
            if name == "tree_softmax":
                rows.append(cp.log_sum_exp(scores) - scores[k])
            else:
                rows.append(cp.max(scores - scores[k] + TREE.cost_matrix("tree")[k]))
            continue
        if name == "softmax":
            rows.append(cp.log_sum_exp(z) - z[k])
            continue
        unit = np.ones(m) - np.eye(m)[k]
        if name == "cost_slack":
            rows.append(cp.max(cp.multiply(COST[k], 1.0 + z - z[k])))
            continue
        c = z - z[k] + (COST[k] if name == "cost_margin" else unit)
        if name in ("max_hinge", "cost_margin"):
            rows.append(cp.max(c))
        elif name == "moreau":
            x = cp.Variable(m)
            rows.append(cp.max(x - x[k] + unit) + cp.sum_squares(x - z) / (2 * loss.gamma))
        else:
            rho = {"top_k": [0.5, 0.5], "usunier": [1 / 3] * 3}.get(name)
            rho = np.append(np.array(loss.rho if rho is None else rho), 0.0)
            falls = rho[:-1] - rho[1:]
            inner = cp.pos(c) if "usunier" in name else c
            total = sum(f * cp.sum_largest(inner, j + 1) for j, f in enumerate(falls) if f > 0)
            rows.append(total if "usunier" in name else cp.pos(total))
    return rows


def optimum(name, p):
    """P* by CVXPY and Clarabel."""
    W, b = cp.Variable((p.outputs, p.features)), cp.Variable((1, p.outputs))
    X = p.X.toarray() if hasattr(p.X, "toarray") else p.X
    Z = X @ W.T + (np.ones((p.n, 1)) @ b if p.free else 0.0)
    regular, constraints = cvxpy_regularizer(p.penalty, cp.vec(W, order="F"))
    objective = p.weights @ cp.hstack(losses_in_cvxpy(name, p.loss, Z, p.y)) + regular
    model = cp.Problem(cp.Minimize(objective), constraints)
    model.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return float(model.value)
