"""Estimators: they solve the problem that their docs state, keep its certificate and behave as scikit-learn's do."""

import logging
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, PoissonRegressor, QuantileRegressor, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import fenchel
from fenchel import Classifier, NoveltyDetector, Problem, Regressor
from fenchel.errors import InputError, UnknownNameError
from fenchel.estimators import base
from fenchel.models import parts
from fenchel.regularizers import L1, L2, ElasticNet
from fenchel.result import Certificate, Status


@pytest.fixture(scope="module")
def binary():
    X, y = make_classification(120, 6, random_state=0, flip_y=0.1)
    return X, np.where(y == 1, "yes", "no"), np.random.default_rng(0).uniform(0.5, 2.0, 120)


@pytest.fixture(scope="module")
def classes():
    return make_classification(150, 6, n_informative=4, n_classes=3, random_state=1)


@pytest.fixture(scope="module")
def numeric():
    X, y = make_regression(100, 5, noise=5.0, random_state=0)
    return X, y / np.abs(y).max(), np.random.default_rng(1).uniform(0.5, 2.0, 100)


def same(found: Certificate, expected: Certificate):
    assert found.primal == expected.primal
    assert found.dual == pytest.approx(expected.dual, rel=1e-12)


# ---- the problem that the docs state, and its certificate


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
def test_classifier_certificate_is_that_of_the_stated_problem(binary, loss):
    X, y, s = binary
    model = Classifier(loss=loss, alpha=0.02, class_weight={"no": 1.0, "yes": 3.0}).fit(X, y, sample_weight=s)
    weights = s * np.where(y == "yes", 3.0, 1.0)
    signs = np.where(y == "yes", 1.0, -1.0)
    problem = Problem(X, signs, loss=loss, regularizer=L2(0.02), fit_intercept=True, sample_weight=weights)
    same(model.certificate_, fenchel.certify(problem, model.coef_, model.intercept_, model.dual_coef_[0]))
    assert (model.objective_, model.dual_objective_) == (model.certificate_.primal, model.certificate_.dual)
    assert model.dual_gap_ == model.certificate_.gap <= 1e-6 * abs(model.objective_)
    assert model.status_ is Status.CERTIFIED
    assert model.converged_ is True
    assert model.history_[-1].primal == pytest.approx(model.objective_, rel=1e-5)
    assert model.solver_.split(" then ")[0] in [cls.__name__ for cls in fenchel.solvers.SOLVERS.values()]
    assert (model.coef_.shape, model.intercept_.shape, model.dual_coef_.shape) == ((1, 6), (1,), (1, 120))


def test_regressor_certificate_with_offset(numeric):
    X, y, s = numeric
    counts, offset = np.round(10 * np.abs(y)), np.linspace(-0.5, 0.5, 100)
    model = Regressor(loss="poisson", alpha=0.1).fit(X, counts, sample_weight=s, offset=offset)
    problem = Problem(X, counts, "poisson", L2(0.1), fit_intercept=True, sample_weight=s, offset=offset)
    same(model.certificate_, fenchel.certify(problem, model.coef_, model.intercept_, model.dual_coef_))
    z = X @ model.coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(X), np.exp(z))
    np.testing.assert_allclose(model.predict(X, offset=offset), np.exp(z + offset))
    assert model.score(X, counts, s, offset=offset) > model.score(X, counts[::-1], s)


def test_novelty_certificate_and_threshold(binary):
    X, _, s = binary
    model = NoveltyDetector(alpha=0.01, contamination=0.2).fit(X + 2.0, sample_weight=s)
    problem = Problem(X + 2.0, loss="novelty", regularizer=L2(0.01), sample_weight=s)
    same(model.certificate_, fenchel.certify(problem, model.coef_, 0.0, model.dual_coef_[0]))
    novel = model.predict(X + 2.0) == -1
    lowest = model.score_samples(X + 2.0)
    assert s[novel].sum() / s.sum() == pytest.approx(0.2, abs=s.max() / s.sum())
    assert lowest[novel].max() < model.offset_ <= lowest[~novel].min()


