"""Losses of several scores of a user's own: value and slopes are enough, and wrong ones are never falsely certified."""

import math
from typing import NamedTuple

import numpy as np
import pytest

import fenchel
from fenchel import Status, multiclass
from fenchel.errors import IncompatibleError, InputError, SolveError
from fenchel.selection import requirements

SLOPES = {
    "half": 1.0, "twice": 2.0, "sign": 3.0, "shifted": 4.0, "0": 5.0, "constant": 6.0, "clipped": 7.0, "of another class": 8.0,
    "one entry forgotten": 9.0, "wrong on one side": 10.0, "wrong far away": 11.0, "rotated": 12.0, "NaN far away": 13.0,
    "noisy": 14.0, "entries exchanged": 15.0,
}  # fmt: skip
VALUES = {
    "capped": 30.0, "a wave on it": 31.0, "falls far away": 32.0, "a step down": 33.0, "two wells": 34.0, "a dip": 35.0,
    "concave": 36.0, "minus infinity": 37.0, "NaN": 38.0, "a root": 39.0,
}  # fmt: skip


class Planted(NamedTuple):
    """|z - e_y|^2 / 2, max(0, max over j != y of 1 + z_j - z_y), or log sum_j exp(z_j - z_y) written so that it overflows
    (`shape` 0, 1, 2), with a fault at distance `where`."""

    fault: float
    where: float
    shape: float = 0.0

    def value(self, z, y):
        f, far = 0.0, 0.0
        if self.shape == 1.0:
            for j in range(z.size):
                if j != y:
                    f = max(f, 1.0 + z[j] - z[y])
        for j in range(z.size):
            r = z[j] - (1.0 if j == y else 0.0)
            far = max(far, abs(r))
            if self.shape == 0.0:
                f += 0.5 * r * r
        if self.shape == 2.0:
            f = np.log(np.sum(np.exp(z - z[y])))
        k, t = self.fault, self.where
        if k == 30.0:
            f = min(f, 0.1 * t)
        elif k == 31.0:
            f += t * math.sin(5.0 * z[0] / t)
        elif k == 32.0:
            f = f if far < t else -far
        elif k == 33.0:
            f = f if far < t else f - 0.5 * t
        elif k == 34.0:
            f = min(f, 0.5 * (z[0] + 2.0 * t) ** 2 - 0.1)
        elif k == 35.0:
            f = f - t if 0.5 * t < z[0] < 1.5 * t else f
        elif k == 36.0:
            f = -f
        elif k == 37.0:
            f = -math.inf if far > t else f
        elif k == 38.0:
            f = math.nan if t < far < 4.0 * t else f
        elif k == 39.0:
            f = t * math.sqrt(f)
        return f

    def slopes(self, z, y, out):
        out[:] = 0.0
        far, best, which = 0.0, 0.0, -1
        for j in range(z.size):
            r = z[j] - (1.0 if j == y else 0.0)
            far = max(far, abs(r))
            if self.shape == 0.0:
                out[j] = r
            elif j != y and 1.0 + z[j] - z[y] > best:
                best, which = 1.0 + z[j] - z[y], j
        if self.shape == 2.0:
            out[:] = np.exp(z - np.max(z))
            out /= np.sum(out)
            out[y] -= 1.0
        elif which >= 0:
            out[which], out[y] = 1.0, -1.0
        k, t = self.fault, self.where
        if k == 1.0:
            out *= 0.5
        elif k == 2.0:
            out *= 2.0
        elif k == 3.0:
            out *= -1.0
        elif k == 4.0:
            out += 0.1 * t
        elif k == 5.0:
            out[:] = 0.0
        elif k == 6.0:
            out[:] = 0.3
        elif k == 7.0:
            for j in range(out.size):
                out[j] = min(max(out[j], -0.2 * t), 0.2 * t)
        elif k == 8.0:
            out[y] += 1.0
            out[(y + 1) % out.size] -= 1.0
        elif k == 9.0:
            out[0] = 0.0
        elif k == 10.0:
            out *= 0.7 if z[0] > 0.0 else 1.0
        elif k == 11.0:
            out *= 3.0 if far > t else 1.0
        elif k == 12.0:
            first = out[0]
            out[0] = 0.8 * first - 0.6 * out[1]
            out[1] = 0.6 * first + 0.8 * out[1]
        elif k == 13.0:
            out *= math.nan if far > t else 1.0
        elif k == 14.0:
            out += 0.05 * t * math.sin(1e4 * z[0])
        elif k == 15.0:
            first = out[0]
            out[0] = out[1]
            out[1] = first


RNG = np.random.default_rng(2)
X = np.abs(RNG.normal(size=(16, 1))) + 0.3
Y = np.arange(16) % 2
GRID = np.linspace(-4, 4, 81)


def lowest(loss):
    """The least objective over a grid of weights: no optimum is above it."""
    best = math.inf
    for a in GRID:
        for b in GRID:
            risk = np.mean([loss.value(np.array([x * a, x * b]), y) for x, y in zip(X[:, 0], Y, strict=True)])
            if risk == risk:
                best = min(best, risk + 0.05 * (a * a + b * b))
    return best


