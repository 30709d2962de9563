"""The sections on the comparison of runs, their certificates and their problems."""

from __future__ import annotations

from collections.abc import Sequence

from fenchel.report.formulas import SYMBOLS, formula, objective, penalty
from fenchel.report.markup import Markup, element, facts, inside, number, shown, table
from fenchel.report.subject import Run
from fenchel.report.words import certificate, status_pill

MOST_CERTIFICATES = 6


def overview(runs: Sequence[Run]) -> Markup:
    rows = []
    for run in runs:
        worst = run.worst
        seconds = sum(solve.seconds or 0.0 for solve in run.solves)
        rows.append([
            run.name, status_pill(worst.status), type(run.loss).__name__, type(run.regularizer).__name__, worst.solver,
            number(worst.certificate.primal, 8), number(worst.certificate.dual, 8), number(worst.certificate.relative_gap, 3),
            number(seconds, 3) if seconds else "—",
        ])  # fmt: skip
    heads = ("run", "status", "loss", "penalty", "solver", "primal", "dual", "relative gap", "seconds")
    return table(heads, rows, "All runs; if a run has several solves, the one with the largest gap")


def certificates(runs: Sequence[Run]) -> Markup:
    parts = []
    for run in runs:
        widest = sorted(run.solves, key=lambda solve: -solve.certificate.relative_gap)[:MOST_CERTIFICATES]
        parts += [certificate(run, solve, len(runs) > 1) for solve in widest]
        if len(run.solves) > len(widest):
            rest = f"{len(run.solves) - len(widest)} more solves of this run have smaller gaps."
            parts.append(element("p", rest, class_="note"))
    return inside(parts)


def problems(runs: Sequence[Run]) -> Markup:
    """Formulas and facts; runs with the same problem share them."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.solves[0].digest or run.name, []).append(run)
    parts = []
    for same in groups.values():
        run = same[0]
        terms = {"Loss ℓ": formula(run.loss), "Penalty R": penalty(run.family, run.regularizer)}
        digest = element("code", run.solves[0].digest) if run.solves[0].digest else None
        heading = element("h3", ", ".join(one.name for one in same)) if len(groups) > 1 else None
        where = SYMBOLS.get(run.family, "S is the sum of the weights sᵢ")
        where += "; the intercept b is free and not penalised" if run.intercept else ""
        parts.append(element(
            "article", heading, element("div", objective(run.family, run.intercept), class_="scroll formula"),
            element("p", where, ".", class_="note"), facts(terms, "terms"),
            facts({k: shown(v) if isinstance(v, int) else v for k, v in run.facts.items()} | {"Digest (sha256)": digest}),
        ))  # fmt: skip
    return inside(parts)
