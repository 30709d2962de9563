"""The independent checker: it confirms what was certified, over all families, and refutes lies; nothing of it is compiled."""

import functools
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
import marginal_problems
import problems
import structured_problems
import test_set_problems
import vector_problems
from fenchel import multiclass as M
from fenchel import regularizers as R
from fenchel import structured
from fenchel.kernel_methods import KernelProblem

SOME_REGULARIZERS = ["l2", "l1", "elastic_net", "entropy", "q_norm"]


def scalar_cases():
    for loss in problems.LOSSES:
        for k, name in enumerate(SOME_REGULARIZERS):
            options = {"intercept": k % 2 == 1, "weighted": k % 3 == 0, "offset": k == 1}
            if name == "entropy" and options["intercept"]:
                continue
            yield (
                f"{loss}-{name}",
                functools.partial(
                    problems.problem, problems.LOSSES[loss], problems.REGULARIZERS[name], n=14, **options
                ),
            )


def kernel(free):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(20) > 0.0, 1.0, -1.0)
    return KernelProblem(X, y, loss="hinge", alpha=0.05, fit_intercept=free)


CASES = {
    **dict(scalar_cases()),
    **{
        f"{loss}-{type(penalty).__name__}": functools.partial(
            problems.problem, problems.LOSSES[loss], penalty, intercept=loss == "absolute", n=14
        )
        for loss in ("hinge", "absolute", "squared")
        for penalty in (
            R.NoPenalty(),
            R.L1(0.05, weights=[0.0, 1.0, 2.0]),
            R.TotalVariation(0.05),
            R.Bounded(R.L2(0.05), lower=0.0),
            R.GroupLasso(0.05, [0, 0, 1]),
            R.SparseGroupLasso(0.05, [0, 1, 1]),
            R.Slope(0.05, [3.0, 2.0, 1.0]),
            R.L1Ball(0.5),
            R.L2Ball(0.5),
            R.Simplex(),
            R.Shifted(R.L1(0.05), [1.0, 0.0, -1.0]),
        )
    },
    "csr": functools.partial(
        problems.problem, problems.LOSSES["hinge"], problems.REGULARIZERS["l2"], storage=sp.csr_matrix
    ),
    **{
        f"{loss}-{name}{'-free' if free else ''}": functools.partial(
            vector_problems.problem, loss, problems.REGULARIZERS[name], free=free, weighted=name == "l1", n=12
        )
        for loss in vector_problems.LOSSES
        for name, free in (("l2", False), ("l1", False), ("l2", True))
        if not free or getattr(vector_problems.LOSSES[loss], "free_intercepts", False)
    },
    **{
        f"{name}-{reg}": functools.partial(test_set_problems.problem, name, test_set_problems.REGULARIZERS[reg])
        for name in test_set_problems.MEASURES
        for reg in ("l2", "l1")
    },
    **{f"{name}-hinge": functools.partial(structured_problems.problem, name) for name in structured_problems.MAKERS},
    **{
        f"{name}-log": functools.partial(structured_problems.problem, name, loss="log")
        for name in structured_problems.LOG
    },
    "kernel": functools.partial(kernel, False),
    "kernel-free": functools.partial(kernel, True),
}


@functools.cache
def solved(case):
    result = fenchel.solve(CASES[case](), tol=1e-5, max_time=20.0)
    assert result.status in (fenchel.Status.CERTIFIED, fenchel.Status.STALLED)
    return result


def check(result, problem=None, coef=None, intercept=None, dual_point=None):
    return fenchel.check_proof(
        result.problem if problem is None else problem,
        result.coef if coef is None else coef,
        result.intercept if intercept is None else intercept,
        result.dual_point if dual_point is None else dual_point,
    )


@pytest.mark.parametrize("case", CASES)
def test_it_agrees_with_the_compiled_certificate(case):
    result = solved(case)
    ours, theirs = result.certificate, check(result)
    size = 1.0 + abs(ours.primal)
    assert theirs.basis == "independent"
    assert abs(theirs.primal - ours.primal) <= ours.floor + theirs.floor + 1e-13 * size
    assert abs(theirs.dual - ours.dual) <= ours.floor + theirs.floor + 1e-13 * size
    assert theirs.floor <= 1e-9 * size
    assert theirs.holds(1e-5) == ours.holds(1e-5)


@pytest.mark.parametrize("case", CASES)
def test_it_refutes_lies(case):
    """No point, and no other data or strength, is said to be within less of the optimum than it is."""
    result, rng = solved(case), np.random.default_rng(3)
    optimum = result.certificate.dual - result.certificate.floor  # the true optimum is not below
    honest = check(result)
    for scale in (1e-3, 0.1, 1.0):
        coef = result.coef + scale * rng.standard_normal(np.shape(result.coef))
        if np.isfinite(result.problem.regularizer.value(np.ravel(coef))):
            found = check(result, coef=coef)
            assert found.dual == honest.dual
            assert found.primal >= optimum - found.floor
    for point in lies(result.dual_point, rng):
        found = check(result, dual_point=point)
        assert found.dual <= result.certificate.primal + found.floor + result.certificate.floor
        assert not np.isnan(found.dual)


