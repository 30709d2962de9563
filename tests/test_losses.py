"""Losses: the defining inequalities, the conjugate as a supremum, dual steps in exact arithmetic, extreme arguments."""

import math
import pickle
import random
from typing import NamedTuple

import mpmath as mp
import numpy as np
import pytest

from fenchel import losses
from fenchel.compile.dispatch import compilable
from fenchel.compile.kernel import kernel
from fenchel.errors import InputError, UnknownNameError
from fenchel.losses import branchless, derived, protocol
from fenchel.losses.special import power_slope, wright_omega

INF = math.inf
EPS = 2.0**-52
LARGEST = 1.7e308
SIMPLE = [
    losses.Absolute(),
    losses.EpsilonInsensitive(0.0),
    losses.EpsilonInsensitive(0.1),
    losses.EpsilonInsensitive(0.5, 2.0),
    losses.EpsilonInsensitive(0.2, 1.5),
    losses.EpsilonInsensitive(0.2, 3.0),
    losses.Exponential(),
    losses.Hinge(),
    losses.Hinge(0.0),
    losses.Hinge(2.5),
    losses.Huber(),
    losses.Huber(0.1),
    losses.Huber(50.0),
    losses.Logistic(),
    losses.Novelty(),
    losses.Poisson(),
    losses.PowerHinge(1.1),
    losses.PowerHinge(1.5),
    losses.PowerHinge(2.0),
    losses.PowerHinge(4.0),
    losses.Quantile(0.1),
    losses.Quantile(0.3),
    losses.Quantile(0.9),
    losses.SmoothedHinge(),
    losses.SmoothedHinge(1e-3),
    losses.SmoothedHinge(7.0),
    losses.Squared(),
    losses.SquaredHinge(),
    losses.SquaredHinge(0.0),
]
SMOOTHED = [losses.Moreau(loss, gamma) for loss in SIMPLE for gamma in (0.05, 30.0)]
SCORES = [*np.linspace(-6.0, 6.0, 25), -40.0, -17.3, 0.09999, 0.97, 33.0]
EXTREMES = [s * m for m in (0.0, 1e-300, 1e-9, 0.5, 1.0, 30.0, 710.0, 746.0, 1e8, 1e17, 1e154, 1e300) for s in (1, -1)]
STEPS = [1e-300, 1e-150, 1e-20, 1e-8, 1e-3, 0.3, 1.0, 3.0, 12.0, 30.0, 300.0, 1e8, 1e100, 1e300]


def shown(loss):
    return repr(loss)


every = pytest.mark.parametrize("loss", SIMPLE + SMOOTHED, ids=shown)
every_simple = pytest.mark.parametrize("loss", SIMPLE, ids=shown)


def targets(loss):
    return [y for y in (-2.5, -1.0, 0.0, 1.0, 2.0, 5.0) if getattr(loss, "valid_target", np.isfinite)(y)]


def starts(loss, y):
    """Some dual variables that a solver could hold."""
    low, high = loss.dual_domain(y)
    return {loss.slope(0.1, y), loss.slope(-0.7, y)} | {end for end in (low, high) if math.isfinite(end)}


def test_every_registered_loss_is_tested_here():
    assert {type(loss) for loss in SIMPLE + SMOOTHED} == set(losses.LOSSES.values())


@every
def test_slope_is_a_subgradient_and_value_and_slope_agrees(loss):
    for y in targets(loss):
        values = np.array([loss.value(z, y) for z in SCORES])
        for z, f in zip(SCORES, values, strict=True):
            g = loss.slope(z, y)
            tangent = f + g * (np.array(SCORES) - z)
            assert np.all(values >= tangent - 1e-12 * (1 + abs(f) + np.abs(values) + np.abs(tangent - f)))
            fused = protocol.value_and_slope(loss, z, y)
            assert fused == pytest.approx((f, g), rel=1e-14, abs=1e-300)


