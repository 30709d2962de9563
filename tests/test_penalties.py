"""Bounds, balls, groups, sorted and fused penalties, shifted centres: against CVXPY, maximisation and differences."""

from __future__ import annotations

import copy
import json
import math
import pickle
import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
import fenchel.regularizers as R
from fenchel.errors import IncompatibleError, InputError, NoMinimumError
from fenchel.registry import snake_case
from fenchel.regularizers import (
    L1,
    L2,
    REGULARIZERS,
    Bounded,
    ElasticNet,
    Entropy,
    GroupLasso,
    L1Ball,
    L2Ball,
    LinearlyConstrained,
    MultiTask,
    NoPenalty,
    NuclearNorm,
    Quadratic,
    Regularizer,
    Shifted,
    Simplex,
    Slope,
    SparseGroupLasso,
    TotalVariation,
    check,
    from_parameters,
)
from fenchel.regularizers.feature_weights import penalised_part
from fenchel.selection import requirements
from problems import LOSSES, cvxpy_loss, problem
from problems import cvxpy_regularizer as in_cvxpy

SIZE = 6
LABELS = [0, 1, 0, 2, 1, 0]
LOWER, UPPER = np.array([0.0, -1.0, 0.5, -0.2, -np.inf, -2.0]), np.array([np.inf, 0.3, 1.5, -0.1, 0.0, np.inf])
WEIGHTS = np.array([0.5, 3.0, 1.0, 2.0, 0.7, 1.0])
FREE = np.array([0.0, 3.0, 1.0, 0.0, 0.7, 1.0])

ROWS = np.array(
    [
        [1.0, 2.0, 0.0, -1.0, 0.0, 0.0],
        [0.0, 1.0, 1.0, 1.0, 0.0, 1.0],
        [1.0, 0.0, 0.0, 0.0, 3.0, 0.0],
        [1.0, 1.0, 1.0, 0.0, 0.0, 1.0],
    ]
)
LOW, HIGH = np.array([0.3, -np.inf, -0.1, 0.2]), np.array([0.3, 0.5, 0.2, np.inf])


def cases(alpha):
    """One or more of every kind, for SIZE features."""
    return {
        "nonnegative": Bounded(L2(alpha), lower=0.0),
        "bounded_l2": Bounded(L2(alpha, weights=WEIGHTS), LOWER, UPPER),
        "bounded_l1": Bounded(L1(alpha), LOWER, UPPER),
        "bounded_box": Bounded(L1(alpha, weights=WEIGHTS), -0.5, 0.8),
        "bounded_net": Bounded(ElasticNet(alpha, 0.4), -0.5, UPPER),
        "l1_ball": L1Ball(1.3),
        "l2_ball": L2Ball(0.9),
        "simplex": Simplex(),
        "simplex_2": Simplex(2.0),
        "shifted_l2": Shifted(L2(alpha), np.linspace(-1.0, 1.0, SIZE)),
        "shifted_l1": Shifted(L1(alpha), np.linspace(-1.0, 1.0, SIZE)),
        "shifted_groups": Shifted(GroupLasso(alpha, LABELS), np.linspace(-1.0, 1.0, SIZE)),
        "group_lasso": GroupLasso(alpha, LABELS),
        "group_lasso_weights": GroupLasso(alpha, [[0, 2, 5], [1, 4], [3]], weights=[0.5, 2.0, 1.0]),
        "sparse_group_lasso": SparseGroupLasso(alpha, LABELS, l1_ratio=0.3),
        "multi_task": MultiTask(alpha, outputs=2),
        "multi_task_weights": MultiTask(alpha, weights=[1.0, 0.5, 2.0], outputs=2),
        "slope": Slope(alpha, np.linspace(2.0, 0.5, SIZE)),
        "slope_largest": Slope(alpha, np.eye(SIZE)[0]),
        "total_variation": TotalVariation(alpha, l1=1.0),
        "total_variation_0": TotalVariation(alpha),
        "no_penalty": NoPenalty(),
        "l1_free": L1(alpha, weights=FREE),
        "l2_free": L2(alpha, weights=FREE),
        "net_free": ElasticNet(alpha, 0.4, weights=FREE),
        "bounded_free": Bounded(L1(alpha, weights=FREE), -2.0, 2.0),
        "shifted_free": Shifted(L2(alpha, weights=FREE), np.linspace(-1.0, 1.0, SIZE)),
        "total_variation_low": TotalVariation(alpha, l1=0.05),
        "nuclear_norm": NuclearNorm(alpha, outputs=2),
        "monotone": LinearlyConstrained.monotone(L2(alpha), SIZE),
        "decreasing_l1": LinearlyConstrained.monotone(L1(alpha, weights=WEIGHTS), SIZE, [4, 0, 3, 1], increasing=False),
        "sum_to_zero": LinearlyConstrained.sum_to(L1(alpha), SIZE, 0.0),
        "sum_to_one": LinearlyConstrained.sum_to(Bounded(L2(alpha), lower=0.0), SIZE),
        "rows_l2": LinearlyConstrained(L2(alpha, weights=WEIGHTS), ROWS, LOW, HIGH),
        "rows_net": LinearlyConstrained(ElasticNet(alpha, 0.4), sp.csr_array(ROWS), LOW, HIGH),
        "rows_l1": LinearlyConstrained(L1(alpha), ROWS, LOW, HIGH),
        "rows_bounded_l1": LinearlyConstrained(
            Bounded(L1(alpha), -1.0, [np.inf, 1.0, 2.0, np.inf, 1.0, 1.0]), ROWS, LOW, HIGH
        ),
        "rows_slope": LinearlyConstrained(Slope(alpha, np.linspace(2.0, 0.5, SIZE)), ROWS, LOW, HIGH),
        "rows_entropy": LinearlyConstrained(Entropy(alpha, total=2.0), ROWS[:2], LOW[:2], [0.3, 1.5]),
        "rows_simplex": LinearlyConstrained(Simplex(), [[1.0, 1.0, 0.0, 0.0, 0.0, 0.0]], upper=0.4),
        "rows_ball": LinearlyConstrained(L2Ball(1.5), ROWS, LOW, HIGH),
    }


