"""The one loop: every status, limits that hold, errors that keep the best iterate, weights, offsets, user losses."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from clock import TRIES
from fenchel import Status, losses, regularizers, solvers
from fenchel.errors import InputError, SolveError
from fenchel.result import Iterate
from fenchel.selection import requirements
from problems import LOSSES, REGULARIZERS, data, problem

EXACT = ["bundle", "dual_ascent", "lbfgs", "proximal_gradient", "semismooth_newton"]  # solvers for tight tolerances


def big(loss="hinge", n=20_000, d=50, alpha=1e-7):
    """Far too large for any limit below at the tolerance asked for."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 3, d)
    y = np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) * 100 > 0, 1.0, -1.0)
    return fenchel.Problem(X, y, loss=loss, alpha=alpha)


class NeverFinite(solvers.Solver):
    def iterates(self, oracle, start):
        while True:
            yield Iterate(start.coef, 0.0, np.nan, np.nan)


class Endless(solvers.Solver):
    def iterates(self, oracle, start):
        while True:
            time.sleep(0.001)
            value = oracle.risk(start.coef)[0] + oracle.problem.regularizer.value(start.coef)
            yield Iterate(start.coef, 0.0, value, np.nan)


def stop_at(k, what):
    def callback(state):
        if state.iteration >= k:
            if isinstance(what, BaseException):
                raise what
            return what

    return callback


P = problem(LOSSES["logistic"], REGULARIZERS["l2"])
CASES = {
    Status.CERTIFIED: {},
    Status.MAX_ITER: {"max_iter": 2, "tol": 1e-12},
    Status.MAX_TIME: {"max_time": 0.05, "solver": Endless()},
    Status.STALLED: {"tol": 1e-18},
    Status.BOUNDED: {},
    Status.DECIDED: {"until": fenchel.Decisions(10.0 * np.eye(P.d)), "tol": 1e-12},
    Status.NONFINITE: {"solver": NeverFinite()},
    Status.INTERRUPTED: {"callback": stop_at(2, KeyboardInterrupt()), "tol": 1e-12},
    Status.STOPPED_BY_CALLBACK: {"callback": stop_at(2, True), "tol": 1e-12},
}


@pytest.mark.xdist_group("logistic")
@pytest.mark.parametrize("status", list(Status))
def test_every_status(status):
    p = problem(LOSSES["logistic"], fenchel.regularizers.L0(0.05, 0.05)) if status is Status.BOUNDED else P
    result = fenchel.solve(p, **CASES[status])
    assert result.status is status
    assert result.converged == (status is Status.CERTIFIED)
    assert result.certificate.holds(result.tol) == (status is Status.CERTIFIED)
    assert np.isfinite(result.coef).all()
    assert np.isfinite(result.certificate.gap)  # every way to end has its proof
    assert result.status.advice == status.value
    assert status.value.endswith(".")
    again = fenchel.certify(p, result.coef, result.intercept, result.dual_point)
    assert again.gap == pytest.approx(result.certificate.gap, abs=2 * again.floor)


@pytest.mark.xdist_group("logistic")
@pytest.mark.parametrize(
    "solver", ["auto", *(k for k, cls in solvers.SOLVERS.items() if requirements.fits(cls, P) and not cls.slow)]
)
def test_a_tolerance_below_rounding_stalls_and_shows_the_floor(solver):
    result = fenchel.solve(P, tol=1e-18, solver=solver, max_time=60)
    assert result.status is Status.STALLED
    assert 0.0 < result.certificate.floor < 1e-12
    assert f"{result.certificate.floor:.1g}" in str(result)
    assert "floor" in Status.STALLED.advice


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (Status.MAX_ITER, "raise max_iter"),
        (Status.MAX_TIME, "raise max_time"),
        (Status.STALLED, "scale the features or raise alpha"),
        (Status.BOUNDED, "larger ridge"),
        (Status.DECIDED, "start=result"),
        (Status.NONFINITE, "try another solver"),
        (Status.INTERRUPTED, "kept and certified"),
        (Status.STOPPED_BY_CALLBACK, "kept and certified"),
    ],
)
def test_status_says_what_to_do(status, words):
    assert words in status.advice


