"""Classifiers with a loss of several scores: one problem for all classes, its certificate, and scikit-learn's manners."""

import pickle
import warnings
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

import fenchel
from fenchel import Classifier, HierarchicalClassifier, Problem, certify, metrics, multiclass
from fenchel.errors import InputError, UnknownNameError
from fenchel.losses import Moreau
from fenchel.multiclass import (
    CostHinge,
    HierarchicalHinge,
    HierarchicalSoftmax,
    MaxHinge,
    MultivariateSquared,
    Softmax,
    TopK,
    Usunier,
    WeightedTopK,
    WeightedUsunier,
)
from fenchel.regularizers import L2, Quadratic
from fenchel.result import Status

NAMES = np.array(["ant", "bee", "cat", "dog"])
COST = np.array([[0, 1, 4, 2], [1, 0, 2, 3], [4, 2, 0, 1], [1, 5, 1, 0]], dtype=float)
PATHS = ["animal/small/ant", "animal/small/bee", "animal/cat", "plant"]
JOINT = [
    "max_hinge", "softmax", TopK(2), Usunier(3), WeightedTopK([0.6, 0.3]), WeightedUsunier([0.5, 0.3, 0.2]),
    CostHinge(COST), CostHinge(COST, beta=1.0), HierarchicalHinge(PATHS), HierarchicalHinge(PATHS, "lca"),
    HierarchicalHinge(PATHS, COST), HierarchicalSoftmax(PATHS), Moreau(MaxHinge(), 0.1), Moreau(TopK(2), 0.1),
]  # fmt: skip


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(120, 6, n_informative=5, n_redundant=0, n_classes=4, random_state=1)
    return X, NAMES[y], np.random.default_rng(0).uniform(0.5, 2.0, 120)


# ---- independent answers


