"""Projections onto the marginals of trees: against Clarabel, chains, ties, bad input."""

import cvxpy as cp
import numpy as np
import pytest

from fenchel.errors import InputError
from fenchel.projections import chain_polytope, tree_polytope


def forest(rng, nodes):
    """Parents in no particular order; about one node in five is a root."""
    parent = [-1, *(int(rng.integers(0, v)) if rng.random() > 0.2 else -1 for v in range(1, nodes))]
    place, found = rng.permutation(nodes), np.empty(nodes, dtype=int)
    for v, u in enumerate(parent):
        found[place[v]] = -1 if u < 0 else place[u]
    return found


def residual(parent, a):
    """The largest violation of a constraint of the polytope."""
    worst = max(-min(table.min() for table in a), 0.0)
    for v, u in enumerate(parent):
        if u < 0:
            worst = max(worst, abs(a[v].sum() - 1.0))
        else:
            above = a[u] if parent[u] < 0 else a[u].sum(axis=0)
            worst = max(worst, np.abs(a[v].sum(axis=1) - above).max())
    return worst


def clarabel(parent, tables):
    a = [cp.Variable(table.shape, nonneg=True) for table in tables]
    total = [a[v] if u < 0 else cp.sum(a[v], axis=0) for v, u in enumerate(parent)]
    tied = [cp.sum(a[v]) == 1 if u < 0 else cp.sum(a[v], axis=1) == total[u] for v, u in enumerate(parent)]
    away = sum(cp.sum_squares(x - table) for x, table in zip(a, tables, strict=True))
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-12)
    cp.Problem(cp.Minimize(away), tied).solve(solver=cp.CLARABEL, **tight)
    return [x.value for x in a]


@pytest.mark.parametrize("kind", ["plain", "ties", "small", "large"])
@pytest.mark.parametrize("seed", range(6))
def test_equals_clarabel_and_no_vertex_lies_in_the_direction_that_is_left(seed, kind):
    rng = np.random.default_rng(seed)
    parent, m = forest(rng, int(rng.integers(1, 8))), int(rng.integers(1, 5))
    tables = [rng.standard_normal((m,) if u < 0 else (m, m)) for u in parent]
    scale = {"plain": 1.0, "ties": 1.0, "small": 1e-3, "large": 30.0}[kind]
    tables = [np.round(table) if kind == "ties" else scale * table for table in tables]
    found = tree_polytope(parent, tables)
    assert residual(parent, found) <= 1e-14
    for x, y in zip(found, clarabel(parent, tables), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-4 if kind == "large" else 2e-5)
    # Optimal: max over the polytope of <tables - a, vertex - a> is at most 0, by a linear program over subtrees.
    rest = [table - x for table, x in zip(tables, found, strict=True)]
    reached = sum(float((r * x).sum()) for r, x in zip(rest, found, strict=True))
    assert best_label(parent, rest, m) <= reached + 1e-9 * max(1.0, scale)


def best_label(parent, tables, m):
    """The largest sum of table entries over all labels, by maxima from the leaves on."""
    children = {v: [c for c, u in enumerate(parent) if u == v] for v in range(-1, len(parent))}

    def message(v):
        return (tables[v] + sum((message(c) for c in children[v]), np.zeros(m))).max(axis=-1)

    return float(sum(message(v) for v in children[-1]))


def test_a_path_is_a_chain():
    """A chain's first table is the pair of the first two nodes: the root's own table is chosen to cost nothing."""
    rng = np.random.default_rng(7)
    M = rng.standard_normal((4, 3, 3))
    chain = chain_polytope(M)
    tables = [chain[0].sum(axis=1), *M]
    found = tree_polytope([-1, 0, 1, 2, 3], tables)
    np.testing.assert_allclose(np.array(found[1:]), chain, atol=1e-10)


def test_large_trees_take_few_steps():
    from fenchel.projections.tree_newton import project_tree

    rng = np.random.default_rng(8)
    parent = np.array([-1, *(int(rng.integers(max(0, v - 4), v)) for v in range(1, 120))], dtype=np.int32)
    place = np.array([0, *(4 + 16 * v for v in range(119))], dtype=np.int64)
    for scale in (0.1, 1.0, 10.0):
        M = scale * rng.standard_normal(4 + 119 * 16)
        assert project_tree(np.arange(120, dtype=np.int32), parent, place, 4, M) < 120


@pytest.mark.parametrize(
    ("parent", "tables", "words"),
    [
        ([], [], "parent must be"),
        ([0.5], [[1.0]], "parent must be"),
        ([-1, 5], [[1.0], [[1.0]]], "parent of node 1 is 5"),
        ([1, 0], [[[1.0]], [[1.0]]], "cycle"),
        ([-1, 0], [[1.0, 0.0]], "2 nodes but 1 tables"),
        ([-1, 0], [[1.0, 0.0], [1.0, 0.0]], r"table of node 1 must have the shape \(2, 2\)"),
        ([-1], [[np.nan, 0.0]], "table of node 0 contains NaN"),
    ],
)
def test_bad_input(parent, tables, words):
    with pytest.raises(InputError, match=words):
        tree_polytope(parent, tables)
