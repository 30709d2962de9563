"""The projection onto mixtures of matchings: against Clarabel, its optimality condition by an assignment problem, ties, bad
input; and the mixture of largest entropy."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, minimize

from fenchel.errors import InputError
from fenchel.projections import capped_simplex, matching_polytope
from fenchel.projections.matching_newton import recover_matching, scale_matching


def assert_mixture(x, partial):
    assert x.min() >= 0.0 and max(x.sum(axis=0).max(), x.sum(axis=1).max()) <= 1.0 + 1e-14
    if not partial:
        np.testing.assert_allclose(x.sum(axis=int(x.shape[0] <= x.shape[1])), 1.0, rtol=1e-13)


def best_matching(weights, partial):
    """The largest weight of a matching."""
    weights = np.maximum(weights, 0.0) if partial else weights
    return weights[linear_sum_assignment(-weights)].sum()


def clarabel(M, partial):
    x = cp.Variable(M.shape, nonneg=True)
    few = int(M.shape[0] <= M.shape[1])  # the axis that is summed over
    rules = [
        cp.sum(x, axis=axis) == 1.0 if axis == few and not partial else cp.sum(x, axis=axis) <= 1.0 for axis in (0, 1)
    ]
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-12)
    cp.Problem(cp.Minimize(cp.sum_squares(x - M)), rules).solve(solver="CLARABEL", **tight)
    return x.value


@pytest.mark.parametrize("partial", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 3), (4, 7), (7, 4)])
def test_equals_clarabel(shape, partial):
    rng = np.random.default_rng(shape[0])
    for M in (
        rng.normal(size=shape),
        5.0 * rng.normal(size=shape),
        rng.integers(-2, 4, shape) / 3.0,
        np.full(shape, 2.0),
    ):
        x = matching_polytope(M, partial)
        assert_mixture(x, partial)
        np.testing.assert_allclose(x, clarabel(M, partial), atol=1e-6)


@pytest.mark.parametrize("partial", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_no_matching_lies_in_the_direction_that_is_left(seed, partial):
    """x is the projection iff <M - x, matching> <= <M - x, x> for every matching."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 13, 2)
    for M in (
        10.0 ** rng.integers(-4, 7) * rng.normal(size=shape), rng.integers(-3, 6, shape) / rng.integers(1, 9),
        np.where(rng.random(shape) < 0.5, 1e-300, 0.0), np.repeat(rng.normal(size=(shape[0], 1)), shape[1], axis=1),
    ):  # fmt: skip
        x = matching_polytope(M, partial)
        assert_mixture(x, partial)
        assert best_matching(M - x, partial) - np.sum((M - x) * x) <= 1e-11 * (1.0 + np.abs(M).max())


def test_a_single_row_is_the_capped_simplex_and_corners_stay():
    values = np.array([[0.9, 0.4, -1.0]])
    np.testing.assert_allclose(matching_polytope(values, partial=False)[0], capped_simplex(values[0], 1.0), atol=1e-15)
    corner = np.eye(4)[[2, 0, 3, 1]]
    np.testing.assert_array_equal(matching_polytope(corner), corner)
    np.testing.assert_allclose(matching_polytope(1e12 * corner, partial=False), corner, atol=1e-12)


def test_tied_thirds_are_exact():
    third = float(Fraction(1, 3))
    np.testing.assert_allclose(matching_polytope(np.full((3, 3), 7.0)), third, rtol=1e-15)
    np.testing.assert_allclose(matching_polytope(np.full((3, 3), third)), third, rtol=1e-15)


@pytest.mark.parametrize("partial", [True, False])
def test_recovery_makes_mixtures_of_anything_and_keeps_those_that_are(partial):
    rng = np.random.default_rng(0)
    for _ in range(50):
        rows, columns = rng.integers(1, 7, 2)
        x = rng.normal(size=rows * columns) * 10.0 ** rng.integers(-3, 4)
        recover_matching(rows, columns, partial, x)
        assert_mixture(x.reshape(rows, columns), partial)
        again = x.copy()
        recover_matching(rows, columns, partial, again)
        np.testing.assert_allclose(again, x, rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("partial", [True, False])
def test_the_mixture_of_largest_entropy(partial):
    """Against SciPy's constrained optimizer, the slack included."""
    rng = np.random.default_rng(1)
    M = rng.normal(size=(2, 3))

    def objective(x):
        x = x.reshape(2, 3)
        slack = np.concatenate([1.0 - x.sum(axis=0), 1.0 - x.sum(axis=1) if partial else []])
        parts = np.concatenate([x.ravel(), slack])
        return np.sum(parts * (np.log(np.maximum(parts, 1e-300)) - 1.0)) - np.sum(M * x)

    rule = {"type": "ineq" if partial else "eq", "fun": lambda x: 1.0 - x.reshape(2, 3).sum(axis=1)}
    caps = {"type": "ineq", "fun": lambda x: 1.0 - x.reshape(2, 3).sum(axis=0)}
    expected = minimize(
        objective, np.full(6, 0.2), constraints=[rule, caps], bounds=[(1e-9, 1)] * 6, options={"ftol": 1e-14}
    )
    x = M.ravel().copy()
    scale_matching(2, 3, partial, x)
    np.testing.assert_allclose(x, expected.x, atol=1e-5)
    x = 1e4 * M.ravel()  # nearly the best matching
    scale_matching(2, 3, partial, x)
    assert np.sum(M * x.reshape(2, 3)) == pytest.approx(best_matching(M, partial), rel=1e-6)


@pytest.mark.parametrize(
    ("weights", "words"),
    [([1.0, 2.0], "shape"), (np.zeros((0, 3)), "shape"), ([[np.nan]], r"weights\[0, 0\]"), ("x", "numbers")],
)
def test_bad_input(weights, words):
    with pytest.raises(InputError, match=words):
        matching_polytope(weights)
