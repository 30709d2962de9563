"""The choice of the intercept: the middle if several are optimal, an error if none is.

For given scores z the risk F(b) = sum_i p_i loss(z_i + b, y_i) is convex in b, and its minimisers are an interval [l, r] with
S(b) = sum_i p_i slope(z_i + b, y_i) < 0 before it, 0 inside it and > 0 after it. It is not a single point if no row has a
nonsmooth point or curvature inside it and the weights on both sides are equal: the median of an even number of rows; hinge
losses with as many rows of either label, all of which violate their margin. Solvers stop anywhere in it. The reported
intercept is

    (l + r) / 2    if both ends are finite,
    the finite end if the other one is infinite (rows of one label and a loss that becomes 0),

with the same objective. If there are several intercepts, each in turn is moved to the middle while the others are fixed;
finally the mean of all is subtracted if that does not change the losses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from fenchel.compile.dispatch import is_builtin
from fenchel.errors import InputError
from fenchel.losses.protocol import curvature
from fenchel.losses.task import task_of

ROUNDING = 1e-12  # |S| up to this fraction of sum p |slope| counts as 0
NARROW = 1e-8  # intervals up to this fraction of the magnitude of the scores count as one point: the solver's intercept is kept
SHARP = 1e-14  # accuracy of the ends, relative to that magnitude
FIRST, FARTHER, FARTHEST = 16, (22, 28, 40, 64), 64  # S is evaluated at so many doublings of NARROW on either side of b
AT_ONCE = 7  # intercepts that are evaluated together: on a cluster each evaluation is a round trip
MANY_AT_ONCE = 255  # the same if few rows are left, when evaluations are inexpensive
LITTLE = 1 << 14  # so few slopes are evaluated in the time of a function call
CLOSER = 1.0 / 16.0  # when a bracket has shrunk by this factor, further rows are left out
SECANT = (0.0, -(2.0**-14), 2.0**-14, -(2.0**-7), 2.0**-7)  # subdivisions of a bracket around the root of its chord
MOST_ROUNDS = 400
TAILS = (1e-2, 1e-5, 1e-8)  # distances of a slope from its limit; a limit that is approached and never reached needs
EVENLY = 0.98  # about as many score units from the second to the third as from the first to the second

PROBES = (-20.0, -5.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 5.0, 20.0)  # scores at which the curvature is tested

Sums = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
Brackets = tuple[tuple[float, float], ...]


class NarrowingSums:
    """S and sum p |slope| of many rows, of which fewer and fewer are evaluated.

    `ask(intercepts, brackets)` returns both sums at every intercept, and the number of rows whose slope differs between the
    ends of the last bracket. Slopes are nondecreasing in the score, so that the other rows have the same slope at every
    intercept inside it and are added only once: about three evaluations of all rows find both ends of the interval.
    """

    def __init__(self, ask: Callable[[np.ndarray, Brackets], tuple[np.ndarray, np.ndarray, float]], rows: int):
        self.ask, self.all, self.rows = ask, rows, float(rows)
        self.brackets: Brackets = ()

    def __call__(self, bs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        total, size, self.rows = self.ask(bs, self.brackets)
        return total, size

    def narrow(self, low: float, high: float) -> None:
        """Note that from now on only intercepts between these will be evaluated."""
        if self.brackets:
            last = self.brackets[-1]
            if self.rows * MANY_AT_ONCE <= LITTLE or high - low > CLOSER * (last[1] - last[0]):
                return
        self.brackets += ((low, high),)

    def at_once(self, usual: int) -> int:
        """How many intercepts to evaluate together."""
        return MANY_AT_ONCE if self.rows * MANY_AT_ONCE <= max(LITTLE, usual * self.all) else usual


def middle(sums: Sums, b: float, size: float, at_once: int = AT_ONCE, smooth: bool = False) -> float:
    """The middle of the interval of optimal intercepts, or b if it is one point.

    sums(array of intercepts) returns S and sum p |slope| at each of them, about `at_once` at a time (`NarrowingSums`: more if
    few rows are left); `size` is the magnitude of a typical score.

    >>> places = np.array([0.0, 1.0, 3.0, 7.0])  # nonsmooth points of the absolute loss: 1 to 3 are optimal
    >>> slopes = lambda bs: np.sign(bs[:, None] - places)
    >>> round(middle(lambda bs: (slopes(bs).sum(axis=1), np.abs(slopes(bs)).sum(axis=1)), 1.0, 7.0), 9)
    2.0
    """
    low, high = interval(sums, b, size, at_once, smooth)
    if np.isfinite(low) and np.isfinite(high):
        return low + 0.5 * (high - low) if high - low > NARROW * _unit(b, size) else b
    if np.isfinite(low) or np.isfinite(high):
        return low if np.isfinite(low) else high
    return b


def interval(sums: Sums, b: float, size: float, at_once: int = AT_ONCE, smooth: bool = False) -> tuple[float, float]:
    """The ends of the interval of optimal intercepts, possibly infinite; (b, b) if it is narrower than NARROW.

    `smooth`: whether the losses are differentiable."""
    unit = _unit(b, size)
    narrow = NARROW * unit
    known = _Known(sums, at_once)
    near, far = narrow * 2.0**FIRST, narrow * 2.0 ** np.array(FARTHER)
    if smooth:  # S is continuous and mostly increasing, so that b is nearly always the only minimiser
        known.ask([b - 0.49 * narrow, b + 0.49 * narrow])
        if known.behind - known.before <= narrow:
            return b, b
    known.ask([b - near, b, b + near])
    if not known.is_bracketed():
        known.ask([*(b - far), *(b + far)])
    ends = known.before, known.behind  # infinite: all intercepts on this side are optimal
    for _ in range(MOST_ROUNDS):
        if known.first <= known.last or not known.behind - known.before > narrow or not known.is_bracketed():
            break
        known.ask(known.between())
    if known.first > known.last:
        return b, b
    known.ask([known.first - 0.49 * narrow, known.last + 0.49 * narrow])
    if known.behind - known.before <= narrow:
        return b, b
    for _ in range(MOST_ROUNDS):
        before = known.before, known.first, known.last, known.behind
        known.ask(known.around(SHARP * unit))
        if before == (known.before, known.first, known.last, known.behind):
            break  # close enough, or adjacent doubles
    return (known.first if np.isfinite(ends[0]) else -np.inf), (known.last if np.isfinite(ends[1]) else np.inf)


class _Known:
    """From the signs of S so far: the last point before the interval, its first and last known point, the first after it."""

    def __init__(self, sums: Sums, at_once: int):
        self.sums, self.usual = sums, at_once
        self.before, self.behind = -np.inf, np.inf
        self.first, self.last = np.inf, -np.inf
        self.slopes = [-np.inf, np.inf]  # S before and after it

    def is_bracketed(self) -> bool:
        return self.before > -np.inf and self.behind < np.inf

    def ask(self, bs: Sequence[float] | np.ndarray) -> None:
        points = np.asarray(bs, dtype=float)
        points = np.sort(points[(points > self.before) & (points < self.behind)])
        if not points.size:
            return
        total, size = self.sums(points)
        (falling,), (rising,) = (total < -ROUNDING * size).nonzero(), (total > ROUNDING * size).nonzero()
        if falling.size:
            self.before, self.slopes[0] = float(points[falling[-1]]), float(total[falling[-1]])
        if rising.size:
            self.behind, self.slopes[1] = float(points[rising[0]]), float(total[rising[0]])
        best = points[(points > self.before) & (points < self.behind)]
        if best.size:
            self.first, self.last = min(self.first, float(best[0])), max(self.last, float(best[-1]))
        if self.is_bracketed() and isinstance(self.sums, NarrowingSums):
            self.sums.narrow(self.before, self.behind)

    @property
    def count(self) -> int:
        return self.sums.at_once(self.usual) if isinstance(self.sums, NarrowingSums) else self.usual

    def between(self) -> np.ndarray:
        """Points that divide the bracket equally, and points around the root of its chord, since S may be smooth there."""
        width, (low, high) = self.behind - self.before, self.slopes
        points = _inner(self.before, self.behind, max(self.count - len(SECANT), 1))
        root = self.before - low * (width / (high - low)) if np.isfinite(high - low) else self.before + 0.5 * width
        return np.append(points, root + width * np.array(SECANT))

    def around(self, sharp: float) -> np.ndarray:
        """Points between each known end of the interval and the next point outside."""
        sides = ((self.before, self.first), (self.last, self.behind))
        return np.concatenate([np.zeros(0), *(_inner(a, b, self.count) for a, b in sides if sharp < b - a < np.inf)])


def _inner(a: float, b: float, count: int) -> np.ndarray:
    """Points that divide [a, b] into equal parts."""
    return a + (b - a) * np.arange(1, count + 1) / (count + 1)


def _unit(b: float, size: float) -> float:
    found = max(abs(b), size)
    return found if 0.0 < found < np.inf else 1.0


def is_strictly_convex(loss: Any, targets: Iterable[float]) -> bool:
    """Whether a built-in loss has curvature at all tested scores, so that the optimal intercept is unique.

    >>> from fenchel.losses import Huber, Logistic
    >>> is_strictly_convex(Logistic(), [-1.0, 1.0]), is_strictly_convex(Huber(), [0.0])
    (True, False)
    """
    kind: Any = type(loss)
    return is_builtin(loss) and all(_is_curved(kind, loss, float(y)) for y in set(targets))


@lru_cache(maxsize=1024)
def _is_curved(_: type, loss: Any, y: float) -> bool:
    """Whether the loss has curvature at all probes; the class is part of the key, because equal tuples are equal losses."""
    return all(curvature(loss, z, y) > 0.0 for z in PROBES)


def refuse_without_minimum(loss: Any, targets: np.ndarray, falls: float, rises: float) -> None:
    """Raise InputError if F(b) has no minimum: `falls` and `rises` are S at minus and plus infinity, `targets` those of rows
    with positive weight.

    A loss whose slope reaches 0 at a finite score (the hinges) has a minimum even then.
    """
    for limit, side in ((falls, -1.0), (rises, 1.0)):
        if side * limit > 0.0 or (limit == 0.0 and all(reaches_0(loss, y, side) for y in targets)):
            continue
        name = type(loss).__name__
        if task_of(loss) == "binary":
            what = f"all rows with a positive weight have the label {targets[0]:+.0f}"
            advice = "pass fit_intercept=False, or rows of both labels"
        else:
            what = (
                f"all rows with a positive weight have the target {targets[0]:g}"
                if len(targets) == 1
                else "for these targets"
            )
            advice = "pass fit_intercept=False, or rows with other targets"
        raise InputError(
            f"{what}: with a free intercept the loss {name} has no minimum, because it keeps decreasing as the "
            f"intercept goes to {'plus' if side > 0.0 else 'minus'} infinity; {advice}"
        )


def reaches_0(loss: Any, y: float, side: float) -> bool:
    """Whether the slope, which tends to 0 on this side, is exactly 0 from some score on."""
    scores = [_score_at(loss, y, side, tail) for tail in TAILS]
    first, second = abs(scores[1] - scores[0]), abs(scores[2] - scores[1])
    return second <= max(EVENLY * first, 1e-9 * (1.0 + abs(scores[2])))


def _score_at(loss: Any, y: float, side: float, tail: float) -> float:
    """The score at which the slope differs from 0 by `tail`, by bisection."""
    near, far = -side, side
    for _ in range(FARTHEST):
        if side * loss.slope(near, y) <= -tail:
            break
        near *= 2.0
    for _ in range(FARTHEST):
        if side * loss.slope(far, y) >= -tail:
            break
        far *= 2.0
    for _ in range(MOST_ROUNDS):
        between = near + 0.5 * (far - near)
        if between in (near, far):
            break
        near, far = (between, far) if side * loss.slope(between, y) < -tail else (near, between)
    return far
