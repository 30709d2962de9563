"""Where several intercepts are equally good, the middle one; where none is best, an error that says so."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

import fenchel
from fenchel import KernelClassifier, KernelRegressor, solvers
from fenchel import losses as L
from fenchel.errors import InputError
from fenchel.estimators.cuts import best_threshold, best_thresholds, places
from fenchel.kernel_methods import KernelProblem, solve_kernel
from fenchel.measures import FBeta
from fenchel.multiclass import MaxHinge
from fenchel.oracles import intercepts
from fenchel.selection import requirements

# The scores z + b at which each loss changes its straight piece, relative to the target (times it, for margin losses).
KINKS = {
    "absolute": (L.Absolute(), lambda y: [y]),
    "median": (L.Quantile(0.5), lambda y: [y]),
    "quantile": (L.Quantile(0.25), lambda y: [y]),
    "epsilon": (L.EpsilonInsensitive(0.3), lambda y: [y - 0.3, y + 0.3]),
    "huber": (L.Huber(0.2), lambda y: [y - 0.2, y + 0.2]),
    "hinge": (L.Hinge(), lambda y: [y]),
    "smoothed_hinge": (L.SmoothedHinge(0.5), lambda y: [y, 0.5 * y]),
    "moreau": (L.Moreau(L.Absolute(), 0.1), lambda y: [y - 0.1, y + 0.1]),
}


def brute_interval(loss, kinks, z, y, p):
    """The ends of the best intercepts: of a convex F that is straight between kinks, those kinks with the least F; where F
    is curved at its minimum it has one minimiser, and no two kinks are that good."""
    at = np.unique(np.concatenate([kink - z for kink in kinks(y)]))
    values = np.array([sum(pi * loss.value(zi + b, yi) for zi, yi, pi in zip(z, y, p, strict=True)) for b in at])
    best = at[values <= values.min() + 1e-13 * (1.0 + values.min())]
    return best[0], best[-1]


def case(name, seed, n=24):
    """Data whose best intercept is often an interval: rows in groups of equal size, some of them under strong alpha."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    if "hinge" in name:
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        X[:, 0] += 0.5 * y
        return X, y
    return X, 0.1 * X @ [1.0, -0.5] + 3.0 + 2.0 * (np.arange(n) % 4 > 1) + 0.3 * (np.arange(n) % 2) + 0.05 * rng.normal(
        size=n
    )


@pytest.mark.parametrize("name", KINKS)
def test_every_solver_reports_the_middle(name):
    loss, kinks = KINKS[name]
    wide = 0
    for seed, alpha in ((0, 30.0), (1, 3.0), (2, 0.3)):
        X, y = case(name, seed)
        problem = fenchel.Problem(X, y, loss=loss, alpha=alpha, fit_intercept=True)
        for solver in ["auto", *(name for name, cls in solvers.SOLVERS.items() if requirements.fits(cls, problem))]:
            result = fenchel.solve(problem, solver, tol=1e-7, max_time=20)
            if not result.converged:
                continue  # what it could not solve it cannot be asked about
            low, high = brute_interval(loss, kinks, X @ result.coef, y, problem.weights)
            if high - low > 1e-6:
                wide += 1
                assert result.intercept == pytest.approx(0.5 * (low + high), abs=1e-9 * (1.0 + abs(high)))
            recomputed = fenchel.certify(problem, result.coef, result.intercept, result.dual_point)
            assert recomputed.holds(1e-7)
    assert wide >= 3


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_intercept_is_libsvms(kernel):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = np.where(np.arange(40) % 2, 1.0, -1.0)
        X = rng.normal(size=(40, 3)) + np.outer(y, [1.0, 0.0, 0.0])
        C = 10.0 ** rng.uniform(-4.0, 0.0)
        svm = SVC(C=C, kernel=kernel, gamma=0.3, tol=1e-10).fit(X, y)
        params = {"gamma": 0.3} if kernel == "rbf" else {}
        problem = KernelProblem(X, y, "hinge", 1.0 / (C * 40), True, kernel=kernel, kernel_params=params)
        result = solve_kernel(problem, tol=1e-10)
        assert result.converged
        assert result.intercept == pytest.approx(svm.intercept_[0], abs=1e-5)
        regression = SVR(C=C, kernel=kernel, gamma=0.3, tol=1e-10, epsilon=0.2).fit(X, y + X[:, 1])
        ours = KernelRegressor(L.EpsilonInsensitive(0.2), kernel, gamma=0.3, C=C, tol=1e-10).fit(X, y + X[:, 1])
        assert ours.intercept_[0] == pytest.approx(regression.intercept_[0], abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_a_small_C_separates_the_classes_as_libsvm_does(seed):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(200) % 2, 1, 0)
    X = rng.normal(size=(200, 4)) + np.outer(y, [1.5, 1.0, 0.0, 0.0])
    for C in (1e-5, 1e-3):
        svm, ours = SVC(C=C, gamma=0.2).fit(X, y), KernelClassifier(C=C, gamma=0.2).fit(X, y)
        assert ours.converged_
        assert abs(ours.score(X, y) - svm.score(X, y)) <= 0.01
        linear = fenchel.Classifier(C=C, tol=1e-8).fit(X, y)
        assert linear.score(X, y) > 0.75


