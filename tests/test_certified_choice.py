"""Bounds of the cross-validation error for every alpha in a range are held against fine grids of exact solutions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold

import fenchel
from fenchel import regularizers
from fenchel.errors import InputError
from fenchel.estimators.certified_choice import Solution
from fenchel.proofs import held_out

CLASSES = [
    ("logistic", "l2", "accuracy"), ("logistic", "elastic_net", "neg_log_loss"), ("squared_hinge", "quadratic", "accuracy"),
    ("hinge", "weights", "accuracy"), ("squared", "l2", "accuracy"), ("logistic", "weights", "neg_log_loss"),
]  # fmt: skip
NUMBERS = [
    ("squared", "l2", "r2"), ("squared", "weights", "neg_mean_absolute_error"), ("huber", "elastic_net", "r2"),
    ("squared", "quadratic", "neg_mean_squared_error"), ("absolute", "l2", "neg_mean_absolute_error"),
]  # fmt: skip


def quick(cases):
    """The first two are for `make test`, the others for `make test-all`: exact solutions on fine grids take seconds each."""
    return [pytest.param(*c, marks=[pytest.mark.slow] if k > 1 else []) for k, c in enumerate(cases)]


OPTIONS = {"alphas": (0.02, 0.5), "certified": True, "refit": False}


def case(seed, kind, classes=0):
    """Rows, targets, folds and the regularizer of a random problem."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(25, 60)), int(rng.integers(1, 6))
    X = rng.normal(rng.normal(0.0, 2.0, d), rng.uniform(0.3, 3.0, d), (n, d))
    z = X @ rng.standard_normal(d)
    z = z - np.median(z) + 0.7 * z.std() * rng.standard_normal(n)
    y = np.digitize(z, np.quantile(z, np.arange(1, classes) / classes)) if classes else z
    folds = (StratifiedKFold if classes else KFold)(3, shuffle=True, random_state=seed).split(X, y)
    penalty = {
        "weights": regularizers.L2(1.0, weights=rng.uniform(0.2, 3.0, d)),
        "quadratic": regularizers.Quadratic(1.0, np.diag(rng.uniform(0.5, 2.0, d)) + 0.1),
    }.get(kind, kind)
    return X, y, list(folds), penalty, rng


def errors(model, grid, X, y, **rows):
    """The CV errors of exact solutions at strengths."""
    options = model.get_params() | {"certified": False, "alphas": grid, "tol": 1e-10, "max_time": None}
    scores = type(model)(**options).fit(X, y, **rows).cv_results_["mean_test_score"]
    return 1.0 - scores if model.scoring in ("accuracy", "r2") else -scores


