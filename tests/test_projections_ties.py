"""Projections of tied rationals against exact arithmetic in fractions, and no loop without an end: 20,000 inputs, and with the
slow tests 20,000 for each of them.

Small denominators make many coordinates reach a bound at the same multiplier, where rounding decides on which side they fall.
"""

import faulthandler
import subprocess
import sys
import time
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from fenchel.compile.kernel import kernel
from fenchel.multiclass.protocol import conjugate, dual_prox, value
from fenchel.projections import box_equality, capped_simplex, chain_polytope, simplex
from fenchel.projections.chain_newton import simplex_threshold
from fenchel.structured.parts_simplex import project_simplex
from vector_problems import LOSSES, TREE

SECONDS = 2.0  # a wall clock for every single call: they take microseconds once compiled


@pytest.fixture(autouse=True)
def watchdog():
    """A compiled loop without an end cannot be interrupted: the process is ended, and says where it was."""
    faulthandler.dump_traceback_later(120.0, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True, scope="module")
def compiled():
    """What is timed is compiled before."""
    simplex([1.0, 2.0])
    capped_simplex([1.0, 2.0], [1.0, 1.0], 1.0, [1.0, 2.0])
    box_equality([1.0], [0.0], [1.0], [1.0], 0.5, [2.0])
    chain_polytope([[[1.0]]])
    project_simplex(np.array([1.0, 2.0]))


def in_time(function, *arguments, **options):
    began = time.perf_counter()
    result = function(*arguments, **options)
    assert time.perf_counter() - began < SECONDS
    return result


def seeds(count, quick=1):
    """0 .. count - 1, of which the first `quick` are tried by `make test` and all by `make test-all`."""
    return [pytest.param(seed, marks=[pytest.mark.slow] if seed >= quick else []) for seed in range(count)]


def rationals(rng, size):
    """Multiples of 1/q, q < 10: often all equal, zero, of one sign, or far apart."""
    q = int(rng.integers(1, 10))
    kind = int(rng.integers(6))
    numbers = rng.integers(-q if kind else 0, q + 1, size=size)
    if kind == 1:
        numbers[:] = numbers[0]
    elif kind == 2:
        numbers[:] = 0
    elif kind == 3:
        numbers = numbers * 10
    return [Fraction(int(k), q) for k in numbers]


def floats(numbers):
    return np.array([float(x) for x in numbers])


def exact_box(m, lower, upper, sigma, z, d):
    """clip(m + nu sigma / d^2, lower, upper) with the sum z, by walking the sorted breakpoints; None stands for no bound."""
    g = [s / (x * x) for s, x in zip(sigma, d, strict=True)]

    def point(nu):
        moved = (x + nu * slope for x, slope in zip(m, g, strict=True))
        raised = [x if low is None else max(x, low) for x, low in zip(moved, lower, strict=True)]
        return [x if high is None else min(x, high) for x, high in zip(raised, upper, strict=True)]

    def total(nu):
        return sum(s * x for s, x in zip(sigma, point(nu), strict=True))

    ends = [*zip(m, lower, g, strict=True), *zip(m, upper, g, strict=True)]
    breakpoints = sorted({(bound - x) / slope for x, bound, slope in ends if bound is not None and slope != 0}) or [
        Fraction(0)
    ]
    breakpoints = [breakpoints[0] - 1, *breakpoints, breakpoints[-1] + 1]
    first, last = 0, len(breakpoints) - 2  # the root is in the piece that begins at a breakpoint between these
    while first < last:
        middle = (first + last + 1) // 2
        first, last = (middle, last) if total(breakpoints[middle]) < z else (first, middle - 1)
    left, right = total(breakpoints[first]), total(breakpoints[first + 1])
    share = (z - left) / (right - left) if right != left else Fraction(0)
    return point(breakpoints[first] + share * (breakpoints[first + 1] - breakpoints[first]))


def assert_equal(found, exact, scale=1.0):
    np.testing.assert_allclose(found, floats(exact), rtol=0.0, atol=1e-14 * scale)


