"""The certificate of problems with several scores per row, recomputed from the definitions: trusted code.

P(W) = sum_i p_i loss(z_i, y_i) + R(W),  z_i = W'x_i (+ b)
D(U) = -sum_i p_i loss*(u_i, y_i) - R*(V),  V = -sum_i p_i x_i u_i',  and sum_i p_i u_i = 0 if intercepts are free

W is (features, m) here. As in `fenchel.certify`, a dual point that is not quite feasible is moved first: each u_i into the
domain of loss*, and all of them onto sum p u = 0 by a convex combination with a point that compensates for the imbalance. A
sparse U stays sparse, except for free intercepts and losses without a largest slope; its value is that of the same numbers in
an array. The passes are defined in this file; it imports no kernel, engine or solver.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.certificates.assemble import Share, assemble, lower_bound, none_like, sum_of
from fenchel.certificates.scalar import CHUNK, WIDE, Certifier, DualValue, scaled_point
from fenchel.compile.kernel import kernel
from fenchel.data.accept import as_rows, block
from fenchel.data.blas import one_blas_thread
from fenchel.data.dense import Dense
from fenchel.data.dual_matrix import NUMBERS, DualMatrix, accept_dual_matrix, changed_rows, dense
from fenchel.data.row_blocks import map_row_blocks, map_row_ranges, slices
from fenchel.data.rows import row_column, row_entry, row_span, row_vector, sqnorm
from fenchel.data.sums import add
from fenchel.data.types import Rows
from fenchel.errors import InputError
from fenchel.multiclass.protocol import conjugate, dual_prox, into_domain, slopes, value
from fenchel.problems.vector import VectorProblem
from fenchel.regularizers import L2
from fenchel.result import Certificate

SMOOTHINGS = 10.0 ** np.arange(-9, 1)
ROWS_AT_ONCE = 512
SWEEPS, ROUNDS = 20, 30
MOST_PRODUCTS = 3e10  # of these rounds, some tens of seconds, unless the first one takes more
GOOD = 1e-9  # relative gap at which the improvement of a dual point stops


@kernel
def vector_scores_pass(rows, W, features, Z, size):
    """Z_i = W'x_i, and size_i = |sum_j |x_ij W_j||_2."""
    m = W.shape[1]
    absolute = np.empty(m)
    for i in range(np.uint64(Z.shape[0])):
        z = Z[i]
        z[:] = 0.0
        absolute[:] = 0.0
        if W.shape[0] > features:
            for c in range(m):
                z[c] = W[features, c]
                absolute[c] = abs(z[c])
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            x, j = row_entry(rows, i, k), row_column(rows, k)
            for c in range(m):
                term = x * W[j, c]
                z[c] += term
                absolute[c] += abs(term)
        size[i] = np.sqrt(np.sum(absolute * absolute))


@kernel
def vector_value_pass(loss, y, p, Z, size):
    """(sum p loss, sum p |loss|); infinite if scores have overflowed."""
    total, correction, magnitude = 0.0, 0.0, 0.0
    for i in range(Z.shape[0]):
        if not np.isfinite(size[i]):  # the loss may be finite all the same
            return np.inf, np.inf
        if p[i] > 0.0:
            term = p[i] * value(loss, Z[i], y[i])
            magnitude += abs(term)
            total, correction = add(total, correction, term)
    return total + correction, magnitude


@kernel
def vector_slopes_pass(loss, y, Z, U):
    """u_i = slopes at z_i."""
    for i in range(Z.shape[0]):
        slopes(loss, Z[i], y[i], U[i])


@kernel
def vector_domain_pass(loss, y, U):
    """Move every u_i into the domain of loss*."""
    for i in range(U.shape[0]):
        into_domain(loss, U[i], y[i])


@kernel
def vector_conjugate_pass(loss, y, p, duals, work):
    """(sum p loss*(u), the sum of the magnitudes of its terms)."""
    total, correction, magnitude = 0.0, 0.0, 0.0
    for i in range(np.uint64(p.size)):
        if p[i] > 0.0:
            term = p[i] * conjugate(loss, row_vector(duals, i, work), y[i])
            magnitude += abs(term)
            total, correction = add(total, correction, term)
    return total + correction, magnitude


@kernel(fastmath=True)
def row_size(rows, i):
    """|x_i|."""
    return np.sqrt(sqnorm(rows, i))


