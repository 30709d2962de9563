"""Escape text in cells of CSV files that a spreadsheet would take for a formula, and unescape it when reading.

A cell that begins with = + - @ (or their full-width forms), possibly after blanks, tabs or line breaks, can run commands in the
spreadsheet that opens the file. A leading apostrophe makes it text. Text that begins with apostrophes followed by such a sign
gets one more apostrophe, so that removing one always restores the original.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable

__all__ = ["csv_line", "guarded", "unguarded"]

_FORMULA = re.compile(r"'*(?:\s*[=+\-@＝＋－＠]|[\t\r\n])")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def guarded(text: str) -> str:
    """The text, escaped for a CSV cell; plain numbers do not change.

    >>> guarded("=1+1"), guarded("'@x"), guarded("-1.5e3"), guarded("oak")
    ("'=1+1", "''@x", '-1.5e3', 'oak')
    """
    return "'" + text if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unguarded(cell: str) -> str:
    """The inverse of `guarded`: unguarded(guarded(text)) == text for every text.

    >>> unguarded("'=1+1"), unguarded("''@x"), unguarded("'tis")
    ('=1+1', "'@x", "'tis")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_line(cells: Iterable[str | int | float]) -> str:
    """One line of a CSV file: numbers as Python writes them, text guarded and always in quotes.

    >>> print(csv_line(["=cmd", "ash, oak", -0.5]), end="")
    "'=cmd","ash, oak",-0.5
    """
    out = io.StringIO()
    row = [guarded(cell) if isinstance(cell, str) else cell for cell in cells]
    csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerow(row)
    return out.getvalue()