def test_softmax_is_multinomial_logistic_regression(data):
    X, y, s = data
    ours = Classifier(loss="softmax", C=0.5, tol=1e-10).fit(X, y, sample_weight=s)
    theirs = LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000).fit(X, y, sample_weight=s)
    assert ours.status_ is Status.CERTIFIED
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    centred = [b - b.mean() for b in (ours.intercept_, theirs.intercept_)]  # a common shift changes no probability
    np.testing.assert_allclose(*centred, atol=2e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(ours.predict_log_proba(X), np.log(ours.predict_proba(X)))
    codes = np.searchsorted(theirs.classes_, y)
    problem = Problem(X, codes, "softmax", L2(1.0 / (0.5 * s.sum())), fit_intercept=True, sample_weight=s)
    assert ours.dual_objective_ <= certify(problem, theirs.coef_, theirs.intercept_).primal
    assert certify(problem, theirs.coef_, theirs.intercept_).primal <= ours.objective_ * (1.0 + 1e-6)


def test_max_hinge_is_liblinears_crammer_singer(data):
    X, y, _ = data
    ours = Classifier(loss="max_hinge", C=0.1).fit(X, y)
    theirs = LinearSVC(multi_class="crammer_singer", C=0.1, fit_intercept=False, tol=1e-8, max_iter=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions deprecate what is compared with
        theirs.fit(X, y)
    problem = Problem(X, np.searchsorted(NAMES, y), "max_hinge", L2(1.0 / (0.1 * 120)))
    assert certify(problem, theirs.coef_).primal == pytest.approx(ours.objective_, rel=1e-5)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=5e-3)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.98


def test_a_flat_tree_is_the_softmax(data):
    X, y, _ = data
    tree = HierarchicalClassifier(NAMES.tolist(), loss="softmax", alpha=0.05, tol=1e-9).fit(X, y)
    flat = Classifier(loss="softmax", alpha=0.05, fit_intercept=False, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(tree.predict_proba(X), flat.predict_proba(X), atol=1e-4)
    assert tree.objective_ == pytest.approx(flat.objective_, rel=1e-8)


# ---- the problem that the docs state, and its certificate


@pytest.mark.parametrize("loss", JOINT, ids=str)
def test_every_loss_is_one_certified_problem(data, loss):
    X, y, s = data
    model = Classifier(loss=loss, alpha=0.05, tol=1e-4, class_weight={"bee": 2.0}).fit(X, y, sample_weight=s)
    free = str(loss) == "softmax" or isinstance(loss, Moreau)  # differentiable, and a free intercept exists
    problem = Problem(
        X, np.searchsorted(NAMES, y), loss, L2(0.05), fit_intercept=free, sample_weight=s * np.where(y == "bee", 2, 1)
    )
    found = certify(problem, model.coef_, model.intercept_, model.dual_coef_.T)
    assert found.primal == model.objective_ == model.certificate_.primal
    assert found.dual == pytest.approx(model.dual_objective_, rel=1e-9)
    assert found.holds(1e-4)
    assert model.converged_ is True
    m = 6 if "ierarchical" in str(loss) else 4
    assert (model.coef_.shape, model.intercept_.shape, model.dual_coef_.shape) == ((m, 6), (m,), (m, 120))
    assert model.intercept_.any() == free
    assert isinstance(model.n_iter_, int)
    assert model.regularizer_ == L2(0.05)
    scores = model.decision_function(X)
    assert scores.shape == (120, 4)
    assert np.array_equal(model.predict(X), NAMES[scores.argmax(axis=1)])
    assert model.score(X, y) > 0.5
    top = model.predict_top_k(X, 3)
    assert np.array_equal(top[:, 0], model.predict(X))
    wrong = (top != y[:, None]).all(axis=1).mean()
    assert wrong == pytest.approx(metrics.top_k_error(np.searchsorted(NAMES, y), scores, 3))
    assert hasattr(model, "predict_proba") == (model._loss().__class__ in (Softmax, HierarchicalSoftmax))


def test_costs_are_in_the_order_of_classes(data):
    X, y, _ = data
    swap = {"ant": "z", "bee": "y", "cat": "x", "dog": "w"}  # the other order
    renamed = np.array([swap[label] for label in y])
    one = Classifier(CostHinge(COST), alpha=0.1).fit(X, y)
    two = Classifier(CostHinge(COST[::-1, ::-1]), alpha=0.1).fit(X, renamed)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-5)
    np.testing.assert_allclose(one.coef_, two.coef_[::-1], atol=1e-2)
    plain = Classifier("max_hinge", alpha=0.1).fit(X, y)
    assert Classifier(CostHinge(1.0 - np.eye(4)), alpha=0.1).fit(X, y).objective_ == pytest.approx(
        plain.objective_, rel=1e-5
    )


@pytest.mark.parametrize("loss", ["max_hinge", "softmax"])
def test_two_classes_have_one_decision(data, loss):
    X, y, _ = data
    two = np.where(y == "cat", "yes", "no")
    model = Classifier(loss=loss, alpha=0.1, tol=1e-8).fit(X, two)
    scores = X @ model.coef_.T + model.intercept_
    assert model.coef_.shape == (2, 6)
    decision = model.decision_function(X)
    np.testing.assert_allclose(decision, scores[:, 1] - scores[:, 0])
    assert np.array_equal(model.predict(X), np.where(decision > 0.0, "yes", "no"))
    assert model.predict_top_k(X, 2).tolist() == [
        ["yes", "no"] if first == "yes" else ["no", "yes"] for first in model.predict(X)
    ]
    # W = (-w/2, w/2) has the score difference w and half the penalty of w
    scalar = {"max_hinge": "hinge", "softmax": "logistic"}[loss]
    free = str(loss) == "softmax" or isinstance(loss, Moreau)  # differentiable, and a free intercept exists
    one = Classifier(loss=scalar, alpha=0.05, tol=1e-8, fit_intercept=free).fit(X, two)
    assert one.coef_.shape == (1, 6)
    np.testing.assert_allclose(model.coef_[1] - model.coef_[0], one.coef_[0], atol=1e-3)
    assert model.objective_ == pytest.approx(one.objective_, rel=1e-6)


def test_one_against_the_rest_has_top_k_too(data):
    X, y, _ = data
    model = Classifier("hinge", alpha=0.1).fit(X, y)
    assert np.array_equal(model.predict_top_k(X, 4)[:, 0], model.predict(X))
    two = Classifier("hinge", alpha=0.1).fit(X, y == "cat")
    assert np.array_equal(two.predict_top_k(X, 1)[:, 0], two.predict(X))
    for k in (0, 5, 1.5, True):
        with pytest.raises(InputError, match="k must be an integer from 1 to 4"):
            model.predict_top_k(X, k)


# ---- intercepts


def test_intercepts_are_free_or_absent_but_never_regularised(data):
    X, y, _ = data
    shifted = X + 3.0  # a free intercept takes it up, a regularised one could not
    here, there = (Classifier("softmax", alpha=0.1).fit(Z, y) for Z in (X, shifted))
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-5)
    assert not Classifier("max_hinge", alpha=0.1).fit(X, y).intercept_.any()
    assert not Classifier("softmax", alpha=0.1, fit_intercept=False).fit(X, y).intercept_.any()
    here, there = (Classifier("max_hinge", alpha=0.1, fit_intercept=True).fit(Z, y) for Z in (X, shifted))
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-5) and there.intercept_.any()
    with pytest.raises(InputError, match="free intercepts of several scores are not available"):
        Classifier(HierarchicalHinge(PATHS), fit_intercept=True).fit(X, y)
    with pytest.raises(InputError, match='must be True, False or "auto"'):
        Classifier("softmax", fit_intercept="maybe").fit(X, y)
    assert Classifier("hinge").fit(X, y).intercept_.all()


