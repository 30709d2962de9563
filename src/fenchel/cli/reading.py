"""Rows from what a command line names: svmlight text, a table, a folder of `fenchel convert`, or standard input."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.errors import InputError

if TYPE_CHECKING:
    from argparse import _ArgumentGroup

    from fenchel.models.scored import Scored

FORMATS = ("svmlight", "csv", "tsv", "parquet")


class Rows(NamedTuple):
    """What a file holds. `y` is None where a table has no target, `words` are what targets 0, 1, ... stand for."""

    X: Any
    y: Any
    qid: np.ndarray | None = None
    index_base: int | None = None
    words: list[str] | None = None
    features: list[str] | None = None
    target: str | None = None  # the columns of a table that became y, and that were left out
    dropped: tuple[str, ...] = ()

    @property
    def matrix(self) -> Any:
        """The rows as an array or sparse matrix, also if they lie on disk."""
        return self.X.X if hasattr(self.X, "folder") else self.X


def add_reading(group: Any, target: bool = True, training: bool = False) -> None:
    """Declare how DATA is read."""
    group.add_argument(
        "--format", choices=FORMATS, metavar="NAME", help="svmlight, csv, tsv or parquet (default: by the name of DATA)"
    )
    if target:
        own = "the last" if training else "that of the model, or the one beside its features"
        group.add_argument("--target", metavar="COLUMN", help=f"tables: the column to be predicted (default: {own})")
        group.add_argument("--group", metavar="COLUMN", help="tables: the column of queries, whole numbers")


def add_drop(group: Any) -> None:
    """Declare which columns are left out. Models know theirs: only what makes a model needs to be told."""
    group.add_argument(
        "--drop", action="append", default=[], metavar="COLUMN", help="tables: leave it out (may be given again)"
    )


def add_svmlight(group: _ArgumentGroup) -> None:
    """Declare what svmlight text leaves open."""
    group.add_argument("--index-base", choices=["auto", "0", "1"], default="auto", help="how DATA counts its features")
    group.add_argument("--n-features", type=int, metavar="D", help="default: the largest index in DATA")


def read(arguments: Namespace, qid: Any = False) -> Rows:
    """The rows to be trained on; `qid` True: there must be queries, "auto": they count if there are any."""
    path = arguments.data
    if os.path.isdir(path):
        _refuse_columns(arguments, "a folder of rows")
        return _read_folder(path, qid)
    if (kind := _table_kind(arguments)) is not None:
        if arguments.index_base != "auto" or arguments.n_features is not None:
            raise InputError("--index-base and --n-features are for svmlight text, but DATA is a table")
        return _read_table(arguments, kind, qid)
    _refuse_columns(arguments)
    base = arguments.index_base if arguments.index_base == "auto" else int(arguments.index_base)
    return _read_svmlight(path, base, arguments.n_features, qid)


def read_for(model: Any, arguments: Namespace, qid: Any = False, need_target: bool = True) -> Rows:
    """The rows of a file with the model's features; an svmlight file does not say that its last columns are empty."""
    path = arguments.data
    if os.path.isdir(path):
        _refuse_columns(arguments, "a folder of rows")
        data = _read_folder(path, qid)
    elif (kind := _table_kind(arguments)) is not None:
        return _fitting(_read_table(arguments, kind, qid, model, need_target), model, arguments)
    else:
        _refuse_columns(arguments)
        data = _read_svmlight(path, "auto" if model.index_base is None else model.index_base, None, qid)
    return _fitting(data._replace(X=data.matrix), model, arguments)


def _table_kind(arguments: Namespace) -> str | None:
    """ "csv", "tsv" or "parquet"; None if the file is read as svmlight text."""
    from fenchel.readers.table.source import TABLES, kind_of

    kind = arguments.format or kind_of(arguments.data)
    return kind if kind in TABLES else None


def _refuse_columns(arguments: Namespace, what: str = "") -> None:
    for name in ("target", "group", "drop"):
        if getattr(arguments, name, None):
            found = f"is {what}" if what else "is read as svmlight text: see --format"
            raise InputError(f"--{name} names a column of a table, but {arguments.data} {found}")


def _read_folder(path: str, qid: np.ndarray | None) -> Rows:
    from fenchel.data.store import open_store

    stored = open_store(path)
    if qid is True and stored.groups is None:
        raise InputError(f"{path} has no queries: convert data with qid, or a table with --group")
    return Rows(stored, stored.y, stored.groups if qid else None, 1, stored.labels, stored.features)


def _read_svmlight(path: str, base: Any, n_features: int | None, qid: Any) -> Rows:
    from fenchel.readers.svmlight.read import read_svmlight

    source: Any = sys.stdin.buffer if path == "-" else path
    data = read_svmlight(source, index_base=base, n_features=n_features, qid=qid)
    if data.X.shape[0] == 0:
        raise InputError(f"{path}: there is no row in it")
    return Rows(data.X, data.y, data.qid, data.index_base)


def _read_table(arguments: Namespace, kind: str, qid: Any, model: Any = None, need_target: bool = True) -> Rows:
    from fenchel.readers.table.read import Table

    path, group = arguments.data, getattr(arguments, "group", None)
    if qid is True and group is None:
        raise InputError(f"{path}: this loss needs queries: name their column with --group")
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


def _by_place(table: Any, model: Scored) -> None:
    """A model without names takes columns as they come: all but the last, if there is one more than it has features."""
    if table.target is not None and len(table.features) == model.d - 1:
        raise InputError(
            f"{table.name} has as many columns as the model has features: there is no target to compare with"
        )
    if table.target is None and len(table.features) == model.d + 1:
        table.features = table.features[:-1]


def _has_words(model: Scored) -> bool:
    return model.labels is not None and isinstance(model.labels[0], str)


def _fitting(data: Rows, model: Scored, arguments: Namespace) -> Rows:
    """Rows with as many features as the model has."""
    found, path = data.X.shape[1], arguments.data
    if found > model.d:
        raise InputError(
            f"{path} has {found} features, but the model {arguments.model} has {model.d}: they do not belong together"
        )
    if found < model.d:
        if isinstance(data.X, np.ndarray):
            raise InputError(f"{path} has {found} features, but the model {arguments.model} has {model.d}")
        data.X.resize((data.X.shape[0], model.d))
    return data
