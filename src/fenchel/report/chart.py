"""Curves as inline SVG: no library, no script, colours from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 74, 14, 14, 44
MOST_POINTS = 500


class Curve(NamedTuple):
    """Points (x, y) with a name and the style-sheet class that colours them."""

    name: str
    style: str
    points: list[tuple[float, float]]


def chart(curves: Sequence[Curve], x_label: str, y_label: str, log: bool = False, goal: float | None = None) -> str:
    """An <svg> of the curves; on a log scale points at or below 0 are left out. `goal` is a horizontal line.

    >>> chart([Curve("gap", "gap", [(0, 1.0), (1, 0.1)])], "iterations", "gap", log=True).count("<polyline")
    1
    """
    shown = [curve._replace(points=_usable(curve.points, log)) for curve in curves]
    xs = [x for curve in shown for x, _ in curve.points]
    ys = [y for curve in shown for _, y in curve.points]
    if not ys:
        return '<p class="note">Nothing to draw: the solver gave no finite value here.</p>'
    ys += [goal] if goal is not None and (goal > 0 or not log) else []
    across = _Axis(min(0.0, *xs), max(xs), LEFT, WIDTH - RIGHT, False)
    up = _Axis(min(ys), max(ys), HEIGHT - BOTTOM, TOP, log)
    parts = [_grid(across, up), _labels(x_label, y_label)]
    if goal is not None:
        y = up.place(goal)
        parts.append(f'<line class="goal" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
    parts += [_drawn(curve, across, up) for curve in shown if curve.points]
    name = escape(f"{y_label} against {x_label}", quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}">{"".join(parts)}</svg>'


def _usable(points: list[tuple[float, float]], log: bool) -> list[tuple[float, float]]:
    kept = [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y) and (y > 0.0 or not log)]
    if len(kept) <= MOST_POINTS:
        return kept
    # Denser at the beginning, where curves bend; the last point is always there.
    chosen = sorted({round((len(kept) - 1) * (k / (MOST_POINTS - 1)) ** 2) for k in range(MOST_POINTS)})
    return [kept[k] for k in chosen]


class _Axis:
    """From values to places on the drawing."""

    def __init__(self, low: float, high: float, first: float, last: float, log: bool):
        self.log, self.first, self.last = log, first, last
        self.low = float(math.floor(math.log10(low))) if log else low
        self.high = float(math.ceil(math.log10(high))) if log else high
        if self.high <= self.low:
            pad = 0.5 if log else max(abs(self.low) * 0.05, 1e-12)
            self.low, self.high = self.low - pad, self.high + pad

    def place(self, value: float) -> float:
        value = math.log10(value) if self.log else value
        return self.first + (self.last - self.first) * (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """(place, text)."""
        if self.log:
            low, high = math.ceil(self.low), math.floor(self.high)
            exponents = range(low, high + 1, max(1, math.ceil((high - low) / 6)))
            return [(self.place(10.0**e), f'10<tspan class="raised" dy="-5">{e}</tspan>') for e in exponents]
        step = _nice((self.high - self.low) / 5)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        digits = max(0, -math.floor(math.log10(step)))
        plain = max(abs(self.low), abs(self.high)) < 1e6 and digits < 8
        marks = [(k * step, f"{k * step:.{digits}f}" if plain else f"{k * step:.3g}") for k in range(first, last + 1)]
        return [(self.place(value), text) for value, text in marks]


def _nice(step: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= step * (1 - 1e-9))


def _grid(across: _Axis, up: _Axis) -> str:
    parts = []
    for y, text in up.ticks():
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    for x, text in across.ticks():
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{text}</text>')
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM}"/>')
    return "".join(parts)


def _labels(x_label: str, y_label: str) -> str:
    across = f'x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}"'
    upward = f'transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"'
    return "".join(
        f'<text class="label" {place} text-anchor="middle">{escape(label)}</text>'
        for place, label in ((across, x_label), (upward, y_label))
    )


def _drawn(curve: Curve, across: _Axis, up: _Axis) -> str:
    places = [(across.place(x), up.place(y)) for x, y in curve.points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    x, y = places[-1]
    name, style = escape(curve.name), escape(curve.style, quote=True)
    title = f"<title>{name}: {curve.points[-1][1]:.6g}</title>"
    return (
        f'<g class="{style}"><polyline points="{line}"/><circle cx="{x:.1f}" cy="{y:.1f}" r="3.5">{title}</circle></g>'
    )