def test_one_vs_rest_is_one_certified_problem_per_class(classes):
    X, y = classes
    model = Classifier(loss="logistic", alpha=0.01).fit(X, y)
    assert model.coef_.shape == (3, 6)
    assert model.dual_coef_.shape == (3, 150)
    for k in range(3):
        problem = Problem(X, np.where(y == k, 1.0, -1.0), "logistic", L2(0.01), fit_intercept=True)
        found = fenchel.certify(problem, model.coef_[k], model.intercept_[k], model.dual_coef_[k])
        same(model.certificate_[k], found)
        assert model.dual_gap_[k] <= 1e-6 * model.objective_[k]
    assert [s is Status.CERTIFIED for s in model.status_] == [True] * 3
    assert model.n_iter_.shape == model.objective_.shape == model.dual_objective_.shape == (3,)
    assert len(model.history_) == len(model.solver_) == 3
    scores = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), scores.argmax(axis=1))
    expected = 1 / (1 + np.exp(-scores))
    np.testing.assert_allclose(model.predict_proba(X), expected / expected.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


# ---- agreement with scikit-learn at matching settings: our objective is within the gap of theirs, and not above


def objective(problem, coef, intercept):
    return fenchel.certify(problem, coef, intercept).primal


def test_logistic_regression_with_c(binary):
    X, y, s = binary
    theirs = LogisticRegression(C=0.7, tol=1e-10, max_iter=10_000).fit(X, y, sample_weight=s)
    ours = Classifier(loss="logistic", C=0.7, tol=1e-10).fit(X, y, sample_weight=s)
    assert ours.regularizer_.alpha == 1.0 / (0.7 * s.sum())
    signs = np.where(y == "yes", 1.0, -1.0)
    problem = Problem(X, signs, "logistic", L2(1 / (0.7 * s.sum())), fit_intercept=True, sample_weight=s)
    assert ours.objective_ <= objective(problem, theirs.coef_, theirs.intercept_) * (1 + 1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


def test_linear_svc_without_intercept(binary):
    X, y, _ = binary
    theirs = LinearSVC(C=0.1, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=100_000).fit(X, y)
    ours = Classifier(C=0.1, fit_intercept=False, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert ours.intercept_ == [0.0]


def test_ridge(numeric):
    X, y, s = numeric
    theirs = Ridge(alpha=2.0).fit(X, y, sample_weight=s)
    ours = Regressor(alpha=2.0 / s.sum(), tol=1e-12).fit(X, y, sample_weight=s)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5)
    assert ours.score(X, y, s) == pytest.approx(theirs.score(X, y, s), rel=1e-8)


def test_poisson_regressor(numeric):
    X, y, s = numeric
    counts = np.round(10 * np.abs(y))
    theirs = PoissonRegressor(alpha=0.05, tol=1e-9, max_iter=10_000).fit(X, counts, sample_weight=s)
    ours = Regressor(loss="poisson", alpha=0.05, tol=1e-11).fit(X, counts, sample_weight=s)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert ours.score(X, counts, s) == pytest.approx(theirs.score(X, counts, s), rel=1e-5)


@pytest.mark.parametrize("name", ["l1", "elastic_net"])
def test_l1_is_sparse_and_optimal(numeric, name):
    X, y, _ = numeric
    noise = np.random.default_rng(0).normal(size=(100, 5))
    model = Regressor(regularizer=name, alpha=0.05, l1_ratio=0.9).fit(np.hstack([X, noise]), y)
    assert model.regularizer_ == (L1(0.05) if name == "l1" else ElasticNet(0.05, l1_ratio=0.9))
    assert model.converged_
    assert (np.abs(model.coef_[5:]) < 1e-3).all()


def test_quantile_regressor(numeric):
    X, y, _ = numeric
    theirs = QuantileRegressor(quantile=0.8, alpha=0.01).fit(X, y)
    ours = Regressor(loss="quantile", quantile=0.8, regularizer="l1", alpha=0.01).fit(X, y)
    problem = Problem(X, y, fenchel.losses.Quantile(0.8), L1(0.01), fit_intercept=True)
    assert ours.objective_ == pytest.approx(objective(problem, theirs.coef_, theirs.intercept_), rel=2e-6)


# ---- parameters


def test_loss_parameters_reach_the_loss(numeric):
    X, y, _ = numeric
    for name, value, loss in [
        ("quantile", 0.7, fenchel.losses.Quantile(0.7)),
        ("epsilon", 0.02, fenchel.losses.EpsilonInsensitive(0.02)),
        ("delta", 0.3, fenchel.losses.Huber(0.3)),
    ]:
        kind = {"quantile": "quantile", "epsilon": "epsilon_insensitive", "delta": "huber"}[name]
        by_name = Regressor(loss=kind, alpha=0.1, **{name: value}).fit(X, y)
        by_object = Regressor(loss=loss, alpha=0.1).fit(X, y)
        assert by_name.objective_ == by_object.objective_


def test_balanced_counts_weight(classes):
    X, y = classes
    keep = np.r_[np.flatnonzero(y == 0)[:10], np.flatnonzero(y == 1)]
    X, y = X[keep], y[keep]
    s = np.random.default_rng(0).integers(0, 3, y.size)
    sums = np.array([s[y == 0].sum(), s[y == 1].sum()])
    by_hand = dict(enumerate(s.sum() / (2 * sums)))
    balanced = Classifier("logistic", class_weight="balanced", alpha=0.01).fit(X, y, sample_weight=s)
    weighted = Classifier("logistic", class_weight=by_hand, alpha=0.01).fit(X, y, sample_weight=s)
    repeated = Classifier("logistic", class_weight="balanced", alpha=0.01).fit(X.repeat(s, axis=0), y.repeat(s))
    np.testing.assert_allclose(balanced.coef_, weighted.coef_, rtol=1e-9)
    np.testing.assert_allclose(balanced.coef_, repeated.coef_, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_only_ratios_of_weights_matter(binary, scale):
    X, y, s = binary
    for class_weight in (None, "balanced"):
        model = Classifier("logistic", alpha=0.01, class_weight=class_weight)
        expected = clone(model).fit(X, y, sample_weight=s).coef_
        np.testing.assert_allclose(model.fit(X, y, sample_weight=s * scale).coef_, expected, rtol=1e-6)


def test_a_label_without_weight_is_no_class(classes):
    X, y = classes
    s = (y != 1).astype(float)
    model = Classifier("logistic", alpha=0.01).fit(X, y, sample_weight=s)
    assert model.classes_.tolist() == [0, 2]
    np.testing.assert_allclose(model.coef_, clone(model).fit(X[y != 1], y[y != 1]).coef_, rtol=1e-6)


def test_warm_start_begins_at_the_previous_solution(binary):
    X, y, _ = binary
    model = Classifier(alpha=0.01, warm_start=True).fit(X, y)
    first, cold = model.coef_.copy(), model.n_iter_
    assert model.fit(X, y).n_iter_ < cold
    np.testing.assert_allclose(model.coef_, first, rtol=1e-3)
    model.fit(X[:50, :3], y[:50])  # another shape: a fresh start
    assert model.converged_


def test_threads_do_not_change_the_bits(binary):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 20))  # enough for several blocks
    y = X[:, 0] + rng.normal(size=40_000)
    fits = [Regressor(loss="huber", alpha=0.01, n_jobs=jobs).fit(X, y) for jobs in (None, 2, -1)]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.coef_, fits[0].coef_)
        assert fit.intercept_ == fits[0].intercept_


