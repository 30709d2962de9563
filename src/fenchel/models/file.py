"""save / load: models as files with nothing executable in them; `fenchel.files.container` says what the bytes are.

Reading looks up losses and regularizers by name in the tables of the built-in ones and calls nothing else: there is no
pickle and no other format to fall back to.
"""

from __future__ import annotations

import os
import re
import stat
from typing import Any

import numpy as np

from fenchel import regularizers
from fenchel.errors import FenchelError, InputError, ModelFileError
from fenchel.files.atomic_write import replacing
from fenchel.files.container import decode, encode
from fenchel.models.kernel import KernelModel
from fenchel.models.kernel_file import KINDS
from fenchel.models.model import Model
from fenchel.models.plain import (
    endless,
    finite,
    lift,
    lower,
    matrix_arrays,
    matrix_of,
    problem_from_plain,
    problem_to_plain,
    regularizer_name,
    tuples,
)
from fenchel.models.structured import StructuredModel
from fenchel.models.structured_file import structured_from_plain, structured_to_plain
from fenchel.result import Certificate, Result, Status

LARGEST_FILE = 1 << 34
HEX_DIGEST = r"[0-9a-f]{64}"
KEYS = {
    "certificates", "digests", "feature_names", "fit_intercept", "index_base", "labels", "loss", "n", "offset",
    "regularizer", "solvers", "statuses", "tol", "versions", "weighted",
}  # fmt: skip
OPTIONAL = {"constant", "dropped", "target", "thresholds"}  # written where there are some


MODEL_OF: dict[str, Any] = {"structured": StructuredModel, "kernel": KernelModel}  # of other families: Model


def save(path: str | os.PathLike[str], model: Any) -> None:
    """Write a model, or that of a Result or a fitted estimator: all of the new file is there, or the old one is untouched.

    Estimators are written as `estimator.to_model()`: what they predict with and their certificates, without options of the
    solver. `load` gives that model, whose `predict` agrees with the estimator's to the last bit.

    The same model gives the same bytes: no time and no name of a machine or user is stored. Rows of the data are not
    stored, but for those that a kernel needs to predict (`KernelModel.vectors`); the dual point has one number per row (or per
    row and class; of a sparse one what is not zero), and `Model.from_result(result, keep_dual=False)` leaves it out. A
    symbolic link at `path` is replaced by the file, what it pointed to is left alone.

    Examples
    --------
    >>> import fenchel, tempfile, pathlib
    >>> X, y = [[0.0], [1.0], [2.0]], [-1, -1, 1]
    >>> result = fenchel.solve(fenchel.Problem(X, y, loss="hinge", alpha=0.1))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.fenchel"
    >>> save(path, result)
    >>> load(path).coef.tobytes() == result.coef.tobytes()
    True
    >>> save(path, fenchel.KernelClassifier().fit(X, y))
    >>> load(path).predict(X).tolist()
    [-1, -1, 1]
    """
    parts = encode(*plain(as_model(model)))
    with replacing(path) as file:
        for part in parts:
            file.write(part)


def as_model(given: Any) -> Any:
    """The model that is meant by a model, a Result or a fitted estimator."""
    if isinstance(given, Result):
        return MODEL_OF.get(given.problem.family, Model).from_result(given)
    if hasattr(given, "to_model") and not isinstance(given, type):
        given = given.to_model()
    if not isinstance(given, (Model, StructuredModel, *(kind.cls for kind in KINDS.values()))):
        raise InputError(
            f"model must be a model, a Result or a fitted estimator of fenchel, got {type(given).__name__}; of a pipeline or "
            "a search, save the fitted estimator inside it"
        )
    return given