def test_regressors_predict_the_median_when_the_weights_vanish():
    y = np.array([1.0, 2.0, 4.0, 10.0])
    X = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    for loss in ("absolute", L.Quantile(0.5)):
        model = fenchel.Regressor(loss, alpha=100.0).fit(X, y)
        assert model.coef_ == pytest.approx(np.zeros(1), abs=1e-12)
        assert model.intercept_ == pytest.approx(np.median(y), abs=1e-9)
        assert KernelRegressor(loss, kernel="linear", alpha=100.0).fit(X, y).intercept_ == pytest.approx(3.0, abs=1e-6)
    weighted = fenchel.Regressor("absolute", regularizer="l1", alpha=100.0).fit(
        X, y, sample_weight=[3.0, 1.0, 1.0, 1.0]
    )
    assert weighted.intercept_ == pytest.approx(1.5)  # half of the weight on either side


def test_intercepts_of_several_scores_are_in_the_middle_and_their_mean_is_0():
    for m, seed in ((2, 0), (3, 1), (3, 2)):
        y = np.arange(30) % m
        X = np.random.default_rng(seed).normal(size=(30, 3)) + np.eye(3)[y]
        problem = fenchel.Problem(X, y, loss="max_hinge", alpha=5.0, fit_intercept=True)
        result = fenchel.solve(problem, tol=1e-7)
        assert result.converged
        assert result.intercept.mean() == pytest.approx(0.0, abs=1e-12)
        Z = X @ result.coef.T + result.intercept
        risk = lambda c, t, Z=Z, y=y, m=m: np.mean(  # noqa: E731
            [MaxHinge().value(z + t * np.eye(m)[c], int(k)) for z, k in zip(Z, y, strict=True)]
        )
        for c in range(m):
            steps = np.linspace(-1.5, 1.5, 301)
            good = steps[[risk(c, t) <= risk(c, 0.0) + 1e-9 for t in steps]]
            if good[-1] - good[0] > 0.05:  # zero is well inside, not at an end
                assert abs(good[0] + good[-1]) <= 0.5 * (good[-1] - good[0])
    scalar = fenchel.Problem(X[y < 2], np.where(y[y < 2], 1.0, -1.0), loss="hinge", alpha=2.5, fit_intercept=True)
    both = fenchel.Problem(X[y < 2], y[y < 2], loss="max_hinge", alpha=5.0, fit_intercept=True)
    one, two = fenchel.solve(scalar, tol=1e-9), fenchel.solve(both, tol=1e-9)
    assert two.intercept[1] - two.intercept[0] == pytest.approx(one.intercept, abs=1e-3)


