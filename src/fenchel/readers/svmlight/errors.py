"""Error messages for lines of svmlight text: name:line:column, the token, and what was expected instead."""

from __future__ import annotations

import re

from fenchel.errors import ReadError
from fenchel.readers.svmlight import state as codes

NUMBER = "a finite decimal number such as 1, -0.5 or 2.5e-3"
_TOKEN_END = re.compile(rb"[ \t\r\n#]")
_NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_INDEX = re.compile(rb"(?:^|(?<=[ \t]))(\d+):")


def read_error(name: str, line: int, column: int, message: str) -> ReadError:
    return ReadError(f"{name}:{line}:{column}: {message}")


def shown(token: bytes) -> str:
    """The token as it can be printed, at most 40 characters of it."""
    text = token[:41].decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else text[:40] + "...")


def describe(
    status: int, data: bytearray, begin: int, at: int, name: str, line: int, limits: codes.Limits
) -> ReadError:
    """The error for a status of `parse_rows` at byte `at` of line `line`; the block's first byte is `begin`."""
    start = max(data.rfind(b"\n", begin, at) + 1, begin)
    text = bytes(data[start : data.find(b"\n", at)])
    if status == codes.DUPLICATE:
        at = start + _second_occurrence(text)
    end = _TOKEN_END.search(data, at)
    token = bytes(data[at : end.start()]) if end else b""
    return read_error(name, line, at - start + 1, _message(status, token, limits))


def _second_occurrence(text: bytes) -> int:
    """The position in the line of the first repeated index."""
    seen: set[int] = set()
    for match in _INDEX.finditer(text.partition(b"#")[0]):
        index = int(match[1])
        if index in seen:
            return match.start(1)
        seen.add(index)
    return 0


def _message(status: int, token: bytes, limits: codes.Limits) -> str:
    what = shown(token)
    if b"\0" in token or status == codes.NUL_BYTE:
        return f"a NUL byte in {what}; expected text"
    plain = {
        codes.BAD_QID: f"bad query id {what}; expected qid: and an integer of at most 63 bits",
        codes.BAD_INDEX_SIZE: f"index {what} is beyond 2^62; expected a smaller one",
        codes.BAD_INDEX_BASE: f"index 0 in {what}, but index_base=1 counts from 1; expected index_base=0 or 'auto'",
        codes.BAD_INDEX_LIMIT: f"index {what} is larger than {limits.greatest}, the largest that n_features allows",
        codes.DUPLICATE: f"the index of {what} occurs twice in this row; expected every index once",
        codes.LABEL_OVERFLOW: f"label {what} is too large; expected {NUMBER}",
        codes.VALUE_OVERFLOW: f"value {what} is too large for the dtype; expected {NUMBER}",
        codes.BAD_UTF8: f"comment text {what} is not UTF-8; expected text",
        codes.LONE_RETURN: "a carriage return inside a line; expected lines that end with \\n or \\r\\n",
        codes.QID_MISSING: f"no query id before {what}; expected qid:<integer> after the label, as in the rows before",
        codes.QID_UNEXPECTED: f"unexpected query id {what}; expected none, as before (qid=False ignores them)",
    }
    if status in plain:
        return plain[status]
    return {codes.BAD_LABEL: _bad_label, codes.BAD_PAIR: _bad_pair, codes.BAD_VALUE: _bad_value}[status](token, what)


def _bad_label(token: bytes, what: str) -> str:
    if _NOT_FINITE.fullmatch(token):
        return f"label {what} is not finite; expected {NUMBER}"
    if b":" in token:
        return f"the label is missing before {what}; expected <label> [qid:<integer>] <index>:<value> ..."
    if b"," in token:
        return f"several labels in {what}; expected one (multi-label files are not supported)"
    return f"bad label {what}; expected {NUMBER}"


def _bad_pair(token: bytes, what: str) -> str:
    if re.match(rb"-\d", token) and b":" in token:
        return f"negative index in {what}; expected <index>:<value> with an index of 0 or more"
    if token.startswith(b"qid:"):
        return f"query id {what} in the wrong place; expected it once, right after the label"
    return f"bad entry {what}; expected <index>:<value> with a whole-number index"


def _bad_value(token: bytes, what: str) -> str:
    if not token:
        return f"no value after the colon; expected {NUMBER}"
    if _NOT_FINITE.fullmatch(token):
        return f"value {what} is not finite; expected {NUMBER}"
    return f"bad value {what}; expected {NUMBER}"
