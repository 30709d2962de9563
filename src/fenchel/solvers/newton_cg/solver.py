"""Newton's method with conjugate gradients; for max hinges on proximal points of the dual.

Problem      min over w, b of F(w, b) + R(w), R quadratic, one score per row or several
Update       A differentiable loss: w <- w + t v where H v = -grad up to a residual, by preconditioned conjugate gradients,
             t by a search on stored scores. One score (`scalar.py`): begins at the solution of a sample of the rows,
             or with epochs of dual coordinate steps, as long as these gain fast; a Cholesky factor of an earlier Hessian
             preconditions, and is renewed when products have cost as much (`scalar_systems.py`). It takes d x d numbers, and
             a sample up to a third of the rows; dual epochs take a copy of wide sparse rows in memory. Several scores:
             `vector_system.py`. Sums over pairs of scores: `measure_passes.py`, the same steps without a sample.
             A max hinge: maximise D(U) - gamma/2 sum p |u - u0|^2 instead, whose primal has the smoothed losses phi
             (`kernels/vector_curvature.py`), by such (semismooth) steps, then u0 <- u and gamma <- gamma / 3, and so on.
             Rows whose u is a vertex have no curvature: only the others enter the products. It begins with a few epochs
             of block dual ascent; free intercepts are balanced by steps of their own instead.
Certificate  the slopes, or the u that smoothing gives for free
Reference    Lin, Weng and Keerthi (2008) for the truncated steps, Eisenstat and Walker (1996) for where they end;
             Rockafellar (1976) for proximal points; Li, Sun and Toh (2018) for semismooth Newton on them
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from fenchel.kernels.vector_curvature import vector_envelope
from fenchel.regularizers import L2
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.block_ascent.solver import BlockState
from fenchel.solvers.dual_estimates import dual_estimate
from fenchel.solvers.linear_systems import conjugate_gradients
from fenchel.solvers.newton_cg.measure_passes import measure_iterates
from fenchel.solvers.newton_cg.scalar import newton_iterates
from fenchel.solvers.newton_cg.settings import SETTINGS
from fenchel.solvers.newton_cg.vector_system import System, curvature, kronecker
from fenchel.solvers.subsampling.samples import strided

if TYPE_CHECKING:
    from fenchel.oracles.measure import SetOracle
    from fenchel.oracles.scalar import Oracle
    from fenchel.oracles.vector import VectorOracle
    from fenchel.problems.vector import VectorProblem


class Model(NamedTuple):
    """The state at one point of the (smoothed) problem."""

    Z: np.ndarray
    U: np.ndarray
    smoothed: float
    slope: float
    risk: float
    residual: float


@dataclass(frozen=True)
class NewtonCG(Solver):
    """Truncated Newton with L2 or Quadratic: every differentiable loss of one score; softmax, squares and max hinges; measures
    with a second derivative (sums over pairs).

    >>> import fenchel
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [1.0, 1.0]], [0, 1, 2, 1]
    >>> problem = fenchel.Problem(X, y, loss="softmax", alpha=0.1, fit_intercept=True)
    >>> fenchel.solve(problem, solver=NewtonCG()).status.name
    'CERTIFIED'
    """

    cost = "passes over the data for products with the Hessian, as many as conjugate gradients take"
    convergence = "superlinear near the optimum"
    kinds = ("scalar", "vector", "free vector", "set")
    halves = 40
    needs = Needs(loss=("curvature",), regularizer=("quadratic",))
    remote = ("scalar", "set")
    local_reason = (
        "with several scores per row, the method keeps the scores and dual variables of all rows in this process"
    )

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        if oracle.problem.family == "scalar":
            yield from newton_iterates(oracle, start)
        elif oracle.problem.is_measure:
            yield from measure_iterates(cast("SetOracle", oracle), start)
        else:
            yield from self.vector_iterates(cast("VectorOracle", oracle), start)

    def vector_iterates(self, oracle: VectorOracle, start: Start) -> Iterator[Iterate]:
        """Steps for losses of several scores."""
        problem, systems = oracle.problem, Systems(oracle)
        if begins_with_dual_steps(problem, start):
            for step in dual_steps(oracle, start):
                start = step
                yield Iterate(start.coef, 0.0, None, np.nan)
        w = start.coef.copy()
        U0 = oracle.feasible(start.dual_point)
        Z = oracle.score_matrix(w)
        gamma = 0.0 if problem.smooth_loss else first_gamma(oracle, Z, U0)
        model = evaluate(oracle, Z, None, 0.0, U0, gamma)
        if gamma > 0.0 and start.dual_point is not None:  # The warm start may be the solution already.
            dual = -oracle.conjugates(U0) - problem.regularizer.conjugate(-oracle.combine(U0))
            yield Iterate(w.copy(), 0.0, model.risk + problem.regularizer.value(w), dual, U0)
        shrink = SETTINGS.free_gamma_shrink if problem.free else SETTINGS.gamma_shrink
        slow_shrink = SETTINGS.slow_free_gamma_shrink if problem.free else SETTINGS.slow_gamma_shrink
        steps = 0
        while True:
            if gamma > 0.0 and problem.free:
                w, model = balance(oracle, w, model, U0, gamma)
            g = oracle.combine(model.U)
            primal = model.risk + problem.regularizer.value(w)
            # loss*(u) = <u, x> - loss(x), so the loss part of D is the risk, less <u, z>, less the residual.
            dual = dual_estimate(oracle, w, 0.0, model.risk - model.residual, g, 0.0)
            yield Iterate(w.copy(), 0.0, primal, dual, model.U)
            inner = primal - dual - model.residual  # The rest of the gap is the error of smoothing.
            if gamma > 0.0 and inner <= SETTINGS.inner_error_ratio * model.residual:
                slow = steps > SETTINGS.max_quick_newton_steps
                U0, gamma, steps = model.U, gamma * (slow_shrink if slow else shrink), 0
                # Scores are recomputed, because updating them over many steps accumulates rounding errors.
                model = evaluate(oracle, oracle.score_matrix(w), None, 0.0, U0, gamma)
                continue
            steps += 1
            gradient = oracle.centred_gradient(g + problem.regularizer.gradient(w))
            eta = np.sqrt(max(inner, 0.0) / abs(primal))
            eta = min(max(eta, SETTINGS.vector_min_residual_ratio), SETTINGS.vector_max_residual_ratio)
            v, decrement = systems.solve(model.U, gamma, gradient, eta)
            dw = oracle.uncentred(v)
            if not (decrement > 0.0 and np.isfinite(dw).all()):
                return
            t, new = line_search(oracle, w, dw, oracle.score_matrix(dw), model, U0, gamma, decrement)
            if new is not None:
                w, model = w + t * dw, new
            elif gamma > 0.0:
                U0, gamma, steps = model.U, gamma * slow_shrink, 0
                model = evaluate(oracle, oracle.score_matrix(w), None, 0.0, U0, gamma)
            else:
                return


def begins_with_dual_steps(problem: VectorProblem, start: Start) -> bool:
    """Whether to begin with dual steps: without a start, and far from the optimum, they gain more than Newton steps."""
    plain = isinstance(problem.regularizer, L2) and not problem.smooth_loss and not problem.free
    return plain and start.dual_point is None and not start.coef.any()


def dual_steps(oracle: VectorOracle, start: Start) -> Iterator[Start]:
    """Epochs of block dual ascent."""
    state, rng = BlockState(oracle, start), np.random.default_rng(0)
    for _ in range(SETTINGS.initial_dual_epochs):
        state.epoch(rng, full=True)
        yield Start(state.coef(), 0.0, state.U)


class Systems:
    """A sequence of Newton systems; a preconditioner is reused until products have cost as much as it did."""

    def __init__(self, oracle: VectorOracle):
        self.oracle, problem = oracle, oracle.problem
        self.features = problem.features + problem.free
        self.preconditioner: Any = None
        self.spent = 0.0

    def solve(self, U: np.ndarray, gamma: float, gradient: np.ndarray, eta: float) -> tuple[np.ndarray, float]:
        """(v, squared Newton decrement) with H v = -gradient nearly."""
        damping = 0.0
        if self.oracle.problem.free and gamma > 0.0:  # Without any curvature, intercepts move by about a margin.
            damping = float(np.abs(self.oracle.matrix(gradient)[-1]).max())
        system = System(self.oracle, *curvature(self.oracle.problem, U, gamma), damping)
        goal = eta * float(np.linalg.norm(gradient))
        v, steps = conjugate_gradients(
            system,
            self.precondition(system),
            -gradient,
            lambda r: float(np.linalg.norm(r)) <= goal,
            SETTINGS.max_cg_steps,
        )
        self.spent += steps * system.work
        return v, -float(gradient @ v)

    def precondition(self, system: System) -> Any:
        if self.features > SETTINGS.max_preconditioned_features:
            return lambda v: v
        if self.preconditioner is None or self.spent > self.cost(system):
            self.preconditioner, self.spent = kronecker(system), 0.0
        return self.preconditioner

    def cost(self, system: System) -> float:
        """The cost of a preconditioner in multiplications: the Gram matrix and its eigenvectors."""
        per_row = system.work / max(system.S.shape[0] * 2.0 * self.oracle.problem.outputs, 1.0)
        return system.S.shape[0] * per_row * per_row / 2.0 + SETTINGS.eigenvector_products * self.features**3


def evaluate(oracle: Oracle, Z: np.ndarray, dZ: np.ndarray | None, t: float, U0: np.ndarray, gamma: float) -> Model:
    """Values, dual variables and the derivative along dZ at scores Z + t dZ."""
    problem, U = oracle.problem, np.empty(Z.shape)
    along = Z if dZ is None else dZ
    count = max(min(Z.size // SETTINGS.min_scores_per_block, SETTINGS.max_blocks, Z.shape[0]), 1)
    edges = np.linspace(0, Z.shape[0], count + 1).astype(int)

    def work(k: int) -> Any:
        rows = slice(edges[k], edges[k + 1])
        return vector_envelope(
            problem.compiled_loss,
            problem.y[rows],
            problem.weights[rows],
            Z[rows],
            along[rows],
            t,
            U0[rows],
            gamma,
            U[rows],
        )

    smoothed, slope, risk, residual = oracle.engine.sum(work, list(range(count)))
    return Model(Z if dZ is None else Z + t * dZ, U, smoothed, slope, risk, residual)


def first_gamma(oracle: Oracle, Z: np.ndarray, U0: np.ndarray) -> float:
    """The largest gamma, within a factor of 2, at which the steps from U0 halve its Fenchel-Young residuals."""
    problem = oracle.problem
    most = SETTINGS.first_gamma_rows
    at = strided(problem.n, most) if problem.n > most else slice(None)
    y, p, Z, U0 = problem.y[at], problem.weights[at], Z[at], U0[at]
    U = np.empty(Z.shape)

    def residual(gamma: float) -> float:
        return vector_envelope(problem.compiled_loss, y, p, Z, Z, 0.0, U0, gamma, U)[3]

    goal, gamma = 0.5 * residual(SETTINGS.max_gamma), 1.0
    for _ in range(SETTINGS.max_first_gamma_trials):
        if residual(gamma) > goal:
            gamma *= 0.5
        elif gamma < SETTINGS.max_gamma and residual(2.0 * gamma) <= goal:
            gamma *= 2.0
        else:
            break
    return gamma


def balance(
    oracle: VectorOracle, w: np.ndarray, model: Model, U0: np.ndarray, gamma: float
) -> tuple[np.ndarray, Model]:
    """Newton steps on the intercepts alone until sum p u is nearly 0: a pass over the scores, not the data, for each.

    A dual point out of balance is mixed with distant ones to be feasible, which costs more of D than all other errors.
    """
    problem = oracle.problem
    for _ in range(SETTINGS.max_balancing_steps):
        rest = problem.weights @ model.U
        off = float(np.abs(rest).max())
        if off <= SETTINGS.max_imbalance:
            break
        S = curvature(problem, model.U, gamma)[0]
        total = np.maximum(S.sum(axis=1), 1e-300)
        H = np.diag(S.sum(axis=0)) - S.T @ (S / total[:, None]) + off * np.eye(problem.outputs)
        step = -np.linalg.solve(H, rest)
        dw = np.zeros(w.size)
        oracle.matrix(dw)[problem.features] = step
        dZ = np.broadcast_to(step, model.Z.shape).copy()
        t, new = line_search(oracle, w, dw, dZ, model, U0, gamma, -float(rest @ step))
        if new is None:
            break
        w, model = w + t * dw, new
    return w, model


def line_search(
    oracle: VectorOracle,
    w: np.ndarray,
    dw: np.ndarray,
    dZ: np.ndarray,
    model: Model,
    U0: np.ndarray,
    gamma: float,
    decrement: float,
) -> tuple[float, Model | None]:
    """A step t where the derivative is small, by safeguarded secants on stored scores, and the model there."""
    regularizer = oracle.problem.regularizer
    here = model.smoothed + regularizer.value(w)
    max_ratio = SETTINGS.smoothed_max_slope_ratio if gamma > 0.0 else SETTINGS.vector_max_slope_ratio
    low, low_slope, high, high_slope, t, best = 0.0, -decrement, np.inf, np.inf, 1.0, None
    for trial in range(SETTINGS.max_line_search_trials):
        new = evaluate(oracle, model.Z, dZ, t, U0, gamma)
        total = new.smoothed + regularizer.value(w + t * dw)
        slope = new.slope + float(regularizer.gradient(w + t * dw) @ dw)
        if abs(slope) <= max_ratio * decrement and total <= here + SETTINGS.value_rounding * abs(here):
            return t, new
        if slope < 0.0 and np.isfinite(total):
            low, low_slope, best = t, slope, new
        else:  # The value also counts as too high where the loss overflows.
            high, high_slope = t, slope
        if np.isinf(high):
            t *= 2.0
        elif trial % 3 == 2 or not np.isfinite(high_slope):
            t = 0.5 * (low + high)
        else:
            share = low_slope / (low_slope - high_slope)
            t = low + min(max(share, SETTINGS.min_bracket_fraction), SETTINGS.max_bracket_fraction) * (high - low)
    return low, best
