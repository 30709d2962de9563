"""Projections: against exact rational arithmetic, Clarabel, the KKT conditions; ties, odd bounds, bad input."""

import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # `benchmarks` lives beside `tests`, it is not installed

from benchmarks.projection import by_sorting, problem

from fenchel import projections
from fenchel.errors import InputError
from fenchel.projections import blocks, box_equality, capped_simplex, multiplier, repair, simplex
from fenchel.projections.box_equality import project_box_equality

EPS = np.finfo(float).eps
INF = math.inf


def rational_projection(m, lower, upper, sigma, z, d):
    """The projection in exact arithmetic: walk the sorted breakpoints of F and interpolate."""
    rows = [tuple(map(Fraction, row[:1])) + row[1:] for row in zip(m, lower, upper, sigma, d, strict=True)]
    target = Fraction(float(z))

    def value(row, nu):
        x, low, high, s, d_i = row
        alpha = x + nu * Fraction(s) / Fraction(d_i) ** 2
        alpha = max(alpha, Fraction(low)) if low > -INF else alpha
        return min(alpha, Fraction(high)) if high < INF else alpha

    def total(nu):
        return sum(Fraction(row[3]) * value(row, nu) for row in rows)

    slopes = [(Fraction(s) / Fraction(d_i) ** 2, x, low, high) for x, low, high, s, d_i in rows if s != 0]
    breakpoints = sorted({(Fraction(b) - x) / g for g, x, low, high in slopes for b in (low, high) if math.isfinite(b)})
    breakpoints = [breakpoints[0] - 1, *breakpoints, breakpoints[-1] + 1] if breakpoints else [Fraction(0), Fraction(1)]
    sums = [total(nu) for nu in breakpoints]
    at = next((i for i in range(1, len(breakpoints) - 1) if sums[i] >= target), len(breakpoints) - 1)
    left, right = breakpoints[at - 1], breakpoints[at]
    rise = sums[at] - sums[at - 1]
    nu = left + (target - sums[at - 1]) * (right - left) / rise if rise else left
    return np.array([float(value(row, nu)) for row in rows])


def residual(alpha, sigma, z):
    sigma = np.broadcast_to(sigma, alpha.shape)
    exact = sum((Fraction(s) * Fraction(a) for s, a in zip(sigma, alpha, strict=True)), -Fraction(float(z)))
    return abs(float(exact)), float(np.sum(np.abs(sigma * alpha)))


def assert_feasible(alpha, lower, upper, sigma, z):
    assert np.all(alpha >= lower)
    assert np.all(alpha <= upper)
    error, size = residual(alpha, sigma, z)
    assert error <= 4 * EPS * size


def attainable(lower, upper, sigma, share):
    """A sum strictly between the least and the greatest attainable one (any if unbounded)."""
    finite_low = np.where(np.isfinite(lower), lower, np.minimum(np.where(np.isfinite(upper), upper, 0), 0) - 1)
    finite_high = np.where(np.isfinite(upper), upper, np.maximum(finite_low, 0) + 1)
    return float(np.sum(sigma * (finite_low + (finite_high - finite_low) * share)))


def random_problem(seed, n=None):
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(1, 12))
    m = rng.normal(size=n) * 3
    lower = rng.normal(size=n)
    upper = lower + rng.exponential(size=n) * (rng.random(n) > 0.2)
    sigma = rng.normal(size=n)
    if seed % 3 == 0:  # many ties
        m, lower, upper, sigma = np.round(m), np.zeros(n), np.ones(n), rng.choice([-1.0, 1.0], n)
    if seed % 4 == 1:
        sigma[rng.random(n) < 0.4] = 0.0
    if seed % 4 == 2:
        lower[rng.random(n) < 0.5] = -INF
        upper[rng.random(n) < 0.5] = INF
    d = rng.uniform(0.5, 2, n)
    return m, lower, upper, sigma, attainable(lower, upper, sigma, rng.random(n)), d


@pytest.mark.parametrize("seed", range(150))
def test_equals_exact_rational_arithmetic(seed):
    m, lower, upper, sigma, z, d = random_problem(seed)
    alpha = box_equality(m, lower, upper, sigma, z, d)
    expected = rational_projection(m, lower, upper, sigma, z, d)
    np.testing.assert_allclose(alpha, expected, rtol=1e-13, atol=1e-13)
    assert_feasible(alpha, lower, upper, sigma, z)


