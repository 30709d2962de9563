"""Weights of the features in L1, L2 and ElasticNet: against CVXPY, differences of the prox, and bad input."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import fenchel
from fenchel.errors import InputError
from fenchel.regularizers import L1, L2, ElasticNet, Quadratic, check, from_parameters
from problems import LOSSES, cvxpy_loss, problem

WEIGHTS = np.array([0.5, 3.0, 1.0])
WEIGHTED = [L1(0.05, weights=WEIGHTS), L2(0.05, weights=WEIGHTS), ElasticNet(0.05, 0.4, weights=WEIGHTS)]
each = pytest.mark.parametrize("reg", WEIGHTED, ids=lambda reg: type(reg).__name__)


def penalty(reg, w):
    sizes, squares = WEIGHTS @ cp.abs(w), WEIGHTS @ cp.square(w) / 2
    ratio = {"L1": 1.0, "L2": 0.0}.get(type(reg).__name__, getattr(reg, "l1_ratio", None))
    return reg.alpha * (ratio * sizes + (1 - ratio) * squares)


@each
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
def test_the_optimum_is_certified_and_equals_cvxpy(reg, loss, intercept):
    p = problem(LOSSES[loss], reg, intercept, weighted=True)
    w, b = cp.Variable(p.d), cp.Variable()
    z = p.X @ w + (b if intercept else 0.0)
    model = cp.Problem(cp.Minimize(p.weights @ cvxpy_loss(p.loss, z, p.y) + penalty(reg, w)))
    model.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    for solver in ["auto", "bundle"] + ["proximal_gradient"] * p.smooth_loss:
        result = fenchel.solve(p, solver=solver, tol=1e-7, max_time=60)
        assert result.status.name == "CERTIFIED", (solver, result.status)
        assert result.certificate.dual <= model.value + 1e-8
        assert result.certificate.primal == pytest.approx(model.value, rel=1e-6, abs=1e-8)


@each
def test_check_and_file_round_trip(reg):
    check(reg, 3)
    name = {"L1": "l1", "L2": "l2"}.get(type(reg).__name__, "elastic_net")
    assert from_parameters(name, reg.parameters()) == reg
    assert reg != type(reg)(reg.alpha)
    with pytest.raises(InputError, match="4 features"):
        check(reg, 4)


@pytest.mark.parametrize("reg", [*WEIGHTED, L1(0.05), L2(0.05), ElasticNet(0.05)], ids=repr)
def test_prox_jacobian_agrees_with_differences(reg):
    rng = np.random.default_rng(0)
    for w in 0.3 * rng.standard_normal((20, 3)):
        steps = 1e-7 * np.eye(3)
        differences = np.column_stack([(reg.prox(w + h, 2.0) - reg.prox(w - h, 2.0)) / 2e-7 for h in steps])
        J = reg.prox_jacobian(w, 2.0)
        assert np.allclose(J.toarray(), differences, atol=1e-6)
        assert np.allclose(J @ w, J.toarray() @ w)


def test_weighted_l2_is_the_diagonal_quadratic():
    rng = np.random.default_rng(0)
    ours, other = L2(0.7, weights=WEIGHTS), Quadratic(0.7, WEIGHTS)
    for x in rng.standard_normal((10, 3)):
        assert ours.value(x) == pytest.approx(other.value(x))
        assert ours.conjugate(x) == pytest.approx(other.conjugate(x))
        assert np.allclose(ours.primal_from_dual(x), other.primal_from_dual(x))


@pytest.mark.parametrize("kind", [L1, L2, ElasticNet])
def test_no_weights_leave_files_and_fingerprints_as_they_were(kind):
    assert "weights" not in kind(0.5).parameters()
    assert "weights" not in repr(kind(0.5))
    assert kind(0.5, weights=np.ones(2)).fingerprint() != kind(0.5).fingerprint()


@pytest.mark.parametrize("kind", [L1, L2, ElasticNet])
def test_bad_weights_are_refused(kind):
    for bad, words in (([1.0, -1.0], ">= 0"), ([np.nan], "finite"), (["a"], "numbers"), (1.0, "1-D"), ([], "1-D")):
        with pytest.raises(InputError, match=words):
            kind(0.5, weights=bad)
    assert kind(0.5, weights=[1.0, 0.0]).conjugate([0.0, 1e-9]) == np.inf