@pytest.mark.parametrize("seed", seeds(40, quick=4))
def test_simplices(seed):
    """simplex, and the two that solvers use inside compiled code."""
    rng = np.random.default_rng(seed)
    for _ in range(500):
        n = int(rng.integers(1, 8))
        m, total = rationals(rng, n), Fraction(int(rng.integers(1, 10)), int(rng.integers(1, 10)))
        ones, none, zeros = [Fraction(1)] * n, [None] * n, [Fraction(0)] * n
        scale = 1.0 + max(abs(float(x)) for x in m)
        assert_equal(in_time(simplex, floats(m), float(total)), exact_box(m, zeros, none, ones, total, ones), scale)
        unit = exact_box(m, zeros, none, ones, Fraction(1), ones)
        in_time(project_simplex, theta := floats(m))
        assert_equal(theta, unit, scale)
        tau = in_time(simplex_threshold, floats(m), 1.0)
        assert_equal(np.maximum(floats(m) - tau, 0.0), unit, 4.0 * scale)


@pytest.mark.parametrize("seed", seeds(14, quick=4))
def test_capped_simplices_with_caps_and_weights(seed):
    rng = np.random.default_rng(200 + seed)
    for _ in range(1500):
        n = int(rng.integers(1, 8))
        m, caps = rationals(rng, n), [abs(x) + Fraction(int(rng.integers(0, 3)), 3) for x in rationals(rng, n)]
        weights = [Fraction(int(k), 3) for k in rng.integers(1, 7, size=n)] if rng.integers(2) else [Fraction(1)] * n
        most = sum(w * c for w, c in zip(weights, caps, strict=True))
        total = most * Fraction(int(rng.integers(0, 7)), 6)
        at_most = bool(rng.integers(2))
        zeros, ones = [Fraction(0)] * n, [Fraction(1)] * n
        exact = [min(max(x, Fraction(0)), c) for x, c in zip(m, caps, strict=True)]
        if not at_most or sum(w * x for w, x in zip(weights, exact, strict=True)) > total:
            exact = exact_box(m, zeros, caps, weights, total, ones)
        found = in_time(capped_simplex, floats(m), floats(caps), float(total), floats(weights), at_most=at_most)
        assert_equal(found, exact, 10.0 * (1.0 + max(abs(float(x)) for x in (*m, total))))


@pytest.mark.parametrize("seed", seeds(14, quick=4))
def test_boxes_cut_by_a_hyperplane(seed):
    rng = np.random.default_rng(500 + seed)
    for _ in range(1500):
        n = int(rng.integers(1, 7))
        m, ends = rationals(rng, n), [sorted(pair) for pair in zip(rationals(rng, n), rationals(rng, n), strict=True)]
        lower, upper = [low for low, _ in ends], [high for _, high in ends]
        sigma = [Fraction(int(k)) for k in rng.integers(-2, 3, size=n)]
        d = [Fraction(int(k), 2) for k in rng.integers(1, 4, size=n)]
        reached = [(s * low, s * high) for s, low, high in zip(sigma, lower, upper, strict=True)]
        least, greatest = sum(min(pair) for pair in reached), sum(max(pair) for pair in reached)
        z = least + (greatest - least) * Fraction(int(rng.integers(0, 7)), 6)
        if 0 < z < greatest and rng.integers(2):  # without some of the bounds, which can only widen what is attainable
            lower = [None if rng.integers(3) == 0 else low for low in lower]
            upper = [None if rng.integers(3) == 0 else high for high in upper]
        exact = exact_box(m, lower, upper, sigma, z, d)
        low, high = [-np.inf if x is None else x for x in lower], [np.inf if x is None else x for x in upper]
        found = in_time(box_equality, floats(m), floats(low), floats(high), floats(sigma), float(z), floats(d))
        assert_equal(found, exact, 20.0 * (1.0 + max(abs(float(x)) for x in (*m, *exact, z))))


