"""Linear constraints on the coefficients: against CVXPY, maximisation and exact arithmetic."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel.errors import InputError
from fenchel.regularizers import (
    L1,
    L2,
    Bounded,
    ElasticNet,
    GroupLasso,
    LinearlyConstrained,
    NoPenalty,
    NuclearNorm,
    Regularizer,
    Shifted,
    Simplex,
)
from fenchel.regularizers.feasibility import proven
from problems import LOSSES, problem
from problems import cvxpy_regularizer as in_cvxpy

d = 8
SUM = LinearlyConstrained.sum_to(L1(0.02), d, 1.0)


def maximum(reg, v):
    """R*(v) by CVXPY."""
    w = cp.Variable(v.size)
    expression, constraints = in_cvxpy(reg, w)
    model = cp.Problem(cp.Maximize(v @ w - expression), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(model.value)


def random_rows(rng, m, d):
    """(A, lower, upper) of one-sided, two-sided and equality rows that some w satisfies."""
    A, w = rng.standard_normal((m, d)) * 10.0 ** rng.uniform(-2, 2, (m, 1)), rng.standard_normal(d)
    size = np.abs(A @ w)
    lower, upper = A @ w - rng.uniform(0, 0.5, m) * size, A @ w + rng.uniform(0, 0.5, m) * size
    kind = rng.integers(0, 4, m)
    lower[kind == 0], upper[kind == 1] = -np.inf, np.inf
    equal = np.flatnonzero(kind == 2)[: d // 2]
    lower[equal] = upper[equal] = (A @ w)[equal]
    return A, lower, upper


INNER = {
    "l2": lambda a: L2(a),
    "l1": lambda a: L1(a),
    "elastic_net": lambda a: ElasticNet(a, 0.3),
    "box": lambda a: Bounded(L1(a), -4.0, 4.0),
    "shifted": lambda a: Shifted(L2(a), np.linspace(-1.0, 1.0, d)),
}


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("seed", range(3))
def test_no_multipliers_are_below_the_conjugate(inner, seed):
    """R0*(v - A'y) + S(y) is an upper bound for every y; the one that `conjugate` finds attains it."""
    rng = np.random.default_rng(seed)
    reg = LinearlyConstrained(INNER[inner](0.5), *random_rows(rng, 6, d))
    for scale in (0.1, 3.0):
        v = scale * rng.standard_normal(d)
        v *= reg.dual_scale(v)
        best = maximum(reg, v)
        assert reg.conjugate(v) == pytest.approx(best, rel=1e-6, abs=1e-7)
        y = reg._bound(v).y
        for size in (0.0, 1e-6, 1e-2, 1.0):
            assert reg.upper_bound(v, y + size * rng.standard_normal(6)) >= best - 1e-7 * (1.0 + abs(best))


@pytest.mark.parametrize("inner", INNER)
def test_the_bound_holds_at_every_feasible_point_in_exact_arithmetic(inner):
    """v'w - R(w) <= R*(v) as computed, at the maximiser itself, where only rounding is between them."""
    rng = np.random.default_rng(5)
    for _ in range(4):
        reg = LinearlyConstrained(INNER[inner](0.5), *random_rows(rng, 5, d))
        v = rng.standard_normal(d)
        v *= reg.dual_scale(v)
        w, bound = reg._bound(v).w, reg.conjugate(v)
        assert math.isfinite(reg.value(w))
        height = sum(Fraction(a) * Fraction(b) for a, b in zip(v.tolist(), w.tolist(), strict=True)) - Fraction(
            reg.value(w)
        )
        size = float(np.abs(v) @ np.abs(w)) + abs(reg.value(w))
        assert float(height) <= bound + reg.infeasibility(w, v) + 4e-16 * size
        assert bound - float(height) <= 1e-6 * size


@pytest.mark.parametrize("loss", ["hinge", "quantile", "logistic", "poisson", "huber"])
@pytest.mark.parametrize("inner", ["l2", "l1", "box"])
def test_auto_certifies_the_optimum_of_cvxpy(loss, inner):
    rng = np.random.default_rng(len(loss))
    for reg in (
        LinearlyConstrained(INNER[inner](0.03), *random_rows(rng, 5, d)),
        LinearlyConstrained.monotone(INNER[inner](0.01), d, [5, 1, 2, 0], increasing=False),
        LinearlyConstrained.sum_to(INNER[inner](0.01), d),
    ):
        p = problem(LOSSES[loss], reg, intercept=True, weighted=True, offset=True, n=60, d=d, storage=sp.csr_array)
        result = fenchel.solve(p, tol=1e-7, max_time=60)
        assert result.status.name == "CERTIFIED", str(result)
        least, c = optimum(p), result.certificate
        assert c.dual - 1e-7 <= least <= c.primal + 1e-7 * (1.0 + abs(least))
        assert c.primal == pytest.approx(least, rel=1e-5, abs=1e-7)
        again = fenchel.check_proof(p, result.coef, result.intercept, result.dual_point)
        assert again.holds(1.1e-7) and again.primal == pytest.approx(c.primal, rel=1e-12)
        assert again.dual == pytest.approx(c.dual, rel=1e-9)


def optimum(p):
    from problems import cvxpy_loss

    w, b = cp.Variable(p.d), cp.Variable()
    expression, constraints = in_cvxpy(p.regularizer, w)
    X = p.X.toarray() if sp.issparse(p.X) else p.X
    z = X @ w + p.offset + (b if p.fit_intercept else 0.0)
    model = cp.Problem(cp.Minimize(p.weights @ cvxpy_loss(p.loss, z, p.y) + expression), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(model.value)


@pytest.mark.parametrize("loss", ["softmax", "max_hinge"])
def test_several_scores_have_the_same_constraints_each(loss):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 4)), rng.integers(0, 3, 60)
    p = fenchel.Problem(X, y, loss=loss, regularizer=LinearlyConstrained.monotone(L2(0.02), 4), fit_intercept=True)
    result = fenchel.solve(p, tol=1e-6, max_time=60)
    assert result.status.name == "CERTIFIED"
    assert result.coef.shape == (3, 4) and np.all(np.diff(result.coef, axis=1) >= -1e-12)
    W, b = cp.Variable((4, 3)), cp.Variable((1, 3))
    Z = X @ W + np.ones((60, 1)) @ b
    true = cp.sum(cp.multiply(np.eye(3)[y], Z), axis=1)
    losses = cp.log_sum_exp(Z, axis=1) - true if loss == "softmax" else cp.max(Z + 1 - np.eye(3)[y], axis=1) - true
    model = cp.Problem(cp.Minimize(cp.sum(losses) / 60 + 0.01 * cp.sum_squares(W)), [W[1:] >= W[:-1]])
    model.solve(solver="CLARABEL")
    assert result.certificate.primal == pytest.approx(float(model.value), rel=1e-5)


