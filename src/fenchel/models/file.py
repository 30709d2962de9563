"""save / load: models as files with nothing executable in them; `fenchel.files.container` says what the bytes are.

Reading looks up losses and regularizers by name in the tables of the built-in ones and calls nothing else: there is no
pickle and no other format to fall back to.
"""

from __future__ import annotations

import os
import stat
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
}  # by the kind that the file names


def save(path: str | os.PathLike[str], model: BaseModel | Result | HasModel) -> None:
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


def as_model(given: object) -> Any:
    """The model that is meant by a model, a Result or a fitted estimator."""
    if isinstance(given, Result):
        return CLASSES.get(given.problem.family, Model).from_result(given)
    if hasattr(given, "to_model") and not isinstance(given, type):
        given = given.to_model()
    if not isinstance(given, BaseModel):
        raise InputError(
            f"model must be a model, a Result or a fitted estimator of fenchel, got {type(given).__name__}; of a pipeline or "
            "a search, save the fitted estimator inside it"
        )
    return given


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
            return model_from_plain(CLASSES[header.pop("kind", None)], header, arrays)
        except (FenchelError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
            what = str(error) if isinstance(error, FenchelError) else "its content is not that of a model"
            raise ModelFileError(f"{name!r} cannot be read as a model: {what}") from None
