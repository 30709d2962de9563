"""Parts of models as what JSON can hold and arrays, and back: infinite numbers, losses, regularizers, CSR matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel import regularizers
from fenchel.data.accept import fault
from fenchel.errors import InputError, ModelFileError
from fenchel.models.parts import loss_from_parameters, loss_parameters

ENDLESS = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}
CSR_PARTS = ("data", "indices", "indptr")


def problem_to_plain(model: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Loss and regularizer of a model; their arrays go to `arrays`."""
    name = regularizer_name(model.regularizer)
    return {
        "loss": finite(without_arrays(loss_parameters(model.loss), "loss", arrays)),
        "regularizer": [name, lift(model.regularizer.parameters(), "regularizer", arrays)],
    }


def problem_from_plain(header: dict[str, Any], arrays: dict[str, np.ndarray], used: set[str]) -> dict[str, Any]:
    """The inverse, taken out of the header; the names of the arrays it takes go to `used`."""
    kind, parameters = header.pop("regularizer")
    return {
        "regularizer": regularizers.from_parameters(kind, lower(parameters, arrays, used)),
        "loss": loss_from_parameters(with_arrays(endless(header.pop("loss")), arrays, used)),
    }


def tuples(header: dict[str, Any]) -> dict[str, Any]:
    """What is left of a header: lists as tuples; only versions are told by name."""
    strange = next((key for key, part in header.items() if isinstance(part, dict) and key != "versions"), None)
    if strange is not None:
        raise ModelFileError(f"{strange:.40} in its header is of the wrong kind")
    return {key: tuple(part) if isinstance(part, list) else part for key, part in header.items()}


def matrix_arrays(name: str, matrix: Any) -> dict[str, np.ndarray]:
    """A matrix as arrays by name: one, or those of a CSR matrix; none if it is None."""
    if sp.issparse(matrix):
        return {f"{name}/{part}": getattr(matrix, part) for part in CSR_PARTS}
    return {} if matrix is None else {name: matrix}


def matrix_of(name: str, arrays: dict[str, np.ndarray], columns: int, used: set[str]) -> Any:
    """The inverse of `matrix_arrays`; the names of the arrays it takes go to `used`."""
    parts = [f"{name}/{part}" for part in CSR_PARTS]
    if not set(parts) <= set(arrays):
        used.add(name)
        return arrays.get(name)
    used.update(parts)
    data, indices, indptr = (arrays[part] for part in parts)
    matrix = sp.csr_matrix((data, indices, indptr), shape=(indptr.size - 1, columns))
    if why := fault(matrix):
        raise ModelFileError(f"its {name.replace('_', ' ')} are not a sound CSR matrix: {why}")
    return matrix


def regularizer_name(regularizer: Any) -> str:
    name = next((key for key, kind in regularizers.REGULARIZERS.items() if kind is type(regularizer)), None)
    if name is None:
        raise InputError(f"{type(regularizer).__name__} is not a built-in regularizer and cannot be written to a file")
    return name


def finite(data: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: such floats become words."""
    return {
        key: finite(value) if isinstance(value, dict)
        else str(float(value)) if isinstance(value, float) and not np.isfinite(value)
        else value
        for key, value in data.items()
    }  # fmt: skip


def endless(data: Any) -> dict[str, Any]:
    """The inverse of `finite`."""
    return {
        key: endless(value) if isinstance(value, dict) else ENDLESS.get(value, value) if type(value) is str else value
        for key, value in dict(data).items()
    }


def without_arrays(plain: dict[str, Any], prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Arrays among the parameters of a loss leave the header; {"array": name} stays in their place."""
    out: dict[str, Any] = {}
    for key, value in plain.items():
        if isinstance(value, np.ndarray):
            arrays[f"{prefix}/{key}"] = value
            out[key] = {"array": f"{prefix}/{key}"}
        else:
            out[key] = without_arrays(value, f"{prefix}/{key}", arrays) if isinstance(value, dict) else value
    return out


def with_arrays(plain: dict[str, Any], arrays: dict[str, np.ndarray], used: set[str]) -> dict[str, Any]:
    """The inverse of `without_arrays`; the names of the arrays it takes go to `used`."""
    out: dict[str, Any] = {}
    for key, value in plain.items():
        match value:
            case {"array": str(name), **rest} if not rest:
                out[key] = arrays[name]
                used.add(name)
            case dict():
                out[key] = with_arrays(value, arrays, used)
            case _:
                out[key] = value
    return out


def lift(parameters: dict[str, Any], prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Lists of numbers leave the header and become arrays; {"array": name} stays in their place."""
    plain: dict[str, Any] = {}
    for key, value in parameters.items():
        if isinstance(value, dict):
            plain[key] = {"parts": lift(value, f"{prefix}/{key}", arrays)}
        elif isinstance(value, list):
            arrays[f"{prefix}/{key}"] = np.asarray(value)
            plain[key] = {"array": f"{prefix}/{key}"}
        else:
            plain[key] = value
    return plain


def lower(plain: dict[str, Any], arrays: dict[str, np.ndarray], used: set[str]) -> dict[str, Any]:
    """The inverse of `lift`; the names of the arrays it takes go to `used`."""
    parameters: dict[str, Any] = {}
    for key, value in plain.items():
        match value:
            case {"parts": dict(parts), **rest} if not rest:
                parameters[key] = lower(parts, arrays, used)
            case {"array": str(name), **rest} if not rest:
                parameters[key] = arrays[name]
                used.add(name)
            case None | int() | float():
                parameters[key] = value
            case _:
                raise ModelFileError(f"parameter {key!r:.40} of its regularizer is of the wrong kind")
    return parameters
