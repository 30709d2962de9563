"""ClassifierCV and RegressorCV: the scores and the choice are those of brute force on the same folds."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, get_scorer, mean_squared_error
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.preprocessing import scale

import fenchel
from fenchel import regularizers
from fenchel.errors import InputError
from fenchel.estimators.cross_validation import choose, ranks
from fitted_estimators import COUNT, REAL, SIGN, WORDS, X

ALPHAS = [3.0, 0.3, 0.03, 0.003]
GROUPS = np.arange(60) % 7
CLASSIFIER, REGRESSOR = fenchel.ClassifierCV, fenchel.RegressorCV
CASES = {
    "logistic": (CLASSIFIER("logistic", tol=1e-9), SIGN),
    "hinge, L1, AUC": (CLASSIFIER("hinge", "l1", scoring="roc_auc", cv=StratifiedKFold(4)), SIGN),
    "one against the rest": (CLASSIFIER("squared_hinge", cv=3, class_weight="balanced", tol=1e-9), WORDS),
    "softmax, log loss": (CLASSIFIER("softmax", scoring="neg_log_loss", cv=KFold(3), tol=1e-9), WORDS),
    "elastic net": (CLASSIFIER("logistic", "elastic_net", l1_ratio=0.2, cv=GroupKFold(4), tol=1e-9), SIGN),
    "squared": (REGRESSOR(tol=1e-10, cv=ShuffleSplit(4, random_state=0)), REAL),
    "standardized L1": (REGRESSOR(regularizer="l1", standardize=True, scoring="neg_mean_absolute_error", tol=1e-10), REAL),
    "Poisson": (REGRESSOR("poisson", tol=1e-10), COUNT),
    "object": (REGRESSOR("huber", delta=0.5, regularizer=regularizers.GroupLasso(7.0, [[0, 1], [2, 3]]), tol=1e-10), REAL),
}  # fmt: skip


@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("name", CASES)
def test_scores_and_choice_are_those_of_a_grid_search(name, rows):
    model, y = clone(CASES[name][0]).set_params(alphas=ALPHAS), CASES[name][1]
    groups = GROUPS if isinstance(model.cv, GroupKFold) else None
    model.fit(rows(X), y, groups=groups)
    single = model._make_single()
    grid = {"alpha": ALPHAS}
    if name == "object":
        grid = {"regularizer": [single.regularizer.scaled(alpha) for alpha in ALPHAS]}
    brute = GridSearchCV(single, grid, cv=model.cv, scoring=model.scoring).fit(rows(X), y, groups=groups)
    assert set(brute.cv_results_) - {"param_regularizer"} <= set(model.cv_results_)
    for key, values in brute.cv_results_.items():
        if "score" in key and "time" not in key and "rank" not in key:
            np.testing.assert_allclose(model.cv_results_[key], values, rtol=1e-4, atol=1e-4, err_msg=key)
    assert model.cv_results_["rank_test_score"].tolist() == ranks(model.cv_results_["mean_test_score"]).tolist()
    assert model.best_index_ == brute.best_index_ and model.alpha_ == ALPHAS[brute.best_index_]
    assert model.n_splits_ == brute.n_splits_ and model.cv_results_["max_relative_gap"].max() <= model.tol
    again = brute.best_estimator_
    np.testing.assert_allclose(model.coef_, again.coef_, atol=1e-3)
    assert model.converged_ and model.regularizer_.alpha == model.alpha_
    if hasattr(again, "classes_"):
        assert (model.predict(rows(X)) == again.predict(rows(X))).all() and (model.classes_ == again.classes_).all()


def test_weights_count_in_fits_and_scores_as_repetitions_do():
    weights = np.arange(60) % 3
    folds = list(KFold(3).split(X))
    model = REGRESSOR(alphas=ALPHAS, cv=folds, tol=1e-10).fit(X, REAL, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        single = fenchel.Regressor(tol=1e-10).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        brute = GridSearchCV(single, {"alpha": ALPHAS}, cv=folds).fit(X, REAL, sample_weight=weights)
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], brute.cv_results_["mean_test_score"], rtol=1e-6)
    weighted = CLASSIFIER("logistic", alphas=ALPHAS, cv=folds).fit(X, SIGN, sample_weight=weights)
    for k, (train, test) in enumerate(folds):
        found = fenchel.Classifier("logistic", alpha=0.3).fit(X[train], SIGN[train], weights[train])
        expected = accuracy_score(SIGN[test], found.predict(X[test]), sample_weight=weights[test])
        assert weighted.cv_results_[f"split{k}_test_score"][1] == pytest.approx(expected)


def test_offsets_are_used_in_fits_and_predictions_of_held_out_rows():
    offset, folds = 3.0 * X[:, 1] + np.arange(60) % 2, list(KFold(4).split(X))
    model = REGRESSOR(alphas=[1.0, 0.1], cv=folds, scoring="neg_mean_squared_error", tol=1e-10)
    model.fit(X, REAL, offset=offset)
    for k, (train, test) in enumerate(folds):
        for j, alpha in enumerate(model.alphas_):
            found = fenchel.Regressor(alpha=alpha, tol=1e-10).fit(X[train], REAL[train], offset=offset[train])
            expected = mean_squared_error(REAL[test], found.predict(X[test], offset=offset[test]))
            assert -model.cv_results_[f"split{k}_test_score"][j] == pytest.approx(expected, rel=1e-6)
    direct = fenchel.Regressor(alpha=model.alpha_, tol=1e-10).fit(X, REAL, offset=offset)
    np.testing.assert_allclose(model.coef_, direct.coef_, atol=1e-6)


def test_the_one_standard_error_rule():
    model = CLASSIFIER("logistic", rule="one_se", alphas=30).fit(X, SIGN)
    mean, se = model.cv_results_["mean_test_score"], model.cv_results_["se_test_score"]
    splits = np.array([model.cv_results_[f"split{k}_test_score"] for k in range(5)])
    np.testing.assert_allclose(se, splits.std(axis=0, ddof=1) / np.sqrt(5))
    best = int(np.argmax(mean))
    assert model.alpha_ == model.alpha_one_se_ == model.alphas_[mean >= mean[best] - se[best]].max()
    assert model.alpha_best_ == model.alphas_[best] <= model.alpha_
    assert choose([1.0, 2.0], [0.5, 0.5], [0.0, 0.0]) == (0, 1)
    assert choose([2.0, 1.0, 0.5], [np.nan, 0.2, 0.4], [0.1, 0.1, 0.1]) == (2, 2)
    with pytest.raises(InputError, match="not defined"):
        choose([1.0], [np.nan], [0.0])


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("penalty", ["l1", "l2", "elastic_net"])
def test_strengths_begin_where_the_penalty_leaves_almost_nothing(penalty, loss):
    model = CLASSIFIER(loss, penalty, alphas=3, alpha_min_ratio=1e-2, refit=False).fit(X + 5.0, SIGN)
    assert model.alphas_ == pytest.approx(model.alphas_[0] * np.array([1.0, 0.1, 0.01]))

    def fit(alpha):
        return fenchel.Classifier(loss, penalty, alpha=alpha).fit(X + 5.0, SIGN)

    constant, high = fit(1e9).objective_, model.alphas_[0]
    assert constant - fit(1.01 * high).dual_objective_ <= 0.0101 * constant
    assert constant - fit(0.9 * high).objective_ > (0.0 if penalty == "l1" else 0.008) * constant
    if penalty == "l1":
        assert not fit(1.01 * high).coef_.any() and fit(0.9 * high).coef_.any()


def test_a_path_takes_at_most_half_the_work_of_cold_fits():
    rows, y = load_breast_cancer(return_X_y=True)
    problem = fenchel.Problem(scale(rows), 2.0 * y - 1, "logistic", fit_intercept=True)
    alphas = np.geomspace(10.0, 1e-4, 20)
    warm = sum(result.passes for result in fenchel.path(problem, alphas))
    cold = sum(fenchel.path(problem, [alpha])[0].passes for alpha in alphas)
    assert warm <= 0.5 * cold


def test_without_refit_there_is_no_prediction():
    model = REGRESSOR(refit=False, alphas=2).fit(X, REAL)
    assert model.alpha_ in model.alphas_ and not hasattr(model, "coef_")
    with pytest.raises(sklearn.exceptions.NotFittedError):
        model.predict(X)


def test_a_file_holds_the_model(tmp_path):
    model = CLASSIFIER("logistic", alphas=3).fit(X, WORDS)
    model.save(tmp_path / "m")
    loaded = CLASSIFIER.load(tmp_path / "m")
    assert (
        loaded.alpha_ == model.alpha_ and (loaded.predict(X) == model.predict(X)).all() and loaded.cv_results_ is None
    )
    assert (fenchel.load(tmp_path / "m").predict(X) == model.predict(X)).all()
    assert loaded.fit(X, WORDS).alpha_ == model.alpha_
    assert get_scorer("accuracy")(loaded, X, WORDS) > 0.5


@pytest.mark.parametrize(
    ("options", "fit", "words"),
    [
        ({"alphas": 0}, {}, "at least 1"),
        ({"alphas": [1.0, -1.0]}, {}, r"alphas\[1\] is -1.0"),
        ({"alphas": []}, {}, "at least one number"),
        ({"alpha_min_ratio": 2.0}, {}, "between 0 and 1"),
        ({"rule": "worst"}, {}, "'one_se'"),
        ({"scoring": ["r2", "neg_mean_squared_error"]}, {}, "one score"),
        ({"scoring": "neg_max_error"}, {"sample_weight": np.ones(60)}, "does not take sample_weight"),
        ({"cv": [(np.arange(30), np.arange(30, 60))]}, {"sample_weight": np.arange(60) < 30}, "nothing to score"),
        ({"regularizer": regularizers.L1Ball(1.0)}, {}, "no strength"),
        ({"quantile": 0.5}, {}, "is for loss='quantile'"),
    ],
)  # fmt: skip
def test_bad_input_is_named(options, fit, words):
    with pytest.raises(InputError, match=words):
        REGRESSOR(**options).fit(X, REAL, **fit)
    with pytest.raises(ValueError, match="groups"):
        REGRESSOR(cv=GroupKFold(3)).fit(X, REAL)


def test_a_gap_left_in_a_fold_is_a_warning():
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="in 10 of 10 fits of folds"):
        REGRESSOR("absolute", alphas=[0.1, 0.01], max_iter=0, refit=False).fit(X, REAL)


@pytest.mark.parametrize("value", [0.0, 1.0, -3e5, 1e-9])
@pytest.mark.parametrize("loss", ["squared", "huber", "absolute"])
def test_constant_targets_have_a_grid(value, loss):
    """The intercept fits them exactly, whatever alpha is."""
    with warnings.catch_warnings():  # a relative gap of 0 is not certified for every value
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fenchel.RegressorCV(loss, alphas=3, cv=3).fit(X, np.full(len(X), value))
    assert np.isfinite(model.alpha_) and model.predict(X) == pytest.approx(
        np.full(len(X), value), abs=1e-6 * abs(value)
    )


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge"])
def test_a_fold_that_cannot_be_fitted_is_named(loss):
    alone = np.where(np.arange(len(X)) == 4, 1, 0)
    with (
        pytest.warns(UserWarning, match="least populated class"),
        pytest.raises(InputError, match="one of the folds leaves"),
    ):
        fenchel.ClassifierCV(loss, alphas=3, cv=3).fit(X, alone)
    halves = [(np.arange(30, 60), np.arange(30))]
    with pytest.raises(InputError, match="one of the folds leaves 30 of 60 rows"):
        fenchel.ClassifierCV(loss, alphas=3, cv=halves).fit(X, SIGN, sample_weight=(np.arange(60) < 30) + 0.0)