@kernel
def vector_combine_pass(rows, p, duals, chunk, part, V):
    """V = -sum_i p_i x_i u_i', added up chunk by chunk; returns sum_i p_i |u_i| |x_i|, which bounds its rounding error."""
    spread, filled = 0.0, 0
    V[:] = 0.0
    work = np.empty(V.shape[1])
    for i in range(np.uint64(p.size)):
        u = row_vector(duals, i, work)
        if p[i] > 0.0:
            start, stop = row_span(rows, i)
            for k in range(start, stop):
                x, j = p[i] * row_entry(rows, i, k), row_column(rows, k)
                for c in range(u.size):
                    part[j, c] += x * u[c]
            spread += p[i] * np.sqrt(np.sum(u * u)) * row_size(rows, i)
        filled += 1
        if filled == chunk or i + np.uint64(1) == p.size:
            V -= part
            part[:] = 0.0
            filled = 0
    return spread


def combined(problem: VectorProblem, U: DualMatrix) -> tuple[np.ndarray, float]:
    """(-sum_i p_i x_i u_i', the size that its rounding is proportional to)."""
    p, shape, duals = problem.weights, (problem.features, problem.outputs), as_rows(U)
    chunk = max(CHUNK, int(problem.features * problem.n / (problem.X.size if problem.X.size else 1)))

    def work(span: slice, rows: Rows) -> tuple[np.ndarray, float]:
        if isinstance(rows, Dense):
            return dense_combined(rows.values, p[span], U[span])
        part, V = np.zeros(shape), np.empty(shape)
        return V, vector_combine_pass(rows, p[span], block(duals, span.start, span.stop), chunk, part, V)

    total, spread = np.zeros(shape), 0.0
    with one_blas_thread():
        for V, more in map_row_blocks(problem.rows, problem.n, work, least=WIDE * problem.d):
            total += V
            spread += more
    return total, spread


def dense_combined(X: np.ndarray, p: np.ndarray, U: DualMatrix) -> tuple[np.ndarray, float]:
    """(-sum_i p_i x_i u_i', sum_i p_i |u_i| |x_i|), some rows at a time by BLAS."""
    V, spread = np.zeros((X.shape[1], U.shape[1])), 0.0
    for at in portions(p.size, U.shape[1]):
        x, weighted = np.asarray(X[at], dtype=np.float64), p[at, None] * dense(U[at])
        V -= x.T @ weighted
        used = p[at] > 0.0
        spread += float(norms(x)[used] @ norms(weighted)[used])
    return V, spread


def norms(A: np.ndarray) -> np.ndarray:
    """The length of every row."""
    return np.sqrt(np.einsum("ij,ij->i", A, A))


def conjugates(problem: VectorProblem, U: DualMatrix) -> tuple[float, float]:
    """(sum p loss*(u), the sum of the magnitudes of its terms)."""
    duals = as_rows(U)

    def work(span: slice) -> tuple[float, float]:
        part, room = block(duals, span.start, span.stop), np.empty(problem.outputs)
        return vector_conjugate_pass(problem.compiled_loss, problem.y[span], problem.weights[span], part, room)

    found = list(map_row_ranges(problem.n, work))
    return sum_of([total for total, _ in found]), sum(magnitude for _, magnitude in found)


def vector_dual_value(problem: VectorProblem, U: DualMatrix) -> DualValue:
    """D at a feasible point near U; -inf if there is none."""
    U, usable = feasible_or_zero(problem, U)
    if not usable:
        return DualValue(-np.inf, U)
    share = dual_share(problem, U)
    found = lower_bound(problem.penalty, share, lambda scale: with_conjugates(problem, share.scaled(scale), scale * U))
    return DualValue(found.dual, scaled_point(found.scale, U))


def feasible_or_zero(problem: VectorProblem, U: DualMatrix) -> tuple[Any, bool]:
    """(a feasible point near U, True), or (0, False) if U is not a dual point."""
    try:
        return feasible_matrix(problem, accept_dual_matrix(problem, U)), True
    except InputError:  # an invalid dual point of a solver
        return (sp.csr_matrix if sp.issparse(U) else np.zeros)(problem.dual_shape), False


def dual_share(problem: VectorProblem, U: DualMatrix) -> Share:
    """The contribution of all rows to D."""
    V, spread = combined(problem, U)
    return with_conjugates(problem, Share(V.ravel(), spread=(spread,)), U)


