"""Matchings and label sets as estimators."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import fenchel
from fenchel.errors import InputError


def matchings(n=30, seed=0):
    """Examples whose gold matching is the best one of hidden weights."""
    rng, X, y = np.random.default_rng(seed), [], []
    truth = np.array([2.0, -1.0, 0.0])
    for _ in range(n):
        x = rng.normal(size=(3, 4, 3))
        rows, columns = linear_sum_assignment(-(x @ truth))
        X.append(x)
        y.append(columns[np.argsort(rows)])
    return X, y


def label_sets():
    X, Y = make_multilabel_classification(80, 6, n_classes=4, random_state=0)
    return X / 10.0, Y


def test_matchings_are_learned_and_certified():
    X, y = matchings()
    model = fenchel.MatchingModel(alpha=1e-3).fit(X[:20], y[:20])
    assert model.converged_ and model.dual_gap_ <= 1e-3 * model.objective_
    assert model.score(X[20:], y[20:]) > 0.8
    for x, columns in zip(X[20:], model.predict(X[20:]), strict=True):
        rows, best = linear_sum_assignment(-(x @ model.coef_))
        np.testing.assert_allclose((x @ model.coef_)[rows, best].sum(), (x @ model.coef_)[np.arange(3), columns].sum())


def test_the_score_of_matchings_is_the_f1_of_edges():
    X, y = matchings(6)
    model = fenchel.MatchingModel(partial=True, alpha=0.01).fit(X, y)
    found = model.predict(X)
    hits = sum((a == b).sum() for a, b in zip(found, y, strict=True))
    precision, recall = hits / sum((a >= 0).sum() for a in found), hits / (3 * 6)
    assert model.score(X, y) == pytest.approx(2 * precision * recall / (precision + recall))
    as_matrix = [np.eye(4, dtype=int)[label] for label in y]
    assert model.score(X, as_matrix) == model.score(X, y)


@pytest.mark.parametrize("loss", ["hinge", "log"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_label_sets_are_learned_and_certified(loss, storage):
    X, Y = label_sets()
    model = fenchel.MultiLabelClassifier(loss, alpha=1e-3).fit(storage(X), Y)
    assert model.converged_
    assert model.score(storage(X), Y) > np.mean([(pattern == Y).all(axis=1).mean() for pattern in np.unique(Y, axis=0)])
    sets = np.array([[i >> k & 1 for k in range(4)] for i in range(16)])
    scores = (X @ model.emissions_ + model.bias_) @ sets.T + 0.5 * np.einsum("sj,jk,sk->s", sets, model.pairs_, sets)
    np.testing.assert_array_equal(model.predict(storage(X)), sets[scores.argmax(axis=1)])
    if loss == "log":
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        np.testing.assert_allclose(model.predict_proba(X), shares / shares.sum(axis=1, keepdims=True) @ sets, atol=1e-9)
    else:
        assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize("kind", ["matching", "labels"])
def test_estimators_behave_like_scikit_learn(kind):
    X, y = matchings(8) if kind == "matching" else label_sets()
    model = (fenchel.MatchingModel if kind == "matching" else fenchel.MultiLabelClassifier)(alpha=0.01)
    with pytest.raises(NotFittedError):
        model.predict(X)
    same = clone(model).set_params(tol=1e-2).fit(X, y)
    copy = pickle.loads(pickle.dumps(same))
    np.testing.assert_array_equal(np.array(copy.predict(X)), np.array(same.predict(X)))
    assert clone(model).fit(X, y, sample_weight=np.ones(len(X))).objective_ == clone(model).fit(X, y).objective_
    again = same.set_params(warm_start=True).fit(X, y)
    assert again.n_iter_ == 0
    with pytest.warns(ConvergenceWarning, match="did not reach"):
        clone(model).set_params(max_iter=0, tol=1e-9).fit(X, y)


def test_bad_input_is_named():
    X, y = matchings(3)
    with pytest.raises(InputError, match="label of example 1 is no matching"):
        fenchel.MatchingModel().fit(X, [y[0], [0, 0, 1], y[2]])
    with pytest.raises(InputError, match="3 examples but 2 labels"):
        fenchel.MatchingModel().fit(X, y[:2])
    with pytest.raises(InputError, match="example 2"):
        fenchel.MatchingModel().fit([X[0], X[1], np.full((3, 4, 3), np.nan)], y)
    with pytest.raises(InputError, match="X has 3 examples, y has 2"):
        fenchel.MatchingModel(alpha=0.1).fit(X, y).score(X, y[:2])
    X, Y = label_sets()
    Y[3, 0] = 7
    with pytest.raises(InputError, match="label 0 of example 3 is 7"):
        fenchel.MultiLabelClassifier().fit(X, Y)
    with pytest.raises(InputError, match="0/1 matrix"):
        fenchel.MultiLabelClassifier().fit(X, Y[:, 0])
