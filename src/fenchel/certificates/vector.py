"""The certificate of problems with several scores per row, recomputed from the definitions: trusted code.

P(W) = sum_i p_i loss(z_i, y_i) + R(W),  z_i = W'x_i (+ b)
D(U) = -sum_i p_i loss*(u_i, y_i) - R*(V),  V = -sum_i p_i x_i u_i',  and sum_i p_i u_i = 0 if intercepts are free

W is (features, m) here. As in `fenchel.certify`, a dual point that is not quite feasible is moved first: each u_i into the
domain of loss*, all of them onto sum p u = 0 by mixing in a little of a point that makes up for what is left over. A sparse U
stays sparse, but for free intercepts and losses without a largest slope; its value is that of the same numbers in an array. The
passes are this file's own; it imports no kernel, engine or solver.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.certificates.assemble import Share, assemble, lower_bound, none_like, sum_of
from fenchel.certificates.scalar import CHUNK, WIDE, Certifier, DualValue, scaled_point
from fenchel.compile.kernel import kernel
from fenchel.data.accept import as_rows, block
from fenchel.data.dual_matrix import accept_dual_matrix, changed_rows, dense
from fenchel.data.row_blocks import map_row_blocks
from fenchel.data.rows import row_column, row_entry, row_span, row_vector, sqnorm
from fenchel.data.sums import add
from fenchel.errors import InputError
from fenchel.multiclass.protocol import conjugate, dual_prox, into_domain, slopes, value
from fenchel.regularizers import L2
from fenchel.result import Certificate

SMOOTHINGS = 10.0 ** np.arange(-9, 1)
SWEEPS, ROUNDS = 20, 30
GOOD = 1e-9  # relative gap at which improving a dual point stops


@kernel
def vector_primal_pass(loss, rows, y, p, W, features, Z, size):
    """Z, and size_i = |sum_j |x_ij W_j||_2; returns (sum p loss, sum p |loss|). Z may have one row, which is written over."""
    total, correction, magnitude = 0.0, 0.0, 0.0
    m = W.shape[1]
    absolute = np.empty(m)
    for i in range(np.uint64(p.size)):
        z = Z[i if Z.shape[0] > 1 else np.uint64(0)]
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
        if not np.isfinite(size[i]):  # a loss of scores that overflowed may hide it
            return np.inf, np.inf
        if p[i] > 0.0:
            term = p[i] * value(loss, z, y[i])
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
    """Every u_i into the domain of loss*."""
    for i in range(U.shape[0]):
        into_domain(loss, U[i], y[i])


@kernel
def vector_conjugate_pass(loss, y, p, duals, work):
    """(sum p loss*(u), the sum of the sizes of its terms)."""
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
    """V = -sum_i p_i x_i u_i', added up chunk by chunk; returns sum_i p_i |u_i| |x_i|, as which it is rounded."""
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


def combined(problem: Any, U: Any) -> tuple[np.ndarray, float]:
    """(-sum_i p_i x_i u_i', the size that its rounding is proportional to)."""
    p, shape, duals = problem.weights, (problem.features, problem.outputs), as_rows(U)
    chunk = max(CHUNK, int(problem.features * problem.n / (problem.X.size if problem.X.size else 1)))

    def work(span: slice, rows: Any) -> tuple[np.ndarray, float]:
        part, V = np.zeros(shape), np.empty(shape)
        return V, vector_combine_pass(rows, p[span], block(duals, span.start, span.stop), chunk, part, V)

    total, spread = np.zeros(shape), 0.0
    for V, more in map_row_blocks(problem.rows, problem.n, work, least=WIDE * problem.d):
        total += V
        spread += more
    return total, spread


def conjugates(problem: Any, U: Any) -> tuple[float, float]:
    """(sum p loss*(u), the sum of the sizes of its terms)."""
    work = np.empty(problem.outputs)
    return vector_conjugate_pass(problem.compiled_loss, problem.y, problem.weights, as_rows(U), work)


