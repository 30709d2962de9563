"""Regularizers of a user's own: they work from whatever methods they have, and wrong ones are never falsely certified."""

import math
from dataclasses import dataclass
from typing import ClassVar

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel import Status, regularizers, solvers
from fenchel.errors import IncompatibleError, InputError, SolveError
from fenchel.regularizers import Regularizer, derived
from fenchel.selection import requirements

OPTIONAL = ("prox", "primal_from_dual", "gradient", "conjugate_hessian", "dual_scale")


def soft(v, t):
    return np.sign(v) * np.maximum(np.abs(v) - t, 0.0)


# Each as a user might write it, its methods under names with an underscore: the tests add those that they try.
class OwnL2(Regularizer):
    def value(self, w):
        return self.alpha / 2 * float(w @ w)

    def _conjugate(self, v):
        return float(v @ v) / (2 * self.alpha)

    def _prox(self, w, step):
        return w / (1 + step * self.alpha)

    def _primal_from_dual(self, v):
        return v / self.alpha

    def _gradient(self, w):
        return self.alpha * w

    def _conjugate_hessian(self, v, A):
        return A.T @ A / self.alpha

    def cvxpy(self, w):
        return self.alpha / 2 * cp.sum_squares(w), []


class OwnL1(Regularizer):
    def value(self, w):
        return self.alpha * float(np.abs(w).sum())

    def _conjugate(self, v):
        return 0.0 if np.max(np.abs(v)) <= self.alpha else math.inf

    def _prox(self, w, step):
        return soft(w, step * self.alpha)

    def _dual_scale(self, v):
        return min(1.0, self.alpha / np.max(np.abs(v))) if np.any(v) else 1.0

    def cvxpy(self, w):
        return self.alpha * cp.norm1(w), []


class OwnElasticNet(Regularizer):
    def value(self, w):
        return self.alpha * (0.5 * float(np.abs(w).sum()) + 0.25 * float(w @ w))

    def _conjugate(self, v):
        s = soft(v, self.alpha / 2)
        return float(s @ s) / self.alpha

    def _primal_from_dual(self, v):
        return soft(v, self.alpha / 2) * 2 / self.alpha

    def _prox(self, w, step):
        return soft(w, step * self.alpha / 2) / (1 + step * self.alpha / 2)

    def cvxpy(self, w):
        return self.alpha * (0.5 * cp.norm1(w) + 0.25 * cp.sum_squares(w)), []


class Bounded(Regularizer):
    """L2 with all weights between -0.3 and 0.3."""

    def value(self, w):
        return self.alpha / 2 * float(w @ w) if np.max(np.abs(w)) <= 0.3 else math.inf

    def _conjugate(self, v):
        w = np.clip(v / self.alpha, -0.3, 0.3)
        return float(v @ w) - self.value(w)

    def _primal_from_dual(self, v):
        return np.clip(v / self.alpha, -0.3, 0.3)

    def _prox(self, w, step):
        return np.clip(w / (1 + step * self.alpha), -0.3, 0.3)

    def cvxpy(self, w):
        return self.alpha / 2 * cp.sum_squares(w), [cp.abs(w) <= 0.3]


class Groups(Regularizer):
    """The Euclidean norms of the first half and of the second half of the weights."""

    def value(self, w):
        return self.alpha * sum(float(np.linalg.norm(g)) for g in np.array_split(w, 2))

    def _conjugate(self, v):
        return 0.0 if max(np.linalg.norm(g) for g in np.array_split(v, 2)) <= self.alpha else math.inf

    def _prox(self, w, step):
        parts = np.array_split(w, 2)
        return np.concatenate([g * max(0.0, 1 - step * self.alpha / max(np.linalg.norm(g), 1e-300)) for g in parts])

    def cvxpy(self, w):
        return self.alpha * (cp.norm(w[:2]) + cp.norm(w[2:])), []


class SquaredNorm(Regularizer):
    """alpha/2 |w|_1.5^2, whose conjugate is |v|_3^2 / (2 alpha)."""

    def value(self, w):
        return self.alpha / 2 * float(np.sum(np.abs(w) ** 1.5)) ** (4 / 3)

    def _conjugate(self, v):
        return float(np.sum(np.abs(v) ** 3)) ** (2 / 3) / (2 * self.alpha)

    def _primal_from_dual(self, v):
        size = float(np.sum(np.abs(v) ** 3)) ** (1 / 3)
        return np.sign(v) * v * v / (size * self.alpha) if size > 0 else 0 * v

    def _gradient(self, w):
        size = float(np.sum(np.abs(w) ** 1.5)) ** (2 / 3)
        return self.alpha * np.sign(w) * np.sqrt(np.abs(w) * size)

    def cvxpy(self, w):
        return self.alpha / 2 * cp.square(cp.pnorm(w, 1.5)), []


