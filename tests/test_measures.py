"""Measures: against enumeration of all pairs, labelings and rankings; convexity, bounds, symmetry, odd cases, bad input."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import fbeta_score, roc_auc_score

from fenchel import metrics
from fenchel.errors import InputError, UnknownNameError
from fenchel.measures import (
    ERU,
    MEASURES,
    MRR,
    NDCG,
    BreakEven,
    FBeta,
    Measure,
    Ordinal,
    PairMeasure,
    PrecisionAtK,
    RecallAtK,
    ROCArea,
    WinnerTakesAll,
    from_parameters,
    make,
    parameters,
)
from fenchel.measures.order import LONG, kth_smallest, merge_sort, radix_sort, sort_stably
from fenchel.measures.sorted_ranking import sorted_ranking

COST = [[0, 1, 4, 9], [1, 0, 2, 3], [4, 2, 0, 0.5], [9, 3, 0.5, 0]]
BINARY = [
    ROCArea(),
    ROCArea(0.5),
    FBeta(),
    FBeta(2.0, scale=0.3),
    FBeta(0.5, scale=1.0),
    PrecisionAtK(2),
    PrecisionAtK(4, scale=1.0),
    RecallAtK(2),
    RecallAtK(5, scale=0.2),
    BreakEven(),
    BreakEven(scale=1.0),
]
RANKING = [NDCG(), NDCG(3), NDCG(decay=0.25), NDCG(2, decay=0.25), ERU(1, 2.5), ERU(0.5, 4, decay=0.25)]
RANKING += [WinnerTakesAll(), WinnerTakesAll(decay=0.25), MRR(), MRR(decay=0.25)]
ORDINAL = [Ordinal(), Ordinal(COST)]
ALL = BINARY + RANKING + ORDINAL


def names(measures):
    return [repr(measure).split("(cost=((")[0] for measure in measures]


def instance(measure, rng, n=None, ties=True):
    """Targets and scores that suit the measure; scores are often tied, among each other and across the margin."""
    n = n or int(rng.integers(5, 8))
    z = rng.normal(size=n) * rng.choice([0.3, 1.0, 3.0])
    if ties and rng.random() < 0.6:
        z = np.round(2 * z) / 2
    if measure in BINARY:
        y = rng.choice([-1, 1], n)
        y[rng.permutation(n)[:2]] = [-1, 1]
    else:
        y = rng.integers(0, 4, n)
        y[rng.permutation(n)[:2]] = [0, 3]
    return y, z


def evaluate(measure, z, y):
    return measure.evaluate(z, y, np.zeros(len(y)) if measure.needs_groups else None)


# brute force: every measure is the max over a finite set of (slope, constant), enumerated here from the definitions


def contingency(y, chosen, measure):
    a, b, c = np.sum(chosen & (y > 0)), np.sum(chosen & (y < 0)), np.sum(~chosen & (y > 0))
    if isinstance(measure, FBeta):
        return 1 - (1 + measure.beta**2) * a / ((1 + measure.beta**2) * a + b + measure.beta**2 * c)
    return 1 - a / (a + b) if not isinstance(measure, RecallAtK) else 1 - a / (a + c)


def labelings(measure, y):
    n, positives = y.size, int(np.sum(y > 0))
    all_chosen = [np.array(chosen) for chosen in itertools.product([False, True], repeat=n)]
    if isinstance(measure, FBeta):
        scale = measure.scale or 0.5 / n
        reference = y
    else:
        k = measure.k if hasattr(measure, "k") else positives
        all_chosen = [chosen for chosen in all_chosen if chosen.sum() == k]
        most = max(np.sum(chosen & (y > 0)) for chosen in all_chosen)
        optimal = [chosen for chosen in all_chosen if np.sum(chosen & (y > 0)) == most]
        reference = np.mean([2.0 * chosen - 1 for chosen in optimal], axis=0)
        scale = measure.scale or 0.5 / (positives if isinstance(measure, RecallAtK | BreakEven) else k)
    for chosen in all_chosen:
        yield scale * (2.0 * chosen - 1 - reference), contingency(y, chosen, measure)


def pairs(measure, z, y):
    """The value of ROCArea and Ordinal as the sum that defines it."""
    if isinstance(measure, ROCArea):
        difference = z[y > 0][:, None] - z[y < 0][None, :]
        return np.maximum(0, measure.margin - difference).mean()
    cost = np.array(measure.cost) if measure.cost else np.ones((4, 4))
    terms = [
        cost[a, b] * max(0, 1 - (v - u))
        for (a, u), (b, v) in itertools.product(zip(y, z, strict=True), repeat=2)
        if a < b
    ]
    return np.mean(terms) if terms else 0.0


def discounts(measure, n):
    i = np.arange(1, n + 1)
    if isinstance(measure, NDCG):
        return (i <= (measure.k or n)) / np.log2(i + 1)
    if isinstance(measure, ERU):
        return 2.0 ** ((1 - i) / (measure.half_life - 1))
    return (i == 1) * 1.0


def gains(measure, y):
    if isinstance(measure, NDCG):
        return 2.0**y - 1
    if isinstance(measure, ERU):
        return np.maximum(y - measure.neutral, 0)
    return (y == y.max()) * 1.0


def ranking_loss(measure, y, ranking):
    """1 - measure of a ranking (documents by rank)."""
    if isinstance(measure, MRR):
        return 1 - 1 / (1 + np.flatnonzero(y[ranking] > 0)[0])
    a, b = discounts(measure, y.size), gains(measure, y)
    return 1 - a @ b[ranking] / (a @ np.sort(b)[::-1])


def rankings(measure, y):
    n = y.size
    c = discounts(measure, n) if measure.decay is None else np.arange(1.0, n + 1) ** -measure.decay
    b = (y > 0) * 1.0 if isinstance(measure, MRR) else gains(measure, y)
    everything = [np.array(ranking) for ranking in itertools.permutations(range(n))]
    placed = np.empty((len(everything), n))
    for row, ranking in zip(placed, everything, strict=True):
        row[ranking] = c
    ideal = [np.all(np.diff(b[ranking]) <= 0) for ranking in everything]
    reference = placed[ideal].mean(axis=0)
    for row, ranking in zip(placed, everything, strict=True):
        yield row - reference, ranking_loss(measure, y, ranking)


def brute(measure, z, y):
    if isinstance(measure, ROCArea | Ordinal):
        return pairs(measure, z, y)
    planes = rankings(measure, y) if measure.needs_groups else labelings(measure, y)
    return max(slope @ z + constant for slope, constant in planes)


@pytest.mark.parametrize("measure", ALL, ids=names(ALL))
def test_value_equals_enumeration(measure):
    rng = np.random.default_rng(1)
    for _ in range(8 if measure.needs_groups else 40):
        y, z = instance(measure, rng, n=5 if measure.needs_groups else None)
        assert evaluate(measure, z, y)[0] == pytest.approx(brute(measure, z, y), abs=1e-12)


@pytest.mark.parametrize("measure", [m for m in ALL if not isinstance(m, ROCArea | Ordinal)], ids=repr)
def test_slope_and_constant_are_one_of_the_enumerated_planes(measure):
    rng = np.random.default_rng(2)
    for _ in range(4):
        y, z = instance(measure, rng, n=5)
        value, slope = evaluate(measure, z, y)
        planes = rankings(measure, y) if measure.needs_groups else labelings(measure, y)
        found = [c for s, c in planes if np.allclose(s, slope, atol=1e-12)]
        assert found
        assert value - slope @ z == pytest.approx(max(found), abs=1e-12)


@pytest.mark.parametrize("measure", ALL, ids=names(ALL))
def test_slope_is_a_subgradient(measure):
    rng = np.random.default_rng(3)
    for _ in range(30):
        y, z = instance(measure, rng, n=int(rng.integers(5, 30)))
        value, slope = evaluate(measure, z, y)
        for other in (rng.normal(size=z.size), z + 0.1 * rng.normal(size=z.size), 10 * z, -z):
            assert evaluate(measure, other, y)[0] >= value + slope @ (other - z) - 1e-10


@pytest.mark.parametrize("measure", ALL, ids=names(ALL))
def test_constant_depends_on_the_slope_only(measure):
    rng = np.random.default_rng(4)
    y, z = instance(measure, rng, n=12, ties=False)
    value, slope = evaluate(measure, z, y)
    met = 0
    for _ in range(50):
        other = z + 1e-3 * rng.normal(size=z.size)
        there, same = evaluate(measure, other, y)
        if np.array_equal(slope, same):
            met += 1
            assert there - same @ other == pytest.approx(value - slope @ z, abs=1e-12)
    assert met


def true_loss(measure, z, y):
    """1 - measure of the prediction that z makes, by scikit-learn or fenchel.metrics; ties in z averaged."""
    if isinstance(measure, ROCArea):
        return measure.margin * (1 - roc_auc_score(y, z))
    if isinstance(measure, FBeta):
        return 1 - fbeta_score(y, np.where(z > 0, 1, -1), beta=measure.beta, zero_division=0)
    if isinstance(measure, BreakEven):
        return 1 - metrics.break_even(y, z)
    if isinstance(measure, NDCG):
        return 1 - metrics.ndcg(y, z, k=measure.k)
    if isinstance(measure, ERU):
        return 1 - metrics.eru(y, z, neutral=measure.neutral, half_life=measure.half_life)
    if isinstance(measure, MRR):
        return 1 - metrics.mrr(y, z)
    if isinstance(measure, WinnerTakesAll):
        return 1 - np.mean(y[z == z.max()] == y.max())
    if isinstance(measure, PrecisionAtK):
        top = np.argsort(-z)[: measure.k]
        return 1 - np.mean(y[top] > 0) if not isinstance(measure, RecallAtK) else 1 - np.sum(y[top] > 0) / np.sum(y > 0)
    wrong = np.sign(z[:, None] - z[None, :])  # row i above row j
    lower = y[:, None] < y[None, :]
    cost = np.array(measure.cost)[y[:, None], y[None, :]] if measure.cost else 1.0
    return np.sum(lower * cost * (1 + wrong) / 2) / np.sum(lower)


@pytest.mark.parametrize("measure", ALL, ids=names(ALL))
def test_bounds_the_loss_it_stands_for(measure):
    rng = np.random.default_rng(5)
    for _ in range(60):
        y, z = instance(measure, rng, n=int(rng.integers(5, 25)))
        value = evaluate(measure, z, y)[0]
        assert value >= true_loss(measure, z, y) - 1e-12
        assert value >= -1e-12


@pytest.mark.parametrize("measure", ALL, ids=names(ALL))
def test_scores_that_are_right_by_far_cost_no_more_than_they_must(measure):
    y = np.array([0, 3, 1, 2, 0]) if measure not in BINARY else np.array([1, -1, 1, -1, -1])
    z = 1000.0 * y  # entries that are equally good are scored alike
    if measure in RANKING:
        z = 1000.0 * (y > 0 if isinstance(measure, MRR) else gains(measure, y))
    assert evaluate(measure, z, y)[0] == pytest.approx(true_loss(measure, z, y), abs=1e-9)


@pytest.mark.parametrize("measure", ALL, ids=names(ALL))
def test_order_of_rows_does_not_matter(measure):
    rng = np.random.default_rng(6)
    for _ in range(20):
        y, z = instance(measure, rng, n=15)
        order = rng.permutation(z.size)
        assert evaluate(measure, z[order], y[order])[0] == pytest.approx(evaluate(measure, z, y)[0], abs=1e-12)
        z = rng.normal(size=z.size)  # without ties the slope moves along
        assert evaluate(measure, z[order], y[order])[1] == pytest.approx(evaluate(measure, z, y)[1][order], abs=1e-12)


@pytest.mark.parametrize("measure", ALL, ids=names(ALL))
def test_shift_invariant_says_the_truth(measure):
    rng = np.random.default_rng(7)
    y, z = instance(measure, rng, n=20, ties=False)
    value, slope = evaluate(measure, z, y)
    moved = evaluate(measure, z + 2.5, y)[0]
    if measure.shift_invariant:
        assert moved == pytest.approx(value, abs=1e-12)
        assert abs(slope.sum()) <= 1e-12
    else:
        assert abs(moved - value) > 1e-3


@pytest.mark.parametrize("measure", [m for m in ALL if m.shift_invariant], ids=repr)
def test_a_large_offset_costs_no_digits(measure):
    y, z = instance(measure, np.random.default_rng(8), n=40)
    z = np.round(z * 1024) / 1024 + 2.0**30  # exact, with and without the offset
    assert evaluate(measure, z, y)[0] == pytest.approx(evaluate(measure, z - 2.0**30, y)[0], rel=1e-12, abs=1e-12)


def test_roc_area_equals_exact_arithmetic():
    rng = np.random.default_rng(9)
    y = rng.choice([-1, 1], 120)
    for offset in (0.0, 1e8, 1e11):
        z = rng.normal(size=120) + offset
        high, low = ([Fraction(float(s)) for s in z[y == sign]] for sign in (1, -1))
        exact = sum(max(Fraction(0), 1 - (u - v)) for u in high for v in low) / (len(high) * len(low))
        assert ROCArea().evaluate(z, y)[0] == pytest.approx(float(exact), rel=1e-14)


def test_two_levels_are_the_roc_area():
    rng = np.random.default_rng(10)
    y, z = rng.integers(0, 2, 50), np.round(rng.normal(size=50), 1)
    roc = ROCArea().evaluate(z, 2 * y - 1)[0]
    assert Ordinal().evaluate(z, y)[0] == pytest.approx(roc, abs=1e-13)
    assert Ordinal([[0, 1], [1, 0]]).evaluate(z, y)[0] == pytest.approx(roc, abs=1e-13)


def test_ordinal_counts_any_integers_as_levels():
    rng = np.random.default_rng(11)
    y, z = rng.integers(0, 4, 40), rng.normal(size=40)
    spread = np.array([-7, 0, 12, 1000])[y]
    assert Ordinal().evaluate(z, spread)[0] == Ordinal().evaluate(z, y)[0]
    same = Ordinal(1.0 - np.eye(4)).evaluate(z, y)
    assert Ordinal().evaluate(z, y)[0] == pytest.approx(same[0], abs=1e-13)
    assert Ordinal().evaluate(z, y)[1] == pytest.approx(same[1], abs=1e-13)


@pytest.mark.parametrize("decay", [0.25, 1.0])
def test_dynamic_programme_and_assignment_agree_with_enumeration_at_any_relevance(decay):
    rng = np.random.default_rng(12)
    for levels in (2, 2, 5, 5):
        y, z = rng.integers(0, levels, 6), np.round(rng.normal(size=6), 1)
        y[0] = 1
        for measure in (NDCG(3, decay=decay), ERU(0, 2, decay=decay)):
            assert evaluate(measure, z, y)[0] == pytest.approx(brute(measure, z, y), abs=1e-12)


def test_a_decay_equal_to_the_discount_gives_the_same_loss_by_sort_and_by_assignment():
    rng = np.random.default_rng(13)
    y, groups, z = rng.integers(0, 4, 60), np.repeat(np.arange(4), 15), rng.normal(size=60)

    class Hyperbolic(NDCG):
        def discounts(self, size):
            return 1.0 / np.arange(1.0, size + 1.0)

    by_sort, by_assignment = (Hyperbolic(decay=decay).evaluate(z, y, groups) for decay in (None, 1.0))
    assert by_sort[0] == pytest.approx(by_assignment[0], abs=1e-12)
    assert by_sort[1] == pytest.approx(by_assignment[1], abs=1e-12)


@pytest.mark.parametrize("measure", ALL, ids=names(ALL))
def test_groups_average_the_loss_of_queries_in_any_order(measure):
    rng = np.random.default_rng(14)
    parts = [instance(measure, rng, n=int(rng.integers(5, 12)), ties=False) for _ in range(5)]
    y, z = (np.concatenate(part) for part in zip(*parts, strict=True))
    groups = np.repeat([30, 10, 50, 20, 40], [part[0].size for part in parts])
    alone = [measure.evaluate(own_z, own_y, np.zeros(own_y.size)) for own_y, own_z in parts]
    value, slope = measure.evaluate(z, y, groups)
    assert value == pytest.approx(np.mean([v for v, _ in alone]), abs=1e-12)
    assert slope == pytest.approx(np.concatenate([s for _, s in alone]) / 5, abs=1e-12)
    order = rng.permutation(z.size)
    moved, there = measure.evaluate(z[order], y[order], groups[order].astype(str))
    assert moved == pytest.approx(value, abs=1e-12)
    assert there == pytest.approx(slope[order], abs=1e-12)


@pytest.mark.parametrize("measure", [m for m in BINARY if not isinstance(m, PrecisionAtK)], ids=repr)
def test_one_group_equals_no_group(measure):
    y, z = instance(measure, np.random.default_rng(15), n=20)
    value, slope = measure.evaluate(z, y)
    grouped = measure.evaluate(z, y, np.ones(20))
    assert grouped[0] == value
    assert np.array_equal(grouped[1], slope)


def test_precision_within_queries_is_the_ranking_measure():
    """Per query: discounts 1[i <= k]/k, gains 1[y > 0] over the ideal value; graded relevances count as relevant."""
    rng = np.random.default_rng(16)
    for k in (1, 2, 3, 5, 9):
        y, z = rng.integers(0, 3, 5), np.round(rng.normal(size=5), 1)
        y[0] = 2
        top = (np.arange(5) < k) * 1.0
        relevant = (y > 0) * 1.0
        ideal = np.sort(relevant)[::-1] @ top
        factor = 1 / min(k, 5, relevant.sum())
        placed = [top[np.argsort(ranking)] for ranking in itertools.permutations(range(5))]
        best = max(row @ relevant for row in placed)
        reference = np.mean([row for row in placed if row @ relevant == best], axis=0)
        want = max(1 - row @ relevant / ideal + factor * (row - reference) @ z for row in placed)
        assert PrecisionAtK(k).evaluate(z, y, np.zeros(5))[0] == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("measure", [m for m in ALL if m.needs_groups or isinstance(m, ROCArea | Ordinal)], ids=repr)
def test_a_query_with_one_document_costs_nothing(measure):
    value, slope = measure.evaluate([3.7], [1 if isinstance(measure, ROCArea) else 3], [5])
    assert value == 0.0
    assert slope.tolist() == [0.0]


def test_queries_that_do_not_count_are_left_out():
    z, y, groups = [1.0, 2.0, 0.5, 0.0], [1, 0, 0, 0], [1, 1, 2, 2]
    for measure in (NDCG(), MRR(), ERU(0, 2), NDCG(decay=1.0), PrecisionAtK(1), RecallAtK(1), BreakEven()):
        value, slope = measure.evaluate(z, y, groups)
        assert value == measure.evaluate(z[:2], y[:2], groups[:2])[0]
        assert slope[2:].tolist() == [0.0, 0.0]
    signs = [1, -1, -1, -1]
    for measure in (ROCArea(), FBeta()):
        value, slope = measure.evaluate(z, signs, groups)
        assert value == measure.evaluate(z[:2], signs[:2])[0]
        assert slope[2:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("y", [[1, 1, 1], [-1, -1, -1]])
def test_one_class_only_is_defined_for_pairs_and_refused_elsewhere(y):
    value, slope = ROCArea().evaluate([1.0, 2.0, 3.0], y)
    assert (value, slope.tolist()) == (0.0, [0.0, 0.0, 0.0])
    assert Ordinal().evaluate([1.0, 2.0, 3.0], y)[0] == 0.0
    for measure in (FBeta(), PrecisionAtK(1), RecallAtK(1), BreakEven()):
        with pytest.raises(InputError, match="target"):
            measure.prepare(y)
    with pytest.raises(InputError, match="no query has both"):
        FBeta().prepare(y, groups=[1, 2, 3])


def test_choosing_everything_costs_what_is_sure():
    z, y = [3.0, -1.0, 2.0, 0.0], [1, -1, -1, -1]
    value, slope = PrecisionAtK(4).evaluate(z, y)
    assert value == pytest.approx(0.75)
    assert slope == pytest.approx(np.zeros(4), abs=1e-15)
    assert RecallAtK(4).evaluate(z, y)[0] == pytest.approx(0.0, abs=1e-15)
    for k in (4, 9):
        assert PrecisionAtK(k).evaluate(z, y, np.ones(4))[0] == pytest.approx(0.0, abs=1e-15)
        assert evaluate(NDCG(k), z, [0, 1, 2, 0])[0] == evaluate(NDCG(), z, [0, 1, 2, 0])[0]


@pytest.mark.parametrize("measure", RANKING, ids=repr)
def test_equal_relevances_cost_nothing_at_equal_scores(measure):
    for y in ([2, 2, 2], [3]):
        value, slope = evaluate(measure, np.full(len(y), 0.7), np.array(y))
        assert value == pytest.approx(0.0, abs=1e-15)
        z = np.arange(float(len(y)))
        assert evaluate(measure, z, np.array(y))[0] >= slope @ (z - 0.7) - 1e-12


@pytest.mark.parametrize("measure", [NDCG(), NDCG(3), MRR(), ERU(0, 2), NDCG(decay=0.25)], ids=repr)
def test_nothing_relevant_anywhere_is_refused(measure):
    with pytest.raises(InputError, match="nothing to rank"):
        measure.prepare([0, 0, 0], [1, 1, 2])
    assert WinnerTakesAll().evaluate([1.0, 1.0], [0, 0], [1, 1])[0] == pytest.approx(0.0)


@pytest.mark.parametrize("groups", [1, 7])
@pytest.mark.parametrize("measure", [PrecisionAtK(2), PrecisionAtK(40), RecallAtK(3), BreakEven()], ids=repr)
def test_the_first_ranks_are_those_of_a_stable_sort(measure, groups):
    rng = np.random.default_rng(23)
    for n in (50, 400):
        qid = None if groups == 1 else np.arange(n) % groups
        y = rng.choice([-1, 1], n, p=[0.7, 0.3])
        for z in (rng.normal(size=n), np.round(rng.normal(size=n)), np.zeros(n), np.sort(rng.normal(size=n))):
            prepared, slope = measure.prepare(y, qid), np.empty(n)
            value, found = measure.evaluate(z, y, qid)
            assert value == pytest.approx(sorted_ranking(z, prepared, slope), abs=1e-13)
            np.testing.assert_allclose(found, slope, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("select", [kth_smallest, kth_smallest.py_func], ids=["compiled", "python"])
def test_selection_finds_what_a_sort_finds(select):
    rng = np.random.default_rng(24)
    organ_pipe = np.concatenate([np.arange(500.0), np.arange(500.0)[::-1]])
    for values in (
        rng.normal(size=1000),
        np.round(rng.normal(size=999)),
        np.zeros(100),
        np.arange(64.0)[::-1],
        organ_pipe,
    ):
        for k in (0, 1, values.size // 2, values.size - 1):
            assert select(values.copy(), k) == np.sort(values)[k]
    assert select(np.array([-0.0, 0.0, 1.0]), 1) == 0.0


@pytest.mark.parametrize("n", [LONG - 1, LONG, 5000])
def test_large_sets_equal_their_definition(n):
    rng = np.random.default_rng(17)
    y, z = rng.choice([-1, 1], n, p=[0.7, 0.3]), np.round(rng.normal(size=n), 2)
    value, slope = ROCArea().evaluate(z, y)
    assert value == pytest.approx(pairs(ROCArea(), z, y), rel=1e-12)
    difference = z[y > 0][:, None] - z[y < 0][None, :]
    lower, upper = -np.sum(difference <= 1 + 1e-9, axis=1), -np.sum(difference < 1 - 1e-9, axis=1)
    at = slope[y > 0] * difference.size
    assert np.all((at >= lower - 1e-6) & (at <= upper + 1e-6))
    relevance = rng.integers(0, 5, n)
    a, b = 1 / np.log2(np.arange(n) + 2), 2.0**relevance - 1
    b /= a @ np.sort(b)[::-1]
    worst = a @ np.sort(z - b)[::-1]
    reference = np.array([a[np.sort(relevance)[::-1] == level].mean() for level in range(5)])[relevance]
    assert evaluate(NDCG(), z, relevance)[0] == pytest.approx(1 + worst - reference @ z, rel=1e-10)


def test_reciprocal_rank_on_large_queries_equals_every_start():
    rng = np.random.default_rng(22)
    for share in (0.02, 0.3, 0.9):
        for spread in (0.01, 0.3, 3.0):
            z, y = spread * np.round(rng.normal(size=80), 1), (rng.random(80) < share) * 1
            y[5] = 1
            down = np.argsort(-z, kind="stable")
            found, others = down[y[down] > 0], down[y[down] == 0]
            c = 1 / np.arange(1.0, 81.0)
            values = []
            for r in range(others.size + 1):
                head = [*others[:r], found[0]]
                rest = [i for i in down if i not in head]
                values.append(c @ z[head + rest] + 1 - 1 / (r + 1))
            reference = c[: found.size].mean() * z[found].sum() + c[found.size :].sum() * z[others].mean()
            assert evaluate(MRR(), z, y)[0] == pytest.approx(max(values) - reference, abs=1e-12)


def test_f_beta_on_a_large_set_equals_all_counts():
    rng = np.random.default_rng(18)
    y = rng.choice([-1, 1], 1200, p=[0.8, 0.2])
    z = np.round(rng.normal(size=1200) + 0.5 * y, 2)
    up, down = np.sort(z[y > 0])[::-1], np.sort(z[y < 0])[::-1]
    a, b = np.arange(up.size + 1)[:, None], np.arange(down.size + 1)[None, :]
    for measure in (FBeta(), FBeta(2.0, scale=1e-3), FBeta(0.3, scale=0.5)):
        scale, square = measure.scale or 0.5 / y.size, measure.beta**2
        tops = np.append(0, np.cumsum(up))[:, None] + np.append(0, np.cumsum(down))[None, :]
        table = 1 - (1 + square) * a / (a + b + square * up.size) + 2 * scale * (tops - up.sum())
        assert measure.evaluate(z, y)[0] == pytest.approx(table.max(), rel=1e-12)


@pytest.mark.parametrize("sort", [merge_sort, radix_sort, sort_stably])
@pytest.mark.parametrize("n", [0, 1, 2, 12, 13, 25, 100, 199, 200, 777, 3000])
def test_sort_is_stable(sort, n):
    rng = np.random.default_rng(n)
    for z in (
        rng.normal(size=n),
        np.round(rng.normal(size=n)),
        np.zeros(n),
        rng.choice([0.0, -0.0, 1e-320, -np.inf], n),
    ):
        keys, labels = z.copy(), np.arange(n, dtype=np.uint64)
        sort(keys, labels, np.empty(n), np.empty(n, np.uint64))
        order = np.argsort(z, kind="stable")
        assert np.array_equal(labels, order)
        assert np.array_equal(keys, z[order])


def test_compiled_equals_python():
    rng = np.random.default_rng(19)
    y, z, groups = rng.integers(0, 3, 30), rng.normal(size=30), np.repeat([1, 2, 3], 10)
    prepared, out = NDCG().prepare(y, groups), np.empty(30)
    value = sorted_ranking.py_func(z, prepared, out)
    assert (value, out.tolist()) == (NDCG().evaluate(z, y, groups)[0], NDCG().evaluate(z, y, groups)[1].tolist())


@pytest.mark.parametrize("measure", ALL, ids=names(ALL))
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_give_nan(measure, bad):
    y, z = instance(measure, np.random.default_rng(20), n=6)
    z[3] = bad
    value, slope = evaluate(measure, z, y)
    assert np.isnan(value)
    assert np.isnan(slope).all()


@pytest.mark.parametrize("measure", ALL, ids=names(ALL))
def test_prepared_is_reusable_and_out_is_overwritten(measure):
    rng = np.random.default_rng(21)
    y, z = instance(measure, rng, n=9)
    prepared = measure.prepare(y, np.zeros(9) if measure.needs_groups else None, np.full(9, 2.5))
    out, again = np.full(9, np.nan), np.full(9, 7.0)
    first = measure.value_and_slope(z, prepared, out)
    measure.value_and_slope(-z, prepared, again)
    assert measure.value_and_slope(np.repeat(z, 2)[::2], prepared, again) == first  # not contiguous
    assert measure.value_and_slope(z, prepared, again) == first
    assert np.array_equal(out, again)


@pytest.mark.parametrize("measure", ALL, ids=names(ALL))
def test_parameters_survive_files_and_pickles(measure):
    assert pickle.loads(pickle.dumps(measure)) == measure == from_parameters(parameters(measure))
    assert hash(from_parameters(parameters(measure))) == hash(measure)
    assert make(measure) is measure


def test_registry():
    pairs = {kind for kind in MEASURES.values() if issubclass(kind, PairMeasure)}  # in tests/test_pair_measures.py
    assert {type(measure) for measure in ALL} | pairs == set(MEASURES.values())
    assert make("roc_area") == ROCArea()
    with pytest.raises(UnknownNameError, match="Did you mean 'ndcg'"):
        make("ndgc")
    with pytest.raises(InputError, match="precision_at_k"):
        make("precision_at_k")
    with pytest.raises(InputError, match="call it: NDCG"):
        make(NDCG)

    class Own(NDCG):
        pass

    with pytest.raises(InputError, match="not a built-in"):
        parameters(Own())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ROCArea(0.0), "margin must be > 0"),
        (lambda: FBeta(0.0), "beta must be > 0"),
        (lambda: FBeta(scale=-1.0), "scale must be > 0"),
        (lambda: PrecisionAtK(0), "k must be an integer of at least 1"),
        (lambda: RecallAtK(2.5), "k must be an integer"),
        (lambda: BreakEven(scale=np.nan), "scale must be > 0"),
        (lambda: NDCG(0), "k must be an integer"),
        (lambda: NDCG(decay=0), "decay must be > 0"),
        (lambda: MRR(-1), "decay must be > 0"),
        (lambda: ERU(np.inf, 2), "neutral must be a finite number"),
        (lambda: ERU(0, 1), "half_life must be > 1"),
        (lambda: Ordinal([[0, -1], [1, 0]]), r"cost\[0, 1\] is -1.0"),
        (lambda: Ordinal([[0, 1], [1, 2]]), r"cost\[1, 1\] is 2.0"),
        (lambda: Ordinal([[0, 1, 2], [1, 0, 1]]), "square matrix"),
        (lambda: Ordinal([[0, np.nan], [1, 0]]), "finite"),
        (lambda: Ordinal("wide"), "square matrix of numbers"),
    ],
)
def test_bad_parameters_are_refused(build, message):
    with pytest.raises(InputError, match=message):
        build()


@pytest.mark.parametrize(
    ("measure", "y", "groups", "weights", "message"),
    [
        (ROCArea(), [1, 0, -1], None, None, "y of row 1 is .*-1 or \\+1"),
        (FBeta(), [1, 2, -1], None, None, "y of row 1"),
        (PrecisionAtK(2), [0, 1, 1], None, None, "y of row 0"),
        (PrecisionAtK(4), [1, -1, 1], None, None, r"k must be at most the number of rows \(3\), got 4"),
        (RecallAtK(1), [0, 0], [1, 1], None, "in no query is y > 0"),
        (NDCG(), [0, 1], None, None, "groups is missing: NDCG"),
        (MRR(), [0, 1], None, None, "groups is missing: MRR"),
        (NDCG(), [0, -1], [1, 1], None, "y of row 1"),
        (NDCG(), [0, 2000], [1, 1], None, "y of row 1"),
        (NDCG(), [0, 1], [1, 1, 1], None, r"groups has the shape \(3,\)"),
        (NDCG(), [0, 1], [1, np.nan], None, "groups of row 1"),
        (NDCG(), [0, 1], np.array([1, "a"], dtype=object), None, "can be compared"),
        (Ordinal(), [0, 1.5], None, None, "y of row 1 is .*integer levels"),
        (Ordinal([[0, 1], [1, 0]]), [0, 2], None, None, "levels 0 to 1"),
        (Ordinal(), [], None, None, "y is empty"),
        (Ordinal(), 3.0, None, None, "y is empty or not a vector"),
        (ROCArea(), [1, np.nan], None, None, "NaN at row 1"),
        (ROCArea(), [1, -1], None, [1, 2], "sample_weight of row 1 is .*no weights"),
        (NDCG(), [0, 1], [1, 1], [1, 2], "sample_weight of row 1"),
        (FBeta(), [1, -1], None, [0, 0], "sample_weight of row 0"),
        (FBeta(), [1, -1], None, [1], "sample_weight must be"),
    ],
)
def test_bad_targets_are_refused(measure, y, groups, weights, message):
    with pytest.raises(InputError, match=message):
        measure.prepare(y, groups, weights)


def test_shapes_must_agree():
    with pytest.raises(InputError, match="one score per target"):
        ROCArea().evaluate([1.0, 2.0, 3.0], [1, -1])
    with pytest.raises(InputError, match="out has"):
        ROCArea().value_and_slope(np.zeros(3), ROCArea().prepare([1, -1]), np.zeros(2))


def test_a_measure_of_ones_own_is_a_measure():
    class Mean(Measure):
        def prepare(self, y, groups=None, weights=None):
            return len(y)

        def value_and_slope(self, z, prepared, out):
            out[:] = 1.0 / prepared
            return float(z.mean())

    assert Mean().evaluate([1.0, 3.0], [1, 1])[0] == 2.0
    assert make(Mean()).needs_groups is False