CASES = cases(0.3)
CONSTRAINED = [name for name, case in CASES.items() if isinstance(case, LinearlyConstrained)]
each = pytest.mark.parametrize("name", CASES)


def solve(objective, constraints):
    model = cp.Problem(objective, constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an accuracy below these tolerances; 1e-7 is asked of it
        model.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(model.value)


@each
def test_check_finds_nothing(name):
    for seed in range(1 if name in CONSTRAINED else 4):
        check(CASES[name], SIZE, rng_seed=seed)


@each
def test_prox_equals_cvxpy(name):
    reg, x = CASES[name], cp.Variable(SIZE)
    expression, constraints = in_cvxpy(reg, x)
    for seed, step in enumerate((0.3, 1.0, 4.0)):
        w = 2 * np.random.default_rng(seed).standard_normal(SIZE)
        solve(cp.Minimize(step * expression + cp.sum_squares(x - w) / 2), constraints)
        np.testing.assert_allclose(reg.prox(w, step), x.value, atol=2e-5)


@each
def test_conjugate_equals_cvxpy(name):
    reg, w = CASES[name], cp.Variable(SIZE)
    expression, constraints = in_cvxpy(reg, w)
    for seed in range(4):
        v = penalised_part(reg, 0.5 * np.random.default_rng(seed).standard_normal(SIZE))
        c = reg.dual_scale(v)
        v = (c if c == 1.0 else 0.999 * c) * v
        best = solve(cp.Maximize(v @ w - expression), constraints)
        assert reg.conjugate(v) == pytest.approx(best, abs=1e-6)
        if c < 1.0:
            unbounded = cp.Problem(cp.Maximize(v @ w * (1.001 / 0.999) - expression), constraints)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                unbounded.solve(solver="CLARABEL")
            assert unbounded.status.startswith("unbounded")


@each
@pytest.mark.parametrize("step", [1e-9, 1e-3, 1.0, 1e3, 1e9])
def test_prox_is_the_resolvent_of_the_conjugate(name, step):
    """x = prox(w) iff R(x) + R*(g) = g'x at g = (w - x) / step: also with ties, zeros and tiny numbers."""
    if name in CONSTRAINED and step not in (1.0, 1e3):
        return  # g is then so much larger than alpha, or x than its changes, that sums of products with A say nothing
    reg, rng = CASES[name], np.random.default_rng(4)
    points = [
        rng.standard_normal(SIZE), np.array([1.0, -1.0, 1.0, 0.0, 1.0, -1.0]), np.zeros(SIZE), np.full(SIZE, 1e-300),
        rng.integers(-2, 3, SIZE) / 2.0,
    ]  # fmt: skip
    for w in points:
        x = reg.prox(w, step)
        rounded = (w - x) / step
        g = penalised_part(reg, rounded)
        c = reg.dual_scale(g)
        size = np.abs(w).max() + np.abs(x).max() + np.max(np.abs(getattr(reg, "center", 0.0)))
        assert np.max(np.abs(g - rounded)) <= 1e-14 * size / step
        assert c >= 1 - 1e-9 - 1e-14 * size / step / reg.alpha
        value, bound = reg.value(x), reg.conjugate(c * g)
        noise = 1e-14 * (size / step * (1 + np.abs(x).sum()) + np.abs(g) @ np.abs(x))
        assert abs(value + bound - c * g @ x) <= 1e-9 * (abs(value) + abs(bound)) + 10 * noise


@each
@pytest.mark.parametrize("step", [0.5, 2.0])
def test_prox_jacobian_agrees_with_differences(name, step):
    reg, rng, h = CASES[name], np.random.default_rng(0), 1e-7
    if not hasattr(reg, "prox_jacobian"):
        assert isinstance(reg, NuclearNorm)
        return
    for w in 1.5 * rng.standard_normal((20, SIZE)):
        J = reg.prox_jacobian(w, step)
        found = np.column_stack(
            [(reg.prox(w + h * e, step) - reg.prox(w - h * e, step)) / (2 * h) for e in np.eye(SIZE)]
        )
        np.testing.assert_allclose(J.toarray(), found, atol=2e-6)
        np.testing.assert_allclose(J @ w, J.toarray() @ w, atol=1e-12)


@each
def test_prox_jacobian_has_eigenvalues_between_0_and_1_at_ties_and_zeros(name):
    reg = CASES[name]
    if not hasattr(reg, "prox_jacobian"):
        return
    for w in (np.zeros(SIZE), np.ones(SIZE), np.array([1.0, -1.0, 1.0, 0.0, 1.0, -1.0]), np.full(SIZE, 1e-300)):
        for step in (1e-9, 1.0, 1e9):
            values = np.linalg.eigvalsh(reg.prox_jacobian(w, step).toarray())
            assert values[0] >= -1e-12 and values[-1] <= 1 + 1e-12


@each
def test_separable_ones_take_a_step_for_each_coefficient(name):
    reg, w = CASES[name], np.random.default_rng(1).standard_normal(SIZE)
    if reg.separable:
        steps = np.linspace(0.1, 3.0, SIZE)
        expected = [reg.prox(w, step)[j] for j, step in enumerate(steps)]
        np.testing.assert_array_equal(reg.prox(w, steps), expected)
        expected = [reg.prox_jacobian(w, step).diagonal[j] for j, step in enumerate(steps)]
        np.testing.assert_array_equal(reg.prox_jacobian(w, steps).diagonal, expected)


@each
def test_copies_and_files(name):
    reg, w = CASES[name], CASES[name].start(SIZE)
    key = next(key for key, kind in REGULARIZERS.items() if kind is type(reg))
    copies = [pickle.loads(pickle.dumps(reg)), copy.deepcopy(reg), reg.scaled(reg.alpha)]
    copies.append(from_parameters(key, json.loads(json.dumps(reg.parameters()))))
    for other in copies:
        assert other == reg and hash(other) == hash(reg) and repr(other) == repr(reg)
        assert other.value(w) == reg.value(w)
        assert (other.strongly_convex, other.separable) == (reg.strongly_convex, reg.separable)
    assert len({case.fingerprint() for case in CASES.values()}) == len(CASES)


@each
def test_extreme_scales_never_give_nan(name):
    if name in CONSTRAINED:
        return  # test_linear_constraints.py has scales for which a quadratic program can be solved
    rng = np.random.default_rng(11)
    signs, mixed = rng.standard_normal(SIZE), rng.standard_normal(SIZE) * 10.0 ** rng.uniform(-300, 300, SIZE)
    for alpha in (1e-300, 1e-4, 1.0, 1e300):
        reg = CASES[name].scaled(alpha)
        for x in [np.zeros(SIZE), mixed, *(s * signs for s in (1e-300, 1e-170, 1e-20, 1.0, 1e20, 1e170, 1e300))]:
            found = [reg.value(x), reg.conjugate(x), reg.dual_scale(x)]
            found += [reg.prox(x, step) for step in (1e-300, 1e-8, 1.0, 1e300)]
            if hasattr(reg, "primal_from_dual"):
                found.append(reg.primal_from_dual(x))
            assert not any(np.isnan(one).any() for one in found), (alpha, x)
            c = reg.dual_scale(x)
            assert 0.0 <= c <= 1.0 and (c == 1.0 or reg.conjugate(c * x) < np.inf)


ONE = [
    Bounded(L2(0.3), lower=0.0), Bounded(L1(0.3), -1.0, 0.5), L1Ball(0.7), L2Ball(0.7), Simplex(0.7), Shifted(L1(0.3), [0.4]),
    GroupLasso(0.3, [0]), SparseGroupLasso(0.3, [0]), MultiTask(0.3), Slope(0.3, [1.0]),
    TotalVariation(0.3, l1=1.0), NuclearNorm(0.3),
]  # fmt: skip


@pytest.mark.parametrize("reg", ONE, ids=lambda reg: type(reg).__name__)
def test_one_variable(reg):
    check(reg, 1)
    w = cp.Variable(1)
    expression, constraints = in_cvxpy(reg, w)
    for x in (-2.0, -0.1, 0.0, 0.3, 5.0):
        solve(cp.Minimize(expression + cp.sum_squares(w - x) / 2), constraints)
        np.testing.assert_allclose(reg.prox(np.array([x]), 1.0), w.value, atol=1e-5)


# --- special cases that are other functions ---------------------------------------------------------------------------


def agree(one, other, dim=SIZE):
    rng = np.random.default_rng(7)
    for x in rng.standard_normal((20, dim)):
        assert one.value(x) == pytest.approx(other.value(x))
        assert one.dual_scale(x) == pytest.approx(other.dual_scale(x), rel=1e-12)
        assert one.conjugate(0.9 * one.dual_scale(x) * x) == pytest.approx(other.conjugate(0.9 * one.dual_scale(x) * x))
        np.testing.assert_allclose(one.prox(x, 1.7), other.prox(x, 1.7), atol=1e-12)


def test_special_cases_agree():
    singles = list(range(SIZE))
    agree(GroupLasso(0.3, singles, weights=WEIGHTS), L1(0.3, weights=WEIGHTS))
    agree(SparseGroupLasso(0.3, singles), L1(0.3))
    agree(SparseGroupLasso(0.3, LABELS, l1_ratio=0.0), GroupLasso(0.3, LABELS))
    agree(MultiTask(0.3, outputs=3), GroupLasso(0.3, [0, 0, 0, 1, 1, 1], weights=[1.0, 1.0]))
    agree(Slope(0.3, np.ones(SIZE)), L1(0.3))
    agree(NuclearNorm(0.3, outputs=1), GroupLasso(0.3, np.zeros(SIZE, dtype=int), weights=[1.0]))
    agree(NuclearNorm(0.3, outputs=SIZE), NuclearNorm(0.3, outputs=1))
    agree(TotalVariation(0.3, l1=2.0), L1(0.6), dim=1)
    agree(Bounded(L1(0.3)), L1(0.3))
    agree(Bounded(ElasticNet(0.3, 0.4)), ElasticNet(0.3, 0.4))
    agree(Shifted(L2(0.3), np.zeros(SIZE)), L2(0.3))
    assert Bounded(L2(0.3), lower=1.0, upper=1.0).prox([5.0], 1.0) == [1.0]


@pytest.mark.parametrize("seed", range(8))
def test_total_variation_of_long_chains(seed):
    """The prox by its optimality conditions, the dual scale by all ranges."""
    rng = np.random.default_rng(seed)
    n, alpha, l1 = 300, 10.0 ** rng.uniform(-2, 1), 10.0 ** rng.uniform(-4, 0)
    reg = TotalVariation(alpha, l1=l1)
    y = np.cumsum(rng.standard_normal(n)) if seed % 2 else rng.integers(-2, 3, n).astype(float)
    levels = reg._levels(y, 1.0)
    q = np.cumsum(y - levels)  # the dual variables of the differences
    assert abs(q[-1]) <= 1e-10 * n and np.max(np.abs(q)) <= alpha + 1e-10 * n
    jumps = np.flatnonzero(np.diff(levels))
    np.testing.assert_allclose(q[jumps], -alpha * np.sign(np.diff(levels)[jumps]), atol=1e-9 * n)
    v = 3.0 * alpha * rng.standard_normal(n)
    sums = np.concatenate([[0.0], np.cumsum(v)])
    start, stop = np.triu_indices(n + 1, 1)
    bounds = alpha * ((start > 0).astype(float) + (stop < n) + l1 * (stop - start))
    assert reg.dual_scale(v) == pytest.approx(min(1.0, np.min(bounds / np.abs(sums[stop] - sums[start]))), rel=1e-9)


# --- solved problems --------------------------------------------------------------------------------------------------

SCALAR = [name for name in CASES if name not in ("nuclear_norm", "multi_task")]


def rows(name):
    """Without a penalty so many that no coefficients separate the classes: there would be no minimum."""
    return 150 if name == "no_penalty" else 40


def best(p):
    w, b = cp.Variable(p.d), cp.Variable()
    z = p.X @ w + p.offset + (b if p.fit_intercept else 0.0)
    expression, constraints = in_cvxpy(p.regularizer, w)
    return solve(cp.Minimize(p.weights @ cvxpy_loss(p.loss, z, p.y) + expression), constraints)


@pytest.mark.parametrize("name", SCALAR)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "absolute", "logistic", "squared"])
def test_auto_certifies_the_optimum_of_cvxpy(name, loss, intercept):
    p = problem(LOSSES[loss], cases(0.03)[name], intercept, weighted=True, n=rows(name), d=SIZE)
    result = fenchel.solve(p, tol=1e-7, max_time=60)
    assert result.status.name == "CERTIFIED", str(result)
    least, c = best(p), result.certificate
    assert c.dual - 1e-8 <= least <= c.primal + 1e-7
    assert c.primal == pytest.approx(least, rel=1e-6, abs=1e-8)
    assert p.regularizer.value(result.coef) < np.inf


