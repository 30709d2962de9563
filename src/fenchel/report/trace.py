"""The section on convergence: primal value, dual value and gap against iterations, passes and seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fenchel.report.chart import STYLES, Axes, Curve, Picture, chart, legend
from fenchel.report.markup import Markup, element, inside, more, number, shown, table
from fenchel.report.subject import Run, Solve
from fenchel.result import TracePoint

if TYPE_CHECKING:
    from fenchel.report.chart import Tables

AXES = {"iterations": "iterations", "passes": "passes over the data", "seconds": "seconds"}
MOST_POINTS = 240  # maximum number of points of a curve
ALL_POINTS = 1200  # maximum number of curves of all runs
MOST_ROWS = 40
CLOSE = 0.1


class Series(NamedTuple):
    """The history of one solve: a name and columns of numbers."""

    name: str
    key: str
    style: int
    solve: Solve
    columns: dict[str, list[float]]


def section(runs: Sequence[Run], tables: dict[str, Any], charts: dict[str, Any]) -> Markup:
    """The section; numbers are added to `tables`, data for the script to `charts`."""
    series, left_out = _series(runs)
    if not series:
        note = "Model files do not contain the history of the solve: pass the Result to show it."
        return element("p", note, class_="note")
    tables |= {one.key: one.columns for one in series}
    panels = []
    for axis in AXES:
        for log in (False, True):
            panels.append(element("div", _pictures(series, axis, log, tables, charts), class_="panel"))
    controls = _controls("iterations" if len(series) == 1 else "seconds")
    numbers = more("The numbers", [_numbers(one) for one in series])
    return inside([controls, element("div", panels, class_="panels"), _notes(series, left_out), numbers])


def _series(runs: Sequence[Run]) -> tuple[list[Series], int]:
    """The solves with a history; if there are more than line styles, those with the largest gaps."""
    named = [(_name(run, solve, len(runs)), solve) for run in runs for solve in run.solves if solve.trace]
    kept = sorted(range(len(named)), key=lambda k: -named[k][1].certificate.relative_gap)[:STYLES]
    most = max(8, min(MOST_POINTS, ALL_POINTS // max(1, len(kept))))
    series = [
        Series(named[k][0], f"trace{style}", style, named[k][1], columns_of(named[k][1], most))
        for style, k in enumerate(sorted(kept))
    ]
    return series, len(named) - len(kept)


def _name(run: Run, solve: Solve, runs: int) -> str:
    return " ".join(filter(None, [run.name if runs > 1 else "", solve.name])) or solve.solver


def columns_of(solve: Solve, most: int = MOST_POINTS) -> dict[str, list[float]]:
    """The best bounds so far at selected points of the history, including the first and the last one, and the certificate.

    A reported dual value above the certified primal value (or a primal value below the certified dual one) is a wrong estimate
    of the solver, and is not drawn.

    gap = (P - D) / |P|, above = (P - D_end) / |P_end|, below = (P_end - D) / |P_end|, where _end is the certificate.
    """
    c = solve.certificate
    believable = [p._replace(primal=_at_least(p.primal, c.dual - c.floor), dual=_at_most(p.dual, c.primal + c.floor))
                  for p in solve.trace]  # fmt: skip
    rows = [(p.iteration, p.passes, p.seconds, primal, dual) for p, primal, dual in _best_so_far(believable)]
    rows = [rows[k] for k in thinned(len(rows), most - 1)]
    rows.append((solve.n_iter or 0, solve.passes or 0.0, solve.seconds or 0.0, c.primal, c.dual))
    names = ("iterations", "passes", "seconds", "primal", "dual")
    columns = {name: [float(row[k]) for row in rows] for k, name in enumerate(names)}
    pairs = list(zip(columns["primal"], columns["dual"], strict=True))
    columns["gap"] = [(p - d) / abs(p) if p else math.nan for p, d in pairs]
    scale = abs(c.primal) or math.nan
    columns["above"] = [(p - c.dual) / scale for p, _ in pairs]
    columns["below"] = [(c.primal - d) / scale for _, d in pairs]
    near = [p - d <= CLOSE * abs(p) for p, d in pairs]
    for name in ("primal", "dual"):
        columns[f"near_{name}"] = [v if kept else math.nan for v, kept in zip(columns[name], near, strict=True)]
    return columns


def _at_most(value: float, bound: float) -> float:
    return math.nan if value > bound else value


def _at_least(value: float, bound: float) -> float:
    return math.nan if value < bound else value


def _best_so_far(trace: Sequence[TracePoint]) -> list[tuple[TracePoint, float, float]]:
    found, primal, dual = [], math.inf, -math.inf
    for point in trace:
        primal = min(primal, point.primal) if not math.isnan(point.primal) else primal
        dual = max(dual, point.dual) if not math.isnan(point.dual) else dual
        found.append((point, primal, dual))
    return found


def thinned(count: int, most: int) -> list[int]:
    """At most `most` of the numbers 0 .. count - 1, with both ends, denser at the beginning, where curves change most.

    >>> thinned(4, 10), thinned(1000, 4)
    ([0, 1, 2, 3], [0, 111, 444, 999])
    """
    if count <= most:
        return list(range(count))
    return sorted({round((count - 1) * (k / (most - 1)) ** 2) for k in range(most)})


def _controls(first: str) -> Markup:
    """Controls for the horizontal axis: HTML inputs, so that they work without the script, too."""
    axes = []
    for axis, label in AXES.items():
        axes.append(element("input", type="radio", name="axis", id=f"axis-{axis}", checked=axis == first))
        axes.append(element("label", label, for_=f"axis-{axis}"))
    box = [element("input", type="checkbox", id="log-x"), element("label", "horizontal log scale", for_="log-x")]
    return element("fieldset", element("legend", "Against"), axes, element("span", box), class_="controls")


def _pictures(
    series: Sequence[Series], axis: str, log: bool, tables: dict[str, Any], charts: dict[str, Any]
) -> list[Markup]:
    name = f"{axis}-{'log' if log else 'linear'}"
    found = [_gaps(series, axis, log, tables, f"gap-{name}"), _values(series, axis, log, tables, f"value-{name}")]
    figures = []
    for key, caption, key_entries, picture in found:
        if picture is None:
            continue
        charts[key] = picture.about
        figures.append(element("figure", element("figcaption", caption), legend(key_entries), picture.svg))
    nothing = element("p", "Nothing to draw: the solver reported no finite value.", class_="note")
    return figures or [nothing]


def _gaps(
    series: Sequence[Series], axis: str, log: bool, tables: Tables, key: str
) -> tuple[str, Any, Any, Picture | None]:
    if len(series) == 1:
        k = series[0].key
        curves = [
            Curve("gap", 2, k, axis, "gap"),
            Curve("primal, above the final dual", 0, k, axis, "above"),
            Curve("dual, below the final primal", 1, k, axis, "below"),
        ]
    else:
        curves = [Curve(one.name, one.style, one.key, axis, "gap") for one in series]
    tols = {one.solve.tol for one in series}
    goal = tols.pop() if len(tols) == 1 else None
    entries: list[tuple[int | str, Any]] = [(curve.style, curve.name) for curve in curves]
    entries += [("goal", f"tol: {shown(goal, 3)}")] if goal is not None else []
    axes = Axes(AXES[axis], "relative gap", log, True, not log, goal)
    return key, "Relative gap (P − D) / |P|, log scale", entries, chart(key, curves, tables, axes)


def _values(
    series: Sequence[Series], axis: str, log: bool, tables: Tables, key: str
) -> tuple[str, Any, Any, Picture | None]:
    near = [not math.isnan(v) for one in series for v in one.columns["near_primal"]]
    cut = "near_" if not all(near) and sum(near) > 2 * len(series) else ""
    if len(series) == 1:
        k = series[0].key
        curves = [Curve("primal", 0, k, axis, f"{cut}primal"), Curve("dual", 1, k, axis, f"{cut}dual")]
    else:
        curves = [
            Curve(f"{one.name}: {name}", one.style, one.key, axis, f"{cut}{name}")
            for one in series
            for name in ("primal", "dual")
        ]
    caption = "Primal and dual value, best so far" + (f", once the gap is below {CLOSE:.0%}" if cut else "")
    entries = (
        [(c.style, c.name) for c in curves]
        if len(series) == 1
        else [(s.style, s.name) for s in series if not all(map(math.isnan, s.columns[f"{cut}primal"]))]
    )
    axes = Axes(AXES[axis], "objective", log, False, not log)
    return key, caption, entries, chart(key, curves, tables, axes)


def _notes(series: Sequence[Series], left_out: int) -> Markup:
    text = (
        "The curves show the values that the solver reported, except those that the certificate refutes; the last point of "
        "each curve is the certificate, recomputed from the definitions after the solve. Seconds include certificates."
    )
    if left_out:
        text += f" {left_out} more solves with smaller gaps are not drawn."
    if len(series) > 1:
        text += " If a run has two curves, the upper one is the primal and the lower one the dual value."
    return element("p", text, class_="note")


def _numbers(one: Series) -> Markup:
    columns = one.columns
    count = len(columns["primal"])
    kept = thinned(count, MOST_ROWS)
    digits = {"iterations": 9, "passes": 6, "seconds": 4, "primal": 10, "dual": 10, "gap": 3}
    rows = [[number(columns[name][k], n) for name, n in digits.items()] for k in kept]
    heads = ("iteration", "passes", "seconds", "primal", "dual", "relative gap")
    count_shown = f"{len(kept)} of {len(one.solve.trace) + 1} points"
    return table(heads, rows, f"{one.name}: best bounds so far, {count_shown}; the last row is the certificate")
