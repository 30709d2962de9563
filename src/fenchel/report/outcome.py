"""The section on the evaluation rows: accuracy, confusion matrix, ROC curve, calibration, residuals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.report.bars import bars
from fenchel.report.chart import STYLES, Axes, Curve, chart, legend
from fenchel.report.evaluation import MOST_LABELS, Evaluation, evaluate
from fenchel.report.markup import SCROLLS, Markup, element, inside, more, number, shown, table
from fenchel.report.subject import Run

if TYPE_CHECKING:
    from fenchel.report.chart import Tables

CALIBRATION = "Calibration: are predicted probabilities equal to observed frequencies?"


def section(
    runs: Sequence[Run], data: tuple[Any, ...], trained_on: bool | None, tables: dict[str, Any], charts: dict[str, Any]
) -> tuple[Markup, list[Evaluation]]:
    """The section and its numbers."""
    found = [evaluate(run, *data) for run in runs]
    intro = [f"On {shown(found[0].rows)} rows given for evaluation. "]
    if trained_on:
        intro.append(element("strong", "These are the training rows: on new rows the results will be worse."))
    else:
        intro.append("Confidence intervals are 95 % and assume independent rows, drawn like those of the application.")
    if trained_on is None:
        intro.append(" If the model was fitted to some of these rows, the results are too optimistic.")
    parts: list[Any] = [element("p", intro), _numbers(runs, found), _notes(runs, found)]
    grid: list[Markup | None] = [*_roc(runs, found, tables, charts), *_calibration(runs, found, tables, charts)]
    for k, (run, one) in enumerate(zip(runs, found, strict=True)):
        name = run.name if len(runs) > 1 else ""
        grid += [_confusion(one, name), _histogram(run, one, name), *_residuals(one, name, k, tables, charts)]
    return inside([*parts, element("div", grid, class_="grid")]), found


def _numbers(runs: Sequence[Run], found: Sequence[Evaluation]) -> Markup | None:
    names = list(dict.fromkeys(name for one in found for name in one.numbers))
    if not names:
        return None
    rows = [[name, *[_value(one.numbers.get(name)) for one in found]] for name in names]
    heads = ["", *[run.name if len(runs) > 1 else "value" for run in runs]]
    return table(heads, rows, "Measures on the evaluation rows", class_="scores")


def _value(values: tuple[float, ...] | None) -> Any:
    if values is None:
        return "—"
    if len(values) == 1:
        return number(values[0], 5)
    return [number(values[0], 4), " (", number(values[1], 4), " to ", number(values[2], 4), ")"]


def _notes(runs: Sequence[Run], found: Sequence[Evaluation]) -> Markup:
    notes = dict.fromkeys(one.note for one in found if one.note)
    if any(run.task == "two classes" and run.probabilities is None and run.scores is not None for run in runs):
        notes["There is no calibration curve, since this loss does not predict probabilities."] = None
    return inside([element("p", note, class_="note") for note in notes])


def _figure(
    title: str, entries: Sequence[tuple[int | str, Any]] | None, drawing: Markup, numbers: Markup | None = None
) -> Markup:
    return element("figure", element("figcaption", title), legend(entries) if entries else None, drawing, numbers)


def _roc(
    runs: Sequence[Run], found: Sequence[Evaluation], tables: dict[str, Any], charts: dict[str, Any]
) -> list[Markup]:
    curves: list[Curve] = []
    named = [(run.name if len(runs) > 1 else "", one.roc or {}) for run, one in zip(runs, found, strict=True)]
    for name, label, columns in [(name, label, columns) for name, by in named for label, columns in by.items()][
        :STYLES
    ]:
        key, title = f"roc{len(curves)}", " ".join(filter(None, [name, label])) or "ROC curve"
        tables[key] = columns
        curves.append(Curve(title, len(curves), key, "false_positive", "true_positive", steps=True))
    axes = Axes("false positive rate", "true positive rate", diagonal=True, unit=True)
    return _drawn(
        "roc",
        "ROC curve: false and true positive rate for every threshold on the score",
        curves,
        axes,
        tables,
        charts,
        "random scores",
    )


def _calibration(
    runs: Sequence[Run], found: Sequence[Evaluation], tables: dict[str, Any], charts: dict[str, Any]
) -> list[Markup]:
    curves: list[Curve] = []
    for k, (run, one) in enumerate(zip(runs, found, strict=True)):
        if one.calibration is not None and len(curves) < STYLES:
            tables[f"calibration{k}"] = one.calibration
            name = run.name if len(runs) > 1 else "observed share"
            curves.append(Curve(name, len(curves), f"calibration{k}", "predicted", "observed"))
    axes = Axes("predicted probability", "observed share", diagonal=True, unit=True)
    return _drawn("calibration", CALIBRATION, curves, axes, tables, charts, "perfectly calibrated")


def _drawn(
    key: str, title: str, curves: Sequence[Curve], axes: Axes, tables: Tables, charts: dict[str, Any], line: str | None
) -> list[Markup]:
    picture = chart(key, curves, tables, axes) if curves else None
    if picture is None:
        return []
    charts[key] = picture.about
    entries: list[tuple[int | str, str]] = [(curve.style, curve.name) for curve in curves]
    entries += [("diagonal", line)] if line else []
    return [_figure(title, entries, picture.svg, more("The numbers", [_as_table(curve, tables) for curve in curves]))]


def _as_table(curve: Curve, tables: Tables) -> Markup:
    columns = tables[curve.table]
    count = len(columns[curve.x])
    step = max(1, count // 20)
    kept = sorted({*range(0, count, step), count - 1})
    rows = [[number(values[k], 4) for values in columns.values()] for k in kept]
    heads = [name.replace("_", " ") for name in columns]
    return table(heads, rows, curve.name)


def _confusion(one: Evaluation, name: str) -> Markup | None:
    if one.confusion is None:
        return None
    labels, counts = one.confusion
    title = f"Confusion matrix{' of ' + name if name else ''}: rows are true labels, columns predictions"
    if len(labels) > MOST_LABELS:
        return _figure(title, None, _worst_pairs(labels, counts))
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    head = element("tr", element("td"), [element("th", label, scope="col") for label in labels])
    rows = []
    for k, label in enumerate(labels):
        cells = [
            element(
                "td", number(int(counts[k, j]), 9, "count"), element("small", f"{share[k, j]:.1%}"),
                class_=f"{'right' if k == j else 'wrong'} d{shade(share[k, j])}",
            )
            for j in range(len(labels))
        ]  # fmt: skip
        rows.append(element("tr", element("th", label, scope="row"), cells))
    inner = element("table", element("thead", head), element("tbody", rows), class_="confusion")
    return _figure(
        title,
        None,
        element("div", inner, class_="scroll", tabindex=0, role="group", aria_label=SCROLLS),
    )


def shade(share: float) -> int:
    """A shade from 0 to 9."""
    return min(9, int(10 * share))


def _worst_pairs(labels: Sequence[str], counts: np.ndarray) -> Markup:
    off = counts.copy()
    np.fill_diagonal(off, 0)
    order = np.argsort(-off, axis=None, kind="stable")[:20]
    pairs = [(int(k) // len(labels), int(k) % len(labels)) for k in order]
    rows = [[labels[i], labels[j], number(int(off[i, j]), 9)] for i, j in pairs if off[i, j]]
    return table(("true", "predicted", "rows"), rows, f"The most frequent confusions of {len(labels)} labels")


def _histogram(run: Run, one: Evaluation, name: str) -> Markup | None:
    if one.histogram is None:
        return None
    what = "Scores" if run.task == "novelty" else "Residuals: true value minus prediction"
    title = what + (f" — {name}" if name else "")
    columns = one.histogram
    rows = [[number(a, 6), number(b, 6), number(int(n), 9)] for a, b, n in zip(*columns.values(), strict=True)]
    numbers = more("The numbers", table(("from", "to (exclusive)", "rows"), rows, title))
    return _figure(title, None, bars(columns, what.split(":")[0].lower(), "rows"), numbers)


def _residuals(one: Evaluation, name: str, k: int, tables: dict[str, Any], charts: dict[str, Any]) -> list[Markup]:
    if one.by_prediction is None:
        return []
    key = f"residuals{k}"
    tables[key] = one.by_prediction
    curves = [
        Curve("mean residual", 0, key, "predicted", "mean"),
        Curve("10 % quantile", 1, key, "predicted", "low"),
        Curve("90 % quantile", 2, key, "predicted", "high"),
    ]
    title = "Residuals by prediction, in groups of rows" + (f" — {name}" if name else "")
    axes = Axes("prediction (mean of the group)", "residual", goal=0.0)
    picture = chart(key, curves, tables, axes)
    if picture is None:
        return []
    charts[key] = picture.about
    entries = [(c.style, c.name) for c in curves]
    return [_figure(title, entries, picture.svg, more("The numbers", _as_table(curves[0], tables)))]