def planted():
    for shape in (0.0, 1.0):
        for name, fault in {**SLOPES, **VALUES}.items():
            for where in (0.5, 3.0):
                sound = shape == 1.0 and (name in ("of another class",) or (name == "clipped" and where > 1.0))
                placed = name in ("shifted", "clipped", "wrong far away", "NaN far away", "noisy") or fault >= 30.0
                if not sound and (placed or where == 0.5):
                    yield pytest.param(Planted(fault, where, shape), id=f"{name}-{where}-{shape}")


ALL = list(planted())


def test_there_are_many_of_them():
    assert len(ALL) >= 60


@pytest.mark.parametrize("loss", ALL)
def test_a_problem_refuses_what_is_planted(loss):
    with pytest.raises(InputError, match="Planted is not a valid loss of several scores"):
        fenchel.Problem(X, Y, loss=loss, alpha=0.1)


@pytest.mark.parametrize("loss", ALL)
def test_what_slipped_through_is_never_falsely_certified(monkeypatch, loss):
    monkeypatch.setattr(multiclass, "check_foreign", lambda loss, outputs, y: None)
    problem = fenchel.Problem(X, Y, loss=loss, alpha=0.1)
    best = lowest(loss)
    for w in ([[0.0], [0.0]], [[0.4], [0.5]], [[-2.0], [1.0]]):
        try:
            found = fenchel.certify(problem, w)
        except InputError:
            continue
        assert found.dual <= best or found.dual <= best + found.floor + 1e-9 * (1 + abs(best))
    try:
        result = fenchel.solve(problem, solver="bundle", tol=1e-3, max_iter=60)
    except (InputError, SolveError, IncompatibleError):
        return
    assert result.status is not Status.CERTIFIED or result.certificate.dual <= best + 1e-6 * (1 + abs(best))


class OwnSquares(NamedTuple):
    """Of several targets, expanded."""

    def value(self, z, y):
        return 0.5 * np.sum(z * z) - np.sum(z * y) + 0.5 * np.sum(y * y)

    def slopes(self, z, y, out):
        out[:] = z - y


FEATURES = RNG.normal(size=(24, 3))
CLASSES = np.arange(24) % 3
GOALS = RNG.normal(size=(24, 2))
SOUND = {
    "softmax": (Planted(0.0, 1.0, 2.0), CLASSES), "max_hinge": (Planted(0.0, 1.0, 1.0), CLASSES),
    "multivariate_squared": (OwnSquares(), GOALS),
}  # fmt: skip


@pytest.mark.parametrize("regularizer", ["l2", "l1"])
@pytest.mark.parametrize("name", SOUND)
def test_value_and_slopes_are_enough(name, regularizer):
    loss, y = SOUND[name]
    weights = 1.0 + np.arange(24) % 4
    options = {"regularizer": regularizer, "alpha": 0.05, "sample_weight": weights}
    own = fenchel.solve(fenchel.Problem(FEATURES, y, loss=loss, **options), tol=1e-6)
    shipped = fenchel.solve(fenchel.Problem(FEATURES, y, loss=name, **options), tol=1e-8)
    assert own.status is Status.CERTIFIED
    assert own.certificate.basis == "tangents"
    assert own.certificate.primal == pytest.approx(shipped.certificate.primal, rel=2e-6)
    assert own.certificate.dual <= shipped.certificate.primal * (1 + 1e-9)
    again = fenchel.certify(own.problem, own.coef, dual_point=own.dual_point)
    assert again.dual == pytest.approx(own.certificate.dual, rel=1e-9)


def test_a_wrong_conjugate_is_not_used_and_is_named():
    class Claims(NamedTuple):
        def value(self, z, y):
            return 0.5 * np.sum(z * z) - z[y]

        def slopes(self, z, y, out):
            out[:] = z
            out[y] -= 1.0

        def conjugate(self, u, y):
            return 0.25 * np.sum(u * u)

    with pytest.raises(InputError, match="conjugate"):
        fenchel.Problem(FEATURES, CLASSES, loss=Claims(), alpha=0.1)


@pytest.mark.parametrize(("method", "words"), [("value", r"value\(z, y\)"), ("slopes", r"slopes\(z, y, out\)")])
def test_a_missing_method_is_named(method, words):
    methods = {"value": lambda self, z, y: 0.0, "slopes": lambda self, z, y, out: None, "outputs": lambda self, y: 3}
    del methods[method]
    loss = type("Partial", (NamedTuple("Nothing", []),), methods)()
    with pytest.raises(InputError, match=f"Partial lacks {words}"):
        fenchel.Problem(FEATURES, CLASSES, loss=loss)


def test_an_object_that_cannot_be_compiled_and_intercepts_are_refused_clearly():
    class Plain:
        def value(self, z, y):
            return 0.0

        def slopes(self, z, y, out):
            out[:] = 0.0

    with pytest.raises(InputError, match="Plain must be a NamedTuple"):
        fenchel.Problem(FEATURES, CLASSES, loss=Plain())
    with pytest.raises(InputError, match="append a constant column"):
        fenchel.Problem(FEATURES, CLASSES, loss=Planted(0.0, 1.0, 2.0), fit_intercept=True)