def test_measures_and_structured_outputs_take_constraints():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 3)), np.where(rng.standard_normal(40) > 0, 1, -1)
    p = fenchel.Problem(X, y, loss=fenchel.measures.ROCArea(), regularizer=LinearlyConstrained.sum_to(L2(0.1), 3, 0.0))
    result = fenchel.solve(p, tol=1e-3, max_time=30)
    assert result.status.name == "CERTIFIED" and abs(result.coef.sum()) < 1e-14
    assert fenchel.check_proof(p, result.coef, result.intercept, result.dual_point).holds(2e-3)


def test_medium_problems_are_certified():
    """Isotonic coefficients of 150 bins; 100 sums of 300 coefficients."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 150, 3000)
    X = sp.csr_array((np.ones(3000), level, np.arange(3001)), shape=(3000, 150))
    y = np.sqrt(level) + rng.standard_normal(3000)
    p = fenchel.Problem(X, y, loss="squared", regularizer=LinearlyConstrained.monotone(L2(1e-4), 150))
    result = fenchel.solve(p, tol=1e-8, max_time=60)
    assert result.status.name == "CERTIFIED" and np.all(np.diff(result.coef) >= -1e-12)
    A = rng.standard_normal((100, 300))
    X = rng.standard_normal((400, 300))
    w = rng.standard_normal(300)
    reg = LinearlyConstrained(L2(1e-2), A, A @ w - 0.1, A @ w + 0.1)
    p = fenchel.Problem(X, np.sign(X @ w + rng.standard_normal(400)), loss="hinge", regularizer=reg)
    result = fenchel.solve(p, tol=1e-6, max_time=60)
    assert result.status.name == "CERTIFIED"


# --- rounding ---------------------------------------------------------------------------------------------------------


def test_coefficients_count_as_feasible_up_to_rounding_and_the_floor_knows_how_much_that_is():
    p = problem(LOSSES["absolute"], SUM, n=40, d=d)
    result = fenchel.solve(p, tol=1e-9, max_time=30)
    w = result.coef
    assert SUM.value(w) < math.inf and SUM.value(w * (1 + 1e-12)) == math.inf
    bent = w.copy()
    bent[np.argmax(np.abs(w))] += 4e-15
    v = -(p.X.T @ (p.weights * result.dual_point))
    assert SUM.value(bent) < math.inf
    deviation = abs(math.fsum(bent) - 1.0)
    assert SUM.infeasibility(bent, v) >= deviation * abs(SUM._bound(v).y[0])
    for check in (fenchel.certify, fenchel.check_proof):
        certificate = check(p, bent, dual_point=result.dual_point)
        assert certificate.floor >= deviation * abs(SUM._bound(v).y[0]) > 0.0


def test_the_nearest_coefficients_are_feasible_and_nearest():
    rng = np.random.default_rng(3)
    for _ in range(5):
        reg = LinearlyConstrained(L1(0.1), *random_rows(rng, 5, d))
        w = 3.0 * rng.standard_normal(d)
        x, best = reg.nearest(w), cp.Variable(d)
        assert reg.value(x) < math.inf
        cp.Problem(cp.Minimize(cp.sum_squares(best - w)), in_cvxpy(reg, best)[1]).solve(solver="CLARABEL")
        np.testing.assert_allclose(x, best.value, atol=1e-5 * (1 + np.abs(w).max()))


@pytest.mark.parametrize("alpha", [1e-8, 1.0, 1e8])
def test_scales_do_not_matter(alpha):
    """R*(alpha v) of alpha R is alpha R*(v); and no answer is NaN."""
    rng = np.random.default_rng(0)
    rows = random_rows(rng, 5, d)
    for inner in INNER.values():
        one, reg = LinearlyConstrained(inner(1.0), *rows), LinearlyConstrained(inner(alpha), *rows)
        v = rng.standard_normal(d)
        v *= one.dual_scale(v)
        assert reg.conjugate(alpha * v) == pytest.approx(alpha * one.conjugate(v), rel=1e-7)
        np.testing.assert_allclose(reg.prox(v, 1.0 / alpha), one.prox(v, 1.0), rtol=1e-9, atol=1e-9)
        for x in (1e-12 * v, 1e6 * v, 1e150 * v, np.zeros(d), np.full(d, np.inf)):
            assert not any(np.isnan(found).any() for found in (reg.value(x), reg.conjugate(x), reg.dual_scale(x)))
            assert not np.isnan(reg.prox(np.nan_to_num(x), 1.0 / alpha)).any()


# --- infeasible sets --------------------------------------------------------------------------------------------------

IMPOSSIBLE = {
    "sums": lambda: LinearlyConstrained(L2(1.0), [[1.0, 1.0], [2.0, 2.0]], lower=[1.0, -np.inf], upper=[np.inf, 1.0]),
    "cycle": lambda: LinearlyConstrained(L1(1.0), [[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [-1.0, 0.0, 1.0]], lower=1.0),
    "bounds": lambda: LinearlyConstrained(Bounded(L2(1.0), 0.0, 0.25), [[1.0, 1.0, 1.0]], lower=1.0),
    "simplex": lambda: LinearlyConstrained(Simplex(2.0), [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], upper=[0.5, 1.0]),
    "zero row": lambda: LinearlyConstrained(L2(1.0), [[0.0, 0.0], [1.0, 0.0]], lower=[1.0, 0.0]),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_an_infeasible_set_is_an_error_with_multipliers_that_prove_it(name):
    with pytest.raises(InputError, match=r"no coefficients satisfy .* y = \[.*\] of row.*verified in exact arithmetic"):
        IMPOSSIBLE[name]()


@pytest.mark.parametrize("seed", range(6))
def test_random_infeasible_sets_are_proven_and_feasible_ones_never(seed):
    """HiGHS says which is which."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    for _ in range(10):
        A, lower = rng.integers(-3, 4, (12, 4)) * 1.0, rng.integers(-4, 6, 12) * 1.0
        exists = linprog(np.zeros(4), -A, -lower, bounds=[(None, None)] * 4).status == 0
        if exists:
            assert np.all(A @ LinearlyConstrained(L2(1.0), A, lower=lower).start(4) >= lower - 1e-12)
        else:
            with pytest.raises(InputError, match="verified in exact arithmetic"):
                LinearlyConstrained(L2(1.0), A, lower=lower)


