"""Bounds in exact arithmetic: true in real arithmetic, next to the rounded ones, and exact where everything is rational."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from cli_case import TWO, X, run
from fenchel import losses as L
from fenchel.certificates import rigorous_numbers as numbers
from fenchel.errors import InputError
from fenchel.readers.svmlight.write import write_svmlight

LOSSES = {
    "absolute": L.Absolute(), "epsilon_insensitive": L.EpsilonInsensitive(0.1), "tube_power": L.EpsilonInsensitive(0.1, 1.7),
    "exponential": L.Exponential(), "hinge": L.Hinge(), "huber": L.Huber(0.7), "logistic": L.Logistic(),
    "novelty": L.Novelty(), "poisson": L.Poisson(), "power_hinge": L.PowerHinge(1.5), "quantile": L.Quantile(0.3),
    "smoothed_hinge": L.SmoothedHinge(0.5), "squared": L.Squared(), "squared_hinge": L.SquaredHinge(),
}  # fmt: skip


def data(loss, n=20):
    rng = np.random.default_rng(len(loss))
    rows = rng.standard_normal((n, 3))
    t = rows @ [1.0, -1.0, 0.3] + rng.standard_normal(n)
    if getattr(LOSSES[loss], "valid_target", np.isfinite)(np.array([0.5]))[0]:
        return rows, np.round(np.abs(t)) if loss == "poisson" else t
    return rows, np.where(t > 0.0, 1.0, -1.0)


def make(loss, regularizer="l2", intercept=False, **more):
    return fenchel.Problem(*data(loss), LOSSES[loss], regularizer, 0.05, fit_intercept=intercept, **more)


@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
@pytest.mark.parametrize("loss", LOSSES)
def test_they_are_next_to_the_rounded_ones_and_never_cross(loss, regularizer):
    intercept = loss not in ("novelty", "exponential")
    s = np.random.default_rng(0).random(20)
    problem = make(loss, regularizer, intercept, sample_weight=s, offset=0.1 * np.sin(np.arange(20)))
    result = fenchel.solve(problem, tol=1e-9, max_time=10.0)
    rounded = fenchel.check_proof(problem, result.coef, result.intercept, result.dual_point)
    exact = fenchel.check_proof(problem, result.coef, result.intercept, result.dual_point, rigorous=True)
    assert (exact.basis, exact.floor) == ("exact arithmetic", 0.0)
    assert abs(exact.primal - rounded.primal) <= rounded.floor and abs(exact.dual - rounded.dual) <= rounded.floor
    rng = np.random.default_rng(1)
    for scale in (0.0, 1e-9, 1e-6, 0.1):  # no point is below the bound, and no dual point above the optimum
        w = result.coef + scale * rng.standard_normal(3)
        u = result.dual_point + scale * rng.standard_normal(20)
        found = fenchel.check_proof(problem, w, result.intercept, u, rigorous=True)
        assert exact.dual <= found.primal and found.dual <= exact.primal and found.gap >= 0.0


def test_the_formulas_are_those_of_the_losses():
    rng = np.random.default_rng(0)
    for loss in LOSSES.values():
        signs = not getattr(loss, "valid_target", np.isfinite)(np.array([0.5]))[0]
        table = numbers.EXACT[type(loss)]
        for z, y in zip(3.0 * rng.standard_normal(50), rng.standard_normal(50), strict=True):
            y = math.copysign(1.0, y) if signs else abs(y) if type(loss) is L.Poisson else y
            value, u = table.value(loss, Fraction(z), Fraction(y)), loss.slope(z, y)
            assert float(value) == pytest.approx(loss.value(z, y), rel=1e-13, abs=1e-15)
            low, high = table.domain(loss, Fraction(y))
            assert (low is None or low <= u + 1e-15) and (high is None or u - 1e-15 <= high)
            u = min(
                max(Fraction(u), low if low is not None else Fraction(u)), high if high is not None else Fraction(u)
            )
            star = table.conjugate(loss, u, Fraction(y))
            assert float(star) == pytest.approx(loss.conjugate(float(u), y), rel=1e-12, abs=1e-14)
            for other in (-2.0, 0.0, z, 1.5):  # it is at least z u - loss(z) in exact arithmetic: an upper bound
                assert star >= Fraction(other) * u - table.value(loss, Fraction(other), Fraction(y))


def test_bounds_of_functions_against_another_precision():
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(80):
        for x in (Fraction(1), Fraction(-3, 7), Fraction(10) ** -30, Fraction(5000, 7), Fraction(-700)):
            exact = mpmath.exp(mpmath.mpf(x.numerator) / x.denominator)
            above = numbers.exp_above(x)
            near = exact * (1 + (1 + abs(int(x))) * mpmath.mpf(10) ** -38)  # x itself is rounded to 40 digits
            assert exact < mpmath.mpf(above.numerator) / above.denominator < near
        for x in (Fraction(1), Fraction(3, 7), Fraction(10) ** -30, Fraction(10) ** 30):
            exact = mpmath.log(mpmath.mpf(x.numerator) / x.denominator)
            low, high = (mpmath.mpf(t.numerator) / t.denominator for t in (numbers.log_below(x), numbers.log_above(x)))
            assert low < exact < high and high - low <= mpmath.mpf(10) ** -37 * max(1, abs(exact))


def test_a_rational_problem_is_exact():
    """P and D of least squares are rational: they are the numbers next to them."""
    rows, y, w, u = (
        [[1, 2], [3, -1], [0, 1]],
        [1, 0, 2],
        [Fraction(1, 4), Fraction(-1, 8)],
        [Fraction(1, 2), Fraction(1, 4), -1],
    )
    weights, alpha = [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)], Fraction(1, 8)
    z = [sum(a * b for a, b in zip(row, w, strict=True)) for row in rows]
    primal = sum(p * (a - t) ** 2 / 2 for p, a, t in zip(weights, z, y, strict=True)) + alpha / 2 * sum(
        t * t for t in w
    )
    v = [-sum(p * t * row[j] for p, t, row in zip(weights, u, rows, strict=True)) for j in range(2)]
    dual = -sum(p * (t * t / 2 + t * q) for p, t, q in zip(weights, u, y, strict=True)) - sum(t * t for t in v) / (
        2 * alpha
    )
    problem = fenchel.Problem(np.array(rows, float), y, "squared", alpha=0.125, sample_weight=[1, 1, 2])
    for X_ in (problem.X, sp.csr_matrix(problem.X), problem.X.astype(np.float32)):
        p = fenchel.Problem(X_, y, "squared", alpha=0.125, sample_weight=[1, 1, 2])
        found = fenchel.check_proof(p, [0.25, -0.125], 0.0, [0.5, 0.25, -1.0], rigorous=True)
        assert Fraction(found.primal) >= primal > Fraction(math.nextafter(found.primal, -math.inf))
        assert Fraction(found.dual) <= dual < Fraction(math.nextafter(found.dual, math.inf))


def test_a_free_intercept_is_balanced_exactly():
    problem = make("hinge", "l2", True)
    result = fenchel.solve(problem, tol=1e-8)
    u = result.dual_point.copy()
    inside = np.flatnonzero((np.abs(u) > 0.1) & (np.abs(u) < 0.9))[0]
    u[inside] += 1e-12  # the tolerance of a floor would hide it
    found = fenchel.check_proof(problem, result.coef, result.intercept, u, rigorous=True)
    assert found.holds(1e-7)
    lonely = fenchel.check_proof(
        problem, result.coef, result.intercept, -(problem.y == 1.0).astype(float), rigorous=True
    )
    assert lonely.dual <= result.certificate.primal
    assert fenchel.check_proof(problem, result.coef, 0.0, np.full(20, np.nan), rigorous=True).dual == -np.inf


def test_what_has_no_exact_formula_is_refused():
    rows, y = data("hinge")
    for problem, words in (
        (fenchel.Problem(rows, np.arange(20) % 3, fenchel.multiclass.TopK(1)), "Softmax and MaxHinge, not for TopK"),
        (fenchel.Problem(rows, y, "hinge", fenchel.regularizers.L0(0.1)), "ridge > 0"),
        (fenchel.Problem(rows, y, "hinge", fenchel.regularizers.QNorm(0.1, 1.5)), "need L2, L1 or ElasticNet"),
        (fenchel.Problem(rows, y, "hinge", fenchel.regularizers.L2(0.1, weights=[0.0, 1.0, 1.0])), "weight > 0"),
    ):
        coef = np.zeros((3, 3)) if problem.is_vector else np.zeros(3)
        with pytest.raises(InputError, match=words):
            fenchel.check_proof(problem, coef, rigorous=True)


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_svmlight("two", X, TWO)
    assert run("train", "two", "--loss", "logistic", "--intercept", "--alpha", "0.05", "--model", "m") == 0
    capsys.readouterr()
    assert run("verify", "m", "two", "--rigorous") == 0
    shown = capsys.readouterr().out
    assert "rounding floor 0, basis exact arithmetic" in shown and "HOLDS" in shown
    write_svmlight("other", X + 0.01, TWO)
    assert run("verify", "m", "other", "--rigorous") == 4


@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["softmax", "max_hinge"])
def test_several_scores(loss, intercept, regularizer):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((24, 3))
    y, s = np.argmax(X @ rng.standard_normal((3, 3)) + 0.5 * rng.standard_normal((24, 3)), axis=1), rng.random(24)
    problem = fenchel.Problem(X, y, loss, regularizer, 0.05, fit_intercept=intercept, sample_weight=s)
    result = fenchel.solve(problem, tol=1e-9, max_time=10.0)
    arguments = problem, result.coef, result.intercept, result.dual_point
    rounded, exact = (fenchel.check_proof(*arguments, rigorous=rigorous) for rigorous in (False, True))
    assert (exact.basis, exact.floor) == ("exact arithmetic", 0.0)
    assert (
        abs(exact.primal - rounded.primal) <= rounded.floor and abs(exact.dual - rounded.dual) <= 10.0 * rounded.floor
    )
    assert exact.gap >= 0.0 and exact.holds(1e-6)
    U = result.dual_point.toarray() if sp.issparse(result.dual_point) else np.asarray(result.dual_point)
    for scale in (0.0, 1e-9, 1e-6, 0.1):  # no point is below the bound, and no dual point above the optimum
        W = result.coef + scale * rng.standard_normal(result.coef.shape)
        b = result.intercept + (scale * rng.standard_normal(3) if intercept else 0.0)
        found = fenchel.check_proof(problem, W, b, U + scale * rng.standard_normal(U.shape), rigorous=True)
        assert exact.dual <= found.primal and found.dual <= exact.primal and found.gap >= 0.0
    slopes = fenchel.check_proof(problem, result.coef, result.intercept, rigorous=True)
    assert slopes.dual <= exact.primal and (loss == "max_hinge" or slopes.holds(1e-3))
    lie = fenchel.check_proof(problem, result.coef, result.intercept, 1.5 * U, rigorous=True)
    assert lie.dual <= exact.primal


def test_two_classes_of_softmax_are_the_logistic_loss():
    """The same problem in another form: its bounds must overlap."""
    X, y = data("logistic")
    two = fenchel.Problem(X, (y > 0.0).astype(int), "softmax", alpha=0.1)
    one = fenchel.Problem(X, y, "logistic", alpha=0.05)
    intervals = []
    for problem in (one, two):
        found = fenchel.solve(problem, tol=1e-8)
        intervals.append(fenchel.check_proof(problem, found.coef, found.intercept, found.dual_point, rigorous=True))
    assert all(c.holds(1e-7) for c in intervals)
    assert max(c.dual for c in intervals) <= min(c.primal for c in intervals)


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
@pytest.mark.parametrize("scales", [None, [0.5, 1.0, 2.0]])
def test_the_bound_of_best_subsets(loss, scales):
    X, y = data(loss)
    problem = fenchel.Problem(X, y, loss, fenchel.regularizers.L0(0.02, 0.1, scales), fit_intercept=True)
    result = fenchel.solve(problem)
    rounded = fenchel.check_proof(problem, result.coef, result.intercept, result.dual_point)
    exact = fenchel.check_proof(problem, result.coef, result.intercept, result.dual_point, rigorous=True)
    assert abs(exact.primal - rounded.primal) <= rounded.floor and abs(exact.dual - rounded.dual) <= rounded.floor
    rng = np.random.default_rng(0)
    for _ in range(10):
        w = np.where(rng.random(3) < 0.5, result.coef + 0.1 * rng.standard_normal(3), 0.0)
        other = fenchel.check_proof(problem, w, result.intercept, 1.1 * result.dual_point, rigorous=True)
        assert exact.dual <= other.primal and other.dual <= exact.primal