@pytest.mark.parametrize("seed", range(12))
def test_equals_clarabel(seed):
    m, lower, upper, sigma, z, d = random_problem(seed, n=20)
    x = cp.Variable(m.size)
    bounds = [x[np.isfinite(lower)] >= lower[np.isfinite(lower)], x[np.isfinite(upper)] <= upper[np.isfinite(upper)]]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(cp.multiply(d, x - m)) / 2), [*bounds, sigma @ x == z])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    alpha = box_equality(m, lower, upper, sigma, z, d)
    assert np.sum((d * (alpha - m)) ** 2) / 2 <= problem.value + 1e-8 * (1 + problem.value)
    np.testing.assert_allclose(alpha, np.asarray(x.value), atol=1e-4)


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e10, 1e13])
@pytest.mark.parametrize("seed", range(5))
def test_point_far_outside_the_box_loses_nothing(scale, seed):
    rng = np.random.default_rng(seed)
    n = 40
    m, y = rng.normal(size=n) * scale, rng.choice([-1.0, 1.0], n)
    alpha = box_equality(m, 0.0, 1 / n, y, 0.0)
    assert_feasible(alpha, 0.0, 1 / n, y, 0.0)
    expected = rational_projection(m, np.zeros(n), np.full(n, 1 / n), y, 0.0, np.ones(n))
    np.testing.assert_allclose(alpha, expected, rtol=1e-13, atol=4 * EPS * np.sum(alpha))


def test_kinks_that_collapse_in_double_precision():
    m = np.full(7, 1e13)
    y = np.array([1.0, 1, 1, -1, -1, -1, -1])
    alpha = box_equality(m, 0.0, 1e-3, y, 5e-4)
    assert_feasible(alpha, 0.0, 1e-3, y, 5e-4)
    expected = rational_projection(m, [0.0] * 7, [1e-3] * 7, y, 5e-4, [1.0] * 7)
    np.testing.assert_allclose(alpha, expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 5000, 100_000])
@pytest.mark.parametrize("scale", [1.0, 1e13])
def test_every_size_satisfies_kkt(n, scale):
    rng = np.random.default_rng(n)
    m, sigma = np.round(rng.normal(size=n), 1) * scale, rng.choice([-2.0, -1.0, 0.0, 1.0], n)
    sigma[0] = 1.0
    upper = rng.choice([0.0, 1.0, 3.0], n)
    z = float(np.sum(sigma * upper * rng.random(n)))
    out = np.empty(n)
    _, nu, _, _ = project_box_equality(m, np.zeros(1), upper, sigma, np.ones(1), z, out)
    assert np.all((out >= 0) & (out <= upper))
    assert abs(math.fsum([*(sigma * out), -z])) <= 4 * EPS * np.sum(np.abs(sigma * out))
    step = nu * sigma
    np.testing.assert_allclose(
        out, np.clip(m + step, 0, upper), atol=1e-12 + 8 * EPS * np.max(np.abs(step) + np.abs(m))
    )


def large_problem(seed, n):
    """Weights, ties that rounding pulls apart, equal and infinite bounds, zeros, far apart scales."""
    rng = np.random.default_rng(seed)
    m = rng.choice(rng.normal(size=3), n) if seed % 2 else rng.normal(size=n) * 10.0 ** rng.integers(0, 4)
    sigma = rng.choice(rng.normal(size=3), n) if seed % 3 else np.exp(3 * rng.normal(size=n)) * rng.choice([-1, 1], n)
    d = rng.choice([0.3, 0.7, 1.1], n) if seed % 2 else rng.uniform(0.5, 2, n)
    lower = rng.choice([-0.1, 0.0, 0.2], n)
    upper = lower + rng.choice([0.0, 0.1, 1.0], n)
    z = float(np.sum(sigma * (lower + (upper - lower) * rng.random(n))))
    if seed % 4 == 0:
        sigma[rng.random(n) < 0.3] = 0.0
        z = float(np.sum(sigma * (lower + (upper - lower) * rng.random(n))))
    if seed % 5 in (0, 1):
        lower[rng.random(n) < 0.3] = -INF
        upper[rng.random(n) < 0.3] = INF
    return m, lower, upper, sigma, z, d


