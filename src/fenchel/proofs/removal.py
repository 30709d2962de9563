"""Scores without a row, from the dual point: intervals for all rows in one pass.

The dual point of all rows is one of the problem without row i, with v' = v + t (x_i - sum_j p_j h_j x_j): the others' u_j
become u_j + t h_j, so that they are balanced again where the intercept is free (h = 0 otherwise). R* is smooth in the norm
in which R is strongly convex, R*(v') <= R*(v) + <w_u, v' - v> + |v' - v|^2 / 2 with w_u = grad R*(v); besides,
loss_i(z) + loss_i*(u) >= u z. So the gap without row i, and with it a ball, follows from numbers that are known for every row:

    gap_i <= gap + p_i u_i <x_i, w_u - w> + p_i^2 u_i^2 |x_i|^2 / 2.

With a free intercept the score s of the row is bounded by two problems with a linear loss +-tau s in place of row i: their
optimal values lie at most tau s above, and at least tau s below that of the problem without the row.
With weights that are normalised again, R counts 1 - p_i times, and v' = (v + ...) / (1 - p_i).

Reference: Okumura, Suzuki and Takeuchi (KDD 2015) for the ball after changes of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.certificates.passes import clip_pass, conjugate_pass
from fenchel.certificates.scalar import certified_loss
from fenchel.proofs.curvature import Ends, is_quadratic
from fenchel.proofs.settings import Settings
from fenchel.proofs.spaces import EPS, Dual, KernelSpace, Reach, space_of
from fenchel.regularizers.metric import DiagonalMetric

if TYPE_CHECKING:
    from fenchel.result import Result

INSIDE = 0.999  # of the way to the end of a dual domain that a balanced dual variable may go
NOISE = 1e-12  # relative, of sums of a few terms


class Region(NamedTuple):
    """Scores at the centre of the ball without each row, and how far the optimum's may be from them, per row."""

    scores: np.ndarray
    width: np.ndarray


class Pair:
    """The numbers that the bounds of all rows consist of."""

    def __init__(self, result: Result, kept: np.ndarray):
        problem: Any = result.problem
        self.problem, self.result, self.kept = problem, result, kept
        self.space = space_of(problem)
        self.gap = max(result.certificate.gap, 0.0) + result.certificate.floor
        dual = self.space.dual(result.dual_point)
        self.known = dual is not None and np.isfinite(dual.error) and np.isfinite(self.gap)
        if not self.known:
            return
        assert dual is not None
        self.dual: Dual = dual
        u = result.dual_point
        self.u = np.asarray(u.toarray() if sp.issparse(u) else u, dtype=np.float64)
        self.coef = np.asarray(result.coef, dtype=np.float64)
        rows = self.space.training_rows()
        self.at: Reach = self.space.reach(rows, self.coef)
        self.at_dual: Reach = self.space.reach(rows, dual.coef)
        self.quadratic = problem.is_kernel or is_quadratic_at_zero(problem)
        self.value, self.dual_value = self._penalty(self.coef), self._penalty(dual.coef)
        self.length = self._length()
        change = (1.0 - kept) * (self.dual_value - self.value)
        noise = NOISE * (abs(self.value) + abs(self.dual_value)) + dual.error * self.length
        self.apart = float(np.sqrt(2.0 * self.gap))  # at least |w - w_u|, as the gap is at least R(w) + R*(v) - <v, w>
        if problem.is_kernel:
            sizes = np.abs(self.coef) @ self.at.rounding + np.abs(dual.coef) @ self.at_dual.rounding
            noise += problem.alpha * float(sizes)
        else:
            apart = float(self.space.norm(self.coef - dual.coef)) * (1.0 + 1e-8) + dual.error + NOISE * self.length
            self.apart = min(self.apart, apart)
        self.base = self.gap + change + (1.0 - kept) * noise

    def _penalty(self, coef: np.ndarray) -> float:
        problem = self.problem
        if problem.is_kernel:
            return 0.5 * np.square(self.space.norm(coef))
        if problem.is_vector:
            return float(problem.penalty.value(coef.T.ravel()))
        return float(problem.regularizer.value(coef))

    def _length(self) -> float:
        """|v| in the dual norm."""
        if self.quadratic:
            return float(np.sqrt(2.0 * self.dual_value)) * (1.0 + NOISE)
        from fenchel.certificates import scalar, vector

        problem, metric = self.problem, self.space.metric
        assert metric is not None and not isinstance(metric, bool)
        v = (
            vector.combined(problem, self.u)[0].T
            if problem.is_vector
            else scalar.combined(problem, problem.weights, self.u)[0]
        )
        return float(np.linalg.norm(metric.dual_norms(np.atleast_2d(v))))

    def squared(self, step: np.ndarray, length: np.ndarray, product: np.ndarray) -> np.ndarray:
        """|(1 - kept) v + step y|^2 for y with |y| = length and <w_u, y> = product; in general, by the triangle inequality."""
        beta = 1.0 - self.kept
        if not self.quadratic:
            return np.square(beta * self.length + np.abs(step) * length)
        size = np.square(beta * self.length) + np.square(step * length)
        return np.maximum(size + 2.0 * beta * step * product, 0.0) + NOISE * size