def vector_dual_value(problem: Any, U: Any) -> DualValue:
    """D at a feasible point near U; -inf if there is none to be had."""
    U, usable = feasible_or_zero(problem, U)
    if not usable:
        return DualValue(-np.inf, U)
    share = dual_share(problem, U)
    found = lower_bound(problem.penalty, share, lambda scale: with_conjugates(problem, share.scaled(scale), scale * U))
    return DualValue(found.dual, scaled_point(found.scale, U))


def feasible_or_zero(problem: Any, U: Any) -> tuple[Any, bool]:
    """(a feasible point near U, True), or, if U is no dual point, (0, False)."""
    try:
        return feasible_matrix(problem, accept_dual_matrix(problem, U)), True
    except InputError:  # a solver's, that is none
        return (sp.csr_matrix if sp.issparse(U) else np.zeros)(problem.dual_shape), False


def dual_share(problem: Any, U: Any) -> Share:
    """What all rows add to D."""
    V, spread = combined(problem, U)
    return with_conjugates(problem, Share(V.ravel(), spread=(spread,)), U)


def with_conjugates(problem: Any, share: Share, U: Any) -> Share:
    """The share, with the gain of a dual point."""
    total, magnitude = conjugates(problem, U)
    balance = problem.weights @ U if problem.free else np.zeros(1)
    return share._replace(gain=(-total,), gain_size=(magnitude,), balance=balance)


def feasible_matrix(problem: Any, U: Any) -> Any:
    """A copy of U with every row in the domain of loss*, balanced if intercepts are free; sparse if U is and they are not."""
    if sp.issparse(U) and not problem.free:
        loss, y = problem.compiled_loss, problem.y
        return changed_rows(U, lambda span, rows: vector_domain_pass(loss, y[span], rows))
    U = np.array(dense(U), dtype=np.float64)
    vector_domain_pass(problem.compiled_loss, problem.y, U)
    return balanced(U, balance_of(problem, problem.weights @ U), problem.y) if problem.free else U


def balance_of(problem: Any, rest: np.ndarray) -> Any:
    """What makes up for sum_i p_i u_i = rest: several targets have their mean taken off, classes are mixed with other rows."""
    return rest if problem.several_targets else making_up(problem.masses(), rest)


def balanced(U: np.ndarray, balance: Any, y: np.ndarray) -> np.ndarray:
    """U with sum_i p_i u_i = 0 over all rows, of which these have the targets y."""
    if isinstance(balance, np.ndarray):
        return U - balance
    share, towards = balance
    return (1.0 - share) * U + share * towards[y]


def making_up(mass: np.ndarray, rest: np.ndarray) -> tuple[float, np.ndarray]:
    """(share s, a matrix with a row per class): (1 - s) u_i + s (row y_i) is balanced if sum p u is `rest`, `mass` being
    the weight of every class.

    Rows of class j can give up to all of their own class's mass to the others, u = t (e_k - e_j) with t <= 1. A share of such
    a point takes back what is left over; it is as small as can be.
    """
    m = mass.size
    give, take = np.maximum(rest, 0.0), np.maximum(-rest, 0.0)
    if not give.any() or not take.any():
        return 0.0, np.zeros((m, m))
    share = float(np.max(give / mass))
    share /= 1.0 + share  # (1 - share) rest = share mass t at t = 1, for the class with most to give
    t = (1.0 - share) * give / (share * mass)
    return share, np.outer(t, take / take.sum()) - np.diag(t)


def vector_slopes_at(problem: Any, w: np.ndarray, b: float = 0.0) -> np.ndarray:
    """The slopes of all losses at w."""
    Z = primal_sums(problem, w)[2]
    U = np.empty(problem.dual_shape)
    vector_slopes_pass(problem.compiled_loss, problem.y, Z, U)
    return U