@pytest.mark.parametrize(
    "name", [name for name in SCALAR if name not in CONSTRAINED or name in ("monotone", "sum_to_zero")]
)
def test_every_fitting_solver_comes_near(name):
    for loss in ("hinge", "logistic"):
        p = problem(LOSSES[loss], cases(0.03)[name], n=rows(name), d=SIZE)
        least = best(p)
        can = requirements.who_can(p)
        assert "ProximalPointNewton" in can and ("ProximalGradient" in can) == (loss == "logistic")
        for solver in can:
            solver = {"LBFGS": "lbfgs"}.get(solver, snake_case(solver))
            c = fenchel.solve(p, solver=solver, tol=1e-4, max_time=60).certificate
            assert c.dual - 1e-7 <= least <= c.primal + 1e-7, solver
            assert c.relative_gap <= 1e-4 or solver == "bundle", solver


# --- several scores ---------------------------------------------------------------------------------------------------

SEVERAL = {
    "multi_task": MultiTask(0.02),
    "multi_task_weights": MultiTask(0.02, weights=[1.0, 0.5, 2.0, 1.0]),
    "nuclear_norm": NuclearNorm(0.02),
    "bounded": Bounded(L1(0.02), [-0.5, 0.0, -np.inf, -0.2], 0.4),
    "l1_ball": L1Ball(2.0),
    "l2_ball": L2Ball(1.0),
    "shifted": Shifted(L2(0.02), [1.0, 0.0, -1.0, 0.5]),
    "group_lasso": GroupLasso(0.02, [0, 0, 1, 1]),
    "sparse_group_lasso": SparseGroupLasso(0.02, [0, 0, 1, 1], weights=[1.0, 2.0]),
}


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("intercepts", [False, True])
@pytest.mark.parametrize("loss", ["softmax", "max_hinge"])
def test_several_scores_equal_cvxpy(name, loss, intercepts):
    rng, m, d, n = np.random.default_rng(0), 3, 4, 50
    X = rng.standard_normal((n, d)) + 0.5
    y = np.argmax(X @ rng.standard_normal((d, m)) + rng.standard_normal((n, m)), axis=1)
    p = fenchel.Problem(X, y, loss=loss, regularizer=SEVERAL[name], fit_intercept=intercepts)
    W, b = cp.Variable((d, m)), cp.Variable(m)
    Z = X @ W + (np.ones((n, 1)) @ cp.reshape(b, (1, m), order="C") if intercepts else 0.0)
    own = cp.sum(cp.multiply(Z, np.eye(m)[y]), axis=1)
    top = cp.log_sum_exp(Z, axis=1) if loss == "softmax" else cp.max(Z + 1.0 - np.eye(m)[y], axis=1)
    expression, constraints = in_cvxpy(p.penalty, cp.reshape(W, (d * m,), order="C"))
    least = solve(cp.Minimize(cp.sum(top - own) / n + expression), constraints)
    result = fenchel.solve(p, tol=1e-6, max_time=60)
    assert result.status.name == "CERTIFIED", str(result)
    c = result.certificate
    assert c.dual - 1e-7 <= least <= c.primal + 1e-7 and c.primal == pytest.approx(least, rel=2e-6)


