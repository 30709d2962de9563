"""Every loss of several scores x regularizer x solver that fits: certified, and equal to CVXPY."""

from __future__ import annotations

import itertools
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

import fenchel
from fenchel import multiclass as M
from fenchel import regularizers as R
from fenchel import solvers
from fenchel.certificates import vector
from fenchel.certificates.scalar import certifier_of
from fenchel.certificates.vector import primal_sums
from fenchel.data.row_blocks import limit_threads
from fenchel.errors import IncompatibleError, InputError
from fenchel.oracles.vector import VectorOracle
from fenchel.selection import requirements
from fenchel.solvers import BlockAscent, BlockFrankWolfe, FrankWolfe
from fenchel.solvers.frank_wolfe.solver import best_step
from judge import judge
from vector_problems import COST, LOSSES, TREE, optimum, problem

REGULARIZERS = {
    "l2": R.L2(0.05),
    "diagonal": R.Quadratic(0.05, np.array([1.0, 4.0, 0.5])),
    "l1": R.L1(0.02),
    "elastic_net": R.ElasticNet(0.05, 0.5),
}
TOL = 1e-4


def grid():
    return [
        pytest.param(loss, reg, marks=pytest.mark.xdist_group(loss), id=f"{loss}-{reg}")
        for loss, reg in itertools.product(LOSSES, REGULARIZERS)
    ]


@pytest.mark.parametrize(("loss", "reg"), grid())
def test_every_pair_is_certified_and_equals_cvxpy(loss, reg):
    free = getattr(LOSSES[loss], "free_intercepts", False)
    for intercepts, weighted in [(False, True), *([(True, False)] if free else [])]:
        p = problem(loss, REGULARIZERS[reg], intercepts, weighted)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CVXPY's own remarks
            best = optimum(loss, p)
        fitting = [name for name, cls in solvers.SOLVERS.items() if requirements.fits(cls, p)]
        for solver in ["auto", *fitting]:
            result = fenchel.solve(p, solver=solver, tol=TOL, max_time=240)
            c, where = result.certificate, f"{solver} {intercepts=} {weighted=}: {result}"
            assert result.status is fenchel.Status.CERTIFIED, where
            assert c.gap >= -c.floor, where
            judge(result)
            slack = 1e-6 * (1 + abs(best))  # what the reference solver's own tolerance leaves open
            assert c.dual - slack <= best <= c.primal + slack, where
            again = fenchel.certify(p, result.coef, result.intercept, result.dual_point)
            assert again.dual == pytest.approx(c.dual, rel=1e-9, abs=1e-12), where


@pytest.mark.parametrize("loss", [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in LOSSES])
def test_a_certificate_at_the_slopes_computes_the_scores_once_and_is_the_same(loss, monkeypatch):
    p = problem(loss, REGULARIZERS["l2"], free=getattr(LOSSES[loss], "free_intercepts", False))
    w, certifier = np.random.default_rng(1).standard_normal(p.d), certifier_of(p)
    slow, point = certifier.certificate(p, w, 0.0, certifier.slopes_at(p, w, 0.0))
    asked, before = [], vector.primal_sums
    monkeypatch.setattr(vector, "primal_sums", lambda *a, **k: asked.append(a) or before(*a, **k))
    fast, same = certifier.at_slopes(p, w, 0.0)
    assert len(asked) == 1 and fast == slow and np.array_equal(point, same)


@pytest.mark.parametrize(
    "loss", [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in ("max_hinge", "weighted_usunier", "softmax")]
)
def test_a_class_without_a_row_has_a_score_all_the_same(loss):
    q = problem(loss, REGULARIZERS["l2"])
    y = np.where(q.y == 2, 3, q.y)
    X = np.repeat(q.X[:6], 4, axis=0)  # and rows that are equal, some of them with other classes: scores tie
    p = fenchel.Problem(X, y, loss=q.loss, regularizer=q.regularizer)
    best = optimum(loss, p)
    result = fenchel.solve(p, tol=TOL)
    assert result.status is fenchel.Status.CERTIFIED
    assert result.coef.shape == (4, 3)
    assert result.certificate.dual - 1e-6 <= best <= result.certificate.primal + 1e-6