@pytest.mark.parametrize("n", [300, 7999, 8000, 60_000])
@pytest.mark.parametrize("seed", range(12))
def test_equals_sorting_in_linear_work(seed, n):
    m, lower, upper, sigma, z, d = large_problem(seed, n)
    out = np.empty(n)
    status, nu, touched, _ = project_box_equality(m, lower, upper, sigma, 1 / d**2, z, out)
    assert status == 0
    assert touched <= 16 * n
    assert np.all((out >= lower) & (out <= upper))
    assert abs(math.fsum([*(sigma * out), -z])) <= 8 * EPS * np.sum(np.abs(sigma * out))
    expected = by_sorting(m, lower, upper, sigma, z, d)
    noise = 1e-12 * (np.abs(m) + np.abs(nu * sigma / d**2)) * n**0.5  # that of a plain sum over n breakpoints
    assert np.all(np.abs(out - expected) <= noise)


@pytest.mark.parametrize("arrays", [(), ("cap",), ("sigma",), ("sigma", "lower", "upper", "d")])
def test_benchmark_problems_equal_sorting(arrays):
    arguments = problem(20_000, arrays)
    np.testing.assert_allclose(box_equality(**arguments), by_sorting(**arguments), atol=1e-11)


def test_several_blocks_equal_exact_rational_arithmetic():
    m, lower, upper, sigma, z, d = large_problem(1, blocks.BLOCK + 5)
    alpha = box_equality(m, lower, upper, sigma, z, d)
    np.testing.assert_allclose(alpha, rational_projection(m, lower, upper, sigma, z, d), rtol=1e-12, atol=1e-12)
    assert_feasible(alpha, lower, upper, sigma, z)


@pytest.mark.parametrize("n", [500, 20_000])
def test_degenerate_problems_of_any_size(n):
    m = np.random.default_rng(n).normal(size=n)
    np.testing.assert_array_equal(box_equality(m, -1.0, 1.0, 0.0, 0.0), np.clip(m, -1, 1))
    np.testing.assert_array_equal(box_equality(m, 0.25, 0.25, 1.0, n / 4), np.full(n, 0.25))
    np.testing.assert_allclose(box_equality(m, -INF, INF, 1.0, 0.0), m - np.mean(m), atol=1e-12)
    np.testing.assert_allclose(box_equality(np.ones(n), 0.0, INF, 1.0, 1.0), np.full(n, 1 / n), rtol=1e-15)
    one = np.where(np.arange(n) == n // 2, INF, 0.0)  # only one coordinate can move, and only up
    np.testing.assert_allclose(box_equality(m, 0.0, one, 1.0, 5.0), np.where(one > 0, 5.0, 0.0))
    with pytest.raises(InputError, match="no point of the box"):
        box_equality(m, 0.0, 1.0, 1.0, n + 1.0)
    with pytest.raises(InputError, match="no point of the box"):
        box_equality(m, 0.0, INF, 1.0, -1.0)
    with pytest.raises(InputError, match=rf"m\[{n - 1}\] must be finite"):
        box_equality(np.append(m[1:], math.nan), 0.0, 1.0, 1.0, 1.0)
    with pytest.raises(InputError, match="the box is empty"):
        box_equality(m, np.where(m == m[7], 2.0, 0.0), 1.0, 1.0, 1.0)


def test_result_does_not_depend_on_chance():
    arguments = problem(50_000, ("sigma", "lower", "upper", "d"))
    np.testing.assert_array_equal(box_equality(**arguments), box_equality(**arguments))


numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-10, 10, width=32))


