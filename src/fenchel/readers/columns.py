"""Read CoNLL column files: a token per line, its columns separated by spaces or tabs, an empty line between sentences.

gzip, bzip2 and xz are recognised by their first bytes. Only ASCII spaces and tabs separate columns: a no-break space is part of
its word. There are no comments: "#" is a token in many corpora. A malformed file is refused with `name:line:`.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

from fenchel.errors import InputError, ReadError
from fenchel.readers.byte_source import DAMAGED, ByteSource, LineTooLong, line_blocks, open_bytes

Sentence = list[list[str]]

BLOCK = LONGEST_LINE = 1 << 20  # bytes


class ColumnData(NamedTuple):
    """`sentences[i][t]` are all columns of token t, including its label; `labels[i][t]` is its label (None: not read)."""

    sentences: list[Sentence]
    labels: list[list[str]] | None
    width: int
    label_column: int | None


class _Texts(dict):
    """A cache of decoded fields: a corpus has few distinct words."""

    def __missing__(self, field: bytes) -> str:
        text = self[field] = field.decode("utf-8")
        return text


def read_columns(path: str | os.PathLike[str] | BinaryIO, label_column: int | None = -1) -> ColumnData:
    """Sentences of tokens, each a list of columns, and the labels in `label_column`; None: the file has no labels.

    Columns count from 0, from the end if negative. Every token must have as many columns as the first.

    >>> import io
    >>> data = read_columns(io.BytesIO(b"the DT B-NP\\ndog NN I-NP\\n\\nit PRP B-NP\\n"))
    >>> data.sentences[0], data.labels
    ([['the', 'DT', 'B-NP'], ['dog', 'NN', 'I-NP']], [['B-NP', 'I-NP'], ['B-NP']])
    """
    with open_bytes(path) as source:
        name, (sentences, width) = source.name, _sentences(source)
    if label_column is None:
        return ColumnData(sentences, None, width, None)
    column = _label_column(label_column, width, name)
    return ColumnData(sentences, [[row[column] for row in rows] for rows in sentences], width, column)


def _lines(source: ByteSource) -> Iterator[tuple[int, list[bytes]]]:
    """(number of the first line, lines), one block at a time."""
    number = 0
    try:
        for block in line_blocks(source, BLOCK, LONGEST_LINE):
            lines = bytes(memoryview(block.data)[block.begin : block.end - 1]).split(b"\n")
            yield number + 1, lines
            number += len(lines)
    except LineTooLong as error:
        raise ReadError(f"{source.name}:{number + 1}: {error}") from error
    except DAMAGED as error:
        if not source.compression or getattr(error, "errno", None) is not None:
            raise
        raise ReadError(
            f"{source.name}:{number + 1}: the {source.compression} data are damaged or truncated ({error})"
        ) from error


def _sentences(source: ByteSource) -> tuple[list[Sentence], int]:
    field, name = _Texts().__getitem__, source.name
    sentences: list[Sentence] = []
    rows: Sentence = []
    width = 0
    for first, lines in _lines(source):
        for number, line in enumerate(lines, start=first):
            row = _row(line, field, name, number) if line else None
            if not row:
                if rows:
                    sentences.append(rows)
                    rows = []
                continue
            if len(row) != width:
                if width:
                    raise ReadError(
                        f"{name}:{number}: {_count(len(row))}, but the lines before have {width}: {_shown(row)}"
                    )
                width = len(row)
            rows.append(row)
    if rows:
        sentences.append(rows)
    if not sentences:
        raise ReadError(f"{name}:1: there are no tokens in this file; expected a token per line")
    return sentences, width


def _row(line: bytes, field: Callable[[bytes], str], name: str, number: int) -> list[str]:
    try:
        return list(map(field, line.split()))
    except UnicodeDecodeError as error:
        raise ReadError(f"{name}:{number}: {error.object!r} is not UTF-8; expected UTF-8 text") from None


def _label_column(label_column: Any, width: int, name: str) -> int:
    try:
        column = operator.index(label_column)
    except TypeError:
        raise InputError(f"label_column must be None or the number of a column, got {label_column!r}") from None
    if not -width <= column < width:
        raise ReadError(f"{name}:1: label_column is {column}, but there are {_count(width)}")
    if width == 1:
        raise ReadError(f"{name}:1: only one column; expected the label in a separate column, after the word")
    return column % width


def _count(width: int) -> str:
    return f"{width} column" + "s" * (width != 1)


def _shown(row: list[str]) -> str:
    text = " ".join(row)
    return repr(text if len(text) <= 60 else text[:60] + "...")
