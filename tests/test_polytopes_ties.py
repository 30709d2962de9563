"""Projections onto the polytopes of matchings and of trees, and onto linear constraints, at tied rationals: each against the
projection in exact fractions."""

from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest

from fenchel.projections import matching_polytope, tree_polytope
from fenchel.regularizers import L2, Bounded, LinearlyConstrained
from test_projections_ties import exact_box, floats, in_time, rationals, seeds, watchdog  # noqa: F401
from test_tree_polytope import best_label, forest

ZERO, ONE = Fraction(0), Fraction(1)


@pytest.fixture(autouse=True, scope="module")
def compiled():
    """What is timed is compiled before."""
    matching_polytope([[1.0]])
    tree_polytope([-1], [[1.0]])


def solution(rows):
    """A solution of a consistent linear system of fractions, the right-hand side in the last column."""
    size, rows, pivots = len(rows[0]) - 1, [list(row) for row in rows], []
    for k in range(size):
        taken = {id(row) for row, _ in pivots}
        free = [row for row in rows if id(row) not in taken]
        pivot = next((row for row in free if row[k] != 0), None)
        if pivot is None:
            continue
        scale = pivot[k]
        pivot[:] = [x / scale for x in pivot]
        for row in rows:
            if row is not pivot and row[k] != 0:
                factor = row[k]
                row[:] = [x - factor * y for x, y in zip(row, pivot, strict=True)]
        pivots.append((pivot, k))
    done = [id(row) for row, _ in pivots]
    assert all(row[-1] == 0 for row in rows if id(row) not in done), "inconsistent"
    found = [ZERO] * size
    for row, k in pivots:
        found[k] = row[-1]
    return found


def nearest(m, support, constraints):
    """The projection of m onto the points that are 0 outside the support and satisfy the constraints (a dict of coefficients,
    right-hand side) with equality: m - A'y on the support."""
    used = [({e: c for e, c in a.items() if e in support}, b) for a, b in constraints]
    rows = [
        [sum((c * other.get(e, ZERO) for e, c in a.items()), ZERO) for other, _ in used]
        + [sum((c * m[e] for e, c in a.items()), ZERO) - b]
        for a, b in used
    ]
    y = solution(rows) if rows else []
    x = {e: m[e] - sum((price * a.get(e, ZERO) for price, (a, _) in zip(y, used, strict=True)), ZERO) for e in support}
    return {e: x.get(e, ZERO) for e in m}


def matchings(rows, columns, partial):
    """All corners, as sets of entries."""
    few, many = sorted((rows, columns))
    for size in range(few + 1) if partial else [few]:
        for chosen in combinations(range(few), size):
            for partners in permutations(range(many), size):
                yield [(i, j) if rows <= columns else (j, i) for i, j in zip(chosen, partners, strict=True)]


@pytest.mark.parametrize("seed", seeds(40, quick=2))
def test_matchings(seed):
    rng = np.random.default_rng(2000 + seed)
    for _ in range(500):
        rows, columns = (int(k) for k in rng.integers(1, 4, 2))
        partial = bool(rng.integers(2))
        flat = rationals(rng, rows * columns)
        M = {(i, j): flat[i * columns + j] for i in range(rows) for j in range(columns)}
        x = in_time(matching_polytope, floats(flat).reshape(rows, columns), partial)
        size = 1.0 + max(abs(float(m)) for m in flat)
        support = {e for e in M if x[e] > 1e-9}
        lines = [{(i, j): ONE for j in range(columns)} for i in range(rows)]
        lines += [{(i, j): ONE for i in range(rows)} for j in range(columns)]
        tight = [(line, ONE) for line in lines if sum(x[e] for e in line) > 1.0 - 1e-9]
        exact = nearest(M, support, tight)
        assert min(exact.values()) >= 0 and all(sum(exact[e] for e in line) <= 1 for line in lines), M
        if not partial:
            assert sum(exact.values()) == min(rows, columns)
        rest = {e: M[e] - exact[e] for e in M}  # no corner lies in the direction that is left: x is the projection
        reached = sum(rest[e] * exact[e] for e in M)
        assert all(sum(rest[e] for e in corner) <= reached for corner in matchings(rows, columns, partial)), M
        assert max(abs(x[e] - float(exact[e])) for e in M) <= 1e-13 * size, M


