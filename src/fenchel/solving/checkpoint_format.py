"""The state of a solve as plain data: numbers, strings, lists, arrays, CSR matrices and the few types of tuples in dual points.

`pack` converts it for `files.container.encode`, and `unpack` restores it: bit-identical numbers, arrays of the same dtype and
memory order that share no memory with the original. No code is stored or executed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp

from fenchel.oracles.local_dual import Round
from fenchel.oracles.scalar import Kept, Mixed, PlaneRecipe
from fenchel.oracles.structured import LabelRecipe
from fenchel.problems.measure import Mixture
from fenchel.structured.pool import Gibbs, Marginals, Pool

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS: tuple[Any, ...] = (Mixture, Pool, Gibbs, Marginals, PlaneRecipe, LabelRecipe, Mixed, Kept, Round)
TUPLES: dict[str, Any] = {kind.__name__: kind for kind in KINDS}
DTYPES = {np.dtype(kind).str for kind in ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")}
Arrays = dict[str, np.ndarray]


def pack(state: Mapping[str, object]) -> tuple[Any, Arrays]:
    """(JSON-compatible data, arrays): copies, so that a solver may continue to modify its own.

    >>> plain, arrays = pack({"w": np.array([1.0, 2.0]), "gap": float("inf")})
    >>> plain["gap"], unpack(plain, arrays)["w"].tolist()
    ({'$float': 'inf'}, [1.0, 2.0])
    """
    arrays: Arrays = {}
    return _packed(state, arrays, {}), arrays


def _packed(value: Any, arrays: Arrays, seen: dict[int, dict[str, Any]]) -> Any:
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, np.ndarray):
        if id(value) not in seen:
            seen[id(value)] = _packed_array(value, arrays)
        return seen[id(value)]
    if sp.issparse(value):
        parts = [_packed(part, arrays, seen) for part in (value.data, value.indices, value.indptr)]
        return {"$csr": parts, "shape": list(value.shape)}
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
    if isinstance(value, np.integer):
        return int(value)
    if type(value).__name__ in TUPLES and isinstance(value, TUPLES[type(value).__name__]):
        return {"$tuple": type(value).__name__, "items": [_packed(item, arrays, seen) for item in value]}
    if isinstance(value, (list, tuple)):
        return [_packed(item, arrays, seen) for item in value]
    if isinstance(value, dict):
        return {key: _packed(item, arrays, seen) for key, item in value.items()}
    raise TypeError(f"a checkpoint cannot hold a {type(value).__name__}")


def _packed_array(value: np.ndarray, arrays: Arrays) -> dict[str, Any]:
    """A flat array of 8-byte numbers; the memory order is stored, because BLAS adds in an order that depends on it."""
    order: Literal["C", "F"] = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    kind = np.float64 if value.dtype.kind == "f" else np.int64
    name = str(len(arrays))
    arrays[name] = np.array(value.ravel(order=order), dtype=kind)
    return {"$array": name, "dtype": value.dtype.str, "shape": list(value.shape), "order": order}


def unpack(plain: object, arrays: Arrays) -> Any:
    """The inverse of `pack`, except that plain tuples become lists."""
    match plain:
        case {"$float": str(word)}:
            return float(word)
        case {"$array": name, "dtype": dtype, "shape": shape, "order": order} if dtype in DTYPES:
            return arrays[name].astype(dtype).reshape(shape, order=order)
        case {"$csr": parts, "shape": shape}:
            matrix = sp.csr_matrix(tuple(unpack(part, arrays) for part in parts), shape=tuple(shape))
            matrix.check_format(full_check=True)
            return matrix
        case {"$tuple": name, "items": items}:
            return TUPLES[name](*(unpack(item, arrays) for item in items))
        case dict():
            return {key: unpack(item, arrays) for key, item in plain.items()}
        case list():
            return [unpack(item, arrays) for item in plain]
    return plain
