"""Passes are counted by the oracle, by one rule: values visited over stored values, half for products in one direction."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import fenchel
from fenchel.oracles.scalar import Oracle
from problems import LOSSES, REGULARIZERS, problem


@pytest.fixture
def oracle() -> Oracle:
    return Oracle(problem(LOSSES["hinge"], REGULARIZERS["l2"], n=40))


def counted(oracle: Oracle, work) -> float:
    before = oracle.passes
    work()
    return oracle.passes - before


def test_a_fused_pass_costs_as_much_as_its_two_directions(oracle):
    w, u = np.zeros(oracle.problem.d), np.zeros(oracle.problem.n)
    halves = counted(oracle, lambda: oracle.scores(w)) + counted(oracle, lambda: oracle.combine(u))
    assert counted(oracle, lambda: oracle.risk(w)) == halves == 1.0


@pytest.mark.parametrize(
    ("fraction", "directions", "expected"), [(1.0, 2, 1.0), (1.0, 1, 0.5), (0.25, 2, 0.25), (1.0, 4, 2.0)]
)
def test_blocks_count_what_they_hold(oracle, fraction, directions, expected):
    total = []
    count = counted(
        oracle,
        lambda: total.extend(oracle.sum_blocks(lambda block: (block.p.sum(),), oracle.blocks, fraction, directions)),
    )
    assert count == expected
    assert total[0] == pytest.approx(1.0)
    assert (
        counted(oracle, lambda: oracle.map_blocks(lambda block: None, oracle.blocks, fraction, directions)) == expected
    )


def test_visits_count_every_row_as_often_as_it_is_visited(oracle):
    n = oracle.problem.n
    order = np.array([0, 1, 1, 2, 1], dtype=np.uint64)
    seen = []
    assert counted(oracle, lambda: seen.extend(oracle.visits(order, 1 << 23))) == pytest.approx(order.size / n)
    assert [part.tolist() for part in seen] == [[0, 1], [1, 2], [1]]


def test_the_passes_of_a_sample_are_counted_once_and_by_its_share(oracle):
    sample = oracle.take(np.arange(10))
    sample.risk(np.zeros(oracle.problem.d))
    assert counted(oracle, lambda: oracle.count_sample(sample, 10)) == 10 / 40
    assert counted(oracle, lambda: oracle.count_sample(sample, 10)) == 0.0


def test_no_solver_counts_by_itself():
    package = Path(fenchel.__file__).parent
    for folder in ("solvers", "kernel_methods"):
        for file in (package / folder).rglob("*.py"):
            assert not re.search(r"\.passes\s*[-+*/]?=[^=]", file.read_text().replace("self.passes = 0.0", "")), file
