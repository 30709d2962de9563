"""The table of the file format, shared by all kinds of models: how each part is written and read.

A part is an entry of the header, an array, or both, in the format of `fenchel.files.container`. Readers check types; the rules
of the model (`BaseModel.rules`) check that the parts are consistent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel import regularizers
from fenchel.data.accept import fault
from fenchel.errors import ModelFileError
from fenchel.models.parts import loss_from_parameters, loss_parameters
from fenchel.models.plain_data import Arrays, Header, endless, finite, lift, lower, with_arrays, without_arrays
from fenchel.models.stored_names import packed_names, unpacked_names
from fenchel.models.stored_points import point_to_plain, taken_point
from fenchel.models.structured_check import Shape
from fenchel.result import Certificate, Status
from fenchel.tables.preparation import preparation_from_plain

if TYPE_CHECKING:
    from fenchel.problems.kinds_of_loss import AnyLoss
    from fenchel.regularizers import Regularizer

CSR_PARTS = ("data", "indices", "indptr")
DTYPES = {"float32": np.float32, "float64": np.float64}
HEX_DIGEST = r"[0-9a-f]{64}"


class Content:
    """Header and arrays of a file: parts are added one by one, or removed one by one until nothing is left."""

    def __init__(self, header: Header | None = None, arrays: Arrays | None = None):
        self.header: Header = {} if header is None else dict(header)
        self.arrays: Arrays = {} if arrays is None else dict(arrays)
        self.used: set[str] = set()

    def entry(self, name: str) -> Any:
        """Remove and return an entry of the header; an error if it is missing."""
        if name not in self.header:
            raise ModelFileError(f"its header lacks an entry of a model: {name}")
        return self.header.pop(name)

    def array(self, name: str) -> np.ndarray:
        """Remove and return an array; an error if it is missing."""
        self.used.add(name)
        return self.arrays[name]

    def require_empty(self) -> None:
        """Raise an error if anything is left that no part of the model has read."""
        if self.header:
            raise ModelFileError(f"its header has an entry that is not part of a model: {min(self.header):.40}")
        if set(self.arrays) - self.used:
            raise ModelFileError("it has arrays that are not part of a model")


class Stored(NamedTuple):
    """How a part is added to the content under its name, and how it is removed and read."""

    put: Callable[[Content, str, Any], None]
    take: Callable[[Content, str], Any]


def entry(check: Callable[[Any], bool], put: Callable[[Any], Any] = lambda value: value) -> Stored:
    """A part that is an entry of the header, unchanged."""

    def write(content: Content, name: str, value: object) -> None:
        content.header[name] = put(value)

    def read(content: Content, name: str) -> Any:
        return _required(content.entry(name), check)

    return Stored(write, read)


def listed(check: Callable[[Any], bool], put: Callable[[Any], Any] = lambda value: value, take: Any = None) -> Stored:
    """A part that is a tuple of such values, or None."""

    def write(content: Content, name: str, value: Iterable[Any] | None) -> None:
        content.header[name] = None if value is None else [put(item) for item in value]

    def read(content: Content, name: str) -> tuple[Any, ...] | None:
        found = content.entry(name)
        if found is None:
            return None
        _required(found, lambda part: type(part) is list and all(map(check, part)))
        return tuple(found if take is None else map(take, found))

    return Stored(write, read)


def of_type(*types: type) -> Callable[[Any], bool]:
    """Whether the type of a value is exactly one of these: True is not an int, and 1 not a float."""
    return lambda value: type(value) in types


def _required(value: object, check: Callable[[Any], bool]) -> Any:
    if not check(value):
        raise ModelFileError("a number, name or flag in its header has the wrong type")
    return value


def _certificate(plain: Any) -> Certificate:
    found = Certificate(**endless(plain))
    numbers = (found.primal, found.dual, found.floor)
    _required(found, lambda _: all(type(n) is float for n in numbers) and type(found.basis) is str)
    return found


def _is_digest(value: object) -> bool:
    return type(value) is str and re.fullmatch(HEX_DIGEST, value) is not None


def _is_dict_of_strings(value: object) -> bool:
    return type(value) is dict and all(type(word) is str for word in value.values())


def _put_number_or_array(content: Content, name: str, value: np.ndarray | float) -> None:
    content.arrays[name] = np.asarray(value, dtype=float)


def _take_number_or_array(content: Content, name: str) -> Any:
    found = content.array(name)
    return found if found.ndim else float(found)


def _put_array(content: Content, name: str, value: np.ndarray) -> None:
    content.arrays[name] = np.asarray(value)


def put_matrix(content: Content, name: str, value: Any) -> None:
    """Store an array or the arrays of a CSR matrix; nothing for None."""
    if sp.issparse(value):
        content.arrays |= {f"{name}/{part}": vars(value)[part] for part in CSR_PARTS}
    elif value is not None:
        content.arrays[name] = value


def take_matrix(content: Content, name: str, columns: int | None = None) -> Any:
    """The inverse. The number of columns of a CSR matrix is not stored: by default there is one per score."""
    parts = [f"{name}/{part}" for part in CSR_PARTS]
    if not set(parts) <= set(content.arrays):
        content.used.add(name)
        return content.arrays.get(name)
    data, indices, indptr = (content.array(part) for part in parts)
    shape = (indptr.size - 1, len(content.arrays["coef"]) if columns is None else columns)
    matrix = sp.csr_matrix((data, indices, indptr), shape=shape)
    if why := fault(matrix):
        raise ModelFileError(f"its {name.replace('_', ' ')} are not a valid CSR matrix: {why}")
    return matrix


def _take_dual_points(content: Content, name: str) -> Any:
    return _required(take_matrix(content, name), lambda found: found is None or found.dtype == np.float64)


def _put_vectors(content: Content, name: str, value: Any) -> None:
    """Restore single precision: files have double precision only, and kernel values must be bit-identical."""
    put_matrix(content, name, value)
    content.header[name] = None if value is None else str(value.dtype)


def _take_vectors(content: Content, name: str) -> Any:
    dtype, features = content.entry(name), _required(content.entry("features"), of_type(int))
    found = take_matrix(content, name, features)
    _required(found, lambda rows: features > 0 and (rows is None) == (dtype is None))
    return None if found is None else found.astype(DTYPES[dtype], copy=False)


def _put_loss(content: Content, name: str, loss: AnyLoss) -> None:
    content.header[name] = finite(without_arrays(loss_parameters(loss), name, content.arrays))


def _take_loss(content: Content, name: str) -> Any:
    return loss_from_parameters(with_arrays(endless(content.entry(name)), content.arrays, content.used))


def _put_regularizer(content: Content, name: str, regularizer: Regularizer) -> None:
    kind = regularizers.REGULARIZERS.written_name(regularizer)
    content.header[name] = [kind, lift(regularizer.parameters(), name, content.arrays)]


def _take_regularizer(content: Content, name: str) -> Any:
    kind, parameters = content.entry(name)
    return regularizers.from_parameters(kind, lower(parameters, content.arrays, content.used))


def _put_names(content: Content, name: str, names: tuple[str, ...] | None) -> None:
    """Attribute names are stored as an array, their number in the header."""
    content.header[name] = None if names is None else len(names)
    if names is not None:
        content.arrays[name] = packed_names(names)


def _take_names(content: Content, name: str) -> tuple[str, ...] | None:
    count = content.entry(name)
    return None if count is None else unpacked_names(name, content.array(name), count)


def _put_point(content: Content, name: str, point: Any) -> None:
    content.header["dual"] = point_to_plain(point, content.arrays)


def _take_point(content: Content, name: str) -> Any:
    return taken_point(content.entry("dual"), content.array)


def _put_learner(content: Content, name: str, learner: dict[str, Any]) -> None:
    content.header[name] = finite(without_arrays(dict(sorted(learner.items())), name, content.arrays))


def _take_learner(content: Content, name: str) -> dict[str, Any]:
    return with_arrays(endless(_required(content.entry(name), of_type(dict))), content.arrays, content.used)


def _put_preparation(content: Content, name: str, preparation: Any) -> None:
    content.header[name] = preparation.plain()


def _take_preparation(content: Content, name: str) -> Any:
    return preparation_from_plain(content.entry(name))


STATUS = entry(of_type(str), lambda status: status.name)
STORED: dict[str, Stored] = {  # arrays are stored in this order
    "coef": Stored(_put_array, Content.array),
    "intercept": Stored(_put_number_or_array, _take_number_or_array),
    "factor": Stored(_put_array, Content.array),
    "pivots": Stored(_put_array, Content.array),
    "support": Stored(_put_array, Content.array),
    "places": Stored(put_matrix, take_matrix),
    "vectors": Stored(_put_vectors, _take_vectors),
    "dual_points": Stored(put_matrix, _take_dual_points),
    "attributes": Stored(_put_names, _take_names),
    "dual_point": Stored(_put_point, _take_point),
    "link_attributes": Stored(_put_names, _take_names),
    "learner": Stored(_put_learner, _take_learner),
    "loss": Stored(_put_loss, _take_loss),
    "regularizer": Stored(_put_regularizer, _take_regularizer),
    "algorithm": entry(of_type(str)),
    "certificate": Stored(
        entry(of_type(dict), lambda one: finite(vars(one))).put, lambda content, name: _certificate(content.entry(name))
    ),
    "certificates": listed(of_type(dict), lambda one: finite(vars(one)), _certificate),
    "columns": listed(of_type(int)),
    "constant": entry(of_type(float, type(None))),
    "digest": entry(_is_digest),
    "digests": listed(lambda digest: digest is None or _is_digest(digest)),
    "dropped": listed(of_type(str)),
    "feature_names": listed(of_type(str)),
    "fit_intercept": entry(of_type(bool), bool),
    "intercept_bounds": listed(of_type(float)),
    "index_base": entry(of_type(int, type(None))),
    "kernel": entry(of_type(str)),
    "kernel_params": Stored(
        entry(of_type(dict), finite).put, lambda content, name: endless(_required(content.entry(name), of_type(dict)))
    ),
    "labels": listed(of_type(str, int, float, bool)),
    "mistakes": listed(of_type(int)),
    "n": entry(of_type(int), int),
    "offset": entry(of_type(bool), bool),
    "preparation": Stored(_put_preparation, _take_preparation),
    "roles": entry(of_type(dict)),
    "seen": entry(of_type(int)),
    "shape": Stored(listed(of_type(int)).put, lambda content, name: Shape(*content.entry(name))),
    "solver": entry(of_type(str)),
    "solvers": listed(of_type(str)),
    "status": Stored(STATUS.put, lambda content, name: Status[content.entry(name)]),
    "statuses": listed(of_type(str), lambda status: status.name, lambda name: Status[name]),
    "target": entry(of_type(str, type(None))),
    "template": listed(of_type(str)),
    "thresholds": listed(of_type(float)),
    "tol": entry(of_type(float), float),
    "trace": entry(of_type(float), float),
    "trace_error": entry(of_type(float), float),
    "versions": entry(_is_dict_of_strings),
    "weighted": entry(of_type(bool), bool),
}
OPTIONAL = {
    "constant",
    "dropped",
    "intercept_bounds",
    "learner",
    "preparation",
    "roles",
    "target",
    "thresholds",
}  # stored only if there are any


def plain(model: Any) -> tuple[Header, Arrays]:
    """The content of a model: (JSON-compatible data, with infinities as words; arrays by name)."""
    content = Content()
    parts = {part.name: part for part in fields(model)}
    for name in [name for name in STORED if name in parts]:
        value = vars(model)[name]
        if not (name in OPTIONAL and value == parts[name].default):
            STORED[name].put(content, name, value)
    if model.kind is not None:
        content.header["kind"] = model.kind
    if "vectors" in parts:
        content.header["features"] = model.d
    return content.header, content.arrays


def model_from_plain(cls: Any, header: Header, arrays: Arrays) -> Any:
    """The inverse; raises an error if the content is not a valid model of that class."""
    content = Content(header, arrays)
    names = [part.name for part in fields(cls) if not _is_left_out(part, header)]
    values = {name: STORED[name].take(content, name) for name in names}
    content.require_empty()
    return cls(**values)


def _is_left_out(part: Field[Any], header: Header) -> bool:
    return part.name in OPTIONAL and part.default is not MISSING and part.name not in header
