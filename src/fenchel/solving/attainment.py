"""A proof that a problem has no minimum: coefficients without a penalty that separate the rows.

    X d + t 1 = delta,   R(w + d) = R(w) for all w,   and along delta_i no loss rises and at least one falls for ever.

Then P(w + d, b + t) < P(w, b) for all (w, b), so no point is the best one: the coefficients of a logistic regression of labels
that are separated grow without bound. The direction comes from an iterate or from a linear program. Then the signs of delta are
verified, with exact arithmetic where rounding leaves them open.

If every loss falls, the infimum is 0 and no relative gap can be certified: the solve ends as soon as that is known. If some do
not change, the infimum is positive and the gap soon small enough for most tolerances; so that is looked for only if a solve has
failed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.certificates.unpenalised import directions
from fenchel.errors import NoMinimumError
from fenchel.losses.protocol import dual_domain
from fenchel.oracles.intercepts import reaches_0
from fenchel.regularizers.base import is_convex
from fenchel.regularizers.feature_weights import components

EPS = 2.0**-52
MAX_TARGETS = 1000  # different ones that are looked at; the scores of rows with others must not change
MAX_PROGRAM = 4_000_000  # numbers in the matrix of the linear program
MAX_PROGRAM_SECONDS = 5.0
MAX_EXACT = 200_000  # products in exact arithmetic
NEGLIGIBLE = 1e-7  # relative, below which an entry of the linear program's solution counts as 0
DENOMINATORS = (
    1,
    16,
    1000,
)  # to which the solution is rounded: directions of columns of zeros and ones are simple fractions
MAX_EARLY_PROGRAM = 200_000  # numbers: it is solved after EARLY iterations, a larger one after LATE
EARLY, LATE = 16, 48
ROWS_PER_UNKNOWN = 10  # of the linear program at first, and added in each of its rounds
MAX_ROUNDS = 30
SMALLEST_MARGIN = 1e-9  # of the program for some rows: below it, not even these are separated
SHOWN = 4  # columns in the message


class SeparationCheck:
    """Looks for such a direction while a problem is solved: at iterates, less and less often, and once by a linear program."""

    def __init__(self, problem: Any):
        self.problem = problem
        # A penalty that is not convex may be bounded, which leaves no direction free of charge.
        applies = problem.is_scalar and not problem.remote and is_convex(problem)
        self.N: Any = directions(problem) if applies else None
        self.signs: Any = None if self.N is None else falling_signs(problem)
        self.active = self.signs is not None and bool(np.any(self.signs[problem.weights > 0.0] != 0.0))
        self.next, self.searched = 1, False

    def at_iterate(self, iteration: int, w: np.ndarray, b: float, seconds: float) -> None:
        """Raise NoMinimumError if the unpenalised part of (w, b) separates all rows, or, late, if another direction does."""
        if not self.active or iteration < self.next:
            return
        self.next = 2 * iteration if iteration < LATE else LATE + iteration
        along = self.N @ components(self.N, w)
        counts = self.problem.weights > 0.0
        if np.all((self.signs * self._changes(along, b) > 0.0)[counts]):
            self._raise_if_proven(along, b)
        size = self.problem.n * (self.N.shape[1] + 1)
        if not self.searched and iteration >= (EARLY if size <= MAX_EARLY_PROGRAM else LATE) and size <= MAX_PROGRAM:
            self.searched = True
            self._prove(self._all_rows(min(seconds, MAX_PROGRAM_SECONDS)))

    def after_failure(self, seconds: float) -> None:
        """Raise NoMinimumError if a direction is found, be it one that changes few scores; `seconds` is the time there is."""
        if self.active and self.problem.n * (self.N.shape[1] + 1) <= MAX_PROGRAM:
            share = 0.5 * min(seconds, MAX_PROGRAM_SECONDS)
            self._prove(chain(self._all_rows(share), self._some_rows(share)))

    def _prove(self, candidates: Iterable[np.ndarray]) -> None:
        for h in candidates:
            d, t = (h[:-1], float(h[-1])) if self.problem.fit_intercept else (h, 0.0)
            self._raise_if_proven(self.N @ d, t)

    def _changes(self, d: np.ndarray, t: float) -> np.ndarray:
        return np.asarray(self.problem.X @ d) + (t if self.problem.fit_intercept else 0.0)

    def _all_rows(self, seconds: float) -> Iterator[np.ndarray]:
        """A direction with sign_i delta_i > 0 for all rows, if there is one: that with the largest margin on some rows, to
        which those that it puts on the wrong side are added."""
        E, signs = self._unpenalised_columns()
        if not np.all(signs != 0.0):
            return
        scale, began = _largest(E), time.perf_counter()
        E = signs[:, None] * (E / scale)
        chosen = np.arange(0, len(E), max(len(E) // (ROWS_PER_UNKNOWN * scale.size), 1))
        for _ in range(MAX_ROUNDS):
            A = np.column_stack([-E[chosen], np.ones(chosen.size)])
            margin = np.append(np.zeros(scale.size), 1.0)
            found = _maximise(margin, A, E[:0], seconds - (time.perf_counter() - began))
            if found is None or found[-1] <= SMALLEST_MARGIN:
                return
            delta = E @ found[:-1]
            wrong = np.flatnonzero(delta <= 0.0)
            if wrong.size == 0:
                yield found[:-1] / scale
                return
            worst = wrong[np.argsort(delta[wrong], kind="stable")[: ROWS_PER_UNKNOWN * scale.size]]
            chosen = np.union1d(chosen, worst)

    def _some_rows(self, seconds: float) -> Iterator[np.ndarray]:
        """A direction with the largest sum of sign_i delta_i >= 0, rounded in several ways, because many delta_i must be
        exactly 0."""
        E, signs = self._unpenalised_columns()
        scale, some = _largest(E), signs != 0.0
        above = signs[some, None] * (E[some] / scale)
        found = _maximise(above.sum(axis=0), -above, E[~some] / scale, seconds)
        if found is None or not np.any(found):
            return
        h = np.where(np.abs(found) > NEGLIGIBLE * np.abs(found).max(), found, 0.0) / scale
        top = np.abs(h).max()
        for m in DENOMINATORS:
            yield np.array([float(Fraction(x / top).limit_denominator(m)) for x in h])

    def _unpenalised_columns(self) -> tuple[np.ndarray, np.ndarray]:
        """X N, with a column of ones if the intercept is free, and the signs, of the rows that count."""
        p = self.problem
        counts = p.weights > 0.0
        E = p.X[counts] @ self.N
        E = np.asarray(E.toarray() if sp.issparse(E) else E, dtype=np.float64)
        return np.column_stack([E, np.ones(len(E))]) if p.fit_intercept else E, self.signs[counts]

    def _raise_if_proven(self, d: np.ndarray, t: float) -> None:
        """Raise NoMinimumError if (d, t) is such a direction beyond doubt."""
        p = self.problem
        t = t if p.fit_intercept else 0.0
        rows, columns = np.flatnonzero(p.weights > 0.0), np.flatnonzero(d)
        X = p.X[:, columns]
        sizes = np.asarray(abs(X) @ np.abs(d[columns]), dtype=np.float64) + abs(t)
        delta = np.asarray(X @ d[columns], dtype=np.float64) + t
        if not np.isfinite(delta[rows]).all() or not np.isfinite(sizes[rows]).all():
            return
        gain = (self.signs * delta)[rows]
        certain = (gain > (columns.size + 4) * EPS * sizes[rows]) & (sizes[rows] > 1e-290)
        open_rows = rows[~certain]
        if open_rows.size * max(columns.size, 1) > MAX_EXACT:
            return
        exact = [self._exact_gain(X, row, d[columns], t) for row in open_rows]
        if any(x is None for x in exact):
            return
        falling = int(certain.sum()) + sum(1 for x in exact if x)
        if falling:
            raise NoMinimumError(self._message(d, t, falling), d, t)

    def _exact_gain(self, X: Any, row: int, d: np.ndarray, t: float) -> Fraction | None:
        """sign_i delta_i in exact arithmetic; None if the loss of the row may rise."""
        x = X[[row]].toarray()[0] if sp.issparse(X) else X[row]
        delta = sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, d, strict=True)), Fraction(t))
        sign = int(self.signs[row])
        if delta == 0:
            return Fraction(0)
        return None if sign * delta <= 0 else sign * delta

    def _message(self, d: np.ndarray, t: float, falling: int) -> str:
        p = self.problem
        columns = np.flatnonzero(d)
        order = columns[np.argsort(-np.abs(d[columns]), kind="stable")][:SHOWN]
        named = ", ".join(str(j) for j in np.sort(order).tolist())
        more = f" and {columns.size - order.size} more" if columns.size > order.size else ""
        where = f"column{'s' if columns.size > 1 else ''} {named}{more} of X" if columns.size else ""
        parts = " and the intercept" if t and where else "the intercept" if t else ""
        rows = int(np.count_nonzero(p.weights > 0.0))
        return (
            f"the loss {type(p.loss).__name__} has no minimum: the coefficients of {where}{parts}, which are not penalised, "
            f"separate the rows. As they grow without bound, the losses of {falling} of {rows} rows fall for ever and none "
            "rises. Penalise these coefficients (alpha > 0, or a weight > 0 for these features), bound them "
            "(fenchel.regularizers.Bounded) or leave the columns out."
        )


def _largest(E: np.ndarray) -> np.ndarray:
    """The largest size in every column, 1 for columns of zeros."""
    scale = np.abs(E).max(axis=0)
    return np.where(scale > 0.0, scale, 1.0)


def _maximise(c: np.ndarray, A: np.ndarray, fixed: np.ndarray, seconds: float) -> np.ndarray | None:
    """argmax c'x subject to A x <= 0, fixed x = 0, |x_j| <= 1; None if it was not found in time."""
    from scipy.optimize import linprog

    equal = {"A_eq": fixed, "b_eq": np.zeros(len(fixed))} if len(fixed) else {}
    limit = {"time_limit": max(seconds, 0.01)}
    found = linprog(-c, A_ub=A, b_ub=np.zeros(len(A)), bounds=(-1.0, 1.0), method="highs", options=limit, **equal).x
    return None if found is None or not np.isfinite(found).all() else found


def falling_signs(problem: Any) -> np.ndarray | None:
    """For every row the sign of the change of its score along which its loss falls for ever; 0: there is none."""
    targets, place = np.unique(problem.y, return_inverse=True)
    signs = np.array([falling_sign(problem.loss, float(y)) for y in targets[:MAX_TARGETS]])
    signs = np.append(signs, np.zeros(max(targets.size - MAX_TARGETS, 0)))
    return signs[place.ravel()] if signs.any() else None


def falling_sign(loss: Any, y: float) -> float:
    """The sign of the change of a score along which the loss falls for ever; 0: it has a minimum.

    >>> from fenchel.losses import Hinge, Logistic, Poisson
    >>> falling_sign(Logistic(), 1.0), falling_sign(Hinge(), 1.0), falling_sign(Poisson(), 0.0), falling_sign(Poisson(), 2.0)
    (1.0, 0.0, -1.0, 0.0)
    """
    low, high = dual_domain(loss, y)
    for end, sign in ((high, 1.0), (low, -1.0)):
        if end == 0.0 and low < high and not reaches_0(loss, y, sign):
            return sign
    return 0.0
