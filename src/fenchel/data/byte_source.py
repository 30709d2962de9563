"""Bytes from a path or an open file, decompressed by what they are and cut into blocks of whole lines.

A compressed file is known by its first bytes, not by its name: gzip, bzip2 and xz. Memory is one block; a block grows
only for a line that is longer than it, and no further than `LONGEST_LINE`.
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
FOREIGN = {b"\x28\xb5\x2f\xfd": "zstandard", b"PK\x03\x04": "zip", b"PAR1": "Parquet", b"\x93NUM": "NumPy"}
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
    """The bytes already looked at, followed by the rest of the file; closing it leaves the file open."""

    def __init__(self, head: bytes, file: Any):
        self._head = head
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._head and hasattr(self._file, "readinto"):
            return self._file.readinto(buffer)
        data = self._head[: len(buffer)] or self._file.read(len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def source_name(path: Any) -> str:
    """The name that error messages begin with."""
    name = getattr(path, "name", "<stream>") if hasattr(path, "read") else os.fspath(path)
    return os.fsdecode(name) if isinstance(name, (str, bytes)) else "<stream>"


@contextmanager
def open_bytes(path: str | os.PathLike[str] | BinaryIO) -> Iterator[ByteSource]:
    """Open a path (or take an open binary file, which stays open) and look through gzip, bzip2 and xz."""
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
    if head.startswith(b"\x1f\x8b"):
        return ByteSource(gzip.GzipFile(fileobj=io.BufferedReader(joined, 1 << 16)), name, "gzip")
    if head.startswith(b"BZh"):
        return ByteSource(bz2.BZ2File(io.BufferedReader(joined, 1 << 16)), name, "bzip2")
    if head.startswith(b"\xfd7zXZ\x00"):
        return ByteSource(lzma.LZMAFile(io.BufferedReader(joined, 1 << 16)), name, "xz")
    if foreign := FOREIGN.get(head[:4]):
        raise ReadError(f"{name}:1:1: this is a {foreign} file, expected svmlight text (plain, gzip, bzip2 or xz)")
    return ByteSource(joined, name, "")


def line_blocks(source: ByteSource, block_bytes: int) -> Iterator[Block]:
    """Cut the stream into blocks of whole lines; a block is valid until the next one is asked for.

    A last line without a newline is taken as it stands, because many writers leave the newline out, and logged,
    because a plain text cut off inside its last number looks just like that.
    """
    data, kept, begin = bytearray(block_bytes + 1), 0, None
    while True:
        room = len(data) - 1
        filled = kept + _fill(source, memoryview(data)[kept:room])
        if begin is None:
            begin = 3 if data.startswith(BYTE_ORDER_MARK) and filled >= 3 else None
        if filled < room:
            break
        end = data.rfind(b"\n", 0, filled) + 1
        if end:
            yield Block(data, begin or 0, end)
            begin, kept = 0, filled - end
            memoryview(data)[:kept] = memoryview(data)[end:filled]
        else:
            data, kept = _grown(data), filled
    if filled > (begin or 0):
        if data[filled - 1] != 10:
            _LOG.warning(
                "%s: the last line has no newline; if the file was cut off, its last number is wrong", source.name
            )
            data[filled] = 10
            filled += 1
        yield Block(data, begin or 0, filled)


def _fill(source: ByteSource, room: memoryview) -> int:
    filled = 0
    while filled < len(room) and (count := source.stream.readinto(room[filled:])) != 0:
        if count is None:
            raise InputError(
                f"path: {source.name} is in non-blocking mode and has no bytes yet; open it in blocking mode"
            )
        filled += count
    return filled


def _grown(data: bytearray) -> bytearray:
    if len(data) > LONGEST_LINE:
        raise LineTooLong(f"this line is longer than {LONGEST_LINE} bytes; expected text with one row per line")
    return data + bytes(min(len(data), LONGEST_LINE + 2 - len(data)))
