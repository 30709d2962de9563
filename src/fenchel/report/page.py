"""A self-contained page about one or several fits: one file that needs no network and contains no values of rows."""

from __future__ import annotations

import base64
import hashlib
import logging
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

import fenchel
from fenchel.data.types import MatrixLike
from fenchel.errors import InputError
from fenchel.estimators.path import Path
from fenchel.files.atomic_write import replacing
from fenchel.models.roles import without_offset
from fenchel.report import outcome, path_section, settings, trace, weights
from fenchel.report.evaluation import Evaluation
from fenchel.report.markup import Markup, data_block, element, inside, number, shown, table
from fenchel.report.path_section import PathChoice
from fenchel.report.statements import certificates, overview, problems
from fenchel.report.subject import Fit, Run, run_of
from fenchel.report.words import status_pill
from fenchel.result import Result

log = logging.getLogger("fenchel.report")

TITLES = {
    "Runs": "Comparison of runs",
    "Certificate": "The certificate",
    "Convergence": "Convergence",
    "Problem": "Problem",
    "Path": "The regularization path",
    "Weights": "The largest weights",
    "Columns": "What was done with the columns",
    "Evaluation": "Evaluation",
    "Repeat": "Reproducibility",
}


class Parts(NamedTuple):
    """The runs and the other contents of the page."""

    title: str
    runs: list[Run]
    data: tuple[Any, ...] | None
    trained_on: bool | None
    path: PathChoice | None
    feature_names: tuple[str, ...] | None
    settings: Mapping[str, Any] | None