@pytest.mark.parametrize("reg", [Slope(0.1, [1.0, 0.5]), TotalVariation(0.1)])
def test_penalties_of_one_score_are_refused_for_several(reg):
    with pytest.raises(InputError, match="one score per row"):
        fenchel.Problem(np.eye(2), [0, 1], loss="softmax", regularizer=reg)


def test_a_bound_to_which_the_losses_add_nothing_can_be_certified():
    """loss* is 0, so that D is -v'c alone: its rounding is that of v'c, also where v must be scaled into the box."""
    certified = 0
    for seed in range(6):
        center = np.random.default_rng(seed).standard_normal(3)
        p = problem(LOSSES["perceptron"], Shifted(L1(0.01), center), True, seed=seed, n=7)
        result, least = fenchel.solve(p, tol=1e-6), best(p)
        assert result.status.name == "CERTIFIED" and 0.0 < result.certificate.floor < np.inf
        assert result.certificate.dual <= least + 1e-8
        certified += least > 1e-4
    assert certified >= 3


def test_no_dual_value_at_the_start_does_not_end_a_solve():
    """R* overflows at the slopes for w = 0: that no bound is known there says nothing about the next iterates."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 5)), rng.choice([-1.0, 1.0], 60)
    p = fenchel.Problem(X, y, loss="hinge", regularizer=R.BalancedEntropy(1e-6))
    assert p.regularizer.conjugate(X.T @ y / 60) == np.inf
    assert fenchel.solve(p, solver="bundle", max_iter=20).n_iter == 20


@pytest.mark.parametrize("seed", range(5))
def test_the_prox_of_slope_is_isotonic_regression(seed):
    from scipy.optimize import isotonic_regression

    rng, n = np.random.default_rng(seed), 60
    w = rng.integers(-4, 5, n) / 2 if seed % 2 else 2 * rng.standard_normal(n)
    reg = Slope(0.5, np.sort(rng.exponential(size=n))[::-1])
    size = np.sort(np.abs(w))[::-1]
    expected = np.maximum(isotonic_regression(size - 0.5 * 1.7 * reg.weights, increasing=False).x, 0.0)
    found = reg.prox(w, 1.7)
    np.testing.assert_allclose(np.sort(np.abs(found))[::-1], expected, atol=1e-14 * n)
    assert np.all(found * w >= 0.0)


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Bounded(L2(1.0), lower=[0.0, 2.0], upper=1.0), "coefficient 1 exists: lower is 2.0 and upper is 1.0"),
        (lambda: Bounded(L2(1.0), lower=[0.0, math.nan]), r"lower\[1\] is nan"),
        (lambda: Bounded(L2(1.0), upper=-math.inf), "upper is -inf"),
        (lambda: Bounded(L2(1.0), lower=[[0.0]]), "1-D"),
        (lambda: Bounded(L2(1.0), lower="a"), "1-D array of numbers"),
        (lambda: Bounded(L2(1.0), lower=[0.0, 0.0], upper=[1.0]), "one entry per feature"),
        (lambda: Bounded(Quadratic(1.0, [1.0]), lower=0.0), "takes L1, L2 or ElasticNet"),
        (lambda: Bounded(L2(1.0, weights=[1.0, 0.0]), lower=0.0), "feature 1 has weight 0"),
        (lambda: Bounded(L2(1.0), lower=[0.0, 0.0]).validate(3), "3 features"),
        (lambda: L1Ball(0.0), "radius must be > 0"),
        (lambda: L2Ball(math.inf), "radius must be > 0"),
        (lambda: Simplex(-1.0), "total must be > 0"),
        (lambda: Shifted("l2", [0.0]), "must be a Regularizer"),
        (lambda: Shifted(L2(1.0), [0.0, math.inf]), r"center\[1\]"),
        (lambda: Shifted(L2(1.0), [0.0]).validate(2), "2 features"),
        (lambda: Shifted(Simplex(), [0.0, 1.0]).validate(2), "finite everywhere"),
        (lambda: Shifted(Bounded(L2(1.0), lower=0.0), [0.0, 1.0]).validate(2), "finite everywhere"),
        (lambda: GroupLasso(1.0, [[0, 1], [1, 2]]), "feature 1 is in groups 0 and 1"),
        (lambda: GroupLasso(1.0, [[0, 0], [1]]), "feature 0 is in group 0 twice"),
        (lambda: GroupLasso(1.0, [[0], [2]]), "feature 1 is in no group"),
        (lambda: GroupLasso(1.0, [0, 2]), "no feature is in group 1"),
        (lambda: GroupLasso(1.0, [0, -1]), "whole numbers >= 0; entry 1"),
        (lambda: GroupLasso(1.0, [0.5]), "whole numbers"),
        (lambda: GroupLasso(1.0, [0, [1]]), "mixes"),
        (lambda: GroupLasso(1.0, "ab"), "group number of every feature"),
        (lambda: GroupLasso(1.0, []), "at least one entry"),
        (lambda: GroupLasso(1.0, [[0], []]), r"groups\[1\]"),
        (lambda: GroupLasso(1.0, [0, 1], weights=[1.0]), "1 entries but there are 2 groups"),
        (lambda: GroupLasso(1.0, [0, 1], weights=[1.0, -1.0]), r"weights\[1\] is -1"),
        (lambda: GroupLasso(1.0, [0, 1], weights=[1.0, 0.0]), r"weights\[1\] is 0"),
        (lambda: GroupLasso(1.0, [0, 1]).validate(3), "3 features"),
        (lambda: SparseGroupLasso(1.0, [0], l1_ratio=1.0), r"use L1\(alpha\)"),
        (lambda: MultiTask(1.0, weights=[0.0]), "weights"),
        (lambda: MultiTask(1.0, outputs=0), "outputs"),
        (lambda: MultiTask(1.0, outputs=2).validate(3), "3 variables"),
        (lambda: NuclearNorm(1.0, outputs=1.5), "outputs"),
        (lambda: Slope(1.0, [1.0, 2.0]), r"weights\[0\] is 1.0 and weights\[1\] is 2.0"),
        (lambda: Slope(1.0, [0.0, 0.0]), r"weights\[0\] is 0"),
        (lambda: Slope(1.0, None), "needed"),
        (lambda: Slope(1.0, [1.0]).validate(2), "2 features"),
        (lambda: TotalVariation(1.0, l1=-1.0), "l1 must be >= 0"),
        (lambda: TotalVariation(1.0, l1=math.nan), "finite"),
        (lambda: R.make("simplex", 0.1), "no strength"),
        (lambda: R.make("group_lasso", 0.1), r"GroupLasso\(alpha, groups\)"),
        (lambda: R.make("bounded", 0.1), r"Bounded\(regularizer\)"),
        (lambda: from_parameters("bounded", {"regularizer": {"name": "nobody", "parameters": {}}}), "nobody"),
        (lambda: from_parameters("bounded", {"regularizer": 3.0}), "takes L1"),
        (lambda: from_parameters("simplex", {"alpha": 1.0, "total": 1.0}), "parameters"),
    ],
)
def test_bad_input_says_what_and_where(build, message):
    with pytest.raises(InputError, match=message):
        build()


# --- a user's own inside ----------------------------------------------------------------------------------------------


class TooSmall(Regularizer):
    """A conjugate that is too small would prove false bounds."""

    def value(self, w):
        return self.alpha / 2 * float(w @ w)

    def conjugate(self, v):
        return float(v @ v) / (2.2 * self.alpha)


class Right(TooSmall):
    def conjugate(self, v):
        return float(v @ v) / (2 * self.alpha)


def test_a_wrapper_is_not_trusted_more_than_what_it_wraps():
    X, y = np.random.default_rng(0).standard_normal((30, 2)), np.ones(30)
    with pytest.raises(InputError, match="conjugate is too small"):
        fenchel.Problem(X, y, regularizer=Shifted(TooSmall(0.1), [1.0, 2.0]))
    p = fenchel.Problem(X, y, loss="absolute", regularizer=Shifted(Right(0.1), [1.0, 2.0]))
    result = fenchel.solve(p, tol=1e-6)
    assert result.status.name == "CERTIFIED" and result.certificate.basis.endswith("R* as given")
    same = fenchel.solve(fenchel.Problem(X, y, loss="absolute", regularizer=Shifted(L2(0.1), [1.0, 2.0])), tol=1e-6)
    assert result.certificate.primal == pytest.approx(same.certificate.primal, rel=2e-6)


def test_the_rounding_of_v_is_bounded_where_the_conjugate_falls_with_it():
    """R*(v) falls with v where coefficients are negative: the floor must know the worst direction, not the usual one."""
    for name, reg in CASES.items():
        rng, error = np.random.default_rng(3), 1e-3
        v = 0.4 * rng.standard_normal(SIZE)
        v = penalised_part(reg, v)
        v = 0.9 * reg.dual_scale(v) * v
        moved = [penalised_part(reg, x) for x in reg.perturbed(v, error)]
        worst, scale = max(map(reg.conjugate, moved)), min(map(reg.dual_scale, moved))
        for _ in range(5 if name in CONSTRAINED else 200):
            x = penalised_part(reg, v + error * rng.choice([-1.0, 1.0], SIZE))
            assert reg.conjugate(x) <= worst + 0.05 * abs(worst - reg.conjugate(v)) + 1e-12
            assert reg.dual_scale(x) >= scale * (1 - 1e-12)


# --- unpenalised coefficients -----------------------------------------------------------------------------------------

UNPENALISED = ["no_penalty", "l1_free", "l2_free", "net_free", "shifted_free", "total_variation_0"]


@pytest.mark.parametrize("name", UNPENALISED)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "absolute", "logistic", "quantile"])
def test_no_dual_point_is_above_the_optimum(name, loss, intercept):
    """Dual points of all kinds are moved to where N'v = 0: the bound is never above the optimum, and often finite."""
    reg, rng = cases(0.03)[name], np.random.default_rng(0)
    p = problem(LOSSES[loss], reg, intercept, weighted=True, offset=True, n=30, d=SIZE)
    least, finite = best(p), 0
    scale = fenchel.solve(p, tol=1e-3).dual_point
    for u in [np.zeros(30), *(scale + size * rng.standard_normal(30) for size in (1e-9, 1e-3, 0.1, 1.0, 10.0) * 4)]:
        c = fenchel.certify(p, rng.standard_normal(SIZE), dual_point=u)
        finite += np.isfinite(c.dual)
        assert c.dual <= least + 1e-8
    assert finite >= 15


