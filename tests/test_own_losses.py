"""Losses of the user's own that are wrong: none is certified with a dual value above the true optimum.

What a loss means is its `value`. The planted ones have a slope that is not its derivative, a value that is not convex, or
optional methods that belong to another loss. One class holds them all, so that kernels are compiled once.
"""

import math
from importlib import import_module
from typing import NamedTuple

import numpy as np
import pytest

import fenchel
from fenchel import losses
from fenchel.errors import InputError
from fenchel.losses import derived
from fenchel.result import Status
from fenchel.selection import requirements

WRONG_SLOPES = {
    "half": 1.0, "double": 2.0, "flipped": 3.0, "shifted": 4.0, "of target 0": 5.0, "zero": 6.0, "constant": 7.0,
    "late": 8.0, "clipped": 9.0, "wrong far away": 10.0, "jumps down": 11.0, "wrong for positive targets": 12.0,
    "wrong on one side": 13.0, "NaN far away": 14.0, "a sign only": 15.0, "noisy": 16.0, "infinite": 17.0,
}  # fmt: skip
NOT_CONVEX = {
    "capped": 30.0, "a wave on it": 31.0, "falls far away": 32.0, "a step down": 33.0, "concave far away": 34.0,
    "two wells": 35.0, "a dip": 36.0, "a root": 37.0, "concave": 38.0, "minus a target's bump": 39.0, "flat then falling": 40.0,
    "infinite between": 41.0, "minus infinity": 42.0, "NaN": 43.0,
}  # fmt: skip
PLACES = (0.5, 3.0, 40.0)


class Planted(NamedTuple):
    """(z - y)^2 / 2, or |z - y| with `shape` 1, with a fault that lies at distance `where` from the target."""

    fault: float
    where: float
    shape: float = 0.0

    def value(self, z, y):
        r = z - y
        f = abs(r) if self.shape == 1.0 else 0.5 * r * r
        k, t = self.fault, self.where
        if k == 30.0:
            f = min(f, t)
        elif k == 31.0:
            f += 2.0 * np.sin(3.0 * z / t) * t
        elif k == 32.0:
            f = f if r < t else 0.1 * t - r
        elif k == 33.0:
            f = f if r < t else f - 0.5 * t
        elif k == 34.0:
            f = f if r < t else np.sqrt(r)
        elif k == 35.0:
            f = min(f, 0.5 * (r - 2.0 * t) ** 2 - 0.1)
        elif k == 36.0:
            f = f - (t if abs(r - t) < 0.25 * t else 0.0)
        elif k == 37.0:
            f = np.sqrt(abs(r)) * t
        elif k == 38.0:
            f = -f
        elif k == 39.0:
            f = f - (2.0 * t * t * np.exp(-0.5 * ((r - t) / (0.3 * t)) ** 2) if y > 0.0 else 0.0)
        elif k == 40.0:
            f = max(f, 0.0) if r < t else f - 3.0 * (r - t) ** 2
        elif k == 41.0:
            f = math.inf if t < r < 1.5 * t else f
        elif k == 42.0:
            f = -math.inf if r > t else f
        elif k == 43.0:
            f = math.nan if t < r < 1.5 * t else f
        return f

    def slope(self, z, y):
        r = z - y
        g = (1.0 if r > 0.0 else -1.0) if self.shape == 1.0 else r
        k, t = self.fault, self.where
        if k == 1.0:
            g = 0.5 * g
        elif k == 2.0:
            g = 2.0 * g
        elif k == 3.0:
            g = -g
        elif k == 4.0:
            g = g + 0.1 * t
        elif k == 5.0:
            g = z
        elif k == 6.0:
            g = 0.0
        elif k == 7.0:
            g = 0.3
        elif k == 8.0:
            g = r - 0.1 * t
        elif k == 9.0:
            g = min(max(g, -0.2 * t), 0.2 * t)
        elif k == 10.0:
            g = g if abs(r) < t else 3.0 * g
        elif k == 11.0:
            g = g if r < t else g - 2.0 * t
        elif k == 12.0:
            g = 0.5 * g if y > 0.0 else g
        elif k == 13.0:
            g = 0.7 * g if r > 0.0 else g
        elif k == 14.0:
            g = g if abs(r) < t else math.nan
        elif k == 15.0:
            g = t * (1.0 if r > 0.0 else -1.0)
        elif k == 16.0:
            g = g + 0.05 * t * np.sin(1e4 * z)
        elif k == 17.0:
            g = g if r < t else math.inf
        return g