def test_random_state_reaches_a_named_solver(binary):
    X, y, _ = binary
    one, again, other = (
        Classifier(solver="dual_ascent", alpha=0.1, tol=1e-3, random_state=seed).fit(X, y).coef_ for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


# ---- paths


def test_path_is_certified_at_every_strength(binary):
    X, y, s = binary
    alphas = [0.01, 1.0, 0.1]
    model = Classifier("logistic")
    found = model.path(X, y, alphas, sample_weight=s)
    assert not hasattr(model, "n_features_in_")
    assert found.converged
    assert len(found) == 3
    assert found.alphas.tolist() == alphas
    for k, alpha in enumerate(alphas):
        cold = Classifier("logistic", alpha=alpha, tol=1e-9).fit(X, y, sample_weight=s)
        assert found.certificates[k].primal == pytest.approx(cold.objective_, rel=1e-6)
        np.testing.assert_allclose(found.coefs[k], cold.coef_[0], atol=2e-3)
        assert found[k].intercept == found.intercepts[k]
    assert [r.problem.regularizer.alpha for r in found] == alphas
    assert list(found[1:].alphas) == alphas[1:]


def test_path_starts_warm_and_from_the_largest(numeric, monkeypatch):
    X, y, _ = numeric
    calls = []
    module = sys.modules["fenchel.estimators.path"]
    real = module.solve

    def watched(problem, **options):
        calls.append((problem.regularizer.alpha, options["start"]))
        return real(problem, **options)

    monkeypatch.setattr(module, "solve", watched)
    found = Regressor(regularizer=L2(7.0)).path(X, y, [0.1, 10.0, 1.0])
    assert [alpha for alpha, _ in calls] == [10.0, 1.0, 0.1]
    assert [start for _, start in calls[:2]] == [None, found[1]]
    coef, intercept, u = calls[2][1]  # on the line in log alpha through the last two
    np.testing.assert_allclose(coef, 2.0 * found[2].coef - found[1].coef, rtol=1e-12)
    np.testing.assert_allclose(intercept, 2.0 * found[2].intercept - found[1].intercept)
    np.testing.assert_allclose(u, 2.0 * found[2].dual_point - found[1].dual_point, rtol=1e-9)


def test_path_with_a_nonsmooth_loss_starts_from_the_last_result(numeric, monkeypatch):
    X, y, _ = numeric
    starts = []
    module = sys.modules["fenchel.estimators.path"]
    real = module.solve
    monkeypatch.setattr(
        module, "solve", lambda problem, **options: (starts.append(options["start"]), real(problem, **options))[1]
    )
    found = Regressor("absolute").path(X, y, [1.0, 0.5, 0.2])
    assert starts == [None, found[0], found[1]]


def test_path_of_a_problem_and_of_a_factory(numeric):
    X, y, s = numeric
    problem = Problem(X, y, "squared", ElasticNet(1.0, l1_ratio=0.3), sample_weight=s)
    found = fenchel.path(problem, [0.2, 0.1])
    made = fenchel.path(lambda a: Problem(X, y, "squared", ElasticNet(a, l1_ratio=0.3), sample_weight=s), [0.2, 0.1])
    np.testing.assert_allclose(found.coefs, made.coefs, atol=1e-4)


# ---- data


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_feature_names(binary, frame):
    X, y, _ = binary
    names = [f"f{j}" for j in range(6)]
    data = frame({name: X[:, j] for j, name in enumerate(names)})
    for model in (Classifier("logistic", alpha=0.01), NoveltyDetector(alpha=0.01)):
        fitted = clone(model).fit(data, y)
        assert fitted.feature_names_in_.tolist() == names
        np.testing.assert_array_equal(fitted.coef_, clone(model).fit(X, y).coef_)
        assert fitted.predict(data).shape == (120,)


def test_polars_and_pandas_targets(binary):
    X, y, s = binary
    expected = Classifier("logistic").fit(X, y, sample_weight=s).coef_
    for series in (pd.Series, pl.Series):
        found = Classifier("logistic").fit(X, series(y.tolist()), sample_weight=series(s.tolist())).coef_
        np.testing.assert_array_equal(found, expected)


def wide(matrix):
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


@pytest.mark.parametrize(
    "make", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_array, lambda X: wide(sp.csr_array(X))]
)
def test_sparse_equals_dense(binary, make):
    X, y, _ = binary
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, sparse = (Classifier("logistic", alpha=0.1, tol=1e-10).fit(data, y) for data in (X, make(X)))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-6)
    np.testing.assert_allclose(sparse.decision_function(make(X)), sparse.decision_function(X), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [np.ascontiguousarray, sp.csr_array])
