"""Scores and errors without each row, or without each fold, from one solution; refits only where bounds do not decide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.certificates.scalar import certifier_of
from fenchel.compile.kernel import kernel
from fenchel.data.blas import one_blas_thread
from fenchel.errors import InputError, NoMinimumError
from fenchel.losses.protocol import slope, value
from fenchel.proofs.ball import Interval, ball_at
from fenchel.proofs.breakpoint_steps import breakpoint_steps
from fenchel.proofs.curvature import Ends, curvature_intervals
from fenchel.proofs.decisions import classifies, largest_is_certain
from fenchel.proofs.removal import Pair, ball_regions, probed_intervals
from fenchel.proofs.settings import SETTINGS, Settings
from fenchel.proofs.spaces import KernelSpace, space_of
from fenchel.proofs.without import without
from fenchel.result import Result
from fenchel.solving.solve import solve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.problems.scalar import Problem


@dataclass(frozen=True)
class LeaveOneOut:
    """What the exact optimum without a row says about that row, for every row.

    Attributes
    ----------
    lower, upper : intervals that hold the held-out scores (offset and intercept included), one per row, or rows x scores.
    decided : whether the interval settles the class of the row; in regression, whether it is at most `width` wide.
    error : Interval that holds the leave-one-out error: of classifiers the fraction of rows whose class is wrong, of all other
        models the mean loss of the held-out rows; rows count with their weights.
    refits : how many rows (or folds) were fitted again.
    at_once : how many rows were decided by bounds for all rows at once.
    predicted : how many rows were decided by a predicted solution without them and its certificate (losses of two linear
        pieces).
    """

    lower: np.ndarray
    upper: np.ndarray
    decided: np.ndarray
    error: Interval
    refits: int
    at_once: int
    predicted: int = 0


def leave_one_out(
    result: Result,
    *,
    folds: ArrayLike | None = None,
    renormalise: bool = True,
    width: float | None = None,
    max_refits: int | None = None,
) -> LeaveOneOut:
    """The leave-one-out error of a solution, exact where the intervals decide, with few refits.

    For each row, the certificate of the solution for all rows (and, for losses with curvature, the curvature) bounds the score
    that the optimum without the row gives to it: one pass for all rows. Only rows whose class this leaves open are fitted
    again. What is bounded is the error of the exact optima, for the given loss, regularizer and alpha; it estimates the error
    on new data as cross-validation does, and proves nothing about it.

    Parameters
    ----------
    result : a `Result` of a loss of one score, of a classifier with several scores without free intercepts, or of a kernel
        machine; the regularizer must be strongly convex (L2, w'Kw, ElasticNet, ...).
    folds : the fold of each row (labels of any kind): whole folds are left out, as in k-fold cross-validation.
    renormalise : True (the default): the weights of the other rows are normalised again, as in a fit with the row deleted and
        the same alpha. False: they keep their weights s_i / S, as in a fit with the row deleted and the same C.
    width : in regression, how wide an interval may be that counts as decided; default: 1/1000 of the scores' deviation.
    max_refits : stop refitting after so many; the other rows stay open. None: no limit.

    Examples
    --------
    >>> import numpy as np, fenchel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 3))
    >>> y = np.where(X[:, 0] + rng.standard_normal(60) > 0, 1.0, -1.0)
    >>> found = fenchel.leave_one_out(fenchel.solve(fenchel.Problem(X, y, loss="logistic", alpha=0.1)))
    >>> kept = np.arange(60) != 7
    >>> refit = fenchel.solve(fenchel.Problem(X[kept], y[kept], loss="logistic", alpha=0.1), tol=1e-10)
    >>> bool(found.lower[7] <= X[7] @ refit.coef <= found.upper[7]), bool(found.decided.all()), found.refits < 3
    (True, True, True)
    """
    if not isinstance(result, Result):
        raise InputError(f"leave_one_out takes a Result of fenchel.solve, got {type(result).__name__}")
    if max_refits is not None and not (isinstance(max_refits, (int, np.integer)) and max_refits >= 0):
        raise InputError(f"max_refits must be None or an integer of at least 0, got {max_refits!r}")
    if width is not None and not (isinstance(width, (int, float, np.number)) and width >= 0.0):
        raise InputError(f"width must be None or a number of at least 0, got {width!r}")
    with one_blas_thread(), np.errstate(all="ignore"):
        return _found(_Search(result, renormalise, width, SETTINGS), folds, max_refits)


def _found(search: _Search, folds: ArrayLike | None, max_refits: int | None) -> LeaveOneOut:
    if folds is None:
        search.bound_all()
        groups: Iterator[np.ndarray] = (np.array([i]) for i in np.flatnonzero(~search.decided))
    else:
        groups = iter(_folds(folds, search.problem))
    at_once, predicted, refits = int(search.decided.sum()), 0, 0
    for rows in groups:
        if folds is not None:
            search.bound_without(rows)
            at_once += int(search.decided[rows].sum())
        if search.decided[rows].all():
            continue
        before = int(search.decided[rows].sum())
        search.predict(rows)
        predicted += int(search.decided[rows].sum()) - before
        if not search.decided[rows].all() and (max_refits is None or refits < max_refits):
            search.refit(rows)
            refits += 1
    return LeaveOneOut(search.low, search.high, search.decided, search.error(), refits, at_once, predicted)


class _Search:
    """The intervals found so far, and which rows they decide."""

    def __init__(self, result: Result, renormalise: bool, width: float | None, tuning: Settings):
        problem: Any = result.problem
        _require(problem, result)
        self.problem, self.result, self.renormalise, self.tuning = problem, result, renormalise, tuning
        self.space = space_of(problem)
        ball_at(problem, result.coef, result.intercept, result.certificate, None)  # refuses what has no ball
        z = self.space.reach(self.space.training_rows(), np.asarray(result.coef)).scores
        self.low, self.high = np.full(z.shape, -np.inf), np.full(z.shape, np.inf)
        self.decided = np.zeros(problem.n, dtype=bool)
        self.best = np.zeros(problem.n, dtype=int)  # the class, where it is decided
        self.classifies = classifies(problem)
        self.steps = breakpoint_steps(result, tuning)
        self.width = tuning.width * float(np.std(z)) if width is None else width

    def bound_all(self) -> None:
        """Bounds for all rows without each, from the solution for all."""
        problem, p = self.problem, self.problem.weights
        kept = 1.0 - p if self.renormalise else np.ones(problem.n)
        if kept.min() <= 0.0:
            raise InputError(f"row {int(np.argmin(kept))} has all the weight: nothing is left without it")
        every = np.arange(problem.n)
        found = curvature_intervals(self.result, kept, self._enough, self.tuning)
        if found is not None:
            self._narrow(every, found)
        few = found is not None and np.sum(~self.decided) <= self.tuning.few * problem.n
        pair = None if self.decided.all() or few else Pair(self.result, kept)
        if pair is None or not pair.known:
            return
        if problem.has_intercept:
            self._narrow(every, probed_intervals(pair, self.tuning))
        else:
            region = ball_regions(pair)
            self._take(every, region.scores, region.width)

    def bound_without(self, rows: np.ndarray) -> None:
        """Bounds for a fold, from the solution for all rows as an approximate one without the fold."""
        reduced = without(self.problem, rows, self.renormalise)
        certifier = certifier_of(reduced)
        w, b = (
            (np.asarray(self.result.coef), float(self.result.intercept))
            if reduced.is_kernel
            else reduced.variables(self.result.coef, self.result.intercept)
        )
        u = self.result.dual_point
        if u is None:
            return
        try:
            certificate, point = certifier.certificate(reduced, w, b, u)
        except InputError:  # no dual point is balanced without these rows
            return
        self._take_region(rows, ball_at(reduced, self.result.coef, self.result.intercept, certificate, point))

    def predict(self, rows: np.ndarray) -> None:
        """Bounds from a predicted solution without some rows."""
        if self.steps is None or rows.size > self.tuning.max_breakpoint_rows:
            return
        reduced = without(self.problem, rows, self.renormalise)
        found = self.steps.predict(reduced)
        if found is None or not np.isfinite(found.coef).all():
            return
        try:
            certificate, point = certifier_of(reduced).certificate(reduced, found.coef, found.intercept, found.u)
        except InputError:  # no dual point is balanced without these rows
            return
        self._take_region(rows, ball_at(reduced, found.coef, found.intercept, certificate, point))

    def refit(self, rows: np.ndarray) -> None:
        """Solve the problem without some rows, ever more accurately, until they are decided."""
        reduced = without(self.problem, rows, self.renormalise)
        start: Any = (self.result.coef, self.result.intercept, self.result.dual_point)
        for tol in self.tuning.tols:
            try:
                start = solve(reduced, tol=tol, start=start)
            except NoMinimumError:  # without these rows nothing is to be known: they stay open
                return
            self._take_region(rows, start.ball())
            if self.decided[rows].all():
                return

    def _take_region(self, rows: np.ndarray, region: Any) -> None:
        problem = self.problem
        if isinstance(self.space, KernelSpace):
            centers, width = (part[rows] for part in region.around(self.space.training_rows()))
        else:
            centers, width = region.around(problem.X[rows])
        low, high = region.intercept
        if problem.is_vector:
            self._take(rows, centers, width)
            return
        ends = centers + problem.offset[rows] - width + low, centers + problem.offset[rows] + width + high
        self._narrow(rows, Ends(*ends))

    def _narrow(self, rows: np.ndarray, found: Ends) -> None:
        """Intersect the intervals of one score with others."""
        self.low[rows] = np.fmax(self.low[rows], found.low)
        self.high[rows] = np.fmin(self.high[rows], found.high)
        self.decided[rows] = self._settled(self.low[rows], self.high[rows])

    def _settled(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        if not self.classifies:
            return np.asarray(high - low <= self.width)
        return (low > 0.0) | (high <= 0.0)  # a score of 0 means the label -1

    def _enough(self, found: Ends) -> bool:
        return bool(self._settled(found.low, found.high).all())

    def _take(self, rows: np.ndarray, centers: np.ndarray, width: np.ndarray) -> None:
        """Intersect the intervals with those about centres; of several scores, the largest one decides."""
        if centers.ndim == 1:
            self._narrow(rows, Ends(centers - width, centers + width))
            return
        self.low[rows] = np.fmax(self.low[rows], centers - width[:, None])
        self.high[rows] = np.fmin(self.high[rows], centers + width[:, None])
        proven, best = largest_is_certain(self.problem, centers, width, centers)
        new = proven & ~self.decided[rows]
        self.best[rows[new]] = best[new]
        self.decided[rows] |= proven

    def error(self) -> Interval:
        """The interval of the error."""
        problem, p = self.problem, self.problem.weights
        if problem.is_vector:
            wrong = self.decided & (self.best != problem.y)
        elif self.classifies:
            wrong = np.where(problem.y > 0.0, self.high <= 0.0, self.low > 0.0)
        else:
            return self._mean_loss()
        return Interval(float(p[wrong].sum()), float(p[wrong | ~self.decided].sum()))

    def _mean_loss(self) -> Interval:
        """Of a convex loss the largest value is at an end, and the least one at least where the tangents of both ends meet."""
        problem, p = self.problem, self.problem.weights
        values, slopes = np.empty((2, 2, problem.n))
        for z, f, g in zip((self.low, self.high), values, slopes, strict=True):
            losses_pass(problem.compiled_loss, problem.y, z, f, g)
        inner = (slopes[0] < 0.0) & (slopes[1] > 0.0)
        with np.errstate(all="ignore"):
            meet = (values[1] - values[0] + slopes[0] * self.low - slopes[1] * self.high) / (slopes[0] - slopes[1])
            least = np.where(inner, values[0] + slopes[0] * (meet - self.low), values.min(axis=0))
        least = np.where(np.isfinite(least), np.minimum(least, values.min(axis=0)), -np.inf)
        rounding = 1e-14 * float(p @ np.abs(values).max(axis=0))
        return Interval(float(p @ least) - rounding, float(p @ values.max(axis=0)) + rounding)


def _require(problem: Any, result: Result) -> None:
    """Raise InputError for problems of which rows cannot be left out, or not yet."""
    name = type(problem.loss).__name__
    if problem.remote or problem.is_measure or problem.is_structured:
        raise InputError(f"rows are left out of sums of losses of rows in memory; this problem (loss {name}) is none")
    if problem.is_vector and (problem.own or not classifies(problem)):
        raise InputError(
            f"loss {name}: of several scores, only Fenchel's own losses for classes are bounded without a row"
        )
    if problem.is_vector and problem.free:
        raise InputError(
            "free intercepts of several scores are not bounded by a certificate, so held-out scores are not, either: use "
            "fit_intercept=False with a constant column in X, which is then regularised"
        )


def _folds(folds: ArrayLike, problem: Problem) -> list[np.ndarray]:
    """The rows of each fold."""
    labels = np.asarray(folds)
    if labels.shape != (problem.n,):
        raise InputError(f"folds must have one label per row ({problem.n}), got shape {labels.shape}")
    if (labels != labels).any():
        raise InputError(f"folds contains NaN in row {int(np.argmax(labels != labels))}: every row needs a fold")
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    if len(groups) < 2:
        raise InputError("folds must have at least two different labels: nothing is left without the only fold")
    return groups


@kernel
def losses_pass(loss, y, z, values, slopes):
    """The value and the slope of every loss."""
    for i in range(z.size):
        values[i], slopes[i] = value(loss, z[i], y[i]), slope(loss, z[i], y[i])