@every
def test_fenchel_young_is_an_inequality_and_an_equality_at_the_slope(loss):
    for y in targets(loss):
        for z in SCORES:
            u, f = loss.slope(z, y), loss.value(z, y)
            assert abs(loss.conjugate(u, y) - (u * z - f)) <= 1e-11 * (1 + abs(u * z) + abs(f))
            for other in SCORES:
                bound = u * other - loss.value(other, y)
                assert loss.conjugate(u, y) >= bound - 1e-11 * (1 + abs(bound) + abs(u * other))


@every_simple
def test_conjugate_is_the_supremum_on_a_fine_grid(loss):
    grid = np.linspace(-40.0, 40.0, 4001)
    for y in targets(loss):
        values = np.array([loss.value(z, y) for z in grid])
        for u in (-4.0, -1.0, -0.77, -0.29, -0.02, 0.0, 0.09, 0.5, 0.91, 1.0, 2.0):
            best = int(np.argmax(u * grid - values))
            supremum = u * grid[best] - values[best]
            conjugate = loss.conjugate(u, y)
            assert conjugate >= supremum - 1e-12 * (1 + abs(supremum))
            if 0 < best < grid.size - 1:  # the maximum is inside: the grid misses it by a little at most
                near = max(abs(loss.slope(grid[best + k], y) - u) for k in (-1, 1))
                assert conjugate <= supremum + 0.02 * near + 1e-12 * (1 + abs(supremum))
            elif not math.isfinite(conjugate):  # no maximum: the slopes never reach u, however far the score
                far = loss.slope(math.copysign(1e6, grid[best]), y)
                assert far < u if grid[best] > 0 else far > u


@pytest.mark.parametrize(
    ("loss", "formula", "y", "u"),
    [
        (losses.Logistic(), lambda z, y: mp.log(1 + mp.exp(-y * z)), 1.0, -0.3),
        (losses.Logistic(), lambda z, y: mp.log(1 + mp.exp(-y * z)), -1.0, 0.999),
        (losses.Exponential(), lambda z, y: mp.exp(-y * z), 1.0, -2.5),
        (losses.Poisson(), lambda z, y: mp.exp(z) - y * z + y * mp.log(y) - y, 3.0, -1.25),
        (losses.PowerHinge(3.0), lambda z, y: (1 - y * z) ** 3 / 3, 1.0, -0.7),
        (losses.EpsilonInsensitive(0.25, 1.5), lambda z, y: (z - y - mp.mpf(0.25)) ** 1.5 / 1.5, 2.0, 0.6),
        (losses.Moreau(losses.Squared(), 0.5), lambda z, y: (z - y) ** 2 / 3, 2.0, 0.6),
    ],
)
def test_conjugate_is_stationary_in_extended_precision(loss, formula, y, u):
    start = {1.0: -1.0, -1.0: 3.0, 2.0: 2.7, 3.0: 0.5}[y]
    z = mp.findroot(lambda z: mp.diff(lambda x: formula(x, y), z) - u, start)
    assert loss.conjugate(u, y) == pytest.approx(float(u * z - formula(z, y)), rel=1e-12, abs=1e-13)


def satisfies_inclusion(loss, u, z, q, y, new, rtol=1e-11):
    """new in the subdifferential at z - q (new - u), up to rtol in `new` and a few roundings of the score's terms.

    t -> slope(z - q (t - u)) - t decreases, so it is enough to look at its sign on both sides of `new`.
    """
    slack = rtol * (abs(new) + (y if type(loss) is losses.Poisson else 0.0)) + 1e-300
    blur = 16 * EPS * (abs(mp.mpf(z)) + mp.mpf(q) * max(abs(u), abs(new)) + abs(y) + 1)
    for side in (-1, 1):
        t = new + side * slack
        score = mp.mpf(z) - mp.mpf(q) * (mp.mpf(t) - mp.mpf(u)) - side * blur
        g = loss.slope(float(max(min(score, mp.mpf(LARGEST)), -mp.mpf(LARGEST))), y)
        if side * (g - t) > slack:
            return False
    return True


