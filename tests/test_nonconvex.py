"""L0, MCP and SCAD: the lower bound against brute force, good primal points, and what must refuse them as not convex."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import fenchel
from fenchel.cli import main
from fenchel.errors import IncompatibleError, InputError
from fenchel.regularizers import L0, MCP, SCAD, Bounded, LinearlyConstrained, Shifted, check
from fenchel.regularizers.envelope import envelope_of
from fenchel.result import Status
from fenchel.solvers import SOLVERS

PENALTIES = {
    "l0": L0(0.05, 0.1),
    "mcp": MCP(0.2, 3.0, 0.05),
    "mcp_convex": MCP(0.2, 3.0, 0.5),
    "scad": SCAD(0.2, 3.7, 0.05),
    "scad_touching_twice": SCAD(0.2, 3.7, 0.3),
    "scad_convex": SCAD(0.2, 3.7, 0.6),
    "l0_scaled": L0(0.05, 0.1, scales=[0.5]),
    "mcp_scaled": MCP(0.2, 3.0, 0.05, scales=[2.0]),
}
each = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
LINE = np.linspace(-30.0, 30.0, 60001)


def by_definition(penalty, t):
    """r(t) for t >= 0, as the literature writes it, at scales of 1."""
    a, rest = penalty.alpha, 0.5 * penalty.ridge * t * t
    if isinstance(penalty, L0):
        return a * (t > 0.0) + rest
    if isinstance(penalty, MCP):
        g = penalty.gamma
        return np.where(t < g * a, a * t - t * t / (2 * g), g * a * a / 2) + rest
    middle = (2 * penalty.a * a * t - t * t - a * a) / (2 * (penalty.a - 1))
    return np.where(t <= a, a * t, np.where(t <= penalty.a * a, middle, a * a * (penalty.a + 1) / 2)) + rest


def on_line(penalty):
    scale = 1.0 if penalty.scales is None else float(penalty.scales[0])
    return by_definition(penalty, scale * np.abs(LINE))


@each
def test_values_conjugates_and_proxes_against_a_grid(penalty):
    R, near = on_line(penalty), np.abs(LINE) < 8.0
    for j in range(0, LINE.size, 501):
        assert penalty.value([LINE[j]]) == pytest.approx(R[j], rel=1e-12, abs=1e-15)
    for v in np.linspace(-1.0, 1.0, 41) * (5.0 * penalty.ridge):
        below = float(np.max(v * LINE - R))
        assert below <= penalty.conjugate([v]) <= below + 1e-5 * (1.0 + below)
    convex = envelope_of(penalty)
    E = np.array([convex.value([x]) for x in LINE[::20]])
    assert np.max(E - R[::20]) <= 1e-12
    assert np.all(np.diff(E, 2) >= -1e-12)  # it is convex, below R, and has the same conjugate: it is the envelope
    for v in np.linspace(-1.0, 1.0, 21) * (5.0 * penalty.ridge):
        assert np.max(v * LINE[::20] - E) == pytest.approx(penalty.conjugate([v]), rel=1e-3, abs=1e-3)
    for step, x in itertools.product((0.1, 1.0, 5.0), np.linspace(-4.0, 4.0, 23)):
        for reg, values in ((penalty, R), (convex, None)):
            w = float(reg.prox(np.array([x]), step)[0])
            there = step * reg.value([w]) + 0.5 * (w - x) ** 2
            others = step * R + 0.5 * (LINE - x) ** 2 if values is not None else step * E + 0.5 * (LINE[::20] - x) ** 2
            assert there <= others[near if values is not None else near[::20]].min() + 1e-12
    check(penalty, 1)


def least_squares(X, y, ridge):
    n, k = X.shape
    w = np.linalg.solve(X.T @ X / n + ridge * np.eye(k), X.T @ y / n)
    return w, 0.5 * float(np.mean((y - X @ w) ** 2)) + 0.5 * ridge * float(w @ w)


def best_subset(X, y, penalty):
    """(the global optimum of squared loss and L0 over all subsets of columns, the values of all subsets)."""
    values = {(): 0.5 * float(np.mean(y**2))}
    for k in range(1, X.shape[1] + 1):
        for chosen in itertools.combinations(range(X.shape[1]), k):
            values[chosen] = least_squares(X[:, chosen], y, penalty.ridge)[1] + penalty.alpha * k
    return min(values.values()), values


def correlated(rng, n, d):
    X = rng.standard_normal((n, d)) @ (np.eye(d) + rng.uniform(0.0, 1.5) * rng.standard_normal((d, d)) / np.sqrt(d))
    w = np.where(rng.random(d) < 0.4, rng.standard_normal(d), 0.0)
    return X, X @ w + rng.uniform(0.1, 1.0) * rng.standard_normal(n)


def test_brute_force_over_all_subsets_of_ten_columns():
    found = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = correlated(rng, 30, 10)
        penalty = L0(10.0 ** rng.uniform(-2.5, -0.5), 10.0 ** rng.uniform(-2.5, -0.5))
        problem = fenchel.Problem(X, y, loss="squared", regularizer=penalty)
        result = fenchel.solve(problem, tol=1e-7)
        optimum, values = best_subset(X, y, penalty)
        c = result.certificate
        assert c.dual - c.floor <= optimum <= c.primal + c.floor
        assert result.status in (Status.BOUNDED, Status.CERTIFIED)
        found += c.primal <= optimum * (1.0 + 1e-9)
        # What is proven of the support holds in every subset that is optimal up to rounding.
        support = result.support()
        for chosen, value in values.items():
            if value <= optimum * (1.0 + 1e-12):
                assert not set(np.flatnonzero(support.zero)) & set(chosen)
                w = least_squares(X[:, chosen], y, penalty.ridge)[0] if chosen else np.zeros(0)
                signs = np.zeros(10)
                signs[list(chosen)] = np.sign(w)
                assert np.all(signs[support.positive] > 0.0)
                assert np.all(signs[support.negative] < 0.0)
    assert found >= 11


def test_something_of_the_support_is_proven():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    y = np.sign(X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(60))
    support = fenchel.solve(fenchel.Problem(X, y, loss="logistic", regularizer=L0(0.02, 0.1))).support()
    assert support.positive.tolist() == [True, *[False] * 5]
    assert support.negative.tolist() == [False, True, *[False] * 4]
    assert support.zero.sum() == 4


def local_optimum(problem, starts):
    """The smallest value that Nelder and Mead find from any of these points."""

    def value(x):
        return fenchel.certify(problem, x, 0.0, np.zeros(problem.n)).primal

    return min(
        scipy.optimize.minimize(value, x, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-12}).fun
        for x in starts
    )


@pytest.mark.parametrize("name", ["mcp", "scad", "scad_touching_twice"])
def test_grids_in_two_dimensions(name):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = correlated(rng, 20, 2)
        problem = fenchel.Problem(X, y, loss="squared", regularizer=PENALTIES[name])
        result = fenchel.solve(problem, tol=1e-7)
        axis = np.linspace(-3.0, 3.0, 301)
        w = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
        values = 0.5 * np.mean((w @ X.T - y) ** 2, axis=1) + by_definition(PENALTIES[name], np.abs(w)).sum(axis=1)
        best = min(values.min(), local_optimum(problem, w[np.argsort(values)[:3]]))
        c = result.certificate
        assert c.dual - c.floor <= best
        assert c.primal <= best + 1e-6


LOSSES = ["squared", "logistic", "huber", "squared_hinge", "poisson", "hinge", "absolute", "quantile"]


def random_problem(seed, rng):
    loss = LOSSES[seed % len(LOSSES)]
    X, y = correlated(rng, int(rng.integers(8, 40)), int(rng.integers(2, 12)))
    if loss in ("logistic", "squared_hinge", "hinge"):
        y = np.where(y > 0.0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
    if loss == "poisson":
        y = rng.poisson(np.exp(np.clip(y, -3.0, 2.0))).astype(float)
    ridge, alpha = (0.0 if seed % 5 == 0 else 10.0 ** rng.uniform(-3, 0)), 10.0 ** rng.uniform(-3, -0.5)
    scales = rng.uniform(0.5, 2.0, X.shape[1]) if seed % 4 == 1 else None
    penalty = [L0(alpha, ridge, scales), MCP(alpha, 3.0, ridge, scales), SCAD(alpha, 3.7, ridge, scales)][seed % 3]
    return fenchel.Problem(
        sp.csr_matrix(X) if seed % 2 else X, y, loss=loss, regularizer=penalty, fit_intercept=seed % 7 < 3,
        sample_weight=rng.uniform(0.1, 2.0, X.shape[0]) if seed % 3 == 2 else None,
        offset=0.1 * rng.standard_normal(X.shape[0]) if seed % 6 == 5 else None,
    )  # fmt: skip


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 400), marks=pytest.mark.slow)])
def test_no_bound_is_above_any_value_and_the_checker_agrees(seeds):
    """Values at many points, local optima from many starts among them: none may be below D."""
    for seed in seeds:
        rng = np.random.default_rng(1000 + seed)
        problem = random_problem(seed, rng)
        result = fenchel.solve(problem, tol=1e-6)
        c = result.certificate
        assert result.status in (Status.BOUNDED, Status.CERTIFIED), (seed, result)
        assert np.isfinite(c.dual) and c.gap >= -c.floor
        again = fenchel.check_proof(problem, result.coef, result.intercept, result.dual_point)
        assert again.dual == pytest.approx(c.dual, abs=again.floor + c.floor + 1e-13)
        assert again.primal == pytest.approx(c.primal, abs=again.floor + c.floor + 1e-13)
        for _ in range(4):
            w = np.where(rng.random(problem.d) < 0.5, result.coef, 0.0) + rng.choice([0.0, 0.1]) * rng.standard_normal(
                problem.d
            )
            other = fenchel.certify(problem, w, result.intercept)
            assert other.primal >= c.dual - c.floor
            assert other.dual - other.floor <= c.primal  # the bound that `certify` builds from coefficients is one, too
            warm = fenchel.solve(problem, start=(w, result.intercept), tol=1e-6) if seed % 12 == 0 else result
            assert warm.certificate.primal >= c.dual - c.floor


def test_a_false_dual_point_is_refuted():
    rng = np.random.default_rng(3)
    X, y = correlated(rng, 40, 6)
    problem = fenchel.Problem(X, y, loss="squared", regularizer=L0(0.05, 0.1))
    result = fenchel.solve(problem)
    optimum = best_subset(X, y, problem.regularizer)[0]
    for scale in (0.5, 0.9, 1.1, 2.0):
        for found in (
            fenchel.certify(problem, result.coef, 0.0, scale * result.dual_point),
            fenchel.check_proof(problem, result.coef, 0.0, scale * result.dual_point),
        ):
            assert found.dual <= optimum
            assert found.dual < result.certificate.dual


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    y = np.sign(X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(60))
    return fenchel.solve(fenchel.Problem(X, y, loss="logistic", regularizer=L0(0.002, 0.01)))


def test_convex_solvers_refuse_by_name(result):
    for name, solver in SOLVERS.items():
        if name != "swap_descent":
            sentence = "`L0` is not convex" if "scalar" in solver.kinds else "SwapDescent"
            with pytest.raises(IncompatibleError, match=sentence):
                fenchel.solve(result.problem, solver=solver())
    convex = fenchel.Problem(result.problem.X, result.problem.y, loss="logistic", regularizer="l1", alpha=0.1)
    with pytest.raises(IncompatibleError, match="none of `L0`, `MCP` and `SCAD`"):
        fenchel.solve(convex, solver="swap_descent")
    for loss, y in (("softmax", np.arange(60) % 3), ("roc_area", result.problem.y)):
        for intercept in (False, True) if loss == "softmax" else (False,):
            p = fenchel.Problem(result.problem.X, y, loss=loss, regularizer=L0(0.1, 0.1), fit_intercept=intercept)
            with pytest.raises(IncompatibleError, match="L0"):
                fenchel.solve(p)


def test_what_rests_on_convexity_refuses(result):
    problem = result.problem
    X, y = problem.X, problem.y
    for ask in (
        result.ball,
        lambda: result.certain(X),
        lambda: result.staleness(X[:2], y[:2]),
        lambda: fenchel.leave_one_out(result),
        lambda: fenchel.removable_rows(result),
        lambda: fenchel.solve(problem, until=fenchel.Decisions(X)),
        lambda: fenchel.ClassifierCV("logistic", regularizer=L0(1.0, 0.1), alphas=(1e-3, 1e-1), certified=True).fit(
            X, y
        ),
        lambda: fenchel.Classifier("logistic", regularizer=L0(0.1, 0.1)).fit(X, y).predict_certain(X),
    ):
        with pytest.raises(InputError, match="L0 is not (strongly )?convex"):
            ask()
    with pytest.raises(InputError, match="L0 is not convex"):
        fenchel.path(problem, alphas=(1e-3, 1e-1), eps=0.05)
    for wrap in (
        lambda: Shifted(L0(0.1), np.zeros(6)),
        lambda: LinearlyConstrained(L0(0.1), np.ones((1, 6)), 0.0, 1.0),
        lambda: Bounded(L0(0.1), 0.0),
    ):
        with pytest.raises(InputError, match="L0"):
            wrap()


def test_lists_of_strengths_are_bounded_one_by_one(result):
    path = fenchel.path(result.problem, alphas=[0.1, 0.01, 0.002])
    for found in path.results:
        optimum = fenchel.solve(found.problem).certificate
        assert found.certificate.dual - found.certificate.floor <= optimum.primal


def test_status_says_that_the_distance_from_the_global_optimum_is_proven(result):
    assert result.status is Status.BOUNDED
    assert "global optimum" in result.advice
    assert not result.converged
    assert result.certificate.gap > 0.0


def test_estimators_models_and_the_command_line(tmp_path, capsys, recwarn):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6)) * [1.0, 10.0, 1.0, 1.0, 1.0, 1.0]
    y = X[:, 0] - 0.1 * X[:, 1] + 0.3 * rng.standard_normal(80)
    model = fenchel.Regressor("squared", regularizer=L0(0.02, 0.05), standardize=True).fit(X, y)
    assert not [w for w in recwarn if "tolerance" in str(w.message)]
    assert np.flatnonzero(model.coef_).tolist() == [0, 1]
    scaled = fenchel.Regressor("squared", regularizer=L0(0.02, 0.05)).fit(X / X.std(axis=0), y)
    np.testing.assert_allclose(model.coef_ * X.std(axis=0), scaled.coef_, rtol=1e-6)
    fenchel.save(tmp_path / "l0.fenchel", model)
    back = fenchel.load(tmp_path / "l0.fenchel")
    assert back.regularizer == model.regularizer_
    assert back.status is model.to_model().status
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    table = tmp_path / "rows.csv"
    lines = ["a,b,c,d,e,f,target", *(",".join(map(repr, map(float, row))) for row in np.column_stack([X, y]))]
    table.write_text("\n".join(lines) + "\n")
    out = str(tmp_path / "m.fenchel")
    arguments = [
        "--loss",
        "squared",
        "--penalty",
        "l0",
        "--penalty-param",
        "ridge=0.05",
        "--alpha",
        "0.02",
        "--target",
        "target",
    ]
    assert main(["train", str(table), "--model", out, *arguments, "--report", str(tmp_path / "r.html")]) in (0, 3)
    assert main(["verify", out, str(table)]) in (0, 3)
    assert main(["verify", "--independent", out, str(table)]) in (0, 3)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "BOUNDED" in page or "CERTIFIED" in page


def test_parameters_are_checked():
    for make in (lambda: L0(0.1, -1.0), lambda: MCP(0.1, 0.0), lambda: SCAD(0.1, 2.0), lambda: L0(0.1, 0.1, [0.0])):
        with pytest.raises(InputError):
            make()
    with pytest.raises(InputError, match="scales"):
        fenchel.Problem(np.eye(3), [1.0, 2.0, 3.0], loss="squared", regularizer=L0(0.1, 0.1, [1.0]))
