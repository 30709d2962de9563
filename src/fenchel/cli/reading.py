"""Read the rows of DATA: svmlight text, a table, a folder of `fenchel convert`, or standard input."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from fenchel.cli.terminal import complain
from fenchel.errors import InputError

if TYPE_CHECKING:
    from argparse import _ActionsContainer, _ArgumentGroup

    from fenchel.cli.terminal import CleanParser
    from fenchel.models.scored import Scored
    from fenchel.readers.table.read import Table

FORMATS = ("svmlight", "csv", "tsv", "parquet")


class Rows(NamedTuple):
    """The content of a file. `y` is None if a table has no target; `words` are the labels of the targets 0, 1, ..."""

    X: Any
    y: Any
    qid: np.ndarray | None = None
    index_base: int | None = None
    words: list[str] | None = None
    features: list[str] | None = None
    target: str | None = None  # the target column of a table, and the excluded columns
    dropped: tuple[str, ...] = ()
    preparation: Any = None  # how a table became rows (`fenchel.tables`), and what else its columns are
    roles: dict[str, Any] | None = None
    weight: np.ndarray | None = None
    ids: list[str] | None = None
    test: Any = None  # further Rows, held out

    @property
    def matrix(self) -> Any:
        """The rows as an array or sparse matrix, also if they are on disk."""
        return self.X.X if hasattr(self.X, "folder") else self.X


def add_reading(group: _ActionsContainer, target: bool = True, training: bool = False) -> None:
    """Add the options for reading DATA."""
    group.add_argument(
        "--format", choices=FORMATS, metavar="NAME", help="svmlight, csv, tsv or parquet (default: by file name)"
    )
    if target:
        own = "the last" if training else "that of the model, or the only other one"
        group.add_argument("--target", metavar="COLUMN", help=f"tables: the target column (default: {own})")
        group.add_argument("--group", metavar="COLUMN", help="tables: the query-id column (integers)")


def add_text(parser: CleanParser) -> None:
    """Add the options for text of tables, which few need."""
    from fenchel.cli.prepared import add_text_options

    add_text_options(parser.add_rare_group("text of tables"))


def add_drop(group: _ActionsContainer) -> None:
    """Add the option for excluded columns. Models store theirs, so that only commands that fit models need it."""
    group.add_argument(
        "--drop", action="append", default=[], metavar="COLUMN", help="tables: exclude this column (repeatable)"
    )


def add_svmlight(group: _ArgumentGroup) -> None:
    """Add the options for svmlight text."""
    group.add_argument(
        "--index-base", choices=["auto", "0", "1"], default="auto", help="index of the first feature in DATA"
    )
    group.add_argument(
        "--n-features", type=int, metavar="D", help="number of features (default: the largest index in DATA)"
    )


def read(arguments: Namespace, qid: Literal["auto", True, False] = False) -> Rows:
    """The training rows; `qid` True: queries are required, "auto": they are used if there are any."""
    path = arguments.data
    if os.path.isdir(path):
        _refuse_columns(arguments, "a folder of rows")
        return _read_folder(path, qid)
    if (kind := table_kind(arguments)) is not None:
        if arguments.index_base != "auto" or arguments.n_features is not None:
            raise InputError("--index-base and --n-features are for svmlight text, but DATA is a table")
        from fenchel.cli.prepared import is_prepared, read_prepared

        if is_prepared(arguments, kind):
            return read_prepared(arguments, kind, qid)
        return _read_table(arguments, kind, qid)
    _refuse_columns(arguments)
    base: Any = arguments.index_base if arguments.index_base == "auto" else int(arguments.index_base)
    return _read_svmlight(path, base, arguments.n_features, qid)


def read_for(
    model: Scored,
    arguments: Namespace,
    qid: Literal["auto", True, False] = False,
    need_target: bool = True,
    fitted: bool = False,
    ignore_more: bool = False,
) -> Rows:
    """The rows of a file with the features of the model; in an svmlight file the last features may not occur at all.

    `fitted`: of a table, only the rows to which the model was fitted. With `ignore_more`, features that the model does not have
    are left out of an svmlight file, with a note, as liblinear does.
    """
    path = arguments.data
    if os.path.isdir(path):
        _refuse_columns(arguments, "a folder of rows")
        data = _read_folder(path, qid)
    elif (kind := table_kind(arguments)) is not None:
        if getattr(model, "preparation", None) is not None:
            from fenchel.cli.prepared import read_prepared_for

            return read_prepared_for(model, arguments, kind, qid, need_target, fitted)
        return _fitting(_read_table(arguments, kind, qid, model, need_target), model, arguments)
    else:
        _refuse_columns(arguments)
        base: Any = "auto" if model.index_base is None else model.index_base
        data = _read_svmlight(path, base, None, qid)
        if ignore_more and data.X.shape[1] > model.d:
            data = data._replace(X=_without_last(data.X, model.d, arguments))
    return _fitting(data._replace(X=data.matrix), model, arguments)


def _without_last(X: Any, d: int, arguments: Namespace) -> Any:
    """The first d columns, with a note on stderr."""
    if not getattr(arguments, "quiet", False):
        complain(f"{arguments.data} has {X.shape[1]} features; those above {d} are not in the model and are ignored")
    return X[:, :d]


def table_kind(arguments: Namespace) -> str | None:
    """ "csv", "tsv" or "parquet"; None if the file is read as svmlight text."""
    from fenchel.readers.table.source import TABLES, kind_of

    kind = arguments.format or kind_of(arguments.data)
    return kind if kind in TABLES else None


def _refuse_columns(arguments: Namespace, what: str = "") -> None:
    for name in (
        "target",
        "group",
        "drop",
        "id",
        "weight",
        "offset",
        "kind",
        "delimiter",
        "encoding",
        "decimal",
        "test_size",
    ):
        if getattr(arguments, name, None):
            found = f"is {what}" if what else "is read as svmlight text: see --format"
            raise InputError(f"--{name.replace('_', '-')} is for the columns of a table, but {arguments.data} {found}")


def _read_folder(path: str, qid: Literal["auto", True, False]) -> Rows:
    from fenchel.data.store import open_store

    stored = open_store(path)
    if qid is True and stored.groups is None:
        raise InputError(f"{path} has no queries: convert svmlight data with qid, or a table with --group")
    return Rows(stored, stored.y, stored.groups if qid else None, 1, stored.labels, stored.features)


def _read_svmlight(
    path: str, base: Literal["auto", 0, 1], n_features: int | None, qid: Literal["auto", True, False]
) -> Rows:
    from fenchel.readers.svmlight.read import read_svmlight

    source: Any = sys.stdin.buffer if path == "-" else path
    data = read_svmlight(source, index_base=base, n_features=n_features, qid=qid)
    if data.X.shape[0] == 0:
        raise InputError(f"{path} has no rows")
    return Rows(data.X, data.y, data.qid, data.index_base)


def _read_table(
    arguments: Namespace,
    kind: str,
    qid: Literal["auto", True, False],
    model: Scored | None = None,
    need_target: bool = True,
) -> Rows:
    from fenchel.readers.table.read import Table

    path, group = arguments.data, getattr(arguments, "group", None)
    if qid is True and group is None:
        raise InputError(f"{path}: this loss needs queries; name the query-id column with --group")
    table = Table(
        sys.stdin.buffer.read() if path == "-" else path, kind, arguments.target, group,
        features=None if model is None else model.feature_names, drop=getattr(arguments, "drop", ()), need_target=need_target,
        as_words=model is not None and _has_words(model), name=path,
        trained_on=(None, ()) if model is None else (model.target, model.dropped),
    )  # fmt: skip
    if model is not None and model.feature_names is None and arguments.target is None:
        _by_place(table, model)
    parts = list(table.blocks())
    X, y = np.concatenate([part.X for part in parts]), np.concatenate([part.y for part in parts])
    groups = [part.groups for part in parts if part.groups is not None]
    asked = np.concatenate(groups) if groups and qid else None
    dropped = tuple(getattr(arguments, "drop", ()))
    return Rows(
        X, None if table.target is None else y, asked, None, table.labels, table.features, table.target, dropped
    )


def _by_place(table: Table, model: Scored) -> None:
    """The columns in order, for a model without feature names; a single additional column at the end is ignored."""
    if table.target is not None and len(table.features) == model.d - 1:
        raise InputError(f"{table.name} has as many columns as the model has features, and so no target column")
    if table.target is None and len(table.features) == model.d + 1:
        table.features = table.features[:-1]


def _has_words(model: Scored) -> bool:
    return model.labels is not None and isinstance(model.labels[0], str)


def _fitting(data: Rows, model: Scored, arguments: Namespace) -> Rows:
    """The rows, with as many features as the model."""
    found, path = data.X.shape[1], arguments.data
    if found > model.d:
        raise InputError(f"{path} has {found} features, but the model {arguments.model} was fitted with {model.d}")
    if found < model.d:
        if isinstance(data.X, np.ndarray):
            raise InputError(f"{path} has {found} features, but the model {arguments.model} has {model.d}")
        data.X.resize((data.X.shape[0], model.d))
    return data
