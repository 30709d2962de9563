"""Parse lines of svmlight text to rows, in one compiled pass over the bytes.

    <label> [qid:<integer>] <index>:<value> ... [# comment]

`parse_rows` starts and stops at the beginning of a line: at the end of the bytes, at the first error, or when the output is
full. Its output depends on the lines alone, never on the boundaries of blocks. It creates no messages: it returns a status code
and a position, and `errors.py` reads the line again to describe the error.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.compile.kernel import kernel
from fenchel.data.sort_pairs import sort_pairs
from fenchel.readers.svmlight.decimal import (
    DECIDED,
    HARD,
    TEN_18,
    TWO_53,
    U0,
    U1,
    U10,
    U48,
    scan_decimal,
    store_decimal,
)
from fenchel.readers.svmlight.state import (
    BAD_INDEX_BASE,
    BAD_INDEX_LIMIT,
    BAD_INDEX_SIZE,
    BAD_LABEL,
    BAD_PAIR,
    BAD_QID,
    BAD_UTF8,
    BAD_VALUE,
    DONE,
    DUPLICATE,
    FULL,
    GREATEST,
    HARD_TOKENS,
    HAS_ZERO,
    IN_LABEL,
    LABEL_OVERFLOW,
    LIMIT_COLUMN,
    LIMIT_LINE,
    LINE,
    LONE_RETURN,
    NUL_BYTE,
    POSITION,
    QID_ABSENT,
    QID_AUTO,
    QID_MISSING,
    QID_MODE,
    QID_REQUIRED,
    QID_UNEXPECTED,
    ROWS,
    STATUS,
    STORED,
    VALUE_OVERFLOW,
)
from fenchel.readers.utf8 import utf8_length

LARGEST_INDEX = np.uint64(2**62)
INDEX_CAN_GROW = np.uint64((2**62) // 10)
LARGEST_QID = np.uint64(2**63 - 1)
QID_CAN_GROW = np.uint64((2**63 - 1) // 10)


@kernel
def parse_rows(buf, end, max_rows, out, tables, limits, state):
    """Parse the lines of buf[state[POSITION]:end] (the last byte is a newline) into `out`, at most `max_rows` rows."""
    p = np.uint64(state[POSITION])
    state[ROWS] = state[STORED] = state[HARD_TOKENS] = state[STATUS] = 0
    while p < np.uint64(end):  # a line each
        start, hard = p, state[HARD_TOKENS]
        p = skip_blanks(buf, p)
        stored, status = state[STORED], DONE
        is_row = not ends_row(buf[p])
        if is_row:
            if state[ROWS] >= max_rows:
                status = FULL
            else:
                p, stored, status = parse_row(buf, start, p, out, tables, limits, state)
        if status == DONE:
            p, status = finish_line(buf, p)
        if status != DONE:
            if status == FULL:
                p, state[HARD_TOKENS] = start, hard
            state[STATUS] = status
            break
        if is_row:
            out.row_ends[np.uint64(state[ROWS])] = stored
            state[STORED] = stored
            state[ROWS] += 1
        state[LINE] += 1
    state[POSITION] = p


@helper
def skip_blanks(buf, p):
    while buf[p] == 32 or buf[p] == 9:  # p rises, to a newline at the latest
        p += U1
    return p


@helper
def ends_row(byte):
    """Newline, carriage return or the start of a comment."""
    return byte == 10 or byte == 13 or byte == 35


@helper
def ends_token(byte):
    return byte == 32 or byte == 9 or byte == 10 or byte == 13 or byte == 35


@helper
def finish_line(buf, p):
    """Skip a comment after the end of a row, up to the next line -> (position, status)."""
    if buf[p] == 35:
        while buf[p] != 10:  # p rises, to a newline at the latest
            if buf[p] == 0:
                return p, NUL_BYTE
            length = utf8_length(buf, p)
            if length == 0:
                return p, BAD_UTF8
            p += np.uint64(length)
    if buf[p] == 13:
        if buf[p + U1] != 10:
            return p, LONE_RETURN
        p += U1
    return p + U1, DONE


@helper
def note_hard(hard, state, begin, end, index):
    """Record a token that Python must parse; False if the list is full."""
    k = np.uint64(state[HARD_TOKENS])
    if k >= np.uint64(len(hard)):
        return False
    hard[k, 0], hard[k, 1], hard[k, 2], hard[k, 3] = begin, end, state[ROWS], index
    state[HARD_TOKENS] += 1
    return True


@helper
def parse_row(buf, start, p, out, tables, limits, state):
    """Label, qid and pairs at p -> (position, stored entries, status)."""
    begin, stored = p, state[STORED]
    found, p, mantissa, exponent, negative, truncated = scan_decimal(buf, p)
    if not found or not ends_token(buf[p]):
        return begin, stored, BAD_LABEL
    row = np.uint64(state[ROWS])
    decided = store_decimal(mantissa, exponent, negative, truncated, tables, out.labels, out.label_bits, row)
    if decided == HARD:
        if not note_hard(out.hard, state, begin, p, IN_LABEL):
            return begin, stored, FULL
    elif decided != DECIDED:
        return begin, stored, LABEL_OVERFLOW
    p, status = parse_qid(buf, skip_blanks(buf, p), out.qids, row, state)
    if status != DONE:
        return p, stored, status
    return parse_pairs(buf, start, p, out, tables, limits, state)


@helper
def parse_qid(buf, p, qids, row, state):
    """An optional qid:<integer> at p -> (position, status)."""
    begin, mode = p, state[QID_MODE]
    present = buf[p] == 113 and buf[p + U1] == 105 and buf[p + U1 + U1] == 100
    if mode == QID_AUTO:
        state[QID_MODE] = mode = QID_REQUIRED if present else QID_ABSENT
    if not present:
        return p, QID_MISSING if mode == QID_REQUIRED else DONE
    if mode == QID_ABSENT:
        return p, QID_UNEXPECTED
    p += np.uint64(3)
    if buf[p] != 58:
        return begin, BAD_QID
    p += U1
    negative = buf[p] == 45
    if negative or buf[p] == 43:
        p += U1
    digits, qid = p, U0
    while buf[p] >= 48 and buf[p] <= 57:  # p rises, to a newline at the latest
        if qid > QID_CAN_GROW:
            return begin, BAD_QID
        qid = qid * U10 + (np.uint64(buf[p]) - U48)
        p += U1
    if p == digits or qid > LARGEST_QID or not ends_token(buf[p]):
        return begin, BAD_QID
    qids[row] = -np.int64(qid) if negative else np.int64(qid)
    return p, DONE


@helper
def parse_pairs(buf, start, p, out, tables, limits, state):
    """index:value pairs to the end of the row -> (position, stored entries, status); sorted, without duplicates."""
    first = np.uint64(state[STORED])
    indices, values, value_bits, exact = out.indices, out.values, out.value_bits, tables.exact
    k, capacity = first, np.uint64(len(indices))
    previous, greatest, ascending = np.int64(-1), state[GREATEST], True
    p = skip_blanks(buf, p)
    while not ends_row(buf[p]):  # a pair each, or this returns
        begin, written = p, U0
        while buf[p] >= 48 and buf[p] <= 57:  # p rises
            if written > INDEX_CAN_GROW:
                return begin, k, BAD_INDEX_SIZE
            written = written * U10 + (np.uint64(buf[p]) - U48)
            p += U1
        if p == begin or buf[p] != 58:
            return begin, k, BAD_PAIR
        if written > LARGEST_INDEX:
            return begin, k, BAD_INDEX_SIZE
        index = np.int64(written)
        if index == 0:
            state[HAS_ZERO] = 1
        if index < limits.least:
            return begin, k, BAD_INDEX_BASE
        if index >= limits.greatest:
            if index > limits.greatest:
                return begin, k, BAD_INDEX_LIMIT
            if state[LIMIT_LINE] == 0:
                state[LIMIT_LINE] = state[LINE] + 1
                state[LIMIT_COLUMN] = np.int64(begin - start) + 1
        p += U1
        begin = p
        # Plain decimals of up to 19 digits are parsed here, since a call takes as long as such a number.
        mantissa, exponent, negative, truncated = U0, np.int64(0), buf[p] == 45, False
        if negative:
            p += U1
        digits = p
        while buf[p] >= 48 and buf[p] <= 57 and mantissa < TEN_18:  # p rises
            mantissa = mantissa * U10 + (np.uint64(buf[p]) - U48)
            p += U1
        if buf[p] == 46 and p > digits:
            digits = p
            p += U1
            while buf[p] >= 48 and buf[p] <= 57 and mantissa < TEN_18:  # p rises
                mantissa = mantissa * U10 + (np.uint64(buf[p]) - U48)
                p += U1
            exponent = np.int64(1) - np.int64(p - digits)
        if p == digits or not ends_token(buf[p]):
            found, p, mantissa, exponent, negative, truncated = scan_decimal(buf, begin)
            if not found or not ends_token(buf[p]):
                return begin, k, BAD_VALUE
        if k >= capacity:
            return begin, k, FULL
        if mantissa <= TWO_53 and exponent >= -22 and exponent <= 22 and not truncated:
            value = np.float64(mantissa)
            value = value / exact[np.uint64(-exponent)] if exponent < 0 else value * exact[np.uint64(exponent)]
            values[k] = -value if negative else value
            decided = DECIDED
        else:
            decided = store_decimal(mantissa, exponent, negative, truncated, tables, values, value_bits, k)
        if decided == HARD:
            values[k] = 0.0
            if not note_hard(out.hard, state, begin, p, index):
                return begin, k, FULL
        elif decided != DECIDED or abs(values[k]) >= limits.magnitude:
            return begin, k, VALUE_OVERFLOW
        indices[k] = index
        if index <= previous:
            ascending = False
        previous = index
        greatest = max(greatest, index)
        k += U1
        while buf[p] == 32 or buf[p] == 9:  # p rises
            p += U1
    if not ascending and not sort_pairs(indices, value_bits, first, k):
        return start, k, DUPLICATE
    state[GREATEST] = greatest
    return p, k, DONE