def primal_sums(problem: Any, w: np.ndarray, keep: bool = True) -> tuple[float, float, np.ndarray, np.ndarray]:
    """(risk, its size, scores, sizes of the scores); without `keep` there are no scores."""
    Z, size = np.empty(problem.dual_shape if keep else (0, 0)), np.empty(problem.n)
    W = np.ascontiguousarray(w.reshape(-1, problem.outputs))

    def work(span: slice, rows: Any) -> tuple[float, float]:
        scores = Z[span] if keep else np.empty((1, problem.outputs))  # of its own: blocks are walked by several threads
        arguments = (rows, problem.y[span], problem.weights[span], W, problem.features, scores, size[span])
        return vector_primal_pass(problem.compiled_loss, *arguments)

    found = list(map_row_blocks(problem.rows, problem.n, work))
    return sum_of([total for total, _ in found]), sum(magnitude for _, magnitude in found), Z, size


def share_of(problem: Any, w: np.ndarray, U: Any) -> tuple[Share, Callable[[float], Share]]:
    """(the share of all rows of a problem, and at a multiple of U)."""
    steep = problem.loss.largest_slope()
    risk, magnitude, Z, size = primal_sums(problem, w, keep=not np.isfinite(steep))
    if not np.isfinite(steep):
        G = np.empty(problem.dual_shape)
        vector_slopes_pass(problem.compiled_loss, problem.y, Z, G)
        steep = np.linalg.norm(G, axis=1)

    def with_scores(share: Share, U: Any) -> Share:
        slope = steep + np.linalg.norm(dense(U), axis=1) if np.ndim(steep) else steep
        with np.errstate(over="ignore", invalid="ignore"):
            through = float(np.sum(problem.weights * slope * size))
        return share._replace(risk=(risk,), risk_size=(magnitude,), score_size=(through,))

    share = dual_share(problem, U)
    again = lambda scale: with_scores(with_conjugates(problem, share.scaled(scale), scale * U), scale * U)  # noqa: E731
    return with_scores(share, U), again


def vector_certificate(problem: Any, w: np.ndarray, b: float, U: Any) -> tuple[Certificate, Any]:
    """(certificate, feasible dual point) for given variables and a given dual point."""
    W = w.reshape(-1, problem.outputs)
    point, usable = feasible_or_zero(problem, U)
    share, scaled = share_of(problem, w, point)
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
        t[:] = q * U[i]
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


def best_dual_matrix(problem: Any, w: np.ndarray, b: float = 0.0) -> np.ndarray:
    """A dual point whose D is as high as can be had cheaply from the variables alone."""
    U = vector_slopes_at(problem, w)
    if problem.smooth_loss or not hasattr(problem.loss, "dual_prox"):
        return U
    best, Z = vector_dual_value(problem, U), primal_sums(problem, w)[2]
    spread = float(np.median(np.abs(Z))) or 1.0
    for gamma in SMOOTHINGS * spread:
        candidate = np.empty(problem.dual_shape)
        smoothed_slopes_pass(problem.compiled_loss, problem.y, Z, gamma, candidate)
        found = vector_dual_value(problem, candidate)
        best = found if found.dual > best.dual else best
    plain = isinstance(problem.penalty, L2) and problem.penalty.weights is None
    if plain and not problem.free:  # a step on one row would leave the balance
        best = _block_steps(problem, best)
    return best.point


def _block_steps(problem: Any, best: DualValue) -> DualValue:
    """Rounds of sweeps over the rows, each evaluated by the true dual value."""
    rng, U = np.random.default_rng(0), best.point.copy()
    strength, rows = problem.penalty.alpha, np.flatnonzero(problem.weights > 0.0).astype(np.uint64)
    for _ in range(ROUNDS):
        V = -np.asarray(problem.X.T @ (problem.weights[:, None] * U), dtype=float) / strength
        V = np.ascontiguousarray(V)
        for _ in range(SWEEPS):
            arguments = (problem.rows, problem.y, problem.weights, rng.permutation(rows), 1.0 / strength, V, U)
            vector_ascend(problem.compiled_loss, *arguments)
        found = vector_dual_value(problem, U)
        gain = found.dual - best.dual
        best = found if gain > 0.0 else best
        if gain <= GOOD * abs(best.dual):
            break
    return best


CERTIFIER = Certifier(vector_certificate, vector_slopes_at, best_dual_matrix, accept_dual_matrix)