@pytest.mark.parametrize("loss", ["hinge", "absolute", "logistic", "squared", "poisson"])
def test_scales_of_unpenalised_columns_do_not_matter(loss):
    rng = np.random.default_rng(2)
    p = problem(LOSSES[loss], L1(0.03, weights=FREE), True, n=60, d=SIZE)
    scales = 10.0 ** rng.uniform(-4, 4, SIZE) * (FREE == 0.0) + (FREE != 0.0)
    X = p.X * scales + 1e3 * scales * (FREE == 0.0)
    q = fenchel.Problem(X, p.y, loss=p.loss, regularizer=p.regularizer, fit_intercept=True)
    a, b = fenchel.solve(p, tol=1e-6, max_time=60), fenchel.solve(q, tol=1e-5, max_time=60)
    assert a.status.name == "CERTIFIED"
    assert b.certificate.dual - 1e-9 <= a.certificate.primal and a.certificate.dual <= b.certificate.primal + 1e-9


def test_unpenalised_columns_that_depend_on_each_other():
    """A copy, the intercept's constant and a column of zeros: the optimum is that without them."""
    rng = np.random.default_rng(3)
    X, weights = rng.standard_normal((40, 3)), np.array([1.0, 1.0, 0.0])
    y = X @ [1.0, 0.0, 2.0] + rng.standard_normal(40)
    more = np.column_stack([X, X[:, 2], np.ones(40), np.zeros(40)])
    for loss in ("absolute", "squared"):
        p = fenchel.Problem(X, y, loss=loss, regularizer=L1(0.1, weights=weights), fit_intercept=True)
        q = fenchel.Problem(more, y, loss=loss, regularizer=L1(0.1, weights=[1, 1, 0, 0, 0, 0]), fit_intercept=True)
        a, b = fenchel.solve(p, tol=1e-7), fenchel.solve(q, tol=1e-7)
        assert a.status.name == b.status.name == "CERTIFIED"
        assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=1e-6)


