"""Check the defining inequalities of a measure at many scores: for the author of a measure, and for every `Problem` with a
custom measure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fenchel.compile.dispatch import is_ours
from fenchel.errors import InputError, refuse_first
from fenchel.measures.protocol import Measure, Vector
from fenchel.measures.queries import NothingToRank

TARGETS = [1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0]
MOST_ROWS = 500  # rows of a problem with which a custom measure is checked
MOST_QUERIES = 4  # queries that are each compared with all others
UNEVEN = 1e-9  # relative tolerance by which a value may lie below a tangent
EPS = float(np.finfo(float).eps)
_SOUND: set[Any] = set()


class Tangent(NamedTuple):
    """The value and a subgradient of a measure at scores z."""

    z: Vector
    value: float
    slope: Vector


def tangent(measure: Measure, z: Vector, prepared: object) -> Tangent:
    """The measure at z; it may overwrite copies of the scores and `out`."""
    slope = np.full(z.size, np.nan)
    return Tangent(z, float(measure.value_and_slope(z.copy(), prepared, slope)), slope)


def first_below(tangents: list[Tangent]) -> tuple[int, int] | None:
    """(k, l) with the value at z_l below the tangent at z_k by more than rounding; None if there are none."""
    known = [k for k, at in enumerate(tangents) if math.isfinite(at.value) and np.isfinite(at.slope).all()]
    if not known:
        return None
    Z, G = np.array([tangents[k].z for k in known]), np.array([tangents[k].slope for k in known])
    F = np.array([tangents[k].value for k in known])
    rise = G @ Z.T - np.einsum("kn,kn->k", G, Z)[:, None]
    total = np.abs(Z).sum(axis=1)
    rounding = 64 * EPS * (np.abs(F) + np.abs(G).max(axis=1) * total)
    size = np.abs(F) + np.abs(F[:, None]) + np.abs(rise)
    allowed = UNEVEN * size + rounding + rounding[:, None] + 64 * EPS * np.abs(G).max(axis=1)[:, None] * total
    wrong = np.argwhere(F - F[:, None] - rise < -allowed)
    if not wrong.size:
        return None
    k, other = wrong[np.argmin(total[wrong[:, 0]] + total[wrong[:, 1]])]
    return known[k], known[other]


def around(z: Vector, rng: np.random.Generator) -> Iterator[Vector]:
    """Scores at many distances from z: along lines, in single rows, in all rows."""
    size = 1.0 + float(np.abs(z).max())
    directions = [rng.standard_normal(z.size), -z / size, np.ones(z.size), np.eye(z.size)[int(rng.integers(z.size))]]
    for direction in directions:
        yield from (z + sign * size * 2.0**e * direction for e in range(-12, 9, 4) for sign in (1.0, -1.0))


def check(measure: Measure, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> None:
    """Raise InputError naming what is wrong with a measure for these targets; return None if nothing is.

    Checked: `value_and_slope` returns a number, the same each time, and sets all of `out`; no value lies below a tangent, for
    scores of sizes from 1e-3 to 1e4; `nonnegative` and `shift_invariant` are true where they are set; with `groups`, value and
    slope are the means, weighted by `mass`, of those of two parts of the queries.

    >>> class Wrong(Measure):
    ...     def prepare(self, y, groups=None, weights=None): return None
    ...     def value_and_slope(self, z, prepared, out):
    ...         out[:] = z / z.size
    ...         return float(z @ z) / z.size
    >>> check(Wrong())
    Traceback (most recent call last):
    fenchel.errors.InputError: Wrong is not a valid measure: value is not convex, or the slope is not a subgradient: ...
    """
    y = np.asarray(TARGETS if y is None else y, dtype=np.float64)
    if groups is None and measure.needs_groups:
        groups = np.sqrt(4 + np.arange(y.size)).astype(int)  # of 5, 7, ... rows: unequal, so that `mass` can be checked
    prepared = measure.prepare(y, groups)
    with np.errstate(all="ignore"):
        refuse_first(_faults(measure, y, prepared), measure, "a valid measure", "value_and_slope")
        if groups is not None and (is_ours(type(measure)) or "mass" in vars(type(measure))):
            refuse_first(_mass_faults(measure, y, np.asarray(groups), prepared), measure, "a valid measure", "mass")


def check_foreign(measure: Measure, y: np.ndarray, groups: np.ndarray | None) -> None:
    """`check` with some rows of a problem, once per class, parameters and targets; built-in measures are not checked.

    >>> from fenchel.measures import ROCArea
    >>> check_foreign(ROCArea(), np.array([1.0, -1.0]), None)  # nothing to do
    """
    if is_ours(type(measure)):
        return
    rows = _some(y, groups)
    parts = y[rows], None if groups is None else groups[rows]
    key = (
        id(type(measure)),
        repr(sorted(vars(measure).items())),
        *(repr(None if p is None else p.tolist()) for p in parts),
    )
    if key not in _SOUND:
        try:
            measure.prepare(*parts)
        except InputError:  # the measure is not defined for these rows alone
            parts = y, groups
        check(measure, *parts)
        _SOUND.add(key)


def _some(y: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """At most MOST_ROWS rows, evenly spread; with groups, all of those of the first groups."""
    if y.size <= MOST_ROWS:
        return np.arange(y.size)
    if groups is None:
        return np.linspace(0, y.size - 1, MOST_ROWS).astype(int)
    number = np.unique(groups, return_inverse=True)[1]
    counts = np.cumsum(np.bincount(number))
    return np.flatnonzero(number <= max(int(np.searchsorted(counts, MOST_ROWS)) - 1, 0))


def _faults(measure: Measure, y: np.ndarray, prepared: object) -> Iterator[str]:
    rng, n = np.random.default_rng(0), y.size
    signed = np.sign(y - np.median(y)) + 0.01 * rng.standard_normal(n)
    scores = [np.zeros(n), np.ones(n), *(size * rng.standard_normal(n) for size in 10.0 ** np.arange(-3.0, 4.5, 0.5))]
    scores += [t * signed for t in (-1e3, -30.0, -3.0, -1.0, -0.3, 0.3, 1.0, 3.0, 30.0, 1e3)]
    scores += [np.round(rng.standard_normal(n)), *around(signed, rng), *around(rng.standard_normal(n), rng)]
    tangents = []
    for z in scores:
        found = tangent(measure, z, prepared)
        again = np.full(n, 1e300)
        value = measure.value_and_slope(z.copy(), prepared, again)
        if np.ndim(value) or not isinstance(value, (int, float, np.number)):
            yield f"value_and_slope must return a number, got {type(value).__name__}"
        if not math.isfinite(found.value):
            yield f"the value is {found.value} at scores of size {np.abs(z).max():.3g}"
        if np.isnan(found.slope).any() or (again == 1e300).any():
            yield "value_and_slope must set every entry of out, to a number"
        if value != found.value or not np.array_equal(found.slope, again):
            yield "value_and_slope changes from call to call"
        if measure.nonnegative and found.value < -UNEVEN * (1.0 + float(np.abs(found.slope) @ np.abs(z))):
            yield f"nonnegative is set, but a value is {found.value:.6g}: lower bounds would be false"
        tangents.append(found)
    if (wrong := first_below(tangents)) is not None:
        k, other = tangents[wrong[0]], tangents[wrong[1]]
        there = k.value + float(k.slope @ (other.z - k.z))
        yield (
            f"value is not convex, or the slope is not a subgradient: at some scores of size {np.abs(other.z).max():.3g} "
            "the value "
            f"{other.value:.6g} lies below the tangent, {there:.6g}, of scores of size {np.abs(k.z).max():.3g}"
        )
    if measure.shift_invariant:
        z = rng.standard_normal(n)
        a, b = (tangent(measure, z + shift, prepared).value for shift in (0.0, 1.5))
        if abs(a - b) > 1e-6 * (1.0 + abs(a)):
            yield f"shift_invariant is set, but adding 1.5 to all scores changes the value from {a:.6g} to {b:.6g}"


def _mass_faults(measure: Measure, y: np.ndarray, groups: np.ndarray, prepared: object) -> Iterator[str]:
    """What is wrong with `mass`: each half of the queries, and each of the first few against the others, must add up to all."""
    whole = measure.mass(prepared)
    if whole is None:
        return
    if not isinstance(whole, (int, float, np.number)) or not 0.0 < whole < math.inf:
        yield f"mass must be a positive number or None, got {whole!r}"
        return
    rng, number = np.random.default_rng(1), np.unique(groups, return_inverse=True)[1]
    last = int(number.max())
    for first in [number == q for q in range(min(last, MOST_QUERIES))] + [number <= last // 2]:
        if first.all():
            continue
        z = rng.standard_normal(y.size)
        total, value, slope = 0.0, 0.0, np.zeros(y.size)
        for rows in (first, ~first):
            try:
                part = measure.prepare(y[rows], groups[rows])
            except NothingToRank:
                continue
            mass, at = float(measure.mass(part) or 0.0), tangent(measure, z[rows], part)
            if mass:  # of a mass of 0, nothing counts
                total, value, slope[rows] = total + mass, value + mass * at.value / whole, mass * at.slope / whole
        if not abs(total - whole) <= UNEVEN * whole:
            yield f"mass is {whole:.6g}, but those of two parts of the queries add up to {total:.6g}"
            return
        found = tangent(measure, z, prepared)
        size = 1e-8 * (1.0 + abs(found.value) + float(np.abs(found.slope) @ np.abs(z)))
        if not (abs(value - found.value) <= size and np.abs(slope - found.slope).max() <= size):
            yield (
                f"the value is no mean over queries with the weights of mass: two parts of the queries give {value:.6g}, all "
                f"of them {found.value:.6g}"
            )
            return