@pytest.mark.parametrize("loss", SIMPLE + SMOOTHED[1::2], ids=shown)
def test_dual_step_satisfies_its_inclusion_inside_the_domain_at_every_scale(loss):
    with mp.workdps(650):
        for y in targets(loss)[:3]:
            low, high = loss.dual_domain(y)
            for z in [*EXTREMES[::2], -0.5, -710.0, -1e154]:
                for q in STEPS:
                    for u in starts(loss, y):
                        new = loss.dual_step(u, z, q, y)
                        assert low <= new <= high
                        assert math.isfinite(new) or abs(z) / q > 1e300 or abs(z) > 1e100
                        assert loss.conjugate(new, y) < INF or abs(new) > 1e20  # beyond, the number itself overflows
                        if math.isfinite(new):
                            assert satisfies_inclusion(loss, u, z, q, y, new), (u, z, q, y, new)


@every
def test_dual_step_equals_the_derived_one(loss):
    for y in targets(loss):
        for z in (-8.0, -1.0, -0.25, 0.0, 0.6, 1.0, 2.925, 20.0):
            for q in (1e-3, 0.3, 1.0, 30.0, 1e4):
                for u in starts(loss, y):
                    got, want = loss.dual_step(u, z, q, y), derived.dual_step(loss, u, z, q, y)
                    assert abs(got - want) <= 1e-9 * (1 + abs(want)) + 64 * EPS * (abs(z) + abs(y) + 1) / q


def gain(loss, u, z, q, y, new):
    """What a dual step from u to `new` adds to D, per weight."""
    u, new = mp.mpf(float(u)), mp.mpf(float(new))
    fall = mp.mpf(loss.conjugate(float(new), y)) - mp.mpf(loss.conjugate(float(u), y))
    return (new - u) * mp.mpf(z) - fall - mp.mpf(q) / 2 * (new - u) ** 2


@every_simple
def test_a_quick_dual_step_gains_nearly_as_much_and_stays_in_the_domain(loss):
    for y in targets(loss):
        low, high = loss.dual_domain(y)
        for z in (-20.0, -8.0, -1.0, -0.25, 0.0, 0.6, 1.0, 2.925, 20.0):
            for q in (1e-3, 0.3, 1.0, 30.0, 1e4):
                for u in starts(loss, y):
                    got, best = protocol.quick_dual_step(loss, u, z, q, y), loss.dual_step(u, z, q, y)
                    assert low <= got <= high
                    most = gain(loss, u, z, q, y, best)
                    assert gain(loss, u, z, q, y, got) >= 0.95 * most - 1e-13 * (1 + abs(z)), (u, z, q, y, got, best)


def test_quick_logistic_steps_become_exact_as_they_become_short():
    loss = losses.Logistic()
    for z in (-3.0, -0.4, 0.2, 5.0):
        for q in (0.1, 1.0, 200.0):
            for shift, rest in ((1e-1, 1e-4), (1e-2, 1e-7), (1e-3, 1e-10)):
                u, want = loss.slope(z, 1.0), loss.dual_step(loss.slope(z, 1.0), z + shift, q, 1.0)
                assert abs(loss.quick_dual_step(u, z + shift, q, 1.0) - want) <= rest * abs(want - u)


@every
def test_ends_of_the_dual_domain_are_in_it_and_nothing_outside_is(loss):
    for y in targets(loss):
        low, high = loss.dual_domain(y)
        assert low < high
        for end, outside in ((low, -INF), (high, INF)):
            if math.isfinite(end):
                assert math.isfinite(loss.conjugate(end, y))
                assert loss.conjugate(math.nextafter(end, outside), y) == INF or end == 0.0
                assert loss.conjugate(end + math.copysign(1e-3, outside), y) == INF
            else:
                assert math.isfinite(loss.conjugate(math.copysign(1e3, end), y))


@every
def test_extreme_scores_give_no_nan_and_no_exception(loss):
    for y in targets(loss):
        low, high = loss.dual_domain(y)
        for z in EXTREMES:
            f, u = loss.value(z, y), loss.slope(z, y)
            assert f >= -1e-12
            assert low <= u <= high
            assert loss.conjugate(u, y) < INF or abs(u) > 1e20
            if hasattr(loss, "curvature"):
                assert loss.curvature(z, y) >= 0.0


