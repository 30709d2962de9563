"""The experiments: what they measure is what they say, and every one of them runs."""

from __future__ import annotations

import sys
from importlib import import_module
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the package lives beside `tests`, it is not installed

from experiments import common, data
from experiments.algorithms import LARGE_MARGIN, PRIOR, SPARSE, online_weights
from experiments.table1_winnow import generate, margin

import fenchel
from fenchel.solvers import DualAscent

NAMES = (
    "table1_winnow", "table2_reuters", "figures_reuters", "pragam_comparison", "bmrm_comparison", "usunier_frank_wolfe",
    "measures_gain", "hierarchies", "ocr_letters", "saddle_frank_wolfe", "conll_chunking", "label_sets", "word_alignment",
)  # fmt: skip


# ------------------------------------------------------------------------------------------------- break-even point


def by_definition(scores, positive):
    """precision = recall over every threshold: at the one that calls as many positive as there are."""
    points = []
    for threshold in scores:
        called = scores >= threshold
        hits = np.sum(called & positive)
        points.append((hits / called.sum(), hits / positive.sum()))
    return [p for p, r in points if p == r and p > 0.0]


@pytest.mark.parametrize("seed", range(20))
def test_break_even_is_where_precision_equals_recall(seed):
    rng = np.random.default_rng(seed)
    positive = rng.random(12) < 0.4
    positive[0] = True
    scores = rng.permutation(12).astype(float) + 3.0 * positive
    scores += 1e-3 * rng.random(12)  # no ties
    found = common.break_even(scores, positive)
    crossing = by_definition(scores, positive)
    assert found.there == positive.sum()
    if found.found > 0:
        assert crossing == pytest.approx([found.value])
    else:
        assert crossing == []


@pytest.mark.parametrize("seed", range(10))
def test_break_even_with_ties_is_the_mean_over_their_orders(seed):
    rng = np.random.default_rng(seed)
    positive = rng.random(6) < 0.5
    positive[0] = True
    scores = rng.integers(0, 3, 6).astype(float)
    there = positive.sum()
    hits = []
    for order in permutations(range(6)):
        ranked = sorted(order, key=lambda i: -scores[i])  # a stable sort: ties stay in the order of the permutation
        hits.append(positive[ranked[:there]].sum())
    assert common.break_even(scores, positive).found == pytest.approx(np.mean(hits))


def test_micro_average_sums_the_confusion_matrices():
    rng = np.random.default_rng(0)
    scores, positive = rng.random((50, 4)), rng.random((50, 4)) < [0.5, 0.1, 0.3, 0.0]
    called = np.zeros_like(positive)
    for c in range(4):
        called[np.argsort(-scores[:, c])[: positive[:, c].sum()], c] = True
    points = [common.break_even(scores[:, c], positive[:, c]) for c in range(4)]
    assert common.micro_average(points) == pytest.approx(np.sum(called & positive) / called.sum())


# -------------------------------------------------------------------------------------------------------- generators


@pytest.mark.parametrize("d", [6, 40])
def test_the_generator_of_table_1_has_the_stated_properties(d):
    X, y = generate(400, d, np.random.default_rng(3))
    assert X.shape == (400, d + 1)
    assert set(np.unique(X)) <= {0.0, 1.0}
    assert np.all(X[:, -1] == 1.0)
    w = np.array([1, 1, 1, 1, 1, -1] + [0] * (d - 6) + [-2])
    assert np.array_equal(X @ w, margin(X))
    assert np.all(margin(X) != 0)
    assert np.sum(y != np.sign(X @ w)) == 20  # exactly 5 %
    if d > 6:
        assert abs(X[:, 6:-1].mean() - 0.5) < 0.02  # the irrelevant features are fair coins


def test_a_target_exists_for_the_generated_rows():
    X, y = generate(200, 10, np.random.default_rng(0))
    clean = y == np.sign(margin(X))
    w = np.array([1, 1, 1, 1, 1, -1, 0, 0, 0, 0, -2.0])
    assert np.min(y[clean] * (X[clean] @ w)) >= 1.0


# -------------------------------------------------------------------------------------------------------- algorithms


def test_the_large_margin_problems_are_those_of_the_paper():
    rng = np.random.default_rng(0)
    w, strength, d = 1e-3 * rng.standard_normal(5), 0.3, 5
    split = np.array([np.sqrt(w**2 / 4 + PRIOR**2) + w / 2, np.sqrt(w**2 / 4 + PRIOR**2) - w / 2])  # the best a - b = w
    entropy = np.sum(split * np.log(split / PRIOR) - split + PRIOR)
    expected = {
        "LM-Perc": 0.5 * w @ w,
        "Spars": SPARSE * np.abs(w).sum() + 0.5 * w @ w,
        "LM-UWin": entropy,
    }
    for name, value in expected.items():
        assert LARGE_MARGIN[name].regularizer(strength, d).value(w) == pytest.approx(strength * value, rel=1e-9)


def test_the_online_algorithms_follow_rule_24():
    X, y = generate(60, 8, np.random.default_rng(1))
    X = X * np.random.default_rng(2).uniform(0.5, 1.5, 9)  # no score is 0 but for rounding, which would decide
    v = np.zeros(9)
    for _ in range(5):
        for x, label in zip(X, y, strict=True):
            if label * (x @ v) <= 0.0:
                v += 0.01 * label * x
    assert np.allclose(online_weights("Perceptron", data.as_csr(X), y, 5), v, atol=1e-12)


def test_large_margins_reach_the_same_optimum_by_the_papers_rule_and_by_exact_steps():
    X, y = generate(80, 6, np.random.default_rng(2))
    for name, method in LARGE_MARGIN.items():
        problem = method.problem(data.as_csr(X), y, 0.05)
        paper = fenchel.solve(problem, solver=method.paper, tol=1e-3, max_iter=20_000)
        exact = fenchel.solve(problem, solver=DualAscent(), tol=1e-6)
        assert exact.converged, name
        assert paper.certificate.primal == pytest.approx(exact.certificate.primal, rel=2e-3), name


# ------------------------------------------------------------------------------------------------------------- tables


def test_the_clock_stands_still_while_the_test_part_is_looked_at():
    import time

    class State:
        iteration, coef, intercept = 0, np.zeros(1), 0.0

        def __init__(self, seconds):
            self.seconds = seconds

    history = common.History(lambda w, b: time.sleep(0.05) or 1.0)
    began = time.perf_counter()
    history(State(0.0))
    history(State(time.perf_counter() - began))
    assert history.seconds[1] < 0.04 <= history.pauses[-2]


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_writes_a_table_and_a_plot(name, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="plots need the extra `experiments`")
    import_module(f"experiments.{name}").main(["--small", "--out", str(tmp_path)])
    table = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert table.strip() in capsys.readouterr().out
    lines = [line for line in table.splitlines() if line.startswith("|")]
    assert len(lines) >= 3
    if name != "saddle_frank_wolfe":  # counts of passes: a table says it all
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("module", ["common", "data", "table1_winnow", "measures_gain", "alignment_features"])
def test_the_examples_in_the_docstrings_hold(module):
    import doctest

    assert doctest.testmod(import_module(f"experiments.{module}")).failed == 0