# ---- scikit-learn's manners


def test_sparse_equals_dense_and_copies_survive(data):
    X, y, _ = data
    model = Classifier(TopK(2), alpha=0.1).fit(X, y)
    other = Classifier(TopK(2), alpha=0.1).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-2)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert clone(model).loss == TopK(2)
    search = GridSearchCV(Classifier(alpha=0.1, tol=1e-3), {"loss": ["max_hinge", TopK(2), CostHinge(COST)]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.4


def test_warm_start_limits_and_warning(data):
    X, y, _ = data
    model = Classifier("softmax", alpha=0.01, warm_start=True).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ <= max(2, first // 4)
    assert model.set_params(loss="max_hinge").fit(X[:60], y[:60]).converged_
    with pytest.warns(ConvergenceWarning, match="certified relative gap .* target tol=1e-09, status MAX_ITER"):
        hurried = Classifier("max_hinge", tol=1e-9, max_iter=1).fit(X, y)
    assert hurried.converged_ is False
    with pytest.warns(ConvergenceWarning, match="MAX_TIME"):
        Classifier("max_hinge", tol=1e-13, max_time=1e-6).fit(X, y)


def test_a_label_without_weight_is_no_class(data):
    X, y, _ = data
    model = Classifier("softmax", alpha=0.1).fit(X, y, sample_weight=(y != "cat").astype(float))
    assert model.classes_.tolist() == ["ant", "bee", "dog"]
    rest = y != "cat"
    assert model.objective_ == pytest.approx(
        Classifier("softmax", alpha=0.1).fit(X[rest], y[rest]).objective_, rel=1e-5
    )


def test_path_for_many_classes(data):
    X, y, _ = data
    found = Classifier("softmax").path(X, y, [0.1, 1.0])
    assert found.converged
    assert found.coefs.shape == (2, 4, 6)
    assert found[0].certificate.primal == pytest.approx(Classifier("softmax", alpha=0.1).fit(X, y).objective_, rel=1e-5)
    codes, K = np.searchsorted(NAMES, y), np.diag(np.arange(1.0, 7.0)) + 0.1
    problem = Problem(X, codes, "softmax", Quadratic(1.0, K), fit_intercept=True)
    (same,) = fenchel.path(problem, [0.5])
    expected = fenchel.solve(Problem(X, codes, "softmax", Quadratic(0.5, K), fit_intercept=True))
    assert same.intercept.any()
    assert same.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-5)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (Classifier(TopK(4)), InputError, "k must be less than the number of classes, 4"),
        (Classifier("top_k"), InputError, r"needs k: pass fenchel.multiclass.TopK\(k\)"),
        (Classifier("soft_max"), UnknownNameError, "Did you mean 'softmax'"),
        (Classifier(CostHinge(COST[:3, :3])), InputError, "CostHinge is for 3 classes, but y has 4"),
        (Classifier(HierarchicalHinge(["a/b", "c"])), InputError, "is for 2 classes, but y has 4"),
        (Classifier(MultivariateSquared()), InputError, "regression with several targets"),
    ],
)
def test_bad_parameters(data, model, error, message):
    X, y, _ = data
    with pytest.raises(error, match=message):
        model.fit(X, y)


def test_one_class_is_too_few(data):
    X, _, _ = data
    with pytest.raises(InputError, match="only one class is present"):
        Classifier("softmax").fit(X, np.ones(120))


# ---- trees


@pytest.mark.parametrize("loss", ["hinge", "softmax"])
def test_leaves_by_name_and_by_number(data, loss):
    X, y, s = data
    codes = np.searchsorted(NAMES, y)
    model = HierarchicalClassifier(PATHS, loss=loss, alpha=0.05).fit(X, np.array(PATHS)[codes], sample_weight=s)
    numbered = HierarchicalClassifier(PATHS, loss=loss, alpha=0.05).fit(X, codes, sample_weight=s)
    assert model.classes_.tolist() == PATHS
    assert numbered.classes_.tolist() == [0, 1, 2, 3]
    assert np.array_equal(model.coef_, numbered.coef_)
    assert np.array_equal(np.array(PATHS)[numbered.predict(X)], model.predict(X))
    inner = HierarchicalHinge(PATHS) if loss == "hinge" else HierarchicalSoftmax(PATHS)
    problem = Problem(X, codes, inner, L2(0.05), sample_weight=s)
    assert certify(problem, model.coef_, 0.0, model.dual_coef_.T).holds(1e-6)
    Z = X @ model.coef_.T  # nodes: animal, animal/small, then the leaves
    by_hand = np.column_stack([Z[:, 0] + Z[:, 1] + Z[:, 2], Z[:, 0] + Z[:, 1] + Z[:, 3], Z[:, 0] + Z[:, 4], Z[:, 5]])
    np.testing.assert_allclose(model.decision_function(X), by_hand)
    assert np.array_equal(model.predict_top_k(X, 2)[:, 0], model.predict(X))
    if loss == "softmax":
        expected = np.exp(by_hand) / np.exp(by_hand).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(X), expected)
        np.testing.assert_allclose(model.predict_log_proba(X), np.log(expected))
    else:
        assert not hasattr(model, "predict_proba")
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))


