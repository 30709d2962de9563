"""What certificates prove is true of the optimum, at gaps of every size: points between the optimum and noise are certified and
everything that is called proven is held against a solve to the rounding floor."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

import fenchel
from fenchel import multiclass, proofs
from fenchel import regularizers as R
from fenchel.certificates.scalar import certifier_of
from fenchel.errors import InputError
from fenchel.kernel_methods import KernelProblem
from fenchel.proofs.ball import ball_at

N, D = 40, 5
MIXES = (0.7, 0.1, 1e-2, 1e-4, 1e-7, 0.0)
K = np.diag(np.arange(1.0, D + 1)) + 0.5
REGULARIZERS = {
    "l2": R.L2(0.05),
    "weights": R.L2(0.05, weights=[1.0, 0.1, 3.0, 1.0, 100.0]),
    "unpenalised": R.L2(0.05, weights=[0.0, 1.0, 3.0, 1.0, 1.0]),
    "elastic_net": R.ElasticNet(0.2, l1_ratio=0.8),
    "dense": R.Quadratic(0.05, K),
    "sparse": R.Quadratic(0.05, sp.csc_array(K)),
    "q_norm": R.QNorm(0.1, 1.5),
    "entropy": R.Entropy(0.1, total=2.0),
    "nonnegative": R.Bounded(R.L2(0.05), lower=0.0),
    "shifted": R.Shifted(R.L2(0.05), center=np.arange(D)),
}
LOSSES = ("hinge", "logistic", "squared", "absolute")


def rows(seed, n=N):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) * [1.0, 10.0, 0.1, 1.0, 1.0] + [1.0, 0.0, 0.0, -2.0, 0.5]
    return X, X @ [1.0, 0.05, 0.0, -0.5, 0.0] + 0.5 * rng.standard_normal(n) - 1.0


def exact(problem):
    """A result whose gap is about as small as rounding allows."""
    found = fenchel.solve(problem, tol=1e-13, max_time=20.0)
    assert found.certificate.gap <= 1e-9 * abs(found.certificate.primal) + found.certificate.floor
    return found


def between(found, mix, rng):
    """A result between the optimum and noise, with its own certificate."""
    problem = found.problem
    w, b = problem.variables(found.coef, found.intercept)
    certifier = certifier_of(problem)
    noise = (
        np.abs(rng.standard_normal(w.size))
        if type(problem.regularizer) in (R.Entropy, R.Bounded)
        else rng.standard_normal(w.size)
    )
    if type(problem.regularizer) is R.Entropy:
        noise *= problem.regularizer.total / noise.sum()
    moved, b = (
        (1.0 - mix) * w + mix * noise,
        b + mix * problem.has_intercept * (0.0 if problem.is_vector else rng.standard_normal()),
    )
    u = (1.0 - mix) * np.asarray(found.dual_point) + mix * certifier.slopes_at(problem, moved, b)
    certificate, point = certifier.certificate(problem, moved, b, u)
    coef, intercept = problem.present(moved, b)
    return dataclasses.replace(found, coef=coef, intercept=intercept, certificate=certificate, dual_point=point)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("loss", [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in LOSSES])
def test_what_is_proven_is_true_of_the_optimum(loss, regularizer, intercept):
    X, target = rows(0)
    y = np.sign(target) if loss in ("hinge", "logistic") else target
    weights = np.random.default_rng(2).random(N)
    problem = fenchel.Problem(
        X,
        y,
        loss,
        REGULARIZERS[regularizer],
        fit_intercept=intercept,
        sample_weight=weights,
        offset=0.1 * np.arange(N) / N,
    )
    found, rng = exact(problem), np.random.default_rng(1)
    new = rows(5, 30)[0]
    slack = found.ball()
    z, widths = new @ found.coef + found.intercept, slack.scores(new)
    error = np.where(np.isfinite(widths.high), np.maximum(widths.high - z, z - widths.low), 0.0)
    proven = 0
    for mix in MIXES:
        point = between(found, mix, rng)
        if not np.isfinite(point.certificate.gap):
            continue
        region = point.ball()
        assert region.space.norm(found.coef - region.center) <= region.distance + slack.distance
        low, high = region.scores(new)
        assert np.all((low <= z + error) & (z - error <= high))
        if intercept:
            assert region.intercept.low - error.max() <= found.intercept <= region.intercept.high + error.max()
        support, doubt = point.support(), slack.half_widths
        assert np.all(np.abs(found.coef[support.zero]) <= doubt[support.zero])
        assert np.all(found.coef[support.positive] >= -doubt[support.positive])
        assert np.all(found.coef[support.negative] <= doubt[support.negative])
        proven += support.positive.sum() + support.negative.sum() + support.zero.sum()
        if loss in ("hinge", "logistic"):
            certain = point.certain(new)
            assert np.all(np.sign(z)[certain] == np.sign(new @ point.coef + point.intercept)[certain])
            proven += certain.sum()
    assert proven > 0  # most of them at the smaller gaps


@pytest.mark.parametrize("loss", [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in ("softmax", "max_hinge")])
@pytest.mark.parametrize("regularizer", ["l2", "elastic_net", "dense"])
def test_several_scores(loss, regularizer):
    X, y = load_iris(return_X_y=True)
    X, y = X[::3] - X.mean(axis=0), y[::3]
    given = {"l2": R.L2(0.05), "elastic_net": R.ElasticNet(0.1), "dense": R.Quadratic(0.05, K[:4, :4])}[regularizer]
    found, rng = exact(fenchel.Problem(X, y, loss, given)), np.random.default_rng(0)
    for mix in MIXES:
        point = between(found, mix, rng)
        region = point.ball()
        assert region.space.norm(found.coef - region.center) <= region.distance + found.ball().distance
        low, high = region.scores(X)
        z, error = X @ found.coef.T, found.ball().around(X)[1][:, None]
        assert np.all((low <= z + error) & (z - error <= high))
        certain = point.certain(X)
        assert np.array_equal((X @ point.coef.T).argmax(axis=1)[certain], z.argmax(axis=1)[certain])
        support = point.support()
        assert np.all(np.abs(found.coef[support.zero]) <= 1e-6)
    assert certain.mean() > 0.9 and (regularizer != "elastic_net" or loss != "softmax" or support.zero.any())


def test_classes_of_a_tree_are_decided_by_sums_over_paths():
    X, y = load_iris(return_X_y=True)
    X, y = X[::5] - X.mean(axis=0), y[::5]
    tree = ["a/x", "a/y", "b"]
    found = exact(fenchel.Problem(X, y, multiclass.HierarchicalHinge(tree), R.L2(0.02)))
    sums = found.problem.loss.class_scores
    for mix in (0.1, 1e-3, 1e-6):
        point = between(found, mix, np.random.default_rng(3))
        certain = point.certain(X)
        assert np.array_equal(sums(X @ point.coef.T).argmax(1)[certain], sums(X @ found.coef.T).argmax(1)[certain])
    assert certain.mean() > 0.8


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in ("hinge", "logistic")])
def test_kernel_machines(loss, intercept):
    X, target = rows(3)
    problem = KernelProblem(
        X, np.sign(target), loss, alpha=0.01, fit_intercept=intercept, kernel="rbf", kernel_params={"gamma": 0.1}
    )
    found, new = exact(problem), rows(4, 30)[0]
    z = problem.gram.function(new, X) @ found.coef + found.intercept
    slack = found.ball().scores(new)
    for tol in (1e-1, 1e-2, 1e-4):
        point = fenchel.solve(problem, tol=tol)
        low, high = point.ball().scores(new)
        assert np.all((low <= slack.high) & (slack.low <= high)) and np.all((low <= z + 1e-6) & (z - 1e-6 <= high))
        certain = point.certain(new)
        assert np.all(
            np.sign(z)[certain] == np.sign(problem.gram.function(new, X) @ point.coef + point.intercept)[certain]
        )
    assert certain.mean() > 0.9


@pytest.mark.parametrize(
    "loss",
    [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in ("hinge", "epsilon_insensitive", "squared_hinge")],
)
def test_rows_that_are_called_removable_do_not_matter(loss):
    X, target = rows(6, 60)
    y = np.sign(target) if "hinge" in loss else target
    make = lambda keep: fenchel.Problem(X[keep], y[keep], loss, R.L2(0.1 * 60 / keep.sum()), fit_intercept=True)  # noqa: E731
    found = exact(make(np.ones(60, dtype=bool)))
    rest = fenchel.removable_rows(fenchel.solve(found.problem, tol=1e-6))
    assert 5 < rest.sum() < 60
    without = exact(make(~rest))  # alpha as if the weights were not normalised again
    assert np.allclose(without.coef, found.coef, atol=1e-6)


def test_a_ball_is_smaller_than_the_usual_one_about_w():
    X, target = rows(7)
    found = fenchel.solve(fenchel.Problem(X, np.sign(target), "logistic", alpha=0.1), tol=1e-3)
    usual = np.sqrt(2.0 * (found.certificate.gap + found.certificate.floor) / 0.1)
    assert found.ball().radius <= 0.7072 * usual


def test_the_half_widths_of_a_matrix_are_those_of_its_inverse():
    ill = np.diag([1.0, 1e-9]) + np.outer([1.0, 2e-5], [1.0, 2e-5])
    for k in (ill, sp.csc_array(ill)):
        metric = R.Quadratic(2.0, k).metric(2)
        inverse = np.array([[1e-9 + 4e-10, -2e-5], [-2e-5, 2.0]]) / (
            2e-9 + 4e-10
        )  # of [[2, 2e-5], [2e-5, 1.4e-9]], det 2.4e-9
        expected = np.sqrt(np.diag(inverse) / 2.0)
        assert np.all(metric.half_widths() >= expected * (1 - 1e-9)) and np.allclose(
            metric.half_widths(), expected, rtol=1e-3
        )


@pytest.mark.parametrize("name", ["l2", "elastic_net", "dense", "q_norm", "weights", "shifted"])
def test_regularizers_are_strongly_convex_in_their_metric(name):
    regularizer, rng = REGULARIZERS[name], np.random.default_rng(0)
    metric = regularizer.metric(D)
    for scale in (1e-3, 1.0, 1e3):
        a, b = scale * rng.standard_normal((2, D))
        middle = regularizer.value(0.5 * (a + b))
        bound = 0.5 * (regularizer.value(a) + regularizer.value(b)) - 0.125 * metric.norm(a - b) ** 2
        assert middle <= bound + 1e-12 * abs(bound)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_staleness_bounds_what_new_rows_change(loss):
    X, y = load_iris(return_X_y=True)
    X, y = (X - X.mean(axis=0))[::2], y[::2] if loss == "softmax" else np.where(y[::2] == 1, 1.0, -1.0)
    order = np.random.default_rng(0).permutation(len(y))
    old, new = order[:70], order[70:]
    for weight in (1.0, 10.0):
        result = fenchel.solve(fenchel.Problem(X[old], y[old], loss, alpha=0.05), tol=1e-4)
        stale = result.staleness(X[new], y[new], sample_weight=np.full(len(new), weight))
        weights = np.concatenate([np.ones(70), np.full(len(new), weight)])
        everything = fenchel.Problem(X[order], y[order], loss, alpha=0.05, sample_weight=weights)
        refit = exact(everything)
        assert stale.certificate.primal >= refit.certificate.dual
        shift = stale.shift(X)
        moved = np.abs(X @ (refit.coef - result.coef).T)
        assert np.all(moved <= shift + 1e-9) and stale.needs_refit
    nothing = result.staleness(X[old], y[old])  # the same rows again change nothing
    assert not nothing.needs_refit


def test_what_cannot_be_proven_is_refused_or_left_open():
    X, target = rows(8)
    l1 = fenchel.solve(fenchel.Problem(X, target, "squared", "l1", alpha=0.3))
    with pytest.raises(InputError, match="not strongly convex"):
        l1.ball()
    assert l1.support().zero.any() and np.all(l1.coef[l1.support().zero] == 0.0)
    regression = fenchel.solve(fenchel.Problem(X, target, "squared"))
    with pytest.raises(InputError, match="does not classify"):
        regression.certain(X)
    with pytest.raises(InputError, match="5 columns"):
        regression.ball().scores(X[:, :3])
    measure = fenchel.solve(fenchel.Problem(X, np.sign(target), fenchel.measures.FBeta(), alpha=0.1), tol=1e-2)
    with pytest.raises(InputError, match="one score"):
        fenchel.removable_rows(measure)
    assert measure.ball().contains(fenchel.solve(measure.problem, tol=1e-6).coef)
    with pytest.raises(InputError, match="columns"):
        regression.staleness(X[:, :3], target)
    nothing = dataclasses.replace(regression, certificate=dataclasses.replace(regression.certificate, dual=-np.inf))
    assert nothing.ball().radius == np.inf and nothing.support().open.all()


def test_a_wrong_distance_would_be_seen():
    """The bound is nearly attained: a one-dimensional squared loss at its worst point."""
    problem = fenchel.Problem([[1.0]], [1.0], "squared", alpha=1.0)
    w, u = np.array([0.2]), np.array([-0.3])
    certificate, point = certifier_of(problem).certificate(problem, w, 0.0, u)
    region, best = ball_at(problem, w, 0.0, certificate, point), exact(problem).coef
    assert abs(best[0] - region.center[0]) <= region.radius
    assert proofs.ball(exact(problem)).radius < 1e-7


def test_rows_can_be_sparse_and_single_precision():
    X, target = rows(9)
    found = fenchel.solve(fenchel.Problem(X, np.sign(target), "logistic", alpha=0.1), tol=1e-4)
    dense = found.ball().scores(X)
    for other in (sp.csr_matrix(X), X.astype(np.float32), sp.csr_matrix(X.astype(np.float32))):
        low, high = found.ball().scores(other)
        assert np.allclose(low, dense.low, atol=1e-5) and np.allclose(high, dense.high, atol=1e-5)