class Shifted(Regularizer):
    def value(self, w):
        return self.alpha / 2 * float((w - 1) @ (w - 1))

    def _conjugate(self, v):
        return float(v @ v) / (2 * self.alpha) + float(v.sum())

    def _prox(self, w, step):
        return (w + step * self.alpha) / (1 + step * self.alpha)

    def _primal_from_dual(self, v):
        return v / self.alpha + 1

    def _gradient(self, w):
        return self.alpha * (w - 1)

    def cvxpy(self, w):
        return self.alpha / 2 * cp.sum_squares(w - 1), []


class Nonnegative(Regularizer):
    def value(self, w):
        return self.alpha / 2 * float(w @ w) if np.min(w) >= 0 else math.inf

    def _conjugate(self, v):
        return float(np.maximum(v, 0) @ np.maximum(v, 0)) / (2 * self.alpha)

    def _primal_from_dual(self, v):
        return np.maximum(v, 0) / self.alpha

    def _prox(self, w, step):
        return np.maximum(w, 0) / (1 + step * self.alpha)

    def cvxpy(self, w):
        return self.alpha / 2 * cp.sum_squares(w), [w >= 0]


class OwnEntropy(Regularizer):
    """alpha sum of w log w - w."""

    def start(self, dim):
        return np.ones(dim)

    def value(self, w):
        if np.min(w) < 0:
            return math.inf
        return self.alpha * float(np.sum(np.where(w > 0, w * np.log(np.where(w > 0, w, 1)), 0) - w))

    def _conjugate(self, v):
        return self.alpha * float(np.sum(np.exp(v / self.alpha)))

    def _primal_from_dual(self, v):
        return np.exp(v / self.alpha)

    def _gradient(self, w):
        return self.alpha * np.log(w)

    def cvxpy(self, w):
        return self.alpha * (cp.sum(-cp.entr(w)) - cp.sum(w)), []


ALL = [OwnL2, OwnL1, OwnElasticNet, Bounded, Groups, SquaredNorm, Shifted, Nonnegative, OwnEntropy]


def with_methods(kind, methods):
    """The class with these methods under their own names, and no others."""
    return type(f"{kind.__name__}_with_{'_'.join(methods)}", (kind,), {m: getattr(kind, f"_{m}") for m in methods})


def choices(kind):
    """From value and conjugate alone, from value and prox alone, with every optional method, with all of them."""
    has = [name for name in OPTIONAL if hasattr(kind, f"_{name}")]
    yield ("conjugate",)
    if "prox" in has:
        yield ("prox",)
    if "primal_from_dual" in has:
        yield ("primal_from_dual",)
    yield from (("conjugate", name) for name in has)
    yield ("conjugate", *has)


RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
LABELS = np.sign(X @ [1.0, -1.0, 0.5, 0.0] + 0.5 * RNG.normal(size=30))
TARGETS = X @ [1.0, 2.0, 0.5, 0.0] + RNG.standard_t(3, 30)
WEIGHTS = RNG.random(30) + 0.2
CASES = {  # loss, free intercept, weights
    "hinge": ("hinge", False, False),
    "hinge with intercept and weights": ("hinge", True, True),
    "absolute with intercept": ("absolute", True, False),
    "squared with weights": ("squared", False, True),
    "logistic with intercept": ("logistic", True, False),
}


def optimum(regularizer, case):
    loss, free, weighted = CASES[case]
    w, b = cp.Variable(4), cp.Variable() if free else 0.0
    z, p = X @ w + b, WEIGHTS / WEIGHTS.sum() if weighted else np.full(30, 1 / 30)
    terms = {
        "hinge": lambda: cp.pos(1 - cp.multiply(LABELS, z)),
        "absolute": lambda: cp.abs(z - TARGETS),
        "squared": lambda: cp.square(z - TARGETS) / 2,
        "logistic": lambda: cp.logistic(-cp.multiply(LABELS, z)),
    }[loss]()
    penalty, constraints = regularizer.cvxpy(w)
    return cp.Problem(cp.Minimize(p @ terms + penalty), constraints).solve(solver="CLARABEL")


