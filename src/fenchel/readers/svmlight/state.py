"""The state of the svmlight parser: counters, status codes, and the buffers to which rows are written."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# The state carried between calls.
POSITION, LINE, ROWS, STORED, HARD_TOKENS, STATUS, QID_MODE, HAS_ZERO, GREATEST, LIMIT_LINE, LIMIT_COLUMN = range(11)
STATE_SIZE = 11

# STATUS.
DONE, FULL = 0, 1
BAD_LABEL, BAD_QID, BAD_PAIR, BAD_VALUE, BAD_INDEX_SIZE, BAD_INDEX_BASE, BAD_INDEX_LIMIT = range(2, 9)
DUPLICATE, LABEL_OVERFLOW, VALUE_OVERFLOW, NUL_BYTE, LONE_RETURN, QID_MISSING, QID_UNEXPECTED, BAD_UTF8 = range(9, 17)

# QID_MODE: AUTO becomes REQUIRED or ABSENT at the first row.
QID_AUTO, QID_REQUIRED, QID_ABSENT, QID_IGNORED = range(4)

# The last column of a hard token: an index as written, or this.
IN_LABEL = -1


class RowBuffers(NamedTuple):
    """Output buffers: `*_bits` are uint64 views of the same memory; `hard` holds (begin, end, row, index)."""

    labels: np.ndarray
    label_bits: np.ndarray
    qids: np.ndarray
    row_ends: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    value_bits: np.ndarray
    hard: np.ndarray


class Limits(NamedTuple):
    """The smallest and largest index allowed, as written in the file, and the smallest magnitude that is too large."""

    least: int
    greatest: int
    magnitude: float


def row_buffers(rows: int, stored: int, hard: int) -> RowBuffers:
    labels, values = np.empty(rows), np.empty(stored)
    qids, row_ends = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    indices, tokens = np.empty(stored, dtype=np.int64), np.empty((hard, 4), dtype=np.int64)
    return RowBuffers(labels, labels.view("u8"), qids, row_ends, indices, values, values.view("u8"), tokens)
