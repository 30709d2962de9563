"""What the columns of a training table were other than features, and rows with an offset.

Roles are plain data, all optional:
    id, weight, group   names of columns
    offset              the name of a column, or log(NAME): a fixed term of the score
    decimal             the decimal sign of numbers in text
    class_weight        the class weights of the fit, as ["balanced"] or ["LABEL=X", ...]
    test_size, seed     the share of the rows that was held out, and the seed of the choice
    rows                the number of rows of the table, of which some were held out
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.errors import InputError
from fenchel.models.base import Rules
from fenchel.tables.columns import columns_of, is_table
from fenchel.tables.rules import as_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fenchel.tables.columns import Column
    from fenchel.tables.preparation import Preparation

TYPES: dict[str, Any] = dict.fromkeys(("id", "weight", "group", "offset", "decimal"), str) | {
    "class_weight": list,
    "test_size": float,
    "seed": int,
    "rows": int,
}
_LOGARITHM = re.compile(r"log\((.+)\)")


@dataclass(frozen=True, eq=False)
class OffsetRows:
    """Rows of features, and a fixed term of each row's score."""

    X: Any
    offset: np.ndarray

    @property
    def shape(self) -> Any:
        """The shape of the rows."""
        return self.X.shape

    def __getitem__(self, rows: np.ndarray) -> OffsetRows:
        return OffsetRows(self.X[rows], self.offset[rows])


def without_offset(X: Any) -> tuple[Any, np.ndarray | None]:
    """(rows, their offset or None)."""
    return (X.X, X.offset) if isinstance(X, OffsetRows) else (X, None)


def role_rules(roles: Any) -> Rules:
    """The condition on the roles of columns."""
    yield (
        "roles must be None or a dict with known entries",
        roles is None or (type(roles) is dict and all(type(value) is TYPES.get(key) for key, value in roles.items())),
    )
    words = (roles or {}).get("class_weight", [])
    yield "class_weight must be a list of strings", all(type(word) is str for word in words)
    yield "test_size must be between 0 and 1", 0.0 <= (roles or {}).get("test_size", 0.0) < 1.0


def column_of_offset(text: str, columns: Mapping[str, Any]) -> tuple[str, bool]:
    """(the column, whether its logarithm is meant).

    >>> column_of_offset("log(exposure)", {"exposure": 0})
    ('exposure', True)
    """
    match = _LOGARITHM.fullmatch(text)
    return (match[1], True) if match and text not in columns else (text, False)


def numbers_of(column: Column, roles: Mapping[str, Any]) -> np.ndarray:
    """The numbers of a column: with the decimal sign of the table, unless more cells are numbers with the other one."""
    sign = roles.get("decimal", ".")
    found, other = (as_numbers(column, decimal) for decimal in (sign, "," if sign == "." else "."))
    return other if np.isfinite(other).sum() > np.isfinite(found).sum() else found


def offset_of(columns: Mapping[str, Column], roles: Mapping[str, Any], place: Callable[[int], str]) -> np.ndarray:
    """The offset of every row, NaN where it is missing; an error if there is none, or the logarithm does not exist."""
    text = roles["offset"]
    name, logarithm = column_of_offset(text, columns)
    if name not in columns:
        raise InputError(f"there is no column {name!r}, which the offset {text} needs; there are {', '.join(columns)}")
    values = numbers_of(columns[name], roles)
    if not logarithm:
        return values
    if (values <= 0.0).any():
        raise InputError(f"{name} is not positive in {place(int(np.argmax(values <= 0.0)))}, so {text} has no value")
    return np.log(values)


def rows_and_offset(X: Any, preparation: Preparation | None, roles: Mapping[str, Any] | None) -> Any:
    """(rows of features, offset or None) of X: rows, rows with an offset, or a table for which there is a preparation."""
    if isinstance(X, OffsetRows):
        return X.X, X.offset
    if preparation is None or not is_table(X):
        return X, None
    columns = columns_of(X, preparation.missing)
    rows, notes = preparation.of_columns(columns)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=4)
    if not roles or "offset" not in roles:
        return rows, None
    offset = offset_of(columns, roles, lambda row: f"row {row + 1}")
    if np.isnan(offset).any():
        raise InputError(f"the offset {roles['offset']} is missing in row {int(np.argmax(np.isnan(offset))) + 1}")
    return rows, offset
