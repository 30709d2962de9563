"""Run `parse_rows` over the blocks of a file and return the rows piece by piece, in bounded memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fenchel.errors import ReadError
from fenchel.readers.byte_source import DAMAGED, Block, ByteSource, LineTooLong, line_blocks
from fenchel.readers.svmlight import state as codes
from fenchel.readers.svmlight.decimal import power_tables
from fenchel.readers.svmlight.errors import describe, read_error
from fenchel.readers.svmlight.parse import parse_rows

# 256 k entries: buffers of 4 MB, which stay in the cache while they are filled and copied.
PIECE_ROWS, PIECE_ENTRIES, PIECE_HARD = 1 << 16, 1 << 18, 1 << 10


class Piece(NamedTuple):
    """Parsed rows, as views of the buffers: indices as written in the file, `row_ends` relative to the piece."""

    labels: np.ndarray
    qids: np.ndarray
    row_ends: np.ndarray
    indices: np.ndarray
    values: np.ndarray


class RowReader:
    """Reads the rows of one svmlight stream in order; `state` is that of the parser."""

    def __init__(self, source: ByteSource, block_bytes: int, limits: codes.Limits, qid_mode: int):
        self.source = source
        self.limits = limits
        self.state = np.zeros(codes.STATE_SIZE, dtype=np.int64)
        self.state[codes.QID_MODE] = qid_mode
        self.state[codes.GREATEST] = -1
        self._blocks = line_blocks(source, block_bytes)
        self._block = Block(bytearray(), 0, 0)
        self._out = codes.row_buffers(PIECE_ROWS, PIECE_ENTRIES, PIECE_HARD)

    def next_piece(self, max_rows: int = PIECE_ROWS) -> Piece | None:
        """At least one and at most `max_rows` rows, or None at the end; valid until the next call."""
        while True:
            if self.state[codes.POSITION] >= self._block.end and not self._next_block():
                return None
            before = self.state[codes.POSITION]
            rows = self._parse(min(max_rows, len(self._out.labels)))
            if rows:
                return self._piece(rows)
            if self.state[codes.POSITION] == before:  # one row does not fit into the buffers
                entries, hard = 2 * len(self._out.values), 2 * len(self._out.hard)
                self._out = codes.row_buffers(PIECE_ROWS, entries, hard)

    def _next_block(self) -> bool:
        try:
            block = next(self._blocks, None)
        except LineTooLong as error:
            raise read_error(self.source.name, int(self.state[codes.LINE]) + 1, 1, str(error)) from error
        except DAMAGED as error:
            if not self.source.compression or getattr(error, "errno", None) is not None:
                raise
            line = int(self.state[codes.LINE])
            message = f"the {self.source.compression} data are damaged or truncated after this line ({error})"
            raise read_error(self.source.name, line + 1, 1, message) from error
        if block is None:
            return False
        self._block = block
        self.state[codes.POSITION] = block.begin
        return True

    def _parse(self, max_rows: int) -> int:
        begin, line = int(self.state[codes.POSITION]), int(self.state[codes.LINE]) + 1
        data = np.frombuffer(self._block.data, dtype=np.uint8)
        parse_rows(data, self._block.end, max_rows, self._out, power_tables(), self.limits, self.state)
        self._round_hard_tokens(begin, line)
        status, at = int(self.state[codes.STATUS]), int(self.state[codes.POSITION])
        if status not in (codes.DONE, codes.FULL):
            raise self._error(status, at, begin, line)
        return int(self.state[codes.ROWS])

    def _error(self, status: int, at: int, begin: int, line: int) -> ReadError:
        data = self._block.data
        line += data.count(b"\n", begin, at)
        return describe(status, data, self._block.begin, at, self.source.name, line, self.limits)

    def _round_hard_tokens(self, first: int, line: int) -> None:
        """Parse the few tokens that the kernel could not round with certainty by Python's `float`."""
        out, rows = self._out, self.state[codes.ROWS]
        for begin, end, row, index in out.hard[: self.state[codes.HARD_TOKENS]].tolist():
            value = float(bytes(self._block.data[begin:end]))
            largest = np.inf if index == codes.IN_LABEL else self.limits.magnitude
            if abs(value) >= largest:
                status = codes.LABEL_OVERFLOW if index == codes.IN_LABEL else codes.VALUE_OVERFLOW
                raise self._error(status, begin, first, line)
            if row < rows and index == codes.IN_LABEL:
                out.labels[row] = value
            elif row < rows:
                # By index and not by position, because the row may have been sorted since.
                start = out.row_ends[row - 1] if row else 0
                out.values[start + np.searchsorted(out.indices[start : out.row_ends[row]], index)] = value

    def _piece(self, rows: int) -> Piece:
        stored, out = int(self.state[codes.STORED]), self._out
        return Piece(out.labels[:rows], out.qids[:rows], out.row_ends[:rows], out.indices[:stored], out.values[:stored])
