"""The projection onto the chain polytope: against Clarabel, brute force, its optimality conditions; bad input."""

import itertools

import cvxpy as cp
import numpy as np
import pytest

from fenchel.errors import InputError
from fenchel.projections import chain_polytope, simplex
from fenchel.projections.chain_newton import project_chain
from fenchel.projections.chain_recovery import recover_chain


def reference(M):
    """Clarabel's answer."""
    a = [cp.Variable(table.shape, nonneg=True) for table in M]
    rules = [cp.sum(a[0]) == 1] + [cp.sum(p, axis=0) == cp.sum(q, axis=1) for p, q in itertools.pairwise(a)]
    distance = sum(cp.sum_squares(x - table) for x, table in zip(a, M, strict=True)) / 2
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
    cp.Problem(cp.Minimize(distance), rules).solve(solver="CLARABEL", **tight)
    return np.array([x.value for x in a])


def assert_marginals(a):
    assert (a >= 0.0).all()
    np.testing.assert_allclose(a.sum(axis=(1, 2)), 1.0, rtol=1e-14)
    np.testing.assert_allclose(a[:-1].sum(axis=1), a[1:].sum(axis=2), atol=1e-15)


@pytest.mark.parametrize("scale", [0.05, 0.5, 5.0])
@pytest.mark.parametrize(("tables", "labels"), [(1, 3), (2, 2), (5, 3), (12, 4)])
def test_equals_clarabel(tables, labels, scale):
    M = scale * np.random.default_rng(tables).normal(size=(tables, labels, labels))
    a = chain_polytope(M)
    assert_marginals(a)
    expected = reference(M)
    assert np.sum((a - M) ** 2) <= np.sum((expected - M) ** 2) * (1 + 1e-9) + 1e-9
    np.testing.assert_allclose(a, expected, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-3, 0.1, 1.0, 100.0, 1e9])
@pytest.mark.parametrize(("tables", "labels"), [(1, 2), (3, 2), (13, 26), (100, 10), (400, 4)])
def test_no_path_lies_in_the_direction_that_is_left(tables, labels, scale):
    """a is the projection iff <M - a, path> <= <M - a, a> for every path: the best one is found by dynamic programming."""
    M = scale * np.random.default_rng(labels).normal(size=(tables, labels, labels))
    a = chain_polytope(M)
    assert_marginals(a)
    rest = M - a
    best = np.zeros(labels)
    for table in rest:
        best = (best[:, None] + table).max(axis=0)
    assert best.max() - np.sum(rest * a) <= 1e-11 * tables * (1.0 + scale)


def test_marginals_of_a_chain_stay_where_they_are():
    rng = np.random.default_rng(0)
    a = rng.random((6, 4, 4)) ** 3
    recover_chain(6, 4, flat := a.ravel().copy())
    a = flat.reshape(a.shape)
    assert_marginals(a)
    np.testing.assert_allclose(chain_polytope(a), a, atol=1e-13)


def test_ties_and_constants_give_the_uniform_distribution():
    np.testing.assert_allclose(chain_polytope(np.full((4, 3, 3), 7.0)), 1 / 9, atol=1e-13)


def test_paths_far_away_are_vertices():
    M = np.zeros((3, 2, 2))
    M[0, 1, 0] = M[1, 0, 0] = M[2, 0, 1] = 1e3
    np.testing.assert_allclose(chain_polytope(M), M / 1e3)


def test_one_position_is_the_simplex_and_one_table_too():
    m = np.random.default_rng(1).normal(size=9)
    np.testing.assert_array_equal(chain_polytope(m), simplex(m))
    np.testing.assert_allclose(chain_polytope(m.reshape(1, 3, 3)).ravel(), simplex(m), atol=1e-14)


def test_one_label_leaves_no_choice():
    np.testing.assert_array_equal(chain_polytope([[[-3.0]], [[5.0]]]), np.ones((2, 1, 1)))


def test_compiled_equals_python():
    M = np.random.default_rng(2).normal(size=5 * 9)
    a, b = np.empty(M.size), np.empty(M.size)
    assert project_chain(5, 3, M, a) == project_chain.py_func(5, 3, M, b)
    np.testing.assert_allclose(a, b, atol=1e-13)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (np.zeros((2, 3)), r"shape \(T - 1, m, m\)"),
        (np.zeros((2, 3, 4)), r"got \(2, 3, 4\)"),
        (np.zeros((0, 3, 3)), "shape"),
        ([[[0.0, np.nan], [0.0, 0.0]]], r"tables\[0, 0, 1\] must be finite"),
        ([["a"]], "array of numbers"),
    ],
)
def test_bad_input(tables, message):
    with pytest.raises(InputError, match=message):
        chain_polytope(tables)
