"""Extragradient: the saddle point of a structured hinge loss, in marginals.

Problem      min over w, max over mu of alpha/2 |w|^2 + sum p (<w, F mu - phi(gold)> + <c, mu>), mu marginals of every example;
             with L2Ball, |w| <= radius instead of the penalty: form (8) of Boileau et al.
Blocks       (L2; the default) one example at a time, with w = w(mu) kept up to date:
               v = prox of step theta at mu_i,   theta = F_i'w + c_i,   and theta' = the same scores with mu_i = v
             The scores at v tell how far the way to v increases D, which is quadratic along it: mu_i moves there exactly, and
             the next step of this example is one over the curvature along the last one. No Lipschitz constant is needed.
             "entropic" takes v itself if D still increases there, and a shorter step otherwise. Examples are drawn in
             proportion to their last gains; in some epochs all of them are visited. All marginals are stored
All at once  (blocks=False; L2Ball) with the operator G(w, mu) = (alpha w + sum p (F mu - phi(gold)); -(F'w + c)) and prox
             steps from the start, dual extragradient:
               v = prox(step s),   u = prox at v of -step G(v),   s <- s - G(u)
             The prox of w is a plain step (or one followed by the projection onto the ball), that of mu a projection
             ("euclidean") or the marginals of a Gibbs distribution ("entropic", forward-backward). The squared norm is
             (balance alpha) |w|^2 + sum p |mu|^2, with balance / radius^2 for the ball, and step = 1 / L, L the
             norm of G: by power iteration on sum p F F', or from the largest |phi(y) - phi(y')| / 2 for the entropy.
             G is affine, so s = -t G(average of u): only w, its average, s and one number are stored, never the marginals
Certificate  blocks: mu itself. Otherwise the marginals of the last u, materialized by one pass, or of the average,
             materialized by repeating the run; whichever has the higher D. The last u converges much faster; the average has
             the bound L (distances) / t. P - D is the restricted gap (12) of that paper with all of W and all marginals
Reference    Taskar, Lacoste-Julien and Jordan (2006), "Structured prediction, dual extragradient and Bregman projections";
             Boileau et al. (2019), algorithm 2, with s = -t (F u - a) for the memory-efficient form; Nesterov (2007)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.errors import InputError
from fenchel.regularizers import L2Ball
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.extragradient.blocks import block_iterates
from fenchel.solvers.extragradient.settings import SETTINGS
from fenchel.solvers.pragam.marginal_blocks import Cliques
from fenchel.structured.marginals import parts_of
from fenchel.structured.pool import Marginals

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle

PROXES = ("euclidean", "entropic")


@dataclass(frozen=True)
class Extragradient(Solver):
    """Extragradient steps for structured hinge losses with L2 or in its ball, on models whose labels are made of parts
    (`structured.parts`).

    Parameters
    ----------
    prox : "euclidean" (projections of marginals) or "entropic" (Gibbs distributions: steps cost less, usually more are needed).
    blocks : steps on one example after another, whose lengths adapt, with the marginals of all examples in memory (default for
        L2); or, if False, on all examples at once with memory for a few vectors of the size of w (default for L2Ball).
    balance : without blocks, the weight of lengths in w relative to those in the marginals; it changes the speed only.
    seed : of the order of the examples.

    >>> import fenchel
    >>> model = fenchel.structured.Multiclass()
    >>> problem = fenchel.Problem([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0, 1, 2], loss=model, alpha=0.1)
    >>> fenchel.solve(problem, solver=Extragradient(), tol=1e-4).status.name
    'CERTIFIED'
    """

    prox: str = "euclidean"
    blocks: bool | None = None
    balance: float = 10.0
    seed: int = 0
    local_reason = "the method needs the rows in this process: it keeps a point of the label polytope for each"
    cost = "a projection, or the marginals, of every example, and the scores of its parts twice"
    convergence = "the dual value increases with every block step; without blocks, gap of the average O(1/iterations)"
    slow = True
    kinds = ("structured",)
    waits = 2000
    segment_growth = 2.0
    needs = Needs(regularizer=("l2_or_its_ball",), problem=("marginals",))

    def __post_init__(self) -> None:
        if self.prox not in PROXES:
            raise InputError(f"prox must be one of {', '.join(map(repr, PROXES))}, got {self.prox!r}")
        if not 0.0 < self.balance < np.inf:
            raise InputError(f"balance must be a finite number greater than 0, got {self.balance!r}")

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        if self.in_blocks(oracle.problem):
            yield from block_iterates(oracle, start, self.prox == "entropic", self.seed)
            return
        field = Field(oracle, start.coef, self.prox == "entropic", self.balance)
        primal, _, _ = oracle.risk(start.coef)
        yield Iterate(start.coef, 0.0, primal + oracle.problem.regularizer.value(start.coef), np.nan)
        due = 0
        for k, point in enumerate(field.points()):
            if k == due:
                due += max(1, k // SETTINGS.evaluation_interval_divisor)
                yield field.check(point)
            else:
                yield Iterate(point.w, 0.0, None, np.nan)

    def in_blocks(self, problem: Any) -> bool:
        """Whether steps are on single examples."""
        ball = isinstance(problem.regularizer, L2Ball)
        if ball and self.blocks:
            raise InputError("blocks=True is for L2: with L2Ball, w does not follow from the marginals in closed form")
        if self.blocks is None:
            return not ball and int(np.sum(parts_of(problem.model).sizes)) <= SETTINGS.max_stored_marginals
        return self.blocks


class Point(NamedTuple):
    """After t steps: the last u (w; gain <c, mu>, g = F mu - phi), the inputs of its step, and the averages of all u."""

    t: int
    w: np.ndarray
    gain: float
    g: np.ndarray
    before: np.ndarray
    v: np.ndarray
    mean_w: np.ndarray
    mean_gain: float
    mean_g: np.ndarray


class Field:
    """The operator G and the extragradient steps on it."""

    def __init__(self, oracle: Any, centre: np.ndarray, entropic: bool, balance: float):
        self.oracle, self.cliques, self.entropic = oracle, Cliques(oracle), entropic
        regularizer = oracle.problem.regularizer
        self.ball = regularizer if isinstance(regularizer, L2Ball) else None
        self.alpha = 0.0 if self.ball else regularizer.alpha
        self.weight = balance / max(self.ball.radius, SETTINGS.min_radius) ** 2 if self.ball else balance * self.alpha
        self.centre = self.feasible(centre)
        norm = (0.5 * self.cliques.reach() if entropic else self.cliques.norm()) / np.sqrt(self.weight)
        self.highest = -np.inf  # The highest D of a last point so far.
        own = self.alpha / self.weight
        self.step = 2.0 / (own + np.sqrt(own * own + 4.0 * norm * norm))

    def feasible(self, w: np.ndarray) -> np.ndarray:
        """w, or the nearest point of the ball."""
        return w if self.ball is None else self.ball.prox(w, 1.0)

    def points(self, kept: np.ndarray | None = None) -> Iterator[Point]:
        """The points, without end; the marginals of each are written to `kept`."""
        s, mean_w, mean_gain = np.zeros(self.centre.size), np.zeros(self.centre.size), 0.0
        t, stride = 0, self.step / self.weight
        while True:
            v, before = self.feasible(self.centre + stride * s), mean_w
            gain, rough, g = self.cliques.extragradient(before, v, float(t), self.step, self.entropic, kept)
            w = self.feasible(v - stride * (self.alpha * v + rough))
            s = s - (self.alpha * w + g)
            mean_w, mean_gain = (t * mean_w + w) / (t + 1), (t * mean_gain + gain) / (t + 1)
            t += 1
            yield Point(t, w, gain, g, before, v, mean_w, mean_gain, -s / t - self.alpha * mean_w)

    def check(self, point: Point) -> Iterate:
        """The best P and the best D of the last point and of the average."""
        regularizer = self.oracle.problem.regularizer
        found = [(self.oracle.risk(w)[0] + regularizer.value(w), k, w) for k, w in enumerate(self.candidates(point))]
        primal, _, w = min(found)
        last = point.gain - regularizer.conjugate(-point.g)
        mean = point.mean_gain - regularizer.conjugate(-point.mean_g)
        self.highest = max(self.highest, last)
        if mean > self.highest:  # This happens in the first iterations, when repeating all steps is inexpensive.
            return Iterate(w, 0.0, primal, mean, self.averaged(point.t))
        return Iterate(w, 0.0, primal, last, self.repeated(point))

    def candidates(self, point: Point) -> list[np.ndarray]:
        size = float(np.linalg.norm(point.g))
        if self.ball is not None:
            best = -point.g * (self.ball.radius / size) if size > 0.0 else np.zeros(point.g.size)
        else:
            best = self.oracle.problem.regularizer.primal_from_dual(-point.g)
        return [point.w, point.mean_w, self.feasible(best)]

    def repeated(self, point: Point) -> Callable[[], Marginals]:
        """A function that materializes the marginals of the last point."""

        def materialize() -> Marginals:
            start = self.cliques.start
            kept = np.empty(int(start[-1]))
            self.cliques.extragradient(point.before, point.v, point.t - 1.0, self.step, self.entropic, kept)
            return Marginals(start, kept)

        return materialize

    def averaged(self, t: int) -> Callable[[], Marginals]:
        """A function that materializes the average of the marginals of the first t points, by taking the steps again."""

        def materialize() -> Marginals:
            start = self.cliques.start
            kept, total = np.empty(int(start[-1])), np.zeros(int(start[-1]))
            for _ in islice(self.points(kept), t):
                total += kept
            return Marginals(start, total / t)

        return materialize
