"""Column files on the command line: sequences from a file and a template, and `fenchel train --columns`."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from fenchel.cli.options import COMMON, pairs, penalty_of
from fenchel.cli.progress import Progress
from fenchel.errors import InputError

TOL = 1e-3
OWN = ("template", "label_column", "min_count", "observed_only", "no_bias", "no_ends")  # options of column files only
FOREIGN = (
    "measure", "type", "k", "rho", "cost", "tree", "smooth", "n_features", "constant", "folds", "format", "target", "group",
    "nonnegative", "lower", "upper", "groups", "standardize",
    *(name for name in COMMON if name != "beta"),
)  # fmt: skip
SHOWN = {
    "type": "-s",
    "constant": "-B",
    "folds": "-v",
    "class_weight": "-wi",
}  # options whose name on the command line differs


def refuse_own(arguments: Namespace) -> None:
    """Reject options of column files without --columns."""
    for name in OWN:
        if getattr(arguments, name) not in (None, False):
            raise InputError(f"--{name.replace('_', '-')} is for column files: add --columns")


def train(arguments: Namespace) -> int:
    """Train a chain on a column file, write the model, print its certificate."""
    from fenchel.cli.fitting import places_of
    from fenchel.cli.problem_options import alpha_of
    from fenchel.cli.train import finish
    from fenchel.files.atomic_write import check_writable
    from fenchel.models.structured import StructuredModel

    _refuse_foreign(arguments)
    penalty = penalty_of(arguments.penalty or "l2", pairs(arguments.penalty_param, "--penalty-param"), 1.0)
    chain = _chain(arguments)
    check_writable(arguments.model)
    data = read(arguments.data, -1 if arguments.label_column is None else arguments.label_column)
    templates = _templates(arguments.template, data)
    encoder, problem, labels = _problem(arguments, data, templates, chain, penalty, alpha_of)
    result = _solve(arguments, problem, places_of(arguments, 1)[0])
    model = StructuredModel.from_result(
        result, keep_dual=not arguments.no_dual, labels=labels, attributes=encoder.tokens.names,
        link_attributes=encoder.links.names, template=templates.lines, columns=(data.width, data.label_column),
    )  # fmt: skip
    tokens = sum(map(len, data.sentences))
    size = f"{model.n} sequences, {tokens} tokens, {model.shape.features} attributes, {len(labels)} labels"
    text = f"{size}, {model.d} weights: {model.loss!r} + {model.regularizer!r}"
    return finish(model, [result], arguments, text)


def read(path: str, label_column: int | None) -> Any:
    """The sentences of a column file, "-" for stdin."""
    from fenchel.readers.columns import read_columns

    source: Any = sys.stdin.buffer if path == "-" else path
    return read_columns(source, label_column)


def read_for(model: Any, arguments: Namespace) -> tuple[Any, list[Any], list[list[str]] | None]:
    """(the file, its sentences with the columns of the training file, their labels if there are any)."""
    path, model_path = arguments.data, arguments.model
    for name in ("format", "target", "group"):
        if getattr(arguments, name) is not None:
            raise InputError(f"--{name} cannot be used with a model of sequences, which reads column files")
    if model.template is None:
        raise InputError(
            f"{model_path} is a model of {type(model.loss).__name__} that was not trained on a column file; "
            "use fenchel.load in Python"
        )
    data = read(path, None)
    wide, at = model.columns
    if data.width == wide:
        return data, data.sentences, [[row[at] for row in rows] for rows in data.sentences]
    if data.width != wide - 1:
        raise InputError(
            f"{path} has {data.width} columns, but the model {model_path} was trained on {wide}, with the label in column "
            f"{at}: expected {wide}, or {wide - 1} without the label"
        )
    return data, [[[*row[:at], "", *row[at:]] for row in rows] for rows in data.sentences], None


def _refuse_foreign(arguments: Namespace) -> None:
    given = [name for name in FOREIGN if (value := getattr(arguments, name)) is not None and value is not False]
    given += ["penalty_weight"] if arguments.penalty_weight else []
    given += ["constraint"] if arguments.constraint else []
    given += ["loss_param"] if arguments.loss_param else []
    given += ["intercept"] if arguments.intercept else []
    given += ["index_base"] if arguments.index_base != "auto" else []
    given += ["class_weight"] if arguments.class_weight else []
    if given:
        raise InputError(f"{SHOWN.get(given[0], '--' + given[0].replace('_', '-'))} cannot be used with --columns")


def _chain(arguments: Namespace) -> Any:
    from fenchel.structured import Chain

    return Chain(
        loss=arguments.loss or "hinge", beta=0.0 if arguments.beta is None else arguments.beta, bias=not arguments.no_bias,
        ends=not arguments.no_ends, observed_only=arguments.observed_only,
    )  # fmt: skip


def _templates(path: str | None, data: Any) -> Any:
    from fenchel.sequences.templates import Templates, default_templates

    if path is None:
        columns = [column for column in range(data.width) if column != data.label_column]
        found = default_templates(len(columns))
        if columns != list(range(len(columns))):
            raise InputError("the label is not in the last column: use --template to say which columns are features")
        return found
    found = Templates.read(path)
    if not found.transitions:
        raise InputError(f"{path} has no line 'B': a chain always has weights for pairs of labels; add the line")
    found.require(data.width, data.label_column)
    return found


def _problem(arguments: Namespace, data: Any, templates: Any, chain: Any, penalty: Any, alpha_of: Any) -> Any:
    """(encoder of the attributes, problem, labels)."""
    from dataclasses import replace

    from fenchel.estimators.sequence_input import SequenceEncoder, find_classes, numbered
    from fenchel.models.structured import template_attributes
    from fenchel.problems.scalar import Problem

    labels = find_classes(data.labels)
    if len(labels) < 2:
        raise InputError(
            f"{arguments.data} has only one label ({labels[0]}): is the label in another column? See --label-column"
        )
    least = 1 if arguments.min_count is None else arguments.min_count
    if least < 1:
        raise InputError(f"--min-count must be at least 1, got {least}")
    encoder = SequenceEncoder(templates.edges, least)
    rows = encoder.fit_transform(template_attributes(templates, data.sentences))
    chain = replace(chain, classes=len(labels), edge_features=templates.edges)
    regularizer = penalty.scaled(alpha_of(arguments, len(rows)))
    numbers = numbered(data.labels, labels)
    return encoder, Problem(rows, numbers, loss=chain, regularizer=regularizer), labels


def _solve(arguments: Namespace, problem: Any, place: Any) -> Any:
    from fenchel.engines import Local
    from fenchel.solving.solve import solve

    limits = arguments.max_iter, arguments.max_time
    keep = {"checkpoint": place, "resume": arguments.resume}
    with Progress(arguments.tol, arguments.quiet) as progress:
        progress.begin("")
        return solve(
            problem, arguments.solver, arguments.tol, *limits, progress, engine=Local(arguments.threads), **keep
        )