def write_page(
    path: str | os.PathLike[str],
    results: Any,
    title: str = "Fenchel: a solve",
    *,
    names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    data: tuple[Any, ...] | None = None,
    regularization_path: Path | PathChoice | None = None,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Write an HTML page about one or several fits. The file is written atomically.

    The page is self-contained. It shows the problem, its certificate in words and numbers, the history of the solve, the
    largest weights, and how to reproduce the fit. It contains no values of rows: evaluation rows appear as counts, rates and
    means of groups.

    Parameters
    ----------
    path : the file.
    results : a `Result`, a `Model`, a `StructuredModel`, a fitted estimator, a `Fit` (a model with the Results it was made
        from), or a list of these to be compared.
    title : the title of the page.
    names : a name for each of several results, for legends.
    feature_names : one name for each feature.
    data : (X, y) to evaluate on: confusion matrix, ROC curve, calibration or residuals, depending on the task. Targets are
        those of the fit: labels for a Model, -1 and +1 for a Result of two classes. For rankings (X, y, groups).
    regularization_path : a `fenchel.Path`, or a `PathChoice` with the chosen point and the scores that chose it.
    settings : further entries of the section on reproducibility, such as the command line.

    Examples
    --------
    >>> import fenchel, tempfile, pathlib
    >>> from fenchel.report import write_page
    >>> result = fenchel.solve(fenchel.Problem([[1.0], [2.0]], [1.0, 3.0], loss="squared", alpha=0.1))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "page.html"
    >>> write_page(path, result, title="Two points", feature_names=["width"])
    >>> "Two points" in path.read_text(encoding="utf-8")
    True
    """
    text = page(
        results, title, names=names, feature_names=feature_names, data=data, regularization_path=regularization_path,
        settings=settings,
    )  # fmt: skip
    with replacing(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    log.info("report of %d bytes written to %s", len(text), os.fsdecode(path))


def page(results: Any, title: str, **options: Any) -> str:
    """The page as text; arguments as in `write_page`."""
    return _assembled(_parts(results, title, **options))


def _parts(
    results: Any, title: str, names: Sequence[str] | None = None, feature_names: Sequence[str] | None = None,
    data: tuple[Any, ...] | None = None,
    regularization_path: Path | PathChoice | None = None, settings: Mapping[str, Any] | None = None,
) -> Parts:  # fmt: skip
    alone = not isinstance(results, (list, tuple)) or hasattr(results, "_fields")
    given = [results] if alone else list(results)
    if not given:
        raise InputError("results: pass at least one")
    if names is not None and len(names) != len(given):
        raise InputError(f"names has {len(names)} entries, but there are {len(given)} results: give one for each")
    called = [str(name) for name in names] if names is not None else [f"Run {k + 1}" for k in range(len(given))]
    runs = [run_of(one, name, feature_names) for one, name in zip(given, called, strict=True)]
    if data is not None and (not isinstance(data, tuple) or len(data) not in (2, 3)):
        raise InputError("data must be a pair (X, y), or (X, y, groups) for rankings")
    choice = PathChoice(regularization_path) if isinstance(regularization_path, Path) else regularization_path
    own = None if data is None else _fitted_to(given, data[0])
    return Parts(title, runs, data, own, choice, runs[0].feature_names, settings)


def _fitted_to(given: Sequence[Any], X: MatrixLike) -> bool | None:
    """Whether any run was fitted to these rows; None if unknown, because models and estimators do not store their rows."""
    results = [one.results[0] if isinstance(one, Fit) else one for one in given]
    constant = [isinstance(one, Fit) and getattr(one.model, "constant", None) is not None for one in given]
    X = without_offset(X)[0]
    known = [(one, more) for one, more in zip(results, constant, strict=True) if isinstance(one, Result)]
    if any(_same_rows(result, X, more) for result, more in known):
        return True
    return False if len(known) == len(given) else None


def _same_rows(result: Result, X: Any, constant: bool) -> bool:
    mine = getattr(result.problem, "X", None)
    if constant and mine is not None:  # the model has appended a constant feature to its rows
        mine = mine[:, :-1]
    if mine is None or getattr(mine, "shape", None) != getattr(X, "shape", ()):
        return False
    if hasattr(mine, "nnz"):
        return hasattr(X, "nnz") and mine.nnz == X.nnz and (mine != X).nnz == 0
    return mine is X or (not hasattr(X, "nnz") and bool(np.array_equal(mine, X)))


def _assembled(parts: Parts) -> str:
    tables: dict[str, Any] = {}
    charts: dict[str, Any] = {}
    sections = _sections(parts, tables, charts)
    style, script = _asset("page.css"), _asset("page.js")
    found: list[Evaluation] = sections.pop("_evaluations", [])
    numbers = {"runs": [_run_numbers(run) for run in parts.runs], "tables": tables, "charts": charts}
    numbers["evaluation"] = [one.numbers for one in found]
    links = [element("a", name, href=f"#{name.lower()}") for name in sections]
    body = [element("section", element("h2", TITLES[k]), part, id=k.lower()) for k, part in sections.items()]
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=Markup(policy(style, script))),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", parts.title), Markup(f"<style>{style}</style>"),
    ]  # fmt: skip
    button = element("button", "Dark", type="button", id="theme", aria_pressed="false", hidden=True)
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    header = element("header", element("div", element("h1", parts.title), _banner(parts.runs, found)), button)
    page_parts = [
        element("a", "Skip to the report", href="#report", class_="skip"), header,
        element("nav", links, aria_label="Sections"), element("main", body, id="report"),
        element("footer", f"Written by Fenchel {fenchel.__version__} on {when}. It makes no network requests."),
        element("div", id="tip", role="status", aria_live="polite", hidden=True),
        data_block("numbers", numbers), Markup(f"<script>{script}</script>"),
    ]  # fmt: skip
    return f'<!doctype html>\n<html lang="en"><head>{inside(head)}</head>\n<body>{inside(page_parts)}</body></html>\n'


def _sections(parts: Parts, tables: dict[str, Any], charts: dict[str, Any]) -> dict[str, Any]:
    runs = parts.runs
    found: dict[str, Any] = {}
    convergence = trace.section(runs, tables, charts)
    if len(runs) > 1:  # a comparison comes first
        found["Runs"], found["Convergence"] = overview(runs), convergence
    if parts.data is not None:
        content, found["_evaluations"] = outcome.section(runs, parts.data, parts.trained_on, tables, charts)
        found["Evaluation"] = content
    if parts.path is not None:
        found["Path"] = path_section.section(parts.path, parts.feature_names, tables, charts)
    bars = [one for run in runs if (one := weights.section(run, len(runs) > 1)) is not None]
    if bars:
        found["Weights"] = inside(bars)
    if len(runs) == 1 and runs[0].columns:
        heads = ("column", "taken as", "what was done", "features")
        found["Columns"] = table(heads, runs[0].columns, "The columns of the table", class_="words")
    found["Certificate"] = certificates(runs)
    found.setdefault("Convergence", convergence)
    found["Problem"] = problems(runs)
    found["Repeat"] = settings.section(runs, parts.settings)
    return found


def _banner(runs: Sequence[Run], found: Sequence[Evaluation]) -> Markup:
    good = sum(run.converged for run in runs)
    if len(runs) == 1:
        solve = runs[0].worst
        certified = [status_pill(solve.status), " relative gap ", number(solve.certificate.relative_gap, 3)]
        what = ["Predicts ", element("strong", runs[0].predicts), ". "] if runs[0].predicts else []
        return element("p", what, _quality(found), certified, class_="lead")
    return element("p", f"{good} of {len(runs)} runs are certified", class_="lead")


def _quality(found: Sequence[Evaluation]) -> list[Any]:
    """The first measure of the evaluation, in words."""
    if not found or not found[0].numbers:
        return []
    name, values = next(iter(found[0].numbers.items()))
    return [f"{name} ", element("strong", shown(float(values[0]), 4)), f" on {shown(found[0].rows)} rows. "]


def _run_numbers(run: Run) -> dict[str, Any]:
    """The numbers of a run, for the page's data block."""
    solves = [
        {
            "name": s.name, "status": s.status.name, "primal": s.certificate.primal, "dual": s.certificate.dual,
            "gap": s.certificate.gap, "relative_gap": s.certificate.relative_gap, "floor": s.certificate.floor,
            "basis": s.certificate.basis, "tol": s.tol, "solver": s.solver, "iterations": s.n_iter, "passes": s.passes,
            "seconds": s.seconds, "digest": s.digest,
        }
        for s in run.solves
    ]  # fmt: skip
    return {
        "name": run.name,
        "task": run.task,
        "loss": repr(run.loss),
        "regularizer": repr(run.regularizer),
        "solves": solves,
    }


def policy(style: str, script: str) -> str:
    """A content security policy that allows only this style sheet and this script, by their digests."""
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; base-uri 'none'; "
        "form-action 'none'"
    )


@cache
def _asset(name: str) -> str:
    return files("fenchel.report").joinpath(name).read_text(encoding="utf-8")
