"""Scores without a row, from the curvature of the losses: intervals for all rows in a few passes.

Let F be the objective without row i, divided so that the losses keep their weights p_j, and (w, b) any point. If R is
quadratic,

    0 = F'(w*, b*) = g + H (w* - w, b* - b),     g = F'(w, b),

where H = sum_{j != i} p_j k_j x_j x_j' + R'' and k_j is a mean of the curvature of loss j between both scores. If the score of
row j moves by at most rho_j, then k_j lies between the least and the largest curvature within rho_j of z_j, and H between two
matrices, whose inverses bound the score <x_i, w*> + b*. That no score moves by more than rho_j follows from the bound itself:
it holds for losses that are continued beyond rho_j with a curvature in the same range, and their optimum is then the optimum.
Without row i the matrices change by one product x_i x_i', so that factors of two matrices serve all rows.

If R is not quadratic but strongly convex, the lower matrix alone bounds the distance, as <-g, w* - w> >= |w* - w|_H^2.

Reference: the step -H^-1 g is the approximate leave-one-out of Rad and Maleki (JRSSB 2020); this is a bound for its error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.certificates import scalar
from fenchel.certificates.passes import slopes_pass
from fenchel.compile.kernel import kernel
from fenchel.losses import Exponential, Huber, Logistic, Poisson, SmoothedHinge, Squared, SquaredHinge
from fenchel.losses.protocol import curvature
from fenchel.proofs.settings import Settings
from fenchel.proofs.spaces import BLOCK, EPS, space_of
from fenchel.regularizers import L2, Quadratic, Shifted
from fenchel.regularizers.metric import DiagonalMetric

if TYPE_CHECKING:
    from fenchel.problems.scalar import Problem
    from fenchel.result import Result

# The score at which the curvature is largest, by loss. It increases up to there and decreases beyond, so that its least value
# in an interval is at an end. Losses that are not listed are taken to have no curvature.
PEAKS: dict[type, Callable[[Any, np.ndarray], Any]] = {
    Exponential: lambda loss, y: -np.inf * y,
    Huber: lambda loss, y: y,
    Logistic: lambda loss, y: np.zeros(y.size),
    Poisson: lambda loss, y: np.full(y.size, np.inf),
    SmoothedHinge: lambda loss, y: y * (1.0 - 0.5 * loss.gamma),
    Squared: lambda loss, y: y,
    SquaredHinge: lambda loss, y: -np.inf * y,
}


LEAST_LEFT = 1e-2  # of a matrix in the direction of a row after its removal: for less, rounding errors are too large
NOISE = 1e-10  # relative, of quadratic forms: about a hundred times their rounding errors
TINY = 1e-300


class Ends(NamedTuple):
    """Lower and upper ends, an entry per row."""

    low: np.ndarray
    high: np.ndarray


class _Point(NamedTuple):
    """A point with the gradient of the objective, and what rounding can change of it."""

    coef: np.ndarray
    z: np.ndarray  # scores with offset and intercept
    sizes: np.ndarray  # of the terms of a score
    slopes: np.ndarray
    penalty: np.ndarray  # a subgradient of R there, with a 0 for the intercept
    penalty_size: np.ndarray  # of its terms
    gradient: np.ndarray


def curvature_intervals(
    result: Result, kept: np.ndarray, enough: Callable[[Ends], bool], tuning: Settings
) -> Ends | None:
    """Intervals of the scores without each row, where `kept` is 1 - p_i, or 1 with the plain convention; None if the problem
    is not one of this kind. `enough` says whether narrower ones are not needed."""
    problem: Any = result.problem
    metric = space_of(problem).metric if problem.is_scalar else None
    size = problem.d + problem.has_intercept if problem.is_scalar else 0
    small = size <= tuning.max_size and size * size * problem.n <= tuning.max_work
    if type(problem.loss) not in PEAKS or metric is None or not small:
        return None
    quadratic = is_quadratic(problem.regularizer)
    if not quadratic and not (isinstance(metric, DiagonalMetric) and problem.regularizer.strongly_convex):
        return None
    A = np.zeros((size, size))
    A[: problem.d, : problem.d] = metric.m * np.eye(problem.d) if isinstance(metric, DiagonalMetric) else _dense(metric)
    point = _point(result, A[: problem.d, : problem.d], quadratic)
    return _Bounds(problem, point, A, kept, quadratic).intervals(enough, tuning) if point is not None else None


def is_quadratic(regularizer: Any) -> bool:
    """Whether R is a quadratic function, whose Hessian is the matrix of its metric."""
    inner = regularizer.regularizer if type(regularizer) is Shifted else regularizer
    return type(inner) in (L2, Quadratic)


def _dense(metric: Any) -> np.ndarray:
    return metric.alpha * (metric.K.toarray() if sp.issparse(metric.K) else metric.K)


def _point(result: Result, A: np.ndarray, quadratic: bool) -> _Point | None:
    """The coefficients of the result, or grad R*(v) if R is not quadratic: v is a subgradient there."""
    problem: Any = result.problem
    if quadratic:
        coef = np.asarray(result.coef)
        penalty = np.asarray(problem.regularizer.gradient(coef))
        size = np.abs(A) @ (np.abs(coef) + np.abs(getattr(problem.regularizer, "center", 0.0)))
    elif result.dual_point is None:
        return None
    else:
        penalty = scalar.combined(problem, problem.weights, result.dual_point)[0]
        coef, size = np.asarray(problem.regularizer.primal_from_dual(penalty)), np.abs(penalty)
    z, sizes, u = np.empty(problem.n), np.empty(problem.n), np.empty(problem.n)
    scalar.primal_sums(problem, coef, float(result.intercept), z, sizes)
    if not quadratic:  # the coefficients have rounding errors proportional to those of v
        sizes += np.asarray(abs(problem.X) @ (size / np.diagonal(A)))
    slopes_pass(problem.compiled_loss, problem.y, z, u)
    a = problem.weights * u
    gradient = _with_intercept(problem, np.asarray(problem.X.T @ a, dtype=np.float64) + penalty, float(a.sum()))
    point = _Point(coef, z, sizes, u, _with_intercept(problem, penalty, 0.0), size, gradient)
    return point if all(np.isfinite(part).all() for part in point) else None


def _with_intercept(problem: Problem, vector: np.ndarray, last: float) -> np.ndarray:
    return np.append(vector, last) if problem.has_intercept else vector


class _Forms(NamedTuple):
    """For the inverse of a matrix without row i, and g of row i: x'x, x'g and g'g in it, an entry per row.

    `size` is that of the terms of g'g, which may cancel.
    """

    xx: np.ndarray
    xg: np.ndarray
    gg: np.ndarray
    size: np.ndarray


class _Factored(NamedTuple):
    """Of the inverse of a matrix: x'x of all rows, the forms without each row, the lengths of unit vectors, and the relative
    rounding error of forms."""

    lengths: np.ndarray
    forms: _Forms
    units: np.ndarray
    noise: float


class _Bounds:
    """The computation for one point."""

    def __init__(self, problem: Any, point: _Point, A: np.ndarray, kept: np.ndarray, quadratic: bool):
        self.problem, self.point, self.A, self.kept, self.quadratic = problem, point, A, kept, quadratic
        self.p = problem.weights
        self.peak = PEAKS[type(problem.loss)](problem.loss, problem.y)
        self.used = self.p > 0.0

    def intervals(self, enough: Callable[[Ends], bool], tuning: Settings) -> Ends | None:
        """Intersected over several reaches: a shorter one has matrices closer to each other, but covers fewer rows."""
        n = self.problem.n
        found = Ends(np.full(n, -np.inf), np.full(n, np.inf))
        start = self._factored(self._curvatures(np.zeros(n))[0], float(self.kept.min()), -1.0)
        if start is None:
            return None
        lengths, first = start.lengths, start.forms
        reaches = np.sort(np.sqrt(first.gg * first.xx / np.maximum(lengths, TINY)))
        known = reaches[np.isfinite(reaches)]
        for share in tuning.shares if known.size else ():
            reach = tuning.margin * known[int(share * (known.size - 1))]
            rho = np.sqrt(lengths) * reach * (1.0 + 1e-9)
            low, high = self._curvatures(rho)
            lower = self._factored(low, float(self.kept.min()), -1.0)
            upper = self._factored(high, float(self.kept.max()), 1.0) if self.quadratic else None
            if lower is None or (self.quadratic and upper is None):
                continue
            ends = self._ends(lower, upper, rho, high)
            found = Ends(np.maximum(found.low, ends.low), np.minimum(found.high, ends.high))
            if enough(found):
                break
        return found

    def _curvatures(self, rho: np.ndarray) -> Ends:
        """The least and the largest curvature within rho of every score."""
        z, problem = self.point.z, self.problem
        wide = rho + 8.0 * EPS * self.point.sizes
        ends = np.empty((3, z.size))
        for at, out in zip((z - wide, z + wide, np.clip(self.peak, z - wide, z + wide)), ends, strict=True):
            curvature_pass(problem.compiled_loss, problem.y, at, out)
        least = np.where(np.isfinite(ends[:2]).all(axis=0), np.minimum(ends[0], ends[1]), 0.0)
        return Ends(least * (1.0 - 1e-12), ends.max(axis=0) * (1.0 + 1e-12))

    def _factored(self, k: np.ndarray, share: float, side: float) -> _Factored | None:
        """For the matrix H = sum p k x x' + share A, made a little smaller (side -1) or larger by its rounding errors."""
        from scipy.linalg.lapack import dpotrf, dtrtri

        pk = np.where(self.used, self.p * k, 0.0)
        if not np.isfinite(pk).all():
            return None
        H = share * self.A + self._products(pk)
        scale = np.sqrt(np.diagonal(H))
        if not (scale > 0.0).all():
            return None
        H = H / np.outer(scale, scale)
        size = len(H)
        H[np.diag_indices(size)] += side * 4.0 * EPS * size * (BLOCK + size + self.problem.n // BLOCK)
        inverse, failed = dtrtri(np.tril(dpotrf(H, lower=1)[0]), lower=1)
        if failed or not np.isfinite(inverse).all() or not (np.diagonal(inverse) > 0.0).all():
            return None
        noise = NOISE + 16.0 * EPS * size * float(np.linalg.norm(inverse) * np.sqrt(np.trace(H)))
        inverse = inverse / scale  # H^-1 = inverse' inverse
        g = inverse @ np.column_stack([self.point.gradient, self.point.penalty])
        xx, xe, xr = np.empty((3, self.problem.n))
        for span, forms in self._rows_times(inverse.T):
            xx[span] = np.einsum("ij,ij->i", forms, forms)
            xe[span], xr[span] = (forms @ g).T
        removed = self._without(pk, xx, xe, xr, g.T @ g, noise)
        return _Factored(xx, removed, np.linalg.norm(inverse, axis=0), noise)

    def _without(
        self, pk: np.ndarray, xx: np.ndarray, xe: np.ndarray, xr: np.ndarray, gg: np.ndarray, noise: float
    ) -> _Forms:
        """The forms after the removal of each row, by the formula of Sherman and Morrison; inf where there is none."""
        left = 1.0 - pk * xx
        left = np.where(left > LEAST_LEFT, left, np.nan)
        f, s, t = pk / left, self.p * self.point.slopes, 1.0 - self.kept
        x, e, r = xx / left, xe / left, xr / left
        ee, er, rr = gg[0, 0] + f * xe * xe, gg[0, 1] + f * xe * xr, gg[1, 1] + f * xr * xr
        square = ee + s * s * x + t * t * rr - 2.0 * s * e - 2.0 * t * er + 2.0 * s * t * r
        size = ee + s * s * x + t * t * rr
        square = np.maximum(square, 0.0) + 0.01 * noise * size
        return _Forms(*(np.nan_to_num(part, nan=np.inf) for part in (x, e - s * x - t * r, square, size)))

    def _ends(self, lower: _Factored, upper: _Factored | None, rho: np.ndarray, high: np.ndarray) -> Ends:
        """The intervals of the rows without which no score leaves its range."""
        lengths, low = lower.lengths, lower.forms
        error = float(self._gradient_error(high) @ lower.units)
        gradient = np.sqrt(low.gg) + error
        with np.errstate(all="ignore"):
            reach = gradient * np.sqrt(low.xx / np.maximum(lengths, TINY))  # |g| / sqrt(1 - p k x'H^-1x)
            covered = reach <= float(np.min(np.where(self.used & (lengths > 0.0), rho / np.sqrt(lengths), np.inf)))
            length = np.sqrt(low.xx)
            if upper is None:  # |D + H^-1g / 2| <= |g| / 2
                middle, width = -0.5 * low.xg, 0.5 * length * gradient
            else:
                other = upper.forms
                middle = -0.5 * (low.xg + other.xg)
                x2 = np.maximum(low.xx - other.xx, 0.0) + lower.noise * low.xx
                g2 = np.maximum(low.gg - other.gg, 0.0) + lower.noise * low.gg
                width = 0.5 * np.sqrt(x2 * g2)
            width = width + length * (error + lower.noise * np.sqrt(low.size))
            width += 16.0 * EPS * (self.point.sizes + np.abs(middle))
        covered &= np.isfinite(width) & np.isfinite(middle)
        z = self.point.z
        return Ends(np.where(covered, z + middle - width, -np.inf), np.where(covered, z + middle + width, np.inf))

    def _gradient_error(self, high: np.ndarray) -> np.ndarray:
        """What rounding can change of the entries of the gradient."""
        problem, point = self.problem, self.point
        noise = problem.n + 16.0
        each = self.p * (noise * np.abs(point.slopes) + 16.0 * high * point.sizes)
        total = _with_intercept(problem, np.asarray(abs(problem.X).T @ each, dtype=np.float64), float(each.sum()))
        penalty = _with_intercept(problem, point.penalty_size, 0.0)
        return EPS * (total + noise * (np.abs(point.penalty) + penalty))

    def _products(self, pk: np.ndarray) -> np.ndarray:
        """sum pk x x', with the intercept's 1 as last entry of every x."""
        problem, X = self.problem, self.problem.X
        H, sums = np.zeros((problem.d, problem.d)), np.zeros(problem.d)
        for a in range(0, problem.n, BLOCK):
            rows, weights = X[a : a + BLOCK].astype(np.float64), pk[a : a + BLOCK]
            weighted = rows.multiply(weights[:, None]).tocsr() if sp.issparse(rows) else rows * weights[:, None]
            found = rows.T @ weighted
            H += found.toarray() if sp.issparse(found) else found
            sums += rows.T @ weights
        return np.block([[H, sums[:, None]], [sums, pk.sum()]]) if problem.has_intercept else H

    def _rows_times(self, factor: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of rows, with the intercept's 1, times a matrix."""
        problem = self.problem
        for a in range(0, problem.n, BLOCK):
            rows = np.asarray(problem.X[a : a + BLOCK] @ factor[: problem.d], dtype=np.float64)
            yield slice(a, a + BLOCK), rows + factor[-1] if problem.has_intercept else rows


@kernel
def curvature_pass(loss, y, z, out):
    """out_i = curvature(z_i, y_i)."""
    for i in range(z.size):
        out[i] = curvature(loss, z[i], y[i])
