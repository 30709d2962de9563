"""Online classifiers against plain Python, against each other and against their mistake bounds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Perceptron
from sklearn.utils.estimator_checks import parametrize_with_checks

import fenchel
from fenchel import OnlineClassifier
from fenchel.errors import InputError, UnknownNameError
from fenchel.estimators.online import ALGORITHMS

SETTINGS = {
    "perceptron": {"eta": 0.7},
    "winnow": {"eta": 0.3, "prior": 0.2},
    "normalised_winnow": {"eta": 0.3, "total": 4.0},
    "balanced_winnow": {"eta": 0.2},
    "p_norm": {"eta": 0.5, "p": 3.0},
}


@parametrize_with_checks(
    [
        OnlineClassifier(),
        OnlineClassifier("winnow", epochs=50, eta=0.1),
        OnlineClassifier("balanced_winnow", epochs=50, eta=0.1, average=True),
        OnlineClassifier("p_norm", epochs=50),
    ]
)
def test_sklearn(estimator, check):
    check(estimator)


def data(n=120, d=8, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, d)) * rng.random((n, d))
    y = np.where(X @ rng.standard_normal(d) + noise * rng.standard_normal(n) > 0, 1, -1)
    return X, y


def transfer(algorithm, v, prior, total, p):
    """w = grad h(v), from the definitions."""
    if algorithm == "perceptron":
        return v
    if algorithm == "p_norm":
        norm = np.sum(np.abs(v) ** p) ** (1 / p)
        return np.zeros_like(v) if norm == 0 else np.sign(v) * np.abs(v) ** (p - 1) * norm ** (2 - p)
    up, down = prior * np.exp(v), prior * np.exp(-v) if algorithm == "balanced_winnow" else np.zeros_like(v)
    return (up - down) * (total / (up + down).sum() if total else 1.0)


def reference(algorithm, X, y, order, eta, threshold, prior=None, total=None, p=4.0):
    """(v, mistakes, mean of the weights after each row)."""
    v, mistakes, sums = np.zeros(X.shape[1]), 0, np.zeros(X.shape[1])
    for i in order:
        if y[i] * (X[i] @ transfer(algorithm, v, prior, total, p) - threshold) <= 0:
            v = v + eta * y[i] * X[i]
            mistakes += 1
        sums += transfer(algorithm, v, prior, total, p)
    return v, mistakes, sums / len(order)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_equals_plain_python(algorithm, storage, average):
    X, y = data()
    model = OnlineClassifier(algorithm, average=average, epochs=3, shuffle=False, **SETTINGS[algorithm])
    model.fit(storage(X), y)
    positive = algorithm in ("winnow", "normalised_winnow")
    wide = X if positive else np.column_stack([X, np.ones(len(y))])
    total = {"normalised_winnow": 4.0}.get(algorithm)
    prior = {"winnow": 0.2}.get(
        algorithm, (total or 1.0) / ((2 if algorithm == "balanced_winnow" else 1) * wide.shape[1])
    )
    p = SETTINGS[algorithm].get("p", 4.0)
    threshold = float(np.mean(X @ transfer(algorithm, np.zeros(8), prior, total, p))) if positive else 0.0
    order = np.tile(np.arange(len(y)), 3)[: model.n_seen_]
    v, mistakes, mean = reference(algorithm, wide, y, order, SETTINGS[algorithm]["eta"], threshold, prior, total, p)
    w = mean if average else transfer(algorithm, v, prior, total, p)
    assert model.mistakes_ == mistakes > 0
    np.testing.assert_allclose(model.coef_[0], w[:8], rtol=1e-9, atol=1e-12)
    assert model.intercept_[0] == pytest.approx(-threshold if positive else w[8], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_partial_fit_by_parts_equals_one_pass(algorithm):
    X, y = data()
    model = OnlineClassifier(algorithm, average=True, epochs=1, shuffle=False, threshold=1.0, **SETTINGS[algorithm])
    whole = model.fit(X, y)
    parts = OnlineClassifier(**model.get_params())
    for part in np.array_split(np.arange(len(y)), 7):
        parts.partial_fit(X[part], y[part], classes=[-1, 1])
    assert parts.mistakes_ == whole.mistakes_
    assert parts.n_seen_ == len(y)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-10)


def test_p_norm_with_p_2_is_the_perceptron_and_that_is_scikit_learns():
    X, y = data()
    ours = OnlineClassifier("perceptron", epochs=5, shuffle=False).fit(X, y)
    same = OnlineClassifier("p_norm", p=2.0, epochs=5, shuffle=False).fit(X, y)
    theirs = Perceptron(max_iter=5, tol=None, shuffle=False).fit(X, y)
    assert ours.mistakes_ == same.mistakes_
    np.testing.assert_allclose(same.coef_, ours.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)


def test_normalised_and_unnormalised_winnow_make_identical_mistakes():
    X, y = data()
    X = X * np.sign(np.random.default_rng(1).standard_normal(X.shape))
    kinds = [OnlineClassifier("balanced_winnow", eta=0.1, epochs=20, total=total).fit(X, y) for total in (None, 7.0)]
    assert kinds[0].mistakes_ == kinds[1].mistakes_ > 0
    np.testing.assert_array_equal(kinds[0].predict(X), kinds[1].predict(X))
    ratio = kinds[0].coef_ / kinds[1].coef_
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-9)


def test_mistake_bounds_on_separable_data():
    """Perceptron: (R |w*| / margin)^2; balanced Winnow on |x| <= 1: 2 ln(2d) (|w*|_1 / margin)^2 with eta = margin / |w*|_1."""
    rng = np.random.default_rng(0)
    X, w = np.where(rng.random((400, 200)) < 0.5, -1.0, 1.0), np.zeros(200)
    w[:3] = 1.0
    y = np.where(X @ w > 0, 1, -1)
    options = {"fit_intercept": False, "epochs": 1000}
    perceptron = OnlineClassifier("perceptron", **options).fit(X, y)
    winnow = OnlineClassifier("balanced_winnow", eta=1 / 3, **options).fit(X, y)
    assert perceptron.mistakes_ <= 200 * 3
    assert winnow.mistakes_ <= 2 * np.log(400) * 9
    for model in (perceptron, winnow):
        assert model.n_seen_ < 1000 * 400  # it stopped at the first pass without a mistake
        assert model.score(X, y) == 1.0


def test_several_classes_are_one_against_the_rest():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((150, 4)), rng.integers(0, 3, 150)
    X[np.arange(150), y] += 3.0
    model = OnlineClassifier(average=True, shuffle=False).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.mistakes_.shape == (3,)
    for k in range(3):
        one = OnlineClassifier(average=True, shuffle=False).fit(X, y == k)
        np.testing.assert_allclose(model.coef_[k], one.coef_[0])
        assert model.mistakes_[k] == one.mistakes_
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_negative_features_are_refused_where_weights_are_positive(storage):
    X, y = data()
    X[5, 2] = -1.0
    with pytest.raises(InputError, match=r"X\[5, 2\] is -1.0.*balanced_winnow"):
        OnlineClassifier("winnow").fit(storage(X), y)
    assert OnlineClassifier("balanced_winnow").fit(storage(X), y).mistakes_ > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": 0.0}, "eta must be"),
        ({"algorithm": "p_norm", "p": 1.5}, "p must be"),
        ({"epochs": 0}, "epochs must be"),
        ({"algorithm": "winnow", "total": -1.0}, "total must be"),
        ({"algorithm": "winnow", "threshold": np.inf}, "threshold must be"),
        ({"algorithm": "winnow", "prior": [1.0, 2.0]}, "prior has 2 entries"),
        ({"algorithm": "winnow", "eta": 1e6}, "lower eta"),
    ],
)
def test_bad_parameters_are_named(options, message):
    X, y = data()
    with pytest.raises(InputError, match=message):
        OnlineClassifier(**options).fit(X, y)


def test_other_errors():
    X, y = data()
    with pytest.raises(UnknownNameError):
        OnlineClassifier("percepton").fit(X, y)
    with pytest.raises(InputError, match="classes is missing"):
        OnlineClassifier().partial_fit(X, y)
    model = OnlineClassifier().partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(InputError, match="label 2"):
        model.partial_fit(X, np.full(len(y), 2))


def test_the_large_margin_version_is_at_least_as_good_on_sparse_targets():
    """The pairing of the docstring, on data for which Winnow is made: many irrelevant features, few relevant."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (400, 100)).astype(float)
    y = np.where(X[:, :5].sum(axis=1) >= 3, 1, -1)
    wide = np.column_stack([X, np.ones(400)])
    train, test = slice(0, 200), slice(200, 400)
    online = OnlineClassifier("balanced_winnow", eta=0.05, epochs=50, total=10.0).fit(X[train], y[train])
    regularizer = fenchel.regularizers.BalancedEntropy(1e-3, total=10.0)
    batch = fenchel.solve(
        fenchel.Problem(wide[train], y[train], "hinge", regularizer), solver="dual_ascent", tol=1e-4, max_time=20
    )
    assert batch.status is fenchel.Status.CERTIFIED
    accuracy = np.mean(np.sign(wide[test] @ batch.coef) == y[test])
    assert accuracy >= online.score(X[test], y[test]) - 0.02
