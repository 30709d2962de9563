"""Labels of choices among classes or candidates: the right one, or the costs of all."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.data.dtypes import is_integer, is_number
from fenchel.errors import InputError


def right_one(i: int, costs: np.ndarray) -> int:
    """The choice that costs nothing, of which there must be exactly one.

    >>> right_one(0, np.array([2.0, 0.0, 0.5]))
    1
    """
    if not np.isfinite(costs).all() or costs.min() < 0.0:
        k = int(np.argmax(~(np.isfinite(costs) & (costs >= 0.0))))
        raise InputError(f"cost {k} of example {i} is {costs[k]!r}: costs must be finite and at least 0")
    free = np.flatnonzero(costs == 0.0)
    if free.size != 1:
        raise InputError(
            f"{free.size} choices of example {i} cost 0: exactly one, the right one, must; give the others a small cost"
        )
    return int(free[0])


def choice_and_costs(i: int, label: Any, count: int) -> tuple[int, np.ndarray]:
    """(the right one of so many choices, the cost of each) from its number, or from the costs."""
    found = np.asarray(label)
    if found.ndim == 0 and is_integer(found):
        if not 0 <= int(found) < count:
            raise InputError(
                f"the label of example {i} is {int(found)}, but it has {count} candidates, 0 .. {count - 1}"
            )
        return int(found), np.where(np.arange(count) == int(found), 0.0, 1.0)
    if found.shape != (count,) or not is_number(found):
        raise InputError(
            f"the label of example {i} must be the number of the right one of its {count} candidates, or the costs of all "
            f"{count}, got shape {found.shape}, type {found.dtype}"
        )
    costs = found.astype(np.float64)
    return right_one(i, costs), costs
