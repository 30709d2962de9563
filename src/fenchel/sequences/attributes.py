"""Convert named attributes of tokens, in the style of CRFsuite, to rows of one sparse matrix.

A token is a dictionary or a list, set or tuple of attributes:

=======================  ==================================================
{"name": 1.5}            attribute "name" with that value; True is 1, False 0
{"name": "text"}         attribute "name:text" with value 1
{"name": {...}, ...}     the attributes inside, with "name:" before each
["a", "b"]               attributes "a" and "b" with value 1
=======================  ==================================================
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.errors import InputError

LISTS = (list, tuple, set, frozenset)


def has_names(token: object) -> bool:
    """Whether a token is given by named attributes rather than by numbers.

    >>> has_names({"a": 1.0}), has_names(["a"]), has_names([1.0, 2.0])
    (True, True, False)
    """
    if isinstance(token, Mapping | set | frozenset):
        return True
    return isinstance(token, (list, tuple)) and bool(token) and isinstance(token[0], (str, bytes))


class _Numbers(dict):
    """A dictionary that assigns the next number to every new name."""

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self)
        return number


class _Known(dict):
    """A dictionary that returns -1 for unknown names."""

    def __missing__(self, name: str) -> int:
        return -1


class Attributes:
    """Columns of named attributes in order of first occurrence; those that occur less than `min_count` times are ignored.

    >>> attributes = Attributes()
    >>> rows, first = attributes.fit_transform([[{"word": "the"}, {"word": "dog", "length": 3}]])
    >>> attributes.names, rows.toarray().tolist(), first.tolist()
    (['word:the', 'word:dog', 'length'], [[1.0, 0.0, 0.0], [0.0, 1.0, 3.0]], [0, 2])
    >>> attributes.transform([[{"word": "cat", "length": 2.5}]])[0].toarray().tolist()
    [[0.0, 0.0, 2.5]]
    """

    def __init__(self, names: Iterable[str] = (), min_count: int = 1):
        self.names = list(names)
        self.min_count = min_count
        self._numbers: dict[str, int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"names": self.names, "min_count": self.min_count}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __len__(self) -> int:
        return len(self.names)

    def fit(self, sequences: Sequence[Sequence[Any]]) -> Attributes:
        """Learn the names."""
        self.fit_transform(sequences)
        return self

    def fit_transform(self, sequences: Sequence[Sequence[Any]]) -> tuple[sp.csr_matrix, np.ndarray]:
        """(rows, first) with a column for each name: token t of sequence i is row first[i] + t."""
        numbers = _Numbers()
        collector = _Collector(numbers)
        first = collector.all(sequences)
        rows = collector.rows(len(numbers))
        self.names, self._numbers = list(numbers), _Known(numbers)
        if self.min_count > 1:
            kept = np.flatnonzero(np.bincount(rows.indices, minlength=len(numbers)) >= self.min_count)
            rows, self.names, self._numbers = rows[:, kept], [self.names[k] for k in kept], None
        if not self.names:
            raise InputError("X has no attributes: every token is empty, or each attribute is rarer than min_count")
        return rows, first

    def transform(self, sequences: Sequence[Sequence[Any]]) -> tuple[sp.csr_matrix, np.ndarray]:
        """(rows, first) in the columns that were learnt; other attributes are left out."""
        if self._numbers is None:
            self._numbers = _Known((name, number) for number, name in enumerate(self.names))
        collector = _Collector(self._numbers)
        first = collector.all(sequences)
        return collector.rows(len(self.names)), first


class _Collector:
    """Collects columns, values and row ends in one pass over the tokens."""

    def __init__(self, numbers: dict[str, int]):
        self.number = numbers.__getitem__
        self.columns, self.values, self.ends = array("q"), array("d"), array("q", [0])

    def all(self, sequences: Sequence[Sequence[Any]]) -> np.ndarray:
        first = array("q", [0])
        for i, sequence in enumerate(sequences):
            for t, token in enumerate(sequence):
                if type(token) is list and set(map(type, token)) == {str}:
                    self.columns.extend(map(self.number, token))
                    self.values.frombytes(_ones(len(token)))
                elif type(token) is not dict or not self._plain(token):
                    self._token(token, f"sequence {i}, token {t}")
                self.ends.append(len(self.columns))
            first.append(len(self.ends) - 1)
        return np.array(first, dtype=np.int64)

    def _plain(self, token: dict) -> bool:
        """A fast version of `_token` for the most common types; returns False, and adds nothing, if there are others."""
        names, values = [], []
        for name, value in token.items():
            kind = type(value)
            if type(name) is not str:
                return False
            if kind is str:
                names.append(f"{name}:{value}")
                values.append(1.0)
            elif (kind is float or kind is int or kind is bool) and -np.inf < value < np.inf:
                names.append(name)
                values.append(value)
            else:
                return False
        self.columns.extend(map(self.number, names))
        self.values.extend(values)
        return True

    def _token(self, token: object, where: str) -> None:
        for name, value in _flat(token, where):
            self.columns.append(self.number(name))
            self.values.append(value)

    def rows(self, width: int) -> sp.csr_matrix:
        ends = np.array(self.ends, dtype=np.int64)
        values = np.frombuffer(self.values, dtype=np.float64) if len(self.values) else np.empty(0)
        columns = np.frombuffer(self.columns, dtype=np.int64) if len(self.columns) else np.empty(0, dtype=np.int64)
        kept = (columns >= 0) & (values != 0.0)
        if not kept.all():
            ends = np.concatenate([[0], np.cumsum(kept)])[ends]
            columns, values = columns[kept], values[kept]
        small = max(width, columns.size) < np.iinfo(np.int32).max
        kind = np.int32 if small else np.int64
        rows = sp.csr_matrix((values, columns.astype(kind), ends.astype(kind)), shape=(ends.size - 1, width))
        rows.sum_duplicates()
        return rows


def _ones(count: int, known: dict[int, bytes] = {}) -> bytes:  # noqa: B006  (a cache)
    if count not in known:
        known[count] = np.ones(count).tobytes()
    return known[count]


def _flat(token: Any, where: str, prefix: str = "") -> Iterator[tuple[str, float]]:
    """The attributes of a token with their values."""
    if isinstance(token, LISTS):
        for name in token:
            yield prefix + _text(name, where), 1.0
        return
    if not isinstance(token, Mapping):
        raise InputError(f"{where} is {token!r}: expected a dictionary or a list of attribute names")
    for key, value in token.items():
        kind = type(value)
        name = prefix + (key if type(key) is str else _text(key, where))
        if kind is str:
            yield f"{name}:{value}", 1.0
        elif kind is float or kind is int or kind is bool or isinstance(value, (Real, np.bool_)):
            number = float(value)
            if not math.isfinite(number):
                raise InputError(
                    f"attribute {name!r} of {where} is {value!r}: values must be finite; remove it instead"
                )
            yield name, number
        elif isinstance(value, (str, bytes)):
            yield f"{name}:{_text(value, where)}", 1.0
        elif isinstance(value, (Mapping, *LISTS)):
            yield from _flat(value, where, name + ":")
        else:
            raise InputError(f"attribute {name!r} of {where} is {value!r}: expected a number, a string or a dictionary")


def _text(name: object, where: str) -> str:
    if isinstance(name, bytes):
        return name.decode("utf-8")
    if not isinstance(name, str):
        raise InputError(f"{where} has the attribute name {name!r}: names must be strings")
    return str(name)