def with_conjugates(problem: VectorProblem, share: Share, U: DualMatrix) -> Share:
    """The share, with the gain of a dual point."""
    total, magnitude = conjugates(problem, U)
    balance = problem.weights @ U if problem.free else np.zeros(1)
    return share._replace(gain=(-total,), gain_size=(magnitude,), balance=balance)


def feasible_matrix(problem: VectorProblem, U: DualMatrix) -> Any:
    """A copy of U with every row in the domain of loss*, balanced if intercepts are free; sparse if U is and they are not."""
    if sp.issparse(U) and not problem.free:
        loss, y = problem.compiled_loss, problem.y
        return changed_rows(U, lambda span, rows: vector_domain_pass(loss, y[span], rows))
    U, loss, y = np.array(dense(U), dtype=np.float64), problem.compiled_loss, problem.y
    deque(map_row_ranges(problem.n, lambda span: vector_domain_pass(loss, y[span], U[span])), maxlen=0)
    return balanced(U, balance_of(problem, problem.weights @ U), problem.y) if problem.free else U


def balance_of(problem: VectorProblem, rest: np.ndarray) -> Any:
    """The correction for sum_i p_i u_i = rest: the mean is subtracted for several targets, rows of classes are mixed."""
    return rest if problem.several_targets else making_up(problem.masses(), rest, even_transfer(problem))


def even_transfer(problem: VectorProblem) -> float | None:
    """How much of a row of any class may be transferred to all other classes alike; None: one class alone may get all."""
    return problem.loss.even_transfer(problem.outputs) if hasattr(problem.loss, "even_transfer") else None


def balanced(U: np.ndarray, balance: Any, y: np.ndarray) -> np.ndarray:
    """U with sum_i p_i u_i = 0 over all rows, of which these have the targets y."""
    if isinstance(balance, np.ndarray):
        return U - balance
    share, towards = balance
    return (1.0 - share) * U + share * towards[y]


def making_up(mass: np.ndarray, rest: np.ndarray, even: float | None = None) -> tuple[float, np.ndarray]:
    """(share s, a matrix with a row per class): (1 - s) u_i + s (row y_i) is balanced if sum p u is `rest`, `mass` being
    the weight of every class.

    Rows of class j can transfer up to all of the mass of their class to the others, u = t (e_k - e_j) with t <= 1; with `even`,
    up to that share to all others alike. A convex combination with such a point removes the imbalance; s is as small as
    possible.
    """
    m = mass.size
    give, take = np.maximum(rest, 0.0), np.maximum(-rest, 0.0)
    if not give.any() or not take.any():
        return 0.0, np.zeros((m, m))
    if even is not None:
        return _making_up_evenly(mass, rest, even)
    share = float(np.max(give / mass))
    share /= 1.0 + share  # (1 - share) rest = share mass t at t = 1, for the class with the largest imbalance
    t = (1.0 - share) * give / (share * mass)
    return share, np.outer(t, take / take.sum()) - np.diag(t)


def _making_up_evenly(mass: np.ndarray, rest: np.ndarray, even: float) -> tuple[float, np.ndarray]:
    """`making_up` by t_j (mean of e_k over k != j - e_j), 0 <= t_j <= even: the sum over the rows has the entries
    A - (m mass_k t_k) / (m - 1), one of the t_k being 0."""
    m = mass.size
    moved = (m - 1) / m * (rest - rest.min()) / mass  # the t_k if s = 1/2
    share = float(np.max(moved)) / even
    share /= 1.0 + share
    t = (1.0 - share) * moved / share
    return share, (t[:, None] - m * np.diag(t)) / (m - 1)


def vector_slopes_at(problem: VectorProblem, w: np.ndarray, b: float = 0.0) -> np.ndarray:
    """The slopes of all losses at w."""
    return slopes_of(problem, primal_sums(problem, w).scores)


def slopes_of(problem: VectorProblem, Z: np.ndarray) -> np.ndarray:
    """The slopes of all losses at the scores Z."""
    U, loss, y = np.empty(problem.dual_shape), problem.compiled_loss, problem.y
    deque(map_row_ranges(problem.n, lambda span: vector_slopes_pass(loss, y[span], Z[span], U[span])), maxlen=0)
    return U


