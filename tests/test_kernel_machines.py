"""Kernel machines: certified, equal to libsvm, CVXPY and the linear problem; bad kernels are refused."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

import fenchel
from fenchel import KernelClassifier, KernelRegressor
from fenchel.errors import InputError, UnknownNameError
from fenchel.kernel_methods import KernelProblem, certify_kernel, solve_kernel
from fenchel.kernel_methods.gram import Gram
from fenchel.kernel_methods.kernel_function import KernelFunction
from fenchel.losses import EpsilonInsensitive
from problems import LOSSES, cvxpy_loss, data


@pytest.fixture(scope="module")
def binary():
    X, y = make_classification(150, 6, n_informative=4, flip_y=0.1, random_state=0)
    return X, 2.0 * y - 1.0


def optimum(X, problem, gamma):
    """P* by CVXPY in f = L a, K = L L', so that |f|^2 = a'a."""
    values, vectors = np.linalg.eigh(rbf_kernel(X, gamma=gamma))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    a, b = cp.Variable(problem.n), cp.Variable()
    z = root @ a + (b if problem.fit_intercept else 0.0)
    objective = problem.weights @ cvxpy_loss(problem.loss, z, problem.y) + problem.alpha / 2 * cp.sum_squares(a)
    model = cp.Problem(cp.Minimize(objective))
    model.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(model.value)


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_is_certified_and_equals_cvxpy(name):
    X, y = data(LOSSES[name])
    weights = np.random.default_rng(1).uniform(0.1, 2.0, y.size)
    for intercept in (False, True):
        problem = KernelProblem(
            X, y, LOSSES[name], 0.05, intercept, sample_weight=weights, kernel_params={"gamma": 0.5}
        )
        result = solve_kernel(problem, tol=1e-6, max_time=60)
        assert result.status is fenchel.Status.CERTIFIED, result
        best = optimum(X, problem, 0.5)
        slack = 2e-7 * (1 + abs(best))
        assert result.certificate.dual - slack <= best <= result.certificate.primal + slack
        assert certify_kernel(problem, result.coef, result.intercept, result.dual_point).relative_gap <= 1e-6


@pytest.mark.parametrize("C", [0.3, 30.0])
def test_hinge_is_libsvms_problem(binary, C):
    X, y = binary
    ours = KernelClassifier(C=C, gamma=0.2, tol=1e-8).fit(X, y)
    theirs = SVC(C=C, gamma=0.2, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3)
    problem = KernelProblem(X, y, alpha=1 / (C * 150), fit_intercept=True, kernel_params={"gamma": 0.2})
    c = np.zeros(150)
    c[theirs.support_] = theirs.dual_coef_[0]
    found = certify_kernel(problem, c, theirs.intercept_[0])
    assert found.relative_gap < 1e-5  # the mapping of C, coefficients and intercept is right
    assert found.dual <= ours.certificate_.primal + 1e-12
    assert ours.certificate_.dual <= found.primal + 1e-12


def test_epsilon_insensitive_is_libsvms_problem():
    X, y = data(LOSSES["squared"], n=80)
    ours = KernelRegressor(loss=EpsilonInsensitive(0.1), C=2.0, gamma=0.3, tol=1e-9).fit(X, y)
    theirs = SVR(C=2.0, gamma=0.3, epsilon=0.1, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)
    assert ours.support_.size < 80


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
def test_the_linear_kernel_is_the_linear_problem(binary, loss, intercept):
    X, y = binary
    linear = fenchel.solve(fenchel.Problem(X, y, loss, "l2", 0.01, intercept), tol=1e-7)
    kernel = solve_kernel(KernelProblem(X, y, loss, 0.01, intercept, kernel="linear"), tol=1e-7)
    assert kernel.status is fenchel.Status.CERTIFIED
    a, b = linear.certificate, kernel.certificate
    assert max(a.dual, b.dual) <= min(a.primal, b.primal) + 1e-12
    w = X.T @ kernel.coef
    assert fenchel.certify(linear.problem, w, kernel.intercept).primal == pytest.approx(b.primal, rel=1e-10)


def test_names_callables_and_given_matrices_are_the_same_problem(binary):
    X, y = binary
    K = laplacian_kernel(X, gamma=0.1)
    named = KernelProblem(X, y, kernel="laplacian", kernel_params={"gamma": 0.1}, alpha=0.01)
    called = KernelProblem(X, y, kernel=lambda A, B: laplacian_kernel(A, B, gamma=0.1), alpha=0.01)
    given = KernelProblem(K, y, kernel="precomputed", alpha=0.01)
    primals = [solve_kernel(p, tol=1e-8).certificate.primal for p in (named, called, given)]
    assert primals == pytest.approx([primals[0]] * 3, rel=1e-7)
    sparse = KernelProblem(sp.csr_matrix(X), y, kernel="laplacian", kernel_params={"gamma": 0.1}, alpha=0.01)
    assert solve_kernel(sparse, tol=1e-8).certificate.primal == pytest.approx(primals[0], rel=1e-7)


@pytest.mark.parametrize("seed", range(12))
def test_equal_rows_with_opposite_labels_do_not_stop_the_solve(seed):
    """Pairs of such rows have no curvature: they exchange all they can, down to the last bit of mass."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((40, 3)) < 0.75, 0.0, rng.random((40, 3)))
    y = np.where(rng.random(40) < 0.3, 1.0, -1.0)
    problem = KernelProblem(
        X, y, loss="hinge", alpha=1e-4, fit_intercept=True, kernel="rbf", kernel_params={"gamma": 4.0}
    )
    assert solve_kernel(problem, tol=1e-6).status is fenchel.Status.CERTIFIED


