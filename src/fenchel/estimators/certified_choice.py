"""The cross-validation error bounded for every alpha in a range, refined where its lower bound is smallest.

The range is cut into cells between strengths at which every fold is solved. A cell's lower bound holds for all alpha in it;
cells whose bound is below the smallest error found by more than the slack are cut in two, until there are none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fenchel.certificates.scalar import certifier_of
from fenchel.compile.clock import CLOCK
from fenchel.data.blas import one_blas_thread
from fenchel.estimators.held_out_errors import Bounds
from fenchel.proofs.held_out import HeldOutScores, Point
from fenchel.result import Certificate, Status
from fenchel.solving.solve import solve

PER_DECADE = 5  # strengths that are solved first
GAP_SHARE = 4e-9  # gap to solve to, relative to the penalty's part of the objective: small against the width of cells
FINEST_TOL = 1e-12
NEAREST = 4  # solutions that predict the one between them
MAX_STRENGTHS = 4000
NARROWEST = 1e-9  # cells, in log alpha, that are not cut any more: their bound rests on rounding


class Solution(NamedTuple):
    """A point with its certificate."""

    problem: Any
    coef: np.ndarray
    intercept: float
    certificate: Certificate
    dual_point: Any

    def light(self) -> Solution:
        """Without the dual point where the slopes of the losses replace it: there may be many solutions."""
        return self._replace(dual_point=None) if self.problem.smooth_loss else self


def predicted(near: Sequence[Solution], alpha: float) -> tuple[Any, ...]:
    """A start at alpha: the polynomial in log alpha through the nearest solutions of a smooth path, otherwise the nearest
    solution."""
    last = near[0]
    if not last.problem.smooth_loss:
        return last.coef, last.intercept, last.dual_point
    places = np.log([solution.problem.regularizer.alpha for solution in near]) - math.log(alpha)
    shares = [float(np.prod([x / (x - y) for x in np.delete(places, k)])) for k, y in enumerate(places)]
    coef = sum(share * solution.coef for share, solution in zip(shares, near, strict=True))
    return coef, float(sum(share * solution.intercept for share, solution in zip(shares, near, strict=True)))


class HeldOutFold(NamedTuple):
    """A fold: the problems without it, one per class or one, the scores of its rows, and their error."""

    makes: Sequence[Callable[[float], Any]]
    scores: Sequence[HeldOutScores]
    error: Any


class Band(NamedTuple):
    """Bounds of the cross-validation error between neighbouring strengths, ascending: low[k] <= CV error(alpha) <= high[k] for
    all alpha in [alphas[k], alphas[k + 1]]."""

    alphas: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass
class Cell:
    """The bounds for all alpha between two neighbouring strengths, and whether they are final."""

    bounds: Bounds
    done: bool = False


@dataclass(eq=False)
class Node:
    """A strength with the solutions of all folds and problems, and the bounds of the error there."""

    alpha: float
    results: list[list[Solution]]
    points: list[list[Point]]
    bounds: Bounds
    below: Cell | None = field(default=None)  # the cell towards smaller strengths


class CertifiedSearch:
    """Strengths in [low, high] at which all folds are solved, and what they prove in between."""

    def __init__(self, folds: Sequence[HeldOutFold], slack: float, max_time: float | None, options: dict[str, Any]):
        self.folds, self.slack, self.max_time, self.options = folds, slack, max_time, options
        self.began = CLOCK.other_time()
        self.nodes: list[Node] = []  # from the largest strength to the smallest
        self.solves = 0

    @property
    def best(self) -> Node:
        """The node whose error is proven to be smallest; of equal ones that of the largest alpha."""
        return min(self.nodes, key=lambda node: (node.bounds.high, -node.alpha))

    @property
    def lower_bound(self) -> float:
        """No alpha in the range has a smaller CV error."""
        return min(node.below.bounds.low for node in self.nodes if node.below is not None)

    @property
    def certified(self) -> bool:
        """Whether the slack is reached."""
        return self.lower_bound >= self._goal()

    def _goal(self) -> float:
        best = self.best.bounds.high
        return best - self.slack * abs(best)

    def run(self, low: float, high: float) -> None:
        """Refine until the slack is proven, or a limit is reached."""
        count = max(2, math.ceil(PER_DECADE * math.log10(high / low)) + 1)
        with one_blas_thread():  # dot products of many rows gain nothing from more
            for alpha in np.geomspace(high, low, count).tolist():
                self.nodes.append(self._node(alpha, len(self.nodes)))
            for k in range(count - 1):
                self._bound(k)
            while not self.certified and self._cut_all():
                pass

    def _cut_all(self) -> bool:
        """Cut every cell whose bound is too low, the lowest first, until the time is over; whether any was cut."""
        goal, cut = self._goal(), False
        for node in sorted(
            (n for n in self.nodes[:-1] if n.below), key=lambda n: n.below.bounds.low if n.below else 0.0
        ):
            k = self.nodes.index(node)
            assert node.below is not None
            if node.below.bounds.low >= goal or self._stopped():
                break
            width = math.log(node.alpha / self.nodes[k + 1].alpha)
            if width < NARROWEST:
                continue
            middle = math.sqrt(node.alpha * self.nodes[k + 1].alpha)
            self.nodes.insert(k + 1, self._node(middle, k + 1))
            self._bound(k)
            self._bound(k + 1)
            goal, cut = self._goal(), True
        return cut

    def _stopped(self) -> bool:
        late = self.max_time is not None and CLOCK.other_time() - self.began > self.max_time
        return late or len(self.nodes) >= MAX_STRENGTHS

    def _node(self, alpha: float, place: int) -> Node:
        """Solve all folds at a strength, from a prediction by its neighbours."""
        near = sorted(
            self.nodes[max(0, place - NEAREST) : place + NEAREST], key=lambda n: abs(math.log(n.alpha / alpha))
        )
        results, points = [], []
        for k, fold in enumerate(self.folds):
            found = [
                self._solve(make, alpha, [n.results[k][j] for n in near[:NEAREST]]) for j, make in enumerate(fold.makes)
            ]
            points.append([scores.point(solution) for scores, solution in zip(fold.scores, found, strict=True)])
            results.append([solution.light() for solution in found])
        return Node(alpha, results, points, self._error(points, alpha))

    def _solve(self, make: Callable[[float], Any], alpha: float, near: list[Solution]) -> Solution:
        """The solution: on a smooth path the prediction, if its certificate is good enough, otherwise a solve from it."""
        problem, tol = make(alpha), self.options["tol"]
        start: Any = None
        if near:
            last = near[0]
            share = problem.regularizer.value(last.coef) / max(abs(last.certificate.primal), 1e-300)
            tol = min(tol, max(GAP_SHARE * share, FINEST_TOL))
            start = predicted(near, alpha)
            if problem.smooth_loss:
                certificate, u = certifier_of(problem).at_slopes(problem, *problem.variables(*start[:2]))
                if certificate.holds(tol):
                    return Solution(problem, start[0], start[1], certificate, u)
        self.solves += 1
        found = solve(problem, start=start, **(self.options | {"tol": tol}))
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return Solution(problem, found.coef, found.intercept, found.certificate, found.dual_point)

    def _error(self, points: list[list[Point]], end: float) -> Bounds:
        """Bounds of the CV error between the strength of the points and `end`."""
        found = [
            fold.error.bounds(fold.scores, [s.region(p, end) for s, p in zip(fold.scores, own, strict=True)])
            for fold, own in zip(self.folds, points, strict=True)
        ]
        low, high = (float(np.mean(values)) for values in zip(*found, strict=True))
        return Bounds(low - 1e-15 * abs(low), high + 1e-15 * abs(high))

    def _bound(self, k: int) -> None:
        """Bound the cell below node k: each half from its own end."""
        upper, lower = self.nodes[k], self.nodes[k + 1]
        middle = math.sqrt(upper.alpha * lower.alpha)
        halves = [self._error(node.points, middle) for node in (upper, lower)]
        upper.below = Cell(Bounds(min(h.low for h in halves), max(h.high for h in halves)))

    def band(self) -> Band:
        """The bounds of all cells."""
        cells = [node.below.bounds for node in self.nodes if node.below is not None][::-1]
        alphas = np.array([node.alpha for node in self.nodes][::-1])
        return Band(alphas, np.array([c.low for c in cells]), np.array([c.high for c in cells]))
