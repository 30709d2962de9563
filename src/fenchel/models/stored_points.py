"""Dual points of structured problems as an entry of the header and arrays, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fenchel.data.dtypes import is_signed_integer
from fenchel.errors import ModelFileError
from fenchel.structured import Gibbs, Marginals, Pool

POINTS: dict[str, Any] = {"gibbs": Gibbs, "marginals": Marginals, "pool": Pool}


def point_to_plain(point: Pool | Gibbs | Marginals | None, arrays: dict[str, np.ndarray]) -> list[Any] | None:
    """The name of its kind and, for marginals, the scale; the arrays are added to `arrays`."""
    if point is None:
        return None
    for key, part in point._asdict().items():
        if isinstance(part, np.ndarray):
            arrays[f"dual/{key}"] = part
    kind = next(key for key, kind in POINTS.items() if kind is type(point))
    return [kind, float(point.scale)] if isinstance(point, Marginals) else [kind]


def taken_point(plain: Any, array: Callable[[str], np.ndarray]) -> Pool | Gibbs | Marginals | None:
    """The inverse, with copies of the arrays: kernels are compiled for writable arrays."""
    if plain is None:
        return None
    match plain:
        case ["gibbs" | "pool" as name]:
            scale = []
        case ["marginals" as name, float(share)]:
            scale = [share]
        case _:
            raise ModelFileError("the kind of its dual point is unknown")
    names = POINTS[name]._fields[: len(POINTS[name]._fields) - len(scale)]
    parts = [np.array(array(f"dual/{key}")) for key in names]
    if name == "pool":
        parts[3] = _small_integers(parts[3])
    return POINTS[name](*parts, *scale)


def _small_integers(array: np.ndarray) -> np.ndarray:
    """Labels as int32, from the stored int64."""
    limits = np.iinfo(np.int32)
    if not is_signed_integer(array) or (array.size and not (array.min() >= limits.min and array.max() <= limits.max)):
        raise ModelFileError("its dual point has invalid labels")
    return array.astype(np.int32)