def problem_of(regularizer, case):
    loss, free, weighted = CASES[case]
    y = LABELS if loss in ("hinge", "logistic") else TARGETS
    weights = WEIGHTS if weighted else None
    return fenchel.Problem(X, y, loss=loss, regularizer=regularizer, fit_intercept=free, sample_weight=weights)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ALL)
def test_the_optimum_is_certified_with_whatever_methods_there_are(kind, case):
    best = optimum(kind(0.05), case)
    for methods in choices(kind):
        result = fenchel.solve(problem_of(with_methods(kind, methods)(0.05), case), tol=1e-6)
        assert result.status is Status.CERTIFIED, methods
        assert result.certificate.primal == pytest.approx(best, rel=2e-6, abs=1e-7), methods
        assert result.certificate.dual <= best + 1e-7 * (1 + abs(best)), methods
        assert result.certificate.basis.endswith("R* as given" if "conjugate" in methods else "R* from prox"), methods


@pytest.mark.parametrize("kind", ALL)
def test_every_solver_that_says_it_fits_certifies_or_goes_on_and_the_others_say_what_is_missing(kind):
    for methods in choices(kind):
        problem = problem_of(with_methods(kind, methods)(0.05), "logistic with intercept")
        assert "Bundle" in requirements.who_can(problem)
        for name, solver in solvers.SOLVERS.items():
            if requirements.fits(solver, problem):
                result = fenchel.solve(problem, solver=name, tol=1e-3, max_iter=2000)
                assert result.status is Status.CERTIFIED, (name, methods)
            else:
                with pytest.raises(IncompatibleError, match=f"{solver.__name__} cannot solve this problem"):
                    fenchel.solve(problem, solver=name)


@pytest.mark.parametrize("kind", [OwnL2, OwnL1, Groups, OwnEntropy])
def test_a_medium_problem(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 30))
    y = np.sign(X[:, :4].sum(axis=1) + rng.normal(size=300))
    problem = fenchel.Problem(X, y, loss="hinge", regularizer=with_methods(kind, ("conjugate",))(0.05))
    result = fenchel.solve(problem, tol=1e-3)
    assert result.status is Status.CERTIFIED


def test_measures_and_several_scores_take_one_too():
    own, shipped = with_methods(OwnL2, ("prox",))(0.1), regularizers.L2(0.1)
    for options in ({"loss": "roc_area"}, {"loss": "softmax"}):
        y = LABELS if options["loss"] == "roc_area" else (LABELS > 0).astype(int)
        results = [fenchel.solve(fenchel.Problem(X, y, regularizer=r, **options), tol=1e-6) for r in (own, shipped)]
        assert results[0].status is Status.CERTIFIED
        assert results[0].certificate.primal == pytest.approx(results[1].certificate.primal, rel=2e-6)


def test_without_conjugate_and_prox_the_error_names_both():
    class Neither(Regularizer):
        def value(self, w):
            return self.alpha * float(w @ w)

    with pytest.raises(InputError, match=r"Neither needs `conjugate\(v\)`.* or `prox\(w, step\)`"):
        fenchel.Problem(X, TARGETS, loss="squared", regularizer=Neither(0.1))


@pytest.mark.parametrize("kind", [k for k in ALL if hasattr(k, "_prox")])
def test_the_derived_conjugate_is_that_which_the_user_would_write(kind):
    own = with_methods(kind, ("prox",))(0.3)
    for v in [scale * RNG.normal(size=4) for scale in (0.01, 0.1, 0.3, 1.0, 10.0) for _ in range(5)]:
        exact = own._conjugate(v)
        if math.isfinite(exact):
            assert own.conjugate(v) == pytest.approx(exact, rel=1e-9, abs=1e-12)
        scale = own.dual_scale(v)
        assert math.isfinite(own._conjugate(0.999999999 * scale * v))
        assert scale == 1.0 or not math.isfinite(own._conjugate(1.000001 * scale * v))