@st.composite
def problems(draw):
    n = draw(st.integers(1, 8))

    def column(of):
        return np.array(draw(st.lists(of, min_size=n, max_size=n)))

    lower = column(numbers)
    upper = lower + column(st.one_of(st.just(0.0), st.floats(0, 5, width=32)))
    inside = lower + (upper - lower) * column(st.floats(0, 1))
    sigma = column(st.one_of(st.sampled_from([-1.0, 0.0, 1.0]), st.floats(0.125, 4), st.floats(-4, -0.125)))
    free_low, free_high = column(st.booleans()), column(st.booleans())
    m, d = column(numbers), column(st.floats(0.25, 4))
    z = math.fsum(sigma * np.clip(inside, lower, upper))
    return m, np.where(free_low, -INF, lower), np.where(free_high, INF, upper), sigma, z, d


@settings(max_examples=300, deadline=None)
@given(problems())
def test_kkt_conditions(problem):
    m, lower, upper, sigma, z, d = problem
    alpha = box_equality(m, lower, upper, sigma, z, d)
    assert np.all((alpha >= lower) & (alpha <= upper))
    error, size = residual(alpha, sigma, z)
    saturated = np.all(
        (alpha == lower) | (alpha == upper) | (sigma == 0)
    )  # then z itself may be off the range by rounding
    assert error <= (16 if saturated else 4) * EPS * (size + abs(z) + EPS)
    np.testing.assert_array_equal(alpha[sigma == 0], np.clip(m, lower, upper)[sigma == 0])
    live = sigma != 0
    with np.errstate(all="ignore"):
        nu = ((alpha - m) * d**2 / sigma)[live]  # the multiplier each coordinate would like
    positive = sigma[live] > 0
    at_low, at_high = (alpha == lower)[live], (alpha == upper)[live]
    # clip(m + nu g): a coordinate at the low end of sigma alpha allows any smaller nu, at the high end any larger one
    may_fall = np.where(positive, at_low, at_high)
    may_rise = np.where(positive, at_high, at_low)
    least = np.max(nu[~may_fall], initial=-INF)
    greatest = np.min(nu[~may_rise], initial=INF)
    assert least <= greatest + 1e-9


@pytest.mark.parametrize("end", ["least", "greatest"])
def test_all_saturated(end):
    rng = np.random.default_rng(3)
    sigma = rng.normal(size=1000)
    lower, upper = -rng.random(1000), rng.random(1000)
    expected = np.where((sigma > 0) == (end == "greatest"), upper, lower)
    alpha = box_equality(rng.normal(size=1000), lower, upper, sigma, float(np.sum(sigma * expected)))
    np.testing.assert_allclose(alpha, expected, atol=1e-12)


def test_one_variable_and_none():
    assert box_equality([5.0], -1.0, 3.0, 2.0, 4.0) == [2.0]
    assert box_equality([5.0], -INF, INF, -1.0, 4.0) == [-4.0]
    assert box_equality([5.0], 2.0, 2.0, 1.0, 2.0) == [2.0]
    assert box_equality([5.0], 0.0, 3.0, 0.0, 0.0) == [3.0]
    assert box_equality([], 0.0, 1.0, 1.0, 0.0).size == 0


def test_one_heavy_coordinate_that_no_sample_sees():
    rng = np.random.default_rng(5)
    n = 200_000
    m, sigma = rng.normal(size=n), np.ones(n)
    sigma[77_777] = 1e9
    out = np.empty(n)
    _, _, touched, _ = project_box_equality(m, np.full(1, -1.0), np.ones(1), sigma, np.ones(1), 1e5, out)
    assert abs(math.fsum([*(sigma * out), -1e5])) <= 4 * EPS * np.sum(np.abs(sigma * out))
    assert touched <= 10 * n


@pytest.mark.parametrize("kind", ["normal", "ties", "heavy", "saturated", "simplex"])
def test_work_grows_linearly(kind):
    """Coordinates touched per variable by the search stay bounded: the size-free form of the timing promise."""
    per_variable = []
    for n in (20_000, 40_000, 80_000, 160_000):
        rng = np.random.default_rng(n)
        m = {"ties": np.round(rng.normal(size=n)), "heavy": rng.standard_cauchy(n) ** 3}.get(kind, rng.normal(size=n))
        sigma = np.ones(1) if kind == "simplex" else rng.choice([-1.0, 1.0], n)
        upper = np.full(1, INF if kind == "simplex" else 1.0)
        z = {"simplex": 1.0, "saturated": float(np.sum(sigma == 1))}.get(kind, 0.0)
        out = np.empty(n)
        per_variable.append(project_box_equality(m, np.zeros(1), upper, sigma, np.ones(1), z, out)[2] / n)
    assert max(per_variable) <= 6