def test_nothing_is_copied_or_changed(binary, dtype, make, monkeypatch):
    X, y, _ = binary
    X = make(X.astype(dtype))
    seen, real = [], base.solve
    monkeypatch.setattr(base, "solve", lambda problem, **options: seen.append(problem) or real(problem, **options))
    before = X.copy()
    model = Classifier("logistic", alpha=0.1).fit(X, y)
    kept = seen[0].X
    assert kept.dtype == dtype
    assert np.shares_memory(kept, X) if isinstance(X, np.ndarray) else np.shares_memory(kept.data, X.data)
    assert abs(before - X).max() == 0.0
    assert model.decision_function(X).dtype == np.float64


def test_float32_scores_are_those_of_float64(binary, monkeypatch):
    X, y, _ = binary
    X = X.astype(np.float32)
    model = Classifier("logistic", alpha=0.1).fit(X, y)
    monkeypatch.setattr(parts, "ROWS_AT_ONCE", 50)
    expected = model.decision_function(X.astype(np.float64))
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(sp.csr_array(X)), expected, rtol=1e-12, atol=1e-12)


# ---- warnings, logs, tools


def test_convergence_warning_states_gap_and_target(binary):
    X, y, _ = binary
    with pytest.warns(
        ConvergenceWarning, match=r"certified relative gap .*, target tol=1e-06, status MAX_ITER"
    ) as seen:
        model = Classifier(max_iter=1).fit(X, y)
    assert seen[0].filename == __file__
    assert f"{model.certificate_.relative_gap:.3g}" in str(seen[0].message)
    assert model.converged_ is False
    assert model.status_ is Status.MAX_ITER


