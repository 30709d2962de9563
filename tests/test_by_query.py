"""Means over queries as sums over blocks of rows: the value and the slope of the definition, and the same bits everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import fenchel
from fenchel.data.write_store import RowBlock, write_store
from fenchel.engines import Local
from fenchel.engines.local import cut
from fenchel.measures.queries import NothingToRank
from fenchel.oracles import oracle_of
from fenchel.solvers.newton_cg.measure_passes import MeasurePasses, QueryPasses

N, D = 12_000, 25  # two blocks
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D))
SIZES = RNG.integers(1, 40, N)
QUERIES = np.repeat(np.arange(N), SIZES)[:N]
RELEVANCE = np.digitize(X[:, 0] + 0.2 * RNG.standard_normal(N), [-0.5, 1.0]) * 1.0
RELEVANCE[QUERIES < 30] = 0.0  # the first block of FINE has nothing to rank
WEIGHTS = RNG.integers(0, 3, N)[QUERIES] * 0.5
STARTS = np.flatnonzero(np.diff(QUERIES)) + 1
FINE = (0, int(STARTS[20]), int(STARTS[300]), N)
MEASURES = {
    "ndcg": {}, "mrr": {}, "winner_takes_all": {}, "ndcg_pairs": {"sample_weight": WEIGHTS}, "map_pairs": {},
    "roc_area": {}, "area_pairs": {"sample_weight": WEIGHTS}, "f_beta": {}, "break_even": {}, "ordinal": {},
}  # fmt: skip


def problem(name, order=slice(None), **more):
    y = np.where(RELEVANCE > 0, 1.0, -1.0) if name in ("roc_area", "area_pairs", "f_beta") else RELEVANCE
    options = {key: value[order] for key, value in MEASURES[name].items()}
    return fenchel.Problem(X[order], y[order], loss=name, alpha=0.01, **{"groups": QUERIES[order], **options, **more})


@pytest.mark.parametrize("name", MEASURES)
def test_the_sum_over_blocks_is_the_mean_over_queries(name):
    p, w, slope = problem(name), RNG.standard_normal(D), np.empty(N)
    value = p.loss.value_and_slope(X @ w, p.prepared, slope)
    for engine in (Local(1), Local(2), Local(2, FINE)):
        oracle = oracle_of(p, engine)
        assert oracle.is_by_query and len(oracle.blocks) > 1
        found = oracle.risk(w)
        assert found[0] == pytest.approx(value, rel=1e-12)
        assert found[1] == pytest.approx(X.T @ slope, rel=1e-9, abs=1e-12)
    if name != "winner_takes_all":  # It also has queries without a relevant document.
        assert oracle.query_blocks[0].queries.share == 0.0


@pytest.mark.parametrize(("name", "solver"), [("ndcg", "bundle"), ("ndcg_pairs", "newton_cg"), ("mrr", "bundle")])
def test_threads_and_rows_on_disk_give_the_same_bits(name, solver, tmp_path):
    p, asked = problem(name, sample_weight=None), {"tol": 1e-12, "max_iter": 4}
    one = fenchel.solve(p, solver, engine=Local(1), **asked)
    assert np.any(one.coef)
    assert fenchel.solve(p, solver, engine=Local(2), **asked).coef.tobytes() == one.coef.tobytes()
    folder = write_store(tmp_path / "rows", [RowBlock(X, p.y, QUERIES)])
    stored = fenchel.Problem(fenchel.open(folder), loss=name, alpha=0.01)
    assert fenchel.solve(stored, solver, engine=Local(2), **asked).coef.tobytes() == one.coef.tobytes()


def test_newton_by_query_asks_the_same_as_with_all_scores_in_one_place():
    p, w, v = problem("ndcg_pairs"), 0.1 * RNG.standard_normal(D), RNG.standard_normal(D)
    answers = []
    for passes in (QueryPasses(oracle_of(p, Local(1, FINE))), MeasurePasses(oracle_of(p, Local(1, FINE)))):
        first, second = passes.evaluate(w, 0.0), passes.evaluate(0.5 * w, 0.0)
        line = passes.line(first, second)
        sums = first.value, *first.gradient, *passes.along(line, 0.3), *passes.product(second, v, 0.0)
        answers.append(np.array([*sums, *passes.gram(second).ravel()]))
    assert answers[0] == pytest.approx(answers[1], rel=1e-9, abs=1e-12)


def test_queries_whose_rows_are_apart_are_brought_to_one_thread():
    order = RNG.permutation(N)
    apart, together, w = problem("ndcg", order), problem("ndcg"), RNG.standard_normal(D)
    oracle = oracle_of(apart, Local(2))
    assert not oracle.is_by_query
    assert oracle.risk(w)[0] == pytest.approx(oracle_of(together, Local(2)).risk(w)[0], rel=1e-12)
    assert not oracle_of(together, Local(2, (0, int(STARTS[9]) + 1, N))).is_by_query
    one_set = fenchel.Problem(X, np.where(X[:, 0] > 0, 1.0, -1.0), loss="roc_area", alpha=0.01)
    assert not oracle_of(one_set, Local(2)).is_by_query


def test_blocks_begin_where_the_nearest_query_does():
    p = problem("ndcg")
    wanted, found = cut(p.rows, N, D), Local().edges(p)
    starts = np.array([0, *STARTS, N])
    assert found == sorted({int(starts[np.argmin(np.abs(starts - edge))]) for edge in wanted})
    assert found[0] == 0 and found[-1] == N
    one_query = fenchel.Problem(X, RELEVANCE, loss="ndcg", alpha=0.01, groups=np.zeros(N))
    assert list(Local().edges(one_query)) == [0, N]


def test_a_measure_of_ones_own_is_evaluated_as_a_whole():
    class Own(fenchel.measures.NDCGPairs):
        def value_and_slope(self, z, prepared, out):
            value = super().value_and_slope(z, prepared, out)
            out *= 2.0
            return 2.0 * value

    p = fenchel.Problem(X[2000:2200], RELEVANCE[2000:2200], loss=Own(), alpha=0.01, groups=QUERIES[2000:2200])
    assert not oracle_of(p, Local(2)).is_by_query


# The relevances of queries in which there is little to rank, or nothing; the last one has weight 0 where there are weights.
ODD = {
    "one": [2.0],
    "none": [0.0],
    "equal": [1.0, 1.0, 1.0],
    "zero": [0.0, 0.0],
    "plain": [2.0, 0.0, 1.0],
    "off": [1.0, 0.0],
}
SMALL = {**MEASURES, "eru": {}, "precision_at_k": {}, "recall_at_k": {}, "mrr_pairs": {"sample_weight": WEIGHTS}}


def small(name):
    """The measure, and all queries of `ODD` in one vector: relevances, queries, weights, scores."""
    makers = {
        "eru": lambda: fenchel.measures.ERU(neutral=0, half_life=2),
        "precision_at_k": lambda: fenchel.measures.PrecisionAtK(2),
        "recall_at_k": lambda: fenchel.measures.RecallAtK(2),
    }
    measure = makers[name]() if name in makers else fenchel.measures.make(name)
    y = np.concatenate([*ODD.values()])
    y = np.where(y > 0, 1.0, -1.0) if measure.signs_only else y
    queries = np.repeat(np.arange(len(ODD)), [len(found) for found in ODD.values()])
    weights = (1.0 + queries) * (queries < len(ODD) - 1) if "sample_weight" in SMALL[name] else None
    return measure, y, queries, weights, np.random.default_rng(1).standard_normal(y.size)


@pytest.mark.parametrize("name", SMALL)
def test_odd_queries_count_as_they_would_alone_or_not_at_all(name):
    """A query of one document, equal relevances, nothing relevant, weight 0: the loss is the mean of what each query has alone,
    over those in which there is something to rank."""
    measure, y, queries, weights, z = small(name)
    prepared, slope = measure.prepare(y, queries, weights), np.empty(z.size)
    value = measure.value_and_slope(z, prepared, slope)
    total, mass, expected, left_out = 0.0, 0.0, np.zeros(z.size), []
    for q, label in enumerate(ODD):
        at = queries == q
        try:
            alone = measure.prepare(y[at], queries[at], None if weights is None else weights[at])
        except NothingToRank:
            alone = None
        weight = measure.mass(alone) if alone is not None else 0.0
        if not weight:
            left_out.append(label)
            assert not slope[at].any()
            continue
        own = np.empty(at.sum())
        total += weight * measure.value_and_slope(z[at], alone, own)
        mass, expected[at] = mass + weight, weight * own
    assert mass == measure.mass(prepared)
    assert value == pytest.approx(total / mass, rel=1e-12)
    assert slope == pytest.approx(expected / mass, rel=1e-12, abs=1e-15)
    assert "plain" not in left_out
    assert ("off" in left_out) == (weights is not None)
    if name.endswith("pairs") or name in ("roc_area", "f_beta", "ordinal"):
        assert {"one", "none", "equal", "zero"} <= set(left_out)


@pytest.mark.parametrize("name", SMALL)
def test_queries_without_anything_to_rank_are_an_error(name):
    measure, y, queries, _, _ = small(name)
    for kept in ([1], [3], [1, 3]):
        at = np.isin(queries, kept)
        try:
            prepared = measure.prepare(y[at], queries[at], None)
        except NothingToRank:  # An error of its own, which a block of rows can tell from bad targets.
            continue
        out = np.ones(at.sum())
        value = measure.value_and_slope(np.arange(at.sum()) * 1.0, prepared, out)
        assert name in ("roc_area", "ordinal", "winner_takes_all", "eru")
        assert value == 0.0 or name == "winner_takes_all"
