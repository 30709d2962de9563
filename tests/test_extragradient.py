"""Dual extragradient: against CVXPY, against the method with everything kept, and its bound."""

import sys
from itertools import islice
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # `experiments` lives beside `tests`, it is not installed

from experiments.saddle_frank_wolfe import saddle_frank_wolfe

import fenchel
from fenchel import solvers
from fenchel.errors import InputError
from fenchel.oracles.structured import StructuredOracle
from fenchel.projections import simplex
from fenchel.solvers.extragradient.solver import Field
from fenchel.structured import Marginals
from marginal_problems import PROBLEMS, SOLVED, chain, optimum, planes


@pytest.mark.parametrize("name", SOLVED)
@pytest.mark.parametrize(("prox", "tol"), [("euclidean", 1e-5), ("entropic", 1e-4)])
def test_agrees_with_cvxpy(name, prox, tol):
    problem = PROBLEMS[name]
    best = optimum(problem)
    result = fenchel.solve(problem, solver=solvers.Extragradient(prox), tol=tol)
    assert result.status.name == "CERTIFIED"
    assert isinstance(result.dual_point, Marginals)
    assert best * (1 - 1e-7) <= result.certificate.primal <= best * (1 + 1.1 * tol)
    assert result.certificate.dual <= best * (1 + 1e-7)
    assert fenchel.certify(problem, result.coef, dual_point=result.dual_point).holds(tol)


def test_the_small_state_walks_as_the_method_with_all_marginals_kept():
    """s = -t G(mean of u): here s is summed step by step, with a distribution of classes per row."""
    problem = PROBLEMS["classes"]
    field = Field(StructuredOracle(problem), np.zeros(problem.d), False, 10.0)
    X, y, m = problem.model.rows.values, problem.model.y, problem.model.m
    gold, alpha, stride = np.eye(m)[y], problem.regularizer.alpha, field.step / field.weight
    s_w, s_z = np.zeros(problem.d), np.zeros((problem.n, m))
    mean = np.zeros_like(s_z)

    def operator(w, z):
        return alpha * w + (X.T @ (z - gold)).ravel() / problem.n, X @ w.reshape(-1, m) + 1.0 - gold

    def project(z):
        return np.array([simplex(row) for row in z])

    points = field.points()
    for t in range(1, 31):
        v_w, v_z = stride * s_w, project(field.step * s_z)
        down, up = operator(v_w, v_z)
        u_w, u_z = v_w - stride * down, project(v_z + field.step * up)
        down, up = operator(u_w, u_z)
        s_w, s_z, mean = s_w - down, s_z + up, mean + u_z
        point = next(points)
        assert point.t == t
        np.testing.assert_allclose(point.w, u_w, atol=1e-11)
        np.testing.assert_allclose(point.mean_g, (X.T @ (mean / t - gold)).ravel() / problem.n, atol=1e-11)
        assert point.gain == pytest.approx(np.sum(u_z * (1.0 - gold)) / problem.n)
    np.testing.assert_allclose(field.repeated(point)().values, u_z.ravel(), atol=1e-11)
    np.testing.assert_allclose(field.averaged(30)().values, (mean / 30).ravel(), atol=1e-11)


@pytest.mark.parametrize("entropic", [False, True])
@pytest.mark.parametrize("name", ["classes", "chain"])
def test_the_average_keeps_the_bound(name, entropic):
    """D* - D(average) <= L (distances from the start) / t."""
    problem = PROBLEMS[name]
    best = optimum(problem)
    field = Field(StructuredOracle(problem), np.zeros(problem.d), entropic, 10.0)
    w = fenchel.solve(problem, solver="bundle", tol=1e-9).coef
    labels = problem.model.sizes * np.log(problem.model.m) if entropic else problem.model.sizes / 2.0
    for t, point in zip(range(1, 200), field.points(), strict=False):
        mean = point.mean_gain - problem.regularizer.conjugate(-point.mean_g)
        reach = max(np.linalg.norm(w), np.linalg.norm(point.mean_g) / problem.regularizer.alpha)
        distance = 0.5 * field.weight * reach**2 + problem.weights @ labels
        assert best - mean <= distance / (field.step * t) * (1 + 1e-6)


def test_starts_where_it_is_told():
    problem = PROBLEMS["chain"]
    first = fenchel.solve(problem, solver="extragradient", tol=1e-3)
    again = fenchel.solve(problem, solver="extragradient", tol=1e-3, start=first)
    assert again.status.name == "CERTIFIED"


def test_bad_parameters():
    with pytest.raises(InputError, match="prox must be one of"):
        solvers.Extragradient("quadratic")
    with pytest.raises(InputError, match="balance must be"):
        solvers.Extragradient(balance=0.0)


def test_cutting_planes_solve_the_same_losses_with_l1():
    """The saddle-point form with an L1 ball has a penalised twin, which the bundle's linear programs solve."""
    for alpha in (0.05, 0.5):
        problem = chain(alpha=alpha, regularizer="l1")
        result = fenchel.solve(problem, solver="bundle", tol=1e-6)
        assert result.status.name == "CERTIFIED"
        assert result.certificate.primal == pytest.approx(optimum(problem), rel=2e-6)


def test_saddle_point_frank_wolfe_brackets_the_optimum_of_the_ball():
    problem, radius = PROBLEMS["weights"], 1.5
    w = cp.Variable(problem.d)
    every = [planes(problem, i) for i in range(problem.n)]
    risk = sum(p * cp.max(costs + slopes @ w) for p, (costs, slopes) in zip(problem.weights, every, strict=True))
    best = cp.Problem(cp.Minimize(risk), [cp.norm1(w) <= radius]).solve(solver=cp.CLARABEL)
    found = np.array(list(islice(saddle_frank_wolfe(problem, radius), 2000)))
    assert (found[:, 0] >= best - 1e-7).all() and (found[:, 1] <= best + 1e-7).all()
    assert found[:, 0].min() <= 1.02 * best and found[:, 1].max() >= 0.9 * best
