"""Rule (11) of Zhang (2002), explicit and implicit, against the formulas of the paper in plain Python."""

import math

import numpy as np
import pytest

import fenchel
from fenchel import losses as L
from fenchel import regularizers as R
from fenchel.oracles import oracle_of
from fenchel.solvers import DualAscent
from fenchel.solvers.base import Start
from fenchel.solvers.dual_ascent.solver import State

N, D = 12, 4


def data(kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D))
    y = X @ rng.standard_normal(D) + rng.standard_normal(N)
    return X, y if kind == "regression" else np.where(y > 0.0, 1.0, -1.0)


def epochs_of(problem, solver, count):
    """The dual variables after so many cyclic epochs from u = 0."""
    oracle = oracle_of(problem, fenchel.engines.Local(threads=1))
    state = State(oracle, Start(problem.regularizer.start(problem.d), dual_point=np.zeros(problem.n)), solver)
    rng = np.random.default_rng(0)
    for _ in range(count):
        state.epoch(rng, full=True)
    return state.u


def sign(x):
    return math.copysign(1.0, x) if x else 0.0


def squared(alpha, z, y, eta_lambda_n):
    """(11) with k(-a) = a^2 / 2 - y a."""
    return alpha - eta_lambda_n * (alpha + z - y)


def insensitive(epsilon, q):
    """(19) and (20), with the two remarks below them."""

    def rule(alpha, z, y, step):
        side = sign(alpha) if alpha else -sign(z - y)
        power = abs(alpha) ** (q - 1.0) if q < math.inf else 0.0
        change = -step * (side * (epsilon + power) + z - y)
        if abs(z - y) < epsilon:
            change = max(-abs(alpha), min(change, abs(alpha)))
        return max(-1.0, min(alpha + change, 1.0)) if q == math.inf else alpha + change

    return rule


def hinge(q):
    """(22) and (23)."""

    def rule(alpha, z, y, step):
        power = abs(alpha) ** (q - 1.0) if q < math.inf else 0.0
        a = (alpha - step * (sign(alpha) * power + z - y)) * y
        return y * max(0.0, min(a, 1.0) if q == math.inf else a)

    return rule


CASES = {
    "squared": ("regression", L.Squared(), squared),
    "epsilon, p = 1": ("regression", L.EpsilonInsensitive(0.3), insensitive(0.3, math.inf)),
    "epsilon, p = 2": ("regression", L.EpsilonInsensitive(0.3, 2.0), insensitive(0.3, 2.0)),
    "epsilon, p = 3": ("regression", L.EpsilonInsensitive(0.3, 3.0), insensitive(0.3, 1.5)),
    "hinge": ("classes", L.Hinge(), hinge(math.inf)),
    "squared hinge": ("classes", L.SquaredHinge(), hinge(2.0)),
    "cubed hinge": ("classes", L.PowerHinge(3.0), hinge(1.5)),
}
TRANSFERS = {
    "l2": (lambda a: R.L2(a), lambda v: v),
    "unnormalised": (lambda a: R.UnnormalisedEntropy(a, prior=0.25), lambda v: 0.25 * np.exp(v)),
    "entropy": (lambda a: R.Entropy(a, total=2.0), lambda v: 2.0 * np.exp(v) / np.exp(v).sum()),
    "elastic_net": (
        lambda a: R.ElasticNet(2.0 * a, l1_ratio=0.5),
        lambda v: np.sign(v) * np.maximum(np.abs(v) - 1.0, 0.0),
    ),
}


@pytest.mark.parametrize(
    ("name", "transfer"), [*((name, "l2") for name in CASES), *(("epsilon, p = 2", transfer) for transfer in TRANSFERS)]
)
def test_explicit_is_the_printed_rule(name, transfer):
    kind, loss, rule = CASES[name]
    make, weights = TRANSFERS[transfer]
    for seed, eta, strength in ((1, 0.02, 0.3), (2, 0.1, 0.05), (3, 0.3, 0.2)):
        X, y = data(kind, seed)
        problem = fenchel.Problem(X, y, loss=loss, regularizer=make(strength))
        found = epochs_of(problem, DualAscent(step="explicit", rate=eta, order="cyclic"), 2)
        alpha, v = np.zeros(N), np.zeros(D)
        for i in [*range(N), *range(N)]:
            new = rule(alpha[i], float(X[i] @ weights(v)), y[i], eta * strength * N)
            v += (new - alpha[i]) / (strength * N) * X[i]
            alpha[i] = new
        np.testing.assert_allclose(-found, alpha, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("rate", "strength", "y", "explicit", "implicit"),
    [
        (5.0, 0.2, 3.0, 3.0, 1.5),
        (1.0, 0.5, -2.0, -1.0, -2.0 / 3.0),
        (0.25, 2.0, 4.0, 2.0, 4.0 / 3.0),
        (3.0, 1.0, 1.0, 3.0, 0.75),
    ],
)
def test_one_row_by_hand(rate, strength, y, explicit, implicit):
    """From 0: explicit alpha = rate lambda n y; implicit alpha = rate lambda n (y - alpha)."""
    problem = fenchel.Problem([[1.0]], [y], loss="squared", regularizer=R.L2(strength))
    for step, expected in (("explicit", explicit), ("implicit", implicit)):
        found = epochs_of(problem, DualAscent(step=step, rate=rate, order="cyclic"), 1)
        assert -found[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["squared", "epsilon, p = 2", "cubed hinge"])