def test_solvers_that_need_a_conjugate_say_so():
    problem = fenchel.Problem(FEATURES, CLASSES, loss=Planted(0.0, 1.0, 2.0), alpha=0.1)
    assert set(requirements.who_can(problem)) == {"Bundle", "LBFGS", "ProximalGradient"}
    with pytest.raises(IncompatibleError, match="the conjugate of a built-in loss"):
        fenchel.solve(problem, solver="block_ascent")


@pytest.mark.parametrize("name", sorted(set(multiclass.LOSSES) & {"softmax", "max_hinge", "multivariate_squared"}))
def test_the_losses_of_the_package_pass_the_check(name):
    targets = GOALS[:3] if name == "multivariate_squared" else None
    multiclass.check(multiclass.make(name), outputs=2 if targets is not None else 3, targets=targets)


def test_a_loss_is_tried_once():
    calls = []

    class Counting(NamedTuple):
        def value(self, z, y):
            calls.append(z)
            return 0.5 * float(z @ z)

        def slopes(self, z, y, out):
            out[:] = z

    multiclass.check_foreign(Counting(), 3, CLASSES)
    first = len(calls)
    multiclass.check_foreign(Counting(), 3, CLASSES)
    assert len(calls) == first > 0


def test_a_classifier_takes_one_and_starts_again_from_its_fit():
    loss, y = SOUND["max_hinge"]
    own = fenchel.Classifier(loss=loss, alpha=0.05, tol=1e-6, fit_intercept=False, warm_start=True).fit(FEATURES, y)
    best = fenchel.solve(fenchel.Problem(FEATURES, y, loss="max_hinge", alpha=0.05), tol=1e-8).certificate.primal
    for _ in range(2):
        assert own.certificate_.basis == "tangents"
        assert own.objective_ == pytest.approx(best, rel=2e-6)
        assert own.dual_coef_.shape == (3, 24) and np.isnan(own.dual_coef_).all()
        own.fit(FEATURES, y)


class Optional(NamedTuple):
    """|z - e_y|^2 / 2 and its optional methods, with a fault in one of them."""

    fault: str = ""

    @property
    def nonnegative(self):
        return self.fault == "nonnegative"

    def value(self, z, y):
        value = 0.5 * float(z @ z) - z[y] + 0.5
        if self.fault == "a pair":
            return value, value
        if self.fault == "only far away":
            return value if np.abs(z).max() < 5.0 else math.nan
        if self.fault == "raises":
            return value + {}["scale"]
        return value - 1.0 if self.fault == "nonnegative" else value

    def slopes(self, z, y, out):
        if self.fault == "not set":
            out[1:] = z[1:]
        elif self.fault == "added to":
            out += z
        elif self.fault == "returned":
            return z
        elif self.fault == "in place of z":
            z[y] -= 1.0
        else:
            out[:] = z
            out[y] -= 1.0
        return None

    def value_and_slopes(self, z, y, out):
        out[:] = z
        out[y] -= 0.9 if self.fault == "fused slopes" else 1.0
        return 0.5 * float(z @ z) - z[y] + (0.0 if self.fault == "fused value" else 0.5)

    def conjugate(self, u, y):
        value = 0.5 * float(u @ u) + u[y]
        return {
            "conjugate too small": 0.99 * value, "conjugate too large": value + 0.1, "conjugate of -u": value - 2.0 * u[y],
            "conjugate of z = 0": 0.0, "conjugate of another class": 0.5 * float(u @ u) + u[(y + 1) % u.size],
            "conjugate without a domain": math.inf, "conjugate NaN": math.nan,
        }.get(self.fault, value)  # fmt: skip


NOT_SET, FUSED = "slopes must set every entry of out", "value_and_slopes differs from value and slopes"
WORDS = {
    "a pair": "value must return a number, got tuple", "only far away": "value is nan at z=",
    "raises": "raised KeyError: 'scale'", "nonnegative": "nonnegative is set, but a value is", "not set": NOT_SET,
    "added to": NOT_SET, "returned": NOT_SET, "in place of z": NOT_SET, "fused slopes": FUSED, "fused value": FUSED,
    "conjugate too large": "which has these slopes, is", "conjugate too small": "conjugate", "conjugate of -u": "conjugate",
    "conjugate of z = 0": "conjugate", "conjugate of another class": "conjugate",
    "conjugate without a domain": "which has these slopes, is", "conjugate NaN": "which has these slopes, is",
}  # fmt: skip


def test_without_a_fault_the_optional_methods_pass():
    multiclass.check(Optional())


@pytest.mark.parametrize("fault", WORDS)
def test_check_names_the_fault_of_a_method(fault):
    with pytest.raises(InputError) as found:
        multiclass.check(Optional(fault))
    message = str(found.value)
    assert message.startswith("Optional is not a valid loss of several scores: ")
    assert WORDS[fault] in message
