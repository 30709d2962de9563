"""From files of text and tables to rows on disk, a block at a time."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fenchel.data.byte_source import BOMB_BYTES, BOMB_RATIO
from fenchel.data.write_store import RowBlock, write_store
from fenchel.errors import InputError

log = logging.getLogger("fenchel")

ROWS = 1 << 14  # that are in memory at a time
TABLES = {".csv": ",", ".tsv": "\t", ".parquet": ""}


def convert(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    target: str | None = None,
    group: str | None = None,
    dtype: Any = "float64",
    index_base: Literal["auto", 0, 1] = "auto",
    n_features: int | None = None,
) -> Path:
    """Write the rows of an svmlight, CSV, TSV or Parquet file into a folder for `fenchel.open`.

    The target column of a table may hold words: they become 0, 1, ... in the order of the alphabet. All other columns must
    hold numbers.
    """
    kind = Path(os.fsdecode(path)).suffix.lower()
    if kind not in TABLES:
        if target is not None or group is not None:
            raise InputError(f"target and group name columns of a table, but {path} is read as svmlight text")
        return write_store(folder, _svmlight(path, dtype, index_base, n_features))
    if n_features is not None or index_base != "auto":
        raise InputError(f"n_features and index_base are for svmlight text, but {path} is a table")
    table = _Table(path, kind, target, group, dtype)
    return write_store(folder, table.blocks(), table.labels, table.features)


def _svmlight(path: Any, dtype: Any, index_base: Any, n_features: int | None) -> Iterator[RowBlock]:
    from fenchel.data.read_svmlight import iter_svmlight

    for part in iter_svmlight(path, ROWS, n_features=n_features, index_base=index_base, dtype=np.dtype(dtype)):
        yield RowBlock(part.X, part.y, part.qid)


class _Table:
    """A CSV, TSV or Parquet file: the columns are known before the rows are read."""

    def __init__(self, path: Any, kind: str, target: str | None, group: str | None, dtype: Any):
        self.path, self.kind, self.dtype = os.fsdecode(path), kind, np.dtype(dtype)
        names = next(iter(self.batches())).schema.names
        self.target = names[-1] if target is None else target
        self.group = group
        for name in (self.target, *([group] if group is not None else [])):
            if name not in names:
                raise InputError(f"{self.path} has no column {name!r}; its columns are {', '.join(names)}")
        self.features = [name for name in names if name not in (self.target, group)]
        if not self.features:
            raise InputError(f"{self.path} has no column beside the target {self.target!r}")
        self.labels = self.words()

    def batches(self) -> Iterator[Any]:
        """The rows, some at a time."""
        try:
            import pyarrow
            import pyarrow.csv
            import pyarrow.parquet
        except ImportError:
            raise InputError(f"reading {self.path} needs pyarrow: pip install 'fenchel[tables]'") from None
        try:
            if self.kind == ".parquet":
                with pyarrow.parquet.ParquetFile(self.path) as file:
                    self.refuse_bomb(file.metadata)
                    yield from file.iter_batches(batch_size=ROWS)
                return
            self.warn_of_a_cut()
            options = pyarrow.csv.ParseOptions(delimiter=TABLES[self.kind])
            with pyarrow.csv.open_csv(self.path, parse_options=options) as reader:
                empty = True
                for batch in reader:
                    empty = False
                    yield batch
            if empty:
                raise InputError(f"{self.path}: there is no row in it")
        except pyarrow.ArrowException as error:
            raise InputError(f"{self.path} cannot be read: {error}") from None

    def warn_of_a_cut(self) -> None:
        """A text that was cut off inside its last number looks like one whose writer left out the last newline."""
        with open(self.path, "rb") as file:
            if file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) not in b"\r\n":
                log.warning(
                    "%s: the last line has no newline; if the file was cut off, its last number is wrong", self.path
                )

    def refuse_bomb(self, facts: Any) -> None:
        """A few kilobytes may claim to be billions of rows."""
        if facts.num_rows == 0:
            raise InputError(f"{self.path}: there is no row in it")
        groups = [facts.row_group(k) for k in range(facts.num_row_groups)]
        decoded = max(8 * facts.num_rows * facts.num_columns, sum(group.total_byte_size for group in groups))
        if decoded > max(BOMB_BYTES, BOMB_RATIO * os.path.getsize(self.path)):
            raise InputError(
                f"{self.path} would expand to {decoded} bytes, more than {BOMB_RATIO} times its size; if that is meant, "
                "write it again without compression"
            )

    def words(self) -> list[str] | None:
        """The labels, if targets are words: one pass over their column."""
        import pyarrow.types as kinds

        found: set[str] = set()
        for batch in self.batches():
            column = batch.column(self.target)
            if not (kinds.is_string(column.type) or kinds.is_large_string(column.type)):
                return None
            found.update(word for word in column.unique().to_pylist() if word is not None)
        return sorted(found)

    def blocks(self) -> Iterator[RowBlock]:
        at = 0
        places = None if self.labels is None else {word: k for k, word in enumerate(self.labels)}
        for batch in self.batches():
            X = np.empty((batch.num_rows, len(self.features)), dtype=self.dtype)
            for j, name in enumerate(self.features):
                X[:, j] = self.numbers(batch, name, at)
            if places is None:
                y = self.numbers(batch, self.target, at)
            else:
                y = np.array([places.get(word, np.nan) for word in batch.column(self.target).to_pylist()])
                self.whole(y, self.target, at)
            groups = None if self.group is None else self.numbers(batch, self.group, at).astype(np.int64)
            yield RowBlock(X, y, groups)
            at += batch.num_rows

    def numbers(self, batch: Any, name: str, at: int) -> np.ndarray:
        column = batch.column(name)
        try:
            values = column.to_numpy(zero_copy_only=False).astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"{self.path}: column {name!r} holds {column.type}, not numbers; code it as numbers or leave it out"
            ) from None
        return self.whole(values, name, at)

    def whole(self, values: np.ndarray, name: str, at: int) -> np.ndarray:
        finite = np.isfinite(values)
        if not finite.all():
            row = at + int(np.argmin(finite))
            raise InputError(f"{self.path}: column {name!r} is missing or not finite in row {row} (counted from 0)")
        return values