def plain(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """All that is in a model: (what JSON can hold, infinite numbers as words; its arrays by name)."""
    own = next((kind for kind in KINDS.values() if kind.cls is type(model)), None)
    if own is not None:
        return own.to_plain(model)
    return _to_plain(model) if isinstance(model, Model) else _structured_to_plain(model)


def load(path: str | os.PathLike[str], *, largest: int = LARGEST_FILE) -> Any:
    """Read what `save` wrote; ModelFileError if it is truncated, changed in any bit, or of another format version.

    The checksum finds every accidental change. It is no signature: who edits a model on purpose can repair it, and
    `fenchel verify MODEL DATA` is what exposes that. Symbolic links are followed; anything but a plain file is refused,
    and so is a file of more than `largest` bytes. Arrays of the model are read-only.

    It is a `Model`, or a `StructuredModel`, `KernelModel`, `OnlineModel` or, of `IncompleteCholesky`, its features.
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
            return READERS.get(header.get("kind"), _from_plain)(header, arrays)
        except (FenchelError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
            what = str(error) if isinstance(error, FenchelError) else "its content is not that of a model"
            raise ModelFileError(f"{name!r} cannot be read as a model: {what}") from None


def _to_plain(model: Model) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    arrays = {"coef": np.asarray(model.coef), "intercept": np.asarray(model.intercept, dtype=float)}
    arrays |= matrix_arrays("dual_points", model.dual_points)
    header = {
        "certificates": [finite(vars(certificate)) for certificate in model.certificates],
        "digests": list(model.digests),
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "fit_intercept": bool(model.fit_intercept),
        "index_base": model.index_base,
        "labels": None if model.labels is None else list(model.labels),
        "n": int(model.n),
        "offset": model.offset,
        "solvers": list(model.solvers),
        "statuses": [status.name for status in model.statuses],
        "tol": float(model.tol),
        "versions": model.versions,
        "weighted": model.weighted,
        **problem_to_plain(model, arrays),
    }
    if model.thresholds is not None:
        header["thresholds"] = list(model.thresholds)
    if model.constant is not None:
        header["constant"] = model.constant
    if model.target is not None:
        header["target"] = model.target
    if model.dropped:
        header["dropped"] = list(model.dropped)
    return header, arrays


def _structured_to_plain(model: StructuredModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    name = regularizer_name(model.regularizer)
    header, arrays = structured_to_plain(model)
    header["certificate"] = finite(vars(model.certificate))
    header["regularizer"] = [name, lift(model.regularizer.parameters(), "regularizer", arrays)]
    return header, arrays


def _structured_from_plain(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> StructuredModel:
    used = set[str]()
    kind, parameters = header.pop("regularizer")
    regularizer = regularizers.from_parameters(kind, lower(parameters, arrays, used))
    certificate = Certificate(**endless(header.pop("certificate")))
    return structured_from_plain(header, arrays, regularizer, certificate, used)


def _from_plain(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Model:
    if set(header) - OPTIONAL != KEYS:
        wrong = sorted(KEYS ^ (set(header) - OPTIONAL))
        raise ModelFileError(f"its header has other entries than a model: {wrong[0]:.40}")
    lowered = set[str]()
    problem = problem_from_plain(header, arrays, lowered)
    dual_points = matrix_of("dual_points", arrays, len(arrays["coef"]), lowered)
    if set(arrays) - lowered != {"coef", "intercept"}:
        raise ModelFileError("it has arrays that no model has, or lacks some")
    intercept = arrays["intercept"]
    rest: dict[str, Any] = tuples(header)
    model = Model(
        coef=arrays["coef"],
        intercept=intercept if intercept.ndim else float(intercept),
        dual_points=dual_points,
        certificates=tuple(Certificate(**endless(part)) for part in rest.pop("certificates")),
        statuses=tuple(Status[name] for name in rest.pop("statuses")),
        **problem,
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
        and all(
            digest is None or (type(digest) is str and re.fullmatch(HEX_DIGEST, digest)) for digest in model.digests
        )
        and all(type(flag) is bool for flag in (model.fit_intercept, model.weighted, model.offset))
        and all(type(cut) is float for cut in model.thresholds or ())
        and type(model.constant) in (float, type(None))
        and type(model.n) is int
        and type(model.index_base) in (int, type(None))
        and all(array is None or array.dtype == np.float64 for array in (model.coef, model.dual_points))
    )
    if not good:
        raise ModelFileError("a number, name or flag in its header is of the wrong kind")


READERS: dict[Any, Any] = {"structured": _structured_from_plain} | {
    name: kind.from_plain for name, kind in KINDS.items()
}
