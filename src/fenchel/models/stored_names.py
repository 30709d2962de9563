"""Attribute names, possibly millions, as one array: UTF-8 texts, each followed by the byte 0xff, which does not occur in UTF-8,
padded with zeros to a multiple of 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fenchel.data.dtypes import is_signed_integer
from fenchel.errors import ModelFileError

END = b"\xff"
ITEM = 8


def packed_names(names: Sequence[str]) -> np.ndarray:
    """The names as one array.

    >>> unpacked_names("attributes", packed_names(["a", "bc"]), 2)
    ('a', 'bc')
    """
    return np.frombuffer(_packed(names), dtype="<i8")


def unpacked_names(what: str, array: np.ndarray, count: object) -> tuple[str, ...]:
    """The inverse; there must be `count` names, in the unique encoding."""
    if type(count) is not int or array.ndim != 1 or not is_signed_integer(array):
        raise ModelFileError(f"its {what} are not names")
    content = array.astype("<i8", copy=False).tobytes()
    names = tuple(text.decode("utf-8", "surrogatepass") for text in content.split(END)[:-1])
    if len(names) != count or _packed(names) != content:
        raise ModelFileError(f"its {what} are not in the unique encoding of names")
    return names


def _packed(names: Sequence[str]) -> bytes:
    content = b"".join([name.encode("utf-8", "surrogatepass") + END for name in names])
    return content + bytes(-len(content) % ITEM)