def test_a_small_cache_gives_the_same_optimum(binary):
    X, y = binary
    bytes_per_column = 8 * 150 / 1e6
    small = KernelProblem(X, y, alpha=0.01, fit_intercept=True, cache_size=5.5 * bytes_per_column)
    assert small.gram.capacity == 5
    a = solve_kernel(small, tol=1e-6)
    b = solve_kernel(KernelProblem(X, y, alpha=0.01, fit_intercept=True), tol=1e-6)
    assert small.gram.store.shape[0] <= 5
    assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=2e-6)


def test_the_cache_drops_the_least_recently_used_column(binary):
    X = binary[0]
    calls = []

    def counted(A, B):
        calls.append(A.shape[0])
        return A @ B.T

    gram = Gram(X, KernelFunction(counted), megabytes=3.5 * 8 * 150 / 1e6)
    for wanted, computed in (([0, 1, 2], 3), ([0], 0), ([3], 1), ([0, 2], 0), ([1], 1)):
        calls.clear()
        store, slots = gram.columns(np.array(wanted))
        assert sum(calls) == computed
        np.testing.assert_allclose(store[slots], X[wanted] @ X.T)


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((3, 2)), r"square Gram matrix.*\(3, 2\)"),
        (np.diag([1.0, -1.0, 1.0]), "diagonal is -1 at row 1"),
        (np.array([[1.0, 0.5, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]]), "not symmetric: entry"),
        (np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), r"rows 0 and 1 have \|K_ij\|"),
        (np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]]), "negative eigenvalue"),
        (np.full((3, 3), np.nan), "NaN"),
    ],
)
def test_a_matrix_that_is_no_gram_matrix_is_refused(K, message):
    with pytest.raises(InputError, match=message):
        KernelProblem(K, np.array([1.0, -1.0, 1.0])[: K.shape[0]], kernel="precomputed")


def test_an_indefinite_kernel_is_refused_when_it_shows(binary):
    X, y = binary
    distance = lambda A, B: -laplacian_kernel(A, B) + 2.0 * (A @ B.T > 1e300)  # noqa: E731
    with pytest.raises(InputError, match="not positive semi-definite"):
        solve_kernel(KernelProblem(X, y, kernel=distance, alpha=0.01))
    farther_is_nearer = lambda A, B: 2.0 - rbf_kernel(A, B, gamma=0.05)  # noqa: E731
    for intercept in (False, True):
        with pytest.raises(InputError, match="not positive semi-definite"):
            solve_kernel(KernelProblem(X, y, kernel=farther_is_nearer, alpha=1e-3, fit_intercept=intercept))


def test_bad_kernels_and_parameters_are_named(binary):
    X, y = binary
    with pytest.raises(UnknownNameError, match="Did you mean 'rbf'"):
        KernelProblem(X, y, kernel="rbff")
    with pytest.raises(InputError, match="no parameter 'degree'"):
        KernelProblem(X, y, kernel="rbf", kernel_params={"degree": 2})
    with pytest.raises(InputError, match="two blocks of rows"):
        KernelProblem(X, y, kernel=lambda a, b: 1.0)
    with pytest.raises(InputError, match="NaN or infinity"):
        KernelProblem(X, y, kernel=lambda A, B: A @ B.T * np.inf)
    with pytest.raises(InputError, match="alpha or C, not both"):
        KernelClassifier(alpha=1.0, C=1.0).fit(X, y)
    with pytest.raises(InputError, match="gamma must be"):
        KernelClassifier(gamma="wide").fit(X, y)
    with pytest.raises(InputError, match="cache_size"):
        KernelClassifier(cache_size=0).fit(X, y)
    with pytest.raises(InputError, match="takes a KernelProblem"):
        solve_kernel(fenchel.Problem(X, y))


def test_a_given_gram_matrix_in_the_estimators(binary):
    X, y = binary
    K = rbf_kernel(X, gamma=0.2)
    given, named = KernelClassifier(kernel="precomputed", C=1.0), KernelClassifier(gamma=0.2, C=1.0)
    np.testing.assert_allclose(given.fit(K, y).decision_function(K), named.fit(X, y).decision_function(X), atol=1e-3)
    np.testing.assert_allclose(cross_val_score(given, K, y), cross_val_score(named, X, y))


def test_several_classes_weights_and_probabilities():
    X, y = make_classification(120, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=2)
    s = np.random.default_rng(0).integers(0, 3, 120)
    model = KernelClassifier(loss="logistic", alpha=1e-2, tol=1e-9, gamma=0.3).fit(X, y, sample_weight=s)
    repeated = clone(model).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    np.testing.assert_allclose(model.decision_function(X), repeated.decision_function(X), atol=1e-4)
    assert len(model.certificate_) == 3
    assert model.dual_coef_.shape == (3, model.support_.size)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert not hasattr(KernelClassifier(), "predict_proba")


def test_limits_are_kept_and_reported(binary):
    X, y = binary
    with pytest.warns(ConvergenceWarning, match="MAX_ITER"):
        model = KernelClassifier(C=100.0, gamma=0.2, max_iter=0).fit(X, y)
    assert model.converged_ is False
    assert model.certificate_.gap > 0.0


def test_a_warm_start_ends_at_once(binary):
    X, y = binary
    problem = KernelProblem(X, y, alpha=1e-3, fit_intercept=True)
    cold = solve_kernel(problem, tol=1e-7)
    warm = solve_kernel(problem, tol=1e-6, start=cold)
    assert warm.status is fenchel.Status.CERTIFIED
    assert warm.n_iter == 0


@parametrize_with_checks([KernelClassifier(), KernelRegressor()])
def test_sklearn(estimator, check):
    check(estimator)