@pytest.mark.parametrize("loss", [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in ("max_hinge", "softmax")])
def test_csr_float32_and_blocks_give_the_same_optimum(loss):
    p = problem(loss, REGULARIZERS["l2"])
    a = fenchel.solve(p, tol=1e-6)
    for storage in (sp.csr_matrix, lambda X: sp.csr_matrix(X, dtype=np.float32), lambda X: X.astype(np.float32)):
        q = problem(loss, REGULARIZERS["l2"], storage=storage)
        b = fenchel.solve(q, tol=1e-6)
        assert b.status is fenchel.Status.CERTIFIED
        assert b.certificate.primal == pytest.approx(a.certificate.primal, rel=2e-6)


def duals_of_frank_wolfe(p, solver, steps=26):
    """Recomputed, not claimed; the claims must be lower bounds of them."""
    duals = []
    for _, iterate in zip(range(steps), solver.iterates(VectorOracle(p), solvers.Start(np.zeros(p.d))), strict=False):
        u = iterate.dual_point
        if u is not None:
            W, b = p.present(iterate.coef, 0.0)
            duals.append(fenchel.certify(p, W, b, u() if callable(u) else u).dual)
            assert duals[-1] >= iterate.dual - 1e-9 * (1.0 + abs(duals[-1]))
    return np.array(duals)


@pytest.mark.parametrize(
    "regularizer", [R.L2(0.3), *list(REGULARIZERS.values())[1:2], R.ElasticNet(0.05, 0.5)], ids=repr
)
@pytest.mark.parametrize("apply_curvature", [0.0, 2.0])
def test_the_step_of_frank_wolfe_is_the_best_one(regularizer, apply_curvature):
    """Against a grid, also where an end of the segment is best."""
    rng, ends = np.random.default_rng(1), []
    grid = np.linspace(0.0, 1.0, 2001)
    for _ in range(30):
        a, turn, rise = rng.standard_normal(3), rng.standard_normal(3), 20.0 * rng.standard_normal()
        dual = [t * rise - 0.5 * t * t * apply_curvature - regularizer.conjugate(-(a + t * turn)) for t in grid]
        t = best_step(regularizer, a, turn, rise, apply_curvature)
        found = t * rise - 0.5 * t * t * apply_curvature - regularizer.conjugate(-(a + t * turn))
        assert 0.0 <= t <= 1.0 and found >= max(dual) - 1e-12 * (1.0 + abs(found))
        ends.append(t)
    assert {0.0, 1.0} < set(ends)  # both ends, and some between


