"""The ranking loss with any score weights c: the worst ranking is an assignment of documents to ranks.

l(f) = max over rankings π of 1 - sum_i a_i b_π(i) + sum_i c_i f_π(i) - sum_j c̄_j f_j
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.compile.kernel import kernel
from fenchel.measures.common import is_spoiled
from fenchel.measures.queries import Queries


class AssignedRanking(NamedTuple):
    """For each entry of queries.rows: gain b and reference c̄; for each rank: discount a and score weight c."""

    queries: Queries
    gain: NDArray[np.float64]
    reference: NDArray[np.float64]
    discount: NDArray[np.float64]
    weight: NDArray[np.float64]


def assigned_ranking(z: np.ndarray, ranking: AssignedRanking, out: np.ndarray) -> float:
    """The mean of l over the queries; out = its subgradient."""
    if is_spoiled(z, out):
        return np.nan
    rows, first, last = ranking.queries
    out[:] = 0.0
    total = 0.0
    for start, end in zip(first, last, strict=True):
        scores, gain = z[rows[start:end]], ranking.gain[start:end]
        scores = scores - scores.mean()
        a, c = ranking.discount[: end - start], ranking.weight[: end - start]
        documents = worst_ranking(scores, gain, a, c)
        slope = 0.0 - ranking.reference[start:end]
        slope[documents] += c
        total += 1.0 - float(a @ gain[documents]) + float(slope @ scores)
        out[rows[start:end]] = slope / first.size
    return total / first.size


def worst_ranking(scores: Any, gain: Any, a: Any, c: Any) -> Any:
    """The documents by rank that maximise sum_i c_i f_π(i) - a_i b_π(i)."""
    order = np.argsort(-scores, kind="stable")
    high = gain[order] == gain.max()
    low = gain[order] == gain.min()
    if (high | low).all():
        relevant, rest = order[high], order[~high]
        taken = interleave(scores[relevant], scores[rest], float(gain.max()), float(gain.min()), a, c)
        documents = np.empty(order.size, dtype=np.int64)
        documents[taken], documents[~taken] = relevant, rest
        return documents
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment(np.outer(c, scores) - np.outer(a, gain), maximize=True)[1]


@kernel
def interleave(relevant, rest, high, low, a, c):
    """The ranks of the relevant documents: both lists are in descending order, also within the worst ranking.

    best[s] is the largest value of the first r relevant and s other documents on the first r + s ranks. With one
    relevant document this enumerates its rank.
    """
    R, S = relevant.size, rest.size
    last_is_relevant = np.zeros((R + 1, S + 1), np.bool_)
    best = np.zeros(S + 1)
    for s in range(1, S + 1):
        best[s] = best[s - 1] + c[s - 1] * rest[s - 1] - a[s - 1] * low
    for r in range(1, R + 1):
        best[0] += c[r - 1] * relevant[r - 1] - a[r - 1] * high
        last_is_relevant[r, 0] = True
        for s in range(1, S + 1):
            rank = r + s - 1
            here = best[s] + c[rank] * relevant[r - 1] - a[rank] * high
            other = best[s - 1] + c[rank] * rest[s - 1] - a[rank] * low
            last_is_relevant[r, s] = here >= other
            best[s] = max(here, other)
    taken = np.zeros(R + S, np.bool_)
    r, s = R, S
    while r + s > 0:  # r or s falls: last_is_relevant[r, 0], and not [0, s]
        taken[r + s - 1] = last_is_relevant[r, s]
        if last_is_relevant[r, s]:
            r -= 1
        else:
            s -= 1
    return taken
