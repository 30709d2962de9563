"""The container format of model files and checkpoints: a JSON header, raw arrays, a checksum of everything, no executable code.

    offset  bytes  content
    0       8      the magic number 0x89 "FENCHEL"
    8       4      format version, little-endian
    12      4      length h of the header, little-endian, a multiple of 8
    16      h      header: canonical JSON (sorted keys, no spaces, ASCII), padded with spaces; its "arrays" is a list of
                   [name, dtype, shape] with dtype "<f8" or "<i8"
    16 + h  ...    the arrays in that order, little-endian, C order, with nothing between them
    end-32  32     sha256 of all bytes before it

The encoding of given content is unique, and `decode` accepts no other: re-encoding the header must reproduce it (which rules
out duplicate keys, NaN and spaces), and the arrays, which have no offsets and so cannot overlap, must fill the file exactly.
Sizes are compared with the size of the file before memory is allocated.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from fenchel.errors import ModelFileError

MAGIC = b"\x89FENCHEL"
FORMAT = 1
PRELUDE = struct.Struct("<8sII")
DIGEST = hashlib.sha256().digest_size
DTYPES = ("<f8", "<i8")
ITEM = 8
STORED = {"f": "<f8", "i": "<i8", "u": "<i8"}  # the dtype in the file, by the kind of the dtype in memory
LONGEST_HEADER = 1 << 24
DEEPEST_HEADER = 16
LONGEST_AXIS = 1 << 40


def encode(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> list[bytes | memoryview]:
    """The contents of a file, as parts to be written one after the other.

    >>> parts = encode({"n": 1}, {"a": np.array([2.0])})
    >>> b"".join(parts)[:8], len(b"".join(parts)) % 8
    (b'\\x89FENCHEL', 0)
    """
    stored = {name: np.asarray(array, dtype=_dtype_of(name, array), order="C") for name, array in arrays.items()}
    listing = [[name, array.dtype.str, list(array.shape)] for name, array in stored.items()]
    text = _canonical({**header, "arrays": listing})
    if len(text) > LONGEST_HEADER:
        raise ModelFileError(f"the header takes {len(text)} bytes, more than {LONGEST_HEADER}: shorten its names")
    parts: list[bytes | memoryview] = [PRELUDE.pack(MAGIC, FORMAT, len(text)), text]
    parts += [array.reshape(-1).view(np.uint8).data for array in stored.values()]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return [*parts, digest.digest()]


def decode(file: BinaryIO, size: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """(header without "arrays", read-only arrays) from a file of `size` bytes; ModelFileError if anything is invalid."""
    prelude = _exactly(file, PRELUDE.size, "its first 16 bytes")
    magic, version, length = PRELUDE.unpack(prelude)
    if magic != MAGIC:
        raise ModelFileError("it is not a Fenchel file")
    if version != FORMAT:
        raise ModelFileError(
            f"it has format version {version}, and this Fenchel reads version {FORMAT}: use a newer Fenchel "
            "(if none reads it, the file is damaged)"
        )
    if length % ITEM or length > LONGEST_HEADER or PRELUDE.size + length + DIGEST > size:
        raise ModelFileError(f"its header cannot have {length} bytes: it is truncated or damaged")
    text = _exactly(file, length, "its header")
    header = _parsed(text)
    layout = _layout(header.pop("arrays", None))
    stored = sum(count * ITEM for _, _, _, count in layout)
    if stored != size - PRELUDE.size - length - DIGEST:
        raise ModelFileError(f"its arrays take {stored} bytes, which does not match its size of {size}: it is damaged")
    body = _exactly(file, stored, "its arrays")
    trailer = _exactly(file, DIGEST, "its checksum")
    digest = hashlib.sha256(prelude)
    digest.update(text)
    digest.update(body)
    if digest.digest() != trailer:
        raise ModelFileError("its checksum does not match its content: it was damaged or tampered with")
    return header, _arrays(body, layout)


def _exactly(file: BinaryIO, count: int, what: str) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise ModelFileError(f"it ends before {what}: it is truncated")
    return data


def _dtype_of(name: str, array: np.ndarray) -> str:
    stored = STORED.get(array.dtype.kind)
    if stored is None or array.dtype.itemsize > ITEM:
        raise ModelFileError(f"{name} has dtype {array.dtype}, and only real numbers of at most 64 bits can be written")
    return stored


def _canonical(content: object) -> bytes:
    """The unique encoding of this content, padded so that the arrays after it are aligned."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")
    return text + b" " * (-len(text) % ITEM)


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        content = json.loads(text.decode("ascii"), parse_constant=_refuse)
        if _depth(content) > DEEPEST_HEADER:
            raise ModelFileError(f"its header is nested deeper than {DEEPEST_HEADER} levels")
        same = _canonical(content) == text
    except (ValueError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError("its header is not valid JSON") from None
    if not same or not isinstance(content, dict):
        raise ModelFileError("its header is not canonical JSON (duplicate keys, spaces or another order)")
    return content


def _refuse(token: str) -> Any:
    raise ModelFileError(f"its header contains {token}, which is not JSON")


def _depth(content: object) -> int:
    if isinstance(content, dict):
        content = list(content.values())
    return 1 + max((_depth(part) for part in content), default=0) if isinstance(content, list) else 0


def _layout(listing: object) -> list[tuple[str, str, tuple[int, ...], int]]:
    """(name, dtype, shape, number of entries) of every array, or ModelFileError."""
    if not isinstance(listing, list):
        raise ModelFileError("its header has no list of arrays")
    layout = []
    for entry in listing:
        match entry:
            case [str(name), str(dtype), list(shape)] if dtype in DTYPES and len(shape) <= 2 and _are_lengths(shape):
                layout.append((name, dtype, tuple(shape), math.prod(shape)))
            case _:
                raise ModelFileError(f"its header describes an invalid array: {str(entry)[:80]}")
    if len({name for name, *_ in layout}) != len(layout):
        raise ModelFileError("its header lists an array twice")
    return layout


def _are_lengths(shape: list[Any]) -> bool:
    return all(type(axis) is int and 0 <= axis <= LONGEST_AXIS for axis in shape)


def _arrays(body: bytes, layout: list[tuple[str, str, tuple[int, ...], int]]) -> dict[str, np.ndarray]:
    arrays, offset = {}, 0
    for name, dtype, shape, count in layout:
        array = np.frombuffer(body, dtype=dtype, count=count, offset=offset).reshape(shape)
        # A copy only on a machine with the other byte order; the view of `body` is read-only.
        arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
        offset += count * ITEM
    return arrays
