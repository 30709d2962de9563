"""P and D from the formulas, in 50 digits: an independent certifier of what Fenchel reports.

Nothing here calls a method of a loss or a regularizer; only their parameters are read.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from mpmath import mp, mpf

mp.dps = 50
INF = mpf("inf")


def _hinge_like(loss, m):
    """Losses of the margin m = y z."""
    name = type(loss).__name__
    if name == "Exponential":
        return mp.exp(-m)
    if name == "Logistic":
        return mp.log1p(mp.exp(-m)) if m > 0 else -m + mp.log1p(mp.exp(m))
    short = max(mpf(0), mpf(getattr(loss, "margin", 1.0)) - m)
    if name == "Hinge":
        return short
    if name == "SquaredHinge":
        return short**2 / 2
    if name == "PowerHinge":
        return short ** mpf(loss.p) / mpf(loss.p)
    gamma = mpf(loss.gamma)  # SmoothedHinge
    return short - gamma / 2 if short > gamma else short**2 / (2 * gamma)


def _residual_like(loss, r):
    """Losses of the residual r = z - y."""
    name = type(loss).__name__
    if name == "Squared":
        return r**2 / 2
    if name == "Absolute":
        return abs(r)
    if name == "Quantile":
        return max(-mpf(loss.tau) * r, (1 - mpf(loss.tau)) * r)
    if name == "EpsilonInsensitive":
        return max(mpf(0), abs(r) - mpf(loss.epsilon)) ** mpf(loss.p) / mpf(loss.p)
    delta = mpf(loss.delta)  # Huber
    return r**2 / 2 if abs(r) <= delta else delta * abs(r) - delta**2 / 2


def _entropy(t):
    return t * mp.log(t) if t > 0 else mpf(0)


MARGIN = ("Hinge", "SquaredHinge", "PowerHinge", "SmoothedHinge", "Exponential", "Logistic")


def value(loss, z, y):
    """loss(z, y); a Moreau envelope of the hinge or the absolute loss is the smoothed hinge or Huber's loss."""
    name = type(loss).__name__
    if name == "Moreau":
        excess = 1 - y * z if type(loss.loss).__name__ == "Hinge" else abs(z - y)
        short, gamma = max(mpf(0), excess), mpf(loss.gamma)
        return short - gamma / 2 if short > gamma else short**2 / (2 * gamma)
    if name in MARGIN:
        return _hinge_like(loss, y * z)
    if name == "Novelty":
        return max(mpf(0), 1 - z)
    if name == "Poisson":
        return mp.exp(z) - y * z + _entropy(y) - y
    return _residual_like(loss, z - y)


def conjugate(loss, u, y):
    """sup over z of u z - loss(z, y), INF outside its domain."""
    name = type(loss).__name__
    if name == "Moreau":
        return conjugate(loss.loss, u, y) + mpf(loss.gamma) / 2 * u**2
    if name in MARGIN:
        t = -y * u
        if t < 0:
            return INF
        margin = mpf(getattr(loss, "margin", 1.0))
        if name in ("Hinge", "SmoothedHinge"):
            return INF if t > 1 else -margin * t + mpf(getattr(loss, "gamma", 0.0)) / 2 * t**2
        if name == "Exponential":
            return _entropy(t) - t
        if name == "Logistic":
            return INF if t > 1 else _entropy(t) + ((1 - t) * mp.log1p(-t) if t < 1 else 0)
        power = mpf(loss.p) if name == "PowerHinge" else mpf(2)
        q = power / (power - 1)
        return t**q / q - margin * t
    if name == "Novelty":
        return u if -1 <= u <= 0 else INF
    if name == "Poisson":
        return INF if u + y < 0 else _entropy(u + y) - (u + y) - (_entropy(y) - y)
    if name == "Squared":
        return u**2 / 2 + u * y
    if name == "Absolute":
        return u * y if abs(u) <= 1 else INF
    if name == "Quantile":  # the ends of the domain are floats, as the slopes are
        return u * y if -loss.tau <= float(u) <= 1.0 - loss.tau else INF
    if name == "Huber":
        return u**2 / 2 + u * y if abs(u) <= mpf(loss.delta) else INF
    base = u * y + mpf(loss.epsilon) * abs(u)  # EpsilonInsensitive
    if loss.p == 1.0:
        return base if abs(u) <= 1 else INF
    q = mpf(loss.p) / (mpf(loss.p) - 1)
    return base + abs(u) ** q / q


def _prior(reg, d):
    if reg.prior is not None:
        return [mpf(float(x)) for x in np.broadcast_to(reg.prior, d)]
    sides = 2 if type(reg).__name__ == "BalancedEntropy" else 1
    return [mpf(getattr(reg, "total", None) or 1.0) / (sides * d)] * d


def _balanced(reg, w):
    """The entropy of the best a - b = w, with a + b = sqrt(w^2 + 4 k^2 p^2), a b = k^2 p^2 and k = 1 or as the total asks."""
    prior, k = _prior(reg, len(w)), mpf(1)
    if reg.total is not None:
        if sum(map(abs, w)) > mpf(reg.total):
            return INF
        low, high = mpf(0), mpf(reg.total) / sum(prior)
        for _ in range(300):
            k = (low + high) / 2
            reached = sum(mp.sqrt(x**2 + 4 * (k * p) ** 2) for x, p in zip(w, prior, strict=True))
            low, high = (k, high) if reached < reg.total else (low, k)
    value = mpf(0)
    for x, p in zip(w, prior, strict=True):
        root = mp.sqrt(x**2 + 4 * (k * p) ** 2)
        for part in ((root + x) / 2, (root - x) / 2):
            value += part * mp.log(part / p) + (0 if reg.total is not None else p - part)
    return mpf(reg.alpha) * value


