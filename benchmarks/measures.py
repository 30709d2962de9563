"""One evaluation (value and slope) of every measure against one `np.argsort` of the same scores.

    python -m benchmarks.measures [number of scores]

Each line: the measure, how the scores are grouped, milliseconds of the evaluation and of `np.argsort(z)` (medians of
repeats taken in turns), and their ratio. The goal for the ROC area and NDCG on a million scores is a ratio of 3.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

from benchmarks.timing import in_turns
from fenchel.measures import (
    ERU,
    MRR,
    NDCG,
    BreakEven,
    FBeta,
    Measure,
    Ordinal,
    PrecisionAtK,
    RecallAtK,
    ROCArea,
    WinnerTakesAll,
)

DOCUMENTS = 100  # of a query, on average
WHOLE = [ROCArea(), FBeta(), PrecisionAtK(100), RecallAtK(100), BreakEven()]
LEVELS = [Ordinal(), Ordinal(np.abs(np.subtract.outer(np.arange(5), np.arange(5))))]
PER_QUERY = [NDCG(), NDCG(10), MRR(), ERU(1, 5), WinnerTakesAll(), PrecisionAtK(10), ROCArea()]


def queries(n: int, rng: np.random.Generator) -> np.ndarray:
    """Sorted query numbers, queries of 1 to about twice DOCUMENTS rows."""
    ends = np.sort(rng.choice(np.arange(1, n), max(n // DOCUMENTS - 1, 1), replace=False))
    return np.searchsorted(ends, np.arange(n), side="right")


def rows(n: int, repeats: int) -> list[tuple[str, str, float, float]]:
    """(measure, grouping, ms, ms of argsort) for every measure."""
    rng = np.random.default_rng(0)
    relevance = rng.integers(0, 5, n)
    sign = np.where(relevance >= 3, 1, -1)
    z = rng.standard_normal(n) + 0.3 * relevance
    qid = queries(n, rng)
    tasks: list[tuple[Measure, str, np.ndarray, np.ndarray | None]] = []
    tasks += [(measure, "one set", sign, None) for measure in WHOLE]
    tasks += [(measure, "one set", relevance, None) for measure in LEVELS]
    tasks += [(measure, f"queries of {DOCUMENTS}", relevance, qid) for measure in PER_QUERY[:-1]]
    tasks += [(PER_QUERY[-1], f"queries of {DOCUMENTS}", sign, qid)]
    found = []
    for measure, grouping, y, groups in tasks:
        prepared, out = measure.prepare(y, groups), np.empty(n)
        measure.value_and_slope(z, prepared, out)  # compiles
        ours, argsort = in_turns(
            partial(measure.value_and_slope, z, prepared, out), partial(np.argsort, z), repeats=repeats
        )
        found.append((repr(measure).split("cost=((")[0], grouping, ours, argsort))
    return found


def table(n: int = 1_000_000, repeats: int = 15) -> None:
    print(f"{'measure':<46}{'scores':<17}{'ms':>8}{'argsort':>9}{'ratio':>7}    (n = {n})")
    for name, grouping, ours, argsort in rows(n, repeats):
        print(f"{name:<46}{grouping:<17}{ours:8.1f}{argsort:9.1f}{ours / argsort:7.2f}")


if __name__ == "__main__":
    table(*map(int, sys.argv[1:2]))
