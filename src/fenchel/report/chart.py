"""Charts as inline SVG: curves differ in colour, dashes and markers; the script of the page adds tooltips."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fenchel.report.markup import Markup, element, inside, shape
from fenchel.report.scale import Scale, linear, logarithmic

WIDTH, HEIGHT = 480, 300
LEFT, RIGHT, TOP, BOTTOM = 100, 16, 12, 54
STYLES = 8
MARKERS = ("circle", "square", "triangle", "diamond", "cross", "down", "plus", "ring")
MOST_MARKERS = 9


class Curve(NamedTuple):
    """Column y against column x of a table of numbers. `style` 0 .. 7 is colour, dashes and marker."""

    name: str
    style: int
    table: str
    x: str
    y: str
    steps: bool = False


class Picture(NamedTuple):
    """A chart as markup, and the data that the script needs."""

    svg: Markup
    about: dict[str, Any]


Tables = Mapping[str, Mapping[str, Sequence[float]]]


class Axes(NamedTuple):
    """Labels and scales of the two axes, and lines to draw in addition to the curves."""

    x_label: str
    y_label: str
    x_log: bool = False
    y_log: bool = False
    x_zero: bool = False
    goal: float | None = None  # a horizontal line
    mark: float | None = None  # a vertical line
    diagonal: bool = False
    unit: bool = False  # both axes from 0 to 1
    whole_decades: bool = True


def chart(name: str, curves: Sequence[Curve], tables: Tables, axes: Axes) -> Picture | None:
    """The chart; None if there is no finite value to draw. On a log scale, values that are not positive are omitted.

    >>> tables = {"t": {"iterations": [1, 2], "gap": [1.0, 0.1]}}
    >>> picture = chart("c", [Curve("gap", 0, "t", "iterations", "gap")], tables, Axes("iterations", "gap", y_log=True))
    >>> picture.svg.count("<polyline")
    1
    """
    points = [_points(curve, tables, axes) for curve in curves]
    xs, ys = [x for part in points for x, _ in part], [y for part in points for _, y in part]
    if not ys:
        return None
    across, up = _scales(xs, ys, axes)
    parts = [_grid(across, up, axes), _lines(across, up, axes)]
    parts += [_drawn(curve, part, across, up) for curve, part in zip(curves, points, strict=True) if part]
    title = f"{axes.y_label} against {axes.x_label}"
    svg = element(
        "svg", element("title", f"{title}: {', '.join(curve.name for curve in curves[:8])}"), parts,
        viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", tabindex=0, data_chart=name,
    )  # fmt: skip
    return Picture(svg, {"across": across.__dict__, "up": up.__dict__, "curves": [c._asdict() for c in curves],
                         "labels": [axes.x_label, axes.y_label]})  # fmt: skip


def _points(curve: Curve, tables: Tables, axes: Axes) -> list[tuple[float, float]]:
    columns = tables[curve.table]
    pairs = zip(columns[curve.x], columns[curve.y], strict=True)
    return [(x, y) for x, y in pairs if _drawable(x, axes.x_log) and _drawable(y, axes.y_log)]


def _drawable(value: float, log: bool) -> bool:
    return math.isfinite(value) and (value > 0.0 or not log)


def _scales(xs: list[float], ys: list[float], axes: Axes) -> tuple[Scale, Scale]:
    right, bottom = float(WIDTH - RIGHT), float(HEIGHT - BOTTOM)
    if axes.unit:
        return Scale(-0.02, 1.02, LEFT, right), Scale(-0.02, 1.02, bottom, TOP)
    extra_x = [axes.mark] if axes.mark is not None and _drawable(axes.mark, axes.x_log) else []
    extra_y = [axes.goal] if axes.goal is not None and _drawable(axes.goal, axes.y_log) else []
    across = (
        logarithmic(xs + extra_x, LEFT, right, False) if axes.x_log else linear(xs + extra_x, LEFT, right, axes.x_zero)
    )
    up = logarithmic(ys + extra_y, bottom, TOP, axes.whole_decades) if axes.y_log else linear(ys + extra_y, bottom, TOP)
    return across, up


def _grid(across: Scale, up: Scale, axes: Axes) -> Markup:
    left, right, bottom = LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = []
    for y, text in up.ticks():
        parts.append(shape("line", class_="grid", x1=left, x2=right, y1=float(y), y2=float(y)))
        parts.append(element("text", text, x=left - 8, y=f"{y + 4:.1f}", text_anchor="end"))
    for x, text in across.ticks(6 if axes.unit else 5):
        parts.append(shape("line", class_="grid", x1=float(x), x2=float(x), y1=TOP, y2=bottom))
        parts.append(element("text", text, x=f"{x:.1f}", y=bottom + 19, text_anchor="middle"))
    parts.append(shape("line", class_="axis", x1=left, x2=right, y1=bottom, y2=bottom))
    middle = (TOP + bottom) / 2
    upward = f"translate(13 {middle}) rotate(-90)"
    parts.append(
        element("text", axes.x_label, class_="label", x=(left + right) / 2, y=HEIGHT - 8, text_anchor="middle")
    )
    parts.append(element("text", axes.y_label, class_="label", transform=upward, text_anchor="middle"))
    return inside(parts)


def _lines(across: Scale, up: Scale, axes: Axes) -> Markup:
    parts = []
    if axes.goal is not None and _drawable(axes.goal, axes.y_log):
        y = up.place(axes.goal)
        parts.append(shape("line", class_="goal", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y))
    if axes.mark is not None and _drawable(axes.mark, axes.x_log):
        x = across.place(axes.mark)
        parts.append(shape("line", class_="goal", x1=x, x2=x, y1=TOP, y2=HEIGHT - BOTTOM))
    if axes.diagonal:
        ends = [(across.place(v), up.place(v)) for v in (0.0, 1.0)]
        parts.append(shape("line", class_="diagonal", x1=ends[0][0], y1=ends[0][1], x2=ends[1][0], y2=ends[1][1]))
    return inside(parts)


def _drawn(curve: Curve, points: list[tuple[float, float]], across: Scale, up: Scale) -> Markup:
    places = [(across.place(x), up.place(y)) for x, y in points]
    line = _stairs(places) if curve.steps else places
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
    step = max(1, math.ceil(len(places) / MOST_MARKERS))
    shown = [*places[:-1:step], places[-1]]
    marks = [marker(curve.style, x, y) for x, y in shown]
    return element("g", shape("polyline", points=Markup(text)), marks, class_=f"s{curve.style}")


def _stairs(places: list[tuple[float, float]]) -> list[tuple[float, float]]:
    line = places[:1]
    for x, y in places[1:]:
        line += [(x, line[-1][1]), (x, y)]
    return line


def marker(style: int, x: float, y: float) -> Markup:
    """The marker of a style at a point."""
    kind, r = MARKERS[style % STYLES], 3.6
    circles = {"circle": "mark", "ring": "hollow"}
    if kind in circles:
        return shape("circle", class_=circles[kind], cx=x, cy=y, r=r)
    outlines = {
        "square": [(-r, -r), (r, -r), (r, r), (-r, r)],
        "triangle": [(0, -4.4), (4.2, 3.2), (-4.2, 3.2)],
        "down": [(0, 4.4), (4.2, -3.2), (-4.2, -3.2)],
        "diamond": [(0, -4.8), (4.8, 0), (0, 4.8), (-4.8, 0)],
    }
    if kind in outlines:
        text = " ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in outlines[kind])
        return shape("polygon", class_="mark", points=text)
    strokes = {"cross": [(-r, -r, r, r), (-r, r, r, -r)], "plus": [(-4.6, 0, 4.6, 0), (0, -4.6, 0, 4.6)]}
    ends = strokes[kind]
    return inside([shape("line", class_="stroke", x1=x + a, y1=y + b, x2=x + c, y2=y + d) for a, b, c, d in ends])


def legend(entries: Sequence[tuple[int | str, Any]]) -> Markup:
    """The legend: line, marker and name of each curve. A style that is a string is a reference line of the chart."""
    items = []
    for style, name in entries:
        line = shape("line", x1=1, x2=33, y1=7, y2=7, class_="sample" if isinstance(style, int) else style)
        inner = [line, marker(style, 17.0, 7.0)] if isinstance(style, int) else [line]
        group = element("g", inner, class_=f"s{style}" if isinstance(style, int) else None)
        items.append(element("li", element("svg", group, viewBox="0 0 34 14", aria_hidden="true"), name))
    return element("ul", items, class_="legend")
