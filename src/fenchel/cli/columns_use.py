"""`fenchel predict` and `fenchel verify` for models of column files."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fenchel.cli.columns import read_for
from fenchel.cli.terminal import as_json, clean, complain
from fenchel.errors import InputError

if TYPE_CHECKING:
    from fenchel.models.structured import StructuredModel
    from fenchel.problems.structured import StructuredProblem
    from fenchel.result import Certificate


def predict(model: Any, arguments: Namespace) -> int:
    """Write the columns of the file, followed by the predicted label."""
    from fenchel.cli.predict import write

    if arguments.scores or arguments.top_k is not None:
        option = "--scores" if arguments.scores else "--top-k"
        raise InputError(
            f"{option} cannot be used with a model of sequences, which labels all tokens of a sequence together"
        )
    if arguments.csv or arguments.output.lower().endswith(".csv"):
        raise InputError(
            "predictions for sequences are written as columns separated by spaces, or with --json, but not as CSV"
        )
    if arguments.proba:
        model.probabilities([])  # raises before the data are read if the model has no probabilities
    data, sentences, labels = read_for(model, arguments)
    examples = model.attributes_of(sentences)
    if arguments.proba:
        values = [found.tolist() for found in model.probabilities(examples)]
    else:
        predicted = model.predict(examples)
        values = [[[label] for label in path] for path in predicted]
    if arguments.json:
        plain = [[row if arguments.proba else row[0] for row in sentence] for sentence in values]
        found = {"labels": model.labels, "columns": model.labels if arguments.proba else None, "predictions": plain}
        write(arguments.output, iter([as_json(found) + "\n"]))
    else:
        write(arguments.output, _lines(data.sentences, values, arguments.output == "-" and sys.stdout.isatty()))
    if not arguments.quiet:
        if arguments.proba:
            complain("columns after those of the file: " + " ".join(model.labels))
        elif labels is not None:
            _note(labels, predicted)
    return 0


def _lines(sentences: list[Any], fields: list[Any], terminal: bool) -> Iterator[str]:
    """Fields separated by spaces, with an empty line after each sentence, as conlleval reads them."""
    for rows, more in zip(sentences, fields, strict=True):
        for row, found in zip(rows, more, strict=True):
            line = " ".join([*row, *(word if isinstance(word, str) else repr(word) for word in found)])
            yield (clean(line) if terminal else line) + "\n"  # files and pipes get the fields as they were read
        yield "\n"


def _note(labels: list[list[str]], predicted: list[list[str]]) -> None:
    from fenchel.sequences.metrics import chunk_scores, token_error

    tokens = sum(map(len, labels))
    wrong = round(token_error(labels, predicted) * tokens)
    complain(f"{tokens - wrong} of {tokens} tokens have the label given in the file ({1 - wrong / tokens:.4%})")
    try:
        chunks = chunk_scores(labels, predicted)
    except InputError:  # the labels are not chunk labels
        return
    complain(f"chunks: precision {chunks.precision:.4%}, recall {chunks.recall:.4%}, F1 {chunks.f1:.4%}")


def recheck(model: StructuredModel, arguments: Namespace, tol: float, recompute: Callable[..., Certificate]) -> Any:
    """The certificate of a model, recomputed from its file by `recompute`, as a `fenchel.cli.verify.Check`."""
    import numpy as np

    from fenchel.cli.verify import GAP_LEFT, HOLDS, MISMATCH, Check, agrees

    problem = _problem(model, arguments)
    coef, whole = _own_coef(model, problem)
    usable = model.dual_point is not None
    try:
        found = recompute(problem, coef, 0.0, model.dual_point)
    except InputError:  # the dual point belongs to other sequences
        usable, found = False, recompute(problem, coef, 0.0)
    same = whole and agrees(model.certificate, found, usable)
    rebuilt = not usable
    if usable and not found.holds(tol):
        other = recompute(problem, coef, 0.0)
        if np.isfinite(other.dual) and other.dual > found.dual:
            found, rebuilt = other, True
    status = MISMATCH if not same else HOLDS if found.holds(tol) else GAP_LEFT
    return Check(model.certificate, found, problem.digest == model.digest, rebuilt, status)


def _problem(model: Any, arguments: Namespace) -> Any:
    from fenchel.problems.scalar import Problem

    _, sentences, labels = read_for(model, arguments)
    if labels is None:
        raise InputError(f"{arguments.data} has no labels: fenchel verify needs the file that the model was trained on")
    number = {label: k for k, label in enumerate(model.labels)}
    for i, labelling in enumerate(labels):
        strange = next((label for label in labelling if label not in number), None)
        if strange is not None:
            raise InputError(
                f"{arguments.data}: sentence {i + 1} has the label {strange}, which the model does not know"
            )
    rows = model.matrices(model.attributes_of(sentences))
    numbers = [[number[label] for label in labelling] for labelling in labels]
    return Problem(rows, numbers, loss=model.loss, regularizer=model.regularizer)


def _own_coef(model: StructuredModel, problem: StructuredProblem) -> tuple[Any, bool]:
    """(the coefficients of the weights that the problem has, whether all others are zero)."""
    import numpy as np

    from fenchel.models.structured import places_of

    places = places_of(problem)
    if places is None:
        return model.coef, True
    coef = model.full_coef[places]
    return coef, bool(np.count_nonzero(coef) == np.count_nonzero(model.coef))
