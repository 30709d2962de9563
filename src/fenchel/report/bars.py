"""A histogram as inline SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fenchel.report.chart import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from fenchel.report.markup import Markup, element, shape, shown
from fenchel.report.scale import Scale


def bars(columns: Mapping[str, Sequence[float]], x_label: str, y_label: str) -> Markup:
    """Bars of height `columns["rows"]` from `columns["from"]` to `columns["to"]`, each with its numbers as a tooltip.

    >>> bars({"from": [0.0, 1.0], "to": [1.0, 2.0], "rows": [3.0, 1.0]}, "residuals", "rows").count("<rect")
    2
    """
    bottom, right = float(HEIGHT - BOTTOM), float(WIDTH - RIGHT)
    across = Scale(columns["from"][0], columns["to"][-1], LEFT, right)
    up = Scale(0.0, 1.05 * max(*columns["rows"], 1.0), bottom, TOP)
    parts = []
    for y, text in up.ticks(5):
        parts.append(shape("line", class_="grid", x1=LEFT, x2=right, y1=float(y), y2=float(y)))
        parts.append(element("text", text, x=LEFT - 8, y=f"{y + 4:.1f}", text_anchor="end"))
    for a, b, count in zip(columns["from"], columns["to"], columns["rows"], strict=True):
        left, top = across.place(a), up.place(count)
        title = element("title", f"{shown(a, 6)} to {shown(b, 6)}: {shown(int(count))} rows")
        wide = max(0.5, across.place(b) - left - 1.0)
        drawn = shape("rect", class_="bar", x=float(left), y=float(top), width=wide, height=float(bottom - top))
        parts.append(element("g", title, drawn))
    for x, text in across.ticks(5):
        parts.append(element("text", text, x=f"{x:.1f}", y=bottom + 19, text_anchor="middle"))
    parts.append(shape("line", class_="axis", x1=LEFT, x2=right, y1=bottom, y2=bottom))
    middle = f"translate(13 {(TOP + bottom) / 2}) rotate(-90)"
    parts.append(element("text", x_label, class_="label", x=(LEFT + right) / 2, y=HEIGHT - 8, text_anchor="middle"))
    parts.append(element("text", y_label, class_="label", transform=middle, text_anchor="middle"))
    name = f"{y_label} by {x_label}"
    return element("svg", element("title", name), parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img")
