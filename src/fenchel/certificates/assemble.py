"""The certificate, assembled from the shares of blocks of rows: trusted code, the same for all families, engines and workers.

P = risk + R(w)  and  D = gain - R*(v)  <=  P,

where the risk, the gain and v are sums over rows. A `Share` holds these sums for some of the rows; the module of the family
computes it from the definitions, at a dual point that is feasible except for the domain of R*. This module adds the
regularizer: if R* is an indicator, v is scaled into its domain. It also bounds the rounding errors of both values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fenchel.certificates.passes import EPS
from fenchel.problems.scalar import Problem
from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.certified import certified_regularizer
from fenchel.regularizers.feature_weights import penalised_part
from fenchel.result import Certificate

SAFETY = 4.0  # number of roundings per term that the floor allows for

Terms = tuple[float, ...]  # One number per block, added at the end, so that the sum is rounded once.


class Share(NamedTuple):
    """The contribution of some rows to P and D, and the magnitudes to which its rounding errors are proportional."""

    v: np.ndarray
    gain: Terms = (0.0,)
    gain_size: Terms = (0.0,)
    spread: Terms = (0.0,)  # the magnitude of the terms of v
    balance: np.ndarray = np.zeros(1)  # sum p u, which must be 0 if intercepts are free
    risk: Terms = (0.0,)
    risk_size: Terms = (0.0,)
    score_size: Terms = (0.0,)  # the effect of rounding errors of the scores on P and D
    charge: float = 0.0  # what was removed from v along unpenalised directions, times the coefficients there

    def scaled(self, scale: float) -> Share:
        """The share at a multiple of a dual point whose gain is linear; magnitudes are not scaled, which is conservative."""
        return self._replace(v=scale * self.v, gain=tuple(scale * gain for gain in self.gain))

    def with_one_size(self) -> Share:
        """The share with the magnitudes of the risk and of the scores added to those of the gain, which is conservative."""
        total = size_of(self.risk_size) + size_of(self.gain_size) + size_of(self.score_size)
        return self._replace(risk_size=(0.0,), gain_size=(total,), score_size=(0.0,))


class Bound(NamedTuple):
    """D, the scale of the dual point, its share at that scale, and R*(v)."""

    dual: float
    scale: float
    share: Share
    conjugate: float


def lower_bound(regularizer: Regularizer, share: Share, scaled: Callable[[float], Share] | None = None) -> Bound:
    """D from the share of all rows; `scaled(scale)` is that of the dual point times a scale, by default `Share.scaled`, and
    has a v at which R* is finite.

    A share that is not finite gives no bound: D is -inf, and nothing of it enters the floor.
    """
    scale = 1.0
    if np.isfinite(share.v).all():
        scale = regularizer.dual_scale(share.v)
        if scale < 1.0:
            share = (scaled or share.scaled)(scale)
        gain = sum_of(share.gain)
        if math.isfinite(gain) and (scale == 1.0 or np.isfinite(share.v).all()):
            conjugate = regularizer.conjugate(share.v)
            dual = gain - conjugate
            return Bound(dual if dual == dual else -np.inf, scale, share, conjugate)
    return Bound(-np.inf, scale, none_like(share), 0.0)


def none_like(share: Share) -> Share:
    """The share without its dual point."""
    return share._replace(
        v=np.zeros(share.v.size), gain=(-np.inf,), gain_size=(0.0,), spread=(0.0,), balance=np.zeros(1), charge=0.0
    )


def assemble(
    problem: Problem,
    w: np.ndarray,
    share: Share,
    scaled: Callable[[float], Share] | None = None,
    intercept: float = 0.0,
    depth: float = 1.0,
    penalty: Any = None,
) -> tuple[Certificate, float]:
    """(certificate, scale of the dual point) from the share of all rows.

    w are the variables that R is a function of, R is `penalty` or the problem's regularizer; `intercept` is the magnitude of
    the free intercepts, and `depth` the number of roundings that a term of a sum may go through.
    """
    given = problem.regularizer if penalty is None else penalty
    regularizer = certified_regularizer(given, w)
    regular = regularizer.value(w)
    primal = sum_of(share.risk) + regular
    found = lower_bound(regularizer, share, scaled)
    share = found.share
    risk_size, gain_size, score_size, spread = map(
        size_of, (share.risk_size, share.gain_size, share.score_size, share.spread)
    )
    sizes = risk_size + abs(regular) + (gain_size + abs(found.conjugate)) + score_size
    hidden = blur(given, share.v, EPS * spread, gain_size, found.conjugate) if found.dual > -np.inf else 0.0
    if hasattr(given, "infeasibility") and found.dual > -np.inf:
        hidden += given.infeasibility(w, share.v)
    balance = float(np.abs(share.balance).max()) * max(1.0, intercept) if problem.has_intercept else 0.0
    floor = SAFETY * EPS * depth * sizes + SAFETY * hidden + balance + share.charge
    primal, floor = (primal if primal == primal else np.inf), (floor if math.isfinite(floor) else np.inf)
    return Certificate(float(primal), float(found.dual), problem.basis, float(floor)), found.scale


def blur(regularizer: Regularizer, v: np.ndarray, error: float, magnitude: float, here: float) -> float:
    """The loss of D if every v_j has an error of `error`: through a larger R*, or through scaling into its domain. R*(v) is
    `here`."""
    worst = [penalised_part(regularizer, moved) for moved in regularizer.perturbed(v, error)]
    rise = max(map(regularizer.conjugate, worst)) - here
    if math.isfinite(rise):
        return max(rise, 0.0)
    scale = min(map(regularizer.dual_scale, worst))
    rise = max(regularizer.conjugate(scale * moved) for moved in worst) - here  # not 0 where R* is linear in its domain
    return (1.0 - scale) * magnitude + max(rise, 0.0) if math.isfinite(rise) and scale < 1.0 else np.inf


def sum_of(totals: Sequence[float]) -> float:
    """Their sum, rounded once; infinite or NaN if one of them is."""
    return math.fsum(totals) if all(map(math.isfinite, totals)) else float(np.sum(totals))


def size_of(sizes: Terms) -> float:
    """The sum of magnitudes; infinite if one of them is not a number."""
    total = sum_of(sizes)
    return total if total == total else np.inf
