"""save / load: models as files with nothing executable in them; `fenchel.model_format` says what the bytes are.

Reading looks up losses and regularizers by name in the tables of the built-in ones and calls nothing else: there is no
pickle and no other format to fall back to.
"""

from __future__ import annotations

import os
import re
import stat
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel import regularizers
from fenchel.data.accept import fault
from fenchel.errors import FenchelError, InputError, ModelFileError
from fenchel.model import Model
from fenchel.model_format import decode, encode
from fenchel.model_parts import loss_from_parameters, loss_parameters
from fenchel.result import Certificate, Result, Status
from fenchel.structured_file import structured_from_plain, structured_to_plain
from fenchel.structured_model import StructuredModel
from fenchel.whole_file import replacing

LARGEST_FILE = 1 << 34
HEX_DIGEST = r"[0-9a-f]{64}"
KEYS = {
    "certificates", "digests", "feature_names", "fit_intercept", "index_base", "labels", "loss", "n", "offset",
    "regularizer", "solvers", "statuses", "tol", "versions", "weighted",
}  # fmt: skip
CSR_PARTS = ("dual_points/data", "dual_points/indices", "dual_points/indptr")
OPTIONAL = {"constant", "thresholds"}  # written where there are some
ENDLESS = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}


def save(path: str | os.PathLike[str], model: Model | StructuredModel | Result) -> None:
    """Write a model (or the model of a Result): all of the new file is there, or the old one is untouched.

    The same model gives the same bytes: no time and no name of a machine or user is stored. Rows of the data are not
    stored; the dual point has one number per row (or per row and
    class; of a sparse one what is not zero), and `Model.from_result(result, keep_dual=False)` leaves it out. A
    symbolic link at `path` is replaced by the file, what it pointed to is left alone.

    Examples
    --------
    >>> import fenchel, tempfile, pathlib
    >>> problem = fenchel.Problem([[0.0], [1.0], [2.0]], [-1, -1, 1], loss="hinge", alpha=0.1)
    >>> result = fenchel.solve(problem)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.fenchel"
    >>> save(path, result)
    >>> load(path).coef.tobytes() == result.coef.tobytes()
    True
    """
    if isinstance(model, Result):
        model = (StructuredModel if model.problem.family == "structured" else Model).from_result(model)
    if not isinstance(model, Model | StructuredModel):
        raise InputError(f"model must be a Model or a Result, got {type(model).__name__}")
    parts = encode(*plain(model))
    with replacing(path) as file:
        for part in parts:
            file.write(part)


