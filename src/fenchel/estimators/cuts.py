"""Thresholds that turn scores into labels: exact minimisers over all thresholds between the training scores."""

from __future__ import annotations

import numpy as np

from fenchel.measures import BreakEven, FBeta, Measure, Ordinal, PrecisionAtK


def places(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(thresholds, number of scores at or below each): below all scores, halfway between neighbours, above all.

    >>> places(np.array([3.0, 1.0, 1.0]))
    (array([0., 2., 4.]), array([0, 2, 3]))
    """
    values, counts = np.unique(z, return_counts=True)
    margin = 0.5 * float(values[-1] - values[0]) / max(values.size - 1, 1) or 0.5
    inner = values[:-1] + 0.5 * np.diff(values)
    return np.concatenate([[values[0] - margin], inner, [values[-1] + margin]]), np.append(0, np.cumsum(counts))


def middle(
    z: np.ndarray, thresholds: np.ndarray, quality: np.ndarray, place: int, low: int, high: int
) -> tuple[float, int]:
    """(the middle of the run of adjacent, equally good thresholds that contains `place`, between `low` and `high`; the index
    of the last one)."""
    values, first, last = np.unique(z), place, place
    same = np.abs(quality - quality[place]) <= 1e-12 * np.abs(quality).max()
    while first > low and same[first - 1]:
        first -= 1
    while last < high and same[last + 1]:
        last += 1
    below = values[first - 1] if first > 0 else thresholds[0]
    above = values[last] if last < values.size else thresholds[-1]
    return float(0.5 * (below + above)) if first < last else float(thresholds[place]), last


def labels_at(thresholds: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The number of thresholds below each score.

    >>> labels_at(np.array([0.0, 1.0]), np.array([-1.0, 0.5, 1.0, 2.0]))
    array([0, 1, 1, 2])
    """
    return np.searchsorted(thresholds, z, side="left")


def best_threshold(measure: Measure, z: np.ndarray, positive: np.ndarray) -> float:
    """The threshold above which rows are predicted positive: the best one for the measure on these scores; of the equally
    good ones, the middle of the lowest run.

    F_beta is optimised for the predicted labels. For precision and recall at k, the number of predicted positives is as close
    to k as ties allow, and for the break-even point to the number of positives. The ROC area does not depend on a threshold:
    for it and for custom measures, balanced accuracy (recall + specificity) / 2 is optimised.

    >>> best_threshold(FBeta(), np.array([0.0, 1.0, 2.0, 3.0]), np.array([False, False, True, True]))
    1.5
    """
    thresholds, below = places(z)
    order = np.argsort(z, kind="stable")
    found_below = np.append(0, np.cumsum(positive[order]))[below]
    hits = positive.sum() - found_below  # true positives
    called = z.size - below
    if isinstance(measure, FBeta):
        square = measure.beta**2
        quality = (1.0 + square) * hits / (called + square * positive.sum())
    elif isinstance(measure, PrecisionAtK | BreakEven):
        wanted = positive.sum() if isinstance(measure, BreakEven) else measure.k
        quality = -np.abs(called - wanted)
    else:
        quality = hits / positive.sum() - (called - hits) / (~positive).sum()
    return middle(z, thresholds, np.asarray(quality, dtype=float), int(np.argmax(quality)), 0, below.size - 1)[0]


def level_costs(measure: Ordinal, levels: int) -> np.ndarray:
    """The cost of predicting level b for level a: the measure's matrix, or |a - b|.

    >>> level_costs(Ordinal(), 2)
    array([[0., 1.],
           [1., 0.]])
    """
    steps = np.arange(levels, dtype=float)
    return np.abs(steps[:, None] - steps[None, :]) if measure.cost is None else np.array(measure.cost)


def best_thresholds(z: np.ndarray, level: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """The K - 1 thresholds, ascending, with the smallest sum over rows of cost[level, predicted level].

    The predicted level is the number of thresholds below the score. Exact dynamic programming over levels, O(n K): the minimum
    cost of the rows up to a threshold with levels 0 .. j follows from that of levels 0 .. j - 1 up to an earlier one.

    >>> best_thresholds(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0, 0, 1, 2]), 1.0 - np.eye(3))
    array([1.5, 2.5])
    """
    thresholds, below = places(z)
    order = np.argsort(z, kind="stable")
    levels = len(cost)
    # spent[p, j]: the cost of predicting level j for the rows below threshold p
    spent = np.concatenate([np.zeros((1, levels)), np.cumsum(cost[level[order]], axis=0)])[below]
    least, came_from = spent[:, 0], []
    for j in range(1, levels):
        rest = least - spent[:, j]
        lowest = np.minimum.accumulate(rest)
        came_from.append(np.maximum.accumulate(np.where(rest == lowest, np.arange(rest.size), 0)))
        least = lowest + spent[:, j]
    chosen = [below.size - 1]
    for source in reversed(came_from):
        chosen.append(int(source[chosen[-1]]))
    chosen = [0, *chosen[:0:-1], below.size - 1]
    cuts, last = [], 0
    for j in range(
        1, levels
    ):  # the runs of two thresholds do not overlap, so that their order and their cost stay the same
        cut, last = middle(z, thresholds, spent[:, j] - spent[:, j - 1], chosen[j], last, chosen[j + 1])
        cuts.append(cut)
    return np.array(cuts)