# What is planted: shape, and a fault in one of the methods. The number of a fault says what is wrong.
CONJUGATES = {
    "half": 1.0, "slightly too small": 2.0, "0": 3.0, "negative": 4.0, "minus a constant": 5.0, "alpha for 1 / alpha": 6.0,
    "right for small v only": 7.0, "right for positive v only": 8.0, "mean for sum": 9.0, "NaN": 10.0, "minus infinity": 11.0,
    "random": 12.0, "first entry forgotten": 13.0, "of another alpha": 14.0,
}  # fmt: skip
PROXES = {
    "identity": 21.0, "0": 22.0, "step forgotten": 23.0, "sign": 24.0, "NaN": 25.0, "half": 26.0, "alpha forgotten": 27.0,
    "one entry left alone": 28.0,
}  # fmt: skip
SCALES = {"negative": 41.0, "NaN": 42.0, "two": 43.0}
MAPS = {"twice": 51.0, "0": 52.0, "shifted": 53.0}
VALUES = {"a dip": 61.0, "capped": 62.0, "NaN": 63.0, "random": 64.0}
CHANGING = np.random.default_rng(3)


@dataclass(frozen=True, eq=False)
class Planted(Regularizer):
    """L2, L1 or the elastic net (shape 0, 1, 2) with a fault."""

    shape: float = 0.0
    fault: float = 0.0

    def parts(self):
        one = {0.0: 0.0, 1.0: 1.0, 2.0: 0.5}[self.shape]
        return one * self.alpha, (1.0 - one) * self.alpha

    def value(self, w):
        one, two = self.parts()
        value = one * float(np.abs(w).sum()) + two / 2 * float(w @ w)
        far = float(np.max(np.abs(w))) if w.size else 0.0
        if self.fault == 61.0:
            value -= 0.5 if far > 0.2 else 0.0
        elif self.fault == 62.0:
            value = min(value, 0.01)
        elif self.fault == 63.0:
            value = math.nan if far > 0.2 else value
        elif self.fault == 64.0:
            value += 0.1 * CHANGING.random()
        return value


def planted_conjugate(self, v):
    one, two = self.parts()
    k = self.fault
    if k == 6.0:
        two = 1.0 / two if two else two
    elif k == 14.0:
        one, two = 2.0 * one, 2.0 * two
    elif k == 13.0:
        v = np.append(0.0, v[1:])
    elif k == 8.0:
        v = np.maximum(v, 0.0)
    s = soft(v, one)
    value = (0.0 if np.max(np.abs(s)) <= 1e-12 else math.inf) if two == 0.0 else float(s @ s) / (2 * two)
    if k == 1.0:
        return 0.0 if two == 0.0 else 0.5 * value
    if k == 2.0:
        return 0.0 if two == 0.0 else 0.99 * value
    wrong = {
        3.0: 0.0, 4.0: -value if math.isfinite(value) else -1.0, 5.0: value - 0.1, 7.0: min(value, 1e-4),
        9.0: value / v.size if math.isfinite(value) else 0.0, 10.0: math.nan, 11.0: -math.inf,
        12.0: 0.5 * CHANGING.random() * min(value, 1.0),
    }  # fmt: skip
    return wrong.get(k, value)


def planted_prox(self, w, step):
    one, two = self.parts()
    k = self.fault
    if k == 23.0:
        step = 1.0
    elif k == 27.0:
        one, two = one / self.alpha, two / self.alpha
    found = soft(w, step * one) / (1 + step * two)
    wrong = {
        21.0: w,
        22.0: 0.0 * w,
        24.0: -found,
        25.0: math.nan * w,
        26.0: 0.5 * found,
        28.0: np.append(w[0], found[1:]),
    }
    return wrong.get(k, found)


def planted_scale(self, v):
    return {41.0: -0.5, 42.0: math.nan, 43.0: 2.0}[self.fault]


def planted_map(self, v):
    one, two = self.parts()
    w = soft(v, one) / max(two, 1e-300)
    return {51.0: 2.0 * w, 52.0: 0.0 * w, 53.0: w + 0.5}[self.fault]


class WithConjugate(Planted):
    conjugate = planted_conjugate


class WithProx(Planted):
    prox = planted_prox


class WithScale(Planted):
    conjugate, dual_scale = planted_conjugate, planted_scale


class WithMap(Planted):
    primal_from_dual = planted_map