def require_truth(model, X, y, **rows):
    """No alpha has an error outside its bounds."""
    low, high = OPTIONS["alphas"]
    band = model.cv_band_
    assert band.alphas[0] == pytest.approx(low) and band.alphas[-1] == pytest.approx(high)
    grid = np.unique(
        np.concatenate([np.geomspace(low, high, 25), [model.alpha_], band.alphas[1:-1][:: 1 + band.low.size // 10]])
    )
    found = errors(model, grid, X, y, **rows)
    small = 1e-12 if model.scoring == "accuracy" else 1e-6 * np.abs(found)
    cell = np.clip(np.searchsorted(band.alphas, grid) - 1, 0, band.low.size - 1)
    assert (found >= band.low[cell] - small).all() and (found <= band.high[cell] + small).all()
    assert (found >= model.cv_error_lower_bound_ - small).all()
    assert found[grid == model.alpha_][0] <= model.cv_error_ + np.max(small)
    assert model.cv_error_lower_bound_ == band.low.min() <= model.cv_error_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("loss", "penalty", "scoring"), quick(CLASSES))
def test_errors_of_classes_are_within_their_bounds(loss, penalty, scoring, intercept):
    X, y, folds, regularizer, rng = case(intercept, penalty, 2)
    weights = rng.integers(1, 4, y.size) if intercept else None
    rows = X if penalty == "quadratic" else sp.csr_matrix(X.astype(np.float32 if penalty == "weights" else np.float64))
    model = fenchel.ClassifierCV(
        loss, regularizer, cv=folds, scoring=scoring, fit_intercept=intercept, max_time=0.3, slack=0.05, **OPTIONS
    )
    model.fit(rows, y, sample_weight=weights)
    require_truth(model, rows, y, sample_weight=weights)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("loss", "penalty", "scoring"), quick(NUMBERS))
def test_errors_of_numbers_are_within_their_bounds(loss, penalty, scoring, intercept):
    X, y, folds, regularizer, rng = case(2 + intercept, penalty)
    rows = {"offset": rng.standard_normal(y.size)} if intercept else {}
    model = fenchel.RegressorCV(
        loss, regularizer=regularizer, cv=folds, scoring=scoring, fit_intercept=intercept, max_time=0.3, **OPTIONS
    )
    model.fit(X, y, **rows)
    require_truth(model, X, y, **rows)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_class_against_the_rest():
    X, y, folds, _, _ = case(3, "l2", 3)
    model = fenchel.ClassifierCV("logistic", cv=folds, scoring="accuracy", max_time=0.5, slack=0.05, **OPTIONS).fit(
        X, y
    )
    require_truth(model, X, y)


def test_the_slack_is_proven_and_the_model_is_that_of_its_alpha():
    X, y, folds, _, _ = case(5, "l2")
    model = fenchel.RegressorCV(certified=True, slack=5e-3, cv=folds).fit(X, y)
    assert model.cv_error_ - model.cv_error_lower_bound_ <= 5e-3 * model.cv_error_
    assert 1.0 - model.best_score_ == pytest.approx(model.cv_error_, rel=1e-4)
    single = fenchel.Regressor(alpha=model.alpha_).fit(X, y)
    np.testing.assert_allclose(model.coef_, single.coef_, atol=1e-4)
    brute = 1.0 - fenchel.RegressorCV(alphas=200, cv=folds, refit=False).fit(X, y).cv_results_["mean_test_score"]
    assert brute.min() >= model.cv_error_lower_bound_ and model.cv_error_ <= brute.min() * (1.0 + 5e-3)


@pytest.mark.parametrize(
    ("loss", "penalty", "share"), [("logistic", "l2", 0.1), ("hinge", "weights", 0.1), ("squared", "elastic_net", 0.01)]
)
def test_scores_between_two_strengths_are_in_their_region_but_not_in_a_share_of_it(loss, penalty, share):
    X, y, _, regularizer, _ = case(4, penalty, 2)
    problem = fenchel.Problem(X, 2.0 * y - 1.0, loss, regularizer, fit_intercept=True)

    def make(alpha):
        return problem.with_regularizer(problem.regularizer.scaled(alpha))

    held = held_out.HeldOutScores(make, X)
    solved = fenchel.solve(make(0.1), tol=1e-9)
    point = held.point(Solution(solved.problem, solved.coef, solved.intercept, solved.certificate, solved.dual_point))
    refuted = False
    for end in (0.05, 0.09, 0.11, 0.2):
        region = held.region(point, end)
        center, shift = held._intercept(*held._ball(point, end), point)
        for alpha in np.geomspace(0.1, end, 5):
            exact = fenchel.solve(make(alpha), tol=1e-12)
            z = X @ exact.coef + exact.intercept
            assert (region.low <= z).all() and (z <= region.high).all()
            assert abs(exact.intercept + held.mean @ exact.coef - center) <= shift + 1e-6
            refuted |= bool((np.abs(z - region.center) > share * (region.reach + region.shift)).any())
    assert refuted


def test_a_choice_that_ran_out_of_time_says_so():
    X, y, folds, _, _ = case(1, "l2")
    with pytest.warns(ConvergenceWarning, match="has not proven its choice"):
        model = fenchel.RegressorCV(certified=True, slack=1e-9, cv=folds, max_time=0.4, tol=0.1).fit(X, y)
    assert model.cv_error_lower_bound_ < model.cv_error_


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"regularizer": "l1"}, "not strongly convex"),
        ({"regularizer": regularizers.L2(1.0, weights=[0.0, 1.0, 1.0, 1.0, 1.0])}, "not strongly convex"),
        ({"loss": "softmax"}, "one score"),
        ({"scoring": "roc_auc"}, "knows bounds for scoring='accuracy'"),
        ({"alphas": [1.0, 0.1]}, "range"),
        ({"alphas": [0.1, 0.2, 0.3]}, "range"),
        ({"rule": "one_se"}, "rule='best'"),
        ({"slack": 0.0}, "slack"),
    ],
)
def test_what_cannot_be_certified_is_refused(options, words):
    X, y = np.random.default_rng(0).standard_normal((40, 5)), np.tile([0, 1], 20)
    with pytest.raises(InputError, match=words):
        fenchel.ClassifierCV(**({"loss": "logistic", "certified": True, "alphas": (0.1, 1.0)} | options)).fit(X, y)
    with pytest.raises(InputError, match="logarithmic link"):
        fenchel.RegressorCV("poisson", certified=True, alphas=(0.1, 1.0)).fit(X, y)
