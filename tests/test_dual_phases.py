"""Phases of dual ascent: the copy of the rows that move, the systems of the free ones, what the steps promise."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel import regularizers as R
from fenchel.data.accept import accept_matrix
from fenchel.engines import Local
from fenchel.kernels.dual_phase import HIGH_GAIN_RATIO, MAX_HIGH_GAIN_SHARE, REPEAT_RULE, REPEATS
from fenchel.kernels.free_rows import solve_free
from fenchel.oracles.scalar import Oracle
from fenchel.solvers import DualAscent
from fenchel.solvers.base import Start
from fenchel.solvers.dual_ascent import phases
from fenchel.solvers.dual_ascent.active_rows import Unchanged, Workspace, columns_of, take_rows
from fenchel.solvers.dual_ascent.free_newton import Free, Newton
from fenchel.solvers.dual_ascent.mirror_form import make_form
from fenchel.solvers.dual_ascent.phases import EpochSchedule, Phases
from fenchel.solvers.dual_ascent.settings import SETTINGS
from problems import LOSSES, problem


def wide(loss="hinge", alpha=1e-4, n=1500, d=3000, seed=0, **options):
    """Sparse rows of unit length in more columns than rows, common and rare ones, near-duplicates among them."""
    rng = np.random.default_rng(seed)
    columns = (d * rng.random((n, 12)) ** 3).astype(int)
    X = sp.csr_matrix((rng.random(columns.size) + 0.1, (np.repeat(np.arange(n), 12), columns.ravel())), shape=(n, d))
    X = sp.vstack([X[:50], X[: n - 50]], format="csr")
    X = sp.csr_matrix(sp.diags(1.0 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X)
    z = X @ rng.standard_normal(d)
    y = np.where(z + 0.3 * z.std() * rng.standard_normal(n) > 0, 1.0, -1.0)
    return fenchel.Problem(X, y, loss=loss, alpha=alpha, **options)


def phases_of(p, seed=0):
    oracle = Oracle(p, Local(1))
    form = make_form(oracle)
    return Phases(oracle, Start(np.zeros(p.d)), form, seed, phases.inverse_bias_of(p, form))


def test_a_copy_holds_the_rows_with_common_columns_first():
    X = wide().X
    rows = accept_matrix(X)[1]
    columns = columns_of(rows, X.shape[1], Local())
    index = np.random.default_rng(1).permutation(X.shape[0])[:700]
    copy = take_rows(rows, index, columns, Local(), Workspace())
    got = sp.csr_matrix((copy.values, copy.indices.astype(np.int64), copy.indptr.astype(np.int64)), (700, X.shape[1]))
    w = np.random.default_rng(2).standard_normal(X.shape[1])
    np.testing.assert_array_equal(columns.original(columns.renamed(w)), w)
    np.testing.assert_allclose(got @ columns.renamed(w), X[index] @ w, rtol=1e-12, atol=1e-14)
    frequency = columns.renamed(np.bincount(X.indices, minlength=X.shape[1]).astype(float))
    assert (np.diff(frequency) <= 0).all()


@pytest.mark.parametrize("wide", [3, SETTINGS.values_per_dense_copy // 7, SETTINGS.values_per_dense_copy + 1])
def test_copies_of_dense_rows_share_their_workspace(wide):
    rng = np.random.default_rng(0)
    X, workspace = rng.standard_normal((40, wide)), Workspace()
    rows = accept_matrix(X)[1]
    first = rng.permutation(40)[:30]
    copy = take_rows(rows, first, Unchanged(), Local(), workspace)
    np.testing.assert_array_equal(copy.values, X[first])
    kept = workspace.values
    inner = np.flatnonzero(rng.random(30) < 0.5)
    within = take_rows(copy, inner, Unchanged(), Local(), workspace)  # in place
    np.testing.assert_array_equal(within.values, X[first[inner]])
    fewer = take_rows(rows, first[:20], Unchanged(), Local(), workspace)
    np.testing.assert_array_equal(fewer.values, X[first[:20]])
    assert workspace.values is kept
    more = take_rows(rows, np.arange(40), Unchanged(), Local(), workspace)
    np.testing.assert_array_equal(more.values, X)
    np.testing.assert_array_equal(rows.values, X)  # what is the user's stays as it was


def value_of(phases):
    """D at the phases' u, from the definition, with v computed anew."""
    p, u = phases.oracle.problem, phases.all_rows.u
    conjugates = sum(w * p.loss.conjugate(t, y) for w, t, y in zip(p.weights, u, p.y, strict=True))
    return -conjugates - np.sum((p.X.T @ (p.weights * u)) ** 2) / (2.0 * p.regularizer.alpha)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_gains_are_what_the_dual_rises_by_at_least_and_it_never_falls(loss):
    phases = phases_of(wide(loss))
    values = [value_of(phases)]
    for _ in range(6):
        phases.epochs(1)
        values.append(value_of(phases))
        assert 0.0 < phases.gains.sum() <= (values[-1] - values[-2]) * (1.0 + 1e-9) + 1e-15
    rises = np.diff(values)
    assert (rises > 0.0).all()