SOUND = Planted(0.0, 1.0)
RNG = np.random.default_rng(5)
X = np.abs(RNG.normal(size=(24, 1))) + 0.2
Y = np.where(np.arange(24) % 3 == 0, -1.0, 1.0) * (0.5 + RNG.random(24))


def lowest(loss, alpha):
    """The least objective over a fine grid of weights: an upper bound of the optimum, whatever the value function is."""
    grid = np.unique(np.concatenate([np.linspace(-6, 6, 1201), np.linspace(-300, 300, 1201)]))
    risks = [np.mean([loss.value(x * w, y) for x, y in zip(X[:, 0], Y, strict=True)]) for w in grid]
    objective = np.where(np.isnan(risks), np.inf, risks) + 0.5 * alpha * grid**2
    return float(np.min(objective)), float(grid[np.argmin(objective)])


def wrong_slopes():
    for shape in (0.0, 1.0):
        for name, fault in WRONG_SLOPES.items():
            for where in PLACES[:2] if shape else PLACES:
                if not (shape == 1.0 and name in ("of target 0", "late", "clipped", "infinite")):
                    yield pytest.param(Planted(fault, where, shape), id=f"{name}-{where}-{shape}")


def not_convex():
    for name, fault in NOT_CONVEX.items():
        for where in PLACES:
            yield pytest.param(Planted(fault, where), id=f"{name}-{where}")


PLANTED = [*wrong_slopes(), *not_convex()]


def test_there_are_many_of_them():
    assert len(PLANTED) >= 100


# What is not finite beyond 30 of the target may have overflowed: it is not refused, and not falsely certified either.
REFUSED = [p for p in PLANTED if not (p.values[0].fault in (14.0, 17.0) and p.values[0].where > 30.0)]


@pytest.mark.parametrize("loss", REFUSED)
def test_a_problem_refuses_what_is_planted(loss):
    with pytest.raises(InputError, match="Planted is not a valid loss"):
        fenchel.Problem(X, Y, loss=loss, alpha=0.1)


@pytest.mark.parametrize("loss", [SOUND, Planted(0.0, 1.0, 1.0)], ids=["squared", "absolute"])
def test_a_problem_takes_the_loss_without_a_fault(loss):
    problem = fenchel.Problem(X, Y, loss=loss, alpha=0.1)
    own = fenchel.solve(problem, tol=1e-9)
    shipped = fenchel.solve(fenchel.Problem(X, Y, loss="absolute" if loss.shape else "squared", alpha=0.1), tol=1e-9)
    assert own.status is Status.CERTIFIED
    assert own.certificate.basis == "derived"
    assert own.certificate.primal == pytest.approx(shipped.certificate.primal, rel=1e-8)


def unchecked(monkeypatch, loss, **options):
    """A problem that slipped through: the check at its making finds nothing."""
    monkeypatch.setattr(losses, "check_foreign", lambda loss, targets: None)
    return fenchel.Problem(X, Y, loss=loss, alpha=0.1, **options)


@pytest.mark.parametrize("loss", list(wrong_slopes()))
def test_dual_values_hold_without_any_check_if_the_value_is_convex(monkeypatch, loss):
    """From values alone: no dual point at all gives a D above the optimum, though the slope is wrong."""
    problem = unchecked(monkeypatch, loss)
    monkeypatch.setattr(
        import_module("fenchel.certificates.scalar"), "require_subgradients", lambda problem, span, z: None
    )
    optimum, best = lowest(loss, 0.1)
    for w in (0.0, best, -1.0, 3.0):
        for u in (None, np.zeros(24), X[:, 0] * w - Y, 0.4 * np.sign(X[:, 0] * w - Y), RNG.normal(size=24)):
            with np.errstate(all="ignore"):
                found = fenchel.certify(problem, [w], dual_point=u)
            assert found.dual <= optimum + found.floor + 1e-12 * abs(optimum)


