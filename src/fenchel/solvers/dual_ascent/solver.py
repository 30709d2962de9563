"""Dual coordinate ascent (dual Gauss-Seidel) for every strongly convex regularizer.

Problem      max over u of D(u) = -sum_i p_i loss*(u_i) - R*(v), v = -sum_i p_i u_i x_i; w = grad R*(v), the mirror
             map: L2, Quadratic, ElasticNet, Entropy, UnnormalisedEntropy, BalancedEntropy, QNorm
Update       for one row at a time, by `step`:
             "majorised"  u_i <- the maximiser of a quadratic minorant of D along the row: D never falls. For L2 and
                          Quadratic it is D itself. For the entropies its curvature is the current one times the most
                          that it can grow along the step; for QNorm with q <= 2 it is (p-1) |x_i|_p^2
             "exact"      u_i <- the maximiser of D: in closed form for the hinge with the entropies and rows of entries
                          -s, 0, s; else by safeguarded secants
             "explicit"   rule (11), u_i <- u_i + rate (alpha / p_i) (z_i - loss*'(u_i)) within its domain, z_i the row's
                          score; it may diverge, and then ends as NONFINITE or STALLED with the best iterate
             "implicit"   the same with loss*' at the new u_i, a proximal step: equal where loss* is linear (hinge,
                          absolute, quantile), and more stable elsewhere
             Rows in shuffled blocks of 16, in a fresh order every epoch (or permuted, or cyclic); rows whose u_i does
             not change are left out for a while. A step costs the nonzeros of its row, also with normalised entropies.
             With L2, Quadratic and ElasticNet and default options, in phases (`phases.py`): epochs visit a compact copy
             of the active rows, the high-gain rows among them several times more, and near the end free rows are
             moved together, by damped Newton steps (`free_newton.py`). The copy takes at most as much memory as X
             With a free intercept, D has the constraint sum p u = 0. It is met in the limit by proximal point steps in
             b (the method of multipliers): b enters as a feature around a centre, which follows it every epoch
Certificate  u itself
Reference    Zhang (2002), Algorithm 1; Hsieh et al. (2008), Shalev-Shwartz and Zhang (2013) for exact steps with L2;
             Bertsekas (1982) for projected Newton steps
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fenchel.certificates.scalar import feasible
from fenchel.errors import InputError
from fenchel.kernels.dual_epoch import renew_transfer
from fenchel.kernels.dual_rules import Ascent
from fenchel.mirror_maps.coordinatewise import Identity, Soft, apply_to
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.dual_ascent import phases
from fenchel.solvers.dual_ascent.mirror_form import STEPS, make_form, make_rule
from fenchel.solvers.dual_ascent.settings import SETTINGS
from fenchel.solvers.evaluation_schedule import checks
from fenchel.solvers.row_order.orders import ORDERS

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


@dataclass(frozen=True)
class DualAscent(Solver):
    """Dual coordinate steps for every loss, with every regularizer that has a mirror map.

    step is None for the regularizer's default (see above), "majorised", "exact", "explicit" or "implicit". The last two take
    the learning `rate` of rule (11), the same for all rows; None follows section 6.2, a tenth of the rate of Newton's
    method: for L2 inversely proportional to |x_i|^2, for normalised entropies to max_j |x_ij|^2. order is "blocks", "permuted"
    or "cyclic". damping in (0, 1] is the fraction of each step taken.

    The large-margin batch versions of the online algorithms of `fenchel.OnlineClassifier` are this solver with the hinge
    and the matching regularizer: L2 (Perceptron), UnnormalisedEntropy and Entropy (Winnow), BalancedEntropy (balanced
    Winnow), QNorm (p-norm).

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", alpha=0.1)
    >>> fenchel.solve(problem, solver=DualAscent(seed=1)).status.name
    'CERTIFIED'
    >>> entropy = fenchel.regularizers.Entropy(0.1, total=3.0)
    >>> winnow = fenchel.Problem([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [1, 1, -1], loss="hinge", regularizer=entropy)
    >>> fenchel.solve(winnow, solver=DualAscent(step="exact")).status.name
    'CERTIFIED'
    """

    seed: int = 0
    step: str | None = None
    rate: float | None = None
    order: str = "blocks"
    damping: float = 1.0
    cost = "an epoch of steps on single rows, each at the cost of its nonzeros: one pass over the data"
    convergence = "expected gap O(1/(alpha epochs)); geometric for differentiable losses"
    # With a free intercept and a nonsmooth loss, a gap stayed constant for 180 iterations before it decreased to 1e-8.
    waits = 400
    needs = Needs(regularizer=("transfer",))

    def __post_init__(self) -> None:
        if self.step is not None and self.step not in STEPS:
            raise InputError(f"step must be None or one of {', '.join(map(repr, STEPS))}, got {self.step!r}")
        if self.rate is not None and self.step not in ("explicit", "implicit"):
            raise InputError(
                f"rate is the learning rate of step='explicit' and step='implicit', got step={self.step!r} and "
                f"rate={self.rate!r}"
            )
        if self.rate is not None and not 0.0 < self.rate < np.inf:
            raise InputError(f"rate must be a number greater than 0, got {self.rate!r}")
        if self.order not in ORDERS:
            raise InputError(f"order must be one of {', '.join(map(repr, ORDERS))}, got {self.order!r}")
        if not 0.0 < self.damping <= 1.0:
            raise InputError(f"damping must be greater than 0 and at most 1, got {self.damping!r}")

    @property
    def plain(self) -> bool:
        """Whether step rule, order and damping are the defaults."""
        return self.step in (None, "majorised") and self.order == "blocks" and self.damping == 1.0

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        form = make_form(oracle)
        if self.plain and isinstance(form.transfer, (Identity, Soft)):
            yield from phases.iterates(oracle, start, form, self.seed)
            return
        state = State(oracle, start, self)
        rng = np.random.default_rng(self.seed)
        yield state.check()
        for due in checks():
            state.epoch(rng, full=due)
            yield state.check() if due else Iterate(state.coef, state.b, None, np.nan)


DEFAULT = DualAscent()


class State:
    """The dual point u, v = -sum p u x / strength, and the intercept."""

    def __init__(self, oracle: Oracle, start: Start, options: DualAscent = DEFAULT):
        problem = oracle.problem
        self.oracle, self.shuffle = oracle, ORDERS[options.order]
        form = make_form(oracle)
        self.change, self.strength, self.transfer, self.bounds = form.change, form.strength, form.transfer, form.bounds
        self.ascent = Ascent(
            form.transfer, make_rule(problem, form, options.step, options.rate), float(options.damping)
        )
        weight = SETTINGS.epoch_intercept_ratio * (form.typical or 1.0)
        self.inverse_bias = weight / self.strength if problem.fit_intercept else 0.0
        self.rows = np.flatnonzero(problem.weights > 0.0).astype(np.uint64)
        self.active = self.rows
        self.idle = np.zeros(problem.n, dtype=np.int64)
        u = np.zeros(problem.n) if start.dual_point is None else start.dual_point
        self.u = feasible(problem, u)
        self.centre = self.b = start.intercept
        self.recompute()

    def recompute(self) -> None:
        """v from u, without the drift of many small updates."""
        self.v = -self.change.combine(self.oracle, self.u) / self.strength
        self.b = self.centre - float(self.oracle.problem.weights @ self.u) * self.inverse_bias
        renew_transfer(self.transfer, self.v)

    @property
    def coef(self) -> np.ndarray:
        return self.coef_at(self.v)

    def coef_at(self, v: np.ndarray) -> np.ndarray:
        """w = transfer(v), in the problem's own variables."""
        if isinstance(self.transfer, (Identity, Soft)):
            return self.change.coef(apply_to(self.transfer, v))
        return self.oracle.problem.regularizer.primal_from_dual(v * self.strength)

    def epoch(self, rng: np.random.Generator, full: bool) -> None:
        """Steps on the active rows, or on all rows if `full`."""
        if full or self.active.size == 0:
            self.active = self.rows
        order = self.shuffle(rng, self.active)
        self.b = self.oracle.dual_epoch(
            self.ascent, order, self.bounds, 1.0 / self.strength, self.inverse_bias,
            self.b, self.u, self.v, self.idle, self.change.rows,
        )  # fmt: skip
        if SETTINGS.renewal_rows_divisor * order.size > self.rows.size:
            renew_transfer(self.transfer, self.v)
        self.active = self.active[self.idle[self.active] < SETTINGS.max_idle_epochs]
        # The multiplier step, which is 0 without a free intercept.
        self.centre, self.b = self.b, self.b - (self.centre - self.b)

    def check(self) -> Iterate:
        """P and D at the current u, projected onto the feasible set, with the intercept that is best for its w."""
        problem = self.oracle.problem
        if not np.isfinite(self.u).all():  # The learning rate was too large.
            return Iterate(np.full(problem.d, np.nan), 0.0, np.nan, np.nan)
        self.recompute()
        u, v = self.u, self.v
        if problem.fit_intercept:
            u = feasible(problem, u)
            v = -self.change.combine(self.oracle, u) / self.strength
        w = self.coef_at(v)
        if not np.isfinite(w).all():
            return Iterate(w, 0.0, np.nan, np.nan)
        z = self.oracle.scores(w)
        b = self.oracle.best_intercept(z, self.b)
        primal = self.oracle.losses_at(z, b)[0] + problem.regularizer.value(w)
        dual = -self.oracle.conjugates(u) - problem.regularizer.conjugate(self.change.dual(v * self.strength))
        return Iterate(w, b, primal, dual, u.copy())
