"""Linear constraints on coefficients, as text: --constraint "a <= b <= c", "2*a - [width (cm)] >= 0.5", "a + b + c = 1".

A side is a sum of terms: a number, the coefficient of a feature, or a number times it. A feature is named by its column, in
brackets if the name is not a plain word; for data without names by its number in brackets, [3]. A chain stands for its parts.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.errors import InputError

if TYPE_CHECKING:
    from fenchel.cli.reading import Rows

RELATION = re.compile(r"(<=|>=|==|=)")
BRACKETS = re.compile(r"\[[^\[\]]*\]")
NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
NAME = r"\[[^\[\]]*\]|[^\W\d][\w.]*"
TERM = re.compile(
    rf"\s*(?P<sign>[+-])?\s*(?:(?P<factor>{NUMBER})\s*\*\s*)?(?:(?P<name>{NAME})|(?P<number>{NUMBER}))\s*"
)

Side = tuple[dict[int, float], float]  # factors of coefficients, and the number beside them


def constraint_rows(text: str, column: Callable[[str], int], d: int) -> Iterator[tuple[np.ndarray, float, float]]:
    """(a, lower, upper) with lower <= <a, w> <= upper, for every part of a chain.

    >>> for row, lower, upper in constraint_rows("a <= 2*b <= 3", "ab".index, 2):
    ...     print(row, lower, upper)
    [-1.  2.] 0.0 inf
    [0. 2.] -inf 3.0
    """
    hidden = BRACKETS.sub(lambda found: "_" * len(found.group()), text)  # relations may be part of a name
    cuts = [0, *(end for found in RELATION.finditer(hidden) for end in found.span()), len(text)]
    words = [text[a:b] for a, b in pairwise(cuts)]
    if len(words) < 3:
        raise InputError(f"--constraint {text!r} has no <=, >= or =")
    sides = [side_of(word, text, column) for word in words[::2]]
    for (left, right), relation in zip(pairwise(sides), words[1::2], strict=True):
        row = np.zeros(d)
        for sign, side in ((1.0, right), (-1.0, left)):
            for j, factor in side[0].items():
                row[j] += sign * factor
        if not row.any():
            raise InputError(f"--constraint {text!r} compares sides that differ by no coefficient")
        rest = left[1] - right[1]  # <row, w> against it
        single = not right[0]
        if single:  # as it was written: the coefficients on the left
            row, rest = 0.0 - row, -rest
        above = relation in ("=", "==") or (relation == "<=") != single
        below = relation in ("=", "==") or (relation == ">=") != single
        yield row, rest if above else -np.inf, rest if below else np.inf


def side_of(word: str, text: str, column: Callable[[str], int]) -> Side:
    """The factors of coefficients on one side of a relation, and the number there."""
    factors: dict[int, float] = {}
    at, number = 0, 0.0
    while at == 0 or at < len(word):
        found = TERM.match(word, at)
        if found is None or (at > 0 and found["sign"] is None) or (found["factor"] and found["name"] is None):
            raise InputError(
                f"--constraint {text!r}: cannot read {word[at:].strip() or word!r}; a side is a sum of terms such as 2*age, "
                "age, [petal width] or 0.5"
            )
        factor = float(found["factor"] or 1.0) * (-1.0 if found["sign"] == "-" else 1.0)
        if found["name"] is None:
            number += factor * float(found["number"])
        else:
            name = found["name"]
            j = column(name[1:-1] if name.startswith("[") else name)
            factors[j] = factors.get(j, 0.0) + factor
        at = found.end()
    return factors, number


def with_constraints(penalty: Any, arguments: Namespace, column: Callable[[str], int], data: Rows, extra: int) -> Any:
    """The penalty on the coefficients that satisfy every --constraint; `extra` features follow those of the data."""
    if not arguments.constraint:
        return penalty
    from fenchel.regularizers import LinearlyConstrained

    d = data.X.shape[1] + extra
    rows = [row for text in arguments.constraint for row in constraint_rows(text, column, d)]
    A, lower, upper = (np.array(part) for part in zip(*rows, strict=True))
    return LinearlyConstrained(penalty, A, lower, upper)
