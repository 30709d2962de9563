"""A Result and a Certificate as a notebook shows them: a small table, everything escaped, no script."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fenchel.result import Certificate, Result

LONGEST = 200


def certificate_html(certificate: Certificate) -> str:
    """The two bounds and what they prove.

    >>> from fenchel.result import Certificate
    >>> "0.999" in certificate_html(Certificate(primal=1.0, dual=0.999, basis="conjugate", floor=1e-15))
    True
    """
    return _table("Certificate: dual \u2264 optimum \u2264 primal", _bounds(certificate))


def result_html(result: Result) -> str:
    """Status, certificate and work of a solve, and what to do if it is not certified."""
    rows: dict[str, Any] = {**_bounds(result.certificate), "asked for": f"{result.tol:.3g}", "solver": result.solver}
    rows["work"] = f"{result.n_iter} iterations, {result.passes:.4g} passes, {result.seconds:.3g} s"
    if result.compile_seconds >= 0.0005:
        rows["compiling"] = f"{result.compile_seconds:.3g} s besides"
    rows["coefficients"] = " \u00d7 ".join(str(size) for size in getattr(result.coef, "shape", ())) or "1"
    if not result.converged:
        rows["advice"] = result.advice
    sign = "\u2713" if result.converged else "!"
    return _table(f"{sign} {result.status.name}", rows)


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
