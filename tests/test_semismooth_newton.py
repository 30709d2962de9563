"""SemismoothNewton: sub-samples, rows left out and checked, free intercepts, threads."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel import losses
from fenchel.compile.dispatch import compilable
from fenchel.data.accept import accept_matrix, take
from fenchel.engines import Local
from fenchel.kernels.envelope import curved_weight
from fenchel.solvers import SemismoothNewton
from fenchel.solvers.newton_line_search import search
from fenchel.solvers.semismooth_newton import row_reduction
from fenchel.solvers.semismooth_newton.settings import Settings
from fenchel.solvers.subsampling.samples import drawn, sizes, strided
from fenchel.solving.loop import Run


def classes(n=4000, d=6, seed=0, storage=np.asarray, **options):
    """Two classes, with one feature that few rows have and that is large there."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, -1] = 30.0 * (rng.random(n) < 0.002)
    y = np.where(X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n) > 0.3, 1.0, -1.0)
    return fenchel.Problem(storage(X), y, loss=options.pop("loss", "hinge"), **options)


def solved(problem, tol=1e-9, **options):
    result = fenchel.solve(problem, solver=SemismoothNewton(), tol=tol, max_time=60, **options)
    assert result.status is fenchel.Status.CERTIFIED, result
    return result


@pytest.mark.parametrize("alpha", [1e-8, 1e-4, 10.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_optimum_of_another_solver(alpha, fit_intercept):
    weights = np.random.default_rng(1).uniform(0.0, 2.0, 4000)
    problem = classes(alpha=alpha, fit_intercept=fit_intercept, sample_weight=weights, offset=0.1 * weights)
    certificate = solved(problem).certificate
    other = fenchel.solve(problem, solver="bundle", tol=1e-4, max_time=60).certificate
    assert other.dual <= certificate.primal * (1 + 1e-9)
    assert certificate.dual <= other.primal * (1 + 1e-9)


@pytest.mark.parametrize("moves", [1e-9, 1.0, 1e9])
def test_rows_that_should_not_have_been_left_out_come_back(moves, monkeypatch):
    expected = solved(classes(alpha=1e-5)).certificate
    settings = Settings(radius_per_score_change=moves, radius_per_gamma=min(moves, 3.0))
    monkeypatch.setattr(row_reduction, "SETTINGS", settings)
    certificate = solved(classes(alpha=1e-5)).certificate
    assert certificate.primal == pytest.approx(expected.primal, rel=1e-8)


def test_what_is_claimed_on_all_rows_is_true():
    """Claims of values come from all rows: no primal value is too low, no dual value much too high."""
    problem = classes(alpha=1e-5, fit_intercept=True, loss=losses.EpsilonInsensitive(0.1))
    best = solved(problem).certificate
    result = fenchel.solve(problem, solver=SemismoothNewton(), tol=1e-6)
    slack = 1e-7 * best.primal
    assert all(point.primal >= best.dual - slack for point in result.trace)
    assert all(point.dual <= best.primal + slack for point in result.trace)


@pytest.mark.parametrize("level", [0.0, 1e4, 1e7])
@pytest.mark.parametrize("loss", ["absolute", losses.Quantile(0.1), "hinge"])
def test_a_dual_value_that_is_claimed_is_that_of_the_dual_point(loss, level, monkeypatch):
    """Also far from the intercept, where no row has curvature and nothing can balance the dual variables."""
    rng, offset = np.random.default_rng(0), np.zeros(200)
    X = rng.standard_normal((200, 5))
    y = X @ rng.standard_normal(5) + rng.standard_normal(200)
    y, offset = (np.sign(y), offset + level) if loss == "hinge" else (y + level, offset)
    problem = fenchel.Problem(X, y, loss=loss, alpha=0.01, fit_intercept=True, offset=offset)
    claims, record = [], Run.record
    monkeypatch.setattr(Run, "record", lambda run, iterate: claims.append(iterate) or record(run, iterate))
    assert fenchel.solve(problem, solver=SemismoothNewton(), tol=1e-6).status is fenchel.Status.CERTIFIED
    claims = [claim for claim in claims if claim.primal is not None]
    finite = [claim for claim in claims if np.isfinite(claim.dual)]
    assert len(finite) > len(claims) / 2
    for claim in finite:
        u = claim.dual_point() if callable(claim.dual_point) else claim.dual_point
        found = fenchel.certify(problem, claim.coef, claim.intercept, dual_point=u)
        rounding = 1e-6 + found.floor  # rows near a nonsmooth point count, too
        assert found.dual - found.gap - rounding <= claim.dual <= found.dual + 0.1 * found.gap + rounding


def test_a_start_from_another_alpha_is_no_worse_than_none():
    problem, near = classes(alpha=1e-4, loss=losses.Quantile(0.9)), classes(alpha=2e-4, loss=losses.Quantile(0.9))
    cold, warm = solved(problem), solved(problem, start=solved(near))
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-8)
    assert warm.n_iter <= cold.n_iter


def test_threads_change_no_bit():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30000, 30))
    problem = fenchel.Problem(X, X[:, 0] + rng.standard_normal(30000), loss="quantile", alpha=1e-4, fit_intercept=True)
    one, two = (solved(problem, tol=1e-6, engine=Local(threads)) for threads in (1, 2))
    assert np.array_equal(one.coef, two.coef) and np.array_equal(one.dual_point, two.dual_point)
    assert one.passes == two.passes


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_rows_taken_are_the_rows(storage):
    X = sp.random(50, 7, 0.3, random_state=0).toarray()
    index = np.array([3, 4, 20, 49])
    rows = take(accept_matrix(storage(X))[1], index)
    again = rows.values if storage is np.asarray else sp.csr_matrix(rows[::-1], shape=(4, 7)).toarray()
    assert np.array_equal(again, X[index])


