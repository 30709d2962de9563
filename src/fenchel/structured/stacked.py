"""The feature matrices of all examples as one matrix: a row per node, edge or position."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.data.accept import accept_matrix, read_only
from fenchel.errors import InputError


def stacked(parts: list[Any], what: str) -> tuple[Any, int, np.ndarray]:
    """(rows, features, first): rows first[i] .. first[i+1] are those of example i. Arrays or scipy matrices, of equal width."""
    parts = [part if sp.issparse(part) else _array(i, part, what) for i, part in enumerate(parts)]
    width = parts[0].shape[1]
    for i, part in enumerate(parts):
        if part.shape[1] != width:
            raise InputError(f"example {i} has {part.shape[1]} features per {what}, example 0 has {width}")
        values = part.data if sp.issparse(part) else part
        with np.errstate(over="ignore", invalid="ignore"):
            suspect = not np.isfinite(values.sum(dtype=np.float64))
        if suspect and not np.isfinite(values).all():
            raise InputError(f"the features of example {i} contain NaN or infinity: repair or drop the example")
    first = np.concatenate([[0], np.cumsum([part.shape[0] for part in parts])]).astype(np.int64)
    sparse = any(sp.issparse(part) for part in parts)
    together = sp.vstack(parts, format="csr") if sparse else np.concatenate(parts)
    return accept_matrix(together, "examples")[1], width, read_only(first)


def _array(i: int, part: Any, what: str) -> np.ndarray:
    try:
        values = np.asarray(part)
        values = values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the features of example {i} are not an array of numbers: {error}") from None
    if values.ndim != 2:
        raise InputError(f"the features of example {i} have {values.ndim} dimension(s): a row per {what} is needed")
    return values
