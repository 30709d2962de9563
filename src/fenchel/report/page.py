"""A self-contained page about one or several solves: no network, no script, nothing of the rows in it."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Sequence
from html import escape
from typing import Any

from fenchel.report.chart import Curve, chart
from fenchel.report.style import STYLE
from fenchel.result import Result
from fenchel.whole_file import replacing

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
AXES = ("iterations", "passes", "seconds")
AXIS_LABELS = {"iterations": "iterations", "passes": "passes over the data", "seconds": "seconds"}
MOST_ROWS = 60
CLOSE = 0.1
LONGEST = 300


def write_page(
    path: str | os.PathLike[str], results: Result | Sequence[Result], title: str = "Fenchel: a solve"
) -> None:
    """Write the page: the whole new file is there, or the old one untouched.

    Examples
    --------
    >>> import fenchel, tempfile, pathlib
    >>> from fenchel.report import write_page
    >>> result = fenchel.solve(fenchel.Problem([[1.0], [2.0]], [1.0, 3.0], loss="squared", alpha=0.1))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "page.html"
    >>> write_page(path, result, title="Two points")
    >>> "Two points" in path.read_text(encoding="utf-8")
    True
    """
    several = [results] if isinstance(results, Result) else list(results)
    text = page(several, title)
    with replacing(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def page(results: Sequence[Result], title: str) -> str:
    """The page as text."""
    sections = "".join(_result(result, number, len(results)) for number, result in enumerate(results))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY, quote=True)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title)}</title><style>{STYLE}</style></head>\n"
        f"<body><main><h1>{_text(title)}</h1>\n{sections}</main></body></html>\n"
    )


def _text(value: Any) -> str:
    """What may stand in the page: escaped, cut, and without characters that change the direction of text."""
    text = str(value)
    text = text if len(text) <= LONGEST else text[:LONGEST] + " ..."
    return escape("".join(c if c.isprintable() or c in " \n" else "\N{REPLACEMENT CHARACTER}" for c in text))


def _number(name: str, value: float, digits: int) -> str:
    return f'<data class="{name}" value="{value!r}">{value:.{digits}g}</data>'


def _result(result: Result, number: int, count: int) -> str:
    heading = f" {number + 1} of {count}" if count > 1 else ""
    good = " good" if result.converged else ""
    status = f'<span class="status{good}">{result.status.name}</span>'
    return (
        f"<section><h2>The certificate{heading} {status}</h2>{_in_words(result)}{_numbers(result)}</section>\n"
        f"<section><h2>How the bounds closed</h2>{_charts(result, number)}{_table(result)}</section>\n"
        f"<section><h2>The problem</h2>{_problem(result)}</section>\n"
    )


def _in_words(result: Result) -> str:
    c = result.certificate
    if not math.isfinite(c.dual):
        proof = "No finite lower bound is known, so nothing can be said about the distance to the optimum."
    else:
        proof = (
            f"No coefficients whatever have an objective below <strong>{c.dual:.10g}</strong>, so these are at most "
            f"<strong>{c.gap:.3g}</strong> above the optimum: {100 * c.relative_gap:.3g} % of the objective, where "
            f"{100 * result.tol:.3g} % was asked for."
        )
    return (
        f'<p class="words">The objective at these coefficients is <strong>{c.primal:.10g}</strong>. {proof}</p>'
        f'<p class="note">{_text(result.status.advice)} Both numbers were recomputed from the definitions after the '
        f"solver had finished. The lower bound rests on {_basis(c.basis)}; rounding can account for {c.floor:.1g}.</p>"
    )


def _basis(basis: str) -> str:
    known = {
        "conjugate": "the conjugate of the loss in closed form",
        "derived": "a bound derived from the loss's slope",
    }
    return known.get(basis, _text(basis))


def _numbers(result: Result) -> str:
    c = result.certificate
    cells = [
        ("primal", "Primal value P", _number("primal", c.primal, 10)),
        ("dual", "Dual value D", _number("dual", c.dual, 10)),
        ("gap", "Gap P \N{MINUS SIGN} D", _number("gap", c.gap, 4)),
        ("gap", "Relative gap", _number("relative-gap", c.relative_gap, 4)),
        ("work", "Time", f"{_number('seconds', result.seconds, 3)} s"),
        ("work", "Iterations", _number("iterations", result.n_iter, 9)),
        ("work", "Passes over data", _number("passes", result.passes, 6)),
    ]
    return '<dl class="numbers">' + "".join(
        f'<div class="{style}"><dt>{name}</dt><dd>{value}</dd></div>' for style, name, value in cells
    ) + "</dl>"  # fmt: skip


def _bounds(result: Result) -> list[tuple[dict[str, float], float, float]]:
    """(place on every axis, best primal value so far, best dual value so far) for every point of the trace."""
    rows, primal, dual = [], math.inf, -math.inf
    for point in result.trace:
        primal = min(primal, point.primal) if not math.isnan(point.primal) else primal
        dual = max(dual, point.dual) if not math.isnan(point.dual) else dual
        places = {"iterations": float(point.iteration), "passes": float(point.passes), "seconds": float(point.seconds)}
        rows.append((places, primal, dual))
    return rows


def _charts(result: Result, number: int) -> str:
    rows = _bounds(result)
    tabs = "".join(
        f'<input type="radio" name="axis{number}" id="axis{number}-{axis}"{" checked" if axis == AXES[0] else ""}>'
        f'<label for="axis{number}-{axis}">{AXIS_LABELS[axis]}</label>'
        for axis in AXES
    )
    panels = "".join(f"<div>{_values(rows, axis)}{_distances(result, rows, axis)}</div>" for axis in AXES)
    return f'<div class="tabs">{tabs}<div class="panels">{panels}</div></div>'


def _close(rows: list[tuple[dict[str, float], float, float]]) -> list[tuple[dict[str, float], float, float]]:
    """The rows whose gap is small beside the objective: before, the curves are too far apart to be seen converging."""
    kept = [row for row in rows if row[1] - row[2] <= CLOSE * abs(row[1])]
    return kept if len(kept) >= 2 else rows


def _values(rows: list[tuple[dict[str, float], float, float]], axis: str) -> str:
    rows, every = _close(rows), len(rows)
    curves = [
        Curve("primal", "primal", [(place[axis], primal) for place, primal, _ in rows]),
        Curve("dual", "dual", [(place[axis], dual) for place, _, dual in rows]),
    ]
    key = '<span class="key primal">Primal</span> and <span class="key dual">dual</span> value, best so far'
    key += f", once the gap is below {CLOSE:.0%} of the objective" if len(rows) < every else ""
    return f"<figure><figcaption>{key}</figcaption>{chart(curves, AXIS_LABELS[axis], 'objective')}</figure>"


def _distances(result: Result, rows: list[tuple[dict[str, float], float, float]], axis: str) -> str:
    c = result.certificate
    curves = [
        Curve("primal above the final dual", "primal", [(place[axis], primal - c.dual) for place, primal, _ in rows]),
        Curve("dual below the final primal", "dual", [(place[axis], c.primal - dual) for place, _, dual in rows]),
        Curve("gap", "gap", [(place[axis], primal - dual) for place, primal, dual in rows]),
    ]
    key = (
        'Log scale: <span class="key gap">gap</span>, <span class="key primal">primal</span> above the final dual, '
        '<span class="key dual">dual</span> below the final primal; <span class="key tol">dashed</span>: asked for'
    )
    goal = result.tol * abs(c.primal)
    drawn = chart(curves, AXIS_LABELS[axis], "distance", log=True, goal=goal if goal > 0 else None)
    return f"<figure><figcaption>{key}</figcaption>{drawn}</figure>"


def _table(result: Result) -> str:
    trace = result.trace
    step = max(1, math.ceil(len(trace) / MOST_ROWS))
    chosen = [point for k, point in enumerate(trace) if k % step == 0 or k == len(trace) - 1]
    rows = "".join(
        f"<tr><td>{p.iteration}</td><td>{p.passes:.6g}</td><td>{p.seconds:.4g}</td><td>{p.primal:.10g}</td>"
        f"<td>{p.dual:.10g}</td><td>{p.gap:.3g}</td></tr>"
        for p in chosen
    )
    head = "".join(f"<th>{name}</th>" for name in ("iteration", "passes", "seconds", "primal", "dual", "gap"))
    return (
        f"<details><summary>{len(chosen)} of {len(trace)} points as the solver reported them</summary>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>'
    )


def _problem(result: Result) -> str:
    problem = result.problem
    formula = (inspect.getdoc(type(problem.loss)) or "").split("\n")[0]
    storage = "dense" if not hasattr(problem.X, "nnz") else f"sparse, {problem.X.nnz} stored values"
    penalty = problem.regularizer
    facts = {
        "Minimised": "average of loss(z, y) over the rows + R(w), with z = &lt;x, w&gt;"
        + (" + b, b free" if problem.fit_intercept else ""),
        "Loss": f"<code>{_text(problem.loss)}</code> {_text(formula)}",
        "Regularizer": f"<code>{_text(penalty)}</code> {_text(getattr(penalty, 'formula', ''))}",
        "Data": f"{problem.n} rows, {problem.d} features ({storage}, {problem.X.dtype})",
        "Solver": _text(result.reason),
        "Digest": f"<code>{_text(result.digest)}</code>",
    }
    return '<dl class="facts">' + "".join(f"<dt>{name}</dt><dd>{fact}</dd>" for name, fact in facts.items()) + "</dl>"
