"""Check the defining inequalities of a loss at many points: for the author of a loss, for every `Problem` with a custom loss,
and for the test suite."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.compile.dispatch import is_builtin
from fenchel.errors import InputError
from fenchel.losses import derived, protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fenchel.losses.protocol import FullLoss, Loss

Test = Callable[[Any, Any, float], Iterator[str]]

SCORES = [-30.0, -8.0, -3.0, -1.5, -1.0, -0.6, -0.25, -0.1, 0.0, 0.1, 0.3, 0.5, 0.9, 1.0, 1.2, 2.0, 4.0, 9.0, 30.0]
TARGETS = [-2.5, -1.0, 0.0, 1.0, 2.0, 5.0]
STEPS = [1e-3, 0.3, 1.0, 20.0]
# Distances from 0 and from the target at which convexity is checked: 1e-6 to 1e8, more closely spaced in the middle.
DISTANCES = 10.0 ** np.concatenate([np.arange(-6, -2, 1 / 8), np.arange(-2, 4, 1 / 32), np.arange(4, 8.1, 1 / 8)])
MAX_TARGETS = 6  # distinct targets of a problem at which a custom loss is checked
_SOUND: set[Any] = set()  # custom losses, with targets, that have passed the checks


def check(loss: Loss, targets: Iterable[float] | None = None, rtol: float = 1e-8) -> None:
    """Raise InputError listing everything that is wrong with a loss; return None if nothing is.

    The checks: value and slope return finite numbers, value is convex and slope a subgradient (on a grid from 1e-6 to 1e8
    around 0 and the target), slope is nondecreasing, a loss declared `nonnegative` is, and those of the methods
    `value_and_slope`, `local_model`, `conjugate`, `dual_step`, `quick_dual_step`, `dual_domain`, `curvature` and `smoothness`
    that the loss has agree with value and slope.
    `targets` are the y to use (default: a few numbers that the loss allows).

    >>> from typing import NamedTuple
    >>> class Wrong(NamedTuple):
    ...     def value(self, z, y): return abs(z - y)
    ...     def slope(self, z, y): return 1.0
    >>> check(Wrong())
    Traceback (most recent call last):
    fenchel.errors.InputError: Wrong is not a valid loss:
    - slope is not a subgradient: ...
    """
    if targets is None:
        allowed = getattr(loss, "valid_target", np.isfinite)
        targets = [y for y in TARGETS if allowed(y)] or [1.0]
    _refuse(loss, _faults(TESTS, loss, targets, rtol))


def check_foreign(loss: Loss, targets: Iterable[float], rtol: float = 1e-8) -> None:
    """Raise InputError if a custom loss is wrong for some of these targets.

    Called for every `Problem`; a loss is checked once per class, parameters and targets. The checks are those of `check`, but
    a value may overflow far from the target, and methods that only guide solvers are not checked.

    >>> from fenchel.losses import Hinge
    >>> check_foreign(Hinge(), [-1.0, 1.0])  # nothing to do
    """
    if is_builtin(loss):
        return
    unique = sorted({float(y) for y in targets})
    chosen = tuple(unique[k] for k in {round(j * (len(unique) - 1) / (MAX_TARGETS - 1)) for j in range(MAX_TARGETS)})
    if (key := (_identity(loss), chosen)) in _SOUND:
        return
    tests = (_numbers, _convex_everywhere, _deterministic, _nonnegative, _fenchel_young, _fused)
    _refuse(loss, _faults(tests, _Safe(loss), chosen, rtol))
    _SOUND.add(key)


def _identity(value: object) -> Any:
    """Class and parameters, as a key; two classes may have the same name."""
    return (type(value), *map(_identity, value)) if isinstance(value, tuple) else value


def _faults(tests: Sequence[Test], loss: Loss, targets: Iterable[float], rtol: float) -> list[str]:
    """The first fault that each test finds. If the first test, for finite numbers, finds one, the others are not run."""
    faults: list[str] = []
    for test in tests:
        faults += _first_fault(test, loss, targets, rtol)
        if faults and test is tests[0]:
            break
    return faults


def _first_fault(test: Test, loss: Loss, targets: Iterable[float], rtol: float) -> list[str]:
    try:
        return [found for found in [next(test(loss, targets, rtol), None)] if found]
    except Exception as error:
        return [f"{test.__name__.strip('_')} raised {type(error).__name__}: {error}"]


def _refuse(loss: Loss, faults: list[str]) -> None:
    if faults:
        raise InputError(f"{type(loss).__name__} is not a valid loss:\n" + "\n".join(f"- {f}" for f in faults))


class _Safe:
    """A loss whose methods return inf (value, conjugate) or NaN (slope) where Python raises and compiled code does not."""

    def __init__(self, loss: Loss):
        self.loss = loss
        self.raised: set[tuple] = set()  # the arguments at which `slope` raised

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.loss, name)
        if name not in ("value", "slope", "conjugate"):
            return method

        def call(*args: Any) -> Any:
            try:
                return method(*args)
            except (OverflowError, ZeroDivisionError):
                if name == "slope":
                    self.raised.add(args)
                return math.nan if name == "slope" else math.inf

        return call


def _finite(loss: Loss, targets: Iterable[float], rtol: float) -> Iterator[str]:
    for z, y in itertools.product(SCORES, targets):
        for name in ("value", "slope"):
            got = getattr(loss, name)(z, y)
            if not isinstance(got, (int, float, np.number)):
                yield f"{name} must return a number: at z={z}, y={y} it returned {type(got).__name__}"
            elif not math.isfinite(got):
                yield f"{name} is {got} at z={z}, y={y}"


def _numbers(loss: _Safe, targets: Iterable[float], rtol: float) -> Iterator[str]:
    """Like `_finite`, but around each target, and values may overflow."""
    finite = 0
    for y, z in itertools.product(targets, [y + z for y in targets for z in SCORES]):
        f, g = loss.value(z, y), loss.slope(z, y)
        for name, got in (("value", f), ("slope", g)):
            if not isinstance(got, (int, float, np.number)):
                yield f"{name} must return a number: at z={z}, y={y} it returned {type(got).__name__}"
        if math.isnan(f) or f == -math.inf:
            yield f"value is {f} at z={z}, y={y}"
        if math.isfinite(f) and not math.isfinite(g) and (z, y) not in loss.raised:
            yield f"slope is {g} at z={z}, y={y}, where the value is {f:.6g}"
        finite += math.isfinite(f) and math.isfinite(g)
    if not finite:
        yield "the value is not finite at any of the scores that were tried"


def _convex_everywhere(loss: Loss, targets: Iterable[float], rtol: float) -> Iterator[str]:
    """On a fine grid of scores around 0 and around each target, no value lies below the tangent at a neighbouring point; then
    none lies below any tangent of the grid."""
    loss = loss if isinstance(loss, _Safe) else _Safe(loss)
    for y in targets:
        z = np.unique([c + d for c in {0.0, y} for d in (*-DISTANCES, 0.0, *DISTANCES)])
        f = np.array([float(loss.value(x, y)) for x in z.tolist()])
        g = np.array([float(loss.slope(x, y)) for x in z.tolist()])
        known = np.flatnonzero(np.isfinite(f))  # values outside this range have overflowed
        if known.size and known.size <= known[-1] - known[0]:
            yield f"value is infinite or NaN between scores at which it is finite (y={y:.6g}): not convex"
        if (f == -math.inf).any():
            yield f"value is -inf at z={z[np.argmin(f)]:.6g}, y={y:.6g}"
        with np.errstate(all="ignore"):
            yield from _below_tangents(z[known], f[known], g[known], y, rtol)


def _below_tangents(z: np.ndarray, f: np.ndarray, g: np.ndarray, y: float, rtol: float) -> Iterator[str]:
    """The points where f lies below the tangent at the previous or next point; first those at a distance of about 1 from y,
    which are the easiest to understand."""
    # The rounding error of terms as large as the values at smaller scores
    order, noise = np.argsort(np.abs(z)), np.empty(z.size)
    noise[order] = 64 * np.finfo(float).eps * np.maximum.accumulate(np.abs(f[order]))
    found = []
    for at, to in ((slice(None, -1), slice(1, None)), (slice(1, None), slice(None, -1))):
        rise = g[at] * (z[to] - z[at])
        allowed = rtol * (np.abs(f[at]) + np.abs(f[to]) + np.abs(rise)) + noise[at] + noise[to]
        wrong = np.flatnonzero(f[to] - f[at] - rise < -allowed)  # a NaN here is an overflow, and no fault
        found += [(z[at][k], g[at][k], z[to][k], f[to][k], f[at][k] + rise[k]) for k in wrong]
    for x, slope, other, there, tangent in sorted(found, key=lambda fault: abs(abs(fault[0] - y) - 1.0)):
        yield (
            f"value is not convex, or slope is not a subgradient: at z={x:.6g}, y={y:.6g} the slope is {slope:.6g}, but "
            f"value({other:.6g}) = {there:.6g} lies below the tangent {tangent:.6g}"
        )


def _subgradient(loss: Loss, targets: Iterable[float], rtol: float) -> Iterator[str]:
    for y, z in itertools.product(targets, SCORES):
        f, g = loss.value(z, y), loss.slope(z, y)
        for x in SCORES:
            other = loss.value(x, y)
            if other < f + g * (x - z) - rtol * (1 + abs(other) + abs(f) + abs(g * (x - z))):
                yield (
                    f"slope is not a subgradient: at z={z}, y={y} it is {g:.6g}, but value({x}) = {other:.6g} lies "
                    f"below the tangent {f + g * (x - z):.6g} (value not convex, or slope wrong)"
                )


def _monotone(loss: Loss, targets: Iterable[float], rtol: float) -> Iterator[str]:
    for y in targets:
        slopes = [loss.slope(z, y) for z in SCORES]
        for k in range(len(SCORES) - 1):
            if slopes[k + 1] < slopes[k] - rtol * (1 + abs(slopes[k])):
                yield f"slope decreases between z={SCORES[k]} and z={SCORES[k + 1]} (y={y}): the loss is not convex"


def _deterministic(loss: Loss, targets: Iterable[float], rtol: float) -> Iterator[str]:
    for y, z in itertools.product(targets, SCORES):
        if not (_same(loss.value(z, y), loss.value(z, y)) and _same(loss.slope(z, y), loss.slope(z, y))):
            yield f"value or slope at z={z}, y={y} changes from call to call"


def _nonnegative(loss: Loss, targets: Iterable[float], rtol: float) -> Iterator[str]:
    for y, z in itertools.product(targets, SCORES) if getattr(loss, "nonnegative", False) else []:
        if loss.value(z, y) < -rtol:
            yield f"nonnegative is set, but value({z}, {y}) = {loss.value(z, y):.6g}: lower bounds would be false"


def _fused(loss: FullLoss, targets: Iterable[float], rtol: float) -> Iterator[str]:
    for y, z in itertools.product(targets, SCORES) if hasattr(loss, "value_and_slope") else []:
        f, g = loss.value_and_slope(z, y)
        if not (_close(f, loss.value(z, y), rtol) and _close(g, loss.slope(z, y), rtol)):
            yield f"value_and_slope differs from value and slope at z={z}, y={y}"
    whole = loss.loss if isinstance(loss, _Safe) else loss
    for y, z in itertools.product(targets, SCORES) if hasattr(loss, "local_model") else []:
        f, g, h = loss.local_model(z, y)
        if not (
            _close(f, loss.value(z, y), rtol)
            and _close(g, loss.slope(z, y), rtol)
            and _close(h, protocol.curvature(whole, z, y), rtol)
        ):
            yield f"local_model differs from value, slope and curvature at z={z}, y={y}"


def _fenchel_young(loss: FullLoss, targets: Iterable[float], rtol: float) -> Iterator[str]:
    for y, z in itertools.product(targets, SCORES) if hasattr(loss, "conjugate") else []:
        u = loss.slope(z, y)
        if not (math.isfinite(u) and math.isfinite(loss.value(z, y))):
            continue  # overflow is not a fault here; `_finite` checks for it
        got, want = loss.conjugate(u, y), u * z - loss.value(z, y)
        if not abs(got - want) <= rtol * (1 + abs(u * z) + abs(loss.value(z, y))):
            yield f"conjugate(u={u:.6g}, y={y}) is {got:.6g}, but u z - value(z) at z={z} gives {want:.6g}"
        for x in SCORES:
            if u * x - loss.value(x, y) > got + rtol * (1 + abs(got) + abs(u * x) + abs(loss.value(x, y))):
                yield f"conjugate(u={u:.6g}, y={y}) = {got:.6g} is below u z - value(z) at z={x}: bounds would be false"


def _conjugate_domain(loss: FullLoss, targets: Iterable[float], rtol: float) -> Iterator[str]:
    for y in targets if hasattr(loss, "conjugate") else []:
        for u in (-3.0, -1.0, -0.4, 0.0, 0.4, 1.0, 3.0):
            got, bound = loss.conjugate(u, y), derived.conjugate(loss, u, y)
            best = max(u * x - loss.value(x, y) for x in SCORES)
            if math.isnan(got) or got < best - rtol * (1 + abs(best)):
                yield f"conjugate({u}, {y}) = {got} is below the supremum, which is at least {best:.6g}"
            if math.isinf(bound) and math.isfinite(got) and _unbounded(loss, u, y):
                yield f"conjugate({u}, {y}) = {got:.6g} should be inf: no score has that slope"


def _unbounded(loss: FullLoss, u: float, y: float) -> bool:
    """Whether u z - value(z) keeps growing, that is, u lies strictly outside the range of slopes."""
    return any(u * z - loss.value(z, y) > u * z / 2 - loss.value(z / 2, y) + 1e-3 * abs(z) for z in (-1e6, 1e6))


def _dual_step(loss: FullLoss, targets: Iterable[float], rtol: float) -> Iterator[str]:
    for y, z, q in itertools.product(targets, SCORES, STEPS) if hasattr(loss, "dual_step") else []:
        u = loss.slope(0.1, y)
        got, want = loss.dual_step(u, z, q, y), derived.dual_step(loss, u, z, q, y)
        if not abs(got - want) <= 1e-6 * (1 + abs(want)):
            yield f"dual_step(u={u:.6g}, z={z}, q={q}, y={y}) is {got:.6g}; value and slope give {want:.6g}"


def _quick_dual_step(loss: FullLoss, targets: Iterable[float], rtol: float) -> Iterator[str]:
    for y, z, q in itertools.product(targets, SCORES, STEPS) if hasattr(loss, "quick_dual_step") else []:
        u = loss.slope(0.1, y)
        low, high = protocol.dual_domain(loss, y)
        quick, best = loss.quick_dual_step(u, z, q, y), protocol.dual_step(loss, u, z, q, y)
        got, most = (_gain(loss, u, z, q, y, new) for new in (quick, best))
        if not (low <= quick <= high and got >= 0.5 * most - rtol * (1 + abs(z))):
            yield f"quick_dual_step(u={u:.6g}, z={z}, q={q}, y={y}) is {quick:.6g}; the best one is {best:.6g}"


def _gain(loss: FullLoss, u: float, z: float, q: float, y: float, new: float) -> float:
    """The increase of the row's dual value by a step from u to `new`."""
    conjugates = protocol.conjugate(loss, new, y) - protocol.conjugate(loss, u, y)
    return (new - u) * z - conjugates - 0.5 * q * (new - u) ** 2


