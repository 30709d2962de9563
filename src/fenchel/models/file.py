"""save / load: model files without executable code, in the format of `fenchel.files.container`.

When a file is read, losses and regularizers are looked up by name among the built-in ones. Nothing else is called: there is no
pickle and no other format.
"""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fenchel.errors import FenchelError, InputError, ModelFileError
from fenchel.files.atomic_write import replacing
from fenchel.files.container import decode, encode
from fenchel.models.base import BaseModel
from fenchel.models.kernel import KernelModel
from fenchel.models.kernel_features import KernelFeatures
from fenchel.models.model import Model
from fenchel.models.online import OnlineModel
from fenchel.models.stored import model_from_plain, plain
from fenchel.models.structured import StructuredModel
from fenchel.result import Result

if TYPE_CHECKING:
    from fenchel.models.base import HasModel

LARGEST_FILE = 1 << 34
CLASSES: dict[Any, Any] = {
    cls.kind: cls for cls in (Model, KernelModel, KernelFeatures, OnlineModel, StructuredModel)
}  # by the kind in the file


def save(path: str | os.PathLike[str], model: BaseModel | Result | HasModel) -> None:
    """Write a model, or the model of a Result or of a fitted estimator. The file is written atomically.

    Estimators are written as `estimator.to_model()`, with everything that predictions need and the certificates, but without
    solver options. `load` returns this model, whose predictions are bit-identical to those of the estimator.

    Equal models give equal files: no time, machine name or user name is stored. Rows of the data are not stored, except those
    that a kernel needs for predictions (`KernelModel.vectors`). The dual point has one number per row (or per row and class; if
    sparse, only the nonzeros are stored); `Model.from_result(result, keep_dual=False)` omits it. A symbolic link at `path` is
    replaced by the file, and its target is unchanged.

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


def as_model(given: object) -> Any:
    """The model of a Result, a fitted estimator, or the model itself."""
    if isinstance(given, Result):
        problem = given.problem
        return CLASSES.get("kernel" if problem.is_kernel else problem.family, Model).from_result(given)
    if hasattr(given, "steps"):
        return _of_pipeline(given)
    if hasattr(given, "to_model") and not isinstance(given, type):
        given = given.to_model()
    if not isinstance(given, BaseModel):
        raise InputError(
            f"model must be a model, a Result or a fitted estimator of fenchel, got {type(given).__name__}; of a pipeline or "
            "a search, save the fitted estimator inside it"
        )
    return given


def _of_pipeline(given: Any) -> Any:
    """The model of a pipeline of a `TableTransformer` and an estimator; it takes tables itself."""
    first, last = given.steps[0][1], given.steps[-1][1]
    if len(given.steps) != 2 or not hasattr(first, "preparation_") or not hasattr(last, "to_model"):
        raise InputError(
            "of pipelines, those of a TableTransformer and a linear estimator of fenchel can be saved; of another one, save "
            "the fitted estimator inside it"
        )
    model = last.to_model()
    if not model.is_linear:
        raise InputError(
            f"a {type(model).__name__} cannot store the rules of a TableTransformer: save the estimator alone"
        )
    made = first.preparation_
    return replace(model, preparation=made, feature_names=tuple(made.features))


def load(path: str | os.PathLike[str], *, largest: int = LARGEST_FILE) -> Any:
    """Read what `save` wrote; ModelFileError if it is truncated, changed in any bit, or of another format version.

    The checksum detects accidental changes. It is not a signature: anyone who edits a model on purpose can recompute it, and
    `fenchel verify MODEL DATA` detects that. Symbolic links are followed; anything but a plain file is rejected, and so is a
    file of more than `largest` bytes. Arrays of the model are read-only.

    Returns a `Model`, `StructuredModel`, `KernelModel`, `OnlineModel` or, for `IncompleteCholesky`, a `KernelFeatures`.
    """
    name = os.fsdecode(path)
    # Non-blocking, because opening a named pipe would otherwise wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ModelFileError(f"{name!r} is not a plain file, so it cannot be a model")
        if found.st_size > largest:
            raise ModelFileError(
                f"{name!r} has {found.st_size} bytes; more than {largest} need load(path, largest=...)"
            )
        try:
            header, arrays = decode(file, found.st_size)
            return model_from_plain(CLASSES[header.pop("kind", None)], header, arrays)
        except (FenchelError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
            what = str(error) if isinstance(error, FenchelError) else "its content is not a model"
            raise ModelFileError(f"{name!r} cannot be read as a model: {what}") from None