@every
def test_curvature_is_the_derivative_of_slope_and_smoothness_bounds_it(loss):
    constant = loss.smoothness()
    rng = np.random.default_rng(3)
    for y in targets(loss):
        pairs = rng.normal(scale=3.0, size=(300, 2))
        rises = [abs(loss.slope(a, y) - loss.slope(b, y)) / abs(a - b) for a, b in pairs]
        if constant is not None:
            assert max(rises) <= constant * (1 + 1e-9)
        for z in pairs[:40, 0] if hasattr(loss, "curvature") else []:
            h = 1e-6
            left, right = ((loss.slope(z + s * h, y) - loss.slope(z, y)) / (s * h) for s in (-1, 1))
            if abs(left - right) <= 1e-4 * (1 + abs(left)):  # no kink of the slope nearby
                assert loss.curvature(z, y) == pytest.approx((left + right) / 2, rel=1e-3, abs=1e-3)


@every_simple
def test_smoothness_is_none_exactly_when_the_slope_jumps(loss):
    if loss == losses.PowerHinge(1.1):
        return  # m^0.1 rises to 0.08 within 1e-11 of the kink: no finite number of slopes tells that from a jump
    assert (loss.smoothness() is not None) == derived.is_differentiable(loss, targets(loss))


def test_smoothness_constants_are_attained():
    for loss, z in ((losses.Logistic(), 0.0), (losses.Squared(), 2.0), (losses.SmoothedHinge(0.5), 0.8)):
        assert loss.curvature(z, 1.0) == pytest.approx(loss.smoothness())


@every_simple
def test_moreau_envelope_is_the_infimal_convolution(loss):
    grid = np.linspace(-30.0, 30.0, 6001)
    for y in targets(loss)[:3]:
        values = np.array([loss.value(x, y) for x in grid])
        for gamma in (0.01, 1.0, 30.0):
            envelope = losses.Moreau(loss, gamma)
            for z in (-3.0, -0.4, 0.0, 1.0, 2.5):
                brute = np.min(values + (grid - z) ** 2 / (2 * gamma))
                assert envelope.value(z, y) <= brute + 1e-12 * (1 + abs(brute))
                assert envelope.value(z, y) >= brute - (0.01**2 / gamma + 0.01 * 1e-2) * 2 * (1 + abs(brute))
                assert envelope.value(z, y) <= loss.value(z, y) + 1e-12


@every
def test_pickle_repr_and_parameters_round_trip(loss):
    for copy in (
        pickle.loads(pickle.dumps(loss)),
        eval(repr(loss), vars(losses)),
        losses.from_parameters(losses.parameters(loss)),
    ):
        assert type(copy) is type(loss)
        assert repr(copy) == repr(loss)


@every
def test_check_passes_on_shipped_losses(loss):
    losses.check(loss)


@kernel
def all_functions(loss, u, z, q, y):
    low, high = protocol.dual_domain(loss, y)
    step = protocol.dual_step(loss, u, z, q, y)
    return protocol.value(loss, z, y), protocol.slope(loss, z, y), protocol.conjugate(loss, step, y), step, low, high


@pytest.mark.parametrize(
    "loss", [losses.LOSSES[name]() for name in sorted(losses.LOSSES) if name != "moreau"], ids=shown
)
def test_compiled_equals_python_at_extreme_arguments(loss):
    for y in targets(loss)[:2]:
        for z in EXTREMES:
            for q in STEPS[::3]:
                u = loss.slope(0.1, y)
                compiled, python = all_functions(loss, u, z, q, y), all_functions.py_func(loss, u, z, q, y)
                np.testing.assert_allclose(compiled, python, rtol=1e-11, atol=1e-300)


def test_wright_omega_and_power_slope_against_extended_precision():
    with mp.workdps(40):
        for x in [-800.0, -745.5, -50.0, -40.0, -2.0, -1.0, 0.0, 1.0, 3.14, 3.15, 50.0, 1e6, 1e18, 1e300]:
            want = mp.lambertw(mp.exp(x)) if x < 1e3 else mp.findroot(lambda w, x=x: w + mp.log(w) - x, x)
            assert wright_omega(x) == pytest.approx(float(want), rel=4e-15, abs=1e-323)
        for p in (1.01, 1.5, 2.0, 2.5, 7.0):
            for r in (1e-8, 0.3, 1.0, 1e5):
                for q in (1e-6, 1.0, 1e3, 1e12):
                    s = mp.mpf(power_slope(r, q, p))
                    assert abs(s ** (1 / (mp.mpf(p) - 1)) + q * s - r) <= 1e-13 / (p - 1) * r


