"""Dual extragradient: against CVXPY, against the method with everything kept, and its bound."""

import copy
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
from fenchel.solvers.extragradient.blocks import BlockState
from fenchel.solvers.extragradient.solver import Field
from fenchel.structured import Marginals, Matching
from marginal_problems import PROBLEMS, SOLVED, chain, optimum, planes


@pytest.mark.parametrize("name", SOLVED)
@pytest.mark.parametrize(
    ("prox", "blocks", "tol"),
    [("euclidean", True, 1e-7), ("entropic", True, 1e-3), ("euclidean", False, 1e-5), ("entropic", False, 1e-4)],
)
def test_agrees_with_cvxpy(name, prox, blocks, tol):
    problem = PROBLEMS[name]
    best = optimum(problem)
    result = fenchel.solve(problem, solver=solvers.Extragradient(prox, blocks), tol=tol)
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


@pytest.mark.parametrize("name", ["chain", "classes", "weights"])
@pytest.mark.parametrize("radius", [0.3, 2.0])
def test_the_ball_form_agrees_with_cvxpy(name, radius):
    """Form (8) of the paper: max-margin in a ball, without a penalty."""
    made = PROBLEMS[name]
    problem = replaced(made, fenchel.regularizers.L2Ball(radius))
    w, terms = cp.Variable(problem.d), []
    for i in range(problem.n):
        costs, slopes = planes(problem, i)
        terms.append(problem.weights[i] * cp.max(costs + slopes @ w))
    best = float(cp.Problem(cp.Minimize(sum(terms)), [cp.norm2(w) <= radius]).solve(solver=cp.CLARABEL))
    result = fenchel.solve(problem, solver="extragradient", tol=1e-4)
    assert result.status.name == "CERTIFIED"
    assert np.linalg.norm(result.coef) <= radius * (1 + 1e-12)
    assert best * (1 - 1e-6) <= result.certificate.primal <= best * (1 + 1.1e-4)
    assert result.certificate.dual <= best * (1 + 1e-6)


def replaced(problem, regularizer):
    """The same examples with another regularizer."""
    other = copy.copy(problem)
    object.__setattr__(other, "regularizer", regularizer)
    other.__dict__.pop("digest", None)
    return other


@pytest.mark.parametrize("entropic", [False, True])
def test_block_steps_never_decrease_the_dual(entropic):
    problem = PROBLEMS["edges"]
    state = BlockState(StructuredOracle(problem), None, entropic, 0)
    values = [state.check().dual]
    for _ in range(30):
        state.sweep()
        kept = state.w.copy()
        values.append(state.check().dual)
        np.testing.assert_allclose(kept, state.w, atol=1e-12)  # w follows the marginals
    assert (np.diff(values) >= -1e-13).all()
    assert values[-1] > values[0]


def test_block_steps_solve_matchings_and_label_sets():
    rng = np.random.default_rng(3)
    sizes = [(2, 3), (3, 3), (1, 4), (4, 2)]
    X = [rng.normal(size=(*size, 3)) for size in sizes]
    Y = [np.array([c if c < size[1] else -1 for c in rng.permutation(max(size))[: size[0]]]) for size in sizes]
    for partial in (True, False):
        if not partial:
            X, Y = X[:3], [np.array([1, 2]), np.array([2, 0, 1]), np.array([3])]
        problem = fenchel.Problem(X, Y, loss=Matching(partial, 1.0, 2.0 if partial else 1.0), alpha=0.05)
        again = fenchel.solve(problem, solver="bundle", tol=1e-7)
        found = fenchel.solve(problem, solver="extragradient", tol=1e-6)
        assert found.status.name == "CERTIFIED"
        assert found.certificate.primal == pytest.approx(again.certificate.primal, rel=2e-6)
    X, Y = rng.normal(size=(15, 3)), rng.integers(0, 2, size=(15, 4))
    problem = fenchel.Problem(X, Y, loss=fenchel.structured.PairwiseLabels(), alpha=0.05)
    found = fenchel.solve(problem, solver="extragradient", tol=1e-6)
    assert found.status.name == "CERTIFIED"
    assert found.certificate.primal == pytest.approx(
        fenchel.solve(problem, solver="bundle", tol=1e-7).certificate.primal, rel=2e-6
    )


def test_starts_where_it_is_told():
    problem = PROBLEMS["chain"]
    first = fenchel.solve(problem, solver="extragradient", tol=1e-3)
    again = fenchel.solve(problem, solver="extragradient", tol=1e-3, start=first)
    assert again.status.name == "CERTIFIED"


def test_bad_parameters():
    with pytest.raises(InputError, match="prox must be one of"):
        solvers.Extragradient("quadratic")
    problem = replaced(PROBLEMS["chain"], fenchel.regularizers.L2Ball(1.0))
    with pytest.raises(fenchel.errors.FenchelError, match="blocks=True is for L2"):
        fenchel.solve(problem, solver=solvers.Extragradient(blocks=True))
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
