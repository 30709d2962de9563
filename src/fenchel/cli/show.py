"""fenchel show MODEL"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.cli.terminal import CleanParser, as_json, clean, table
from fenchel.errors import InputError
from fenchel.models.described import favoured, in_units, predicts

if TYPE_CHECKING:
    from fenchel.models.model import Model

EPILOG = """\
Prints what the model predicts, what was done with the columns of its table, its intercept and largest
coefficients, and its certificate. Coefficients are in the units of the columns: per year, not per standard
deviation. `favours` is the label (regression: the direction) that a larger value of the feature speaks for.
`per sd` is the coefficient times the standard deviation of the column (1 for an indicator): it compares
features of different units, and the largest come first. The columns are in `columns` of --json.
JSON: predicts, loss, penalty, rows, labels, target, status, relative_gap, tol, intercept (a number, or one
for each score), scores (the label of each score, or null), columns: [{name, kind, done, features}],
coefficients: [{feature, coefficient, per_sd, favours}], for several scores with lists.

exit status: 0 done, 1 error, 2 wrong usage

example: fenchel show income.fenchel --top 10
"""
TOP = 20


def configure(parser: CleanParser) -> None:
    """Add the options."""
    parser.epilog, parser.usage = EPILOG, "%(prog)s MODEL [options]"
    parser.add_argument("model", metavar="MODEL", help="a file written by fenchel train or path")
    parser.add_argument(
        "--top", type=int, metavar="N", default=TOP, help=f"so many coefficients (default: {TOP}; 0: all)"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(arguments: Namespace) -> int:
    """Load the model and print it."""
    from fenchel.models.file import load

    model: Any = load(arguments.model)
    if not getattr(model, "is_linear", False) or not hasattr(model, "certificate"):
        raise InputError(
            f"{arguments.model} is not a linear model with a certificate: its weights are not those of features"
        )
    if arguments.top < 0:
        raise InputError(f"--top must be at least 0, got {arguments.top}")
    facts = facts_of(model)
    print(as_json(facts) if arguments.json else _as_text(model, facts, arguments))
    return 0


def names_of(model: Model) -> list[str]:
    """The names of the features; those of svmlight data are their indices."""
    first = model.index_base or 0
    names = list(model.feature_names or map(str, range(first, first + model.d)))
    return [*names, "constant feature"] if model.constant is not None else names


def scored_labels(model: Model) -> list[Any] | None:
    """The label of each score; None if scores have none, as in regression and for two labels."""
    if model.labels is None or model.k == 1 or len(model.labels) != model.k:
        return None
    return list(model.labels)


def facts_of(model: Model) -> dict[str, Any]:
    """The data for --json."""
    coef, intercept, scale = in_units(model)
    several = model.k > 1
    entries = []
    for j, name in enumerate(names_of(model)):
        row, sd = coef[:, j], coef[:, j] * scale[j]
        best = (
            str((scored_labels(model) or [""] * model.k)[int(np.argmax(row))]) if several else favoured(model, row[0])
        )
        entries.append({
            "feature": name, "coefficient": row.tolist() if several else float(row[0]),
            "per_sd": sd.tolist() if several else float(sd[0]), "favours": best,
        })  # fmt: skip
    columns = [] if model.preparation is None else columns_of(model)
    return {
        "predicts": predicts(model), "loss": repr(model.loss), "penalty": repr(model.regularizer), "rows": model.n,
        "labels": model.labels, "target": model.target, "status": model.status.name,
        "relative_gap": model.certificate.relative_gap, "tol": model.tol,
        "intercept": intercept.tolist() if several else float(intercept[0]), "scores": scored_labels(model),
        "columns": columns, "coefficients": entries,
    }  # fmt: skip


def columns_of(model: Model) -> list[dict[str, Any]]:
    """What was done with each column."""
    assert model.preparation is not None
    return [
        {"name": name, "kind": kind, "done": done, "features": int(count or 0)}
        for name, kind, done, count in model.preparation.table()
    ]


def columns_table(model: Model) -> str:
    """The same as text."""
    rows = [[one["name"], one["kind"], one["done"], str(one["features"] or "")] for one in columns_of(model)]
    return table(["column", "taken as", "what was done", "features"], rows) + _roles(model)


def _roles(model: Model) -> str:
    """The columns that are no features, in one line."""
    roles = model.roles or {}
    known = [f"{name}: {roles[name]}" for name in ("weight", "offset", "group", "id") if name in roles]
    known = [f"target: {model.target}", *known] if model.target is not None else known
    return "\n" + clean("; ".join(known)) if known else ""


def _as_text(model: Model, facts: dict[str, Any], arguments: Namespace) -> str:
    head = {
        "predicts": facts["predicts"],
        "problem": f"{model.n} rows, {model.d} features: {model.loss!r} + {model.regularizer!r}",
        "certificate": f"{facts['status']}, relative gap {facts['relative_gap']:.3g}, tol {model.tol:g}",
    }
    parts = ["\n".join(f"{name:<11} {clean(text)}" for name, text in head.items())]
    if model.preparation is not None:
        parts.append(columns_table(model))
    most = arguments.top or len(facts["coefficients"])
    parts.append(_one_score(model, facts, most) if model.k == 1 else _several_scores(facts, most))
    return "\n\n".join(parts)


def _one_score(model: Model, facts: dict[str, Any], most: int) -> str:
    used = [one for one in facts["coefficients"] if one["coefficient"] != 0.0]
    shown = sorted(used, key=lambda one: -abs(one["per_sd"]))[:most]
    rows = [[one["feature"], _number(one["coefficient"]), _number(one["per_sd"]), one["favours"]] for one in shown]
    rows.append(
        ["(intercept)", _number(facts["intercept"]), "", favoured(model, facts["intercept"]) if model.labels else ""]
    )
    return table(["feature", "coefficient", "per sd", "favours"], rows) + _more(
        len(used), most, len(facts["coefficients"])
    )


def _several_scores(facts: dict[str, Any], most: int) -> str:
    names = [str(name) for name in facts["scores"] or range(1, len(facts["intercept"]) + 1)]
    used = [one for one in facts["coefficients"] if any(one["coefficient"])]
    shown = sorted(used, key=lambda one: -max(map(abs, one["per_sd"])))[:most]
    rows = [[one["feature"], *map(_number, one["coefficient"]), one["favours"]] for one in shown]
    rows.append(["(intercept)", *map(_number, facts["intercept"]), ""])
    return table(["feature", *names, "favours"], rows) + _more(len(used), most, len(facts["coefficients"]))


def _more(used: int, most: int, total: int) -> str:
    hidden = f", of which {most} are shown" if used > most else ""
    return f"\n{used} of {total} coefficients are not 0{hidden}"


def _number(value: float) -> str:
    return f"{value:+.4g}"