@pytest.mark.parametrize("loss", PLANTED)
def test_a_solve_that_slipped_through_is_never_falsely_certified(monkeypatch, loss):
    problem = unchecked(monkeypatch, loss)
    optimum, _ = lowest(loss, 0.1)
    try:
        result = fenchel.solve(problem, solver="proximal_gradient", tol=1e-3, max_iter=300)
    except (InputError, fenchel.errors.SolveError, fenchel.errors.IncompatibleError):
        return
    assert result.status is not Status.CERTIFIED or result.certificate.dual <= optimum + 1e-6 * abs(optimum)


def test_the_audited_loss_of_a_forgotten_factor(monkeypatch):
    class Forgotten(NamedTuple):
        def value(self, z, y):
            return (z - y) ** 2

        def slope(self, z, y):
            return z - y

    with pytest.raises(InputError, match="slope is not a subgradient"):
        fenchel.Problem(X, Y, loss=Forgotten(), alpha=0.1)
    with pytest.raises(InputError, match=r"the score of row \d+"):
        fenchel.certify(unchecked(monkeypatch, Forgotten()), [0.3])


class Claims(NamedTuple):
    """The squared loss with optional methods that are wrong by `factor`."""

    factor: float = 1.0

    def value(self, z, y):
        return 0.5 * (z - y) ** 2

    def slope(self, z, y):
        return z - y

    def conjugate(self, u, y):
        return self.factor * 0.5 * u * u + u * y

    def dual_step(self, u, z, q, y):
        return self.factor * (z + q * u - y) / (1.0 + q)

    def in_kernels(self):
        return losses.Huber()


@pytest.mark.parametrize("wrap", [lambda loss: loss, lambda loss: losses.Moreau(loss, 0.5)], ids=["plain", "envelope"])
@pytest.mark.parametrize("factor", [0.0, 0.3, 0.9, 3.0])
def test_a_wrong_conjugate_or_step_cannot_make_a_lower_bound_false(monkeypatch, factor, wrap):
    with pytest.raises(InputError, match="conjugate"):
        fenchel.Problem(X, Y, loss=Claims(factor))
    problem = unchecked(monkeypatch, wrap(Claims(factor)))
    scale = 1.0 if wrap(SOUND) is SOUND else 1.0 / 1.5  # the envelope of r^2 / 2 is r^2 / (2 (1 + gamma))
    w = float(scale * X[:, 0] @ Y / 24 / (scale * X[:, 0] @ X[:, 0] / 24 + 0.1))
    optimum = scale * 0.5 * np.mean((X[:, 0] * w - Y) ** 2) + 0.05 * w * w
    found = fenchel.certify(problem, [w], dual_point=scale * (X[:, 0] * w - Y))
    assert found.basis == "derived"
    assert found.primal == pytest.approx(optimum, rel=1e-12)
    assert found.dual == pytest.approx(optimum, rel=1e-9)
    assert found.dual <= optimum + found.floor
    for u in (X[:, 0] * w - Y + 0.1, RNG.normal(size=24)):
        assert fenchel.certify(problem, [w], dual_point=u).dual <= optimum + found.floor


def test_a_class_derived_from_a_shipped_one_is_not_taken_for_it():
    class Scaled(losses.Squared):
        def value(self, z, y):
            return (z - y) ** 2

        def slope(self, z, y):
            return 2.0 * (z - y)

    with pytest.raises(InputError, match="conjugate"):  # inherited, and of another loss
        fenchel.Problem(X, Y, loss=Scaled(), alpha=0.1)


