"""A regularizer as dual coordinate steps need it: strength, mirror map (`transfer`), curvature along every row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.errors import InputError
from fenchel.kernels.dual_rules import Closed, Exact, Explicit, Implicit, Majorised
from fenchel.losses import Hinge
from fenchel.mirror_maps.coordinatewise import Identity, Soft
from fenchel.mirror_maps.entropic import BalancedWinnow, Winnow
from fenchel.mirror_maps.kinds import MirrorMap
from fenchel.mirror_maps.q_norm import Power
from fenchel.regularizers import (
    L2,
    BalancedEntropy,
    ElasticNet,
    Entropy,
    QNorm,
    Quadratic,
    Regularizer,
    UnnormalisedEntropy,
)
from fenchel.regularizers.prior import resolve_prior
from fenchel.solvers.dual_ascent import whitening
from fenchel.solvers.dual_ascent.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.data.types import Matrix
    from fenchel.oracles.scalar import Oracle
    from fenchel.problems.scalar import Problem

STEPS = ("majorised", "exact", "explicit", "implicit")


class Form(NamedTuple):
    """R* is strength h(v / strength) in the changed variables, and the mirror map w = transfer(v) is the gradient of h.

    bounds: upper bounds of the curvature of h along each row (inf: none; for q > 2 a first guess for line searches);
    typical: the mean curvature over the rows at the start; steps: the step rules that apply, the default first.
    """

    change: whitening.Identity | whitening.Whitening
    strength: float
    transfer: Any  # a MirrorMap; which one, the step rules know
    bounds: np.ndarray
    typical: float
    steps: tuple[str, ...] = STEPS


def make_form(oracle: Oracle) -> Form:
    """The form of the problem's regularizer."""
    regularizer = oracle.problem.regularizer
    return FORMS[next(kind for kind in FORMS if isinstance(regularizer, kind))](oracle, regularizer)


def has_form(regularizer: Regularizer) -> bool:
    """True if DualAscent can work with the regularizer."""
    return type(regularizer) in FORMS and getattr(regularizer, "weights", None) is None


def _quadratic(
    oracle: Oracle, change: whitening.Identity | whitening.Whitening, strength: float, transfer: MirrorMap
) -> Form:
    norms = change.norms(oracle)
    return Form(change, strength, transfer, norms, float(oracle.problem.weights @ norms))


def _l2(oracle: Oracle, regularizer: L2) -> Form:
    return _quadratic(oracle, whitening.Identity(oracle.problem.rows), regularizer.alpha, Identity())


def _elastic_net(oracle: Oracle, regularizer: ElasticNet) -> Form:
    strength = regularizer.alpha * (1.0 - regularizer.l1_ratio)
    transfer = Soft(regularizer.alpha * regularizer.l1_ratio / strength)
    return _quadratic(oracle, whitening.Identity(oracle.problem.rows), strength, transfer)


def _whitened(oracle: Oracle, regularizer: Quadratic) -> Form:
    change = whitening.Whitening(oracle.problem.X, whitening.cholesky(regularizer.K, oracle.problem.d))
    return _quadratic(oracle, change, regularizer.alpha, Identity())


def by_blocks(X: Matrix, function: Callable[[Any], Any]) -> np.ndarray:
    """One number per row, computed by blocks of rows, so that temporary arrays stay small beside X."""
    n, step = X.shape[0], SETTINGS.rows_per_statistics_block
    return np.concatenate([np.asarray(function(X[k : k + step]), dtype=float).reshape(-1) for k in range(0, n, step)])