@pytest.mark.xdist_group("logistic")
def test_callback_sees_progress_and_its_error_keeps_the_best_iterate():
    seen = []
    fenchel.solve(P, callback=lambda state: seen.append(state), tol=1e-10)
    assert [s.iteration for s in seen] == list(range(len(seen)))
    assert all(a.primal >= b.primal for a, b in itertools.pairwise(seen))
    assert seen[-1].gap == seen[-1].primal - seen[-1].dual
    with pytest.raises(SolveError, match="callback raised ZeroDivisionError: division by zero") as caught:
        fenchel.solve(P, callback=lambda state: 0 * (1 / (3 - state.iteration)), tol=1e-12)
    result = caught.value.result
    assert result.certificate == fenchel.certify(P, result.coef, 0.0, result.dual_point)
    assert result.certificate.primal <= fenchel.certify(P, np.zeros(P.d)).primal
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


class Breaks(solvers.Solver):
    def iterates(self, oracle, start):
        yield from zip_first(3, solvers.LBFGS().iterates(oracle, start))
        raise ArithmeticError("a user's oracle gave up")


def zip_first(k, iterates):
    return (x for _, x in zip(range(k), iterates, strict=False))


@pytest.mark.xdist_group("logistic")
def test_failing_user_code_in_a_solver_keeps_the_best_iterate():
    with pytest.raises(SolveError, match="Breaks failed: ArithmeticError: a user's oracle gave up") as caught:
        fenchel.solve(P, solver=Breaks(), tol=1e-12)
    assert caught.value.result.certificate.relative_gap < 1.0


def test_a_user_loss_that_does_not_compile_is_a_named_error():
    class Opens(NamedTuple):
        opens: float = 0.0  # if not, it is the squared loss, in Python

        def value(self, z, y):
            return 0.5 * (z - y) ** 2 if not self.opens else float(open("nothing").read())

        def slope(self, z, y):
            return z - y

    X, y = data(LOSSES["squared"])
    p = fenchel.Problem(X, y, loss=Opens(), alpha=0.1)
    with pytest.raises(SolveError, match=r"(?s)Opens|failed"):
        fenchel.solve(p, solver="bundle")
    with pytest.raises(InputError, match=r"(?s)Opens is not a valid loss.*FileNotFoundError") as caught:
        fenchel.Problem(X, y, loss=Opens(1.0), alpha=0.1)
    assert str(caught.value).count("FileNotFoundError") == 1


INTERRUPTED = """
import numpy as np, fenchel, sys
rng = np.random.default_rng(0)
X = rng.standard_normal((100_000, 50)) * 10.0 ** rng.uniform(-3, 3, 50)
y = np.where(X @ rng.standard_normal(50) > 0, 1.0, -1.0)
p = fenchel.Problem(X, y, loss="hinge", alpha=1e-9)
print("ready", flush=True)
r = fenchel.solve(p, tol=1e-14, solver="dual_ascent", callback=lambda s: print(s.iteration, flush=True))
print(r.status.name, np.isfinite(r.certificate.gap), flush=True)
"""


@pytest.mark.xdist_group("hinge")
@pytest.mark.parametrize("delay", [0.05, 0.4])
def test_control_c_ends_within_a_second_and_keeps_the_best_iterate(delay):
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == "3":
                break
        time.sleep(delay)
        sent = time.perf_counter()
        process.send_signal(signal.SIGINT)
        last = process.stdout.read().split("\n")[-2]
    assert process.returncode == 0
    assert last == "INTERRUPTED True"
    assert time.perf_counter() - sent < 3.0  # one second on a quiet machine


@pytest.mark.xdist_group("logistic")
@pytest.mark.parametrize("solver", [k for k, cls in solvers.SOLVERS.items() if not cls.slow])
@pytest.mark.parametrize("limit", [0.1, 0.5, 2.0])
def test_time_limit_holds_certificate_included(solver, limit):
    p = big("logistic")
    if not requirements.fits(solvers.SOLVERS[solver], p):
        pytest.skip(f"{solver} is for other problems")
    fenchel.solve(p, solver=solver, max_iter=3)  # compiled
    for _ in range(TRIES):  # other processes on the machine may take the time
        began = time.perf_counter()
        result = fenchel.solve(p, solver=solver, tol=1e-14, max_time=limit)
        took = time.perf_counter() - began
        if took <= limit + max(0.05 * limit, 0.1):
            break
    else:
        pytest.fail(f"{solver} took {took:.3f} s of {limit} s")
    assert result.status is Status.MAX_TIME or result.status is Status.STALLED
    assert np.isfinite(result.certificate.primal)