def test_implicit_has_the_slope_of_the_conjugate_at_its_end(name):
    """u' = u + rate lambda n (z - x), with u' a slope at x: one row at a time from 0, where z = 0."""
    kind, loss, _ = CASES[name]
    X, y = data(kind, 5)
    for i in range(N):
        problem = fenchel.Problem(X[i : i + 1], y[i : i + 1], loss=loss, regularizer=R.L2(0.7))
        u = float(epochs_of(problem, DualAscent(step="implicit", rate=0.4, order="cyclic"), 1)[0])
        assert loss.slope(0.0 - u / (0.4 * 0.7), float(y[i])) == pytest.approx(u, abs=1e-9)


@pytest.mark.parametrize("name", ["hinge", "epsilon, p = 1"])
def test_both_are_the_same_where_the_conjugate_is_straight(name):
    kind, loss, _ = CASES[name]
    X, y = data(kind, 6)
    problem = fenchel.Problem(X, y, loss=L.Absolute() if kind == "regression" else loss, regularizer=R.L2(0.1))
    found = [epochs_of(problem, DualAscent(step=s, rate=0.05, order="cyclic"), 3) for s in ("explicit", "implicit")]
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rows", [1, 5, 40])
def test_the_default_rate_is_a_tenth_of_newtons(rows):
    """Section 6.2: hinge and L2, t = 0.1 in the scaled exact update; squared loss, a tenth of the exact step."""
    rng = np.random.default_rng(rows)
    X, strength = rng.standard_normal((rows, D)), 0.1
    for loss in ("hinge", "squared"):
        y = np.where(rng.standard_normal(rows) > 0.0, 1.0, -1.0)
        problem = fenchel.Problem(X, y, loss=loss, regularizer=R.L2(strength))
        found = epochs_of(problem, DualAscent(step="explicit", order="cyclic"), 1)
        alpha, w = np.zeros(rows), np.zeros(D)
        for i in range(rows):
            c1, c2 = float(X[i] @ X[i]) / (strength * rows), float(X[i] @ w)
            if loss == "hinge":
                new = y[i] * max(min(alpha[i] * y[i] - 0.1 * (c2 - y[i]) / c1 * y[i], 1.0), 0.0)
            else:
                new = alpha[i] - 0.1 * (alpha[i] + c2 - y[i]) / (c1 + 1.0)
            w += (new - alpha[i]) / (strength * rows) * X[i]
            alpha[i] = new
        np.testing.assert_allclose(-found, alpha, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize(
    ("step", "loss", "reg"),
    [
        *(("explicit", loss, "l2") for loss in ("hinge", "squared_hinge", "logistic", "huber", "poisson")),
        *(("explicit", "epsilon_insensitive", reg) for reg in ("entropy", "unnormalised", "elastic_net")),
        *(("implicit", loss, "l2") for loss in ("hinge", "logistic")),
    ],
)
def test_the_default_rate_converges(step, loss, reg):
    kind = "classes" if loss in ("hinge", "squared_hinge", "logistic") else "regression"
    X, y = data(kind, 8)
    y = np.round(np.abs(y)) if loss == "poisson" else y
    problem = fenchel.Problem(X, y, loss=loss, regularizer=TRANSFERS[reg][0](0.3))
    best = fenchel.solve(problem, tol=1e-9)
    found = fenchel.solve(problem, solver=DualAscent(step=step), tol=1e-4, max_time=20)
    assert found.status is fenchel.Status.CERTIFIED
    assert found.certificate.dual <= best.certificate.primal + 1e-9
