"""Sums over pairs of documents: equal to the enumeration of pairs and rankings; derivatives, query weights, odd queries."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import fenchel
from fenchel import measures, metrics
from fenchel.errors import InputError
from fenchel.measures import NDCG, AreaPairs, MAPPairs, MRRPairs, NDCGPairs, level_pairs

PHI = {
    "squared_hinge": lambda m: 0.5 * np.maximum(1.0 - m, 0.0) ** 2,
    "hinge": lambda m: np.maximum(1.0 - m, 0.0),
    "logistic": lambda m: np.logaddexp(0.0, -m),
}
KINDS = [AreaPairs, MAPPairs, MRRPairs, NDCGPairs]
ALL = [kind(loss=loss) for kind in KINDS for loss in PHI]
ALL += [NDCGPairs(2), NDCGPairs(position_weights=(1.0, 0.4, 0.4)), NDCGPairs(2, "logistic", (1.0, 0.9, 0.8))]
SMOOTH = [measure for measure in ALL if measure.differentiable]


def rankings(y):
    """All orders of the documents, and those in which no relevance rises."""
    everything = [list(order) for order in itertools.permutations(range(y.size))]
    return everything, [order for order in everything if np.all(np.diff(y[order]) <= 0)]


def rank_weights(measure, n):
    if measure.position_weights is None:
        c = 1.0 / np.log2(np.arange(n) + 2.0)
    else:
        c = np.append(np.array(measure.position_weights), np.zeros(n))[:n]
    return np.where(np.arange(n) < (measure.k or n), c, 0.0)


def pair_weights(measure, y):
    """p_ij of one query (0 unless y_i > y_j), from the enumeration of its rankings; None if it does not count."""
    y = np.asarray(y, dtype=float)
    y = (y > 0).astype(float) if isinstance(measure, MAPPairs | MRRPairs) else y
    p = (y[:, None] > y[None, :]).astype(float)
    everything, ideal = rankings(y)
    if isinstance(measure, NDCGPairs):
        gain, c = 2.0**y - 1.0, rank_weights(measure, y.size)
        mean = np.zeros(y.size)
        for order in ideal:
            mean[order] += c / len(ideal)
        p *= (gain[:, None] - gain[None, :]) * (mean[:, None] - mean[None, :])
        quality = [c @ gain[order] / max(c @ np.sort(gain)[::-1], 1e-300) for order in everything]
    elif isinstance(measure, MAPPairs):
        quality = [
            np.mean([np.mean(y[order][: r + 1]) for r in np.flatnonzero(y[order])] or [1.0]) for order in everything
        ]
    elif isinstance(measure, MRRPairs):
        quality = [1.0 / (1.0 + np.argmax(y[order])) for order in everything]
    else:
        quality = [0.0]
    return None if not p.sum() > 0.0 else p / p.sum() * (1.0 - min(quality))


def weighted_pairs(measure, y, groups):
    """(i, j, p_ij divided by the number of queries that count) for all of them."""
    found, queries = [], 0
    for q in np.unique(groups):
        rows = np.flatnonzero(groups == q)
        p = pair_weights(measure, y[rows])
        if p is not None:
            i, j = np.nonzero(p)
            found.append((rows[i], rows[j], p[i, j]))
            queries += 1
    i, j, p = (np.concatenate(part) for part in zip(*found, strict=True))
    return i, j, p / queries


def brute(measure, z, y, groups):
    """The loss by its definition."""
    i, j, p = weighted_pairs(measure, y, groups)
    return p @ PHI[measure.loss](z[i] - z[j])


def instance(seed, n=22):
    """Queries of mixed sizes, rows not in order; tied scores and margins of exactly 1."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(6), [5, 1, 4, 5, 2, 5]))
    y = rng.integers(0, 4, n).astype(float)
    y[np.flatnonzero(groups == 3)[:2]] = [0.0, 3.0]
    return np.round(2.0 * rng.normal(size=n)) / 2.0, y, groups


@pytest.mark.parametrize("measure", ALL, ids=repr)
def test_value_equals_enumeration(measure):
    for seed in range(6):
        z, y, groups = instance(seed)
        value, slope = measure.evaluate(z, y, groups)
        assert value == pytest.approx(brute(measure, z, y, groups), rel=1e-12)
        for scores in (np.random.default_rng(seed).normal(size=z.size), 50.0 * z, -z):
            assert measure.evaluate(scores, y, groups)[0] >= value + slope @ (scores - z) - 1e-12