def test_sub_samples_grow_and_are_spread():
    assert sizes(1000, 10, 10_000) == []
    found = sizes(1_000_000, 50, 50_000_000)
    assert sizes(1_000_000, 50, 50_000_000_000) == []  # a row alone is so large
    assert found == sorted(found) and found[-1] <= 1_000_000 / 3 and found[0] >= 40 * 50
    small, large = sizes(40_000, 10, 400_000), sizes(40_000, 10, 4_000_000)
    assert len(large) == 2 and small == large[1:]  # of little data no smaller sample is taken first
    sample = strided(1000, 100)
    assert np.array_equal(sample // 10, np.arange(100))
    X = sp.random_array((1000, 30), density=0.2, rng=np.random.default_rng(0), format="csr")
    by_length = drawn(accept_matrix(X)[1], 1000, 100)
    assert np.array_equal(np.sort(by_length), sample)
    assert (np.diff(np.diff(X.indptr)[by_length]) >= 0).all()
    assert np.array_equal(drawn(accept_matrix(X.toarray())[1], 1000, 100), sample)


@pytest.mark.parametrize(
    "loss", [losses.Hinge(), losses.Quantile(0.9), losses.EpsilonInsensitive(0.2), losses.Absolute()], ids=repr
)
def test_the_weight_of_rows_with_curvature_is_that_of_their_dual_steps(loss):
    rng = np.random.default_rng(0)
    y, p, z = np.where(rng.random(60) < 0.5, -1.0, 1.0), rng.random(60), 3.0 * rng.standard_normal(60)
    compiled, counts = compilable(loss), []
    for gamma in (1e-3, 0.1, 1.0, 30.0):
        width = 1e-3 * gamma
        secant_steps = [
            loss.dual_step(0.0, a + width, gamma, t) > loss.dual_step(0.0, a, gamma, t)
            for a, t in zip(z, y, strict=True)
        ]
        assert curved_weight(compiled, y, p, z, gamma) == pytest.approx(
            p @ np.array(secant_steps, dtype=float), rel=1e-12
        )
        counts.append(sum(secant_steps))
    assert counts[0] < counts[-1]


@pytest.mark.parametrize("regularizer", ["l1", "elastic_net", "l2"])
def test_a_start_with_most_rows_exactly_at_their_nonsmooth_point(regularizer):
    """At w = 0 with the best intercept, the scores of the larger class are 1: no smoothing gives those rows curvature, and the
    search for the first smoothing went to 1e60."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 6)), np.where(np.arange(60) < 52, 1.0, -1.0)
    problem = fenchel.Problem(X, y, "hinge", regularizer, alpha=0.02, fit_intercept=True)
    start = fenchel.solve(fenchel.Problem(X, y, "hinge", "l1", alpha=1.0, fit_intercept=True))
    assert not start.coef.any() and start.intercept == 1.0
    found = fenchel.solve(problem, solver="semismooth_newton", start=start, tol=1e-6)
    assert found.status is fenchel.Status.CERTIFIED


@pytest.mark.parametrize("best", [0.01, 0.5, 1.0, 3.0, 40.0])
def test_a_line_search_finds_minima_beyond_the_full_step_too(best):
    line = object.__new__(search.Line)
    line.begin, line.decrement, line.z, line.dz = np.cosh(best), np.sinh(best), np.zeros(1), np.ones(1)
    line.at = lambda t: (np.cosh(t - best), np.sinh(t - best), np.cosh(t - best))
    t = line.search()
    assert abs(np.sinh(t - best)) <= 0.1 * np.sinh(best) and np.cosh(t - best) <= np.cosh(best)
