"""Check the defining inequalities of a loss of several scores at many points: for the author of a loss, and for every
`Problem` with a custom loss."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import is_builtin
from fenchel.errors import InputError, refuse_first

if TYPE_CHECKING:
    from fenchel.multiclass.protocol import VectorLoss

REQUIRED = {
    "value": "value(z, y): the loss of the scores z of a row with target y",
    "slopes": "slopes(z, y, out): out = a subgradient of the value in z",
}
LINES = 12  # the number of random lines, besides the axes, along which scores are tried
DISTANCES = 10.0 ** np.concatenate([np.arange(-4, -1, 0.5), np.arange(-1, 2, 0.125), np.arange(2, 6.1, 0.5)])
MAX_FINITE_SCORE = 40.0  # up to scores of this magnitude, a value must not be NaN
MAX_TARGETS = 5
_SOUND: set[Any] = set()


class Tried(NamedTuple):
    """Scores, one point per row, with values and slopes there."""

    Z: np.ndarray
    F: np.ndarray
    U: np.ndarray


def check(loss: VectorLoss, outputs: int = 3, targets: Iterable[Any] | None = None, rtol: float = 1e-8) -> None:
    """Raise InputError naming what is wrong with a loss of several scores; return None if nothing is.

    The checks: `value` and `slopes` exist and return the same numbers each time, `slopes` sets all of `out`, no value lies
    below a tangent (on lines through 0 from 1e-4 to 1e6), and a loss declared `nonnegative` is. If the loss has these methods,
    `value_and_slopes` agrees with both, and `conjugate` at a slope u of z is <u, z> - value(z), and at no other z less than
    that. `targets` are the y to use, by default the classes 0 .. outputs - 1.

    >>> from typing import NamedTuple
    >>> class Wrong(NamedTuple):
    ...     def value(self, z, y): return 0.5 * ((z - z[y]) ** 2).sum()
    ...     def slopes(self, z, y, out): out[:] = z - z[y]
    >>> check(Wrong())
    Traceback (most recent call last):
    fenchel.errors.InputError: Wrong is not a valid loss of several scores: value is not convex, or slopes are not ...
    """
    require_methods(loss)
    for y in range(outputs) if targets is None else targets:
        with np.errstate(all="ignore"):
            refuse_first(_faults(loss, int(outputs), y, rtol), loss, "a valid loss of several scores")


def check_foreign(loss: Any, outputs: int, y: np.ndarray) -> None:
    """`check` with some of the targets y, once per class, parameters, number of scores and targets.

    >>> from fenchel.multiclass import Softmax
    >>> check_foreign(Softmax(), 3, np.array([0, 1, 2]))  # nothing to do
    """
    if is_builtin(loss):
        return
    rows = np.unique(np.asarray(y), axis=0)
    chosen = rows[np.unique(np.linspace(0, len(rows) - 1, MAX_TARGETS).astype(int))]
    key = repr((type(loss), id(type(loss)), tuple(loss), outputs, chosen.tolist()))
    if key not in _SOUND:
        check(loss, outputs, chosen)
        _SOUND.add(key)


def require_methods(loss: VectorLoss) -> None:
    """Raise InputError unless the loss is a NamedTuple with the methods that every loss of several scores has."""
    name = type(loss).__name__
    if not (isinstance(loss, tuple) and hasattr(loss, "_fields")):
        raise InputError(f"{name} must be a NamedTuple with its parameters as fields, because its methods are compiled")
    lacking = [words for method, words in REQUIRED.items() if not callable(getattr(type(loss), method, None))]
    if lacking:
        raise InputError(f"{name} lacks {' and '.join(lacking)} (fenchel.multiclass.protocol has all methods)")


def _faults(loss: VectorLoss, m: int, y: Any, rtol: float) -> Iterator[str]:
    rng = np.random.default_rng(0)
    shift = np.asarray(y, dtype=float) if np.ndim(y) else np.zeros(m)
    directions = np.vstack([np.eye(m)[:LINES], rng.standard_normal((LINES, m)), np.sign(rng.standard_normal((4, m)))])
    along = np.concatenate([-DISTANCES[::-1], [0.0], DISTANCES])
    starts = np.vstack([shift, shift + rng.standard_normal((2, m))])
    Z = (starts[:, None, None, :] + directions[None, :, None, :] * along[None, None, :, None]).reshape(-1, m)
    tried = Tried(Z, np.empty(len(Z)), np.empty((len(Z), m)))
    for k, z in enumerate(Z):
        yield from _numbers(loss, z, y, k, tried, float(np.abs(z - shift).max()) <= MAX_FINITE_SCORE)
    finite = np.isfinite(tried.F) & np.isfinite(tried.U).all(axis=1)
    if not finite.any():
        yield "the value is not finite at any of the scores that were tried"
    tried = Tried(*(part[finite] for part in tried))
    yield from _below_tangents(tried, y, rtol)
    if getattr(loss, "nonnegative", False) and (least := float(tried.F.min())) < -rtol:
        yield f"nonnegative is set, but a value is {least:.6g} (y={y}): lower bounds would be false"
    if hasattr(loss, "value_and_slopes"):
        yield from _fused(loss, tried, y, rtol)
    if hasattr(loss, "conjugate"):
        yield from _fenchel_young(loss, tried, y, rtol)


def _numbers(loss: VectorLoss, z: np.ndarray, y: Any, k: int, tried: Tried, near: bool) -> Iterator[str]:
    """Check value and slopes at z, and store them as entry k of `tried`."""
    again = np.full(z.size, 1e300)
    try:
        value, twice = loss.value(z.copy(), y), loss.value(z.copy(), y)
        tried.U[k] = np.nan
        loss.slopes(z.copy(), y, tried.U[k])
        loss.slopes(z.copy(), y, again)
    except (OverflowError, ZeroDivisionError):
        tried.F[k] = np.nan
        return
    if np.ndim(value) or not isinstance(value, (int, float, np.number)):
        yield f"value must return a number, got {type(value).__name__} (y={y})"
    tried.F[k] = value
    if value == -math.inf or (near and math.isnan(value)):
        yield f"value is {value} at z={_shown(z)}, y={y}"
    if not np.array_equal(tried.U[k], again, equal_nan=True):
        if np.isnan(tried.U[k]).any() or (again == 1e300).any():
            yield f"slopes must set every entry of out, at z={_shown(z)}, y={y} it does not"
        yield f"slopes at z={_shown(z)}, y={y} change from call to call"
    if near and math.isfinite(value) and not np.isfinite(tried.U[k]).all():
        yield f"slopes are {_shown(tried.U[k])} at z={_shown(z)}, y={y}, where the value is {value:.6g}"
    if value != twice and not math.isnan(value):
        yield f"value at z={_shown(z)}, y={y} changes from call to call"


def _below_tangents(tried: Tried, y: Any, rtol: float) -> Iterator[str]:
    Z, F, U = tried
    size = np.abs(Z).max(axis=1)
    order, noise = np.argsort(size), np.empty(F.size)
    noise[order] = 64 * np.finfo(float).eps * np.maximum.accumulate(np.abs(F[order]))
    own, total = np.einsum("km,km->k", U, Z), np.abs(Z).sum(axis=1)
    # The rounding errors of slopes are those of the largest slope at scores of at most this magnitude
    slope_noise = np.empty(F.size)
    slope_noise[order] = 64 * np.finfo(float).eps * np.maximum.accumulate(np.abs(U[order]).max(axis=1))
    for a in range(0, F.size, 512):  # compare tangents at 512 points with the values at all points
        part = slice(a, a + 512)
        rise = U[part] @ Z.T - own[part, None]
        allowed = rtol * (np.abs(F) + np.abs(F[part, None]) + np.abs(rise)) + noise + noise[part, None]
        allowed += slope_noise[part, None] * (total + total[part, None])
        short = F - F[part, None] - rise
        wrong = np.argwhere(short < -allowed)
        if wrong.size:
            k, other = wrong[np.argmin(size[part][wrong[:, 0]] + size[wrong[:, 1]])]
            yield (
                f"value is not convex, or slopes are not a subgradient: at z={_shown(Z[part][k])}, y={y} the slopes are "
                f"{_shown(U[part][k])}, but value({_shown(Z[other])}) = {F[other]:.6g} lies below the tangent "
                f"{F[part][k] + rise[k, other]:.6g}"
            )


def _fused(loss: Any, tried: Tried, y: Any, rtol: float) -> Iterator[str]:
    out = np.empty(tried.Z.shape[1])
    for z, f, u in zip(*tried, strict=True):
        got = loss.value_and_slopes(z.copy(), y, out)
        if not (abs(got - f) <= rtol * (1 + abs(f)) and np.abs(out - u).max() <= rtol * (1 + np.abs(u).max())):
            yield f"value_and_slopes differs from value and slopes at z={_shown(z)}, y={y}"


def _fenchel_young(loss: Any, tried: Tried, y: Any, rtol: float) -> Iterator[str]:
    Z, F, U = tried
    for k in np.unique(np.linspace(0, F.size - 1, 200).astype(int)):
        if np.abs(Z[k]).max() > 100.0 * MAX_FINITE_SCORE:
            continue
        got, heights = float(loss.conjugate(U[k].copy(), y)), Z @ U[k] - F
        sizes = 1 + abs(got) + np.abs(Z) @ np.abs(U[k]) + np.abs(F)
        if not (math.isfinite(got) and abs(got - heights[k]) <= 10 * rtol * sizes[k]):
            yield (
                f"conjugate({_shown(U[k])}, y={y}) is {got:.6g}, but <u, z> - value(z) at z={_shown(Z[k])}, which has these "
                f"slopes, is {heights[k]:.6g}"
            )
        if (wrong := np.flatnonzero(heights > got + rtol * sizes)).size:
            z = Z[wrong[0]]
            yield f"conjugate({_shown(U[k])}, y={y}) = {got:.6g} is below <u, z> - value(z) at z={_shown(z)}"


def _shown(z: np.ndarray) -> str:
    more = ", ..." if z.size > 6 else ""
    return "[" + ", ".join(f"{x:.6g}" for x in z[:6]) + more + "]"