@pytest.mark.parametrize("measure", SMOOTH, ids=repr)
def test_slopes_and_second_derivatives_are_those_of_the_value(measure):
    rng = np.random.default_rng(1)
    z, y, groups = instance(1)
    z, d = z + 0.1 * rng.normal(size=z.size), rng.normal(size=z.size)
    h = 1e-6
    (high, up), (low, down) = (measure.evaluate(z + s * h * d, y, groups) for s in (1.0, -1.0))
    slope = measure.evaluate(z, y, groups)[1]
    product = measure.hessian_product(z, measure.prepare(y, groups))
    assert (high - low) / (2.0 * h) == pytest.approx(slope @ d, rel=1e-7, abs=1e-9)
    assert product(d) == pytest.approx((up - down) / (2.0 * h), rel=1e-5, abs=1e-8)
    matrix = np.array([product(e) for e in np.eye(z.size)])
    assert matrix == pytest.approx(matrix.T, abs=1e-15)
    assert np.linalg.eigvalsh(matrix).min() > -1e-12
    assert slope.sum() == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("loss", PHI)
def test_a_large_set_equals_the_sum_over_its_pairs(loss):
    rng = np.random.default_rng(2)
    y, z = rng.integers(0, 5, 900), np.round(3.0 * rng.normal(size=900), 2)
    i, j = np.nonzero(y[:, None] > y[None, :])
    value, slope = AreaPairs(loss).evaluate(z, y)
    assert value == pytest.approx(np.mean(PHI[loss](z[i] - z[j])), rel=1e-12)
    shifted, same = AreaPairs(loss).evaluate(z + 1e6, y)
    assert shifted == pytest.approx(value, rel=1e-8)
    if loss != "hinge":  # whose slope jumps where a margin is 1
        assert same == pytest.approx(slope, abs=1e-8)


def test_the_squared_hinge_keeps_its_digits_far_from_the_margin():
    """Scores of size 1e6 whose pairs fall short by 1e-6: the sums have no terms of opposite signs."""
    z = np.array([-1e6, -1e6 + 1.0 - 2.0**-20, 1e6, 1e6 + 1.0 - 2.0**-20])
    y = np.array([0.0, 1.0, 2.0, 3.0])
    assert AreaPairs().evaluate(z, y)[0] == pytest.approx(2.0 * 0.5 * 2.0**-40 / 6.0, rel=1e-12)


def test_two_levels_are_the_roc_area():
    z, y, _ = instance(5)
    z += 0.1 * np.random.default_rng(5).normal(size=z.size)
    signs = np.where(y > 1.0, 1.0, -1.0)
    for a, b in zip(AreaPairs("hinge").evaluate(z, signs), measures.ROCArea().evaluate(z, signs), strict=True):
        assert a == pytest.approx(b, abs=1e-14)


@pytest.mark.parametrize("measure", [AreaPairs(), NDCGPairs(10), MAPPairs(), MRRPairs()], ids=repr)
def test_noisy_relevances_still_move_the_weights(measure):
    """Where the bound of NDCG is minimal at w = 0, which ranks at random, sums over pairs learn."""
    rng = np.random.default_rng(3)
    X, qid = rng.normal(size=(1500, 5)), np.repeat(np.arange(75), 20)
    y = np.digitize(X[:, 0] + 2.0 * rng.normal(size=1500), [1.5, 3.0]).astype(float)
    bound = fenchel.solve(fenchel.Problem(X, y, loss=NDCG(10), alpha=0.1, groups=qid), tol=1e-4)
    pairs = fenchel.solve(fenchel.Problem(X, y, loss=measure, alpha=0.1, groups=qid), tol=1e-4)
    assert np.abs(bound.coef).max() < 1e-3
    assert pairs.coef[0] > 0.05
    assert metrics.ndcg(y, X @ pairs.coef, qid, 10) > metrics.ndcg(y, rng.normal(size=1500), qid, 10) + 0.05


# ---- weights of queries


