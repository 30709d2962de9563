"""Metrics: against all orders of tied scores, scikit-learn and networks of nodes walked by hand; bad input."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score, top_k_accuracy_score

from fenchel import metrics
from fenchel.errors import InputError


def over_tie_orders(one, y, scores):
    """The mean of one(y in ranked order) over all orders that the scores allow."""
    rankings = [list(r) for r in itertools.permutations(range(len(y))) if np.all(np.diff(scores[list(r)]) <= 0)]
    return np.mean([one(y[r]) for r in rankings])


def dcg(y, k):
    i = np.arange(1, y.size + 1)
    return np.sum((2.0**y - 1) / np.log2(i + 1) * (i <= k))


def utility(y, neutral, half_life):
    return np.sum(np.maximum(y - neutral, 0) * 2.0 ** (-np.arange(y.size) / (half_life - 1)))


def reciprocal(y):
    return 1 / (1 + np.flatnonzero(y > 0)[0])


def cases(count=25):
    rng = np.random.default_rng(0)
    for _ in range(count):
        y, scores = rng.integers(0, 4, 6), np.round(rng.normal(size=6))
        y[rng.integers(6)] = 3
        yield y, scores


def test_tied_scores_are_averaged():
    for y, scores in cases():
        best = np.sort(y)[::-1]
        for k in (1, 3, 6, 20):
            want = over_tie_orders(lambda r, k=k: dcg(r, k), y, scores) / dcg(best, k)
            assert metrics.ndcg(y, scores, k=k) == pytest.approx(want, rel=1e-12)
        want = over_tie_orders(lambda r: utility(r, 1.0, 3.0), y, scores) / utility(best, 1.0, 3.0)
        assert metrics.eru(y, scores, neutral=1.0, half_life=3.0) == pytest.approx(want, rel=1e-12)
        assert metrics.mrr(y, scores) == pytest.approx(over_tie_orders(reciprocal, y, scores), rel=1e-12)
        positives = int(np.sum(y > 0))
        want = over_tie_orders(lambda r, p=positives: np.mean(r[:p] > 0), y, scores)
        assert metrics.break_even(np.where(y > 0, 1, -1), scores) == pytest.approx(want, rel=1e-12)


def average_precision(y):
    return np.mean([np.mean(y[: r + 1] > 0) for r in np.flatnonzero(y > 0)])


def expected_reciprocal(y, k, highest):
    value, satisfied = 0.0, (2.0**y - 1) / 2.0**highest
    for r in range(min(k, y.size)):
        value += satisfied[r] * np.prod(1 - satisfied[:r]) / (r + 1)
    return value


def test_average_precision_and_expected_reciprocal_rank_average_ties():
    for y, scores in cases():
        want = over_tie_orders(average_precision, y, scores)
        assert metrics.mean_average_precision(y, scores) == pytest.approx(want, rel=1e-12)
        for k, highest in ((1, 3), (3, 4), (20, 3)):
            want = over_tie_orders(lambda r, k=k, h=highest: expected_reciprocal(r, k, h), y, scores)
            assert metrics.err(y, scores, k=k, highest=highest) == pytest.approx(want, rel=1e-12)
        assert metrics.err(y, scores) == metrics.err(y, scores, k=6, highest=int(y.max()))
    assert metrics.err([0, 3, 0, 0], np.zeros(4)) == pytest.approx(7 / 8 * np.mean(1 / np.arange(1, 5)))


def test_average_precision_equals_scikit_learn_without_ties():
    rng = np.random.default_rng(4)
    for _ in range(20):
        y, scores = rng.integers(0, 3, 40), rng.normal(size=40)
        found = metrics.mean_average_precision(y, scores)
        assert found == pytest.approx(average_precision_score(y > 0, scores), rel=1e-12)


@pytest.mark.parametrize(
    ("y", "options", "message"), [([1, -1], {}, "at least 0"), ([1, 3], {"highest": 2}, "highest=2")]
)
def test_relevances_out_of_range_are_refused(y, options, message):
    with pytest.raises(InputError, match=message):
        metrics.err(y, [1.0, 2.0], **options)


def test_ndcg_equals_scikit_learn_with_the_gains_as_relevances():
    for y, scores in cases():
        assert metrics.ndcg(y, scores) == pytest.approx(ndcg_score([2.0**y - 1], [scores]), rel=1e-12)
        assert metrics.ndcg(y, scores, k=2) == pytest.approx(ndcg_score([2.0**y - 1], [scores], k=2), rel=1e-12)


def test_top_k_error_equals_scikit_learn_and_averages_ties():
    rng = np.random.default_rng(1)
    y, scores = rng.integers(0, 5, 40), rng.normal(size=(40, 5))
    for k in (1, 2, 4):
        want = 1 - top_k_accuracy_score(y, scores, k=k, labels=range(5))
        assert metrics.top_k_error(y, scores, k) == pytest.approx(want)
    assert metrics.top_k_error(y, scores, 5) == metrics.top_k_error(y, scores, 9) == 0.0
    assert metrics.top_k_error([2], [[1.0, 0.0, 0.0, 0.0]], 2) == pytest.approx(2 / 3)


def test_queries_are_averaged_in_any_order_and_empty_ones_left_out():
    rng = np.random.default_rng(2)
    y, scores, groups = rng.integers(0, 3, 30), np.round(rng.normal(size=30), 1), np.repeat([3, 1, 2], 10)
    y[::10] = 2
    functions = [
        metrics.ndcg,
        metrics.mrr,
        metrics.mean_average_precision,
        lambda *a: metrics.err(*a, highest=2),
        lambda *a: metrics.eru(*a, neutral=0.5, half_life=2),
    ]
    order = rng.permutation(30)
    for function in functions:
        want = np.mean([function(y[groups == q], scores[groups == q]) for q in (1, 2, 3)])
        assert function(y, scores, groups) == pytest.approx(want, rel=1e-12)
        assert function(y[order], scores[order], groups[order]) == pytest.approx(want, rel=1e-12)
        more = (np.append(y, [0, 0]), np.append(scores, [1.0, 2.0]), np.append(groups, [9, 9]))
        assert function(*more) == pytest.approx(want, rel=1e-12)


def test_perfect_and_single():
    y = np.array([2, 0, 1, 0])
    assert metrics.ndcg(y, y) == metrics.mrr(y, y) == metrics.eru(y, y, neutral=0, half_life=3) == 1.0
    assert metrics.break_even([1, -1], [2.0, 1.0]) == 1.0
    assert metrics.ndcg([1], [-5.0]) == metrics.mrr([1], [0.0]) == metrics.break_even([1], [0.0]) == 1.0


def ancestors(node, parent):
    path = set()
    while node >= 0:
        path.add(int(node))
        node = parent[node]
    return path


def test_tree_distance_is_half_the_symmetric_difference_of_paths():
    rng = np.random.default_rng(3)
    for _ in range(20):
        n = int(rng.integers(1, 15))
        parent = np.array([-1] + [int(rng.integers(0, v)) for v in range(1, n)])
        order = rng.permutation(n)  # parents need not come before their children
        shuffled = np.empty(n, dtype=int)
        shuffled[order] = np.where(parent >= 0, order[parent], -1)
        true, predicted = rng.integers(0, n, 12), rng.integers(0, n, 12)
        want = [len(ancestors(a, shuffled) ^ ancestors(b, shuffled)) / 2 for a, b in zip(true, predicted, strict=True)]
        assert metrics.tree_distance(true, predicted, shuffled) == pytest.approx(np.mean(want))
    assert metrics.tree_distance([0], [1], [-1, -1]) == 1.0
    assert metrics.tree_distance([0], [0], [-1]) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.top_k_error([0, 3], np.zeros((2, 3)), 1), "y of row 1 is 3"),
        (lambda: metrics.top_k_error([0], np.zeros((2, 3)), 1), "y has 1 entries"),
        (lambda: metrics.top_k_error([0], np.zeros((1, 3)), 0), "k must be"),
        (lambda: metrics.top_k_error([0], [0.0, 1.0], 1), "dimension"),
        (lambda: metrics.ndcg([-1, 1], [0.0, 1.0]), "y of row 0"),
        (lambda: metrics.ndcg([0, 0], [0.0, 1.0]), "nothing to rank"),
        (lambda: metrics.ndcg([0, 1], [0.0, np.nan]), "not finite"),
        (lambda: metrics.ndcg([0, 1], [0.0, 1.0], k=1.5), "k must be"),
        (lambda: metrics.ndcg([0, 1], [0.0, 1.0], groups=[1]), "groups has the shape"),
        (lambda: metrics.mrr([0, 1], [0.0]), "the same length"),
        (lambda: metrics.eru([0, 1], [0.0, 1.0], neutral=0, half_life=1), "half_life"),
        (lambda: metrics.break_even([-1, -1], [0.0, 1.0]), "positive"),
        (lambda: metrics.tree_distance([0], [5], [-1, 0]), "y_pred of row 0"),
        (lambda: metrics.tree_distance([0], [1], [1, 0]), "cycle"),
        (lambda: metrics.tree_distance([0], [1], [-2, 0]), "node numbers"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