@pytest.mark.parametrize("gamma", [None, 0.01, 1.0])
@pytest.mark.parametrize("scale", [0.01, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.xdist_group("max_hinge")
def test_the_dual_of_frank_wolfe_with_line_search_never_falls(scale, gamma):
    """alpha n from 0.01 to 100, with and without smoothing."""
    q = problem("max_hinge", R.L2(0.05))
    loss = M.MaxHinge() if gamma is None else M.MoreauVector(M.MaxHinge(), gamma)
    for features in (q.X, 0.1 * q.X):
        p = fenchel.Problem(features, q.y, loss=loss, alpha=scale / q.n)
        for direction in ("slopes", "vertices"):
            duals = duals_of_frank_wolfe(p, FrankWolfe(direction=direction))
            assert np.all(np.diff(duals) >= -1e-12 * (1.0 + np.abs(duals[1:])))
            assert duals[-1] > duals[0]


@pytest.mark.parametrize("gamma", [None, 0.01])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
@pytest.mark.xdist_group("weighted_usunier")
def test_the_dual_of_frank_wolfe_with_line_search_never_falls_for_ranked_losses(scale, gamma):
    q = problem("weighted_usunier", R.L2(0.05))
    loss = q.loss if gamma is None else M.MoreauVector(q.loss, gamma)
    p = fenchel.Problem(q.X, q.y, loss=loss, alpha=scale / q.n)
    duals = duals_of_frank_wolfe(p, FrankWolfe())
    assert np.all(np.diff(duals) >= -1e-12 * (1.0 + np.abs(duals[1:])))
    assert duals[-1] > duals[0]


@pytest.mark.parametrize(
    "loss", [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in ("weighted_usunier", "softmax")]
)
@pytest.mark.parametrize("reg", ["l2", "elastic_net"])
def test_the_dual_of_frank_wolfe_on_other_envelopes_never_falls(loss, reg):
    q = problem(loss, REGULARIZERS[reg], weighted=True)
    p = fenchel.Problem(q.X, q.y, M.MoreauVector(q.loss, 0.3), REGULARIZERS[reg], sample_weight=q.weights)
    for direction in ("slopes", "vertices"):
        duals = duals_of_frank_wolfe(p, FrankWolfe(direction=direction))
        assert np.all(np.diff(duals) >= -1e-12 * (1.0 + np.abs(duals[1:])))
        for step in ("line_search", "schedule"):
            result = fenchel.solve(p, solver=FrankWolfe(step, direction), tol=2e-2, max_time=30)
            assert result.status is fenchel.Status.CERTIFIED, str(result)
            assert duals[-1] <= result.certificate.primal


@pytest.mark.xdist_group("max_hinge")
def test_a_smoothed_step_is_the_published_one_with_its_signs_corrected():
    """u' at z - gamma u; step = sum <u - u', cost + z - gamma u> / (alpha n |w(u') - w(u)|^2 + gamma |u' - u|^2)."""
    gamma, q = 0.3, problem("max_hinge", R.L2(0.05))
    p, m = fenchel.Problem(q.X, q.y, M.MoreauVector(M.MaxHinge(), gamma), alpha=0.05), q.outputs
    costs, U, W = 1.0 - np.eye(m)[p.y], np.zeros((p.n, m)), np.zeros((p.features, m))
    iterates = FrankWolfe(direction="vertices").iterates(VectorOracle(p), solvers.Start(np.zeros(p.d)))
    for _, iterate in zip(range(15), iterates, strict=False):
        np.testing.assert_allclose(iterate.dual_point, U, atol=1e-12)
        np.testing.assert_allclose(iterate.coef, W.ravel(), atol=1e-11)
        lifted = p.X @ W - gamma * U + costs
        new = np.eye(m)[lifted.argmax(axis=1)] - np.eye(m)[p.y]
        change = new - U
        turn = -p.X.T @ change / (0.05 * p.n)
        size = (change * lifted).sum() / (0.05 * p.n * (turn**2).sum() + gamma * (change**2).sum())
        U, W = U + np.clip(size, 0, 1) * change, W + np.clip(size, 0, 1) * turn


def test_steps_and_directions_of_frank_wolfe_are_named():
    with pytest.raises(InputError, match="step must be one of"):
        FrankWolfe("long")
    with pytest.raises(InputError, match="direction must be one of"):
        FrankWolfe(direction="up")


@pytest.mark.parametrize("loss", [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in LOSSES])
def test_the_dual_of_block_ascent_never_falls(loss):
    if not hasattr(LOSSES[loss], "dual_prox"):
        with pytest.raises(IncompatibleError, match="dual_prox"):
            fenchel.solve(problem(loss, REGULARIZERS["l2"]), solver="block_ascent")
        return
    for reg in ("l2", "elastic_net"):
        result = fenchel.solve(problem(loss, REGULARIZERS[reg]), solver=BlockAscent(), tol=1e-9, max_iter=60)
        duals = [point.dual for point in result.trace]
        assert np.all(np.diff(duals) >= -1e-13 * (1.0 + np.abs(duals[1:])))


@pytest.mark.parametrize("steps", ["plain", "away", "pairwise"])
@pytest.mark.parametrize(
    "loss", [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in ("max_hinge", "cost_margin", "cost_slack")]
)
def test_the_dual_of_block_frank_wolfe_never_falls_and_vertex_steps_converge(loss, steps):
    p = problem(loss, REGULARIZERS["l2"])
    result = fenchel.solve(p, solver=BlockFrankWolfe(steps), tol=1e-4, max_time=60)
    assert result.status is fenchel.Status.CERTIFIED
    duals = [point.dual for point in result.trace]
    assert np.all(np.diff(duals) >= -1e-13 * (1.0 + np.abs(duals[1:])))


def test_vertex_steps_need_vertices():
    with pytest.raises(InputError, match="needs a loss with vertices"):
        fenchel.solve(problem("top_k", REGULARIZERS["l2"]), solver=BlockFrankWolfe("away"))
    with pytest.raises(InputError, match="steps must be"):
        BlockFrankWolfe("sideways")


@pytest.mark.xdist_group("max_hinge")
def test_two_classes_of_the_max_hinge_are_the_hinge():
    """W = (-w, w)/2 in the vector problem costs half of what w costs: alpha doubles."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = (X[:, 0] + 0.5 * rng.standard_normal(60) > 0).astype(int)
    two = fenchel.solve(fenchel.Problem(X, y, loss="max_hinge", alpha=0.2), tol=1e-8)
    one = fenchel.solve(fenchel.Problem(X, 2.0 * y - 1.0, loss="hinge", alpha=0.1), tol=1e-8)
    assert two.certificate.primal == pytest.approx(one.certificate.primal, rel=1e-7)
    assert two.coef[1] - two.coef[0] == pytest.approx(one.coef, abs=1e-3)


@pytest.mark.xdist_group("max_hinge")
def test_a_certificate_for_weights_of_another_tool():
    svm = pytest.importorskip("sklearn.svm")
    X, y = load_digits(return_X_y=True)
    X, y = X[:400] / 16.0, y[:400]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = svm.LinearSVC(C=1.0, multi_class="crammer_singer", fit_intercept=False, tol=1e-6, max_iter=100_000)
        model.fit(X, y)
    p = fenchel.Problem(X, y, loss="max_hinge", alpha=1.0 / X.shape[0])
    found = fenchel.certify(p, model.coef_)
    assert 0.0 <= found.relative_gap < 1e-2
    best = fenchel.solve(p, tol=1e-6)
    assert best.status is fenchel.Status.CERTIFIED
    assert best.certificate.dual <= found.primal
    assert found.dual <= best.certificate.primal


@pytest.mark.parametrize("loss", [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in LOSSES])
def test_no_dual_point_claims_more_than_the_optimum_and_small_errors_are_repaired(loss):
    p = problem(loss, REGULARIZERS["l2"], free=getattr(LOSSES[loss], "free_intercepts", False))
    best = fenchel.solve(p, tol=1e-6)
    rng = np.random.default_rng(0)
    for k in range(40):
        size = 10.0 ** rng.uniform(-6, 1) if k else 1e-9
        U = best.dual_point + size * rng.standard_normal(best.dual_point.shape)
        found = fenchel.certify(p, best.coef, best.intercept, U)
        assert found.dual <= best.certificate.primal + best.certificate.floor
        assert size > 1e-8 or found.holds(1e-4), "a point that is infeasible by rounding alone must still do"


@pytest.mark.xdist_group("max_hinge")
def test_a_certificate_that_keeps_no_scores_is_the_same_on_any_threads():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40_000, 80)), rng.integers(0, 5, 40_000)  # several blocks
    p = fenchel.Problem(X, y, loss="max_hinge", alpha=1e-3)
    w = rng.standard_normal(p.d)
    kept = primal_sums(p, w)
    for threads in (1, 4):
        with limit_threads(threads):
            risk, magnitude, _, size = primal_sums(p, w, keep=False)
        assert (risk, magnitude) == kept[:2]
        assert np.array_equal(size, kept[3])
    Z = X @ w.reshape(-1, p.outputs)
    margins = 1.0 + Z - Z[np.arange(y.size), y][:, None]
    margins[np.arange(y.size), y] = 0.0
    assert kept[0] == pytest.approx(margins.max(axis=1).mean(), rel=1e-12)


@pytest.mark.xdist_group("max_hinge")
def test_scores_that_overflow_are_never_certified():
    q = problem("max_hinge", REGULARIZERS["l2"])
    p = fenchel.Problem(q.X * 1e200, q.y, loss="max_hinge", alpha=0.1)
    for size in (1e150, 1e200, 1e300):
        found = fenchel.certify(p, np.full((4, 3), size) * [[1], [-1], [1], [1]])
        assert found.primal == np.inf
        assert not found.holds(1.0)


@pytest.mark.xdist_group("max_hinge")
def test_warm_start_pickling_digest_and_repr():
    p = problem("max_hinge", REGULARIZERS["l2"])
    first = fenchel.solve(p, tol=1e-8)
    again = fenchel.solve(p, tol=1e-8, start=first)
    assert again.status is fenchel.Status.CERTIFIED
    assert again.n_iter <= 2
    copy = pickle.loads(pickle.dumps(p))
    assert copy.digest == p.digest
    assert "4 scores" in repr(p)
    assert problem("max_hinge", R.L2(0.06)).digest != p.digest
    costs = [np.ones((4, 4)) - np.eye(4), 2.0 * (np.ones((4, 4)) - np.eye(4))]  # equal reprs
    one, two = (fenchel.Problem(p.X, p.y, loss=M.CostHinge(cost)) for cost in costs)
    assert one.digest != two.digest


@pytest.mark.parametrize("inner", [M.MaxHinge(), M.CostHinge(COST)], ids=["max_hinge", "cost_hinge"])
@pytest.mark.xdist_group("max_hinge")
def test_free_intercepts_of_smoothed_hinges(inner):
    q = problem("max_hinge", REGULARIZERS["l2"])
    X = q.X + np.array([0.0, 3.0, -2.0])  # not centred, so that intercepts matter
    p, fixed = (fenchel.Problem(X, q.y, M.MoreauVector(inner, 0.05), alpha=0.5, fit_intercept=f) for f in (True, False))
    result, other = fenchel.solve(p), fenchel.solve(fixed)
    assert result.status is fenchel.Status.CERTIFIED
    assert result.certificate.primal < other.certificate.dual
    np.testing.assert_allclose(p.weights @ result.dual_point, 0.0, atol=1e-12)
    shifted = fenchel.certify(p, result.coef, result.intercept + 1.0, result.dual_point)
    assert shifted.primal == pytest.approx(result.certificate.primal, rel=1e-12)  # only differences count
    # The kinks of the loss itself: what the dual point of the envelope proves about it, by hand.
    slack = 0.5 * 0.05 * inner.largest_slope() ** 2
    risk = np.mean([inner.value(result.coef @ x + result.intercept, int(k)) for x, k in zip(X, q.y, strict=True)])
    primal = risk + 0.25 * np.sum(result.coef**2)
    assert result.certificate.dual <= primal <= result.certificate.primal + slack + 1e-9


@pytest.mark.parametrize(
    "loss",
    [M.HierarchicalHinge(TREE), M.MoreauVector(M.HierarchicalHinge(TREE), 0.1), M.HierarchicalSoftmax(TREE)],
    ids=repr,
)
def test_losses_without_free_intercepts_say_so(loss):
    q = problem("max_hinge", REGULARIZERS["l2"])
    with pytest.raises(InputError, match="free intercepts of several scores are not available"):
        fenchel.Problem(q.X, q.y, loss, alpha=0.1, fit_intercept=True)


SORTED = [
    M.TopK(3), M.WeightedTopK([0.7, 0.4, 0.1]), M.Usunier(3), M.WeightedUsunier([0.9, 0.5]), M.CostHinge(0.3 * COST, beta=0.7),
]  # fmt: skip


@pytest.mark.parametrize("inner", SORTED, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("gamma", [None, 0.2], ids=["itself", "envelope"])
def test_duals_of_losses_of_sorted_margins_are_balanced_inside_their_domains(inner, gamma):
    """From any dual point; a sum of rows of all classes that is far from 0 included. The last class has few rows."""
    loss, rng = inner if gamma is None else M.MoreauVector(inner, gamma), np.random.default_rng(11)
    y = np.array([0, 1, 2] * 10 + [3])
    p = fenchel.Problem(rng.standard_normal((y.size, 2)), y, loss, alpha=0.1, fit_intercept=True)
    for k in range(60):
        U = rng.standard_normal(p.dual_shape) * 10.0 ** (k % 5 - 3)
        U[rng.random(y.size) < 0.5] = 0.0
        if k % 3 == 0:
            U[:, k % 4] += 1.0  # towards one class
        found = vector.feasible_matrix(p, U)
        np.testing.assert_allclose(p.weights @ found, 0.0, atol=1e-14)
        assert all(np.isfinite(loss.conjugate(u, int(c))) for u, c in zip(found, y, strict=True))
        if k % 5 > 2:
            assert np.abs(found).max() > 1e-6  # and not by giving up all of it


@pytest.mark.parametrize("inner", SORTED[:1] + SORTED[2:3], ids=lambda loss: type(loss).__name__)
def test_free_intercepts_of_losses_of_sorted_margins(inner):
    """A shift of the features is taken up by the intercepts."""
    rng = np.random.default_rng(12)
    X = rng.standard_normal((60, 3))
    y = (X @ rng.standard_normal((3, 5)) + rng.standard_normal((60, 5)) + np.arange(5.0)).argmax(axis=1)
    y[:5] = range(5)
    results = [
        fenchel.solve(fenchel.Problem(X + shift, y, inner, alpha=0.05, fit_intercept=True), tol=1e-6)
        for shift in (0.0, 2.0)
    ]
    for result in results:
        assert result.status is fenchel.Status.CERTIFIED, str(result)
    assert results[1].certificate.primal == pytest.approx(results[0].certificate.primal, rel=2e-6)
    assert results[0].certificate.primal < fenchel.solve(fenchel.Problem(X, y, inner, alpha=0.05)).certificate.dual


def scaled_digits():
    X, y = load_digits(return_X_y=True)
    return X[:400] / 16.0, y[:400]


@pytest.mark.parametrize("alpha", [10.0, 0.1, 1e-3])
@pytest.mark.parametrize(
    "loss", [M.MaxHinge(), M.CostHinge(np.abs(np.subtract.outer(np.arange(10.0), np.arange(10.0))))], ids=repr
)
@pytest.mark.xdist_group("max_hinge")
def test_free_intercepts_of_losses_with_kinks(loss, alpha):
    """A shift of the features is taken up by the intercepts, which costs nothing; the dual point is balanced."""
    X, y = scaled_digits()
    here = fenchel.solve(fenchel.Problem(X, y, loss=loss, alpha=alpha, fit_intercept=True), tol=1e-6, max_time=60)
    there = fenchel.solve(
        fenchel.Problem(X + 2.0, y, loss=loss, alpha=alpha, fit_intercept=True), tol=1e-6, max_time=60
    )
    without = fenchel.solve(fenchel.Problem(X, y, loss=loss, alpha=alpha), tol=1e-4, max_time=60)
    for result in (here, there):
        assert result.status is fenchel.Status.CERTIFIED, str(result)
        assert np.abs(result.dual_point.sum(axis=0)).max() < 1e-9 * len(y)
    assert there.certificate.primal == pytest.approx(here.certificate.primal, rel=2e-6)
    assert here.certificate.primal <= without.certificate.primal


@pytest.mark.xdist_group("max_hinge")
def test_free_intercepts_of_a_max_hinge_need_rows_of_every_class():
    X, y = scaled_digits()
    with pytest.raises(InputError, match="no row with a positive weight has class 3"):
        fenchel.Problem(X, np.where(y == 3, 4, y), loss="max_hinge", alpha=0.1, fit_intercept=True)


@pytest.mark.xdist_group("softmax")
def test_free_intercepts_of_features_that_are_far_from_zero():
    X, y = load_digits(return_X_y=True)
    for shift in (0.0, 100.0):
        p = fenchel.Problem(X[:300] + shift, y[:300], loss="softmax", alpha=1e-2, fit_intercept=True)
        result = fenchel.solve(p, tol=1e-4, solver="lbfgs")
        assert result.status is fenchel.Status.CERTIFIED, str(result)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": M.TopK(4)}, "k must be less than the number of classes"),
        ({"loss": M.WeightedUsunier([1.0] * 5)}, "rho"),
        ({"loss": "top_k"}, "needs k"),
        ({"loss": M.HierarchicalHinge(TREE), "fit_intercept": True}, "free intercepts"),
        ({"loss": "max_hinge", "offset": np.zeros(24)}, "offset"),
        ({"loss": "max_hinge", "groups": np.zeros(24)}, "groups"),
        ({"loss": "max_hinge", "y": np.full(24, 0.5)}, "classes 0, 1, 2"),
        ({"loss": "max_hinge", "y": np.zeros(24)}, "two classes"),
        ({"loss": "max_hinge", "y": np.zeros(23)}, "one entry per row"),
        ({"loss": "max_hinge", "y": None}, "y is missing"),
        ({"loss": M.MultivariateSquared(), "y": np.zeros(24)}, "matrix"),
        ({"loss": M.CostHinge(np.ones((2, 2)) - np.eye(2))}, "classes"),
    ],
)
def test_bad_input_is_named(options, message):
    q = problem("max_hinge", REGULARIZERS["l2"])
    arguments = {"y": q.y} | options
    with pytest.raises(InputError, match=message):
        fenchel.Problem(q.X, **arguments)


@pytest.mark.xdist_group("max_hinge")
def test_wrong_shapes_are_refused_by_certify():
    p = problem("max_hinge", REGULARIZERS["l2"])
    with pytest.raises(InputError, match="row per score"):
        fenchel.certify(p, np.zeros((3, 3)))
    with pytest.raises(InputError, match="intercept"):
        fenchel.certify(p, np.zeros((4, 3)), np.ones(4))
    with pytest.raises(InputError, match="dual_point"):
        fenchel.certify(p, np.zeros((4, 3)), 0.0, np.zeros(24))


def test_solvers_for_one_score_say_so():
    with pytest.raises(IncompatibleError, match="several scores"):
        fenchel.solve(problem("max_hinge", REGULARIZERS["l2"]), solver="dual_ascent")
    one = fenchel.Problem([[1.0], [2.0]], [1, -1], loss="hinge", alpha=0.1)
    with pytest.raises(IncompatibleError, match="one score per row"):
        fenchel.solve(one, solver="block_ascent")