@pytest.mark.parametrize("measure", ALL, ids=repr)
def test_a_weight_of_a_query_is_the_number_of_its_copies(measure):
    z, y, groups = instance(4)
    weight = np.array([3.0, 1.0, 0.0, 2.0, 1.0, 0.0])[groups]
    out = np.empty(z.size)
    value = measure.value_and_slope(z, measure.prepare(y, groups, weight), out)
    rows = np.concatenate([np.flatnonzero((groups == q) & (weight > copy)) for q in range(6) for copy in range(3)])
    names = np.concatenate(
        [np.full(np.sum((groups == q) & (weight > copy)), 10 * q + copy) for q in range(6) for copy in range(3)]
    )
    copies, slope = measure.evaluate(z[rows], y[rows], names)
    assert value == pytest.approx(copies, rel=1e-12)
    assert out == pytest.approx(np.bincount(rows, slope, minlength=z.size), abs=1e-14)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.arange(22.0), "all rows of a query must have the same weight"),
        (-np.ones(22), "at least 0"),
        (np.zeros(22), "0 for every row"),
        (np.full(22, np.nan), "NaN"),
        (np.ones(3), "one entry per row"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    _, y, groups = instance(4)
    with pytest.raises(InputError, match=message):
        NDCGPairs().prepare(y, groups, weights)


# ---- odd queries


@pytest.mark.parametrize("measure", ALL, ids=repr)
def test_queries_without_pairs_are_left_out(measure):
    z, y, groups = instance(0)
    value, slope = measure.evaluate(z, y, groups)
    more = np.array([7, 8, 8, 8, 9, 9])  # one document; three of one relevance; two that are not relevant
    again = measure.evaluate(np.append(z, np.arange(6.0)), np.append(y, [2, 1, 1, 1, 0, 0]), np.append(groups, more))
    assert again[0] == value
    assert np.array_equal(again[1], np.append(slope, np.zeros(6)))


@pytest.mark.parametrize("measure", ALL, ids=repr)
@pytest.mark.parametrize("y", [[2, 2, 2, 2], [0, 0, 0, 0]])
def test_nothing_to_rank_anywhere_is_refused(measure, y):
    for groups in ([1, 1, 1, 1], [1, 2, 3, 4]):
        with pytest.raises(InputError, match="nothing to rank"):
            measure.prepare(y, groups)


def test_weight_on_queries_without_pairs_alone_is_refused():
    with pytest.raises(InputError, match="nothing to rank"):
        NDCGPairs().prepare([1.0, 0.0, 1.0, 1.0], [1, 1, 2, 2], [0.0, 0.0, 1.0, 1.0])


def test_large_relevances_do_not_overflow():
    value, slope = NDCGPairs().evaluate([0.0, 1.0, 2.0], [1000, 999, 0], [1, 1, 1])
    assert np.isfinite(value)
    assert np.isfinite(slope).all()
    with pytest.raises(InputError, match="NDCG needs every relevance"):
        NDCGPairs().prepare([1001.0, 0.0], [1, 1])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: NDCGPairs().prepare([-1.0, 0.0], [1, 1]), "NDCG needs every relevance to be in"),
        (lambda: NDCGPairs().prepare([1.0, 0.0]), "groups is missing"),
        (lambda: NDCGPairs(0), "k must be"),
        (lambda: MAPPairs("huber"), "loss must be one of hinge, squared_hinge, logistic"),
        (lambda: NDCGPairs(position_weights=[1.0, 2.0]), "must not increase"),
        (lambda: NDCGPairs(position_weights=[0.0, 0.0]), "first one positive"),
        (lambda: NDCGPairs(position_weights=[1.0, -1.0]), "at least 0"),
        (lambda: NDCGPairs(position_weights=[0.1] * 9).prepare([2.0, 1.0, 1.0, 0.0], [1] * 4), "nothing to rank"),
        (lambda: NDCGPairs(position_weights=["a"]), "must be numbers"),
    ],
)
def test_bad_input_is_named(build, message):
    with pytest.raises(InputError, match=message):
        build()


def test_too_many_pairs_are_refused_where_each_is_visited():
    y = np.where(np.arange(40_000) % 2 == 0, 1.0, -1.0)
    with pytest.raises(InputError, match="4e\\+08 pairs of different targets"):
        AreaPairs("logistic").prepare(y)
    AreaPairs().prepare(y)


def test_too_many_levels_are_refused(monkeypatch):
    monkeypatch.setattr(level_pairs, "MAX_COSTS", 100)
    assert AreaPairs().evaluate(np.zeros(10), np.arange(10.0))[0] == pytest.approx(0.5)
    with pytest.raises(InputError, match="Round y to fewer levels"):
        AreaPairs().prepare(np.arange(11.0))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_not_finite_give_nan(bad):
    value, slope = NDCGPairs().evaluate([0.0, bad, 1.0], [1, 0, 2], [1, 1, 1])
    assert np.isnan(value)
    assert np.isnan(slope).all()


@pytest.mark.parametrize("measure", ALL, ids=repr)
def test_the_inequalities_hold_and_parameters_survive_a_file(measure):
    measures.check(measure, [0.0, 2.0, 1.0, 0.0, 3.0, 0.0], [1, 1, 1, 2, 2, 2])
    assert measures.from_parameters(measures.parameters(measure)) == measure
