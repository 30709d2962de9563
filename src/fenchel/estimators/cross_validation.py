"""Cross-validation along warm-started paths: the scores of held-out rows for every strength, and the choice among them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.compile.clock import CLOCK
from fenchel.errors import InputError
from fenchel.estimators.budget import SHORTEST
from fenchel.estimators.path import path
from fenchel.result import Status

if TYPE_CHECKING:
    from fenchel.problems.scalar import Problem
    from fenchel.result import Result


class Fold(NamedTuple):
    """Rows that are held out: the problems of the other rows, and the score of their solutions at an alpha."""

    problems: Sequence[Problem | Callable[[float], Problem]]
    score: Callable[[list[Result], float], float]


@dataclass(frozen=True, eq=False)
class FoldScores:
    """Scores of held-out rows, folds x strengths, with the largest relative gap of the solves behind each of them."""

    alphas: np.ndarray
    scores: np.ndarray
    gaps: np.ndarray
    fit_seconds: np.ndarray
    score_seconds: np.ndarray
    worst: Result  # of all solves, the one with the largest relative gap
    unsolved: int  # solves that are not certified

    @property
    def mean(self) -> np.ndarray:
        """The mean over folds."""
        return self.scores.mean(axis=0)

    @property
    def standard_error(self) -> np.ndarray:
        """The standard error of the mean, from the standard deviation between folds."""
        return np.std(self.scores, axis=0, ddof=1) / math.sqrt(len(self.scores))

    def results(self) -> dict[str, Any]:
        """`cv_results_` with the keys of scikit-learn's GridSearchCV, `se_test_score` and `max_relative_gap`."""
        alphas = self.alphas.tolist()
        found: dict[str, Any] = {}
        for name, seconds in (("fit", self.fit_seconds), ("score", self.score_seconds)):
            found |= {f"mean_{name}_time": seconds.mean(axis=0), f"std_{name}_time": seconds.std(axis=0)}
        found |= {"param_alpha": np.ma.array(self.alphas), "params": [{"alpha": alpha} for alpha in alphas]}
        found |= {f"split{k}_test_score": row.copy() for k, row in enumerate(self.scores)}
        return found | {
            "mean_test_score": self.mean, "std_test_score": self.scores.std(axis=0), "rank_test_score": ranks(self.mean),
            "se_test_score": self.standard_error, "max_relative_gap": self.gaps.max(axis=0),
        }  # fmt: skip


def ranks(scores: np.ndarray) -> np.ndarray:
    """1 for the highest score, equal scores have equal ranks; NaN is the lowest.

    >>> ranks(np.array([0.5, 0.9, 0.9, np.nan])).tolist()
    [3, 1, 1, 4]
    """
    known = np.where(np.isnan(scores), -np.inf, scores)
    return np.array([1 + np.count_nonzero(known > score) for score in known], dtype=np.int32)


def choose(alphas: Sequence[float], scores: Sequence[float], errors: Sequence[float]) -> tuple[int, int]:
    """(index of the highest score, index of the largest alpha whose score is within one standard error of it).

    Of equal scores the first one is the best. Scores that are NaN are not chosen.

    >>> choose([1.0, 0.1, 0.01], [0.5, 0.75, 0.8], [0.1, 0.1, 0.1])
    (2, 1)
    """
    known = [k for k, score in enumerate(scores) if not math.isnan(score)]
    if not known:
        raise InputError("the score is not defined (NaN) for any alpha: use fewer folds or another score")
    best = max(known, key=lambda k: scores[k])
    least = scores[best] - errors[best]
    return best, max((k for k in known if scores[k] >= least or k == best), key=lambda k: (alphas[k], k == best))


def fold_scores(
    folds: Iterable[Fold], count: int, alphas: np.ndarray, max_time: float | None = None, **options: Any
) -> FoldScores:
    """The scores of all folds. Each fold's path is started anew and warm within; `count` is the number of folds, which share
    `max_time`; `options` are those of `fenchel.path`."""
    began = CLOCK.other_time()
    scores, gaps, fits, scorings = [], [], [], []
    worst, unsolved = None, 0
    for k, fold in enumerate(folds):
        paths = []
        for j, problem in enumerate(fold.problems):
            left = (count - k) * len(fold.problems) - j
            seconds = None if max_time is None else max((max_time - (CLOCK.other_time() - began)) / left, SHORTEST)
            paths.append(path(problem, alphas, max_time=seconds, **options))
        solved = [result for found in paths for result in found]
        if any(result.status is Status.INTERRUPTED for result in solved):
            raise KeyboardInterrupt  # a choice among strengths of which some are not solved would mislead
        values, times = [], []
        for alpha, *results in zip(alphas.tolist(), *paths, strict=True):
            begin = time.perf_counter()
            values.append(float(fold.score(results, alpha)))
            times.append(time.perf_counter() - begin)
        unsolved += sum(not result.converged for result in solved)
        worst = max([*solved, *([worst] if worst else [])], key=lambda result: result.certificate.relative_gap)
        scores.append(values)
        scorings.append(times)
        gaps.append(np.max([[r.certificate.relative_gap for r in found] for found in paths], axis=0))
        fits.append(np.sum([[r.seconds for r in found] for found in paths], axis=0))
    assert worst is not None
    return FoldScores(alphas, np.array(scores), np.array(gaps), np.array(fits), np.array(scorings), worst, unsolved)