class PrimalSums(NamedTuple):
    """The risk, the sum of the magnitudes of its terms, the scores, and the magnitudes of their rounding errors."""

    risk: float
    magnitude: float
    scores: np.ndarray
    sizes: np.ndarray


def primal_sums(problem: VectorProblem, w: np.ndarray, keep: bool = True) -> PrimalSums:
    """The risk at w with its rounding magnitudes; without `keep` the scores are not stored."""
    Z, size = np.empty(problem.dual_shape if keep else (0, 0)), np.empty(problem.n)
    W = np.ascontiguousarray(w.reshape(-1, problem.outputs))
    absolute, features = np.abs(W), problem.features

    def work(span: slice, rows: Rows) -> tuple[list[float], float]:
        totals, magnitude = [], 0.0
        for at in portions(span.stop - span.start, problem.outputs):
            here, part = slice(span.start + at.start, span.start + at.stop), block(rows, at.start, at.stop)
            scores = Z[here] if keep else np.empty((at.stop - at.start, problem.outputs))
            if isinstance(part, Dense):
                dense_scores(part.values, W, absolute, features, scores, size[here])
            else:
                vector_scores_pass(part, W, features, scores, size[here])
            arguments = (problem.y[here], problem.weights[here], scores, size[here])
            total, more = vector_value_pass(problem.compiled_loss, *arguments)
            totals.append(total)
            magnitude += more
        return totals, magnitude

    with one_blas_thread():
        found = list(map_row_blocks(problem.rows, problem.n, work))
    totals = [total for some, _ in found for total in some]
    return PrimalSums(sum_of(totals), sum(magnitude for _, magnitude in found), Z, size)


def dense_scores(
    X: np.ndarray, W: np.ndarray, absolute: np.ndarray, features: int, Z: np.ndarray, size: np.ndarray
) -> None:
    """Z_i = W'x_i, and size_i = |sum_j |x_ij W_j||_2, by BLAS."""
    x = np.asarray(X, dtype=np.float64)
    np.matmul(x, W[:features], out=Z)
    sizes = np.abs(x) @ absolute[:features]
    if W.shape[0] > features:
        Z += W[features]
        sizes += absolute[features]
    size[:] = norms(sizes)


