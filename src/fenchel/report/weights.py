"""The section on the largest weights. Signs are shown by direction and by a sign, not only by colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fenchel.report.markup import Markup, element, inside, more, number, shape
from fenchel.report.subject import Run

MOST = 15
MOST_SCORES = 12
HALF = 100


def section(run: Run, heading: bool) -> Markup | None:
    """Bars for the largest weights of each score; None if there are no weights per feature."""
    if run.weights is None:
        return None
    parts: list[Any] = [element("h3", run.name) if heading else None, _summary(run)]
    titles = _titles(run)
    if len(titles) == 1:
        return element("article", parts, _bars(run, 0, titles[0]))
    for k, title in enumerate(titles[:MOST_SCORES]):
        parts.append(more(title, _bars(run, k, title)))
    if len(titles) > MOST_SCORES:
        parts.append(element("p", f"{len(titles) - MOST_SCORES} more scores are not shown.", class_="note"))
    return element("article", parts)


def _summary(run: Run) -> Markup:
    weights = run.weights
    assert weights is not None
    used = int(np.count_nonzero(weights.any(axis=0)))
    text = f"{used:,} of {weights.shape[1]:,} features have a nonzero weight."
    if run.proven is not None and any(run.proven):
        positive, negative, zero = run.proven
        text += (
            f" Proven of the exact optimum: {positive:,} weights are positive, {negative:,} negative and {zero:,} zero; "
            f"{weights.size - positive - negative - zero:,} are open."
        )
    if run.per_unit is None:
        text += " A weight is per unit of its feature: compare weights only between features with the same scale."
    else:
        text += " Weights are per standard deviation of a number, so that they can be compared; the last column is per unit."
    return element("p", text, class_="note")


def _titles(run: Run) -> list[str]:
    assert run.weights is not None
    scores = len(run.weights)
    if scores == 1:
        return ["Weights"]
    labels = run.labels if run.labels is not None and len(run.labels) == scores else None
    return [f"Score of {labels[k]}" if labels is not None else f"Score {k + 1}" for k in range(scores)]


def largest(row: np.ndarray, most: int = MOST) -> list[int]:
    """Indices of the largest weights by absolute value, without zeros.

    >>> largest(np.array([0.5, -2.0, 0.0, 1.0]), 2)
    [1, 3]
    """
    order = np.argsort(-np.abs(row), kind="stable")[:most]
    return [int(j) for j in order if row[j] != 0.0]


def feature(names: Sequence[str] | None, j: int) -> str:
    """The name of feature j, or its number, counted from 0."""
    return names[j] if names is not None else f"feature {j}"


def _bars(run: Run, k: int, title: str) -> Markup:
    assert run.weights is not None
    row = run.weights[k]
    places = largest(row)
    if not places:
        return element("p", "All weights are 0: the penalty is too strong for every feature.", class_="note")
    top = float(np.abs(row[places[0]]))
    units = None if run.per_unit is None else run.per_unit[0][k]
    rows = [
        _bar(
            feature(run.feature_names, j),
            float(row[j]),
            float(row[j]) / top,
            "weight",
            None if units is None else units[j],
        )
        for j in places
    ]
    if run.bias is not None:
        own = None if run.per_unit is None else run.per_unit[1][k]
        rows.append(_bar("intercept (not penalised)", float(run.bias[k]), 0.0, "intercept", own))
    names = ["feature", _sides(run), "weight", *([] if units is None else ["per unit"])]
    head = element("tr", [element("th", name, scope="col") for name in names])
    caption = f"{title}: the {len(places)} largest of {row.size:,}"
    body = [element("caption", caption), element("thead", head), element("tbody", rows)]
    return element("table", body, class_="bars")


def _sides(run: Run) -> str:
    """What weights to the left and to the right speak for."""
    if run.task == "two classes" and run.labels is not None and isinstance(run.labels[0], str):
        return f"favours {run.labels[0]} | {run.labels[-1]}"
    return "negative | positive"


def _bar(name: str, value: float, share: float, kind: str, per_unit: float | None = None) -> Markup:
    """A row of the table: the bar goes to the right for a positive and to the left for a negative weight."""
    length = HALF * min(1.0, abs(share))
    sign = "positive" if value >= 0.0 else "negative"
    start = HALF if value >= 0.0 else HALF - length
    drawing = [shape("line", class_="axis", x1=HALF, x2=HALF, y1=0, y2=16)]
    if length:
        drawing.append(shape("rect", class_=sign, x=float(start), y=2, width=max(0.5, length), height=12))
    svg = element("svg", drawing, viewBox=f"0 0 {2 * HALF} 16", aria_hidden="true", preserveAspectRatio="none")
    shown = inside(["+" if value > 0.0 else "", number(value, 4, kind)])
    more = None if per_unit is None else element("td", number(float(per_unit), 4))
    return element("tr", element("th", name, scope="row"), element("td", svg), element("td", shown), more)