VALUES = {  # convex, with their derivatives
    "squared": (lambda z: 0.5 * z * z, lambda z: z),
    "fourth power": (lambda z: z**4, lambda z: 4 * z**3),
    "absolute": (abs, lambda z: math.copysign(1.0, z)),
    "one-sided": (lambda z: max(0.0, 1.0 - z), lambda z: -1.0 if z < 1.0 else 0.0),
    "softplus": (lambda z: max(z, 0.0) + math.log1p(math.exp(-abs(z))), lambda z: 0.5 + 0.5 * math.tanh(0.5 * z)),
    "pseudo-Huber": (lambda z: math.hypot(1.0, z), lambda z: z / math.hypot(1.0, z)),
    "three pieces": (
        lambda z: max(-z, 0.2 * z, 3.0 * z - 5.0),
        lambda z: -1.0 if z < 0 else 0.2 if z < 25 / 14 else 3.0,
    ),
}
DISTORTIONS = {
    "none": lambda g, z: g, "half": lambda g, z: 0.5 * g, "three times": lambda g, z: 3.0 * g, "shift": lambda g, z: g + 0.2,
    "beyond 2": lambda g, z: g if z < 2 else 0.5 * g, "cube root": lambda g, z: math.copysign(abs(g) ** (1 / 3), g),
    "steps": lambda g, z: math.floor(4 * g) / 4, "falls": lambda g, z: g - 0.5 * (z > 1), "wave": lambda g, z: g + math.sin(z),
}  # fmt: skip


@pytest.mark.parametrize("distortion", DISTORTIONS)
@pytest.mark.parametrize("name", VALUES)
def test_the_derived_conjugate_is_an_upper_bound_whatever_the_slope_says(name, distortion):
    f, g = VALUES[name]

    class Loss:
        def value(self, z, y):
            return f(z)

        def slope(self, z, y):
            return DISTORTIONS[distortion](g(z), z)

    grid = np.concatenate([np.linspace(-12, 12, 4801), [0.0, 1.0, 25 / 14]])
    values = np.array([f(z) for z in grid])
    for u in (-2.0, -1.0, -0.7, -0.1, 0.0, 0.15, 0.5, 0.99, 1.0, 2.5):
        bound, supremum = derived.conjugate(Loss(), u, 0.0), float(np.max(u * grid - values))
        assert bound >= supremum - 1e-13 * (1 + abs(supremum))
        inside = 0 < np.argmax(u * grid - values) < 4800
        if distortion == "none" and inside:  # and it is no more than that
            assert bound <= supremum + 3e-5


@pytest.mark.parametrize(
    "name",
    ["log(1 + exp(-y z)) as it stands", "exp, which overflows", "expanded squares of large targets", "a barrier"],
)
def test_sound_losses_that_are_written_carelessly_are_taken(name):
    class Careless(NamedTuple):
        def value(self, z, y):
            if name.startswith("log"):
                return math.log(1.0 + math.exp(-y * z))
            if name.startswith("exp,"):
                return math.exp(3.0 * (z - y)) - 3.0 * (z - y)
            if name.startswith("expanded"):
                return z * z - 2.0 * z * y + y * y
            return 1.0 / (9.0 - z) if z < 9.0 else math.inf

        def slope(self, z, y):
            if name.startswith("log"):
                return -y / (1.0 + math.exp(y * z))
            if name.startswith("exp,"):
                return 3.0 * math.exp(3.0 * (z - y)) - 3.0
            if name.startswith("expanded"):
                return 2.0 * z - 2.0 * y
            return 1.0 / (9.0 - z) ** 2 if z < 9.0 else math.inf

    targets = [-1.0, 1.0] if name.startswith("log") else [1e6, 1.1e6] if name.startswith("expanded") else [-200.0, 3.0]
    losses.check_foreign(Careless(), targets)
    if name.startswith(("log", "exp")):  # whether slopes are bounded is found far from 0, where Python's own exp raises
        problem = fenchel.Problem(np.array([[1.0], [2.0]]), targets, loss=Careless(), alpha=0.1)
        assert ("Pragam" in requirements.who_can(problem)) is name.startswith("log")


def test_a_loss_is_tried_once_for_its_parameters_and_targets():
    calls = []

    class Counting(NamedTuple):
        width: float = 1.0

        def value(self, z, y):
            calls.append(z)
            return self.width * (z - y) ** 2

        def slope(self, z, y):
            return 2.0 * self.width * (z - y)

    losses.check_foreign(Counting(), [0.0, 1.0])
    first = len(calls)
    losses.check_foreign(Counting(), [1.0, 0.0, 0.0])
    assert len(calls) == first
    losses.check_foreign(Counting(2.0), [0.0, 1.0])
    assert len(calls) == 2 * first