def exact_chain(M, support):
    """(a, why not): the projection onto the chains with that support, and what keeps it from being that onto all chains.

    With a potential for every node, a = M + potential(head) - potential(tail) on the support, flows are balanced and 1 leaves
    the source. This is the projection iff a >= 0 and potentials exist with M + head - tail <= a for all entries, equal on the
    support: they are the lengths of shortest paths, which exist unless there is a negative cycle.
    """
    E, m = len(M), len(M[0])
    sink = 1 + (E - 1) * m
    at = [(t, i, j) for t in range(E) for i in range(m) for j in range(m)]
    tail = {(t, i, j): 0 if t == 0 else 1 + (t - 1) * m + i for t, i, j in at}
    head = {(t, i, j): sink if t == E - 1 else 1 + t * m + j for t, i, j in at}
    entry = {(t, i, j): M[t][i][j] for t, i, j in at}
    nodes = sorted({tail[e] for e in at if e in support} | {head[e] for e in at if e in support} - {sink})
    place = {node: k for k, node in enumerate(nodes)}
    rows = [[Fraction(0)] * (len(nodes) + 1) for _ in nodes]  # what leaves a node minus what enters it
    rows[place[0]][-1] = Fraction(1)
    for e in support:
        for node, sign in ((tail[e], 1), (head[e], -1)):
            if node != sink:
                row = rows[place[node]]
                row[-1] -= sign * entry[e]
                row[place[tail[e]]] -= sign
                if head[e] != sink:
                    row[place[head[e]]] += sign
    potential = dict(zip(nodes, solved(rows), strict=True)) | {sink: Fraction(0)}
    a = {e: entry[e] + potential[head[e]] - potential[tail[e]] if e in support else Fraction(0) for e in at}
    if min(a.values()) < 0:
        return a, "negative"
    arcs = [(tail[e], head[e], a[e] - entry[e]) for e in at] + [(head[e], tail[e], entry[e] - a[e]) for e in support]
    length = [Fraction(0)] * (sink + 1)
    for _ in range(sink + 2):
        before = list(length)
        for u, v, cost in arcs:
            length[v] = min(length[v], length[u] + cost)
        if before == length:
            return a, ""
    return a, "a better chain exists"


