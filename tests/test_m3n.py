"""Parts and marginals: against enumeration of labels; marginals as dual points; Pragam on max-margin Markov networks."""

import numpy as np
import pytest
from scipy.optimize import nnls

import fenchel
from fenchel import solvers
from fenchel.errors import IncompatibleError, InputError
from fenchel.oracles.structured import StructuredOracle
from fenchel.solvers.pragam.marginal_blocks import Cliques
from fenchel.structured import Marginals, parts
from fenchel.structured.marginals import part_starts, parts_of
from marginal_problems import PROBLEMS, SOLVED, chain, every_label, optimum

NAMES = list(PROBLEMS)


@pytest.mark.parametrize("name", NAMES)
def test_parts_add_up_to_labels(name):
    problem = PROBLEMS[name]
    model, own = problem.model, parts_of(problem.model)
    w, S = np.random.default_rng(0).normal(size=problem.d), np.empty(own.workspace_size)
    np.testing.assert_array_equal(np.diff(part_starts(own)), own.sizes)
    for i in range(problem.n):
        theta, fixed = np.empty(int(own.sizes[i])), np.empty(int(own.sizes[i]))
        assert parts.parts_size(own, i) == theta.size
        parts.clique_scores(own, w, 1.0, i, S, theta)
        parts.clique_scores(own, w, 0.0, i, S, fixed)
        gold = next(mu for label, mu in every_label(problem, i) if np.array_equal(label, model.gold(i)))
        for label, mu in every_label(problem, i):
            expected, found = np.zeros(problem.d), np.zeros(problem.d)
            model.add_label(i, label, 2.0, expected)
            cost = parts.add_cliques(own, i, mu, 2.0, S, found)
            np.testing.assert_allclose(found, expected, atol=1e-12)
            assert cost == pytest.approx(model.label_cost(i, label))
            assert (theta - fixed) @ mu == pytest.approx(cost)
            model.part_scores(w, i, S)
            assert fixed @ (mu - gold) == pytest.approx(model.label_margin(w, S, i, label))
            assert np.linalg.norm(expected) <= 2.0 * parts.label_reach(own, i) * (1 + 1e-12)


@pytest.mark.parametrize("name", ["classes", "chain", "tree"])
def test_projections_gibbs_marginals_and_recovery(name):
    problem = PROBLEMS[name]
    own, rng = parts_of(problem.model), np.random.default_rng(1)
    for i in range(min(problem.n, 5)):
        vertices = np.array([mu for _, mu in every_label(problem, i)])
        theta = 2.0 * rng.normal(size=vertices.shape[1])
        gibbs = np.exp(vertices @ theta)
        found = theta.copy()
        parts.gibbs_cliques(own, i, found)
        np.testing.assert_allclose(found, (gibbs / gibbs.sum()) @ vertices, atol=1e-13)
        kept = found.copy()
        parts.recover_cliques(own, i, kept)
        np.testing.assert_allclose(kept, found, atol=1e-14)
        near = theta.copy()
        parts.project_cliques(own, i, near)
        assert (vertices @ (theta - near)).max() <= (theta - near) @ near + 1e-11
        wild = 10.0 * rng.normal(size=theta.size)
        parts.recover_cliques(own, i, wild)
        assert inside(vertices, wild) and inside(vertices, near)


def inside(vertices, mu):
    """Whether mu is a mixture of vertices."""
    return nnls(np.vstack([vertices.T, np.ones(len(vertices))]), np.append(mu, 1.0))[1] < 1e-7


def test_power_iteration_finds_the_norm():
    problem = PROBLEMS["weights"]
    own, columns = parts_of(problem.model), []
    S = np.empty(own.workspace_size)
    for i in range(problem.n):
        for k in range(int(own.sizes[i])):
            with_part, without = np.zeros(problem.d), np.zeros(problem.d)
            parts.add_cliques(own, i, np.eye(int(own.sizes[i]))[k], 1.0, S, with_part)
            parts.add_cliques(own, i, np.zeros(int(own.sizes[i])), 1.0, S, without)
            columns.append(np.sqrt(problem.weights[i]) * (with_part - without))
    found, true = Cliques(StructuredOracle(problem)).norm(), np.linalg.norm(np.array(columns), 2)
    assert true <= found <= 1.03 * true


