"""A StructuredModel as a header of plain data and arrays, and back; `fenchel.models.file` reads and writes them.

Models are looked up by name among the built-in ones. Attribute names, of which there may be millions, are an array: UTF-8
texts with the byte 0xff, which UTF-8 does not have, behind each, filled up with zeros to whole numbers of 64 bits.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import numpy as np

from fenchel.data.dtypes import is_signed_integer
from fenchel.errors import InputError, ModelFileError, UnknownNameError
from fenchel.models.structured import StructuredModel
from fenchel.models.structured_check import KINDS, Shape
from fenchel.result import Certificate, Status
from fenchel.structured import MODELS, Gibbs, Marginals, Pool

KEYS = {
    "attributes", "certificate", "columns", "digest", "dual", "kind", "labels", "link_attributes", "loss", "n", "regularizer",
    "shape", "solver", "status", "template", "tol", "versions", "weighted",
}  # fmt: skip
POINTS: dict[str, Any] = {"gibbs": Gibbs, "marginals": Marginals, "pool": Pool}
END = b"\xff"
ITEM = 8


def structured_to_plain(model: StructuredModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """(header without regularizer and certificate, arrays)."""
    arrays = {"coef": np.asarray(model.coef)}
    if model.places is not None:
        arrays["places"] = model.places
    header = {
        "attributes": _put_names("attributes", model.attributes, arrays),
        "columns": _listed(model.columns),
        "digest": model.digest,
        "dual": _put_point(model.dual_point, arrays),
        "kind": "structured",
        "labels": _listed(model.labels),
        "link_attributes": _put_names("link_attributes", model.link_attributes, arrays),
        "loss": _loss_parameters(model.loss),
        "n": int(model.n),
        "shape": list(model.shape),
        "solver": model.solver,
        "status": model.status.name,
        "template": _listed(model.template),
        "tol": float(model.tol),
        "versions": model.versions,
        "weighted": model.weighted,
    }
    return header, arrays


def structured_from_plain(
    header: dict[str, Any], arrays: dict[str, np.ndarray], regularizer: Any, certificate: Certificate, used: set[str]
) -> StructuredModel:
    """The inverse; `used` are the arrays of the regularizer. Whatever does not make a sound model raises."""
    if set(header) | {"regularizer", "certificate"} != KEYS:
        wrong = sorted(KEYS ^ (set(header) | {"regularizer", "certificate"}))
        raise ModelFileError(f"its header has other entries than a structured model: {wrong[0]:.40}")
    known = {"coef", "places"} | used
    names: dict[str, Any] = {
        key: _take_names(key, header[key], arrays, known) for key in ("attributes", "link_attributes")
    }
    point = _take_point(header["dual"], arrays, known)
    if not set(arrays) <= known or "coef" not in arrays:
        raise ModelFileError("it has arrays that no model has, or lacks some")
    model = StructuredModel(
        coef=arrays["coef"],
        places=arrays.get("places"),
        loss=_loss_from_parameters(header["loss"]),
        regularizer=regularizer,
        shape=Shape(*header["shape"]),
        certificate=certificate,
        status=Status[header["status"]],
        dual_point=point,
        **names,
        **{key: _tuple(header[key]) for key in ("labels", "template", "columns")},
        **{key: header[key] for key in ("digest", "n", "solver", "tol", "versions", "weighted")},
    )
    _check_types(model)
    return model


def _check_types(model: StructuredModel) -> None:
    """What `StructuredModel` itself trusts its maker for."""
    part = model.certificate
    good = (
        all(type(number) is float for number in (part.primal, part.dual, part.floor, model.tol))
        and all(type(name) is str for name in (part.basis, model.solver, model.digest, *model.versions.values()))
        and re.fullmatch(r"[0-9a-f]{64}", model.digest)
        and type(model.weighted) is bool
    )
    if not good:
        raise ModelFileError("a number, name or flag in its header is of the wrong kind")


def _listed(part: Any) -> Any:
    return None if part is None else list(part)


def _tuple(part: Any) -> Any:
    if part is not None and type(part) is not list:
        raise ModelFileError("a list in its header is something else")
    return None if part is None else tuple(part)


def _loss_parameters(loss: Any) -> dict[str, Any]:
    name = next(key for key, kind in MODELS.items() if kind is type(loss))
    return {"name": name} | {one.name: vars(loss)[one.name] for one in fields(loss)}


def _loss_from_parameters(data: dict[str, Any]) -> Any:
    values = dict(data)
    name = values.pop("name")
    if name not in MODELS:
        raise UnknownNameError("structured model", str(name), MODELS)
    kind: Any = MODELS[name]
    kinds = {one.name: KINDS[str(one.type)] for one in fields(kind)}
    if set(values) != set(kinds) or not all(type(value) in kinds[key] for key, value in values.items()):
        raise InputError(f"the parameters of {name} are {sorted(kinds)}: some are missing or of the wrong kind")
    return kind(**values)


def _put_names(key: str, names: tuple[str, ...] | None, arrays: dict[str, np.ndarray]) -> int | None:
    """The names go to an array; how many there are stays in the header."""
    if names is None:
        return None
    arrays[key] = np.frombuffer(_packed(names), dtype="<i8")
    return len(names)


def _take_names(key: str, count: Any, arrays: dict[str, np.ndarray], known: set[str]) -> tuple[str, ...] | None:
    if count is None:
        return None
    known.add(key)
    array = arrays[key]
    if type(count) is not int or array.ndim != 1 or not is_signed_integer(array):
        raise ModelFileError(f"its {key} are not names")
    content = array.astype("<i8", copy=False).tobytes()
    texts = content.split(END)[:-1]
    names = tuple(text.decode("utf-8", "surrogatepass") for text in texts)
    if len(names) != count or _packed(names) != content:
        raise ModelFileError(f"its {key} are not in the one form that names have")
    return names


def _packed(names: tuple[str, ...]) -> bytes:
    content = b"".join([name.encode("utf-8", "surrogatepass") + END for name in names])
    return content + bytes(-len(content) % ITEM)


def _put_point(point: Any, arrays: dict[str, np.ndarray]) -> list[Any] | None:
    """The arrays of the dual point; its name and, of marginals, the scale stay in the header."""
    if point is None:
        return None
    for key, part in point._asdict().items():
        if isinstance(part, np.ndarray):
            arrays[f"dual/{key}"] = part
    kind = next(key for key, kind in POINTS.items() if kind is type(point))
    return [kind, float(point.scale)] if isinstance(point, Marginals) else [kind]


def _take_point(plain: Any, arrays: dict[str, np.ndarray], known: set[str]) -> Any:
    """Copies: kernels are compiled for arrays that can be written to."""
    if plain is None:
        return None
    match plain:
        case ["gibbs" | "pool" as name]:
            scale = []
        case ["marginals" as name, float(share)]:
            scale = [share]
        case _:
            raise ModelFileError("its dual point is of no kind that there is")
    parts = []
    for key in POINTS[name]._fields[: len(POINTS[name]._fields) - len(scale)]:
        known.add(f"dual/{key}")
        parts.append(np.array(arrays[f"dual/{key}"]))
    if name == "pool":
        parts[3] = _small_integers(parts[3])
    return POINTS[name](*parts, *scale)


def _small_integers(array: np.ndarray) -> np.ndarray:
    """int64 as it is stored to int32 as labels are."""
    limits = np.iinfo(np.int32)
    if not is_signed_integer(array) or (array.size and not (array.min() >= limits.min and array.max() <= limits.max)):
        raise ModelFileError("its dual point has labels that are none")
    return array.astype(np.int32)