def solved(rows):
    """The solution of a square system of fractions, its right-hand side in the last column."""
    n = len(rows)
    for k in range(n):
        pivot = next(r for r in range(k, n) if rows[r][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for r in range(n):
            if r != k and rows[r][k] != 0:
                rows[r] = [x - rows[r][k] * y for x, y in zip(rows[r], rows[k], strict=True)]
    return [row[-1] for row in rows]


def assert_projected_chain(M):
    """M: nested lists of fractions."""
    E, m = len(M), len(M[0])
    a = in_time(chain_polytope, [[[float(x) for x in row] for row in table] for table in M])
    support = [(t, i, j) for t in range(E) for i in range(m) for j in range(m) if a[t, i, j] > 1e-9]
    exact, why_not = exact_chain(M, support)
    assert not why_not, (M, why_not)
    size = 1.0 + max(abs(float(x)) for table in M for row in table for x in row)
    assert max(abs(a[e] - float(x)) for e, x in exact.items()) <= 1e-12 * size, M
    assert (a >= 0.0).all() and abs(a[0].sum() - 1.0) <= 1e-14
    assert all(np.abs(p.sum(axis=0) - q.sum(axis=1)).max() <= 1e-15 for p, q in pairwise(a))


@pytest.mark.parametrize("seed", seeds(40, quick=4))
def test_chains(seed):
    rng = np.random.default_rng(1000 + seed)
    for _ in range(500):
        E, m = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        flat = rationals(rng, E * m * m)
        assert_projected_chain([[flat[(t * m + i) * m :][:m] for i in range(m)] for t in range(E)])


@pytest.mark.parametrize(
    "numerators",
    [
        [[[1, 1], [8, 3]]],
        [[[2, 7], [7, 2]]],
        [[[4, 4], [8, 4]], [[8, 4], [4, 4]]],
        [[[0, 1], [1, 0]], [[1, 0], [0, 1]], [[5, 5], [5, 5]]],
        [[[9]], [[-9]], [[0]]],
        [[[-1, -1, -1], [-1, -1, -1], [-1, -1, -1]], [[3, 3, 3], [3, 3, 3], [3, 3, 3]]],
    ],
)
def test_chains_in_ninths(numerators):
    assert_projected_chain([[[Fraction(k, 9) for k in row] for row in table] for table in numerators])


def test_kept_values_do_not_come_back():
    """tau of four values, two of which tie with it: by rounding it falls below them in every other round."""
    code = (
        "import numpy as np\n"
        "from fenchel.projections.chain_newton import simplex_threshold as f\n"
        "ninths = [[1, 1, 8, 3], [2, 2, 8, 3], [1, 4, 4, 9], [5, 5, 9, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8]]\n"
        "print([bool(abs(sum(max(k / 9 - f(np.array(v) / 9, 1.0), 0.0) for k in v) - 1.0) < 1e-14) for v in ninths])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["[True,", "True,", "True,", "True,", "True]"], done.stderr


@pytest.mark.parametrize("tiny", [1e-300, 5e-324])
def test_numbers_near_zero(tiny):
    for n in (1, 2, 3, 7):
        np.testing.assert_array_equal(in_time(simplex, np.full(n, tiny)), np.full(n, 1.0 / n))
        np.testing.assert_allclose(in_time(simplex, np.zeros(n), tiny), np.full(n, tiny / n), rtol=1e-12, atol=5e-324)
        np.testing.assert_array_equal(in_time(capped_simplex, np.full(n, tiny), tiny, 0.0), np.zeros(n))
        np.testing.assert_allclose(in_time(capped_simplex, np.zeros(n), 1.0, n * 1.0), np.ones(n))
        np.testing.assert_allclose(in_time(box_equality, np.full(n, tiny), -1.0, 1.0, 1.0, 0.0), np.zeros(n), atol=tiny)
        tau = in_time(simplex_threshold, np.zeros(n), tiny)
        assert 0.0 <= -tau <= tiny
        table = in_time(chain_polytope, np.full((2, n, n), tiny))
        np.testing.assert_allclose(table, 1.0 / n**2, rtol=1e-13)


@kernel
def steps_and_gaps(loss, t, g, y, out, gaps):
    """out = the dual steps; gaps = loss(x) + loss*(out) - <x, out> at x = t - g out: 0 if optimal."""
    for i in range(t.shape[0]):
        dual_prox(loss, t[i], g[i], y[i], out[i])
        x, product = np.empty(t.shape[1]), 0.0
        for j in range(x.size):
            x[j] = t[i, j] - g[i] * out[i, j]
            product += x[j] * out[i, j]
        gaps[i] = value(loss, x, y[i]) + conjugate(loss, out[i], y[i]) - product


@pytest.mark.parametrize("name", sorted({*LOSSES} - {"squares", "metric", "tree_softmax"}))
@pytest.mark.parametrize("n", [500, pytest.param(20_000, marks=pytest.mark.slow)])
def test_steps_of_losses_of_several_scores(name, n):
    """u = argmin loss*(u) - <t, u> + g/2 |u|^2 iff u is a subgradient at t - g u."""
    rng = np.random.default_rng(len(name))
    outputs = TREE.scores if name.startswith("tree") else 4
    t = np.array([floats(rationals(rng, outputs)) for _ in range(n)])
    g, y = rng.integers(1, 10, size=n) / 9, rng.integers(4, size=n)
    u, gaps = np.empty((n, outputs)), np.empty(n)
    steps_and_gaps(LOSSES[name], t, g, y, u, gaps)
    assert np.isfinite(u).all()
    assert np.abs(gaps).max() <= 1e-13