def straight_functions(x, one, positive):
    """e^x, log(1 + one), log(positive) and e^one - 1 - one of every entry."""
    functions = (branchless.exp, branchless.log1p, branchless.log, branchless.excess)
    return [[*map(f, entries)] for f, entries in zip(functions, (x, one, positive, one), strict=True)]


def every_entry(x, one, positive, out):
    for i in range(x.size):
        out[0, i], out[1, i], out[2, i] = branchless.exp(x[i]), branchless.log1p(one[i]), branchless.log(positive[i])
        out[3, i] = branchless.excess(one[i])


@pytest.mark.parametrize("way", ["python", "compiled", "reordered"])
def test_straight_functions_against_extended_precision(way):
    rng = np.random.default_rng(0)
    scales = 10.0 ** rng.uniform(-18, 0, 400)
    x = np.concatenate([700.0 * rng.uniform(-1, 1, 400), scales, -scales, [0.0, -706.9, 709.7, 0.5 * math.log(2.0)]])
    one = np.resize(np.concatenate([scales, -0.5 * scales, [0.0, 1.0, -0.5]]), x.size)
    near_one = np.concatenate([1.0 + scales, 1.0 - 0.5 * scales])
    positive = np.resize(
        np.concatenate([10.0 ** rng.uniform(-300, 300, 400), near_one, [1.0, 0.5**0.5, 2.0**0.5]]), x.size
    )
    if way == "python":
        got = np.array(straight_functions(x.tolist(), one.tolist(), positive.tolist()))
    else:
        got = np.empty((4, x.size))
        kernel(every_entry, fastmath=way == "reordered")(x, one, positive, got)
    rounding = 1e-13 if way == "reordered" else 2.0 * EPS
    functions = (mp.exp, mp.log1p, mp.log, lambda t: mp.exp(t) - 1 - t)
    with mp.workdps(80):
        for values, arguments, function in zip(got, (x, one, positive, one), functions, strict=True):
            for value, argument in zip(values, arguments, strict=True):
                want = function(mp.mpf(float(argument)))
                assert abs(mp.mpf(float(value)) - want) <= rounding * abs(want), (function, argument, value)


def test_poisson_keeps_its_digits_near_its_minimum_and_far_away():
    loss, rng = losses.Poisson(), np.random.default_rng(0)
    near = [s * 10.0**k for k in range(-9, 1) for s in (-1.0, 1.0)]
    with mp.workdps(60):
        for y in (0.0, 1e-200, 1e-3, 0.7, 1.0, 3.0, 1e6):
            centre = float(mp.log(y)) if y > 0.0 else 0.0
            for z in [centre + step for step in near] + [*rng.uniform(-50, 50, 20)]:
                want = mp.exp(z) - (y * mp.mpf(z) - y * mp.log(y) + y if y > 0.0 else 0)
                # What is lost is what the rounding of log y loses, to first order: the slope times it.
                lost = 4 * EPS * (abs(want) + abs(math.exp(z) - y) * (abs(centre) + abs(z)))
                assert abs(mp.mpf(loss.value(z, y)) - want) <= lost, (y, z)
            for t in [y * (1.0 + step) for step in near if step >= -1.0] + [0.0, 1e-5, 2.0, 40.0]:
                u = t - y
                s = mp.mpf(u) + mp.mpf(y)
                if s < 0:
                    continue
                want = (s * mp.log(s) if s > 0 else 0) - s - (y * mp.log(y) - y if y > 0.0 else 0)
                size = abs(u) * (1 + abs(centre)) + (abs(s * mp.log(s)) if s > 0 else 0)
                assert abs(mp.mpf(loss.conjugate(u, y)) - want) <= 8 * EPS * size, (y, u)


