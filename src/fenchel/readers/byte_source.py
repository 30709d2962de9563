"""Read bytes from a path or an open file, decompress them if necessary, and split them into blocks of whole lines.

Compressed files (gzip, bzip2 and xz) are recognised by their first bytes, not by their names. Memory is one block; a block
grows only for a line that is longer than it, up to `LONGEST_LINE`. Data that expand to hundreds of times their size are
not data in text form, and are refused.
"""

from __future__ import annotations

import bz2
import gzip
import io
import logging
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

from fenchel.errors import InputError, ReadError

LONGEST_LINE = 1 << 27
BOMB_RATIO, BOMB_BYTES = 200, 1 << 21  # a decompression bomb expands so many times, and to more than so many bytes
FOREIGN = {b"\x28\xb5\x2f\xfd": "zstandard", b"PK\x03\x04": "zip", b"PAR1": "Parquet", b"\x93NUM": "NumPy"}
COMPRESSIONS: dict[bytes, tuple[str, Any]] = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ\x00": ("xz", lzma.LZMAFile),
}
STEP = 1 << 20  # bytes decompressed at a time
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, OSError)
_LOG = logging.getLogger(__name__)


class LineTooLong(Exception):
    """A line that would need more memory than a block may take."""


class ByteSource(NamedTuple):
    """An open stream of plain bytes, its name for messages, and how it was compressed ("" if it was not)."""

    stream: Any
    name: str
    compression: str


class Block(NamedTuple):
    """Whole lines: data[begin:end], the last byte of which is a newline."""

    data: bytearray
    begin: int
    end: int


class _Joined(io.RawIOBase):
    """The bytes that were read ahead, followed by the rest of the file; closing it leaves the file open."""

    def __init__(self, head: bytes, file: BinaryIO):
        self._head = head
        self._file = file
        self.taken = 0  # bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._head and hasattr(self._file, "readinto"):
            count = self._file.readinto(buffer)
        else:
            data = self._head[: len(buffer)] or self._file.read(len(buffer))
            self._head = self._head[len(buffer) :]
            buffer[: len(data)] = data
            count = len(data)
        self.taken += count or 0
        return count


class _Watched(io.RawIOBase):
    """The output of a decompressor; raises if it is far larger than the input."""

    def __init__(self, inner: Any, joined: _Joined, name: str, compression: str):
        self._inner, self._joined, self._name, self._compression = inner, joined, name, compression
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._inner.readinto(memoryview(buffer)[:STEP])
        self._given += count
        if self._given > BOMB_BYTES and self._given > BOMB_RATIO * self._joined.taken:
            raise ReadError(
                f"{self._name}:1:1: the {self._compression} data expand to more than {BOMB_RATIO} times their size; "
                "if that is meant, decompress the file first"
            )
        return count


def source_name(path: Any) -> str:
    """The name with which error messages begin."""
    name = getattr(path, "name", "<stream>") if hasattr(path, "read") else os.fspath(path)
    return os.fsdecode(name) if isinstance(name, (str, bytes)) else "<stream>"


@contextmanager
def open_bytes(path: str | os.PathLike[str] | BinaryIO) -> Iterator[ByteSource]:
    """Open a path (or take an open binary file, which stays open) and decompress gzip, bzip2 and xz."""
    name = source_name(path)
    if hasattr(path, "read"):
        yield _decompressed(path, name)
    else:
        with open(path, "rb", buffering=0) as file:
            yield _decompressed(file, name)


def _decompressed(file: Any, name: str) -> ByteSource:
    head = b""
    while len(head) < 6 and (more := file.read(6 - len(head))):
        if not isinstance(more, bytes):
            raise InputError(f"path: {name} is open in text mode; open it with 'rb'")
        head += more
    joined = _Joined(head, file)
    for magic, (compression, opener) in COMPRESSIONS.items():
        if head.startswith(magic):
            inner = opener(io.BufferedReader(joined, 1 << 13))  # a small buffer, so that `taken` matches the output
            return ByteSource(_Watched(inner, joined, name, compression), name, compression)
    if foreign := FOREIGN.get(head[:4]):
        raise ReadError(f"{name}:1:1: this is a {foreign} file, expected svmlight text (plain, gzip, bzip2 or xz)")
    return ByteSource(joined, name, "")


def line_blocks(source: ByteSource, block_bytes: int, longest: int | None = None) -> Iterator[Block]:
    """Split the stream into blocks of whole lines, none longer than `longest`; a block is valid until the next is requested.

    A last line without a newline is accepted, because many writers omit the newline, but logged as a warning, because a plain
    text that was truncated inside its last number looks the same.
    """
    data, kept, begin = bytearray(block_bytes + 1), 0, None
    while True:
        space = len(data) - 1
        filled = kept + _fill(source, memoryview(data)[kept:space])
        if begin is None:
            begin = 3 if data.startswith(BYTE_ORDER_MARK) and filled >= 3 else None
        if filled < space:
            break
        end = data.rfind(b"\n", 0, filled) + 1
        if end:
            yield Block(data, begin or 0, end)
            begin, kept = 0, filled - end
            memoryview(data)[:kept] = memoryview(data)[end:filled]
        else:
            data, kept = _grown(data, LONGEST_LINE if longest is None else longest), filled
    if filled > (begin or 0):
        if data[filled - 1] != 10:
            _LOG.warning(
                "%s: the last line has no newline; if the file was truncated, its last number is wrong", source.name
            )
            data[filled] = 10
            filled += 1
        yield Block(data, begin or 0, filled)


def _fill(source: ByteSource, space: memoryview) -> int:
    filled = 0
    while filled < len(space) and (count := source.stream.readinto(space[filled:])) != 0:
        if count is None:
            raise InputError(
                f"path: {source.name} is in non-blocking mode and has no bytes yet; open it in blocking mode"
            )
        filled += count
    return filled


def _grown(data: bytearray, longest: int) -> bytearray:
    if len(data) > longest:
        raise LineTooLong(f"this line is longer than {longest} bytes; expected text with one row per line")
    return data + bytes(min(len(data), longest + 2 - len(data)))