@pytest.mark.parametrize("seed", seeds(40, quick=2))
def test_trees(seed):
    rng = np.random.default_rng(3000 + seed)
    for _ in range(500):
        parent, m = forest(rng, int(rng.integers(1, 5))), int(rng.integers(1, 4))
        index = [[(i,) for i in range(m)] if u < 0 else list(np.ndindex(m, m)) for u in parent]
        flat = rationals(rng, sum(map(len, index)))
        names = [(v, *at) for v, some in enumerate(index) for at in some]
        M = dict(zip(names, flat, strict=True))
        tables = [np.array([float(M[v, *at]) for at in some]) for v, some in enumerate(index)]
        shaped = [table if u < 0 else table.reshape(m, m) for u, table in zip(parent, tables, strict=True)]
        found = in_time(tree_polytope, parent, shaped)
        support = {e for e in names if found[e[0]][e[1:]] > 1e-9}
        constraints = []
        for v, u in enumerate(parent):
            if u < 0:
                constraints.append(({(v, i): ONE for i in range(m)}, ONE))
            else:
                for i in range(m):
                    own = {(v, i, j): ONE for j in range(m)}
                    above = [(int(u), i)] if parent[u] < 0 else [(int(u), k, i) for k in range(m)]
                    constraints.append((own | dict.fromkeys(above, -ONE), ZERO))
        exact = nearest(M, support, constraints)
        assert min(exact.values()) >= 0, (parent, M)
        rest = {e: M[e] - exact[e] for e in names}
        whole = [np.array([rest[v, *at] for at in some], dtype=object) for v, some in enumerate(index)]
        whole = [table if u < 0 else table.reshape(m, m) for u, table in zip(parent, whole, strict=True)]
        assert best_exact(parent, whole, m) == sum(rest[e] * exact[e] for e in names), (parent, M)
        size = 1.0 + max(abs(float(x)) for x in flat)
        assert max(abs(found[e[0]][e[1:]] - float(exact[e])) for e in names) <= 1e-12 * size, (parent, M)


def best_exact(parent, tables, m):
    """`best_label` in fractions."""
    children = {v: [c for c, u in enumerate(parent) if u == v] for v in range(-1, len(parent))}

    def message(v):
        total = tables[v] + sum((message(c) for c in children[v]), np.full(m, ZERO, dtype=object))
        return total.max(axis=-1)

    return sum((message(v) for v in children[-1]), ZERO)


def test_the_largest_sum_in_fractions_is_that_of_floats():
    rng = np.random.default_rng(0)
    for _ in range(50):
        parent, m = forest(rng, 4), 3
        tables = [rng.integers(-4, 5, (m,) if u < 0 else (m, m)) for u in parent]
        assert best_exact(parent, [table.astype(object) for table in tables], m) == best_label(parent, tables, m)


def isotonic(m):
    """The nearest nondecreasing numbers, by pooling."""
    pools = []
    for x in m:
        pools.append((x, 1))
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] >= pools[-1][0] * pools[-2][1]:
            (one, count), (two, more) = pools.pop(), pools.pop()
            pools.append((one + two, count + more))
    return [total / count for total, count in pools for _ in range(count)]


@pytest.mark.parametrize("seed", seeds(40, quick=1))
def test_monotone_coefficients(seed):
    """The prox of alpha/2 |w|^2 with w_1 <= w_2 <= ..., which is the nearest monotone point of m / (1 + step alpha)."""
    rng = np.random.default_rng(4000 + seed)
    for _ in range(500):
        n = int(rng.integers(2, 7))
        m, step = rationals(rng, n), Fraction(int(rng.integers(1, 10)), int(rng.integers(1, 10)))
        found = in_time(LinearlyConstrained.monotone(L2(1.0), n).prox, floats(m), float(step))
        exact = isotonic([x / (1 + step) for x in m])
        np.testing.assert_allclose(found, floats(exact), rtol=0.0, atol=1e-13 * (1.0 + max(abs(float(x)) for x in m)))


@pytest.mark.parametrize("seed", seeds(40, quick=1))
def test_boxes_with_a_sum(seed):
    """The nearest point of a box, or of all points, on the plane of a sum."""
    rng = np.random.default_rng(5000 + seed)
    for _ in range(500):
        n = int(rng.integers(1, 7))
        m, top = rationals(rng, n), Fraction(int(rng.integers(1, 10)), int(rng.integers(1, 10)))
        total = top * n * Fraction(int(rng.integers(1, 6)), 6)
        boxed = bool(rng.integers(2))
        inner = Bounded(L2(1.0), 0.0, float(top)) if boxed else L2(1.0)
        shrunk = [x / 2 for x in m]
        low, high = ([ZERO] * n, [top] * n) if boxed else ([None] * n, [None] * n)
        exact = exact_box(shrunk, low, high, [ONE] * n, total, [ONE] * n)
        found = in_time(LinearlyConstrained.sum_to(inner, n, float(total)).prox, floats(m), 1.0)
        size = 1.0 + max(abs(float(x)) for x in (*m, *exact, total))
        np.testing.assert_allclose(found, floats(exact), rtol=0.0, atol=1e-13 * size)
