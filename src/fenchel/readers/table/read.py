"""Read CSV, TSV and Parquet files as blocks of rows, in bounded memory. The columns are determined before the rows are read.

The target column may hold words, which become 0, 1, ... in alphabetical order. All other columns must hold numbers.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.data.write_store import RowBlock
from fenchel.errors import InputError
from fenchel.readers.table.csv_text import unguarded
from fenchel.readers.table.names import is_number, looks_like_a_row
from fenchel.readers.table.source import TableSource

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

INDEX_NAMES = ("", "__index_level_0__")  # the names of the index of pandas, in text and in Parquet
MAX_SEARCHED_ROWS = 100_000  # rows that are searched for the one to name in an error message


log = logging.getLogger("fenchel")


class Table:
    """A CSV, TSV or Parquet file.

    source : a path, or the bytes of the file; messages refer to it by `name`.
    target : the column to be predicted; None: the only one that is not among `features`, or the last one.
    group : the column of queries, or None.
    features : the columns to be read, in this order; None: all others.
    drop : columns that are ignored.
    need_target : if False, a target is read only if one is named; otherwise `y` of the blocks is NaN.
    as_words : read the target as words even if it looks like numbers.
    trained_on : the target and the dropped columns of the table on which a model was trained; this table may have them too.

    A column without a name, such as the index that pandas writes, is not a feature unless it is listed in `features`.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | bytes,
        kind: str,
        target: str | None = None,
        group: str | None = None,
        dtype: DTypeLike = "float64",
        *,
        features: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        need_target: bool = True,
        as_words: bool = False,
        name: str | None = None,
        trained_on: tuple[str | None, Sequence[str]] = (None, ()),
    ):
        self.source, self.dtype = TableSource(source, kind, name), np.dtype(dtype)
        self.name, self.text = self.source.name, self.source.is_text
        self.source.warn_if_truncated()
        self._types: dict[str, Any] | None = None
        schema = next(self._batches()).schema
        self._raw = self._text(lambda: schema.names)
        self.places = self._places(self._raw)
        self._types = self._column_types(schema) if self.text else None
        self.group = None if group is None else self._known(group)
        self._require_columns(features or ())
        self._dropped = {self._known(one) for one in drop} | {one for one in trained_on[1] if one in self.places}
        self._index = self._nameless({target, group}) if features is None else set()
        self._likely = trained_on[0]
        self._named = target is not None
        self.target = self._find_target(target, features, need_target)
        self.features = self._find_features(features)
        self._types = self._with_text_target()
        self.labels = self._words(as_words) if self.target is not None else None

    def _places(self, names: list[str]) -> dict[str, int]:
        plain = [unguarded(name) for name in names] if self.text else names
        twice = next((name for name in plain if plain.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"{self.name} has several columns with the name {twice!r}: every column needs its own")
        if self.text and looks_like_a_row(plain):
            raise InputError(
                f"{self.name}: its first line, {', '.join(plain[:4])}, ..., looks like a row: put a line with the names "
                "of the columns above it"
            )
        return {name: k for k, name in enumerate(plain)}

    def _text(self, read: Callable[[], list[Any]]) -> list[Any]:
        try:
            return read()
        except UnicodeDecodeError as error:
            raise InputError(f"{self.name} is not UTF-8 text: {error.object!r:.60}") from None

    def _known(self, name: str) -> str:
        if name not in self.places:
            raise InputError(f"{self.name} has no column {name!r}; its columns are {', '.join(self.places)}")
        return name

    def _nameless(self, asked: set[str | None]) -> set[str]:
        """Columns without a name that were not requested, such as an index written by pandas."""
        found = {name for name in INDEX_NAMES if name in self.places} - asked - self._dropped
        if found:
            log.warning(
                "%s has a column without a name, such as the index that pandas writes unless to_csv(index=False): it is not "
                "used as a feature; give it a name if it is one", self.name,
            )  # fmt: skip
        return found

    def _find_target(self, target: str | None, features: Sequence[str] | None, needed: bool) -> str | None:
        if target is not None:
            return self._known(target)
        if not needed:
            return None
        if self._likely in self.places and self._likely not in (features or ()):
            return self._likely
        taken = {self.group, *self._index, *self._dropped, *(features or ())}
        left = [name for name in self.places if name not in taken]
        if features is None:
            return next(reversed(left), None)
        if len(left) == 1:
            return left[0]
        what = f"the columns {', '.join(left)}" if left else "no column"
        raise InputError(f"{self.name} has {what} in addition to the features: name the target column with --target")

    def _require_columns(self, features: Sequence[str]) -> None:
        lacking = next((name for name in features if name not in self.places), None)
        if lacking is not None:
            raise InputError(
                f"{self.name} has no column {lacking!r}, which the model has as a feature; "
                f"its columns are {', '.join(self.places)}"
            )

    def _find_features(self, features: Sequence[str] | None) -> list[str]:
        if features is not None:
            return list(features)
        if self.target in self._dropped or self.group in self._dropped:
            raise InputError(f"{self.name}: an excluded column cannot be the target or the queries as well")
        found = [name for name in self.places if name not in (self.target, self.group, *self._index, *self._dropped)]
        if not found:
            hint = (
                "; are its columns separated by something else? .csv means commas, .tsv tabs"
                if self._one_column()
                else ""
            )
            raise InputError(f"{self.name} has no column other than the target {self.target!r}{hint}")
        return found

    def _one_column(self) -> bool:
        return self.text and len(self.places) == 1

    def _column_types(self, schema: Any) -> dict[str, Any]:
        """Types of columns: integers in the first rows may be followed by other numbers, and an empty column by any."""
        import pyarrow

        number = pyarrow.types
        return {
            field.name: pyarrow.float64()
            for field in schema
            if number.is_integer(field.type) or number.is_null(field.type)
        }

    def _with_text_target(self) -> dict[str, Any] | None:
        """Read the target as text, so that "1", "2" and "x" are three labels, in whichever row the x is."""
        if self._types is None or self.target is None:
            return self._types
        import pyarrow

        return self._types | {self._raw[self.places[self.target]]: pyarrow.string()}

    def _batches(self) -> Iterator[Any]:
        return self.source.batches(self._types)

    def _column(self, batch: Any, name: str) -> Any:
        import pyarrow

        column = batch.column(self.places[name])
        return column.dictionary_decode() if pyarrow.types.is_dictionary(column.type) else column

    def _words(self, as_words: bool) -> list[str] | None:
        """The labels, if targets are words; takes at most two passes over their column."""
        import pyarrow.types as kinds

        assert self.target is not None
        if not as_words and all(self._are_numbers(self._column(batch, self.target)) for batch in self._batches()):
            return None
        found: set[str] = set()
        for batch in self._batches():
            column = self._column(batch, self.target)
            if not (kinds.is_string(column.type) or kinds.is_large_string(column.type)):
                return None
            found.update(word for word in self._text(column.unique().to_pylist) if word is not None)
        return sorted({self._word(word) for word in found})

    def _word(self, cell: str) -> str:
        return unguarded(cell) if self.text else cell

    def _are_numbers(self, column: Any) -> bool:
        import pyarrow
        import pyarrow.compute as compute

        if not (pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type)):
            return True
        if not self.text:
            return False
        try:
            compute.cast(compute.utf8_trim_whitespace(column), pyarrow.float64())
        except pyarrow.ArrowInvalid:
            return False
        return True

    def blocks(self) -> Iterator[RowBlock]:
        """The rows with their targets and queries, in blocks."""
        at = 0
        for batch in self._batches():
            X = np.empty((batch.num_rows, len(self.features)), dtype=self.dtype)
            for j, name in enumerate(self.features):
                X[:, j] = self._numbers(batch, name, at)
            groups = None if self.group is None else self._whole_numbers(batch, at)
            yield RowBlock(X, self._targets(batch, at), groups)
            at += batch.num_rows

    def _targets(self, batch: Any, at: int) -> np.ndarray:
        if self.target is None:
            return np.full(batch.num_rows, np.nan)
        if self.labels is None:
            return self._numbers(batch, self.target, at)
        places = {word: k for k, word in enumerate(self.labels)}
        words = self._text(self._column(batch, self.target).to_pylist)
        codes = [np.nan if word is None else places[self._word(word)] for word in words]
        return self._finite(np.array(codes, dtype=float), self.target, at)

    def _whole_numbers(self, batch: Any, at: int) -> np.ndarray:
        assert self.group is not None
        values = self._numbers(batch, self.group, at)
        if not (values == np.floor(values)).all():
            row = at + int(np.argmax(values != np.floor(values)))
            raise InputError(f"{self.name}: column {self.group!r} must hold integers, but row {row} does not")
        return values.astype(np.int64)

    def _numbers(self, batch: Any, name: str, at: int) -> np.ndarray:
        import pyarrow
        import pyarrow.compute as compute

        column, kinds = self._column(batch, name), pyarrow.types
        if name == self.target and self.text:
            column = compute.cast(compute.utf8_trim_whitespace(column), pyarrow.float64())
        tests = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal, kinds.is_null)
        if not any(test(column.type) for test in tests):
            raise InputError(
                f"{self.name}: column {name!r} holds {column.type}, not numbers{self._first_text(column, at)}: "
                f"encode it as numbers, or exclude it (--drop){self._maybe_target(name)}"
            )
        values = column.to_numpy(zero_copy_only=False)
        return self._finite(np.array([np.nan if v is None else v for v in values], dtype=float)
                            if values.dtype == object else values.astype(np.float64), name, at)  # fmt: skip

    def _maybe_target(self, name: str) -> str:
        guessed = not self._named and self.target is not None and name != self.target
        return f"; if it is the target, name it with --target (now the target is {self.target!r})" if guessed else ""

    def _first_text(self, column: Any, at: int) -> str:
        """The first cell of a text column that is not a number: a single such cell makes the whole column text."""
        if not self.text:
            return ""
        for row, cell in enumerate(column.slice(0, MAX_SEARCHED_ROWS).to_pylist()):
            word = cell.decode("latin-1") if isinstance(cell, bytes) else str(cell)
            if cell is not None and not is_number(word):
                return f" (row {at + row}: {word[:40]!r})"
        return ""

    def _finite(self, values: np.ndarray, name: str, at: int) -> np.ndarray:
        finite = np.isfinite(values)
        if not finite.all():
            row = at + int(np.argmin(finite))
            raise InputError(
                f"{self.name}: column {name!r} is missing or not finite in row {row} (counted from 0); "
                "impute it or remove the row"
            )
        return values
