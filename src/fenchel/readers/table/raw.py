"""Read a whole table as it is, every cell of text as text: for tables whose columns are still to be understood.

All malformed lines of a file are reported together, with their numbers.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.errors import InputError, ReadError
from fenchel.readers.byte_source import DAMAGED, open_bytes
from fenchel.readers.table.csv_text import unguarded
from fenchel.readers.table.names import looks_like_a_row
from fenchel.readers.table.source import TableSource
from fenchel.tables.columns import NUMBER, Column, columns_of, text_column

DELIMITERS = ",;\t|"
NAMED_DELIMITERS = {"tab": "\t", r"\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
SNIFFED_LINES, SNIFFED_BYTES = 50, 1 << 16
SHOWN = 10
STEP = 1 << 20
_CODE = r"^[+-]?0\d+$"  # an integer with a leading zero is a name
_GROUPED = r"^[+-]?\d{1,3}(\.\d{3})+$"  # with a decimal comma elsewhere, points separate thousands


@dataclass(frozen=True)
class RawTable:
    """The columns of a table by name. `line_of(k)` says where row k is, for messages."""

    name: str
    columns: dict[str, Column]
    lines: bool  # whether row k is line k + 2 of a text

    @property
    def n(self) -> int:
        """The number of rows."""
        return next(iter(self.columns.values())).values.size

    def where(self, row: int) -> str:
        """The place of a row, counted from 0."""
        return f"line {row + 2}" if self.lines else f"row {row + 1}"


def read_raw(
    source: str | os.PathLike[str] | bytes,
    kind: str,
    delimiter: str | None = None,
    encoding: str | None = None,
    name: str | None = None,
) -> RawTable:
    """A table in memory. `delimiter` and `encoding` (UTF-8) of texts are found or assumed if they are None.

    >>> found = read_raw(b"a;b\\n1,5;x\\n2,5;y\\n", "csv")
    >>> list(found.columns), found.columns["b"].levels, found.where(0)
    (['a', 'b'], ('x', 'y'), 'line 2')
    """
    table = TableSource(source, kind, name)
    if not table.is_text:
        if delimiter is not None or encoding is not None:
            raise InputError(f"--delimiter and --encoding are for text, but {table.name} is a Parquet file")
        return RawTable(table.name, _named(table.name, _of_parquet(table)), False)
    table.warn_if_truncated()
    text = _as_utf8(_plain_bytes(table), encoding, table.name)
    sign = NAMED_DELIMITERS.get(delimiter or "", delimiter) or ("\t" if table.delimiter == "\t" else sniffed(text))
    if len(sign) != 1:
        raise InputError(
            f"--delimiter must be a single character, or tab, comma, semicolon or space, got {delimiter!r}"
        )
    return _of_text(text, sign, table.name)


def _of_parquet(table: TableSource) -> dict[str, Column]:
    parts = list(table.batches())
    import pyarrow

    return columns_of(pyarrow.Table.from_batches(parts))


def _plain_bytes(table: TableSource) -> bytes:
    source: Any = io.BytesIO(table.source) if isinstance(table.source, bytes) else table.source
    with open_bytes(source) as found:
        parts = []
        try:
            while part := found.stream.read(STEP):
                parts.append(part)
        except DAMAGED as error:
            if not found.compression or getattr(error, "errno", None) is not None:
                raise
            raise InputError(f"{table.name}: the {found.compression} data are damaged or truncated") from error
    return b"".join(parts)


def _as_utf8(data: bytes, encoding: str | None, name: str) -> bytes:
    if encoding is None and data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    try:
        text = data.decode(encoding or "utf-8-sig")
    except LookupError:
        raise InputError(f"--encoding {encoding}: unknown; try utf-8, latin-1, cp1252 or utf-16") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ReadError(
            f"{name}:{line}: the byte 0x{data[error.start]:02x} is not valid {encoding or 'UTF-8'}; name the encoding of the "
            "file, as in --encoding cp1252 (Windows) or --encoding latin-1"
        ) from None
    return text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").encode("utf-8", "surrogatepass")


def sniffed(text: bytes) -> str:
    """The sign between columns: one that splits the first lines into equally many fields, as many as possible.

    >>> sniffed(b"a;b;c\\n1,5;2;3\\n"), sniffed(b"a,b\\n1,2\\n"), sniffed(b"just one column\\n")
    (';', ',', ',')
    """
    head = text[:SNIFFED_BYTES].decode("utf-8", "replace").splitlines()
    whole = head[: SNIFFED_LINES if len(text) <= SNIFFED_BYTES else max(1, min(SNIFFED_LINES, len(head) - 1))]

    def quality(sign: str) -> tuple[float, int]:
        widths = [len(row) for row in csv.reader(whole, delimiter=sign) if row]
        if not widths or widths[0] < 2:
            return 0.0, 0
        return sum(width == widths[0] for width in widths) / len(widths), widths[0]

    try:
        return max(DELIMITERS, key=quality)  # of equal ones the first: a comma
    except csv.Error:
        return ","


def _of_text(text: bytes, delimiter: str, name: str) -> RawTable:
    try:
        import pyarrow
        import pyarrow.csv
    except ImportError:
        raise InputError(f"reading {name} needs pyarrow: pip install 'fenchel[tables]'") from None
    names = _header(text, delimiter, name)
    bad: list[Any] = []
    read = pyarrow.csv.ReadOptions(column_names=names, skip_rows_after_names=1, use_threads=False)

    def skip(row: Any) -> str:
        bad.append(row)
        return "skip"

    parse = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=skip)
    types = dict.fromkeys(names, pyarrow.string())
    convert = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    try:
        found = pyarrow.csv.read_csv(pyarrow.BufferReader(text), read, parse, convert)
    except pyarrow.ArrowInvalid as error:
        raise InputError(f"{name} cannot be read: {str(error).strip()}") from None
    if bad:
        raise ReadError(_complaint(name, bad, text, delimiter))
    if found.num_rows == 0:
        raise InputError(f"{name} has no rows")
    lines = text.rstrip(b"\r\n").count(b"\n") == found.num_rows
    return RawTable(name, {one: _column(pyarrow, found.column(one)) for one in names}, lines)


def _header(text: bytes, delimiter: str, name: str) -> list[str]:
    first = next(csv.reader(_lines(text), delimiter=delimiter), None)
    if not first:
        raise InputError(f"{name} has no rows")
    names = [unguarded(cell.strip()) for cell in first]
    if looks_like_a_row(names):
        raise InputError(
            f"{name}: its first line, {', '.join(names[:4])}, ..., looks like a row: put a line with the names of the columns "
            "above it"
        )
    _refuse_twins(name, names)
    return names


def _lines(text: bytes) -> Iterator[str]:
    """The lines of the text, which are decoded one by one: only the header is needed."""
    with io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", errors="replace", newline="") as lines:
        yield from lines


def _named(name: str, columns: dict[str, Column]) -> dict[str, Column]:
    _refuse_twins(name, list(columns))
    return columns


def _refuse_twins(name: str, names: list[str]) -> None:
    twice = next((one for one in names if names.count(one) > 1), None)
    if twice is not None:
        raise InputError(f"{name} has several columns with the name {twice!r}: every column needs its own")


def _complaint(name: str, bad: list[Any], text: bytes, delimiter: str) -> str:
    """All malformed lines in one message. pyarrow counts rows; without line breaks in cells these are lines."""
    places = ", ".join(f"{row.number if row.number is not None else '?'} ({row.actual_columns})" for row in bad[:SHOWN])
    more = f", ... ({len(bad)} in all)" if len(bad) > SHOWN else ""
    sign = {"\t": "tab"}.get(delimiter, delimiter)
    return (
        f"{name}: {len(bad)} line{'s do' if len(bad) > 1 else ' does'} not have {bad[0].expected_columns} columns, as the "
        f"header has; line (columns): {places}{more}. The sign between columns is {sign!r}: if that is wrong, use --delimiter"
    )


def _column(pyarrow: Any, column: Any) -> Column:
    import pyarrow.compute as compute

    column = column.combine_chunks()
    if (fast := _plain_numbers(pyarrow, compute, column)) is not None:
        return fast
    words = column.to_pylist()
    if any(word.startswith("'") for word in set(words)):
        words = [unguarded(word) for word in words]
    return text_column(words)


def _plain_numbers(pyarrow: Any, compute: Any, column: Any) -> Column | None:
    """The column as numbers, if all cells are numbers in Python's way of writing or empty; None otherwise."""
    cells = compute.utf8_trim_whitespace(column)
    filled = compute.if_else(compute.equal(cells, ""), None, cells)
    if filled.null_count == len(filled):
        return None
    try:
        values = compute.cast(filled, pyarrow.float64())
    except pyarrow.ArrowInvalid:
        return None
    pointed = compute.filter(filled, compute.fill_null(compute.match_substring(filled, "."), False))
    if compute.any(compute.match_substring_regex(filled, _CODE)).as_py():
        return None
    if len(pointed) and compute.all(compute.match_substring_regex(pointed, _GROUPED)).as_py():
        return None
    found = values.to_numpy(zero_copy_only=False).astype(float)
    return Column(NUMBER, np.where(np.isfinite(found), found, np.nan))
