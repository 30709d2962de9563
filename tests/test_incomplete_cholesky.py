"""IncompleteCholesky: the trace error it promises, and a linear model on it is the kernel model."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from fenchel import Classifier, IncompleteCholesky, KernelClassifier
from fenchel.errors import InputError


@pytest.fixture(scope="module")
def rows():
    return make_classification(200, 5, n_informative=3, flip_y=0.1, random_state=0)


@pytest.mark.parametrize("tolerance", [0.3, 1e-2, 1e-6])
@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "laplacian"])
def test_the_trace_error_is_within_the_tolerance_and_reported_exactly(rows, kernel, tolerance):
    X = rows[0]
    model = IncompleteCholesky(kernel, gamma=0.1, tolerance=tolerance)
    phi = model.fit_transform(X)
    params = {"gamma": 0.1} | ({"degree": 3, "coef0": 0.0} if kernel == "polynomial" else {})
    residual = pairwise_kernels(X, metric=kernel, **params) - phi @ phi.T
    trace = np.trace(residual)
    assert trace <= tolerance * model.trace_ * (1 + 1e-9)
    assert model.trace_error_ == pytest.approx(trace, rel=1e-6, abs=1e-11 * model.trace_)
    assert np.linalg.eigvalsh(residual)[0] >= -1e-11 * model.trace_  # what is left is positive semi-definite
    assert np.abs(residual[model.pivots_]).max() <= 1e-10 * model.trace_  # and vanishes at the pivots
    assert len(set(model.pivots_)) == model.pivots_.size == phi.shape[1]


def test_transform_is_what_fit_transform_gave_and_handles_new_rows(rows):
    X = rows[0]
    model = IncompleteCholesky(gamma=0.1, tolerance=1e-4)
    np.testing.assert_allclose(model.fit_transform(X[:150]), model.transform(X[:150]), atol=1e-6)
    new = model.transform(X[150:])
    assert np.all((new**2).sum(axis=1) <= 1.0 + 1e-8)  # a projection: no longer than k(x, x) = 1
    np.testing.assert_allclose(model.transform(sp.csr_matrix(X)), model.transform(X), atol=1e-8)


def test_rank_is_the_rank_of_the_kernel_and_can_be_bounded(rows):
    X = rows[0]
    exact = IncompleteCholesky("linear", tolerance=0.0).fit(X)
    assert exact.pivots_.size == np.linalg.matrix_rank(X)
    few = IncompleteCholesky(gamma=0.5, tolerance=1e-9, max_rank=7).fit(X)
    assert few.pivots_.size == 7
    phi = few.transform(X)
    assert few.trace_error_ == pytest.approx(np.trace(rbf_kernel(X, gamma=0.5) - phi @ phi.T), rel=1e-6)


def test_repeated_rows_add_no_pivots(rows):
    X = rows[0][:40]
    assert set(IncompleteCholesky(gamma=1.0, tolerance=1e-12).fit(np.vstack([X, X])).pivots_) <= set(range(80))
    once, twice = (IncompleteCholesky(gamma=1.0, tolerance=1e-9).fit(Z) for Z in (X, np.vstack([X, X])))
    assert once.pivots_.size == twice.pivots_.size


def test_a_pipeline_approaches_the_kernel_classifier(rows):
    X, y = rows
    exact = KernelClassifier(alpha=1e-3, gamma=0.2, tol=1e-8).fit(X, y)
    errors = []
    for tolerance in (1e-1, 1e-3, 1e-9):
        model = make_pipeline(IncompleteCholesky(gamma=0.2, tolerance=tolerance), Classifier(alpha=1e-3, tol=1e-8))
        model.fit(X, y)
        primal = model[-1].objective_  # the kernel problem restricted to a subspace: never below the optimum
        assert primal >= exact.certificate_.dual - 1e-9
        errors.append(primal - exact.certificate_.primal)
    assert errors[2] <= 1e-5 * exact.certificate_.primal
    assert errors[1] <= errors[0] + 1e-9
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=0.02)


def test_output_containers_and_names(rows):
    pytest.importorskip("pandas")
    model = IncompleteCholesky(gamma=0.1, max_rank=3).set_output(transform="pandas").fit(rows[0])
    frame = model.transform(rows[0])
    assert list(frame.columns) == [f"incompletecholesky{k}" for k in range(3)]
    assert list(model.get_feature_names_out()) == list(frame.columns)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tolerance": -1.0}, "tolerance must be"),
        ({"tolerance": 1.0}, "tolerance must be"),
        ({"max_rank": 0}, "max_rank must be"),
        ({"kernel": "precomputed"}, "needs a kernel"),
        ({"kernel": lambda A, B: -(A @ B.T)}, "not positive semi-definite"),
        ({"kernel": lambda A, B: 2.0 - rbf_kernel(A, B)}, "not positive semi-definite"),
    ],
)
def test_bad_parameters_are_refused(rows, arguments, message):
    with pytest.raises(InputError, match=message):
        IncompleteCholesky(**arguments).fit(rows[0])


@parametrize_with_checks([IncompleteCholesky()])
def test_sklearn(estimator, check):
    check(estimator)
