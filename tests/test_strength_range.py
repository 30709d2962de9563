"""A range of strengths: every bound between the solves is held against an exact solve there."""

import numpy as np
import pytest

import fenchel
from fenchel import regularizers as R
from fenchel.errors import InputError
from fenchel.kernel_methods import KernelProblem

N, D, LOW, HIGH = 60, 6, 1e-4, 1.0
GROUPS = [[0, 1, 2], [3, 4, 5]]
REGULARIZERS = {
    "l2": R.L2(1.0),
    "weights": R.L2(1.0, weights=[0.0, 1.0, 2.0, 1.0, 0.1, 1.0]),
    "quadratic": R.Quadratic(1.0, np.eye(D) + 0.5),
    "l1": R.L1(1.0),
    "elastic_net": R.ElasticNet(1.0, 0.7),
    "group_lasso": R.GroupLasso(1.0, GROUPS),
    "total_variation": R.TotalVariation(1.0),
    "nonnegative": R.Bounded(R.L1(1.0), lower=0.0),
    "entropy": R.Entropy(1.0),
    "q_norm": R.QNorm(1.0, 1.5, 3.0),
    "shifted": R.Shifted(R.L2(1.0), np.ones(D)),
}


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal([0.0, 1.0, 0.0, -2.0, 0.0, 0.0], size=(N, D))
    return X, X @ rng.standard_normal(D) + rng.standard_normal(N)


def relative_excess(problem, coef, intercept, alpha):
    """How far coefficients are above the optimum at alpha, from a solve to 1e-9."""
    penalty = problem.given if problem.is_vector else problem.regularizer
    exact = fenchel.solve(
        fenchel.Problem(problem.X, problem.y, problem.loss, penalty.scaled(alpha), fit_intercept=problem.has_intercept),
        tol=1e-9,
    )
    primal = fenchel.certify(exact.problem, coef, intercept).primal
    return (primal - exact.certificate.primal) / abs(primal), exact.certificate


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize(
    "loss", [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in ("squared", "hinge", "logistic")]
)
def test_every_strength_in_the_range_is_within_its_bound(loss, regularizer):
    X, target = data()
    y = target if loss == "squared" else np.sign(target)
    problem = fenchel.Problem(X, y, loss, REGULARIZERS[regularizer], fit_intercept=regularizer != "weights")
    found = fenchel.path(problem, (LOW, HIGH), eps=0.03)
    assert found.converged and found.alphas[0] == HIGH
    assert len(found) <= 1.3 * np.log(HIGH / LOW) / (2.0 * np.sqrt(0.03)) + 1.0
    for alpha in np.exp(np.random.default_rng(1).uniform(np.log(LOW), np.log(HIGH), 6)):
        there = found.at(alpha)
        assert there.certificate.relative_gap <= found.bound(alpha) + 1e-12 and found.bound(alpha) <= 0.03
        assert there.status is fenchel.Status.CERTIFIED and there.problem.regularizer.alpha == alpha
    excess, exact = relative_excess(problem, there.coef, there.intercept, alpha)
    assert excess <= found.bound(alpha) + 1e-9 and there.certificate.dual <= exact.primal * (1.0 + 1e-12)


def test_a_range_with_one_solve_bounds_its_ends_truly():
    """Outside the solved strengths there is no chord: a bound of 0 there was the value of the only solve."""
    X, target = data()
    found = fenchel.path(fenchel.Problem(X, target, "squared", R.Entropy(1.0)), (LOW, HIGH), eps=0.5)
    for alpha in np.geomspace(LOW, HIGH, 20):
        assert found.bound(alpha) >= found.at(alpha).certificate.relative_gap - 1e-12


@pytest.mark.parametrize("loss", ["softmax", "max_hinge"])
def test_several_scores(loss):
    X, target = data(2)
    problem = fenchel.Problem(X, np.digitize(target, [-1.0, 1.0]), loss, "l2", alpha=1.0)
    found = fenchel.path(problem, (1e-3, 1.0), eps=0.05)
    assert found.converged
    for alpha in (0.9, 0.03, 0.0011):
        assert found.at(alpha).certificate.relative_gap <= found.bound(alpha) + 1e-12 <= 0.05 + 1e-12