def portions(n: int, outputs: int) -> Iterator[slice]:
    """n rows of so many scores, some at a time: what is computed of them stays in the cache, and takes little memory."""
    step = max(min(ROWS_AT_ONCE, NUMBERS // outputs), 1)
    for k in range(0, n, step):
        yield slice(k, min(k + step, n))


def share_of(
    problem: VectorProblem, w: np.ndarray, U: DualMatrix, sums: PrimalSums | None = None
) -> tuple[Share, Callable[[float], Share]]:
    """(the share of all rows of a problem, the share at a multiple of U); the sums at w may be unknown."""
    steep = problem.loss.largest_slope()
    risk, magnitude, Z, size = sums or primal_sums(problem, w, keep=not np.isfinite(steep))
    if not np.isfinite(steep):
        steep = np.linalg.norm(slopes_of(problem, Z), axis=1)

    def with_scores(share: Share, U: DualMatrix) -> Share:
        slope = steep + np.linalg.norm(dense(U), axis=1) if np.ndim(steep) else steep
        with np.errstate(over="ignore", invalid="ignore"):
            through = float(np.sum(problem.weights * slope * size))
        return share._replace(risk=(risk,), risk_size=(magnitude,), score_size=(through,))

    share = dual_share(problem, U)
    again = lambda scale: with_scores(with_conjugates(problem, share.scaled(scale), scale * U), scale * U)  # noqa: E731
    return with_scores(share, U), again


def vector_certificate(problem: VectorProblem, w: np.ndarray, b: float, U: DualMatrix) -> tuple[Certificate, Any]:
    """(certificate, feasible dual point) for given variables and a given dual point."""
    return _certificate(problem, w, U)


def slopes_certificate(problem: VectorProblem, w: np.ndarray, b: float) -> tuple[Certificate, Any]:
    """(certificate, feasible dual point) for given variables and the slopes there: the scores are computed once."""
    sums = primal_sums(problem, w)
    return _certificate(problem, w, slopes_of(problem, sums.scores), sums)


def _certificate(
    problem: VectorProblem, w: np.ndarray, U: DualMatrix, sums: PrimalSums | None = None
) -> tuple[Certificate, Any]:
    W = w.reshape(-1, problem.outputs)
    point, usable = feasible_or_zero(problem, U)
    share, scaled = share_of(problem, w, point, sums)
    share = share if usable else none_like(share)
    intercept = float(np.abs(W[problem.features :]).sum())
    penalised = W[: problem.features].ravel()
    found, scale = assemble(problem, penalised, share, scaled, intercept, penalty=problem.penalty)
    return found, scaled_point(scale, point)


@kernel
def smoothed_slopes_pass(loss, y, Z, gamma, U):
    """u_i = slopes of the Moreau envelope at z_i."""
    for i in range(Z.shape[0]):
        dual_prox(loss, Z[i], gamma, y[i], U[i])


@kernel
def vector_ascend(loss, rows, y, p, order, inverse_strength, V, U):
    """Exact dual steps for the rows in `order`, with L2: W = V = -sum p x u' / strength."""
    m = V.shape[1]
    t, new = np.empty(m), np.empty(m)
    for k in range(order.size):
        i = order[k]
        q = p[i] * sqnorm(rows, i) * inverse_strength
        if not q > 0.0:
            continue
        start, stop = row_span(rows, i)
        for c in range(m):
            t[c] = q * U[i, c]
        for e in range(start, stop):
            x, j = row_entry(rows, i, e), row_column(rows, e)
            for c in range(m):
                t[c] += x * V[j, c]
        dual_prox(loss, t, q, y[i], new)
        for e in range(start, stop):
            x, j = p[i] * inverse_strength * row_entry(rows, i, e), row_column(rows, e)
            for c in range(m):
                V[j, c] += x * (U[i, c] - new[c])
        U[i] = new


def smoothed_slopes(problem: VectorProblem, Z: np.ndarray, gamma: float) -> np.ndarray:
    """The slopes of the Moreau envelopes of all losses at the scores Z."""
    U, loss, y = np.empty(problem.dual_shape), problem.compiled_loss, problem.y
    deque(map_row_ranges(problem.n, lambda at: smoothed_slopes_pass(loss, y[at], Z[at], gamma, U[at])), maxlen=0)
    return U


def best_dual_matrix(problem: VectorProblem, w: np.ndarray, b: float = 0.0) -> np.ndarray:
    """A dual point with a high D at moderate cost, from the variables alone."""
    U = vector_slopes_at(problem, w)
    if problem.smooth_loss or not hasattr(problem.loss, "dual_prox"):
        return U
    best, Z = vector_dual_value(problem, U), primal_sums(problem, w).scores
    spread = float(np.median(np.abs(Z))) or 1.0
    for gamma in SMOOTHINGS * spread:
        found = vector_dual_value(problem, smoothed_slopes(problem, Z, gamma))
        best = found if found.dual > best.dual else best
    plain = isinstance(problem.penalty, L2) and problem.penalty.weights is None
    if plain and not problem.free:  # a step on one row would violate sum p u = 0
        best = _block_steps(problem, best)
    return best.point


def _block_steps(problem: VectorProblem, best: DualValue) -> DualValue:
    """Rounds of sweeps over the rows, each evaluated by the true dual value."""
    rng, U = np.random.default_rng(0), best.point.copy()
    strength, rows = problem.penalty.alpha, np.flatnonzero(problem.weights > 0.0).astype(np.uint64)
    work = max(problem.X.size * problem.outputs / max(problem.n, 1), 1.0)  # products of a step on one row
    for _ in range(int(min(max(MOST_PRODUCTS / (SWEEPS * work * max(rows.size, 1)), 1), ROUNDS))):
        V = -np.asarray(problem.X.T @ (problem.weights[:, None] * U), dtype=float) / strength
        V = np.ascontiguousarray(V)
        for _ in range(SWEEPS):
            for part in slices(rng.permutation(rows), work):  # Ctrl-C ends it between two calls
                arguments = (problem.rows, problem.y, problem.weights, part, 1.0 / strength, V, U)
                vector_ascend(problem.compiled_loss, *arguments)
        found = vector_dual_value(problem, U)
        gain = found.dual - best.dual
        best = found if gain > 0.0 else best
        if gain <= GOOD * abs(best.dual):
            break
    return best


CERTIFIER = Certifier(vector_certificate, vector_slopes_at, best_dual_matrix, accept_dual_matrix, slopes_certificate)