def test_a_leaf_need_not_occur(data):
    X, y, _ = data
    known = y != "dog"
    codes = np.searchsorted(NAMES, y)[known]
    model = HierarchicalClassifier(PATHS, alpha=0.1).fit(X[known], codes)
    assert model.classes_.size == 4
    assert model.decision_function(X).shape == (120, 4)
    two = HierarchicalClassifier(["a/b", "c"], alpha=0.1).fit(X, (y == "cat").astype(int))
    assert two.decision_function(X).shape == (120,)
    assert np.array_equal(two.predict(X), (two.decision_function(X) > 0.0).astype(int))


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (HierarchicalClassifier(PATHS), ["plant", "tree"], "'tree', which is not a leaf"),
        (HierarchicalClassifier(PATHS), [0, 4], "leaves 0 to 3"),
        (HierarchicalClassifier(PATHS, loss="log"), [0, 1], "unknown loss of a tree"),
        (HierarchicalClassifier(PATHS, loss="softmax", cost="lca"), [0, 1], "is only for loss='hinge'"),
        (HierarchicalClassifier(PATHS, cost="far"), [0, 1], "cost must be"),
        (HierarchicalClassifier([1, 0]), [0, 1], "cycle"),
        (HierarchicalClassifier(["a", "b"]), [0, 0], "only one class is present"),
    ],
)
def test_bad_trees_and_leaves(model, y, message):
    with pytest.raises((InputError, UnknownNameError), match=message):
        model.fit([[1.0], [2.0]], y)


# ---- model files


@pytest.mark.parametrize("loss", JOINT, ids=str)
def test_models_are_saved_and_loaded_bit_for_bit(data, loss, tmp_path):
    X, y, _ = data
    codes = np.searchsorted(NAMES, y)
    problem = Problem(X, codes, loss, "l2", alpha=0.1, fit_intercept=loss == "softmax")
    result = fenchel.solve(problem, tol=1e-3)
    fenchel.save(tmp_path / "a", result)
    model = fenchel.load(tmp_path / "a")
    fenchel.save(tmp_path / "b", model)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert model.loss == problem.loss == multiclass.make(loss)
    found = certify(problem, model.coef, model.intercept, model.dual_points)
    assert found.primal == result.certificate.primal
    assert found.dual == pytest.approx(result.certificate.dual, rel=1e-12)
    scores = Classifier(loss=loss, alpha=0.1, tol=1e-3).fit(X, codes).decision_function(X)
    assert np.array_equal(model.predict(X), model.label_scores(X).argmax(axis=1))
    assert model.label_scores(X).shape == scores.shape == (120, 4)
    if hasattr(model.loss, "probability"):
        np.testing.assert_allclose(model.probabilities(X).sum(axis=1), 1.0)


def test_model_of_a_matrix_penalty_and_of_a_reordered_tree(data, tmp_path):
    X, y, _ = data
    codes, K = np.searchsorted(NAMES, y), np.diag(np.arange(1.0, 7.0)) + 0.1
    parents = [2, 2, 4, 4, -1, 4]  # leaves 0, 1, 3, 5 of nodes that are numbered anew
    for regularizer in (Quadratic(1.0, K), Quadratic(1.0, np.arange(1.0, 7.0))):
        problem = Problem(X, codes, HierarchicalSoftmax(parents), regularizer)
        result = fenchel.solve(problem)
        fenchel.save(tmp_path / "m", result)
        model = fenchel.load(tmp_path / "m")
        again = Problem(X, codes, model.loss, model.regularizer)
        assert certify(again, model.coef, 0.0, model.dual_points).holds(1e-6)
        assert np.array_equal(model.loss.leaf, problem.loss.leaf)


def test_what_cannot_be_written_says_so(tmp_path):
    class Mine(NamedTuple):
        def value(self, z, y):
            return 0.5 * ((z[0] - y[0]) ** 2 + (z[1] - y[1]) ** 2)

        def slopes(self, z, y, out):
            out[0], out[1] = z[0] - y[0], z[1] - y[1]

    problem = Problem(np.eye(3), np.eye(3)[:, :2], Mine(), alpha=0.1)
    with pytest.raises(InputError, match="Mine"):
        fenchel.save(tmp_path / "m", fenchel.solve(problem))
    assert list(tmp_path.iterdir()) == []
