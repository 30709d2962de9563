"""The bytes of CSV, TSV and Parquet files as batches of pyarrow: from a path or from memory, compressed or not."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fenchel.data.byte_source import DAMAGED, open_bytes
from fenchel.errors import InputError

ROWS = 1 << 14  # of a Parquet file that are in memory at a time
TABLES = {"csv": ",", "tsv": "\t", "parquet": ""}
PACKED = {".gz", ".bz2", ".xz"}


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """ "csv", "tsv" or "parquet" by the name of a file, compressed or not; None if it is no table.

    >>> kind_of("flowers.CSV"), kind_of("flowers.tsv.gz"), kind_of("a9a.xz")
    ('csv', 'tsv', None)
    """
    endings = [ending.lower() for ending in Path(os.fsdecode(path)).suffixes]
    if endings and endings[-1] in PACKED:
        endings.pop()
    kind = endings[-1].removeprefix(".") if endings else ""
    return kind if kind in TABLES else None


class TableSource:
    """A file that can be read several times; `name` is what messages call it."""

    def __init__(self, source: str | os.PathLike[str] | bytes, kind: str, name: str | None = None):
        self.source, self.kind = source, kind
        self.name = name or ("<stream>" if isinstance(source, bytes) else os.fsdecode(source))

    def batches(self, types: Mapping[str, Any] | None = None) -> Iterator[Any]:
        """The rows, some at a time; `types` of columns of text files, where they are known."""
        try:
            import pyarrow
            import pyarrow.csv
            import pyarrow.parquet
        except ImportError:
            raise InputError(f"reading {self.name} needs pyarrow: pip install 'fenchel[tables]'") from None
        empty = True
        try:
            for batch in self._parquet(pyarrow) if self.kind == "parquet" else self._lines(pyarrow, types):
                empty = False
                yield batch
        except (pyarrow.ArrowException, OSError) as error:  # for damaged Parquet files it is a bare OSError
            if getattr(error, "errno", None) is not None:
                raise
            raise InputError(f"{self.name} cannot be read: {str(error).strip()}") from None
        if empty:
            raise InputError(f"{self.name}: there is no row in it")

    def _parquet(self, pyarrow: Any) -> Iterator[Any]:
        source = io.BytesIO(self.source) if isinstance(self.source, bytes) else self.source
        with pyarrow.parquet.ParquetFile(source) as file:
            yield from file.iter_batches(batch_size=ROWS)

    def _lines(self, pyarrow: Any, types: Mapping[str, Any] | None) -> Iterator[Any]:
        parse = pyarrow.csv.ParseOptions(delimiter=TABLES[self.kind], newlines_in_values=True)
        convert = pyarrow.csv.ConvertOptions(
            column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False
        )
        with self._plain_bytes() as stream, pyarrow.csv.open_csv(stream, None, parse, convert) as reader:
            yield from reader

    @contextmanager
    def _plain_bytes(self) -> Iterator[Any]:
        source: Any = io.BytesIO(self.source) if isinstance(self.source, bytes) else self.source
        with open_bytes(source) as found:
            try:
                yield io.BufferedReader(found.stream, 1 << 20)  # pyarrow takes a short read for the end
            except DAMAGED as error:
                if not found.compression or getattr(error, "errno", None) is not None:
                    raise
                raise InputError(f"{self.name}: the {found.compression} data are damaged or cut off") from error