def _extremes(X: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """(smallest, largest) entry of every row, zeros that are not stored included."""
    low, high = X.min(axis=1), X.max(axis=1)
    if sp.issparse(X):
        low, high = low.toarray(), high.toarray()
    return np.asarray(low, dtype=float).ravel(), np.asarray(high, dtype=float).ravel()


def _typical(problem: Problem, weights: np.ndarray) -> float:
    """sum_i p_i sum_j weights_j x_ij^2."""
    return float(problem.weights @ by_blocks(problem.X, lambda X: (X.power(2) if sp.issparse(X) else X * X) @ weights))


def _entropy(oracle: Oracle, regularizer: Entropy | UnnormalisedEntropy) -> Form:
    problem = oracle.problem
    oracle.count()
    total = getattr(regularizer, "total", 0.0)
    prior = resolve_prior(regularizer.prior, (total or 1.0) / problem.d, problem.d)
    low, high = _extremes(problem.X)
    if total > 0.0:
        spread = high - low
        bounds = total / 4.0 * spread**2
    else:
        spread, bounds = np.maximum(high, -low), np.full(problem.n, np.inf)
    transfer = Winnow(np.empty(problem.d), np.log(prior), np.zeros(3), spread, total)
    typical = _typical(problem, regularizer.start(problem.d))
    return Form(whitening.Identity(problem.rows), regularizer.alpha, transfer, bounds, typical)


def _balanced(oracle: Oracle, regularizer: BalancedEntropy) -> Form:
    problem = oracle.problem
    oracle.count()
    total = regularizer.total or 0.0
    prior = resolve_prior(regularizer.prior, (total or 1.0) / (2 * problem.d), problem.d)
    low, high = _extremes(problem.X)
    largest = np.maximum(high, -low)
    bounds = total * largest**2 if total > 0.0 else np.full(problem.n, np.inf)
    spread = 2.0 * largest if total > 0.0 else largest
    transfer = BalancedWinnow(np.empty(problem.d), np.empty(problem.d), np.log(prior), np.zeros(3), spread, total)
    mass = 2.0 * prior * (total / (2.0 * prior.sum()) if total > 0.0 else 1.0)
    return Form(whitening.Identity(problem.rows), regularizer.alpha, transfer, bounds, _typical(problem, mass))


def _q_norm(oracle: Oracle, regularizer: QNorm) -> Form:
    problem = oracle.problem
    oracle.count(directions=1)
    p = regularizer.q / (regularizer.q - 1.0)
    powers = by_blocks(problem.X, lambda X: (abs(X).power(p) if sp.issparse(X) else np.abs(X) ** p).sum(axis=1))
    bounds = max(p - 1.0, 1.0) * powers ** (2.0 / p)
    transfer = Power(np.zeros(3), p, 1.0 / (regularizer.power - 1.0))
    provable = regularizer.q <= 2.0 and regularizer.power == 2.0
    steps = ("exact", "majorised", "explicit", "implicit") if provable else ("exact", "explicit", "implicit")
    typical = float(problem.weights @ bounds)
    return Form(whitening.Identity(problem.rows), regularizer.alpha, transfer, bounds, typical, steps)


FORMS: dict[type[Regularizer], Callable[[Any, Any], Form]] = {
    L2: _l2,
    Quadratic: _whitened,
    ElasticNet: _elastic_net,
    Entropy: _entropy,
    UnnormalisedEntropy: _entropy,
    BalancedEntropy: _balanced,
    QNorm: _q_norm,
}


def make_rule(problem: Problem, form: Form, step: str | None, eta: float | None) -> Any:
    """The step rule in the form that the kernel takes."""
    chosen = form.steps[0] if step is None else step
    if chosen not in form.steps:
        name = type(problem.regularizer).__name__
        raise InputError(
            f"step={chosen!r} needs a bound of the curvature, which {name} with these parameters does not have; "
            f"use one of {', '.join(map(repr, form.steps))}"
        )
    if chosen in ("explicit", "implicit"):
        return (Explicit if chosen == "explicit" else Implicit)(float(eta or 0.0))
    if isinstance(form.transfer, Identity) or chosen == "majorised":
        return Majorised()
    closed = isinstance(form.transfer, (Winnow, BalancedWinnow)) and isinstance(problem.loss, Hinge)
    scale = unit_scales(problem.X) if closed and not problem.fit_intercept else np.zeros(0)
    if scale.any():
        return Closed(problem.loss.margin, form.transfer.total, scale)
    return Exact()


def unit_scales(X: Matrix) -> np.ndarray:
    """s for rows whose entries are all -s, 0 or s; 0 for other rows."""
    return by_blocks(X, _unit_scales)


def _unit_scales(X: Matrix) -> np.ndarray:
    sizes = abs(X)
    if not sp.issparse(X):
        largest = sizes.max(axis=1)
        return np.where(((sizes != 0.0) & (sizes != largest[:, None])).any(axis=1), 0.0, largest)
    largest = sizes.max(axis=1).toarray().ravel()
    counts = np.diff(sizes.indptr)
    odd = (sizes.data != 0.0) & (sizes.data != np.repeat(largest, counts))
    return np.where(
        np.bincount(np.repeat(np.arange(counts.size), counts)[odd], minlength=counts.size) > 0, 0.0, largest
    )
