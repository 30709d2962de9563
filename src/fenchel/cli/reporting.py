"""The interface between the commands and `fenchel.report`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argparse import _ActionsContainer

    from fenchel.cli.reading import Rows
    from fenchel.models.base import BaseModel
    from fenchel.report import PathChoice


def add_report(group: _ActionsContainer) -> None:
    """Declare --report."""
    group.add_argument("--report", metavar="FILE", help="write an HTML report")


def check_report(path: str | None) -> None:
    """Raise an error before the work starts if the report could not be written."""
    if path is not None:
        from fenchel.files.atomic_write import check_writable

        check_writable(path)


def write_report(
    path: str,
    subjects: Sequence[Any],
    title: str,
    arguments: Namespace,
    *,
    names: Sequence[str] | None = None,
    data: tuple[Any, ...] | None = None,
    choice: PathChoice | None = None,
) -> None:
    """Write a report on Results or models; `data` are evaluation rows, `choice` is a path with its chosen point."""
    from fenchel.report import write_page

    write_page(
        path, list(subjects), title=title, names=names if len(subjects) > 1 else None, data=data,
        regularization_path=choice, settings={"Command": arguments.command_line}, feature_names=_names(subjects),
    )  # fmt: skip


def evaluated(model: Any, data: Rows, path: str) -> tuple[Any, ...] | None:
    """Rows and targets in the labels of the model, with the queries of rankings; None for rows on disk."""
    if hasattr(data.X, "folder"):
        return None
    if model.labels is None:
        return (data.X, data.y) if data.qid is None else (data.X, data.y, data.qid)
    import numpy as np

    from fenchel.cli.tasks import places_of

    return data.X, np.array(model.labels)[places_of(data, model.labels, path)]


def fit(model: BaseModel, results: Sequence[Any]) -> Any:
    """A model with the histories of its solves."""
    from fenchel.report import Fit

    return Fit(model, list(results))


def path_choice(alphas: Sequence[float], results: Sequence[Any], **about: Any) -> Any:
    """A path with its scores and the chosen strength, and a certified path of the same rows or None."""
    import numpy as np

    from fenchel.estimators.path import Path
    from fenchel.report import PathChoice

    return PathChoice(Path(np.array(alphas), tuple(results)), **about)


def _names(subjects: Sequence[Any]) -> list[str] | None:
    """The names of the features, if models have an additional constant feature; None: the names that the models store."""
    models = [getattr(subject, "model", subject) for subject in subjects]
    if not all(getattr(model, "constant", None) is not None and model.feature_names for model in models):
        return None
    return [*models[0].feature_names, "constant"]
