"""Where to cut scores into labels: exact minimisers over all places between the training scores."""

from __future__ import annotations

import numpy as np

from fenchel.measures import BreakEven, FBeta, Measure, Ordinal, PrecisionAtK


def places(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(thresholds, how many scores are at most each): below all scores, halfway between neighbours, above all.

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
    """(the middle of all thresholds as good as that at `place`, next to each other between the places `low` and `high`; the
    last of their places)."""
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
    """How many thresholds every score is above.

    >>> labels_at(np.array([0.0, 1.0]), np.array([-1.0, 0.5, 1.0, 2.0]))
    array([0, 1, 1, 2])
    """
    return np.searchsorted(thresholds, z, side="left")


def best_threshold(measure: Measure, z: np.ndarray, positive: np.ndarray) -> float:
    """The threshold above which rows are called positive: the best for the measure on these scores, of equals the middle
    of those next to the lowest.

    F_beta is that of the labels. The number of rows called positive is as near to k as ties allow for precision and
    recall at k, and as near to the number of positives for the break-even point. The ROC area does not depend on a
    threshold: that of the labels, (recall + specificity) / 2, is taken for it and for measures of your own.

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
    """What saying level b for level a costs: the measure's matrix, or |a - b|.

    >>> level_costs(Ordinal(), 2)
    array([[0., 1.],
           [1., 0.]])
    """
    steps = np.arange(levels, dtype=float)
    return np.abs(steps[:, None] - steps[None, :]) if measure.cost is None else np.array(measure.cost)


def best_thresholds(z: np.ndarray, level: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """The K - 1 thresholds, ascending, with the least sum over rows of cost[level, level said].

    The score's place among the thresholds is the level said. Dynamic programming over levels, exact, O(n K): the least
    cost of the rows below a place that levels 0 .. j can have is that of levels 0 .. j - 1 up to an earlier place.

    >>> best_thresholds(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0, 0, 1, 2]), 1.0 - np.eye(3))
    array([1.5, 2.5])
    """
    thresholds, below = places(z)
    order = np.argsort(z, kind="stable")
    levels = len(cost)
    # spent[p, j]: what calling the rows below place p level j costs
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
    for j in range(1, levels):  # the runs of two cuts do not overlap, so that they stay in order and cost the same
        cut, last = middle(z, thresholds, spent[:, j] - spent[:, j - 1], chosen[j], last, chosen[j + 1])
        cuts.append(cut)
    return np.array(cuts)