def test_wrong_multipliers_prove_nothing():
    A, ends = np.array([[1.0, 1.0], [1.0, -1.0]]), (np.array([1.0, -1.0]), np.array([2.0, 1.0]))
    rng = np.random.default_rng(0)
    for y in (np.zeros(2), np.full(2, np.nan), *rng.standard_normal((50, 2))):
        assert proven(L2(1.0), A, ends, y) is None
    impossible = np.array([[1.0], [1.0]]), (np.array([2.0, -np.inf]), np.array([np.inf, 1.0]))
    assert proven(L2(1.0), *impossible, np.array([-1.0, 1.0])).radius == math.inf
    assert proven(L2(1.0), *impossible, np.array([1.0, -1.0])) is None  # signs for which S(y) is infinite
    # w = (2e9, -2e9 + 2) satisfies these rows, and nothing within 1e8 does.
    far = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9]]), (np.array([1.0, -np.inf]), np.array([np.inf, 0.0]))
    near = proven(L2(1.0), *far, np.array([-1.0, 1.0]))
    assert near is not None and 1e8 < near.radius < 1.1e9


# --- constructors, files, estimators ----------------------------------------------------------------------------------


def test_fair_scores_have_the_bounded_covariance():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 300)
    X = rng.standard_normal((300, 5)) + group[:, None] * [2.0, 0.0, 0.0, 1.0, 0.0]
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(300) > 1, 1, -1)
    p = rng.uniform(0.5, 2.0, 300)
    for bound in (0.0, 0.05):
        for data in (X, sp.csr_array(X)):
            reg = LinearlyConstrained.fair(L2(1e-3), data, group, bound, sample_weight=p)
            model = fenchel.Classifier(regularizer=reg, loss="logistic", tol=1e-6).fit(data, y, sample_weight=p)
            covariance = np.cov(data @ model.coef_.ravel(), group, aweights=p, ddof=0)[0, 1]
            assert abs(covariance) <= bound + 1e-12 and abs(covariance) >= bound - 1e-9
    free = fenchel.Classifier(regularizer=L2(1e-3), loss="logistic").fit(X, y)
    assert abs(np.cov(X @ free.coef_.ravel(), group, ddof=0)[0, 1]) > 0.1