def test_a_path_that_ran_out_of_time_says_so_and_its_bounds_are_true():
    X, target = data()
    problem = fenchel.Problem(X, np.sign(target), "hinge", "l1", alpha=1.0)
    found = fenchel.path(problem, (1e-6, 1.0), eps=1e-3, max_time=1e-3)
    assert not found.converged and "not certified" in repr(found)
    assert found.bound(1e-6) >= found.at(1e-6).certificate.relative_gap - 1e-12


@pytest.mark.parametrize(
    ("problem", "alphas", "eps", "words"),
    [
        ({}, (1.0, 1e-3), 1e-2, "low < high"),
        ({}, (0.1, 0.2, 0.3), 1e-2, "range"),
        ({}, (1e-3, 1.0), 0.0, "between 0 and 1"),
        ({"loss": fenchel.measures.FBeta()}, (1e-3, 1.0), 1e-2, "pass a list of alphas"),
        ({"regularizer": R.L1Ball(1.0)}, (1e-3, 1.0), 1e-2, "strength"),
    ],
)
def test_what_cannot_be_certified_is_refused(problem, alphas, eps, words):
    X, target = data()
    with pytest.raises(InputError, match=words):
        fenchel.path(fenchel.Problem(X, np.sign(target), **({"loss": "hinge"} | problem)), alphas, eps=eps)
    found = fenchel.path(fenchel.Problem(X, target, "squared"), (0.1, 1.0), eps=0.1)
    with pytest.raises(InputError, match="between 0.1 and 1"):
        found.bound(2.0)


@pytest.mark.parametrize("loss", ["squared", "hinge", "logistic"])
@pytest.mark.parametrize("intercept", [False, True])
def test_kernels(loss, intercept):
    X, target = data()
    y = target if loss == "squared" else np.sign(target)
    problem = KernelProblem(X, y, loss, alpha=1.0, kernel="rbf", fit_intercept=intercept)
    found = fenchel.path(problem, (1e-3, 1.0), eps=0.03)
    assert found.converged and len(found) <= 1.3 * np.log(1e3) / (2.0 * np.sqrt(0.03)) + 1.0
    for alpha in (0.7, 0.03, 0.0012):
        there = found.at(alpha)
        exact = fenchel.solve(KernelProblem(X, y, loss, alpha=alpha, kernel="rbf", fit_intercept=intercept), tol=1e-9)
        excess = (there.certificate.primal - exact.certificate.primal) / there.certificate.primal
        assert -1e-9 <= excess <= found.bound(alpha) + 1e-9 and found.bound(alpha) <= 0.03
        assert there.certificate.relative_gap <= found.bound(alpha) + 1e-12
        assert there.certificate.dual <= exact.certificate.primal


@pytest.mark.parametrize("loss", ["softmax", "max_hinge", "roc_area", "hinge"])
def test_lists_of_strengths_of_kernels_are_those_of_new_problems(loss):
    """The certificate of a kernel with several scores was that of the first alpha, and a measure lost its kernel."""
    X, target = data()
    y = (target > 0.0).astype(int) if loss in ("softmax", "max_hinge") else np.sign(target)
    path = fenchel.path(KernelProblem(X, y, loss, alpha=1.0, kernel="rbf"), [0.3, 0.01], tol=1e-5)
    for alpha, found in zip(path.alphas, path, strict=True):
        alone = fenchel.solve(KernelProblem(X, y, loss, alpha=alpha, kernel="rbf"), tol=1e-5)
        assert found.problem.is_kernel and found.problem.alpha == alpha and found.converged
        assert found.certificate.primal == pytest.approx(alone.certificate.primal, rel=3e-5)
        assert found.problem.digest == alone.problem.digest