def test_the_interval_of_random_step_functions():
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(1, 9))
        kinks, p = rng.integers(-5, 6, n) * 10.0 ** rng.integers(-6, 7), rng.integers(1, 4, n) / 8.0
        sums = lambda bs, k=kinks, p=p: (np.sign(bs[:, None] - k) @ p, np.abs(np.sign(bs[:, None] - k)) @ p)  # noqa: E731
        values = np.array([np.abs(kinks - k) @ p for k in kinks])
        best = kinks[values <= values.min() * (1.0 + 1e-14)]
        size, start = float(np.abs(kinks).max()), float(rng.normal() * (1.0 + np.abs(kinks).max()))
        for at_once in (1, 15):
            found = intercepts.middle(sums, start, size, at_once)
            unit = max(abs(start), size, 1e-300)
            if best.max() - best.min() > 1e-7 * unit:
                assert found == pytest.approx(0.5 * (best.min() + best.max()), abs=1e-12 * unit)
            else:
                assert found == start  # one point: the solver's is kept


MARGIN = [L.Logistic(), L.Exponential(), L.Moreau(L.Logistic(), 0.5)]


@pytest.mark.parametrize("loss", [*MARGIN, L.Poisson()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
def test_one_label_only_has_no_best_intercept(loss, regularizer):
    X = np.random.default_rng(0).normal(size=(20, 3))
    some = np.where(np.arange(20) % 3, 1.0, -1.0)
    cases = [(np.ones(20), None), (-np.ones(20), None), (some, (some > 0).astype(float)), (some, (some < 0) * 3.0)]
    if isinstance(loss, L.Poisson):
        cases = [(np.zeros(20), None), (np.arange(20.0), (np.arange(20) == 0).astype(float))]
    for y, s in cases:
        problem = fenchel.Problem(X, y, loss, regularizer, 0.1, True, sample_weight=s)
        with pytest.raises(
            InputError, match=r"all rows with a positive weight have .* no minimum.*fit_intercept=False"
        ):
            fenchel.solve(problem, max_time=10)
        with pytest.raises(InputError, match="fit_intercept=False"):
            solve_kernel(KernelProblem(X, y, loss, 0.1, True, sample_weight=s), max_time=10)
        fixed = fenchel.Problem(X, y, loss, regularizer, 0.1, False, sample_weight=s)
        assert fenchel.solve(fixed, tol=1e-4, max_time=10).converged


@pytest.mark.parametrize("loss", [L.Hinge(), L.SquaredHinge(), L.PowerHinge(3.0), L.SmoothedHinge(0.5), L.Novelty()])
@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
def test_one_label_only_and_a_loss_that_becomes_0(loss, regularizer):
    """The best intercepts are [1, inf), those of -1 are (-inf, -1]: the finite end is taken."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    for sign in (1.0, -1.0):
        result = fenchel.solve(fenchel.Problem(X, np.full(20, sign), loss, regularizer, 0.1, True), max_time=10)
        assert result.converged
        assert result.certificate.primal == pytest.approx(0.0, abs=1e-12)
        expected = 1.0 if isinstance(loss, L.Novelty) else sign
        assert result.intercept == pytest.approx(expected, abs=1e-6)


def test_a_cluster_says_the_same():
    pytest.importorskip("distributed")
    import dask.array as da

    from cluster_problems import local_client

    X, y = case("hinge", 0, n=120)
    with local_client(2, processes=False):
        for loss, targets, alpha in (("hinge", y, 3.0), ("absolute", X[:, 0] + 2.0 * np.arange(120), 50.0)):
            options = {"loss": loss, "alpha": alpha, "fit_intercept": True}
            home = fenchel.solve(fenchel.Problem(X, targets, **options), "bundle", tol=1e-8)
            there = fenchel.Problem(da.from_array(X, chunks=(40, 2)), da.from_array(targets, chunks=40), **options)
            away = fenchel.solve(there, "bundle", tol=1e-8)
            low, high = brute_interval(L.make(loss), lambda t: [t], X @ home.coef, targets, np.full(120, 1 / 120))
            assert high - low > 1e-3
            assert home.intercept == pytest.approx(0.5 * (low + high), abs=1e-9)
            assert away.intercept == pytest.approx(home.intercept, abs=1e-9)
        only = fenchel.Problem(
            da.from_array(X, chunks=(40, 2)),
            da.from_array(np.ones(120), chunks=40),
            loss="logistic",
            fit_intercept=True,
        )
        with pytest.raises(InputError, match="label \\+1.*fit_intercept=False"):
            fenchel.solve(only, max_time=10)


def three_classes():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[np.arange(60) % 3]
    return rng.normal(size=(60, 3)) + 2.0 * np.eye(3)[np.arange(60) % 3], y


@pytest.mark.parametrize("loss", ["softmax", "hinge", "logistic", "max_hinge"])
def test_a_class_weight_of_0_is_a_sample_weight_of_0_on_its_rows(loss):
    X, y = three_classes()
    by_class = fenchel.Classifier(loss, alpha=0.1, class_weight={"b": 0.0}).fit(X, y)
    by_row = fenchel.Classifier(loss, alpha=0.1).fit(X, y, sample_weight=(y != "b").astype(float))
    assert by_class.classes_.tolist() == by_row.classes_.tolist() == ["a", "c"]
    assert np.array_equal(by_class.coef_, by_row.coef_)
    assert np.array_equal(by_class.predict(X), by_row.predict(X))
    if loss in ("hinge", "logistic"):
        by_class = KernelClassifier(loss, alpha=0.1, class_weight={"b": 0.0}).fit(X, y)
        by_row = KernelClassifier(loss, alpha=0.1).fit(X, y, sample_weight=(y != "b").astype(float))
        assert by_class.classes_.tolist() == ["a", "c"]
        assert np.array_equal(by_class.predict(X), by_row.predict(X))


@pytest.mark.parametrize("estimator", [fenchel.Classifier, KernelClassifier])
def test_class_weights_that_leave_one_class_or_none_are_refused(estimator):
    X, y = three_classes()
    for weights in ({"a": 0.0, "b": 0.0}, {"a": 0.0, "b": 0.0, "c": 0.0}):
        with pytest.raises(InputError, match="weight above 0"):
            estimator("logistic", class_weight=weights).fit(X, y)
    with pytest.raises(InputError, match="class_weight of 'b' is -1.0"):
        estimator("logistic", class_weight={"b": -1.0}).fit(X, y)


def test_weights_in_a_column_are_refused():
    X, y = three_classes()
    s, target = np.ones((60, 1)), np.where(y == "a", 1.0, -1.0)
    calls = [
        lambda: fenchel.Problem(X, target, loss="hinge", sample_weight=s),
        lambda: KernelProblem(X, target, loss="hinge", sample_weight=s),
        lambda: fenchel.Problem(X, target, loss="roc_area", sample_weight=s),
        lambda: fenchel.Classifier("softmax").fit(X, y, sample_weight=s),
        lambda: fenchel.Regressor("absolute").fit(X, target, sample_weight=s),
    ]
    for call in calls:
        with pytest.raises(InputError, match="sample_weight must be one-dimensional"):
            call()


def test_thresholds_of_labels_are_in_the_middle_of_those_that_are_as_good():
    # F1 of z > t: rows 1 (negative) and 4 (positive) are told apart anywhere between
    assert best_threshold(FBeta(), np.array([0.0, 1.0, 4.0, 5.0]), np.array([False, False, True, True])) == 2.5
    # zero-one cost: the row at 2 is of level 2, wrong wherever the lower cut is, so that lies between 1 and 4
    z, level = np.array([0.0, 1.0, 2.0, 4.0, 5.0, 8.0]), np.array([0, 0, 2, 1, 1, 2])
    assert best_thresholds(z, level, 1.0 - np.eye(3)) == pytest.approx([2.5, 6.5])


def test_thresholds_cost_no_more_than_any_others():
    rng = np.random.default_rng(0)
    for _ in range(100):
        n = int(rng.integers(3, 9))
        z, level, cost = np.round(rng.normal(size=n), 1), rng.integers(0, 3, n), 1.0 - np.eye(3)
        cost[0, 2] = rng.integers(1, 3)
        spent = lambda cuts, z=z, level=level, cost=cost: cost[level, np.searchsorted(cuts, z)].sum()  # noqa: E731
        cuts = best_thresholds(z, level, cost)
        assert cuts[0] <= cuts[1]
        edges = places(z)[0]
        assert spent(cuts) == pytest.approx(min(spent([a, b]) for a in edges for b in edges if a <= b))