def _matrix(reg):
    K = reg.K.toarray() if sp.issparse(reg.K) else np.asarray(reg.K)
    return mp.matrix((np.diag(K) if K.ndim == 1 else K).tolist())


def regular(reg, w):
    """R(w)."""
    name, a = type(reg).__name__, mpf(reg.alpha)
    if name == "L2":
        return a / 2 * sum(x**2 for x in w)
    if name == "Quadratic":
        column = mp.matrix(w)
        return a / 2 * (column.T * _matrix(reg) * column)[0]
    if name == "L1":
        return a * sum(map(abs, w))
    if name == "ElasticNet":
        r = mpf(reg.l1_ratio)
        return a * (r * sum(map(abs, w)) + (1 - r) / 2 * sum(x**2 for x in w))
    if name == "QNorm":
        return a / mpf(reg.power) * sum(abs(x) ** mpf(reg.q) for x in w) ** (mpf(reg.power) / mpf(reg.q))
    if name == "BalancedEntropy":
        return _balanced(reg, w)
    if min(w) < 0 or (name == "Entropy" and abs(sum(w) - mpf(reg.total)) > 1e-11 * reg.total):
        return INF
    total = sum(_entropy(x) - x * mp.log(p) for x, p in zip(w, _prior(reg, len(w)), strict=True))
    return a * (total if name == "Entropy" else total - sum(w) + sum(_prior(reg, len(w))))


def regular_conjugate(reg, v):
    """R*(v)."""
    name, a = type(reg).__name__, mpf(reg.alpha)
    if name == "L2":
        return sum(x**2 for x in v) / (2 * a)
    if name == "Quadratic":
        column = mp.matrix(v)
        return (column.T * mp.lu_solve(_matrix(reg), column))[0] / (2 * a)
    if name == "L1":
        return mpf(0) if max(map(abs, v)) <= a else INF
    if name == "ElasticNet":
        r = mpf(reg.l1_ratio)
        return sum(max(mpf(0), abs(x) - a * r) ** 2 for x in v) / (2 * a * (1 - r))
    if name == "QNorm":
        q, s = mpf(reg.q) / (mpf(reg.q) - 1), mpf(reg.power) / (mpf(reg.power) - 1)
        return a / s * (sum(abs(x) ** q for x in v) ** (1 / q) / a) ** s
    prior = _prior(reg, len(v))
    if name == "BalancedEntropy":
        cosh = [mp.cosh(x / a) for x in v]
        if reg.total is None:
            return 2 * a * sum(p * (c - 1) for p, c in zip(prior, cosh, strict=True))
        return a * mpf(reg.total) * mp.log(sum(2 * p / mpf(reg.total) * c for p, c in zip(prior, cosh, strict=True)))
    if name == "Entropy":
        total = mpf(reg.total)
        return a * total * mp.log(sum(p / total * mp.exp(x / a) for p, x in zip(prior, v, strict=True)))
    return a * sum(p * mp.expm1(x / a) for p, x in zip(prior, v, strict=True))


def _rows(problem):
    X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
    return [[mpf(float(x)) for x in row] for row in X]


def _numbers(values):
    return [mpf(float(x)) for x in values]


def _shares(problem, weights):
    s = _numbers(problem.weights if weights is None else weights)
    return [x / sum(s) for x in s]


def primal(problem, coef, intercept=0.0, weights=None):
    """P(w, b). `weights` are the sample weights as given; the problem's own normalised ones if None."""
    w, b, p = _numbers(coef), mpf(intercept), _shares(problem, weights)
    rows, y, offset = _rows(problem), _numbers(problem.y), _numbers(problem.offset)
    scores = [sum(x * c for x, c in zip(row, w, strict=True)) + o + b for row, o in zip(rows, offset, strict=True)]
    return sum(k * value(problem.loss, z, t) for k, z, t in zip(p, scores, y, strict=True) if k) + regular(
        problem.regularizer, w
    )


def dual(problem, point, weights=None):
    """(D(c u), sum p u): c = 1, or for L1 the largest c <= 1 that is exactly feasible (rounding moves it by an ulp)."""
    u, p = _numbers(point), _shares(problem, weights)
    rows, y, offset = _rows(problem), _numbers(problem.y), _numbers(problem.offset)
    v = [-sum(k * a * row[j] for k, a, row in zip(p, u, rows, strict=True)) for j in range(problem.d)]
    top = max(map(abs, v))
    if type(problem.regularizer).__name__ == "L1" and top > problem.regularizer.alpha:
        shrink = mpf(problem.regularizer.alpha) / top
        u, v = [shrink * a for a in u], [shrink * x for x in v]
    terms = [k * (a * o - conjugate(problem.loss, a, t)) for k, a, o, t in zip(p, u, offset, y, strict=True) if k]
    return sum(terms) - regular_conjugate(problem.regularizer, v), sum(k * a for k, a in zip(p, u, strict=True))
