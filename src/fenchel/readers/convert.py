"""Convert text files and tables to rows on disk, a block at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fenchel.data.write_store import RowBlock, write_store
from fenchel.errors import InputError
from fenchel.readers.table.read import Table
from fenchel.readers.table.source import kind_of

ROWS = 1 << 14  # rows in memory at a time


def convert(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    target: str | None = None,
    group: str | None = None,
    drop: Sequence[str] = (),
    dtype: Any = "float64",
    index_base: Literal["auto", 0, 1] = "auto",
    n_features: int | None = None,
) -> Path:
    """Write the rows of an svmlight, CSV, TSV or Parquet file into a folder for `fenchel.open`.

    The target column of a table may hold words, which become 0, 1, ... in alphabetical order. All other columns, except those
    in `drop`, must hold numbers.
    """
    kind = kind_of(path)
    if kind is None:
        if target is not None or group is not None or drop:
            raise InputError(f"target, group and drop name columns of a table, but {path} is read as svmlight text")
        return write_store(folder, _svmlight(path, dtype, index_base, n_features))
    if n_features is not None or index_base != "auto":
        raise InputError(f"n_features and index_base are for svmlight text, but {path} is a table")
    table = Table(path, kind, target, group, dtype, drop=drop)
    return write_store(folder, table.blocks(), table.labels, table.features)


def _svmlight(path: Any, dtype: np.dtype, index_base: Any, n_features: int | None) -> Iterator[RowBlock]:
    from fenchel.readers.svmlight.read import iter_svmlight

    for part in iter_svmlight(path, ROWS, n_features=n_features, index_base=index_base, dtype=np.dtype(dtype)):
        yield RowBlock(part.X, part.y, part.qid)