def test_straight_exponential_at_its_ends():
    compiled = kernel(lambda x: branchless.exp(x))
    for exp in (branchless.exp, compiled):
        assert exp(710.0) == exp(1e300) == exp(INF) == INF
        assert exp(-708.0) == exp(-1e300) == exp(-INF) == 0.0
        assert math.isnan(exp(math.nan))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hing", "Did you mean 'hinge'"),
        ("moreau", r"needs loss: pass fenchel\.losses\.Moreau\(loss\)"),
        (losses.Hinge, r"call it: Hinge\(\.\.\.\)"),
        (losses.Hinge(-1.0), "margin must be at least 0"),
        (losses.SquaredHinge(-0.5), "margin must be at least 0"),
        (losses.Hinge(INF), "margin must be"),
        (losses.SquaredHinge(INF), "margin must be"),
        (losses.Quantile(0.0), "tau must be strictly between"),
        (losses.Quantile(1.0), "tau must be strictly between"),
        (losses.Quantile(math.nan), "tau of loss Quantile is NaN"),
        (losses.Huber(0.0), "delta must be greater than 0"),
        (losses.PowerHinge(1.0), "p must be greater than 1"),
        (losses.EpsilonInsensitive(-0.1), "epsilon must be at least 0"),
        (losses.EpsilonInsensitive(0.1, 0.5), "p must be at least 1"),
        (losses.SmoothedHinge(0.0), "gamma must be greater than 0"),
        (losses.Moreau(losses.Hinge(), 0.0), "gamma must be greater than 0"),
        (losses.Moreau(losses.Hinge(-1.0), 1.0), "margin must be at least 0"),
        (losses.Moreau("hinge", 1.0), "parameter loss of loss Moreau must be a number or a loss"),
        (losses.Huber("wide"), "parameter delta of loss Huber must be a number"),
        (3.0, "has no method value"),
    ],
)
def test_make_refuses(spec, message):
    with pytest.raises(InputError, match=message):
        losses.make(spec)


def test_make_accepts_names_and_turns_parameters_into_floats():
    for name, cls in losses.LOSSES.items():
        if name != "moreau":
            assert type(losses.make(name)) is cls
    assert losses.parameters(losses.make(losses.Hinge(2))) == {"name": "hinge", "margin": 2.0}
    with pytest.raises(UnknownNameError, match="unknown loss"):
        losses.from_parameters({"name": "nobody"})
    with pytest.raises(InputError, match="do not fit"):
        losses.from_parameters({"name": "hinge", "slack": 1.0})


class UserHinge(NamedTuple):
    def value(self, z, y):
        return max(0.0, 1.0 - y * z)

    def slope(self, z, y):
        return -y if y * z < 1.0 else 0.0


class UserLogistic(NamedTuple):
    def value(self, z, y):
        return max(-y * z, 0.0) + math.log1p(math.exp(-abs(z)))

    def slope(self, z, y):
        e = math.exp(-abs(z))
        return -y * (e if y * z > 0.0 else 1.0) / (1.0 + e)


class UserSquared(NamedTuple):
    def value(self, z, y):
        return 0.5 * (z - y) * (z - y)

    def slope(self, z, y):
        return z - y


class UserQuantile(NamedTuple):
    tau: float = 0.9

    def value(self, z, y):
        return max(self.tau * (y - z), (1.0 - self.tau) * (z - y))

    def slope(self, z, y):
        return 1.0 - self.tau if z > y else -self.tau


class UserPoisson(NamedTuple):
    def value(self, z, y):
        return (math.exp(z) if z < 709.0 else math.inf) - y * z + (y * math.log(y) - y if y > 0.0 else 0.0)

    def slope(self, z, y):
        return (math.exp(z) if z < 709.0 else math.inf) - y

    def valid_target(self, y):
        return y >= 0.0


TWINS = [
    (UserHinge(), losses.Hinge()),
    (UserLogistic(), losses.Logistic()),
    (UserSquared(), losses.Squared()),
    (UserQuantile(), losses.Quantile(0.9)),
    (UserPoisson(), losses.Poisson()),
]
twins = pytest.mark.parametrize(("user", "shipped"), TWINS, ids=lambda loss: type(loss).__name__)