def planted():
    for shape, name in ((0.0, "L2"), (1.0, "L1"), (2.0, "elastic net")):
        same = {("L1", "alpha for 1 / alpha")}  # which has none
        for kind, faults in (
            (WithConjugate, CONJUGATES), (WithProx, PROXES), (WithScale, SCALES), (WithConjugate, VALUES),
        ):  # fmt: skip
            for words, fault in faults.items():
                if (name, words) not in same:
                    yield pytest.param(kind(0.1, shape, fault), id=f"{name}-{kind.__name__}-{words}-{fault:g}")
    for shape in (0.0, 2.0):
        for words, fault in MAPS.items():
            yield pytest.param(WithMap(0.1, shape, fault), id=f"{shape}-map-{words}")


ALL_PLANTED = list(planted())
SMALL, GOALS = X[:12, :2], TARGETS[:12]


def lowest(regularizer):
    """The least objective over a grid of weights: no optimum is above it."""
    grid = np.linspace(-3, 3, 121)
    points = np.array(np.meshgrid(grid, grid)).reshape(2, -1).T
    risks = 0.5 * np.mean((points @ SMALL.T - GOALS) ** 2, axis=1)
    values = np.array([regularizer.value(w) for w in points]) + risks
    return float(np.nanmin(values))


def test_there_are_many_of_them():
    assert len(ALL_PLANTED) >= 60


@pytest.mark.parametrize("regularizer", [WithConjugate(0.1, shape) for shape in (0.0, 1.0, 2.0)])
def test_what_has_no_fault_is_taken(regularizer):
    for own in (regularizer, WithProx(0.1, regularizer.shape)):
        result = fenchel.solve(fenchel.Problem(SMALL, GOALS, loss="squared", regularizer=own), tol=1e-8)
        assert result.status is Status.CERTIFIED
        assert result.certificate.primal <= lowest(own) + 1e-12
        assert result.certificate.dual <= result.certificate.primal + result.certificate.floor


@pytest.mark.parametrize("regularizer", ALL_PLANTED)
def test_a_problem_refuses_what_is_planted(regularizer):
    with pytest.raises(InputError, match="is not a valid regularizer"), np.errstate(all="ignore"):
        fenchel.Problem(SMALL, GOALS, loss="squared", regularizer=regularizer)


@pytest.mark.parametrize("regularizer", ALL_PLANTED)
def test_what_slipped_through_is_never_falsely_certified(monkeypatch, regularizer):
    monkeypatch.setattr(regularizers, "check_foreign", lambda regularizer, dim: None)
    best = lowest(regularizer)
    problem = fenchel.Problem(SMALL, GOALS, loss="squared", regularizer=regularizer)
    for w in (np.zeros(2), np.array([0.9, 1.7])):
        for u in (None, SMALL @ w - GOALS, 0.3 * (SMALL @ w - GOALS), RNG.normal(size=12)):
            try:
                with np.errstate(all="ignore"):
                    found = fenchel.certify(problem, w, dual_point=u)
            except InputError:
                continue
            assert found.dual <= best + 1e-6 * (1 + abs(best)), (w, u)
    try:
        with np.errstate(all="ignore"):
            result = fenchel.solve(problem, tol=1e-3, max_iter=20)
    except (InputError, SolveError, IncompatibleError):
        return
    assert result.status is not Status.CERTIFIED or result.certificate.dual <= best + 1e-6 * (1 + abs(best))


def test_a_conjugate_that_is_too_large_is_no_false_bound():
    """Loose, so that it is not certified, but true."""

    class Loose(with_methods(OwnL2, ())):
        def conjugate(self, v):
            return float(v @ v) / self.alpha

    problem = fenchel.Problem(SMALL, GOALS, loss="squared", regularizer=Loose(0.1))
    result = fenchel.solve(problem, tol=1e-6, max_iter=50)
    assert result.status is not Status.CERTIFIED
    exact = fenchel.solve(fenchel.Problem(SMALL, GOALS, loss="squared", alpha=0.1), tol=1e-9)
    assert result.certificate.dual <= exact.certificate.primal


def test_a_class_derived_from_a_shipped_one_is_not_taken_for_it():
    class Twice(regularizers.L2):
        def value(self, w):
            return self.alpha * float(np.asarray(w) @ w)

    class Half(regularizers.L2):
        def value(self, w):
            return self.alpha / 4 * float(np.asarray(w) @ w)

    with pytest.raises(InputError, match="the conjugate is too small"):
        fenchel.Problem(SMALL, GOALS, loss="squared", regularizer=Half(0.1))
    problem = fenchel.Problem(SMALL, GOALS, loss="squared", regularizer=Twice(0.1))  # its conjugate is too large: loose
    assert "DualAscent" not in requirements.who_can(problem)
    assert "NewtonCG" not in requirements.who_can(problem)