def plain(model: Model | StructuredModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """All that is in a model: (what JSON can hold, infinite numbers as words; its arrays by name)."""
    return _to_plain(model) if isinstance(model, Model) else _structured_to_plain(model)


def load(path: str | os.PathLike[str], *, largest: int = LARGEST_FILE) -> Model | StructuredModel:
    """Read what `save` wrote; ModelFileError if it is truncated, changed in any bit, or of another format version.

    The checksum finds every accidental change. It is no signature: who edits a model on purpose can repair it, and
    `fenchel verify MODEL DATA` is what exposes that. Symbolic links are followed; anything but a plain file is refused,
    and so is a file of more than `largest` bytes. Arrays of the model are read-only.
    """
    name = os.fsdecode(path)
    # Not blocking: opening a named pipe would otherwise wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ModelFileError(f"{name!r} is not a plain file, so it is no model")
        if found.st_size > largest:
            raise ModelFileError(
                f"{name!r} has {found.st_size} bytes; more than {largest} need load(path, largest=...)"
            )
        try:
            header, arrays = decode(file, found.st_size)
            return (_structured_from_plain if header.get("kind") == "structured" else _from_plain)(header, arrays)
        except (FenchelError, AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            what = str(error) if isinstance(error, FenchelError) else "its content is not that of a model"
            raise ModelFileError(f"{name!r} cannot be read as a model: {what}") from None


def _to_plain(model: Model) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    name = _regularizer_name(model.regularizer)
    arrays = {"coef": np.asarray(model.coef), "intercept": np.asarray(model.intercept, dtype=float)}
    arrays |= _dual_arrays(model.dual_points)
    header = {
        "certificates": [_finite(vars(certificate)) for certificate in model.certificates],
        "digests": list(model.digests),
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "fit_intercept": bool(model.fit_intercept),
        "index_base": model.index_base,
        "labels": None if model.labels is None else list(model.labels),
        "loss": _finite(_without_arrays(loss_parameters(model.loss), "loss", arrays)),
        "n": int(model.n),
        "offset": model.offset,
        "regularizer": [name, _lift(model.regularizer.parameters(), "regularizer", arrays)],
        "solvers": list(model.solvers),
        "statuses": [status.name for status in model.statuses],
        "tol": float(model.tol),
        "versions": model.versions,
        "weighted": model.weighted,
    }
    if model.thresholds is not None:
        header["thresholds"] = list(model.thresholds)
    if model.constant is not None:
        header["constant"] = model.constant
    return header, arrays


def _dual_arrays(points: Any) -> dict[str, np.ndarray]:
    """The dual points as arrays by name: one, or those of a CSR matrix."""
    if sp.issparse(points):
        return dict(zip(CSR_PARTS, (points.data, points.indices, points.indptr), strict=True))
    return {} if points is None else {"dual_points": points}


def _dual_points(arrays: dict[str, np.ndarray], used: set[str]) -> Any:
    """The inverse of `_dual_arrays`; the names of the arrays it takes go to `used`."""
    if not set(CSR_PARTS) <= set(arrays):
        used.add("dual_points")
        return arrays.get("dual_points")
    used.update(CSR_PARTS)
    data, indices, indptr = (arrays[name] for name in CSR_PARTS)
    points = sp.csr_matrix((data, indices, indptr), shape=(indptr.size - 1, len(arrays["coef"])))
    if why := fault(points):
        raise ModelFileError(f"its dual points are not a sound CSR matrix: {why}")
    return points


def _regularizer_name(regularizer: Any) -> str:
    name = next((key for key, kind in regularizers.REGULARIZERS.items() if kind is type(regularizer)), None)
    if name is None:
        raise InputError(f"{type(regularizer).__name__} is not a built-in regularizer and cannot be written to a file")
    return name


def _structured_to_plain(model: StructuredModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    name = _regularizer_name(model.regularizer)
    header, arrays = structured_to_plain(model)
    header["certificate"] = _finite(vars(model.certificate))
    header["regularizer"] = [name, _lift(model.regularizer.parameters(), "regularizer", arrays)]
    return header, arrays


def _structured_from_plain(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> StructuredModel:
    used = set[str]()
    kind, parameters = header.pop("regularizer")
    regularizer = regularizers.from_parameters(kind, _lower(parameters, arrays, used))
    certificate = Certificate(**_endless(header.pop("certificate")))
    return structured_from_plain(header, arrays, regularizer, certificate, used)


def _from_plain(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Model:
    if set(header) - OPTIONAL != KEYS:
        wrong = sorted(KEYS ^ (set(header) - OPTIONAL))
        raise ModelFileError(f"its header has other entries than a model: {wrong[0]:.40}")
    lowered = set[str]()
    kind, parameters = header.pop("regularizer")
    regularizer = regularizers.from_parameters(kind, _lower(parameters, arrays, lowered))
    loss = loss_from_parameters(_with_arrays(_endless(header.pop("loss")), arrays, lowered))
    dual_points = _dual_points(arrays, lowered)
    if set(arrays) - lowered != {"coef", "intercept"}:
        raise ModelFileError("it has arrays that no model has, or lacks some")
    intercept = arrays["intercept"]
    rest: dict[str, Any] = {key: tuple(part) if isinstance(part, list) else part for key, part in header.items()}
    model = Model(
        coef=arrays["coef"],
        intercept=intercept if intercept.ndim else float(intercept),
        dual_points=dual_points,
        regularizer=regularizer,
        loss=loss,
        certificates=tuple(Certificate(**_endless(part)) for part in rest.pop("certificates")),
        statuses=tuple(Status[name] for name in rest.pop("statuses")),
        **rest,
    )
    _check_types(model)
    return model


def _check_types(model: Model) -> None:
    """What `Model` itself trusts its maker for."""
    numbers = [number for part in model.certificates for number in (part.primal, part.dual, part.floor)]
    good = (
        all(type(number) is float for number in [*numbers, model.tol])
        and all(type(part.basis) is str for part in model.certificates)
        and all(type(name) is str for name in [*model.solvers, *model.versions.values()])
        and all(type(digest) is str and re.fullmatch(HEX_DIGEST, digest) for digest in model.digests)
        and all(type(flag) is bool for flag in (model.fit_intercept, model.weighted, model.offset))
        and all(type(cut) is float for cut in model.thresholds or ())
        and type(model.constant) in (float, type(None))
        and type(model.n) is int
        and type(model.index_base) in (int, type(None))
        and all(array is None or array.dtype == np.float64 for array in (model.coef, model.dual_points))
    )
    if not good:
        raise ModelFileError("a number, name or flag in its header is of the wrong kind")


def _finite(data: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: such floats become words."""
    return {
        key: _finite(value) if isinstance(value, dict)
        else str(float(value)) if isinstance(value, float) and not np.isfinite(value)
        else value
        for key, value in data.items()
    }  # fmt: skip


def _endless(data: Any) -> dict[str, Any]:
    """The inverse of `_finite`."""
    return {
        key: _endless(value) if isinstance(value, dict) else ENDLESS.get(value, value) if type(value) is str else value
        for key, value in dict(data).items()
    }


def _without_arrays(plain: dict[str, Any], prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Arrays among the parameters of a loss leave the header; {"array": name} stays in their place."""
    out: dict[str, Any] = {}
    for key, value in plain.items():
        if isinstance(value, np.ndarray):
            arrays[f"{prefix}/{key}"] = value
            out[key] = {"array": f"{prefix}/{key}"}
        else:
            out[key] = _without_arrays(value, f"{prefix}/{key}", arrays) if isinstance(value, dict) else value
    return out


def _with_arrays(plain: dict[str, Any], arrays: dict[str, np.ndarray], used: set[str]) -> dict[str, Any]:
    """The inverse of `_without_arrays`; the names of the arrays it takes go to `used`."""
    out: dict[str, Any] = {}
    for key, value in plain.items():
        match value:
            case {"array": str(name), **rest} if not rest:
                out[key] = arrays[name]
                used.add(name)
            case dict():
                out[key] = _with_arrays(value, arrays, used)
            case _:
                out[key] = value
    return out


def _lift(parameters: dict[str, Any], prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Lists of numbers leave the header and become arrays; {"array": name} stays in their place."""
    plain: dict[str, Any] = {}
    for key, value in parameters.items():
        if isinstance(value, dict):
            plain[key] = {"parts": _lift(value, f"{prefix}/{key}", arrays)}
        elif isinstance(value, list):
            arrays[f"{prefix}/{key}"] = np.asarray(value)
            plain[key] = {"array": f"{prefix}/{key}"}
        else:
            plain[key] = value
    return plain


def _lower(plain: dict[str, Any], arrays: dict[str, np.ndarray], used: set[str]) -> dict[str, Any]:
    """The inverse of `_lift`; the names of the arrays it takes go to `used`."""
    parameters: dict[str, Any] = {}
    for key, value in plain.items():
        match value:
            case {"parts": dict(parts), **rest} if not rest:
                parameters[key] = _lower(parts, arrays, used)
            case {"array": str(name), **rest} if not rest:
                parameters[key] = arrays[name]
                used.add(name)
            case None | int() | float():
                parameters[key] = value
            case _:
                raise ModelFileError(f"parameter {key!r:.40} of its regularizer is of the wrong kind")
    return parameters
