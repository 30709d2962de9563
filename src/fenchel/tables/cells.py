"""Numbers and dates in cells of text, as people and programs write them. Functions take distinct texts, not rows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

MISSING = ("", "?", "na", "n/a", "#n/a", "nan", "<na>", "null", "none", "-", "--", ".")  # compared without case
TRUE_WORDS = {"true": "false", "yes": "no", "t": "f", "y": "n", "on": "off"}  # a word for true, and its opposite
GROUPING = " '\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{RIGHT SINGLE QUOTATION MARK}"
NOT_A_TIME = np.datetime64("NaT", "s")
ORDERS = ("ymd", "mdy", "dmy")
_DATE = re.compile(
    r"(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?(?:Z| ?[+-]\d{2}:?\d{2})?)?"
)
_LEADING_ZERO = re.compile(r"[+-]?0\d+")


@cache
def _pattern(decimal: str) -> re.Pattern[str]:
    group = re.escape(GROUPING + ("," if decimal == "." else "."))
    grouped = rf"\d{{1,3}}([{group}])\d{{3}}(?:\1\d{{3}})*"
    return re.compile(
        rf"[+-]?(?=[{re.escape(decimal)}]?\d)(?:{grouped}|\d+)?(?:{re.escape(decimal)}\d*)?(?:[eE][+-]?\d+)?"
    )


def number(text: str, decimal: str = ".") -> float:
    """The number in a cell, with or without signs that group thousands; NaN if it is none.

    >>> number("1,234.5"), number("1.234,5", ","), number("1 000"), number("12,34"), number("x1")
    (1234.5, 1234.5, 1000.0, nan, nan)
    """
    match = _pattern(decimal).fullmatch(text)
    if match is None:
        return math.nan
    plain = text.replace(match[1], "") if match[1] else text
    return float(plain.replace(decimal, "."))


def numbers(texts: Iterable[str], decimal: str = ".") -> np.ndarray:
    """The numbers of many cells; NaN where there is none, or one too large to be a finite double."""
    found = np.array([number(text, decimal) for text in texts], dtype=float)
    return np.where(np.isfinite(found), found, np.nan)


def are_codes(texts: Iterable[str]) -> bool:
    """Whether some integer begins with a zero, as postal codes and two-digit months do: then they are names.

    >>> are_codes(["01067", "80331"]), are_codes(["0", "0.5", "10"])
    (True, False)
    """
    return any(_LEADING_ZERO.fullmatch(text) for text in texts)


def true_word(texts: Sequence[str]) -> str | None:
    """Of two words such as no and yes the one for true; None if they are others.

    >>> true_word(["No", "Yes"]), true_word(["ham", "spam"])
    ('Yes', None)
    """
    lower = {text.lower(): text for text in texts}
    found = [word for word, opposite in TRUE_WORDS.items() if set(lower) == {word, opposite}]
    return lower[found[0]] if found else None


def date(text: str, order: str) -> np.datetime64:
    """The date in a cell whose parts are in this order, without its time zone; NaT if it is none.

    >>> str(date("2011-01-31 05:00", "ymd")), str(date("31/1/2011", "dmy")), np.isnat(date("31/1/2011", "mdy"))
    ('2011-01-31T05:00:00', '2011-01-31T00:00:00', np.True_)
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return NOT_A_TIME
    parts = dict(zip(order, (match[1], match[3], match[4]), strict=True))
    if len(parts["y"]) != 4 or len(parts["m"]) > 2 or len(parts["d"]) > 2:
        return NOT_A_TIME
    hour, minute, second = (int(match[k] or 0) for k in (5, 6, 7))
    day = f"{parts['y']}-{int(parts['m']):02}-{int(parts['d']):02}"
    try:
        return np.datetime64(f"{day}T{hour:02}:{minute:02}:{second:02}", "s")
    except ValueError:  # such as the 31st of February
        return NOT_A_TIME


def dates(texts: Iterable[str], order: str) -> np.ndarray:
    """The dates of many cells; NaT where there is none."""
    return np.array([date(text, order) for text in texts], dtype="datetime64[s]")