def test_estimators_and_model_files_keep_constraints(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    y = X @ [0.1, 0.2, 0.3, 0.4] + 0.1 * rng.standard_normal(80)
    for A in (np.ones((1, 4)), sp.csr_array(np.ones((1, 4)))):
        reg = LinearlyConstrained(Bounded(L2(1e-3), lower=0.0), A, 1.0, 1.0)
        model = fenchel.Regressor(regularizer=reg, tol=1e-8, standardize=sp.issparse(A)).fit(X, y)
        assert abs(model.coef_.sum() - 1.0) < 1e-14 and np.all(model.coef_ >= 0.0)
        path = tmp_path / "m.fenchel"
        model.save(path)
        loaded = fenchel.load(path)
        assert np.array_equal(loaded.predict(X), model.predict(X))
        assert type(loaded.regularizer) is LinearlyConstrained
        assert loaded.regularizer.value(model.coef_) < math.inf


def test_scaled_and_standardized_keep_the_constraints():
    s = np.array([1.0, 2.0, 4.0])
    reg = LinearlyConstrained.sum_to(L2(0.1), 3)
    w = np.array([0.2, 0.3, 0.5])
    assert (
        reg.standardized(s).value(w) == pytest.approx(L2(0.1).value(s * w))
        and reg.standardized(s).value(2 * w) == math.inf
    )
    assert reg.scaled(0.3).value(w) == pytest.approx(3 * reg.value(w)) and reg.scaled(0.3).value(2 * w) == math.inf


class Wrong(Regularizer):
    """A conjugate that is too small would prove false bounds, also inside."""

    strongly_convex = True

    def value(self, w):
        return self.alpha / 2 * float(w @ w)

    def conjugate(self, v):
        return float(v @ v) / (2.2 * self.alpha)

    def prox(self, w, step):
        return w / (1 + step * self.alpha)

    def prox_jacobian(self, w, step):
        return L2(self.alpha).prox_jacobian(w, step)


def test_a_custom_regularizer_inside_is_not_trusted():
    X, y = np.random.default_rng(0).standard_normal((30, 2)), np.ones(30)
    with pytest.raises(InputError, match="conjugate"):
        fenchel.Problem(X, y, regularizer=LinearlyConstrained.sum_to(Wrong(0.1), 2))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LinearlyConstrained(L2(1.0), [1.0, 2.0], 0.0), "shape"),
        (lambda: LinearlyConstrained(L2(1.0), [["a"]], 0.0), "matrix of numbers"),
        (lambda: LinearlyConstrained(L2(1.0), [[1.0, np.nan]], 0.0), r"A\[0, 1\] is nan"),
        (lambda: LinearlyConstrained(L2(1.0), [[1.0, 2.0]]), "needs lower or upper"),
        (lambda: LinearlyConstrained(L2(1.0), [[1.0, 2.0]], [0.0, 1.0]), "2 entries but A has 1 rows"),
        (
            lambda: LinearlyConstrained(L2(1.0), [[1.0, 2.0]] * 2, [0.0, 3.0], 2.0),
            "row 1 cannot be satisfied: lower is 3.0",
        ),
        (lambda: LinearlyConstrained(L2(1.0), [[1.0]], lower=math.inf), "lower is inf"),
        (lambda: LinearlyConstrained("l2", [[1.0]], 0.0), "must be a Regularizer"),
        (lambda: LinearlyConstrained(NoPenalty(), [[1.0]], 0.0), "does not penalise all"),
        (lambda: LinearlyConstrained(L1(1.0, weights=[1.0, 0.0]), [[1.0, 1.0]], 0.0), "coefficient 1, for one"),
        (
            lambda: LinearlyConstrained(GroupLasso(1.0, [0, 0]), [[1.0, 1.0]], 0.0),
            "neither all of the space nor a polyhedron",
        ),
        (lambda: LinearlyConstrained(NuclearNorm(1.0), [[1.0, 1.0]], 0.0), "Jacobian"),
        (lambda: LinearlyConstrained(L2(1.0, weights=[1.0]), [[1.0, 1.0]], 0.0), "2 features"),
        (
            lambda: LinearlyConstrained(L2(1.0), [[1.0, 1.0]], 0.0).validate(3),
            "A has 2 columns but there are 3 features",
        ),
        (lambda: LinearlyConstrained(L2(1.0), sp.csr_array((8000, 8000)), 0.0), "at most 50000000 numbers"),
        (lambda: LinearlyConstrained.monotone(L2(1.0), 3, [0]), "at least two"),
        (lambda: LinearlyConstrained.monotone(L2(1.0), 3, [0, 3]), "between 0 and 2"),
        (lambda: LinearlyConstrained.monotone(L2(1.0), 3, [1, 1]), "different"),
        (lambda: LinearlyConstrained.fair(L2(1.0), np.eye(2), [0, 1, 1], 0.1), "one entry"),
        (lambda: LinearlyConstrained.fair(L2(1.0), np.eye(2), [0, math.nan], 0.1), "finite"),
        (lambda: LinearlyConstrained.fair(L2(1.0), np.eye(2), [0, 1], -0.1), "bound must be >= 0"),
        (lambda: LinearlyConstrained.fair(L2(1.0), np.eye(2), [0, 1], 0.1, [-1.0, 1.0]), "sample_weight"),
    ],
)
def test_bad_input_says_what_and_where(build, message):
    with pytest.raises(InputError, match=message):
        build()
