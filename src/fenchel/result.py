"""The result of a solve: frozen data.

The status follows from the recomputed certificate, never from the values that the solver reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.extension_points import provider
from fenchel.result_html import certificate_html, result_html

if TYPE_CHECKING:
    from fenchel.problems.scalar import Problem
    from fenchel.proofs import Ball, Staleness, Support


class Status(Enum):
    """How a solve ended. The value of a member is the advice to the user."""

    CERTIFIED = "The recomputed relative gap is at most tol."
    MAX_ITER = "The iteration limit came before the tolerance: raise max_iter, or accept the certified gap."
    MAX_TIME = "The time limit came before the tolerance: raise max_time, or accept the certified gap."
    STALLED = (
        "The gap no longer shrinks: tol is below what rounding allows for these data (see certificate.floor), "
        "or the problem is too ill-conditioned for this solver; try another solver, scale the features or raise alpha."
    )
    BOUNDED = (
        "The penalty is not convex: the gap bounds the distance from the global optimum and need not close; a larger ridge "
        "makes the bound tighter."
    )
    DECIDED = (
        "No decision on the rows of `until` can change, although the gap is above tol: continue with start=result."
    )
    NONFINITE = "The solver met an infinite or undefined number: scale the features, or try another solver."
    INTERRUPTED = "Interrupted from the keyboard; the best iterate so far was kept and certified."
    STOPPED_BY_CALLBACK = "The callback asked to stop; the best iterate so far was kept and certified."

    @property
    def advice(self) -> str:
        """What to do, in a sentence."""
        return self.value


@dataclass(frozen=True)
class Certificate:
    """A proof of how far a point is from the optimum: dual <= P* <= primal.

    Attributes
    ----------
    primal : float
        P at the point, recomputed from the definitions.
    dual : float
        D at a feasible dual point, recomputed from the definitions: a lower bound on every P.
    basis : str
        What the dual value rests on: ``"conjugate"`` (closed form) or ``"derived"`` (the conjugate of a loss of the user's
        own, bounded from above by its values alone: valid if `value` is convex, which is tested at the scores of all rows).
    floor : float
        What rounding alone can contribute to the gap for these data; no smaller gap can be promised.

    Examples
    --------
    >>> from fenchel.result import Certificate
    >>> c = Certificate(primal=1.0, dual=0.999, basis="conjugate", floor=1e-15)
    >>> round(c.gap, 6), c.holds(1e-2), c.holds(1e-4)
    (0.001, True, False)
    """

    primal: float
    dual: float
    basis: str
    floor: float = 0.0

    @property
    def gap(self) -> float:
        """primal - dual, as computed: a slightly negative value is rounding and is shown as it is."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """gap / |primal| (0 when both are 0)."""
        if self.gap == 0.0:
            return 0.0
        return self.gap / abs(self.primal) if self.primal != 0.0 else float(np.copysign(np.inf, self.gap))

    def holds(self, tol: float) -> bool:
        """True if gap <= tol |primal|, which rounding must allow to say: floor <= tol |primal| and gap >= -floor.

        Where both values are exactly 0 there is nothing left to round.
        """
        if not (np.isfinite(self.primal) and np.isfinite(self.dual)):
            return False
        if self.primal == self.dual == 0.0:
            return True
        return -self.floor <= self.gap and max(self.gap, self.floor) <= tol * abs(self.primal)

    def __str__(self) -> str:
        return (
            f"primal {self.primal:.10g}, dual {self.dual:.10g}, gap {self.gap:.3g} "
            f"(relative {self.relative_gap:.3g}; {self.basis}; rounding floor {self.floor:.1g})"
        )

    def _repr_html_(self) -> str:
        return certificate_html(self)


class Iterate(NamedTuple):
    """What a solver yields. If `dual_point` is None, the dual point consists of the slopes of the losses at this iterate.

    `primal` is None if it was not evaluated. `dual` is the solver's own estimate (NaN if it has none), which only decides when
    the certificate is recomputed. `dual_point` may be a function that computes it on demand. `memory` returns the state, as
    plain data and arrays for a checkpoint, from which the solver can continue exactly; None if there is none.
    """

    coef: np.ndarray
    intercept: float
    primal: float | None
    dual: float
    dual_point: Any = None
    memory: Callable[[], dict[str, Any]] | None = None


class TracePoint(NamedTuple):
    """One entry of the history: the values that the solver reported, and when."""

    iteration: int
    passes: float
    seconds: float
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        return self.primal - self.dual


@dataclass(frozen=True)
class Result:
    """A solution with its certificate.

    Attributes
    ----------
    coef, intercept : the point whose objective the certificate bounds.
    dual_point : ndarray of shape (n,), the u of the certificate (None only if no finite dual value is known). For a loss of m
        scores (n, m): an array, or, from `BlockAscent` with many scores, a `scipy.sparse.csr_matrix`.
    certificate : Certificate, recomputed from the definitions.
    status : Status; ``status.advice`` says what to do.
    tol : the requested relative gap.
    n_iter, passes, seconds : iterations, passes over the data and wall time, certificate included, compilation not.
    trace : tuple of TracePoint.
    solver : the solver that was used; `reason` says why it was chosen.
    settings : max_iter, max_time and threads of the solve, and its solvers with their parameters.
    compile_seconds : time spent during the solve on compiling kernels, or on reading compiled kernels from disk. Only the first
        solve of its kind on a machine has to compile; `seconds` and `max_time` exclude this time.
    """

    coef: np.ndarray
    intercept: float
    dual_point: Any
    certificate: Certificate
    status: Status
    tol: float
    n_iter: int
    passes: float
    seconds: float
    trace: tuple[TracePoint, ...]
    solver: str
    reason: str
    problem: Problem = field(repr=False, compare=False)
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    compile_seconds: float = field(default=0.0, compare=False)

    @property
    def converged(self) -> bool:
        """True if the recomputed gap is at most tol."""
        return self.status is Status.CERTIFIED

    @property
    def advice(self) -> str:
        """What to do: the advice of the status, with the rounding floor if tol, or the objective itself, is below it."""
        c = self.certificate
        asked = self.tol * abs(c.primal)
        if self.status is not Status.STALLED or not asked < c.floor < np.inf:
            return self.status.advice
        if abs(c.primal) <= c.floor:
            return (
                f"The objective is 0 up to rounding: {c.primal:.2g} is below {c.floor:.2g}, what rounding alone can contribute "
                "for these data (certificate.floor). No relative gap can be certified there; no better coefficients are known."
            )
        enough = 1.1 * c.floor / abs(c.primal)
        return (
            f"The gap no longer shrinks: tol={self.tol:.3g} asks for a gap of {asked:.2g}, but rounding alone can contribute "
            f"{c.floor:.2g} for these data (certificate.floor). Ask for tol={enough:.1g} or more, or scale the features."
        )

    @property
    def digest(self) -> str:
        """sha256 of the data and the problem that was solved (computed at the first access)."""
        return self.problem.digest

    def ball(self) -> Ball:
        """A region that holds the exact optimum: every certificate of a strongly convex regularizer proves one."""
        return provider("proofs").ball(self)

    def certain(self, X: Any, offset: Any = None) -> np.ndarray:
        """Whether the exact optimum puts each row into the same class as this result; True is a proof."""
        return provider("proofs").certain(self, X, offset)

    def support(self) -> Support:
        """The coefficients that are proven to be zero, positive or negative at the exact optimum."""
        return provider("proofs").support(self)

    def staleness(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Staleness:
        """How far new rows, added to those of the problem, can move coefficients and scores at most."""
        return provider("proofs").staleness(self, X, y, sample_weight, offset)

    def __str__(self) -> str:
        return (
            f"{self.status.name} by {self.solver} in {self.n_iter} iterations, {self.passes:.4g} passes, "
            f"{self.seconds:.3g} s: {self.certificate}"
        )

    def __repr__(self) -> str:
        shape = " x ".join(map(str, np.shape(self.coef))) or "1"
        return (
            f"Result({self.status.name} by {self.solver}: {shape} coefficients, objective {self.certificate.primal:.6g}, "
            f"relative gap {self.certificate.relative_gap:.2g})"
        )

    def _repr_html_(self) -> str:
        return result_html(self)
