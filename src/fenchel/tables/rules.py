"""The rule of a column: what became of it in training, as plain data, and how its features are computed from new rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from fenchel.errors import InputError
from fenchel.tables.cells import ORDERS, dates, numbers
from fenchel.tables.columns import DATE, NUMBER, TEXT, Column

CATEGORY, LEFT_OUT = "category", "left out"
KINDS = (NUMBER, CATEGORY, DATE, LEFT_OUT)
RARE, MISSING_LEVEL = "(rare)", "(missing)"
DAYS, MONTH, WEEKDAY, HOUR = "days", "month", "weekday", "hour"
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SHOWN = 5
ONE_DAY = 86400.0  # seconds


@dataclass(frozen=True)
class Rule:
    """What was done with one column.

    number : (value - mean) / scale, 0 for a missing value, and an indicator if there were missing values.
    category : an indicator for each of `levels`, one for the rare levels that were `pooled`, one for missing values. Of two
        levels only one has an indicator; the other is the `baseline`.
    date : the rules of its `parts`.
    left out : no features; `why` says why.

    `missing` is the number of training rows without a value; `indicator` whether they have a feature of their own.
    """

    name: str
    kind: str
    why: str = ""
    missing: int = 0
    indicator: bool = False
    decimal: str = "."
    mean: float = 0.0
    scale: float = 1.0
    levels: tuple[str, ...] = ()
    baseline: str | None = None
    pooled: tuple[str, ...] = ()
    order: str = "ymd"
    parts: tuple[Rule, ...] = ()

    @property
    def features(self) -> list[str]:
        """The names of its features."""
        if self.kind == LEFT_OUT:
            return []
        if self.parts:
            return [name for part in self.parts for name in part.features]
        own = [self.name] if self.kind == NUMBER and self.scale > 0.0 else []
        if self.kind == CATEGORY:
            own = [f"{self.name}={level}" for level in self.levels]
            own += [f"{self.name}={RARE}"] if self.pooled else []
        return own + ([f"{self.name}={MISSING_LEVEL}"] if self.indicator else [])

    def units(self) -> Iterator[tuple[float, float]]:
        """(centre, scale) of each feature."""
        if self.parts:
            for part in self.parts:
                yield from part.units()
            return
        has_number = self.kind == NUMBER and self.scale > 0.0
        for k in range(len(self.features)):
            yield (self.mean, self.scale) if has_number and k == 0 else (0.0, 1.0)

    def plain(self) -> dict[str, Any]:
        """JSON-compatible data; fields with their default values are left out."""
        found = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                found[field.name] = [part.plain() for part in value] if field.name == "parts" else value
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


def rule_from_plain(plain: Any, depth: int = 0) -> Rule:
    """The inverse of `Rule.plain`; an error if the data are not a rule."""
    known = {field.name: field for field in fields(Rule)}
    if type(plain) is not dict or not set(plain) <= set(known) or not {"name", "kind"} <= set(plain):
        raise InputError("a rule for a column has unknown or lacks entries")
    values = dict(plain)
    for name in ("levels", "pooled"):
        words = values.get(name, [])
        _require(type(words) is list and all(type(word) is str for word in words), name)
        values[name] = tuple(words)
    parts = values.get("parts", [])
    _require(type(parts) is list and (not parts or depth == 0), "parts")
    values["parts"] = tuple(rule_from_plain(part, depth + 1) for part in parts)
    rule = Rule(**values)
    _require(type(rule.name) is str and type(rule.why) is str, "name")
    _require(rule.kind in KINDS and (rule.kind == DATE) == bool(rule.parts), "kind")
    _require(type(rule.missing) is int and rule.missing >= 0 and type(rule.indicator) is bool, "missing")
    _require(rule.decimal in (".", ",") and rule.order in ORDERS, "decimal")
    _require(rule.baseline is None or type(rule.baseline) is str, "baseline")
    for value in (rule.mean, rule.scale):
        _require(type(value) is float and bool(np.isfinite(value)), "mean")
    _require(rule.scale >= 0.0, "scale")
    named = [*rule.levels, *rule.pooled, *([] if rule.baseline is None else [rule.baseline])]
    _require(len(set(named)) == len(named), "levels")
    return rule


def _require(kept: bool, what: str) -> None:
    if not kept:
        raise InputError(f"the {what} of a rule for a column is not valid")


class Features(NamedTuple):
    """The features of a column: either dense values, or codes of indicators (-1: none of them)."""

    dense: np.ndarray | None
    codes: np.ndarray | None
    width: int


class Notes:
    """What is unusual about some rows; `where` says where a row is, which is counted from 0."""

    def __init__(self, where: Callable[[int], str] | None = None):
        self.lines: list[str] = []
        self.where = where or (lambda row: f"row {row + 1}")

    def append(self, line: str) -> None:
        """Add a line."""
        self.lines.append(line)


def features_of(rule: Rule, column: Column, notes: Notes) -> list[Features]:
    """The features of some rows; what is unusual about these rows is added to `notes`."""
    if rule.kind == LEFT_OUT:
        return []
    if rule.kind == DATE:
        parts = date_parts(as_dates(column, rule.order, rule.name, notes), rule.name)
        quiet = Notes()
        return [found for part in rule.parts for found in features_of(part, parts[part.name], quiet)]
    if rule.kind == NUMBER:
        return list(_number_features(rule, column, notes))
    return [_category_features(rule, column, notes)]


def _number_features(rule: Rule, column: Column, notes: Notes) -> Iterator[Features]:
    values = as_numbers(column, rule.decimal, rule.name, notes)
    gone = np.isnan(values)
    if gone.any() and not rule.indicator:
        notes.append(f"column {rule.name!r}: {int(gone.sum())} missing, none were in training: the mean is used")
    if rule.scale > 0.0:
        yield Features(np.where(gone, 0.0, (values - rule.mean) / rule.scale), None, 1)
    if rule.indicator:
        yield Features(None, np.where(gone, 0, -1), 1)


def _category_features(rule: Rule, column: Column, notes: Notes) -> Features:
    words = as_text(column)
    width = len(rule.features)
    place = {level: k for k, level in enumerate(rule.levels)}
    place |= dict.fromkeys(rule.pooled, len(rule.levels))
    if rule.baseline is not None:
        place[rule.baseline] = -1
    unseen = np.array([level not in place for level in words.levels], dtype=bool)
    unseen &= words.counts() > 0 if words.levels else False
    otherwise = len(rule.levels) if rule.pooled else -1
    codes = np.array([place.get(level, otherwise) for level in words.levels], dtype=np.int64)
    gone = words.missing
    if unseen.any():
        rows = int(words.counts()[unseen].sum())
        some = [words.levels[k] for k in np.flatnonzero(unseen)]
        what = "a rare level" if rule.pooled else "the baseline, with no coefficient of this column"
        notes.append(
            f"column {rule.name!r}: {rows} row{'s' * (rows != 1)} with a level that was not in training ({listed(some)}): "
            f"taken as {what}"
        )
    if gone.any() and not rule.indicator:
        notes.append(f"column {rule.name!r}: {int(gone.sum())} missing, none were in training: taken as the baseline")
    return Features(None, words.of_levels(codes, width - 1 if rule.indicator else -1), width)


def listed(words: list[str]) -> str:
    """The first few of them.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    return ", ".join(repr(word[:40]) for word in words[:SHOWN]) + (", ..." if len(words) > SHOWN else "")


