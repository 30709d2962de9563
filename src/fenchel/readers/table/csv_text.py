"""Text in the cells of CSV files: what a spreadsheet would take for a formula is made harmless, and read back as it was.

A cell that begins with = + - @ (or their wide forms), after blanks, tabs or line breaks if there are some, can run commands
in the spreadsheet that opens the file. An apostrophe in front makes it text. Text that begins with apostrophes and then such
a sign gets one more, so that taking one away always gives what was written.
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
    """The text as it may stand in a CSV cell; plain numbers stay as they are.

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