def repeats_of(phases, high_gain):
    """How many epochs of their own so many high-gain rows have before the next epoch over all rows."""
    begun = phases.oracle.passes
    phases.epochs(1)
    return (phases.oracle.passes - begun - 1.0) * phases.all_rows.n / high_gain


def test_rows_that_gain_most_have_epochs_of_their_own():
    phases = phases_of(wide("hinge"))
    assert repeats_of(phases, 1) == pytest.approx(0.0)  # nothing was known of the rows
    high_gain = np.count_nonzero(phases.gains > HIGH_GAIN_RATIO * phases.gains.mean())
    assert 0 < high_gain < MAX_HIGH_GAIN_SHARE * phases.all_rows.n
    repeats = repeats_of(phases, high_gain)
    assert repeats == pytest.approx(round(repeats)) and 1 <= round(repeats) <= REPEATS
    phases.gains[:] = 1.0  # all alike
    assert repeats_of(phases, 1) == pytest.approx(0.0)


@pytest.mark.parametrize(("others", "repeats"), [(0.0, REPEATS), (1.0, 1)])
def test_with_differentiable_losses_they_have_them_as_long_as_they_gain_more_than_the_others(
    monkeypatch, others, repeats
):
    monkeypatch.setitem(REPEAT_RULE, True, (2.0, 0.0))  # whatever they gained before
    phases = phases_of(wide("logistic"))
    phases.epochs(1)
    phases.gains[:] = others
    phases.gains[:40] = 1e3  # more than they ever will
    assert repeats_of(phases, 40) == pytest.approx(repeats)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize(("share", "repeats"), [(0.0, REPEATS), (1.1, 1)])
def test_they_have_them_as_long_as_they_gain_their_share_of_the_most(monkeypatch, loss, share, repeats):
    monkeypatch.setitem(REPEAT_RULE, loss == "logistic", (0.0, share))
    phases = phases_of(wide(loss))
    phases.epochs(1)
    phases.gains[:] = 1.0
    phases.gains[:40] = 1e3
    assert repeats_of(phases, 40) == pytest.approx(repeats)


@pytest.mark.parametrize(("loss", "tol", "epochs"), [("logistic", 0.5, 1), ("logistic", 1e-9, 4), ("hinge", 0.5, 4)])
def test_the_gap_is_first_evaluated_as_soon_as_the_gains_allow_it(loss, tol, epochs):
    phases = phases_of(wide(loss, alpha=1e-2))
    phases.first()
    assert phases.begin(4, tol) == epochs
    gap = phases.check(phases.evaluate())
    assert (gap.primal - gap.dual) / gap.primal <= tol or tol == 1e-9


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("alpha", [1e-2, 1e-3, 1e-4])
def test_gap_is_predicted_by_the_gain_of_an_epoch_once_it_was_evaluated(loss, alpha):
    phases = phases_of(wide(loss, alpha=alpha))
    phases.first()
    phases.epochs(3)
    phases.learn(phases.evaluate()[2])
    for _ in range(2):
        phases.epochs(1)
        left = phases.left(tol := phases.gap_per_gain * phases.gains.sum() / phases.scale)
        found = phases.check(phases.evaluate())
        assert 0.25 <= left * tol * found.primal / (found.primal - found.dual) <= 4.0
        phases.learn(found.primal - found.dual)
    assert phases.left(1e-3 * tol) == np.inf
    for ratio, believed in ((7.0, 7.0), (1e-3, SETTINGS.gap_per_gain), (1e6, SETTINGS.max_gap_per_gain)):
        phases.learn(ratio * phases.gains.sum())
        assert phases.gap_per_gain == pytest.approx(believed)