def test_time_limit_is_for_all_classes_together(classes):
    X, y = classes
    with pytest.warns(ConvergenceWarning, match="in 3 of 3 problems"):
        Classifier("logistic", alpha=1e-3, tol=1e-9, max_time=1e-9).fit(X, y)


def test_after_an_interrupt_the_other_classes_are_not_started(classes, monkeypatch):
    X, y = classes
    limits, real = [], base.solve

    def interrupted(problem, **options):
        limits.append(options["max_iter"])

        def stop(state):
            if len(limits) == 1:
                raise KeyboardInterrupt

        return real(problem, **{**options, "callback": stop})

    monkeypatch.setattr(base, "solve", interrupted)
    with pytest.warns(ConvergenceWarning):
        model = Classifier("logistic", alpha=1e-3).fit(X, y)
    assert limits == [None, 0, 0]
    assert model.status_[0] is Status.INTERRUPTED
    assert np.isfinite(model.objective_).all()


def test_verbose_logs_and_prints_nothing(binary, caplog, capfd):
    X, y, _ = binary
    with caplog.at_level(logging.INFO, logger="fenchel"):
        Classifier("logistic", verbose=2).fit(X, y)
    lines = [record.getMessage() for record in caplog.records if record.name == "fenchel.estimators"]
    assert len(lines) > 2
    assert "gap" in lines[0]
    assert capfd.readouterr() == ("", "")


def test_pickle_clone_pipeline_search_and_diagram(binary):
    X, y, _ = binary
    model = Classifier("logistic", alpha=0.1).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert (copy.certificate_, copy.status_) == (model.certificate_, model.status_)
    assert len(pickle.dumps(model)) < X.nbytes + model.dual_coef_.nbytes + 20_000  # the data are not in it
    search = GridSearchCV(make_pipeline(StandardScaler(), Classifier("logistic")), {"classifier__alpha": [0.1, 1.0]})
    assert search.fit(X, y).best_score_ > 0.7
    assert cross_val_score(Regressor(loss=fenchel.losses.Huber(0.5)), X, (y == "yes") * 1.0).shape == (5,)
    assert "Classifier" in model._repr_html_()
    assert clone(Regressor(regularizer=L2(0.5))).get_params()["regularizer"] == L2(0.5)