@pytest.mark.parametrize("name", SOLVED)
def test_pragam_agrees_with_cvxpy(name):
    problem = PROBLEMS[name]
    best = optimum(problem)
    result = fenchel.solve(problem, solver="pragam", tol=1e-6)
    assert result.status.name == "CERTIFIED"
    assert isinstance(result.dual_point, Marginals)
    assert best * (1 - 1e-7) <= result.certificate.primal <= best * (1 + 1.2e-6)
    assert result.certificate.dual <= best * (1 + 1e-7)
    again = fenchel.certify(problem, result.coef, dual_point=result.dual_point)
    assert again.gap == pytest.approx(result.certificate.gap, abs=1e-13)


def test_the_papers_steps_keep_the_papers_bound():
    problem = chain(lengths=(4, 4, 4))
    n, tables, m = 3, 3, 3
    L = (
        n * Cliques(StructuredOracle(problem)).norm() ** 2 / problem.regularizer.alpha
    )  # the norm of all columns of features
    distance = n * tables * 0.5 * (1 - 1 / m**2)
    result = fenchel.solve(problem, solver=solvers.Pragam(L=L), tol=1e-9, max_iter=100)
    for k, point in enumerate(result.trace):
        assert point.gap <= 4 * L / n**2 * distance / ((k + 1) * (k + 2)) * (1 + 1e-9)


@pytest.mark.parametrize("name", ["classes", "chain", "weights"])
def test_no_marginals_promise_too_much(name):
    problem = PROBLEMS[name]
    best, rng = optimum(problem), np.random.default_rng(0)
    result = fenchel.solve(problem, solver="pragam", tol=1e-3)
    for scale in (0.1, 1.0, 100.0):
        values = result.dual_point.values + scale * rng.normal(size=result.dual_point.values.size)
        wrong = result.dual_point._replace(values=values)
        assert fenchel.certify(problem, result.coef, dual_point=wrong).dual <= best * (1 + 1e-9)
    half = result.dual_point._replace(scale=0.5)
    assert fenchel.certify(problem, result.coef, dual_point=half).dual <= best * (1 + 1e-9)


def test_a_lying_solver_is_caught():
    problem = PROBLEMS["chain"]
    start = part_starts(parts_of(problem.model))
    values = np.full(int(start[-1]), np.inf)
    values[::2] = np.nan
    found = fenchel.certificates.structured.structured_certificate(
        problem, np.zeros(problem.d), 0.0, Marginals(start, values)
    )[0]
    assert found.dual <= optimum(problem)


def test_marginals_scale_into_the_dual_ball_of_l1():
    problem, twin = chain(alpha=0.2, regularizer="l1"), PROBLEMS["chain"]
    point = fenchel.solve(twin, solver="pragam", tol=1e-3).dual_point
    found = fenchel.certify(problem, np.zeros(problem.d), dual_point=point)
    assert -np.inf < found.dual <= optimum(problem) * (1 + 1e-9)


def test_marginals_that_do_not_fit_are_refused():
    problem = PROBLEMS["chain"]
    start = part_starts(parts_of(problem.model))
    good = Marginals(start, np.zeros(int(start[-1])))
    w = np.zeros(problem.d)
    for bad in (
        good._replace(values=good.values[1:]), good._replace(start=start + 1), good._replace(scale=2.0),
        good._replace(values=np.full(int(start[-1]), np.nan)),
    ):  # fmt: skip
        with pytest.raises(InputError, match="marginals"):
            fenchel.certify(problem, w, dual_point=bad)
    with pytest.raises(InputError, match="has no marginals"):
        fenchel.certify(chain(beta=1.0), w, dual_point=good)


def test_rescaled_slack_has_no_marginals():
    with pytest.raises(IncompatibleError, match=r"Pragam cannot .* decompose into parts .*Solvers that can: .*Bundle"):
        fenchel.solve(chain(beta=1.0), solver="pragam")
