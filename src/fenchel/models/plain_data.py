"""Conversion of plain data with infinities and arrays to JSON-compatible data with named arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.errors import ModelFileError

Header = dict[str, Any]
Arrays = dict[str, np.ndarray]
ENDLESS = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}


def finite(data: dict[str, Any]) -> dict[str, Any]:
    """The data with infinite floats replaced by words, since JSON has no infinity."""
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


def without_arrays(plain: dict[str, Any], prefix: str, arrays: Arrays) -> dict[str, Any]:
    """Move arrays among the parameters of a loss from the header to `arrays`, replaced by {"array": name}."""
    out: dict[str, Any] = {}
    for key, value in plain.items():
        if isinstance(value, np.ndarray):
            arrays[f"{prefix}/{key}"] = value
            out[key] = {"array": f"{prefix}/{key}"}
        else:
            out[key] = without_arrays(value, f"{prefix}/{key}", arrays) if isinstance(value, dict) else value
    return out


def with_arrays(plain: dict[str, Any], arrays: Arrays, used: set[str]) -> dict[str, Any]:
    """The inverse of `without_arrays`; adds the names of the arrays to `used`."""
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


def lift(parameters: dict[str, Any], prefix: str, arrays: Arrays) -> dict[str, Any]:
    """Move lists of numbers from the header to `arrays`, replaced by {"array": name}."""
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


def lower(plain: dict[str, Any], arrays: Arrays, used: set[str]) -> dict[str, Any]:
    """The inverse of `lift`; adds the names of the arrays to `used`."""
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
            case str() if key == "name":  # of an inner regularizer
                parameters[key] = value
            case _:
                raise ModelFileError(f"parameter {key!r:.40} of its regularizer has the wrong type")
    return parameters