def as_numbers(column: Column, decimal: str, name: str = "", notes: Notes | None = None) -> np.ndarray:
    """The column as numbers, NaN where there are none; cells that are no numbers are noted."""
    if column.kind == NUMBER:
        return column.values
    if column.kind == DATE:
        raise InputError(f"column {name!r} holds dates, but it held numbers in training")
    parsed = numbers(column.levels, decimal)
    _note_bad(column, np.isnan(parsed), "number", name, notes)
    return column.of_levels(parsed, np.nan)


def as_dates(column: Column, order: str, name: str = "", notes: Notes | None = None) -> np.ndarray:
    """The column as dates, NaT where there are none."""
    if column.kind == DATE:
        return column.values
    if column.kind == NUMBER:
        raise InputError(f"column {name!r} holds numbers, but it held dates in training")
    parsed = dates(column.levels, order)
    _note_bad(column, np.isnat(parsed), "date", name, notes)
    return column.of_levels(parsed, np.datetime64("NaT", "s"))


def _note_bad(column: Column, bad: np.ndarray, what: str, name: str, notes: Notes | None) -> None:
    bad = bad & (column.counts() > 0) if bad.size else bad
    if notes is None or not bad.any():
        return
    places = np.flatnonzero(bad)
    rows = np.flatnonzero(np.isin(column.values, places))
    first = ", ".join(f"{column.levels[column.values[row]][:40]!r} in {notes.where(row)}" for row in rows[:SHOWN])
    notes.append(
        f"column {name!r}: {rows.size} cell{'s' * (rows.size != 1)} that hold no {what} count as missing: {first}"
        + (", ..." if rows.size > SHOWN else "")
    )


def as_text(column: Column) -> Column:
    """The column as texts: a number as an integer where it is one."""
    if column.kind == TEXT:
        return column
    gone = column.missing
    values, codes = np.unique(column.values[~gone], return_inverse=True)
    words = [_written(v) for v in values]
    order = np.argsort(np.array(words, dtype=object)) if words else np.array([], dtype=int)
    rank = np.empty(len(words), dtype=np.int64)
    rank[order] = np.arange(len(words))
    found = np.full(column.values.size, -1, dtype=np.int64)
    found[~gone] = rank[codes]
    return Column(TEXT, found, tuple(words[k] for k in order))


def _written(value: Any) -> str:
    if isinstance(value, np.datetime64):
        return str(value)
    return f"{value:.0f}" if value == round(value) else repr(float(value))


def date_parts(moments: np.ndarray, name: str) -> dict[str, Column]:
    """The parts of dates, by the names of their columns: days since 1970, month, weekday and hour."""
    gone = np.isnat(moments)
    filled = np.where(gone, np.datetime64(0, "s"), moments)
    seconds = filled.astype("datetime64[s]").astype(np.int64)
    month = filled.astype("datetime64[M]").astype(np.int64) % 12
    day = np.floor_divide(seconds, int(ONE_DAY))
    hour = np.mod(seconds, int(ONE_DAY)) // 3600
    coded = {
        MONTH: (month, tuple(f"{k + 1:02}" for k in range(12))),
        WEEKDAY: ((day + 3) % 7, WEEKDAYS),  # 1 January 1970 was a Thursday
        HOUR: (hour, tuple(f"{k:02}" for k in range(24))),
    }
    found = {f"{name}:{DAYS}": Column(NUMBER, np.where(gone, np.nan, seconds / ONE_DAY))}
    for part, (codes, levels) in coded.items():
        found[f"{name}:{part}"] = Column(TEXT, np.where(gone, -1, codes), levels)
    return found
