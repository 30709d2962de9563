"""Decide what a column holds and what to do with it, from the training rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fenchel.errors import InputError
from fenchel.tables.cells import ORDERS, are_codes, dates, numbers, true_word
from fenchel.tables.columns import DATE, NUMBER, TEXT, Column
from fenchel.tables.rules import CATEGORY, DAYS, LEFT_OUT, Rule, as_dates, as_numbers, as_text, date_parts

ASKED = (NUMBER, CATEGORY, DATE, "drop")  # what a user may ask for
NAMELESS = ("", "__index_level_0__")  # the names of the index of pandas, in text and in Parquet
ID_NAME = re.compile(
    r"(?:^|[_\s.-])(?:id|uuid|guid|key|rowid|index)(?:$|[_\s.-])|[a-z]I[Dd]$|^ID|^Id(?:$|[A-Z_])", re.ASCII
)


@dataclass(frozen=True)
class Choices:
    """The thresholds of the decisions.

    min_count : a level that occurs in fewer rows is rare. Below 20 rows per unit of `min_count` it is lowered to n / 20.
    max_levels : at most so many levels of a column, the most frequent ones, have an indicator.
    parsed_share : the share of the cells that must be numbers (dates) for a column of text to hold numbers (dates).
    id_share : a column of text with more distinct values than this share of its rows is an identifier or free text.
    filled_share : distinct integers that fill more than this share of their range are an identifier.
    least_rows : with fewer rows, distinct values are no sign of an identifier.
    """

    min_count: int = 5
    max_levels: int = 100
    parsed_share: float = 0.95
    id_share: float = 0.5
    filled_share: float = 0.5
    least_rows: int = 20


def decimal_of(columns: dict[str, Column]) -> str:
    """The decimal sign of a table: a comma if some column of text consists of numbers with a decimal comma only."""
    texts = [column.levels for column in columns.values() if column.kind == TEXT and column.levels]
    return "," if any(_parsed(t, ",") and not _parsed(t, ".") for t in texts) else "."


def _parsed(texts: tuple[str, ...], decimal: str) -> bool:
    return not bool(np.isnan(numbers(texts, decimal)).any())


def decide(name: str, column: Column, choices: Choices, decimal: str = ".", asked: str | None = None) -> Rule:
    """The rule for a column; `asked` is "number", "category", "date" or "drop" if the user has said what it is."""
    gone = int(column.missing.sum())
    blank = Rule(name, LEFT_OUT, missing=gone)
    if asked == "drop":
        return replace(blank, why="excluded")
    if asked is None and name in NAMELESS:
        return replace(blank, why="no name: the index of a data frame?")
    if gone == column.values.size:
        return replace(blank, why="empty")
    kind, details = _asked_kind(name, column, decimal, asked) if asked else _kind(column, choices, decimal)
    rule = replace(blank, kind=kind, **details)
    if kind == DATE:
        return _date(rule, column, choices)
    if kind == NUMBER:
        return _number(rule, as_numbers(column, rule.decimal), choices, asked is None)
    return _category(rule, as_text(column), choices, asked is None)


def _asked_kind(name: str, column: Column, decimal: str, asked: str) -> tuple[str, dict[str, Any]]:
    if asked == CATEGORY:
        return CATEGORY, {}
    counts = column.counts() if column.kind == TEXT else np.array([1])
    if asked == NUMBER and column.kind != DATE:
        other = "," if decimal == "." else "."
        best = max((decimal, other), key=lambda d: _share(np.isfinite(numbers(column.levels, d)), counts))
        if column.kind == NUMBER or np.isfinite(numbers(column.levels, best)).any():
            return NUMBER, {"decimal": best}
    if asked == DATE and column.kind != NUMBER:
        order = max(ORDERS, key=lambda o: _share(~np.isnat(dates(column.levels, o)), counts))
        if column.kind == DATE or not np.isnat(dates(column.levels, order)).all():
            return DATE, {"order": order}
    raise InputError(f"column {name!r} cannot be read as a {asked}: no cell of it is one")


def _share(found: np.ndarray, counts: np.ndarray) -> float:
    return float(counts[found].sum() / counts.sum()) if found.size == counts.size else 0.0


def _kind(column: Column, choices: Choices, decimal: str) -> tuple[str, dict[str, Any]]:
    """What the cells of a column are: numbers, dates or names."""
    if column.kind != TEXT:
        return column.kind, {}
    if are_codes(column.levels):
        return CATEGORY, {}
    counts = column.counts()
    for sign in (decimal, "," if decimal == "." else "."):
        share = _share(np.isfinite(numbers(column.levels, sign)), counts)
        if share == 1.0 or (share >= choices.parsed_share and sign == decimal):
            return NUMBER, {"decimal": sign}
    for order in ORDERS:
        if _share(~np.isnat(dates(column.levels, order)), counts) >= choices.parsed_share:
            return DATE, {"order": order}
    return CATEGORY, {}


def _number(rule: Rule, values: np.ndarray, choices: Choices, may_be_id: bool) -> Rule:
    known = values[~np.isnan(values)]
    gone = int(np.isnan(values).sum())
    if may_be_id and not gone and _counts_rows(rule.name, known, choices):
        return Rule(rule.name, LEFT_OUT, why=f"an identifier: {known.size} distinct integers")
    mean, scale = float(known.mean()), float(known.std())
    if not np.isfinite(scale):
        raise InputError(f"column {rule.name!r} has numbers too large to be standardised: rescale it")
    if known.min() == known.max() or scale == 0.0:  # as of subnormal numbers
        mean, scale = float(known[0]), 0.0
        if not gone:
            return Rule(rule.name, LEFT_OUT, why=f"constant: {known[0]:g}")
    return replace(rule, missing=gone, indicator=gone > 0, mean=mean, scale=scale)


def _counts_rows(name: str, values: np.ndarray, choices: Choices) -> bool:
    """Whether distinct integers number the rows: their name says so, or they fill most of their range, as in a sample of the
    rows of a numbered table."""
    if values.size < choices.least_rows or not (values == np.floor(values)).all():
        return False
    if np.unique(values).size < values.size:
        return False
    return bool(ID_NAME.search(name)) or values.size >= choices.filled_share * (values.max() - values.min() + 1.0)


def _category(rule: Rule, column: Column, choices: Choices, may_be_id: bool) -> Rule:
    counts = column.counts()
    names, counts = np.array(column.levels, dtype=object)[counts > 0], counts[counts > 0]
    rows, distinct = int(counts.sum()), len(names)
    if may_be_id and column.values.size >= choices.least_rows and distinct > choices.id_share * rows:
        what = "an identifier or free text"
        return Rule(rule.name, LEFT_OUT, why=f"{what}: {distinct} distinct values in {rows} rows")
    if distinct == 1:
        if not rule.missing:
            return Rule(rule.name, LEFT_OUT, why=f"constant: {names[0]}")
        return replace(rule, baseline=str(names[0]), indicator=True)
    if distinct == 2:
        shown = true_word(list(names)) or str(names[int(np.argmin(counts))])
        return replace(
            rule, levels=(shown,), baseline=str(next(n for n in names if n != shown)), indicator=rule.missing > 0
        )
    least = min(choices.min_count, max(1, column.values.size // choices.least_rows))
    frequent = np.argsort(-counts, kind="stable")[: choices.max_levels]
    kept = {str(names[k]) for k in frequent if counts[k] >= least}
    levels = tuple(str(name) for name in names if name in kept)
    pooled = tuple(str(name) for name in names if name not in kept)
    return replace(rule, levels=levels, pooled=pooled, indicator=rule.missing > 0)


def _date(rule: Rule, column: Column, choices: Choices) -> Rule:
    """The rules of the parts that vary. Only the number of days says which dates were missing."""
    parts = []
    moments = as_dates(column, rule.order)
    for name, part in date_parts(moments, rule.name).items():
        if name.endswith(f":{DAYS}"):
            own = _number(Rule(name, NUMBER), part.values, choices, False)
        else:
            own = replace(_category(Rule(name, CATEGORY), part, choices, False), indicator=False)
        if own.features:
            parts.append(own)
    if not parts:
        return Rule(rule.name, LEFT_OUT, why="constant date")
    return replace(rule, missing=int(np.isnat(moments).sum()), parts=tuple(parts))
