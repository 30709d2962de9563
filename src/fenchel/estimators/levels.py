"""The order of labels: that of their type, or one given by the user."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.data.dtypes import is_number_or_bool
from fenchel.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def level_order(y: ArrayLike, levels: Sequence[str | float] | None) -> list[Any] | None:
    """The levels from lowest to highest: `levels` if given, else the categories of an ordered Categorical of pandas or an
    Enum of polars; None if y defines no order.

    >>> import pandas as pd
    >>> level_order(pd.Categorical(["low"], categories=["low", "high"], ordered=True), None)
    ['low', 'high']
    """
    if levels is not None:
        if isinstance(levels, str) or not isinstance(levels, (Sequence, np.ndarray)):
            raise InputError(f"levels must be a list of labels, from lowest to highest, got {levels!r}")
        order = [level.item() if isinstance(level, np.generic) else level for level in levels]
        if len(set(order)) != len(order) or len(order) < 2:
            raise InputError(f"levels must be at least two different labels, from lowest to highest, got {order!r}")
        return order
    kind: Any = getattr(y, "dtype", None)
    if getattr(kind, "ordered", False) and hasattr(kind, "categories"):
        return list(kind.categories)
    polars: Any = sys.modules.get("polars")  # a user with such data has imported the package
    if polars is not None and isinstance(kind, polars.Enum):
        return list(kind.categories)
    return None


def levelled(y: np.ndarray, order: list[Any] | None) -> tuple[np.ndarray, np.ndarray]:
    """(the levels from lowest to highest, the index of every label among them).

    >>> levelled(np.array(["mid", "low"]), ["low", "mid", "high"])
    (array(['low', 'mid', 'high'], dtype='<U4'), array([1, 0]))
    >>> levelled(np.array([10, 9, 10]), None)
    (array([ 9, 10]), array([1, 0, 1]))
    """
    if order is None:
        if not is_number_or_bool(y):
            some = ", ".join(str(label) for label in dict.fromkeys(y.tolist()[:100]))
            raise InputError(
                f"y holds words ({some:.60}) without an order, and alphabetical order is rarely meant. Name the "
                "levels from lowest to highest, levels=['low', 'high'], or pass numbers, an ordered Categorical of pandas "
                "(pd.Categorical(y, categories=[...], ordered=True)) or a polars Series of type pl.Enum([...])"
            )
        classes, place = np.unique(y, return_inverse=True)
        return classes, place
    number = {label: k for k, label in enumerate(order)}
    found = np.array([number.get(label, -1) for label in y.tolist()], dtype=np.int64)
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        raise InputError(f"y of row {row} is {y[row]!r}, which is not among the levels {order}")
    return np.array(order), found
