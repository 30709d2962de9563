"""Proximal maps that project or pool, at tied rationals: balls, simplex, sorted and fused penalties against exact fractions."""

from fractions import Fraction
from itertools import groupby

import numpy as np
import pytest

from fenchel.regularizers import L1, Bounded, L1Ball, Simplex, Slope, TotalVariation
from test_projections_ties import exact_box, floats, rationals, seeds


def signed(size, x):
    """max(size, 0) with the sign of x."""
    return max(size, Fraction(0)) * (1 if x >= 0 else -1)


def exact_simplex(m, total):
    n = len(m)
    return exact_box(m, [Fraction(0)] * n, [None] * n, [Fraction(1)] * n, total, [Fraction(1)] * n)


def exact_ball(m, radius):
    size = [abs(x) for x in m]
    return m if sum(size) <= radius else [signed(x, y) for x, y in zip(exact_simplex(size, radius), m, strict=True)]


def exact_sorted(m, thresholds):
    """Pooling of the sorted sizes less the thresholds, where they would rise."""
    order, pools = sorted(range(len(m)), key=lambda j: -abs(m[j])), []
    for j, threshold in zip(order, thresholds, strict=True):
        pools.append((abs(m[j]) - threshold, 1))
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] <= pools[-1][0] * pools[-2][1]:
            (one, count), (two, more) = pools.pop(), pools.pop()
            pools.append((one + two, count + more))
    means = [total / count for total, count in pools for _ in range(count)]
    found = dict(zip(order, means, strict=True))
    return [signed(found[j], m[j]) for j in range(len(m))]


def assert_fused(x, m, strength):
    """x is the prox of strength sum |x_j+1 - x_j| at m iff m - x = D'u with |u| <= strength, at that bound where x jumps.

    The levels are recomputed from the places and signs of the jumps of x, in fractions; then the conditions are exact.
    """
    tolerance = 1e-9 * (1.0 + float(np.max(np.abs(x))))
    numbers = np.concatenate([[0], np.cumsum(np.abs(np.diff(x)) > tolerance)])
    ranges = [[j for j, _ in group] for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1])]
    signs = [0, *(1 if x[r[-1] + 1] > x[r[-1]] else -1 for r in ranges[:-1]), 0]
    level = {}
    for k, r in enumerate(ranges):
        total = sum((m[j] for j in r), Fraction(0)) + strength * (signs[k + 1] - signs[k])
        level |= dict.fromkeys(r, total / len(r))
    u = Fraction(0)
    for j in range(len(m) - 1):
        u += level[j] - m[j]
        assert abs(u) <= strength
        if level[j] != level[j + 1]:
            assert u == (strength if level[j + 1] > level[j] else -strength)
    np.testing.assert_allclose(
        x, floats([level[j] for j in range(len(m))]), rtol=0.0, atol=1e-14 * (1e5 * tolerance + 1)
    )
    return level


def cases(seed, count):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(1, 9))
        m, strength = rationals(rng, n), Fraction(int(rng.integers(1, 10)), int(rng.integers(1, 10)))
        yield rng, m, strength, 4e-15 * (1.0 + max(abs(float(x)) for x in (*m, strength)))


@pytest.mark.parametrize("seed", seeds(20))
def test_sets_of_bounded_sum(seed):
    for _, m, total, error in cases(100 + seed, 1000):
        found = Simplex(float(total)).prox(floats(m), 1.0)
        np.testing.assert_allclose(found, floats(exact_simplex(m, total)), rtol=0.0, atol=error)
        found = L1Ball(float(total)).prox(floats(m), 1.0)
        np.testing.assert_allclose(found, floats(exact_ball(m, total)), rtol=0.0, atol=error)


@pytest.mark.parametrize("seed", seeds(20))
def test_sorted_sizes(seed):
    for rng, m, step, error in cases(200 + seed, 1000):
        weights = sorted((abs(x) for x in rationals(rng, len(m))), reverse=True)
        weights[0] = max(weights[0], Fraction(1, 9))
        found = Slope(1.0, floats(weights)).prox(floats(m), float(step))
        exact = exact_sorted(m, [step * c for c in weights])
        np.testing.assert_allclose(found, floats(exact), rtol=0.0, atol=40.0 * error)


@pytest.mark.parametrize("seed", seeds(20))
def test_fused_levels(seed):
    for rng, m, strength, error in cases(300 + seed, 1000):
        level = assert_fused(TotalVariation(float(strength)).prox(floats(m), 1.0), m, strength)
        l1 = Fraction(int(rng.integers(1, 5)), 9)
        found = TotalVariation(float(strength), l1=float(l1)).prox(floats(m), 1.0)
        exact = [signed(abs(level[j]) - strength * l1, level[j]) for j in range(len(m))]
        np.testing.assert_allclose(found, floats(exact), rtol=0.0, atol=4.0 * error)


@pytest.mark.parametrize("seed", seeds(20))
def test_boxes_with_a_threshold(seed):
    for rng, m, step, error in cases(400 + seed, 1000):
        ends = [rationals(rng, len(m)), rationals(rng, len(m))]
        low, high = list(map(min, *ends)), list(map(max, *ends))
        found = Bounded(L1(1.0), floats(low), floats(high)).prox(floats(m), float(step))
        exact = [min(max(signed(abs(x) - step, x), a), b) for x, a, b in zip(m, low, high, strict=True)]
        np.testing.assert_allclose(found, floats(exact), rtol=0.0, atol=error)