def test_rows_that_gained_most_have_a_last_epoch_alone():
    phases = phases_of(wide("squared_hinge", alpha=1e-3))
    phases.epochs(2)
    high_gain = phases.gains > HIGH_GAIN_RATIO * phases.gains.mean()
    before, value, gap, passes = phases.all_rows.u.copy(), value_of(phases), phases.evaluate()[2], phases.oracle.passes
    phases.epochs(0)
    assert (phases.oracle.passes - passes) * phases.all_rows.n == pytest.approx(np.count_nonzero(high_gain))
    moved = phases.all_rows.u != before
    assert moved.any() and not moved[~high_gain].any()
    assert value_of(phases) > value
    assert phases.evaluate()[2] < gap


def test_damping_at_which_a_step_had_to_be_cut_is_not_tried_again():
    newton = Newton(phases_of(wide()))
    newton.damping, newton.step_fraction = 1e-3, 0.1
    newton.adapt(0.9)
    assert newton.damping > 1e-3
    newton.step_fraction = 1.0
    for _ in range(20):
        newton.adapt(0.1)  # steps that do well
    assert newton.damping > 1e-3
    fresh = Newton(newton.phases)
    for _ in range(20):
        fresh.adapt(0.1)
    assert fresh.damping < 1e-9


@pytest.mark.parametrize(
    ("tol", "gap", "aim"),
    [
        (1e-6, 0.5, 1e-2),  # the largest that is aimed at
        (1e-6, 5e-3, 1e-3),  # the next power of ten
        (1e-6, 9e-4, 0.9e-6),  # near the end, the tolerance itself
        (1e-3, 2e-2, 0.9e-3),
        (1e-3, 5e-2, 1e-2),
        (1e-3, 5e-4, 1e-4),  # beyond the tolerance: whoever asked for it did not stop
    ],
)
def test_all_rows_are_evaluated_when_the_next_power_of_ten_or_the_tolerance_is_reached(tol, gap, aim):
    assert EpochSchedule(1e-2, tol).aim(gap) == pytest.approx(aim)


@pytest.mark.parametrize(("tol", "copied"), [(1e-5, False), (1e-12, True)])
def test_a_solve_that_is_nearly_done_ends_without_a_copy(monkeypatch, tol, copied):
    copies = []
    monkeypatch.setattr(Phases, "narrow", lambda self, active: copies.append(active))
    p = wide("squared_hinge", alpha=1e-3)
    oracle = Oracle(p, Local(1))
    for iterate in phases.iterates(oracle, Start(np.zeros(p.d), tol=tol), make_form(oracle), 0):
        if copies or iterate.primal - iterate.dual <= tol * iterate.primal:
            break
    assert bool(copies) == copied


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_the_free_rows_system_is_solved(storage):
    rng = np.random.default_rng(0)
    X, p = rng.standard_normal((30, 5)), rng.random(30)
    free, strength, inverse_bias = np.arange(3, 23, dtype=np.uint64), 0.3, 0.7
    rows, mass, part = accept_matrix(storage(X))[1], p[3:23], X[3:23]
    Q = (part @ part.T / strength + inverse_bias) * mass
    shift, r = rng.random(20), rng.standard_normal(20)
    held, x = np.arange(20) < 4, np.zeros(20)
    arguments = (rows, mass, np.diag(Q).copy(), shift, 1.0 / strength, inverse_bias, free, r)
    work = (np.zeros(5), np.empty((4, 20)))
    first = solve_free(*arguments, np.zeros(20, dtype=bool), x, 0.0, 500, 1e-12, *work)[1]
    np.testing.assert_allclose((Q + np.diag(shift)) @ x, r, atol=1e-9)
    x[held] = 0.25
    solve_free(*arguments, held, x, first, 500, 1e-12, *work)
    assert (x[held] == 0.25).all()
    np.testing.assert_allclose(((Q + np.diag(shift)) @ x)[~held], r[~held], atol=1e-9)