def _dual_domain(loss: FullLoss, targets: Iterable[float], rtol: float) -> Iterator[str]:
    for y in targets if hasattr(loss, "dual_domain") else []:
        low, high = loss.dual_domain(y)
        for z in SCORES:
            if not low <= loss.slope(z, y) <= high:
                yield f"slope({z}, {y}) = {loss.slope(z, y):.6g} lies outside dual_domain = ({low}, {high})"
        for u in (low, high):
            if math.isfinite(u) and not math.isfinite(protocol.conjugate(loss, u, y)):
                yield f"conjugate is not finite at the end u={u} of dual_domain({y})"


def _curvature(loss: FullLoss, targets: Iterable[float], rtol: float) -> Iterator[str]:
    for y, z in itertools.product(targets, SCORES) if hasattr(loss, "curvature") else []:
        h = 1e-5
        left, right = (loss.slope(z + 0.4321 * h, y) - loss.slope(z - h, y)), loss.slope(z + h, y)
        numeric, twice = (right - loss.slope(z - h, y)) / (2 * h), left / (1.4321 * h)
        if abs(numeric - twice) <= 1e-3 * (1 + abs(numeric)) and abs(loss.curvature(z, y) - numeric) > 1e-2 * (
            1 + abs(numeric)
        ):
            yield f"curvature({z}, {y}) is {loss.curvature(z, y):.6g}; the slope changes at rate {numeric:.6g}"


def _smoothness(loss: Loss, targets: Iterable[float], rtol: float) -> Iterator[str]:
    constant = loss.smoothness() if hasattr(loss, "smoothness") else None
    if constant is None:
        return
    for y in targets:
        for a, b in itertools.combinations(SCORES, 2):
            rise = abs(loss.slope(b, y) - loss.slope(a, y))
            if rise > constant * abs(b - a) * (1 + rtol) + rtol:
                yield f"the slope changes faster than smoothness() = {constant} allows between z={a} and z={b} (y={y})"


def _same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def _close(a: float, b: float, rtol: float) -> bool:
    return _same(a, b) or abs(a - b) <= rtol * (1 + abs(b))


TESTS: list[Test] = [_finite, _subgradient, _monotone, _convex_everywhere, _deterministic, _nonnegative, _fused]
TESTS += [_fenchel_young, _conjugate_domain, _dual_step, _quick_dual_step, _dual_domain, _curvature, _smoothness]