def test_an_unpenalised_constant_column_is_an_intercept():
    p = problem(LOSSES["hinge"], L1(0.05), True, n=40)
    q = fenchel.Problem(
        np.column_stack([p.X, np.ones(40)]), p.y, loss="hinge", regularizer=L1(0.05, weights=[1.0] * 3 + [0.0])
    )
    a, b = fenchel.solve(p, tol=1e-8), fenchel.solve(q, tol=1e-8)
    assert b.certificate.primal == pytest.approx(a.certificate.primal, rel=1e-7)


def test_sparse_rows_with_unpenalised_columns():
    p = problem(LOSSES["absolute"], L1(0.05, weights=FREE), True, n=40, d=SIZE)
    q = fenchel.Problem(sp.csr_array(p.X), p.y, loss="absolute", regularizer=p.regularizer, fit_intercept=True)
    a, b = fenchel.solve(p, tol=1e-8), fenchel.solve(q, tol=1e-8)
    assert b.status.name == "CERTIFIED"
    assert b.certificate.primal == pytest.approx(a.certificate.primal, rel=1e-7)


def test_unpenalised_is_another_name_of_no_penalty(tmp_path):
    assert R.Unpenalised is NoPenalty and R.make("unpenalised") == R.make("no_penalty") == NoPenalty()
    X, y = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([0.0, 1.0, 1.0])
    model = fenchel.Regressor(
        regularizer="unpenalised", loss="squared", alpha=None, fit_intercept=False, tol=1e-10
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-4)
    model.save(tmp_path / "m")
    assert fenchel.load(tmp_path / "m").regularizer == R.Unpenalised()