def is_quadratic_at_zero(problem: Any) -> bool:
    """Whether R is a quadratic form, so that grad R*(v) is linear in v."""
    given = problem.given if problem.is_vector else problem.regularizer
    return is_quadratic(given) and not hasattr(given, "center")


def ball_regions(pair: Pair) -> Region:
    """The ball without each row, for problems without free intercepts; of one or several scores, and kernels."""
    problem, kept, dual = pair.problem, pair.kept, pair.dual
    p, u = problem.weights, pair.u if pair.u.ndim == 2 else pair.u[:, None]
    z, zu = (part.scores if part.scores.ndim == 2 else part.scores[:, None] for part in (pair.at, pair.at_dual))
    reach, rounding = pair.at.per_distance, pair.at.rounding + pair.at_dual.rounding
    a = p * np.linalg.norm(u, axis=1)
    along = p * np.einsum("ij,ij->i", u, zu)
    off = rounding + reach * dual.error
    squares = pair.squared(a, reach, np.divide(along, a, out=np.zeros(a.size), where=a > 0.0))
    gap = pair.base + p * np.einsum("ij,ij->i", u, zu - z) + a * off * np.sqrt(z.shape[1]) + squares / (2.0 * kept)
    gap += NOISE * (np.abs(along) + squares)
    if pair.quadratic:
        center = 0.5 * (z + (zu + (p * np.square(reach))[:, None] * u) / kept[:, None])
        apart = np.maximum(np.sqrt(squares) / kept * (1.0 - NOISE) - pair.apart, 0.0)
        square = gap / kept - 0.25 * np.square(apart)
        far = np.sqrt(np.maximum(square, 0.0) + EPS * gap) + dual.error / kept
    else:
        center, far = z, np.sqrt(2.0 * np.maximum(gap, 0.0) / kept)
    size = np.abs(z).max(axis=1) + np.abs(center).max(axis=1)
    width = np.where(reach > 0.0, reach * far, 0.0) * (1.0 + 1e-9) + 2.0 * rounding + 16.0 * EPS * size
    return Region(
        center if pair.u.ndim == 2 else center[:, 0] + problem.offset, width + 8.0 * EPS * np.abs(problem.offset)
    )


def probed_intervals(pair: Pair, tuning: Settings) -> Ends:
    """Intervals of one score per row by linear losses in its place; the intercept may be free."""
    problem, p, u = pair.problem, pair.problem.weights, pair.u
    n, b = problem.n, float(pair.result.intercept)
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    balance = _Balance(pair, tuning)
    z = pair.at.scores + b
    length, product = balance.differences()
    off = pair.at.rounding + pair.at_dual.rounding + pair.dual.error * length
    own, best = p * np.abs(u), np.sqrt(2.0 * pair.gap) / np.maximum(length, 1e-300)
    for size in (*(k * own for k in tuning.slopes), *(k * best for k in tuning.probes)):
        for sign in (-1.0, 1.0):
            tau = sign * size
            with np.errstate(all="ignore"):  # a row without which nothing can be balanced has an infinite t
                t = (p * u - tau) / (1.0 - p * balance.h)
                squares = pair.squared(t, length, product)
                linear = t * product - p * (u + t * balance.h) * z
                value = pair.base + balance.rise(t) + linear + squares / (2.0 * pair.kept)
                terms = np.abs(p * u * z) + np.abs(t) * (np.abs(product) + np.abs(z)) + squares
                value += NOISE * terms + (p * np.abs(u) + np.abs(t)) * off
                bound = -value / tau
            bound = np.where(np.isfinite(bound), bound, -sign * np.inf)
            if sign > 0.0:
                low = np.maximum(low, bound)
            else:
                high = np.minimum(high, bound)
    slack = 16.0 * EPS * (np.abs(z) + np.abs(problem.offset))
    return Ends(low + problem.offset - slack, high + problem.offset + slack)


