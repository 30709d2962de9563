"""Decide whether the first line of a table is a header or a row."""

from __future__ import annotations


def is_number(name: str) -> bool:
    """Whether a cell of text is a number."""
    try:
        float(name)
    except ValueError:
        return False
    return True


def looks_like_a_row(names: list[str]) -> bool:
    """Whether the first line of a table is a row: numbers, possibly with a word as the first or last cell (the label).

    >>> looks_like_a_row(["5.1", "3.5", "setosa"]), looks_like_a_row(["2019", "2020", "total"]), looks_like_a_row(["1", "2"])
    (True, False, False)
    """
    if all(map(is_number, names)):
        return not _counted(names)
    return any(
        len(rest) > 1 and all(map(is_number, rest)) and not all(map(str.isdecimal, rest))
        for rest in (names[:-1], names[1:])
    )


def _counted(names: list[str]) -> bool:
    """Whether the columns are named 0, 1, 2, ... or 1, 2, 3, ..., as by programs that have no better names."""
    return any(names == [str(k) for k in range(start, start + len(names))] for start in (0, 1))
