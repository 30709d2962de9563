"""Sums over the rows: within 4 eps of the sum of sizes, however the rows are cut; the floor covers what rounding did.

Terms are made so that the exact sum is known: one column with w = 1, so that scores are the data themselves.
"""

from __future__ import annotations

import math
import sys
import weakref
from functools import partial

import numpy as np
import pytest

import fenchel
from fenchel.data.row_blocks import limit_threads, map_row_blocks
from fenchel.engines import Local, local
from fenchel.oracles.scalar import Oracle

certifier = sys.modules[fenchel.certify.__module__]
EPS = np.finfo(float).eps
N = 100_000
CUTS = [100, 4097, 1 << 16, 1 << 20]
SIZES = {
    "even": lambda rng, n: rng.random(n),
    "wild": lambda rng, n: 10.0 ** rng.uniform(-12.0, 12.0, n),
    "one large": lambda rng, n: np.where(np.arange(n) == n // 2, 1e15, 1e-3) * rng.uniform(0.5, 1.5, n),
    "falling": lambda rng, n: 1.0 / (1.0 + np.arange(n)),
}


def data(kind, n=N):
    """(problem, terms of P, u, terms of the conjugates, terms of v), for the loss |z - y| and w = 1."""
    rng = np.random.default_rng(0)
    x = SIZES[kind](rng, n) * rng.choice([-1.0, 1.0], n)
    y = SIZES[kind](rng, n) * rng.choice([-1.0, 1.0], n)
    problem = fenchel.Problem(x[:, None], y, loss="absolute", alpha=0.5)
    u = rng.uniform(-1.0, 1.0, n)
    p = problem.weights
    return problem, p * np.abs(x - y), u, p * (u * y), -p * u * x


@pytest.mark.parametrize("kind", SIZES)
def test_the_certificate_adds_up_within_four_roundings_however_the_rows_are_cut(monkeypatch, kind):
    problem, losses, u, conjugates, shares = data(kind)
    exact_risk, exact_conjugates, exact_v = (math.fsum(terms.tolist()) for terms in (losses, conjugates, shares))
    primal, dual = exact_risk + 0.25, -exact_conjugates - exact_v * exact_v / (2.0 * 0.5)
    for values in CUTS:
        monkeypatch.setattr(certifier, "map_row_blocks", partial(map_row_blocks, values=values))
        z, size = np.empty(N), np.empty(N)
        risk, _ = certifier.primal_sums(problem, np.ones(1), 0.0, z, size)
        assert abs(risk - exact_risk) <= 4.0 * EPS * losses.sum()
        total, *_ = certifier.conjugate_pass(problem.compiled_loss, problem.y, problem.weights, problem.offset, u)
        assert abs(total - exact_conjugates) <= 4.0 * EPS * np.abs(conjugates).sum()
        v, _ = certifier.combined(problem, problem.weights, u)
        assert abs(v[0] - exact_v) <= 4.0 * EPS * np.abs(shares).sum()
        found = certifier.certificate(problem, np.ones(1), 0.0, u)[0]
        assert abs(found.primal - primal) <= found.floor
        assert abs(found.dual - dual) <= found.floor
        assert found.floor <= 1e-9 * (abs(found.primal) + abs(found.dual))  # and it is not just large


@pytest.mark.parametrize("kind", SIZES)
def test_passes_agree_whatever_the_cut(monkeypatch, kind):
    """What solvers see are plain sums over blocks, which only decide when the certificate is due: the bound is Higham's for
    those, a rounding per term of a block and per block; the same bits for every number of threads."""
    problem, losses, *_ = data(kind)
    exact = math.fsum(losses.tolist())
    for smallest in (64, 3000, 1 << 18):
        monkeypatch.setattr(local, "SMALLEST_BLOCK", smallest)
        oracle = Oracle(problem)
        longest = max(block.stop - block.start for block in oracle.blocks)
        found = {Oracle(problem, Local(threads)).risk(np.ones(1))[0] for threads in (1, 2, 5)}
        assert len(found) == 1
        assert abs(found.pop() - exact) <= (longest + len(oracle.blocks)) * EPS * losses.sum()


def test_the_certificate_adds_up_as_it_walks(monkeypatch):
    """The sums of a block have as many entries as there are columns: of many blocks few are kept at a time."""
    rng = np.random.default_rng(0)
    problem = fenchel.Problem(rng.standard_normal((300, 4)), rng.standard_normal(300), loss="absolute", alpha=0.5)
    alive, most, blocks = [], 0, 0

    def watched(*arguments, least):
        nonlocal most, blocks
        for found in map_row_blocks(*arguments, values=40):
            parts = [part for part in found if isinstance(part, tuple) and isinstance(part[0], np.ndarray)]
            alive.extend(weakref.ref(part[0]) for part in parts)
            blocks += len(parts)
            most = max(most, sum(ref() is not None for ref in alive))
            del parts
            yield found
            del found

    monkeypatch.setattr(certifier, "map_row_blocks", watched)
    with limit_threads(1):
        certifier.certificate(problem, np.ones(4), 0.0, np.zeros(300))
    assert blocks == 30 and most <= 2