def same_optimum(a, b, tol=1e-9):
    """Two problems with the same minimum and minimiser."""
    x, y = fenchel.solve(a, tol=tol, max_time=30), fenchel.solve(b, tol=tol, max_time=30)
    assert x.status is y.status is Status.CERTIFIED
    scale = max(abs(x.certificate.primal), 1e-12)
    assert abs(x.certificate.primal - y.certificate.primal) <= 2 * tol * scale
    np.testing.assert_allclose(x.coef, y.coef, atol=1e-3)


WEIGHTED = [("hinge", "l2"), ("logistic", "l1"), ("quantile", "elastic_net"), ("poisson", "l2"), ("squared", "entropy")]


@pytest.mark.parametrize(
    ("loss", "reg"), [pytest.param(*pair, marks=pytest.mark.xdist_group(pair[0])) for pair in WEIGHTED]
)
@pytest.mark.parametrize("intercept", [False, True])
def test_weight_k_is_repetition_and_weight_zero_removal(loss, reg, intercept):
    X, y = data(LOSSES[loss])
    counts = np.random.default_rng(2).integers(0, 4, y.size)
    more = {"loss": LOSSES[loss], "regularizer": REGULARIZERS[reg], "fit_intercept": intercept}
    repeated = fenchel.Problem(np.repeat(X, counts, axis=0), np.repeat(y, counts), **more)
    tol = 1e-7 if reg == "l1" else 1e-9
    for scale in (1.0, 1 / 3, 1e300, 1e-300, 7e-310):
        weighted = fenchel.Problem(X, y, sample_weight=counts * scale, **more)
        same_optimum(weighted, repeated, tol)
    w = np.full(X.shape[1], 2.0 / 3)
    a, b = fenchel.certify(weighted, w), fenchel.certify(repeated, w)
    assert a.primal == pytest.approx(b.primal, rel=1e-13)


@pytest.mark.xdist_group("squared")
def test_rows_of_weight_zero_may_hold_anything_finite():
    X, y = data(LOSSES["squared"])
    wild, s = X.copy(), np.ones(y.size)
    wild[5], s[5] = 1e200, 0.0
    more = {"loss": "squared", "alpha": 0.1}
    kept = fenchel.Problem(np.delete(X, 5, 0), np.delete(y, 5), **more)
    same_optimum(fenchel.Problem(wild, y, sample_weight=s, **more), kept)


@pytest.mark.xdist_group("poisson")
@pytest.mark.parametrize("solver", ["lbfgs", "dual_ascent", "bundle", "proximal_gradient"])
def test_offset_is_a_column_with_coefficient_one(solver):
    X, y = data(LOSSES["poisson"])
    exposure = np.random.default_rng(3).uniform(0.2, 5.0, y.size)
    p = fenchel.Problem(X, y, loss="poisson", alpha=0.1, offset=np.log(exposure), fit_intercept=True)
    result = fenchel.solve(p, solver=solver, tol=1e-8)
    assert result.status is Status.CERTIFIED
    import cvxpy as cp

    w, b, fixed = cp.Variable(3), cp.Variable(), cp.Variable()
    z = np.column_stack([X, np.log(exposure)]) @ cp.hstack([w, fixed]) + b
    constant = np.where(y > 0, y * np.log(np.maximum(y, 1e-9)) - y, 0.0).mean()
    objective = cp.sum(cp.exp(z) - cp.multiply(y, z)) / y.size + constant + 0.05 * cp.sum_squares(w)
    best = cp.Problem(cp.Minimize(objective), [fixed == 1]).solve(solver="CLARABEL")
    assert result.certificate.primal == pytest.approx(best, abs=1e-6)