@twins
@pytest.mark.parametrize("gamma", [None, 0.5])
def test_value_and_slope_alone_are_enough(user, shipped, gamma):
    if gamma is not None:
        user, shipped = losses.Moreau(user, gamma), losses.Moreau(shipped, gamma)
    losses.check(user, targets=targets(shipped))
    for y in targets(shipped):
        low, high = shipped.dual_domain(y)
        got_low, got_high = protocol.dual_domain(user, y)
        assert got_low == low or (low == -INF and got_low < -1e15)
        assert got_high == high or (high == INF and got_high > 1e15)
        for u in {low, high, 0.5 * (low + high), 0.3 * low + 0.7 * high, -0.25, 0.0625, 3.0}:
            if math.isfinite(u):
                want, got = shipped.conjugate(u, y), protocol.conjugate(user, u, y)
                assert got == pytest.approx(want, rel=1e-12, abs=1e-12)
                if gamma is None and math.isfinite(want):  # an upper bound, so that certificates stay true
                    assert got >= want - 8 * EPS * (1 + abs(want) + abs(u * y))
        for z in (-30.0, -1.0, 0.5, 4.0):
            for q in (1e-3, 1.0, 1e4):
                for u in starts(shipped, y):
                    want = shipped.dual_step(u, z, q, y)
                    got = protocol.dual_step(user, u, z, q, y)
                    assert abs(got - want) <= 1e-10 * (1 + abs(want)) + 64 * EPS * (abs(z) + abs(y) + 1) / q


@twins
def test_derived_dual_step_stays_in_the_domain_at_every_scale(user, shipped):
    for y in targets(shipped)[:2]:
        for z in EXTREMES:
            for q in STEPS:
                new = protocol.dual_step(user, shipped.slope(0.1, y), z, q, y)
                assert not math.isnan(new)
                assert derived.conjugate(user, new, y) < INF or abs(new) > 1e20


@twins
def test_smoothness_of_a_user_loss_is_found_out(user, shipped):
    assert (losses.smoothness(user, targets(shipped)) is None) == (shipped.smoothness() is None)


def test_any_object_with_value_and_slope_is_a_loss():
    class Plain:
        def __init__(self, width):
            self.width = width

        def value(self, z, y):
            return abs(z - y) / self.width

        def slope(self, z, y):
            return math.copysign(1.0, z - y) / self.width

    loss = losses.make(Plain(2))
    assert loss.value(3.0, 1.0) == 1.0
    assert loss._asdict() == {"width": 2.0}
    with pytest.raises(InputError, match="not a built-in loss"):
        losses.parameters(loss)


def faulty(**methods):
    """A squared loss (valid in all its parts) with some parts replaced."""
    good = {name: f for name, f in vars(losses.Squared).items() if callable(f) and not name.startswith("_")}
    return type("Faulty", (NamedTuple("Base", []),), {**good, "nonnegative": True, **methods})()


def _raise(*args):
    raise ZeroDivisionError("planted")