def test_compiled_equals_python(monkeypatch):
    for seed, n in enumerate([1, 3, 200]):
        m, lower, upper, sigma, z, d = random_problem(seed, n)
        compiled, plain = np.empty(n), np.empty(n)
        a = project_box_equality(m, lower, upper, sigma, 1 / d**2, z, compiled)
        with monkeypatch.context() as patch, np.errstate(all="ignore"):
            patch.setattr(multiplier, "narrow", multiplier.narrow.py_func)
            patch.setattr(repair, "move_blocks", repair.move_blocks.py_func)
            b = project_box_equality(m, lower, upper, sigma, 1 / d**2, z, plain)
        assert a == b
        np.testing.assert_array_equal(compiled, plain)


def test_compiled_blocks_equal_python():
    rng = np.random.default_rng(11)
    m, s, w = rng.normal(size=(3, 100))
    box = (m, m - 1, m + rng.random(100), s, np.abs(w))

    def both(function, *arguments):
        """Results and changed arguments, compiled and not."""
        copies = [[np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2)]
        ours, plain = function(*copies[0]), function.py_func(*copies[1])
        if ours is not None:
            np.testing.assert_allclose(ours, plain, rtol=1e-12)
        for one, other in zip(*copies, strict=True):
            np.testing.assert_array_equal(one, other)
        return copies[0]

    keep, picked, rows = np.empty(100, np.uint8), np.zeros(101, np.uint64), np.zeros((4, 120))
    keep = both(multiplier.scan_block, *box, -0.5, 0.4, keep)[-1]
    assert 0 < np.sum(keep) < 100
    rows = both(multiplier.keep_block, *box, keep, picked, rows, 7)[-2]
    both(multiplier.scan, *box, -0.5, 0.4, 0, np.ones(4), keep, picked, rows)
    both(multiplier.move_decided, rows[:, 7:].copy(), int(np.sum(keep)), -0.1, 0.2, np.zeros(4))
    both(multiplier.breakpoint_inside, rows, 8, -0.5, 0.4)
    x = both(repair.shift_block, m, s, w, 0.3, 1e-17, np.empty(100))[-1]
    both(repair.clip_block, x, *box[1:4], np.empty(100))
    both(repair.add_compensated, x, np.zeros(repair.LANES), np.ones(repair.LANES))
    both(repair.free_slope, x, *box[1:])
    both(blocks.inverse_squares, s, np.empty(100))


def test_shift_is_rounded_once_and_sums_are_compensated():
    rng = np.random.default_rng(2)
    m, s, w = rng.normal(size=50) * 1e13, rng.normal(size=50), np.ones(50)
    nu = -1.7e13
    out = np.empty(50)
    repair.shift_block(m, s, w, nu, 0.0, out)
    exact = [float(Fraction(a) + Fraction(nu) * Fraction(b)) for a, b in zip(m, s, strict=True)]
    np.testing.assert_allclose(out, exact, rtol=2 * EPS)
    values = rng.normal(size=3000) * 10.0 ** rng.integers(-8, 8, 3000)
    high, low = np.zeros(repair.LANES), np.zeros(repair.LANES)
    repair.add_compensated(values, high, low)
    assert abs(repair.combine(high, low, 0.0) - math.fsum(values)) <= EPS * abs(math.fsum(values))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("at_most", [False, True])
def test_simplices_equal_clarabel(seed, at_most):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 15))
    m, weights, cap = rng.normal(size=n), rng.uniform(0.5, 2, n), rng.uniform(0.2, 1, n)
    total = 0.7 * float(weights @ cap)
    for bound, alpha in (
        (cap, capped_simplex(m, cap, total, weights, at_most=at_most)),
        (np.full(n, 1e3), simplex(m, total, weights, at_most=at_most)),
    ):
        x = cp.Variable(n)
        line = weights @ x <= total if at_most else weights @ x == total
        cp.Problem(cp.Minimize(cp.sum_squares(x - m)), [x >= 0, x <= bound, line]).solve(solver="CLARABEL")
        np.testing.assert_allclose(alpha, np.asarray(x.value), atol=2e-5)
        assert np.all((alpha >= 0) & (alpha <= bound))
        assert (
            weights @ alpha <= total * (1 + 8 * EPS) if at_most else weights @ alpha == pytest.approx(total, rel=1e-14)
        )


