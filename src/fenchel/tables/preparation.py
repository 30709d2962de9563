"""Preparation: the rules of all columns of a table, which turn its rows into a matrix of features."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.errors import InputError
from fenchel.tables.cells import MISSING
from fenchel.tables.columns import DATE, NUMBER, Column, columns_of
from fenchel.tables.decide import ASKED, Choices, decide, decimal_of
from fenchel.tables.rules import LEFT_OUT, Features, Notes, Rule, features_of, listed, rule_from_plain

SPARSE_WIDTH, SPARSE_SHARE = 20, 0.3  # so many features, of which a row uses less than this share, are stored as CSR


@dataclass(frozen=True)
class Preparation:
    """A rule for each column. The matrix is dense, or CSR if `sparse`; `missing` are the spellings of "no value".

    Examples
    --------
    >>> from fenchel.tables.columns import columns_of
    >>> made = Preparation.fit(columns_of({"size": [1.0, 3.0], "tree": ["oak", "ash"]}))
    >>> made.features, made.rows({"size": [2.0], "tree": ["oak"]})[0].tolist()
    (['size', 'tree=ash'], [[0.0, 0.0]])
    """

    rules: tuple[Rule, ...]
    sparse: bool = False
    missing: tuple[str, ...] = MISSING

    @classmethod
    def fit(
        cls,
        columns: Mapping[str, Column],
        choices: Choices | None = None,
        kinds: Mapping[str, str] | None = None,
        decimal: str | None = None,
        sparse: bool | None = None,
        missing: Sequence[str] = MISSING,
    ) -> Preparation:
        """Decide on a rule for every column; `kinds` are those that the user has decided on."""
        asked = dict(kinds or {})
        for name, kind in asked.items():
            if name not in columns:
                near = difflib.get_close_matches(name, list(columns), n=1)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise InputError(f"kinds: there is no column {name!r}{hint}; the columns are {', '.join(columns)}")
            if kind not in ASKED:
                raise InputError(f"kinds: {name!r} must be one of {', '.join(ASKED)}, got {kind!r}")
        sign = decimal or decimal_of(dict(columns))
        rules = tuple(decide(name, one, choices or Choices(), sign, asked.get(name)) for name, one in columns.items())
        width, used = sum(len(rule.features) for rule in rules), sum(_used(rule) for rule in rules)
        if width == 0:
            why = "; ".join(f"{rule.name}: {rule.why}" for rule in rules[:9])
            raise InputError(f"no column of the table gives a feature ({why}); say what a column is if that is wrong")
        by_width = width >= SPARSE_WIDTH and used < SPARSE_SHARE * width
        return cls(rules, by_width if sparse is None else sparse, tuple(missing))

    @property
    def features(self) -> list[str]:
        """The names of all features."""
        return [name for rule in self.rules for name in rule.features]

    @property
    def needed(self) -> list[str]:
        """The columns that a table must have."""
        return [rule.name for rule in self.rules if rule.features]

    def rows(self, X: Any) -> tuple[Any, list[str]]:
        """(the features of the rows of a table, what is unusual about these rows)."""
        return self.of_columns(columns_of(X, self.missing))

    def of_columns(
        self, columns: Mapping[str, Column], where: Callable[[int], str] | None = None
    ) -> tuple[Any, list[str]]:
        """The same for columns; `where` names a row, counted from 0, in what is said."""
        gone = [name for name in self.needed if name not in columns]
        if gone:
            raise InputError(
                f"the table lacks {len(gone)} column{'s' * (len(gone) != 1)} that the model needs: {listed(gone)}; "
                f"it has {', '.join(map(str, columns))}"
            )
        notes = Notes(where)
        found = [one for rule in self.rules if rule.features for one in features_of(rule, columns[rule.name], notes)]
        n = next(iter(columns.values())).values.size
        return (_sparse if self.sparse else _dense)(found, n), notes.lines

    def extra(self, columns: Mapping[str, Any]) -> list[str]:
        """The columns of a table that were not in training."""
        known = {rule.name for rule in self.rules}
        return [name for name in columns if name not in known]

    def original(self, coef: np.ndarray, intercept: Any) -> tuple[np.ndarray, Any]:
        """Coefficients and intercept in the units of the columns: scores are the same on numbers that are not standardised."""
        units = np.array([unit for rule in self.rules for unit in rule.units()])
        own = coef[..., : len(units)] / units[:, 1]
        rest = coef[..., len(units) :]
        return np.concatenate([own, rest], axis=-1), intercept - own @ units[:, 0]

    def table(self) -> list[list[str]]:
        """A row for each column: its name, what it was taken for, what was done with it and its number of features."""
        return [[rule.name, rule.kind, told(rule), str(len(rule.features) or "")] for rule in self.rules]

    def plain(self) -> dict[str, Any]:
        """JSON-compatible data."""
        rules = [rule.plain() for rule in self.rules]
        return {"rules": rules, "sparse": self.sparse, "missing": list(self.missing)}


def preparation_from_plain(plain: Any) -> Preparation:
    """The inverse of `Preparation.plain`; an error if the data are not a preparation."""
    if type(plain) is not dict or set(plain) != {"rules", "sparse", "missing"}:
        raise InputError("a preparation of a table must have rules, sparse and missing")
    rules, missing = plain["rules"], plain["missing"]
    if type(rules) is not list or type(missing) is not list or type(plain["sparse"]) is not bool:
        raise InputError("an entry of the preparation of a table has the wrong type")
    if not all(type(word) is str for word in missing):
        raise InputError("an entry of the preparation of a table has the wrong type")
    found = tuple(rule_from_plain(rule) for rule in rules)
    if len({rule.name for rule in found}) != len(found):
        raise InputError("two rules of the preparation of a table are for one column")
    return Preparation(found, plain["sparse"], tuple(missing))


def told(rule: Rule) -> str:
    """What was done with a column, in words.

    >>> told(Rule("age", "number", mean=40.5, scale=12.0, missing=3, indicator=True))
    'standardised: mean 40.5, sd 12; 3 missing: mean and indicator'
    """
    if rule.kind == LEFT_OUT:
        return rule.why
    gone = f"{rule.missing} missing: " if rule.missing else ""
    if rule.kind == DATE:
        read = {"ymd": "", "mdy": "read as month/day/year; ", "dmy": "read as day/month/year; "}[rule.order]
        parts = ", ".join(part.name.removeprefix(f"{rule.name}:") for part in rule.parts)
        return f"{read}{parts}" + (f"; {gone}indicator" if gone else "")
    if rule.kind == NUMBER:
        comma = "decimal comma; " if rule.decimal == "," else ""
        if rule.scale == 0.0:
            return f"constant {rule.mean:g}; {gone}indicator"
        own = f"{comma}standardised: mean {rule.mean:.4g}, sd {rule.scale:.4g}"
        return own + (f"; {gone}mean and indicator" if gone else "")
    own = f"{len(rule.levels)} levels" if rule.baseline is None else f"{' or '.join([rule.baseline, *rule.levels])}"
    rare = f"; {len(rule.pooled)} rare level{'s' * (len(rule.pooled) != 1)} pooled" if rule.pooled else ""
    return own + rare + (f"; {gone}a level" if gone else "")


def _used(rule: Rule) -> int:
    """How many features of the column a row uses at most."""
    if rule.parts:
        return sum(_used(part) for part in rule.parts)
    if not rule.features:
        return 0
    return 1 + int(rule.kind == NUMBER and rule.indicator and rule.scale > 0.0)


def _placed(found: Sequence[Features]) -> Iterator[tuple[int, Features]]:
    at = 0
    for one in found:
        yield at, one
        at += one.width


def _dense(found: Sequence[Features], n: int) -> np.ndarray:
    X = np.zeros((n, sum(one.width for one in found)))
    for at, one in _placed(found):
        if one.dense is not None:
            X[:, at] = one.dense
        elif one.codes is not None:
            rows = np.flatnonzero(one.codes >= 0)
            X[rows, at + one.codes[rows]] = 1.0
    return X


def _sparse(found: Sequence[Features], n: int) -> Any:
    """CSR with sorted indices: the columns of a row are met in ascending order."""
    places = np.full((n, len(found)), -1, dtype=np.int64)
    values = np.ones((n, len(found)))
    for k, (at, one) in enumerate(_placed(found)):
        if one.dense is not None:
            places[:, k], values[:, k] = np.where(one.dense != 0.0, at, -1), one.dense
        elif one.codes is not None:
            places[:, k] = np.where(one.codes >= 0, at + one.codes, -1)
    used = places >= 0
    indptr = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    width = sum(one.width for one in found)
    return sp.csr_matrix((values[used], places[used].astype(np.int32), indptr.astype(np.int32)), shape=(n, width))
