"""Read CSV, TSV and Parquet files as batches of pyarrow, from a path or from memory, compressed or not."""

from __future__ import annotations

import io
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenchel.errors import InputError
from fenchel.readers.byte_source import BOMB_BYTES, BOMB_RATIO, DAMAGED, open_bytes

if TYPE_CHECKING:
    from types import ModuleType

ROWS = 1 << 14  # rows of a Parquet file in memory at a time
TABLES = {"csv": ",", "tsv": "\t", "parquet": ""}
PACKED = {".gz", ".bz2", ".xz"}
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
LOG = logging.getLogger("fenchel")


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """The kind of table, "csv", "tsv" or "parquet", by the name of a file, compressed or not; None if it is not a table.

    >>> kind_of("flowers.CSV"), kind_of("flowers.tsv.gz"), kind_of("a9a.xz")
    ('csv', 'tsv', None)
    """
    endings = [ending.lower() for ending in Path(os.fsdecode(path)).suffixes]
    if endings and endings[-1] in PACKED:
        endings.pop()
    kind = endings[-1].removeprefix(".") if endings else ""
    return kind if kind in TABLES else None


class TableSource:
    """A file that can be read several times; messages refer to it by `name`."""

    def __init__(self, source: str | os.PathLike[str] | bytes, kind: str, name: str | None = None):
        self.source, self.delimiter = source, TABLES[kind]
        self.is_text = self.delimiter != ""  # Parquet has none
        self.name = name or ("<stream>" if isinstance(source, bytes) else os.fsdecode(source))

    def batches(self, types: Mapping[str, Any] | None = None) -> Iterator[Any]:
        """The rows in batches; `types` of columns of text files, where they are known."""
        try:
            import pyarrow
            import pyarrow.csv
            import pyarrow.parquet
        except ImportError:
            raise InputError(f"reading {self.name} needs pyarrow: pip install 'fenchel[tables]'") from None
        empty = True
        try:
            for batch in self._lines(pyarrow, types) if self.is_text else self._parquet(pyarrow):
                empty = False
                yield batch
        except (pyarrow.ArrowException, OSError) as error:  # for damaged Parquet files it is a bare OSError
            if getattr(error, "errno", None) is not None:
                raise
            raise InputError(f"{self.name} cannot be read: {str(error).strip()}") from None
        if empty:
            raise InputError(f"{self.name} has no rows")

    def warn_if_truncated(self) -> None:
        """Log a warning if the last newline is missing: the text may have been truncated inside its last number."""
        if not self.is_text:
            return
        with io.BytesIO(self.source) if isinstance(self.source, bytes) else open(self.source, "rb") as file:
            packed = file.read(6).startswith(COMPRESSED)  # truncation is detected when decompressing
            if (
                not packed
                and file.seek(0, os.SEEK_END)
                and file.seek(-1, os.SEEK_END) >= 0
                and file.read(1) not in b"\r\n"
            ):
                LOG.warning(
                    "%s: the last line has no newline; if the file was truncated, its last number is wrong", self.name
                )

    def _parquet(self, pyarrow: ModuleType) -> Iterator[Any]:
        source = io.BytesIO(self.source) if isinstance(self.source, bytes) else self.source
        with pyarrow.parquet.ParquetFile(source) as file:
            self._refuse_bomb(file.metadata)
            yield from file.iter_batches(batch_size=ROWS)

    def _refuse_bomb(self, facts: Any) -> None:
        """Refuse a small file that claims to be a huge table."""
        size = len(self.source) if isinstance(self.source, bytes) else os.path.getsize(self.source)
        groups = [facts.row_group(k) for k in range(facts.num_row_groups)]
        decoded = max(8 * facts.num_rows * facts.num_columns, sum(group.total_byte_size for group in groups))
        if decoded > max(BOMB_BYTES, BOMB_RATIO * size):
            raise InputError(
                f"{self.name} would expand to {decoded} bytes, more than {BOMB_RATIO} times its size; if that is meant, "
                "write it again without compression"
            )

    def _lines(self, pyarrow: ModuleType, types: Mapping[str, Any] | None) -> Iterator[Any]:
        parse = pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        convert = pyarrow.csv.ConvertOptions(
            column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False
        )
        with self._plain_bytes(pyarrow) as stream, pyarrow.csv.open_csv(stream, None, parse, convert) as reader:
            yield from reader

    @contextmanager
    def _plain_bytes(self, pyarrow: ModuleType) -> Iterator[Any]:
        """The text as a native source of pyarrow. pyarrow reads ahead on its own threads, and a thread that calls into Python
        while the process exits would crash it. Compressed text is decompressed to a temporary file first."""
        source: Any = io.BytesIO(self.source) if isinstance(self.source, bytes) else self.source
        with open_bytes(source) as found:
            if not found.compression:
                yield (
                    pyarrow.BufferReader(self.source)
                    if isinstance(self.source, bytes)
                    else _native(pyarrow, self.source)
                )
                return
            with tempfile.TemporaryDirectory(prefix="fenchel-") as folder:  # Windows opens no file a second time
                plain = os.path.join(folder, "plain")
                try:
                    with open(plain, "xb") as file:
                        shutil.copyfileobj(found.stream, file, 1 << 20)
                except DAMAGED as error:
                    if getattr(error, "errno", None) is not None:
                        raise
                    raise InputError(f"{self.name}: the {found.compression} data are damaged or truncated") from error
                native = _native(pyarrow, plain)
                try:
                    yield native
                finally:
                    native.close()


def _native(pyarrow: ModuleType, path: str | os.PathLike[str]) -> Any:
    return pyarrow.OSFile(os.fsdecode(path))
