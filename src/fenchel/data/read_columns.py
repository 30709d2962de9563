"""Read CoNLL column files: a token per line, its columns separated by blanks or tabs, an empty line between sentences.

gzip, bzip2 and xz are known by their first bytes. Only ASCII blanks and tabs separate columns: a no-break space belongs to its
word. There are no comments: "#" is a token of many corpora. A malformed file is refused with `name:line:`.
"""

from __future__ import annotations

import operator
import os
from typing import Any, BinaryIO, NamedTuple

from fenchel.data.byte_source import BYTE_ORDER_MARK, DAMAGED, ByteSource, open_bytes
from fenchel.errors import InputError, ReadError

Sentence = list[list[str]]


class ColumnData(NamedTuple):
    """`sentences[i][t]` are all columns of token t, its label among them; `labels[i][t]` is its label (None: not read)."""

    sentences: list[Sentence]
    labels: list[list[str]] | None
    width: int
    label_column: int | None


class _Texts(dict):
    """One string per different field, decoded when it is first met: a corpus has few different words."""

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
        name, text = source.name, _content(source)
    sentences, width = _sentences(text, name)
    if label_column is None:
        return ColumnData(sentences, None, width, None)
    column = _label_column(label_column, width, name)
    return ColumnData(sentences, [[row[column] for row in rows] for rows in sentences], width, column)


def _content(source: ByteSource) -> bytes:
    try:
        text = source.stream.read()
    except DAMAGED as error:
        if not source.compression or getattr(error, "errno", None) is not None:
            raise
        raise ReadError(f"{source.name}:1: the {source.compression} data are damaged or cut off ({error})") from error
    return text.removeprefix(BYTE_ORDER_MARK)


def _sentences(text: bytes, name: str) -> tuple[list[Sentence], int]:
    field = _Texts().__getitem__
    sentences: list[Sentence] = []
    rows: Sentence = []
    width = 0
    for number, line in enumerate(text.split(b"\n"), start=1):
        try:
            row = list(map(field, line.split()))
        except UnicodeDecodeError as error:
            raise ReadError(f"{name}:{number}: {error.object!r} is not UTF-8; expected UTF-8 text") from None
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


def _label_column(label_column: Any, width: int, name: str) -> int:
    try:
        column = operator.index(label_column)
    except TypeError:
        raise InputError(f"label_column must be None or the number of a column, got {label_column!r}") from None
    if not -width <= column < width:
        raise ReadError(f"{name}:1: label_column is {column}, but there are {_count(width)}")
    if width == 1:
        raise ReadError(f"{name}:1: only one column; expected the label in a column of its own, after the word")
    return column % width


def _count(width: int) -> str:
    return f"{width} column" + "s" * (width != 1)


def _shown(row: list[str]) -> str:
    text = " ".join(row)
    return repr(text if len(text) <= 60 else text[:60] + "...")