def test_metadata_routing(numeric):
    from sklearn import config_context

    X, y, s = numeric
    with config_context(enable_metadata_routing=True):
        model = Regressor("squared").set_fit_request(sample_weight=True, offset=True).set_score_request(offset=False)
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        pipe = make_pipeline(scaler, model).fit(X, y, sample_weight=s, offset=y)
    assert np.abs(pipe[-1].coef_).max() < 1e-3  # the offset explains everything


def test_probability_only_where_the_loss_has_one():
    assert hasattr(Classifier("logistic"), "predict_proba")
    assert not hasattr(Classifier("hinge"), "predict_proba")
    assert not hasattr(Classifier(fenchel.losses.Hinge()), "predict_log_proba")


def test_importing_fenchel_does_not_import_scikit_learn():
    code = "import sys, fenchel; assert not {'sklearn', 'pandas', 'numba'} & set(sys.modules); fenchel.Classifier"
    code += "; assert 'sklearn' in sys.modules; assert set(fenchel.__all__) <= set(dir(fenchel))"
    code += "; [getattr(fenchel, name) for name in fenchel.__all__]"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert fenchel.__all__ == sorted(fenchel.__all__)


# ---- bad arguments


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Classifier(alpha=1.0, C=1.0), "alpha or C, not both"),
        (Classifier(C=-1.0), "C must be > 0"),
        (Classifier(alpha=-1.0), "alpha must be > 0"),
        (Classifier(regularizer=L2(1.0), C=1.0), "C is given, but the regularizer object"),
        (Classifier(regularizer=L2(1.0), alpha=1.0), "alpha is given, but the regularizer object"),
        (Classifier(loss="hinges"), "Did you mean 'hinge'"),
        (Classifier(loss="poisson"), "unknown loss for classification"),
        (Classifier(regularizer="l3"), "unknown regularizer"),
        (Classifier(tol=0.0), "tol must be"),
        (Classifier(max_time=-1.0), "max_time must be"),
        (Classifier(solver="magic"), "unknown solver"),
        (Classifier(n_jobs=0), "n_jobs must be"),
        (Classifier(class_weight="even"), "class_weight"),
        (Regressor(quantile=0.5), "quantile=0.5 is for loss='quantile'"),
        (Regressor(loss="quantile", quantile=1.5), "tau"),
        (Regressor(loss="hinge"), "unknown loss for regression"),
        (NoveltyDetector(contamination=0.7), "contamination must be in"),
    ],
)
def test_bad_parameters(binary, model, message):
    X, y, _ = binary
    with pytest.raises(ValueError, match=message):
        model.fit(X, (y == "yes").astype(float))


def test_bad_data(binary):
    X, y, _ = binary
    broken = X.copy()
    broken[3, 2] = np.nan
    with pytest.raises(InputError, match="NaN at row 3, column 2"):
        Classifier().fit(broken, y)
    with pytest.raises(InputError, match="NaN at row 3, column 2"):
        Classifier("logistic").fit(X, y).predict(broken)
    with pytest.raises(InputError, match="only one class is present"):
        Classifier().fit(X, np.zeros(120))
    with pytest.raises(InputError, match=r"sample_weight of row 5 is -1\.0"):
        Classifier().fit(X, y, sample_weight=np.where(np.arange(120) == 5, -1.0, 1.0))
    with pytest.raises(InputError, match="y of row 0"):
        Regressor("poisson").fit(X, np.r_[-1.0, np.ones(119)])
    with pytest.raises(InputError, match="offset must be"):
        Regressor().fit(X, X[:, 0], offset=[1.0])
    with pytest.raises(InputError, match=r"alphas\[1\]"):
        Classifier().path(X, y, [1.0, -1.0])
    with pytest.raises(InputError, match="two classes"):
        Classifier().path(X, np.arange(120) % 3, [1.0])
    with pytest.raises(UnknownNameError):
        Regressor("cubic").fit(X, X[:, 0])