def test_simplex_equals_the_sorting_formula():
    rng = np.random.default_rng(4)
    for n in (1, 2, 10, 3000):
        m = rng.normal(size=n) * 2
        falling = np.sort(m)[::-1]
        shift = (np.cumsum(falling) - 1) / np.arange(1, n + 1)
        k = np.flatnonzero(falling > shift)[-1]
        np.testing.assert_allclose(simplex(m), np.maximum(m - shift[k], 0), atol=1e-13)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.0, 0, 0], 0.0, 1.0, 1.0, 3.5), ["from 0 to 3", "z = 3.5"]),
        (([0.0, 0, 0], 0.0, 1.0, [1.0, -1, 1], -1.5), ["from -1 to 2", "z = -1.5"]),
        (([0.0, 0], 0.0, INF, 1.0, -1e-3), ["from 0 to inf"]),
        (([0.0, 0], 0.0, 1.0, 0.0, 0.5), ["from 0 to 0"]),
        (([0.0, 0, 0], [0.0, 2, 2], 1.0, 1.0, 0.5), ["lower[1] = 2.0", "upper[1] = 1.0"]),
        (([0.0, math.nan], 0.0, 1.0, 1.0, 0.5), ["m[1]", "nan"]),
        (([0.0, 0], [0.0, math.nan], 1.0, 1.0, 0.5), ["lower[1]", "nan"]),
        (([0.0, 0], 0.0, math.nan, 1.0, 0.5), ["upper", "nan"]),
        (([0.0, 0], 0.0, -INF, 1.0, 0.5), ["upper"]),
        (([0.0, 0], 0.0, 1.0, [1.0, math.nan], 0.5), ["sigma[1]", "nan"]),
        (([0.0, 0], 0.0, 1.0, 1.0, math.nan), ["z must be finite"]),
        (([0.0, 0], 0.0, 1.0, 1.0, 0.5, [1.0, 0.0]), ["d[1]", "positive"]),
        (([0.0, 0], [0.0, 0, 0], 1.0, 1.0, 0.5), ["lower has 3 entries", "m has 2"]),
        (([[0.0, 0]], 0.0, 1.0, 1.0, 0.5), ["m must have one dimension"]),
        (([], 0.0, 1.0, 1.0, 0.5), ["not attainable"]),
        ((["a"], 0.0, 1.0, 1.0, 0.5), ["m must be an array of numbers"]),
    ],
)
def test_bad_input_is_named(arguments, words):
    with pytest.raises(InputError) as caught:
        box_equality(*arguments)
    for word in words:
        assert word in str(caught.value)


def test_bad_simplex_input_is_named():
    with pytest.raises(InputError, match=r"weights\[1\] must be positive"):
        simplex([1.0, 2.0], weights=[1.0, 0.0])
    with pytest.raises(InputError, match="total must be finite and not negative"):
        simplex([1.0, 2.0], total=-1.0)
    with pytest.raises(InputError, match="from 0 to 1"):
        capped_simplex([1.0, 2.0], cap=0.5, total=1.5)
    with pytest.raises(InputError, match="upper has 3 entries"):
        capped_simplex([1.0, 2.0], cap=[1.0, 1.0, 1.0], at_most=True)


def test_arguments_are_left_alone_and_may_be_read_only():
    m = np.array([0.5, 2.0, -1.0])
    m.flags.writeable = False
    np.testing.assert_allclose(simplex(m), [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(m, [0.5, 2.0, -1.0])
    np.testing.assert_allclose(simplex(np.arange(6)[::2]), [0.0, 0.0, 1.0])


def test_public_names_are_sorted_and_numba_stays_out_of_the_import():
    assert projections.__all__ == sorted(projections.__all__)
    assert all(callable(getattr(projections, name)) for name in projections.__all__)
    code = "import sys, fenchel.projections; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