def test_without_a_minimum_there_is_an_error_and_no_certificate():
    X = np.array([[1.0], [2.0], [-1.0], [-2.0]])
    p = fenchel.Problem(X, [1, 1, -1, -1], loss="logistic", regularizer=NoPenalty())  # the infimum, 0, is not attained
    with pytest.raises(NoMinimumError, match="column 0 of X"):
        fenchel.solve(p, tol=1e-6, max_time=3)
    assert fenchel.certify(p, [20.0]).dual <= 1e-12


def test_where_dual_points_are_not_balanced_unpenalised_coefficients_are_refused():
    for loss, y in (("softmax", [0, 1, 2]), (fenchel.measures.ROCArea(), [1, -1, 1])):
        with pytest.raises(InputError, match="does not penalise all coefficients"):
            fenchel.Problem(np.eye(3), y, loss=loss, regularizer=L1(0.1, weights=[1.0, 0.0, 1.0]))
    with pytest.raises(IncompatibleError, match="leaves coefficients unpenalised"):
        fenchel.solve(
            fenchel.Problem(np.eye(2), [1, -1], regularizer=L2(0.1, weights=[1.0, 0.0])), solver="semismooth_newton"
        )


def test_too_many_unpenalised_columns_are_an_error_and_not_an_exhausted_memory():
    X = sp.csr_array((np.ones(20_000), (np.arange(20_000), np.arange(20_000))))
    p = fenchel.Problem(X, np.ones(20_000), loss="squared", regularizer=NoPenalty())
    with pytest.raises(InputError, match="give features a weight > 0"):
        fenchel.certify(p, np.zeros(20_000))
