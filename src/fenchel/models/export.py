"""Models in the formats of other programs: liblinear's text, JSON, ONNX."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from fenchel.errors import InputError, UnknownNameError
from fenchel.files.atomic_write import replacing
from fenchel.models.base import BaseModel
from fenchel.result import Result


def export(model: Any, path: str | os.PathLike[str], format: str) -> None:
    """Write a fitted estimator, a model or a Result in a format that other programs read.

    Parameters
    ----------
    model : a fitted estimator, a model (`fenchel.Model`, `fenchel.load(...)`) or a `Result` of `fenchel.solve`.
    path : the file, which is written atomically.
    format : "onnx", a graph in double precision (needs `pip install 'fenchel[onnx]'`); "liblinear", a text file for liblinear's
        predict, for labels that are integers; "json", the whole content of the model, with every bit of its numbers.

    Models of sequences and with a kernel can only be written as "json". The command `fenchel export` does the same.

    Examples
    --------
    >>> import fenchel, tempfile, pathlib
    >>> model = fenchel.Classifier(loss="hinge", alpha=0.1).fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "svm.model"
    >>> fenchel.export(model, path, "liblinear")
    >>> path.read_text().splitlines()[:3]
    ['solver_type L2R_L1LOSS_SVC_DUAL', 'nr_class 2', 'label 1 0']
    """
    content = exported(_model(model), format)
    with replacing(path) as file:
        file.write(content)


def exported(model: Any, format: str) -> bytes:
    """The content of the file."""
    if format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    if format != "json" and not model.is_linear:
        what = f"model of {type(model.loss).__name__}" if model.is_structured else "kernel"
        raise InputError(f"the format {format} cannot represent a {what}: use json")
    return FORMATS[format](model)


def _model(given: Any) -> Any:
    """The model of an estimator or a Result."""
    if isinstance(given, BaseModel):
        return given
    if isinstance(given, Result):
        from fenchel.models.model import Model

        return Model.from_result(given)
    if hasattr(given, "to_model"):
        return given.to_model()
    raise InputError(f"model must be a fitted estimator, a model or a Result, got {type(given).__name__}")


def _liblinear(model: Any) -> bytes:
    from fenchel.models.export_liblinear import liblinear_text

    return liblinear_text(model).encode()


def _onnx(model: Any) -> bytes:
    from fenchel.models.export_onnx import onnx_bytes

    return onnx_bytes(model)


def _json(model: Any) -> bytes:
    from fenchel.models.stored import plain

    header, arrays = plain(model)
    content = {"header": header, "arrays": {name: _nested(array) for name, array in arrays.items()}}
    return (json.dumps(content, allow_nan=False) + "\n").encode()


def _nested(array: np.ndarray) -> Any:
    """Nested lists; JSON has no infinities, so they are words.

    >>> _nested(np.array([1.0, -np.inf]))
    [1.0, '-inf']
    """
    if not np.issubdtype(array.dtype, np.floating) or np.isfinite(array).all():
        return array.tolist()
    return np.where(np.isfinite(array), array.astype(object), array.astype(str).astype(object)).tolist()


FORMATS: dict[str, Callable[[Any], bytes]] = {"liblinear": _liblinear, "json": _json, "onnx": _onnx}