def lies(point, rng):
    """Dual points that are not the one that was found."""
    if isinstance(point, structured.Pool):
        yield point._replace(weights=np.zeros_like(point.weights))
        yield point._replace(weights=50.0 * point.weights)
        yield point._replace(weights=-point.weights)
    elif isinstance(point, structured.Marginals):
        yield point._replace(values=rng.uniform(-1.0, 2.0, point.values.shape))
        yield point._replace(scale=7.0)
    elif isinstance(point, tuple):
        weights, at = point
        yield type(point)(30.0 * weights, at)
        yield type(point)(-weights + 2.0 * weights.max(), 3.0 * at)
        yield type(point)(np.ones(1), rng.standard_normal((1, *at.shape[1:])))
    else:
        dense = point.toarray() if sp.issparse(point) else np.asarray(point)
        for scale in (1e-6, 0.1, 10.0):
            yield dense + scale * rng.standard_normal(dense.shape)
        yield 1.01 * dense
        yield -dense
        yield np.full(dense.shape, np.nan)


@pytest.mark.parametrize("case", ["hinge-l2", "logistic-l1", "softmax-l2", "kernel"])
def test_other_data_have_another_gap(case):
    result = solved(case)
    problem = CASES[case]()
    X = np.array(problem.X if not problem.is_kernel else np.eye(problem.n), dtype=float)
    if problem.is_kernel:
        other = KernelProblem(np.vstack([X[:1] * 0 + 5.0, X[1:]])[:, :2], problem.y, loss="hinge", alpha=0.05)
    else:
        X[3] += 0.5
        weights = problem.weights
        other = fenchel.Problem(
            X, problem.y, problem.loss, getattr(problem, "given", problem.regularizer),
            fit_intercept=problem.has_intercept, sample_weight=weights,
            **({"offset": problem.offset} if problem.has_offset else {}),
        )  # fmt: skip
    assert not check(result, problem=other).holds(1e-5)


class Crooked(NamedTuple):
    """(z - y)^2 whose slope has lost its factor 2."""

    def value(self, z, y):
        return (z - y) ** 2

    def slope(self, z, y):
        return z - y

    def conjugate(self, u, y):
        return -100.0


def test_a_users_conjugate_is_not_believed():
    X, y = problems.data(problems.LOSSES["squared"], n=10)
    right = fenchel.Problem(X, y, loss="squared", alpha=0.1)
    optimum = 2.0 * fenchel.solve(right, tol=1e-10).certificate.primal  # of (z - y)^2 with alpha 0.2
    crooked = object.__new__(fenchel.Problem)  # the constructor refuses this loss
    crooked.__dict__.update(right.__dict__ | {"loss": Crooked(), "regularizer": fenchel.regularizers.L2(0.2)})
    w = np.linalg.solve(X.T @ X / 10 + 0.1 * np.eye(3), X.T @ y / 10)
    for u in (None, X @ w - y, 2.0 * (X @ w - y)):
        found = fenchel.check_proof(crooked, w, 0.0, u)
        assert found.dual <= optimum * (1.0 + 1e-9)


class Plain(NamedTuple):
    """A user's softmax of two scores, by value and slopes."""

    def value(self, z, y):
        top = max(z[0], z[1])
        return top + np.log(np.exp(z[0] - top) + np.exp(z[1] - top)) - z[y]

    def slopes(self, z, y, out):
        top = max(z[0], z[1])
        a, b = np.exp(z[0] - top), np.exp(z[1] - top)
        out[0], out[1] = a / (a + b), b / (a + b)
        out[y] -= 1.0


def test_a_users_loss_of_several_scores():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((15, 2)), np.r_[0, 1, rng.integers(0, 2, 13)]
    result = fenchel.solve(fenchel.Problem(X, y, loss=Plain(), alpha=0.1), tol=1e-5)
    same = fenchel.solve(fenchel.Problem(X, y, loss=M.Softmax(), alpha=0.1), tol=1e-9)
    found = check(result)
    assert found.holds(1e-5)
    assert found.dual <= same.certificate.primal <= found.primal + 1e-9


def test_marginals():
    result = fenchel.solve(marginal_problems.PROBLEMS["chain"], solver="extragradient", tol=1e-2)
    assert isinstance(result.dual_point, structured.Marginals)
    found = check(result)
    assert abs(found.dual - result.certificate.dual) <= 1e-12


def test_nothing_is_compiled():
    """A process in which numba cannot be imported checks a proof."""
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "import numpy as np, fenchel\n"
        "X, y = [[0.0, 1.0], [1.0, 0.5], [2.0, 0.0]], [0, 1, 2]\n"
        "for loss, y in (('hinge', [-1, -1, 1]), ('softmax', [0, 1, 2]), ('roc_area', [-1, -1, 1])):\n"
        "    problem = fenchel.Problem(X, y, loss=loss, alpha=0.1)\n"
        "    found = fenchel.check_proof(problem, np.zeros((3, 2) if loss == 'softmax' else 2))\n"
        "    print(found.dual <= found.primal)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True"] * 3
