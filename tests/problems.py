"""Small random problems for every loss and regularizer, and their optima by CVXPY (an independent code)."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

import fenchel
from fenchel import losses as L
from fenchel import regularizers as R

LOSSES = {
    "hinge": L.Hinge(),
    "perceptron": L.Hinge(0.0),
    "squared_hinge": L.SquaredHinge(),
    "squared_perceptron": L.SquaredHinge(0.0),
    "power_hinge_1.5": L.PowerHinge(1.5),
    "power_hinge_3": L.PowerHinge(3.0),
    "smoothed_hinge": L.SmoothedHinge(0.5),
    "exponential": L.Exponential(),
    "logistic": L.Logistic(),
    "novelty": L.Novelty(),
    "squared": L.Squared(),
    "absolute": L.Absolute(),
    "quantile": L.Quantile(0.9),
    "epsilon_1": L.EpsilonInsensitive(0.1),
    "epsilon_2": L.EpsilonInsensitive(0.1, 2.0),
    "epsilon_1.5": L.EpsilonInsensitive(0.1, 1.5),
    "huber": L.Huber(0.5),
    "poisson": L.Poisson(),
    "moreau_hinge": L.Moreau(L.Hinge(), 0.5),
    "moreau_absolute": L.Moreau(L.Absolute(), 0.1),
}
LOSSES |= {name: cls() for name, cls in L.LOSSES.items() if cls not in map(type, LOSSES.values())}
K = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]])
REGULARIZERS = {
    "l2": R.L2(0.05),
    "quadratic": R.Quadratic(0.05, K),
    "diagonal": R.Quadratic(0.05, np.array([1.0, 4.0, 0.5])),
    "l1": R.L1(0.05),
    "elastic_net": R.ElasticNet(0.05, 0.5),
    "entropy": R.Entropy(0.05, total=2.0),
    "unnormalised_entropy": R.UnnormalisedEntropy(0.05),
    "balanced_entropy": R.BalancedEntropy(0.05),
    "balanced_total": R.BalancedEntropy(0.05, total=2.0),
    "q_norm": R.QNorm(0.05, 1.5),
    "q_norm_power": R.QNorm(0.05, 3.0, power=1.5),
}
# These are compared with CVXPY in test_penalties.py, where each has parameters that matter.
PENALTIES = {
    R.Bounded, R.GroupLasso, R.L1Ball, R.L2Ball, R.LinearlyConstrained, R.MultiTask, R.NoPenalty, R.NuclearNorm,
    R.Shifted, R.Simplex, R.Slope, R.SparseGroupLasso, R.TotalVariation,
}  # fmt: skip
KNOWN = PENALTIES | set(map(type, REGULARIZERS.values()))
REGULARIZERS |= {name: cls(0.05) for name, cls in R.REGULARIZERS.items() if cls not in KNOWN and cls.convex}
MARGIN = (L.Hinge, L.SquaredHinge, L.PowerHinge, L.SmoothedHinge, L.Exponential, L.Logistic)


def data(loss, n=24, d=3, seed=0):
    """(X, y) that suit a loss."""
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, d)), rng.standard_normal(d)
    inner = loss.loss if isinstance(loss, L.Moreau) else loss
    if isinstance(inner, MARGIN):
        return X, np.where(X @ w + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)
    if isinstance(inner, L.Poisson):
        return X, rng.poisson(np.exp(0.4 * X @ w)).astype(float)
    return X, X @ w + 0.3 * rng.standard_normal(n) + 0.5


def problem(loss, regularizer, intercept=False, weighted=False, offset=False, seed=0, storage=None, **size):
    X, y = data(loss, seed=seed, **size)
    rng = np.random.default_rng(seed + 1)
    return fenchel.Problem(
        X if storage is None else storage(X),
        y,
        loss=loss,
        regularizer=regularizer,
        fit_intercept=intercept,
        sample_weight=rng.uniform(0.1, 2.0, X.shape[0]) if weighted else None,
        offset=0.2 * rng.standard_normal(X.shape[0]) if offset else None,
    )


def cvxpy_loss(loss, z, y):
    """(expression, constraints) of sum-ready elementwise losses."""
    name = type(loss).__name__
    if name == "Moreau":
        shift = cp.Variable(y.size)
        return cvxpy_loss(loss.loss, z + shift, y) + cp.square(shift) / (2 * loss.gamma)
    if name == "SmoothedHinge":
        return cvxpy_loss(L.Moreau(L.Hinge(), loss.gamma), z, y)
    m, r = cp.multiply(y, z), z - y
    return {
        "Hinge": lambda: cp.pos(loss.margin - m),
        "SquaredHinge": lambda: cp.square(cp.pos(loss.margin - m)) / 2,
        "PowerHinge": lambda: cp.power(cp.pos(1 - m), loss.p) / loss.p,
        "Exponential": lambda: cp.exp(-m),
        "Logistic": lambda: cp.logistic(-m),
        "Novelty": lambda: cp.pos(1 - z),
        "Squared": lambda: cp.square(r) / 2,
        "Absolute": lambda: cp.abs(r),
        "Quantile": lambda: cp.maximum(-loss.tau * r, (1 - loss.tau) * r),
        "EpsilonInsensitive": lambda: cp.power(cp.pos(cp.abs(r) - loss.epsilon), loss.p) / loss.p,
        "Huber": lambda: cp.huber(r, loss.delta) / 2,
        "Poisson": lambda: cp.exp(z) - cp.multiply(y, z) + np.where(y > 0, y * np.log(np.maximum(y, 1e-9)) - y, 0.0),
    }[name]()


def cvxpy_regularizer(reg, w):
    """(expression, constraints), from the definition of R."""
    name, a = type(reg).__name__, reg.alpha
    match name:
        case "L1" | "L2" | "ElasticNet":
            r = {"L1": 1.0, "L2": 0.0}.get(name, getattr(reg, "l1_ratio", None))
            c = np.ones(w.size) if reg.weights is None else reg.weights
            return a * (r * (c @ cp.abs(w)) + (1 - r) / 2 * (c @ cp.square(w))), []
        case "Quadratic":
            matrix = np.diag(reg.K) if np.ndim(reg.K) == 1 else np.asarray(reg.K)
            return a / 2 * cp.quad_form(w, cp.psd_wrap(matrix)), []
        case "Entropy":
            prior = np.full(w.size, reg.total / w.size)
            return a * cp.sum(cp.kl_div(w, prior)), [cp.sum(w) == reg.total]
        case "UnnormalisedEntropy":
            return a * cp.sum(cp.kl_div(w, np.full(w.size, 1 / w.size))), []
        case "BalancedEntropy":
            up, down = cp.Variable(w.size), cp.Variable(w.size)
            prior = np.full(w.size, (reg.total or 1.0) / (2 * w.size))
            sums = [] if reg.total is None else [cp.sum(up + down) == reg.total]
            return a * cp.sum(cp.kl_div(up, prior) + cp.kl_div(down, prior)), [up - down == w, *sums]
        case "QNorm":
            return a / reg.power * cp.power(cp.pnorm(w, reg.q), reg.power), []
        case "Bounded":
            expression, constraints = cvxpy_regularizer(reg.regularizer, w)
            for bound, sign in ((reg.lower, 1.0), (reg.upper, -1.0)):
                bound = np.broadcast_to(np.inf if bound is None else bound, w.size)
                finite = np.flatnonzero(np.isfinite(bound))
                if finite.size:
                    constraints = [*constraints, sign * (w[finite] - bound[finite]) >= 0]
            return expression, constraints
        case "LinearlyConstrained":
            A = reg.A.toarray() if sp.issparse(reg.A) else reg.A
            expression, constraints = cvxpy_regularizer(reg.regularizer, w)
            for bound, sign in ((reg.lower, 1.0), (reg.upper, -1.0)):
                bound = np.broadcast_to(np.inf if bound is None else bound, reg.A.shape[0])
                finite = np.flatnonzero(np.isfinite(bound))
                if finite.size:
                    constraints = [*constraints, sign * (A[finite] @ w - bound[finite]) >= 0]
            return expression, constraints
        case "Shifted":
            return cvxpy_regularizer(reg.regularizer, w - reg.center)
    return cvxpy_constraint_or_norm(reg, w)


def cvxpy_constraint_or_norm(reg, w):
    """(expression, constraints) of balls, the simplex and norms of groups, sorted and fused coefficients."""
    name, a = type(reg).__name__, reg.alpha
    match name:
        case "NoPenalty":
            return cp.Constant(0.0), []
        case "L1Ball":
            return cp.Constant(0.0), [cp.norm1(w) <= reg.radius]
        case "L2Ball":
            return cp.Constant(0.0), [cp.norm2(w) <= reg.radius]
        case "Simplex":
            return cp.Constant(0.0), [w >= 0, cp.sum(w) == reg.total]
        case "GroupLasso" | "SparseGroupLasso":
            c = np.sqrt(np.bincount(reg.groups)) if reg.weights is None else reg.weights
            norms = sum(c[g] * cp.norm2(w[np.flatnonzero(reg.groups == g)]) for g in range(c.size))
            r = getattr(reg, "l1_ratio", 0.0)
            return a * (r * cp.norm1(w) + (1 - r) * norms), []
        case "MultiTask":
            W = cp.reshape(w, (w.size // reg.outputs, reg.outputs), order="C")
            c = np.ones(W.shape[0]) if reg.weights is None else reg.weights
            return a * (c @ cp.norm(W, 2, axis=1)), []
        case "Slope":
            steps = -np.diff(np.append(reg.weights, 0.0))
            largest = [cp.sum_largest(cp.abs(w), k + 1) for k in np.flatnonzero(steps[:-1])]
            return a * (
                sum(s * x for s, x in zip(steps[:-1][steps[:-1] > 0], largest, strict=True)) + steps[-1] * cp.norm1(w)
            ), []
        case "TotalVariation":
            return a * (cp.norm1(w[1:] - w[:-1]) + reg.l1 * cp.norm1(w)) if w.size > 1 else a * reg.l1 * cp.norm1(w), []
        case "NuclearNorm":
            return a * cp.normNuc(cp.reshape(w, (w.size // reg.outputs, reg.outputs), order="C")), []
    raise AssertionError(reg)


def optimum(p) -> float:
    """P* by CVXPY and Clarabel."""
    w, b = cp.Variable(p.d), cp.Variable()
    z = p.X @ w + p.offset + (b if p.fit_intercept else 0.0)
    regular, constraints = cvxpy_regularizer(p.regularizer, w)
    objective = p.weights @ cvxpy_loss(p.loss, z, p.y) + regular
    model = cp.Problem(cp.Minimize(objective), constraints)
    model.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(model.value)
