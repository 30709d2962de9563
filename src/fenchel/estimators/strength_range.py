"""Solutions for a whole range of strengths: as few solves as prove that every alpha in it is within eps of its optimum."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fenchel.certificates.scalar import certifier_of
from fenchel.compile.clock import CLOCK
from fenchel.errors import InputError
from fenchel.estimators.path import Path
from fenchel.proofs.strengths import Between, Pair, relative
from fenchel.result import Result, Status
from fenchel.solving.solve import solve

SHARE = 0.05  # of eps, to which each strength is solved: the rest is for those between
CAUTION = 0.9  # of the largest step that the last one suggests
SLOWEST, FASTEST = 0.3, 2.0  # factors by which a step in log alpha changes
SHORTEST = 1e-9  # seconds: a limit must be positive even when the time is already gone


@dataclass(frozen=True, eq=False)
class CertifiedPath(Path):
    """The solves that certify every strength in a range; behaves as a list of `Result`, from the largest alpha to the smallest.

    Attributes
    ----------
    alphas : the strengths that were solved.
    low, high, eps : for every alpha in [low, high] one of the results is within eps of the optimum, relative to its objective,
        if `converged`.

    Examples
    --------
    >>> import fenchel
    >>> problem = fenchel.Problem([[0.0], [1.0], [2.0]], [-1, -1, 1], loss="logistic", fit_intercept=True)
    >>> fenchel.path(problem, (0.01, 1.0), eps=0.1)
    CertifiedPath(alpha 0.01 to 1 within 0.1: certified; 6 solves)
    """

    pairs: tuple[Pair, ...] = field(default=(), repr=False)
    low: float = 0.0
    high: float = 0.0
    eps: float = 0.0
    make: Callable[[float], Any] | None = field(default=None, repr=False)

    @property
    def converged(self) -> bool:
        """True if the whole range is certified."""
        last = self.pairs[-1]
        return (
            all(self._good(pair) for pair in self.pairs)
            and all(Between(*two).covered(self.eps) for two in zip(self.pairs, self.pairs[1:], strict=False))
            and last.reach(self.low, self.eps) == self.low
        )

    def _good(self, pair: Pair) -> bool:
        return relative(pair.primal(pair.alpha), pair.lower) <= self.eps

    def bound(self, alpha: float) -> float:
        """A relative gap that is proven at alpha, of the result that is best there; needs no pass over the data."""
        return self._around(alpha).bound(float(alpha))

    def at(self, alpha: float) -> Result:
        """The result that is best at alpha, with its certificate there, recomputed from the data; its tol is eps."""
        near = self._around(alpha)
        assert self.make is not None
        problem = self.make(float(alpha))
        best = min(near.low, near.high, key=lambda pair: pair.primal(alpha)).result
        w, b = problem.variables(best.coef, best.intercept)
        certificate, point = certifier_of(problem).certificate(problem, w, b, near.dual_point(alpha))
        status = Status.CERTIFIED if certificate.holds(self.eps) else Status.STALLED
        return replace(
            best, problem=problem, certificate=certificate, dual_point=point, status=status, tol=self.eps, n_iter=0, passes=0.0,
            seconds=0.0, compile_seconds=0.0, trace=(), reason=f"solved at alpha={best.problem.regularizer.alpha:.6g}",
        )  # fmt: skip

    def _around(self, alpha: float) -> Between:
        """The solved strengths on both sides of alpha."""
        if np.ndim(alpha) or not self.low <= alpha <= self.high:
            raise InputError(f"alpha must be a number between {self.low:.6g} and {self.high:.6g}, got {alpha!r}")
        place = bisect.bisect_left(self.pairs, -alpha, key=lambda pair: -pair.alpha)
        return Between(self.pairs[max(place - 1, 0)], self.pairs[min(place, len(self.pairs) - 1)])

    def __repr__(self) -> str:
        state = "certified" if self.converged else "not certified everywhere"
        return (
            f"CertifiedPath(alpha {self.low:.3g} to {self.high:.3g} within {self.eps:.3g}: {state}; {len(self)} solves)"
        )


class Cover:
    """Solves until every strength in a range is certified by its neighbours."""

    def __init__(self, make: Callable[[float], Any], eps: float, max_time: float | None, options: dict[str, Any]):
        self.make, self.eps, self.max_time, self.options = make, eps, max_time, options
        self.began = CLOCK.other_time()
        self.pairs: list[Pair] = []
        self.failed = False  # a solve did not reach eps: no more of them

    def run(self, low: float, high: float) -> None:
        """From the largest strength to the smallest, in steps as long as the last one suggests."""
        upper = self.solve_at(high, None)
        step = 2.0 * np.log(high / upper.reach(low, self.eps)) or 0.1
        while not self.failed and upper.reach(low, self.eps) > low:
            lower = self.solve_at(max(low, float(upper.alpha * np.exp(-step))), upper)
            both = Between(upper, lower)
            middle = float(np.sqrt(upper.alpha * lower.alpha))
            worst = both.worst(self.eps)
            gap = both.bound(middle if np.isnan(worst) else worst)
            step *= float(np.clip(CAUTION * np.sqrt(self.eps / max(gap, 1e-3 * self.eps)), SLOWEST, FASTEST))
            self.fill(both)
            upper = lower

    def fill(self, both: Between) -> None:
        """Solve in the middle until every strength between two is certified."""
        if self.failed or both.covered(self.eps):
            return
        middle = self.solve_at(float(np.sqrt(both.low.alpha * both.high.alpha)), both.high)
        self.fill(Between(both.high, middle))
        self.fill(Between(middle, both.low))

    def solve_at(self, alpha: float, start: Pair | None) -> Pair:
        """Solve at a strength."""
        limits: dict[str, Any] = {}
        if self.max_time is not None:
            limits["max_time"] = max(self.max_time - (CLOCK.other_time() - self.began), SHORTEST)
        begin = None if start is None else start.result
        pair = Pair(solve(self.make(alpha), tol=SHARE * self.eps, start=begin, **self.options, **limits))
        self.failed |= not relative(pair.primal(alpha), pair.lower) <= 0.5 * self.eps
        bisect.insort(self.pairs, pair, key=lambda found: -found.alpha)
        return pair


def certified_range(
    make: Callable[[float], Any], low: float, high: float, eps: float, max_time: float | None, **options: Any
) -> CertifiedPath:
    """Solve as few strengths between low and high as prove that one of them is within eps at every strength between."""
    cover = Cover(make, eps, max_time, options)
    cover.run(low, high)
    results = tuple(pair.result for pair in cover.pairs)
    alphas = np.array([pair.alpha for pair in cover.pairs])
    return CertifiedPath(alphas, results, tuple(cover.pairs), low, high, eps, make)