def test_a_regularizer_is_tried_once_for_its_parameters_and_dimension():
    calls = []

    class Counting(Regularizer):
        def value(self, w):
            calls.append(w)
            return self.alpha / 2 * float(w @ w)

        def conjugate(self, v):
            return float(v @ v) / (2 * self.alpha)

    regularizers.check_foreign(Counting(0.1), 3)
    first = len(calls)
    regularizers.check_foreign(Counting(0.1), 3)
    assert len(calls) == first
    regularizers.check_foreign(Counting(0.2), 3)
    assert len(calls) > first


@pytest.mark.parametrize("kind", ALL)
def test_no_counterexample_is_found_where_there_is_none(kind):
    own = with_methods(kind, ("conjugate",))(0.2)
    for v in [scale * RNG.normal(size=3) for scale in (1e-3, 0.05, 0.2, 1.0, 5.0) for _ in range(4)]:
        v = own.dual_scale(v) * v
        assert derived.counterexample(own, v, own.conjugate(v), RNG.normal(size=(5, 3))) is None


@pytest.mark.parametrize("regularizer", ALL_PLANTED)
def test_check_lists_what_is_planted(regularizer):
    with pytest.raises(InputError, match="is not a valid regularizer"), np.errstate(all="ignore"):
        regularizers.check(regularizer, 3)


class Complete(OwnElasticNet):
    """With every optional method, and a fault in one of them."""

    fault: ClassVar[str] = ""

    def value(self, w):
        value = super().value(w)
        return value + self.alpha * math.sqrt(np.abs(w).max()) if self.fault == "value is not convex" else value

    def conjugate(self, v):
        return self._conjugate(v)

    def prox(self, w, step):
        return self._prox(w, {"prox of another step": 0.5 * step}.get(self.fault, step))

    def primal_from_dual(self, v):
        w = self._primal_from_dual(v)
        return {"primal_from_dual of -v": -w, "primal_from_dual without threshold": 2.0 * v / self.alpha}.get(
            self.fault, w
        )

    def gradient(self, w):
        g = self.alpha * (0.5 * np.sign(w) + 0.5 * w)
        wrong = {"gradient twice": 2.0 * g, "gradient of the smooth part": 0.5 * self.alpha * w, "gradient 0": 0.0 * w,
                 "gradient NaN": math.nan * w, "gradient without alpha": g / self.alpha}  # fmt: skip
        return wrong.get(self.fault, g)

    def conjugate_hessian(self, v, A):
        H = (A.T * (np.abs(v) > self.alpha / 2)) @ A * 2.0 / self.alpha
        return {"conjugate_hessian half": 0.5 * H, "conjugate_hessian of all": 2.0 / self.alpha * A.T @ A,
                "conjugate_hessian inverse": np.linalg.pinv(H)}.get(self.fault, H)  # fmt: skip

    def dual_scale(self, v):
        return 0.5 if self.fault == "dual_scale not maximal" else 1.0

    def unpenalised(self, dim):
        return sp.csc_array(np.eye(dim)[:, :1]) if self.fault == "unpenalised though penalised" else None

    def start(self, dim):
        return np.full(dim, math.nan) if self.fault == "start NaN" else np.zeros(dim)

    def scaled(self, alpha):
        return self if self.fault == "scaled is the same" else super().scaled(alpha)


METHODS = [
    "value is not convex", "prox of another step", "primal_from_dual of -v", "primal_from_dual without threshold",
    "gradient twice", "gradient of the smooth part", "gradient 0", "gradient NaN", "gradient without alpha",
    "conjugate_hessian half", "conjugate_hessian of all", "conjugate_hessian inverse", "dual_scale not maximal",
    "unpenalised though penalised", "start NaN", "scaled is the same",
]  # fmt: skip


def test_every_optional_method_passes_without_a_fault():
    regularizers.check(Complete(0.3), 3)


@pytest.mark.parametrize("fault", METHODS)
def test_check_names_the_method_with_a_fault(fault):
    wrong = type("Wrong", (Complete,), {"fault": fault})(0.3)
    with pytest.raises(InputError) as found, np.errstate(all="ignore"):
        regularizers.check(wrong, 3)
    assert fault.split(" ", 1)[0] in str(found.value).split("\n", 1)[1]