class _Balance:
    """The direction h in which a dual point is balanced, sum p h = 1, and the cost of a step; h = 0 without an intercept."""

    def __init__(self, pair: Pair, tuning: Settings):
        problem = pair.problem
        self.pair, self.problem = pair, problem
        self.h = np.zeros(problem.n)
        if not problem.fit_intercept:
            return
        low, high, inside = np.empty(problem.n), np.empty(problem.n), np.empty(problem.n)
        clip_pass(problem.compiled_loss, problem.y, pair.u, low, high, inside)
        room = np.minimum(high - pair.u, pair.u - low)
        room = np.where(np.isfinite(room), np.maximum(room, 0.0), 1.0)
        total = float(problem.weights @ room)
        self.most = INSIDE * total if total > 0.0 else 0.0
        if not np.isfinite(low).any() and not np.isfinite(high).any():
            self.most = np.inf
        if total > 0.0:
            self.h = room / total
        top = 16.0 * float(np.max(problem.weights * np.abs(pair.u)))
        steps = min(top, self.most) * tuning.ratio ** -np.arange(float(tuning.grid))
        self.steps = np.concatenate([-steps, [0.0], steps[::-1]])
        loss = certified_loss(problem)
        sums = [
            conjugate_pass(loss, problem.y, problem.weights, problem.offset, pair.u + t * self.h) for t in self.steps
        ]
        middle = sums[steps.size]
        self.rises = np.array([found[0] - middle[0] for found in sums])
        self.rises += 16.0 * EPS * np.array([found[1] + middle[1] for found in sums])

    def rise(self, t: np.ndarray) -> np.ndarray:
        """sum p (loss*(u + t h) - t h offset) - sum p loss*(u), at most: it is convex in t, so that chords are above it."""
        if not self.problem.fit_intercept:
            return np.zeros(t.size)
        value = np.interp(t, self.steps, self.rises)
        return np.where((t >= self.steps[0]) & (t <= self.steps[-1]) & (self.h.any()), value, np.inf)

    def differences(self) -> tuple[np.ndarray, np.ndarray]:
        """(|x_i - sum p h x|, <w_u, x_i - sum p h x>) for all rows, the length from above."""
        pair, problem = self.pair, self.problem
        length, product = pair.at.per_distance, pair.at_dual.scores
        if not problem.fit_intercept or not self.h.any():
            return length, product
        a = problem.weights * self.h
        mean = float(a @ product)
        raised = self._raised(a)
        if raised is None:
            largest = float(np.max(length))
            return length + largest, product - mean
        reach = pair.space.reach(pair.space.training_rows(), raised)
        squares = np.square(length) - 2.0 * reach.scores + float(a @ reach.scores)
        squares += NOISE * (np.square(length) + np.abs(reach.scores)) + 2.0 * reach.rounding + float(a @ reach.rounding)
        return np.sqrt(np.maximum(squares, 0.0)), product - mean

    def _raised(self, a: np.ndarray) -> np.ndarray | None:
        """M^-1 sum a x as coefficients; None if it is not known in closed form."""
        problem, space = self.problem, self.pair.space
        if isinstance(space, KernelSpace):
            return a / problem.alpha
        if isinstance(space.metric, DiagonalMetric) and (space.metric.m > 0.0).all():
            return np.asarray(problem.X.T @ a, dtype=np.float64) / space.metric.m
        return None