FAULTS = {
    "slope of the wrong sign": {"slope": lambda self, z, y: y - z},
    "slope of the wrong size": {"slope": lambda self, z, y: 1.01 * (z - y)},
    "slope constant": {"slope": lambda self, z, y: 1.0},
    "value not convex": {"value": lambda self, z, y: 0.5 * min((z - y) ** 2, 40.0)},
    "value concave": {"value": lambda self, z, y: -0.5 * (z - y) ** 2, "slope": lambda self, z, y: y - z},
    "value wrong on one side": {"value": lambda self, z, y: 0.5 * (z - y) ** 2 + (0.1 if z > 3 else 0.0)},
    "value NaN somewhere": {"value": lambda self, z, y: math.nan if z == 0.3 else 0.5 * (z - y) ** 2},
    "slope infinite somewhere": {"slope": lambda self, z, y: INF if z > 20.0 else z - y},
    "value returns nothing": {"value": lambda self, z, y: None},
    "slope returns text": {"slope": lambda self, z, y: "steep"},
    "value raises": {"value": _raise},
    "value takes no target": {"value": lambda self, z: 0.5 * z * z},
    "value at random": {"value": lambda self, z, y: 0.5 * (z - y) ** 2 + 1e-12 * random.random()},
    "not nonnegative": {
        "value": lambda self, z, y: 0.5 * (z - y) ** 2 - 1.0,
        "conjugate": lambda self, u, y: u * (0.5 * u + y) + 1.0,
    },
    "value_and_slope differs": {"value_and_slope": lambda self, z, y: (0.5 * (z - y) ** 2, z)},
    "conjugate too small": {"conjugate": lambda self, u, y: u * (0.5 * u + y) - 1e-3},
    "conjugate too large": {"conjugate": lambda self, u, y: u * (0.5 * u + y) + 1e-3},
    "conjugate without the target": {"conjugate": lambda self, u, y: 0.5 * u * u},
    "conjugate NaN": {"conjugate": lambda self, u, y: math.nan},
    "conjugate raises": {"conjugate": _raise},
    "dual_step forgets q": {"dual_step": lambda self, u, z, q, y: (z + u - y) / 2.0},
    "dual_step is a plain slope": {"dual_step": lambda self, u, z, q, y: z - y},
    "dual_step raises": {"dual_step": _raise},
    "quick_dual_step gains little": {"quick_dual_step": lambda self, u, z, q, y: u + 0.1 * (z - y - u) / (1.0 + q)},
    "quick_dual_step raises": {"quick_dual_step": _raise},
    "dual_domain too small": {"dual_domain": lambda self, y: (-1.0, 1.0)},
    "dual_domain of one number": {"dual_domain": lambda self, y: 0.0},
    "curvature wrong": {"curvature": lambda self, z, y: 2.0},
    "smoothness too small": {"smoothness": lambda self: 0.5},
}


def test_the_loss_without_planted_faults_is_sound():
    losses.check(faulty())


@pytest.mark.parametrize("fault", FAULTS)
def test_check_finds_the_planted_fault(fault):
    with pytest.raises(InputError, match="is not a valid loss"):
        losses.check(faulty(**FAULTS[fault]))


def test_check_finds_a_conjugate_that_is_finite_outside_its_domain():
    class Unbounded(NamedTuple):
        def value(self, z, y):
            return abs(z - y)

        def slope(self, z, y):
            return math.copysign(1.0, z - y)

        def conjugate(self, u, y):
            return u * y

    with pytest.raises(InputError, match="conjugate"):
        losses.check(Unbounded())


def test_check_finds_a_domain_wider_than_the_conjugate_and_a_smooth_claim_for_a_kink():
    class Wide(NamedTuple):
        def value(self, z, y):
            return max(0.0, 1.0 - y * z)

        def slope(self, z, y):
            return -y if y * z < 1.0 else 0.0

        def dual_domain(self, y):
            return -2.0, 2.0

        def smoothness(self):
            return 1.0

    with pytest.raises(InputError) as caught:
        losses.check(Wide(), targets=[-1.0, 1.0])
    assert "dual_domain" in str(caught.value)
    assert "smoothness" in str(caught.value)


def test_kernels_get_a_simpler_loss_where_one_is_the_same():
    loss = losses.EpsilonInsensitive(0.3)
    simple = compilable(loss)
    assert type(simple) is not type(loss) and compilable(losses.EpsilonInsensitive(0.3, p=1.5)) == (0.3, 1.5)
    nested = compilable(losses.Moreau(loss, 0.5))
    assert type(nested.loss) is type(simple)
    grid = sorted({*np.linspace(-2.0, 2.0, 41), 0.3, -0.3, 1.3, 0.7, np.nextafter(0.3, 1.0), 1e300, -1e300})
    for y in (0.0, 1.0, -0.25):
        assert simple.dual_domain(y) == loss.dual_domain(y)
        for z in grid:
            assert (simple.value(z, y), simple.slope(z, y)) == (loss.value(z, y), loss.slope(z, y))
            assert simple.conjugate(z, y) == loss.conjugate(z, y)
            for u in (-1.0, -0.4, 0.0, 1.0):
                assert all(simple.dual_step(u, z, q, y) == loss.dual_step(u, z, q, y) for q in (1e-3, 0.5, 1.0, 1e3))
    assert simple.smoothness() is loss.smoothness() is None