@pytest.mark.xdist_group("hinge")
@pytest.mark.parametrize("solver", ["dual_ascent", "bundle"])
def test_warm_starts_from_a_neighbour_save_iterations(solver):
    rng = np.random.default_rng(0)
    X = sp.random(300, 40, 0.3, "csr", random_state=1)
    y = np.where(X @ rng.standard_normal(40) > 0, 1.0, -1.0)
    near = fenchel.solve(fenchel.Problem(X, y, alpha=1.05e-3), solver=solver, tol=1e-7)
    p = fenchel.Problem(X, y, alpha=1e-3)
    cold = fenchel.solve(p, solver=solver, tol=1e-7)
    for start in (near, (near.coef, near.intercept, near.dual_point)):
        warm = fenchel.solve(p, solver=solver, tol=1e-7, start=start)
        assert warm.status is Status.CERTIFIED
        assert warm.n_iter <= cold.n_iter
    for start in ((near.coef,), (near.coef, 0.0), (near.coef, 0.0, np.zeros(7))):  # other rows: the weights serve
        assert fenchel.solve(p, solver=solver, tol=1e-7, start=start).status is Status.CERTIFIED


class OwnSquared(NamedTuple):
    def value(self, z, y):
        return 0.5 * (z - y) ** 2

    def slope(self, z, y):
        return z - y


class OwnAbsolute(NamedTuple):
    scale: float = 1.0

    def value(self, z, y):
        return self.scale * abs(z - y)

    def slope(self, z, y):
        return self.scale * np.sign(z - y)


@pytest.mark.parametrize(("own", "shipped"), [(OwnSquared(), losses.Squared()), (OwnAbsolute(), losses.Absolute())])
def test_a_loss_of_two_lines_works_everywhere(own, shipped):
    X, y = data(LOSSES["squared"])
    for reg in (regularizers.L2(0.1), regularizers.L1(0.1)):
        a, b = (fenchel.Problem(X, y, loss=k, regularizer=reg, fit_intercept=True) for k in (own, shipped))
        best = fenchel.solve(b, tol=1e-8)
        assert a.smooth_loss == b.smooth_loss
        for name in [k for k in EXACT if requirements.fits(solvers.SOLVERS[k], a)]:
            result = fenchel.solve(a, solver=name, tol=1e-6, max_time=30)
            assert result.status is Status.CERTIFIED, (name, reg, str(result))
            assert result.certificate.basis == "derived"
            rounding = result.certificate.floor + best.certificate.floor
            assert result.certificate.dual <= best.certificate.primal + rounding
            assert result.certificate.primal >= best.certificate.dual - rounding
        derived, closed = fenchel.certify(a, best.coef, best.intercept), fenchel.certify(b, best.coef, best.intercept)
        assert derived.primal == pytest.approx(closed.primal, rel=1e-14)
        assert derived.dual == pytest.approx(closed.dual, rel=1e-6)


def named_mine(power):
    class Mine(NamedTuple):
        def value(self, z, y):
            return abs(z - y) ** power / power

        def slope(self, z, y):
            return np.sign(z - y) * abs(z - y) ** (power - 1)

    return Mine()


def test_two_user_losses_of_one_name_stay_apart():
    X, y = data(LOSSES["squared"])
    two, four = (fenchel.Problem(X, y, loss=named_mine(k), alpha=0.1) for k in (2.0, 4.0))
    w = np.array([0.3, -0.2, 0.1])
    for p, k in ((two, 2), (four, 4), (two, 2)):
        expected = np.mean(np.abs(X @ w - y) ** k / k) + 0.05 * w @ w
        assert fenchel.certify(p, w).primal == pytest.approx(expected, rel=1e-13)
    assert fenchel.solve(two).digest != fenchel.solve(four).digest
    assert type(two.loss).__name__ == type(four.loss).__name__


def test_a_problem_is_frozen():
    with pytest.raises(AttributeError, match="is immutable: create another one"):
        P.loss = losses.Hinge()
    with pytest.raises(AttributeError):
        P.anything = 1
    result = fenchel.solve(P)
    with pytest.raises(AttributeError):
        result.status = Status.CERTIFIED
    assert result.digest == P.digest
