"""SequenceLabeler with a kernel: the Gaussian process of its definition, and the practice of an estimator."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import fenchel
from fenchel.errors import InputError
from fenchel.kernel_methods import SequenceProcess


def rings(n=30, seed=0):
    """Tokens on two rings, which no line separates; the ring tends to stay the same along a sequence."""
    rng, X, y = np.random.default_rng(seed), [], []
    for _ in range(n):
        labels = np.cumsum(rng.random(int(rng.integers(1, 7))) < 0.3) % 2
        angle, radius = rng.uniform(0.0, 2.0 * np.pi, labels.size), 1.0 + labels + 0.25 * rng.normal(size=labels.size)
        X.append(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]))
        y.append([("inner", "outer")[k] for k in labels])
    return X, y


def test_it_is_the_gaussian_process_on_the_same_sequences():
    X, y = rings(12)
    factor = 0.3
    model = fenchel.SequenceLabeler(
        "log", alpha=2.0 * factor / len(X), bias=False, ends=False, kernel="rbf", gamma=0.7, tol=1e-8
    ).fit(X, y)
    numbers = [[("inner", "outer").index(label) for label in labels] for labels in y]
    process = SequenceProcess(X, numbers, kernel="rbf", kernel_params={"gamma": 0.7}, factor=factor)
    result = fenchel.solve(process.problem, tol=1e-8)
    assert model.objective_ == pytest.approx(result.certificate.primal, rel=1e-6)
    new = rings(3, seed=5)[0]
    for x, p in zip(new, model.predict_proba(new), strict=True):
        np.testing.assert_allclose(p, process.marginals(result.coef, x)[0], atol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "log"])
def test_a_kernel_separates_what_lines_do_not(loss):
    X, y = rings()
    new = rings(20, seed=1)
    linear = fenchel.SequenceLabeler(loss, alpha=1e-2).fit(X, y)
    curved = fenchel.SequenceLabeler(loss, alpha=1e-2, kernel="rbf", gamma=1.0).fit(X, y)
    assert curved.converged_
    assert curved.score(*new) > max(0.85, linear.score(*new) + 0.1)
    few = fenchel.SequenceLabeler(loss, alpha=1e-2, kernel="rbf", gamma=1.0, max_rank=10).fit(X, y)
    assert few.weights_.emissions.shape == (10, 2)


def test_copies_predict_the_same_and_there_is_no_model_file(tmp_path):
    X, y = rings(10)
    model = fenchel.SequenceLabeler(alpha=1e-2, kernel="rbf").fit(X, y)
    assert pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)
    assert clone(model).get_params()["kernel"] == "rbf"
    with pytest.raises(InputError, match="pickle it"):
        model.save(tmp_path / "model.fenchel")
    sparse = fenchel.SequenceLabeler(alpha=1e-2, kernel="rbf").fit([sp.csr_matrix(x) for x in X], y)
    assert sparse.predict(X) == model.predict(X)
    assert len(model.state_features_) > 0


def test_kernels_of_attributes_and_beside_links():
    X = [[{"word": "the"}, {"word": "dog"}], [{"word": "a"}, {"word": "dog"}, {"word": "barks"}]]
    y = [["D", "N"], ["D", "N", "V"]]
    assert fenchel.SequenceLabeler(alpha=0.01, kernel="linear").fit(X, y).predict(X) == y
    links = [[{"next": "yes"}], [{"next": "yes"}, {"next": "no"}]]
    pairs = list(zip(X, links, strict=True))
    assert fenchel.SequenceLabeler(alpha=0.01, kernel="linear", edge_features=True).fit(pairs, y).predict(pairs) == y


def test_bad_kernels_are_refused():
    X, y = rings(4)
    with pytest.raises(InputError, match="needs a kernel, not a Gram matrix"):
        fenchel.SequenceLabeler(kernel="precomputed").fit(X, y)
    with pytest.raises(InputError, match="max_rank"):
        fenchel.SequenceLabeler(kernel="rbf", max_rank=0).fit(X, y)