@pytest.mark.parametrize(("loss", "rho"), [("hinge", 0.0), ("squared_hinge", 1.0), ("epsilon_1", 0.0), ("huber", 1.0)])
def test_two_dual_steps_tell_the_conjugate_near_u(loss, rho):
    """rho is the derivative of loss*', and r that of the dual along the row (Huber(0.5): u^2 / 2 up to 1/2)."""
    p = problem(LOSSES[loss], R.L2(0.05), n=40)
    phases = phases_of(p)
    phases.epochs(2)
    phases.evaluate()
    free = Free(phases.loss, phases.all_rows, phases.subset_z)
    ahead = free.u + 2.0 * free.r / free.probe  # beyond what was probed: still in the same piece?
    low, high = np.array([p.loss.dual_domain(target) for target in free.y]).T
    inside = (low < ahead) & (ahead < high) & (ahead * free.u > 0.0) & (np.minimum(free.u - low, high - free.u) > 1e-3)
    inside &= np.abs(ahead - free.u) > 1e-12  # what a row does that stands still is rounding
    assert inside.sum() > 3
    np.testing.assert_allclose(free.rho[inside], rho, atol=1e-6)
    for k in np.flatnonzero(inside):
        high, low = (p.loss.conjugate(free.u[k] + h, free.y[k]) for h in (1e-6, -1e-6))
        assert free.r[k] == pytest.approx(free.z[k] - (high - low) / 2e-6, abs=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "epsilon_1", "poisson"])
def test_no_phase_lowers_the_dual_value(loss):
    p = problem(LOSSES[loss], R.L2(0.05), weighted=True, offset=True, n=40)
    phases = phases_of(p)
    newton = Newton(phases)
    found = [phases.first().dual]
    for _ in range(8):
        phases.epochs(1)
        found.append(phases.check(phases.evaluate()).dual)
        list(newton.step())
        found.append(phases.check(phases.evaluate()).dual)
        newton.damping *= 0.3
    assert np.min(np.diff(found)) >= -1e-12 * (1 + np.max(np.abs(found)))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("alpha", [1e-4, 1e-2])
def test_wide_sparse_problems_agree_with_cutting_planes(alpha, intercept):
    p = wide(alpha=alpha, fit_intercept=intercept, sample_weight=np.random.default_rng(5).random(1500))
    found = fenchel.solve(p, solver="dual_ascent", tol=1e-6, max_time=60)
    other = fenchel.solve(p, solver="bundle", tol=0.1, max_time=60)
    assert found.status is fenchel.Status.CERTIFIED
    assert other.certificate.dual <= found.certificate.primal + 1e-12
    assert found.certificate.dual <= other.certificate.primal + 1e-12


def test_rows_that_were_left_out_are_taken_back():
    p = wide()
    phases = phases_of(p)
    phases.first()
    phases.epochs(3)
    phases.check(phases.evaluate())
    few = np.zeros(p.n, dtype=bool)
    few[::10] = True
    phases.narrow(few)  # too few, on purpose
    phases.epochs(10)
    own = phases.evaluate()
    assert not isinstance(phases.columns, Unchanged)
    whole = phases.check(own)
    assert whole.primal - whole.dual > 2.0 * own[2]
    np.testing.assert_allclose(
        whole.primal, fenchel.certify(p, whole.coef, dual_point=whole.dual_point).primal, rtol=1e-9
    )
    active, count = phases.movable()
    assert count > few.sum()
    phases.narrow(active)
    assert set(np.flatnonzero(active)) == set(phases.subset.number)


def test_a_path_profits_from_its_last_point_and_runs_repeat():
    a = fenchel.solve(wide(), solver="dual_ascent", tol=1e-5)
    cold, warm = (fenchel.solve(wide(alpha=8e-5), solver="dual_ascent", tol=1e-5, start=s) for s in (None, a))
    assert warm.status is fenchel.Status.CERTIFIED
    assert warm.passes < cold.passes
    again = fenchel.solve(wide(), solver=DualAscent(), tol=1e-5, engine=Local(2))
    np.testing.assert_array_equal(a.coef, again.coef)
