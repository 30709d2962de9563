"""Solvers that lie: whatever they claim, CERTIFIED comes only from a certificate that truly holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import exact
import fenchel
from fenchel.errors import FenchelError, InputError
from fenchel.result import Iterate
from fenchel.solvers import Solver
from fenchel.solvers.base import Needs
from problems import LOSSES, REGULARIZERS, problem

TOL = 1e-6
PAIRS = [
    ("hinge", "l2"),
    ("hinge", "l1"),
    ("logistic", "elastic_net"),
    ("logistic", "quadratic"),
    ("squared", "l1"),
    ("squared", "q_norm"),
    ("quantile", "l2"),
    ("poisson", "unnormalised_entropy"),
    ("poisson", "l2"),
    ("novelty", "entropy"),
]


@dataclass(frozen=True)
class Liar(Solver):
    """Yields what a lie makes of the true solution (w, b, u, P), five times."""

    lie: Callable[..., Iterate] = Iterate
    truth: Any = None

    def iterates(self, oracle, start):
        for k in range(5):
            yield self.lie(self.truth, oracle.problem, k)


def outside(p, u):
    """u pushed one ulp past the ends of its domain wherever it is there, and one ulp further elsewhere."""
    return np.nextafter(u, np.where(u > 0, np.inf, -np.inf))


def accumulators(t, p):
    """P and D as if the accumulated v were a tenth of the real one: what a solver that forgot updates would believe."""
    return t.certificate.primal, t.certificate.primal * (1 - 1e-9)


def foreign(p):
    """The dual point of another problem: labels reversed."""
    return np.random.default_rng(0).standard_normal(p.n)


WRONG = {  # w is far from optimal in all of these: no certificate can hold
    "claims_zero_gap": lambda t, p, k: Iterate(2 * t.coef, t.intercept, 1.0, 1.0, t.dual_point),
    "claims_negative_gap": lambda t, p, k: Iterate(2 * t.coef, t.intercept, 1.0, 2.0, t.dual_point),
    "claims_better_primal": lambda t, p, k: Iterate(
        2 * t.coef, t.intercept, 0.9 * t.certificate.dual, 1.0, t.dual_point
    ),
    "claims_the_true_values": lambda t, p, k: Iterate(
        2 * t.coef, t.intercept, t.certificate.primal, t.certificate.dual, t.dual_point
    ),
    "coefficients_of_another_problem": lambda t, p, k: Iterate(t.coef[::-1] + 0.5, 0.0, 1e-3, 1e-3, t.dual_point),
    "huge_coef": lambda t, p, k: Iterate(1e200 * (1 + t.coef), t.intercept, 1.0, 1.0, t.dual_point),
    "largest_coef": lambda t, p, k: Iterate(np.full(p.d, 1.7e308), t.intercept, 1.0, 1.0, t.dual_point),
    "nan_coef": lambda t, p, k: Iterate(np.full(p.d, np.nan), t.intercept, 1.0, 1.0, t.dual_point),
    "one_nan_coef": lambda t, p, k: Iterate(np.append(t.coef[:-1], np.nan), t.intercept, 1.0, 1.0, t.dual_point),
    "short_coef": lambda t, p, k: Iterate(t.coef[:-1], t.intercept, 1.0, 1.0, t.dual_point),
    "nan_intercept": lambda t, p, k: Iterate(t.coef, np.nan, 1.0, 1.0, t.dual_point),
    "infinite_coef": lambda t, p, k: Iterate(np.full(p.d, np.inf), t.intercept, 1.0, 1.0, t.dual_point),
    "stale_coef": lambda t, p, k: Iterate(
        p.regularizer.start(p.d) * (1 + 0.0 * k) + 1.0, 0.0, *accumulators(t, p), t.dual_point
    ),
    "minus_infinite_primal": lambda t, p, k: Iterate(2 * t.coef, t.intercept, -np.inf, 0.0, t.dual_point),
    "wrong_intercept": lambda t, p, k: Iterate(t.coef, t.intercept + 5.0, 1.0, 1.0, t.dual_point),
    "zero_primal_claimed": lambda t, p, k: Iterate(2 * t.coef, t.intercept, 0.0, 0.0, np.zeros(p.n)),
    "wrong_w_and_foreign_dual": lambda t, p, k: Iterate(-t.coef - 1.0, t.intercept, 1.0, 1.0, foreign(p)),
}
DOUBTFUL = {  # w is right and the dual point is not: certified only if the bound that is recomputed truly holds
    "foreign_dual": lambda t, p, k: Iterate(t.coef, t.intercept, t.certificate.primal, 1e9, foreign(p)),
    "nan_dual": lambda t, p, k: Iterate(t.coef, t.intercept, t.certificate.primal, 1e9, np.full(p.n, np.nan)),
    "one_nan_in_dual": lambda t, p, k: Iterate(
        t.coef, t.intercept, t.certificate.primal, 1e9, np.append(t.dual_point[:-1], np.nan)
    ),
    "infinite_dual_point": lambda t, p, k: Iterate(
        t.coef, t.intercept, t.certificate.primal, 1e9, np.full(p.n, np.inf)
    ),
    "huge_dual_point": lambda t, p, k: Iterate(t.coef, t.intercept, t.certificate.primal, 1e9, np.full(p.n, 1e300)),
    "one_ulp_outside": lambda t, p, k: Iterate(
        t.coef, t.intercept, t.certificate.primal, 1e9, outside(p, t.dual_point)
    ),
    "infinite_dual_claimed": lambda t, p, k: Iterate(t.coef, t.intercept, t.certificate.primal, np.inf, None),
    "nan_claimed": lambda t, p, k: Iterate(t.coef, t.intercept, np.nan, np.nan, t.dual_point),
    "opposite_dual": lambda t, p, k: Iterate(t.coef, t.intercept, t.certificate.primal, 1e9, -t.dual_point),
    "unbalanced_dual": lambda t, p, k: Iterate(t.coef, t.intercept, t.certificate.primal, 1e9, t.dual_point + 0.3),
    "short_dual": lambda t, p, k: Iterate(t.coef, t.intercept, t.certificate.primal, 1e9, t.dual_point[:-1]),
}


def truly_holds(p, result):
    """The certificate of a result, judged in 50 digits."""
    P = exact.primal(p, result.coef, result.intercept)
    D, imbalance = exact.dual(p, result.dual_point)
    if p.fit_intercept and abs(imbalance) > 1e-13 * (1 + abs(p.weights @ np.abs(result.dual_point))):
        return False
    slack = result.certificate.floor + 1e-15
    return 1.001 * TOL * abs(P) + slack >= P - D >= -slack


def outcome(p, lie, truth):
    try:
        return fenchel.solve(p, solver=Liar(lie, truth), tol=TOL, max_iter=20)
    except FenchelError as error:
        return getattr(error, "result", None)


@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
@pytest.mark.parametrize(
    ("loss", "reg"), [pytest.param(*pair, marks=pytest.mark.xdist_group(pair[0])) for pair in PAIRS]
)
def test_no_lie_is_certified(loss, reg, intercept):
    p = problem(LOSSES[loss], REGULARIZERS[reg], intercept, weighted=True)
    truth = fenchel.solve(p, tol=1e-9 if reg != "l1" else 1e-7)
    assert truth.status is fenchel.Status.CERTIFIED
    for name, lie in WRONG.items():
        if name == "wrong_intercept" and not intercept:
            continue
        result = outcome(p, lie, truth)
        certified = result is not None and result.status is fenchel.Status.CERTIFIED
        assert not certified or (truth.certificate.primal == 0.0 and truly_holds(p, result)), (name, str(result))
        assert result is None or not np.isnan(result.certificate.gap), name
    for name, lie in DOUBTFUL.items():
        result = outcome(p, lie, truth)
        if result is not None and result.status is fenchel.Status.CERTIFIED:
            assert truly_holds(p, result), (name, str(result))


@pytest.mark.xdist_group("hinge")
def test_an_honest_solver_of_the_same_kind_is_certified():
    p = problem(LOSSES["hinge"], REGULARIZERS["l2"], True)
    truth = fenchel.solve(p, tol=1e-9)
    c = truth.certificate
    result = outcome(p, lambda t, p, k: Iterate(t.coef, t.intercept, c.primal, c.dual, t.dual_point), truth)
    assert result.status is fenchel.Status.CERTIFIED
    assert truly_holds(p, result)


@pytest.mark.xdist_group("hinge")
def test_the_last_good_iterate_survives_a_lie():
    p = problem(LOSSES["hinge"], REGULARIZERS["l2"], True)
    truth = fenchel.solve(p, tol=1e-9)

    def first_honest(t, p, k):
        good = Iterate(t.coef, t.intercept, t.certificate.primal, -np.inf, None)
        return good if k < 2 else Iterate(np.full(p.d, np.nan), 0.0, -1.0, -1.0)

    result = fenchel.solve(p, solver=Liar(first_honest, truth), tol=1e-15)
    assert result.status is fenchel.Status.NONFINITE
    assert result.certificate.primal == truth.certificate.primal


class Returning(Liar):
    def iterates(self, oracle, start):
        return Iterate(start.coef, 0.0, 1.0, 1.0)


class Pairs(Liar):
    def iterates(self, oracle, start):
        yield start.coef, 0.0


class Misspelt(Liar):
    needs = Needs(loss=("smooth",))


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        (Returning(), "Returning must be a generator"),
        (Pairs(), "must yield .*Iterate"),
        (Misspelt(), "Misspelt has 'smooth'"),
    ],
)
@pytest.mark.xdist_group("hinge")
def test_what_is_no_solver_is_refused_with_words(solver, words):
    with pytest.raises(InputError, match=words):
        fenchel.solve(problem(LOSSES["hinge"], REGULARIZERS["l2"], False), solver=solver)
