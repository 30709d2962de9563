"""Results, certificates, problems and paths in notebooks: a small HTML table, with all text escaped and without scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fenchel.result import Certificate, Result

LONGEST = 200
MOST_ROWS = 20


def certificate_html(certificate: Certificate) -> str:
    """The two bounds and the gap as a table.

    >>> from fenchel.result import Certificate
    >>> "0.999" in certificate_html(Certificate(primal=1.0, dual=0.999, basis="conjugate", floor=1e-15))
    True
    """
    return _table("Certificate: dual \u2264 optimum \u2264 primal", _bounds(certificate))


def result_html(result: Result) -> str:
    """Status, certificate and cost of a solve, with advice if it is not certified."""
    rows: dict[str, Any] = {**_bounds(result.certificate), "tol": f"{result.tol:.3g}", "solver": result.solver}
    rows["work"] = f"{result.n_iter} iterations, {result.passes:.4g} passes, {result.seconds:.3g} s"
    if result.compile_seconds >= 0.0005:
        rows["compiling"] = f"{result.compile_seconds:.3g} s in addition"
    rows["coefficients"] = " \u00d7 ".join(str(size) for size in getattr(result.coef, "shape", ())) or "1"
    if not result.converged:
        rows["advice"] = result.advice
    sign = "\u2713" if result.converged else "!"
    return _table(f"{sign} {result.status.name}", rows)


def problem_html(problem: Any) -> str:
    """What is minimised, over how many rows."""
    shape: tuple[int, ...] = getattr(getattr(problem, "X", None), "shape", ())
    rows: dict[str, Any] = {"rows": problem.n}
    if len(shape) == 2:
        storage = f"{problem.X.nnz} non-zeros" if hasattr(problem.X, "nnz") else "dense"
        rows["features"] = f"{shape[1]}, {storage}, {problem.X.dtype}"
    rows["loss"] = problem.loss
    rows["regularizer"] = getattr(problem, "penalty", None) or problem.regularizer
    rows["intercept"] = "free" if problem.fit_intercept else "none"
    return _table("Problem: mean loss + regularizer", rows)


def path_html(alphas: Any, results: Sequence[Result]) -> str:
    """A row for each strength, the middle ones left out if there are many."""
    count = len(results)
    shown = [k for k in range(count) if k < MOST_ROWS // 2 or k >= count - MOST_ROWS // 2]
    header = "".join(f"<th>{name}</th>" for name in ("alpha", "objective", "relative gap", "non-zeros", "status"))
    lines = []
    for before, k in zip([-1, *shown], shown, strict=False):
        if k != before + 1:
            lines.append(f'<tr><td colspan="5">{k - before - 1} more</td></tr>')
        bound, coef = results[k].certificate, results[k].coef
        cells = (f"{alphas[k]:.4g}", f"{bound.primal:.6g}", f"{bound.relative_gap:.2g}", (coef != 0).sum())
        lines.append("<tr>" + "".join(f"<td>{_text(x)}</td>" for x in (*cells, results[k].status.name)) + "</tr>")
    title = f"<caption>Path of {count} strengths</caption>"
    return f"<table>{title}<thead><tr>{header}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _bounds(certificate: Certificate) -> dict[str, str]:
    return {
        "primal": f"{certificate.primal:.10g}",
        "dual": f"{certificate.dual:.10g}",
        "gap": f"{certificate.gap:.3g}",
        "relative gap": f"{certificate.relative_gap:.3g}",
        "rests on": certificate.basis,
        "rounding floor": f"{certificate.floor:.2g}",
    }


def _table(title: str, rows: Mapping[str, Any]) -> str:
    lines = "".join(f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in rows.items())
    return f"<table><caption>{_text(title)}</caption><tbody>{lines}</tbody></table>"


def _text(value: object) -> str:
    text = str(value)[:LONGEST]
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text), quote=True)
