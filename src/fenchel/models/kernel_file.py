"""Models with a kernel, and weights of online learners, as headers of plain data and arrays, and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fenchel.data.dtypes import is_signed_integer
from fenchel.errors import ModelFileError
from fenchel.models.kernel import KernelModel
from fenchel.models.kernel_features import KernelFeatures
from fenchel.models.online import OnlineModel
from fenchel.models.plain import endless, finite, matrix_arrays, matrix_of, problem_from_plain, problem_to_plain, tuples
from fenchel.result import Certificate, Status

Arrays = dict[str, np.ndarray]
DTYPES = {"float32": np.float32, "float64": np.float64}
KERNEL_KEYS = {
    "certificates", "digests", "feature_names", "features", "fit_intercept", "kernel", "kernel_params", "kind", "labels",
    "loss", "n", "regularizer", "solvers", "statuses", "tol", "vectors", "versions", "weighted",
}  # fmt: skip
ONLINE_KEYS = {"algorithm", "feature_names", "kind", "labels", "mistakes", "seen", "versions"}
FEATURE_KEYS = {
    "feature_names", "features", "kernel", "kernel_params", "kind", "trace", "trace_error", "vectors", "versions"
}  # fmt: skip


def kernel_to_plain(model: KernelModel) -> tuple[dict[str, Any], Arrays]:
    """(header, arrays)."""
    arrays = {"coef": model.coef, "intercept": np.asarray(model.intercept, dtype=float), "support": model.support}
    arrays |= matrix_arrays("vectors", model.vectors) | matrix_arrays("dual_points", model.dual_points)
    header = {
        "certificates": [finite(vars(certificate)) for certificate in model.certificates],
        "digests": list(model.digests),
        "feature_names": _listed(model.feature_names),
        "features": model.d,
        "fit_intercept": bool(model.fit_intercept),
        "kernel": model.kernel,
        "kernel_params": finite(model.kernel_params),
        "kind": "kernel",
        "labels": _listed(model.labels),
        "n": int(model.n),
        "solvers": list(model.solvers),
        "statuses": [status.name for status in model.statuses],
        "tol": float(model.tol),
        "vectors": _dtype_of(model.vectors),
        "versions": model.versions,
        "weighted": model.weighted,
    }
    return header | problem_to_plain(model, arrays), arrays


def kernel_from_plain(header: dict[str, Any], arrays: Arrays) -> KernelModel:
    """The inverse; whatever does not make a sound model raises."""
    _require_keys(header, KERNEL_KEYS)
    used = {"coef", "intercept", "support", "dual_points"}
    problem = problem_from_plain(header, arrays, used)
    params, rest = endless(header.pop("kernel_params")), tuples(header)
    rest.pop("kind")
    model = KernelModel(
        coef=arrays["coef"],
        intercept=_number_or_array(arrays["intercept"]),
        support=arrays["support"],
        vectors=_vectors(rest.pop("vectors"), rest.pop("features"), arrays, used),
        kernel_params=params,
        dual_points=arrays.get("dual_points"),
        certificates=tuple(Certificate(**endless(part)) for part in rest.pop("certificates")),
        statuses=tuple(Status[name] for name in rest.pop("statuses")),
        **problem,
        **rest,
    )
    _require_arrays(arrays, used)
    numbers = [number for part in model.certificates for number in (part.primal, part.dual, part.floor)]
    _require(
        all(type(number) is float for number in [*numbers, model.tol])
        and all(type(part.basis) is str for part in model.certificates)
        and all(type(name) is str for name in [*model.solvers, *model.versions.values()])
        and all(type(digest) is str and re.fullmatch(r"[0-9a-f]{64}", digest) for digest in model.digests)
        and type(model.fit_intercept) is type(model.weighted) is bool
        and type(model.n) is int
        and (model.dual_points is None or model.dual_points.dtype == np.float64)
    )
    return model


def online_to_plain(model: OnlineModel) -> tuple[dict[str, Any], Arrays]:
    """(header, arrays)."""
    header = {
        "algorithm": model.algorithm,
        "feature_names": _listed(model.feature_names),
        "kind": "online",
        "labels": list(model.labels),
        "mistakes": list(model.mistakes),
        "seen": model.seen,
        "versions": model.versions,
    }
    return header, {"coef": model.coef, "intercept": np.asarray(model.intercept, dtype=float)}


def online_from_plain(header: dict[str, Any], arrays: Arrays) -> OnlineModel:
    """The inverse; whatever does not make a sound model raises."""
    _require_keys(header, ONLINE_KEYS)
    _require_arrays(arrays, {"coef", "intercept"})
    rest = tuples(header)
    rest.pop("kind")
    model = OnlineModel(coef=arrays["coef"], intercept=_number_or_array(arrays["intercept"]), **rest)
    _require(all(type(name) is str for name in [model.algorithm, *model.versions.values()]))
    return model


def features_to_plain(model: KernelFeatures) -> tuple[dict[str, Any], Arrays]:
    """(header, arrays)."""
    header = {
        "feature_names": _listed(model.feature_names),
        "features": model.d,
        "kernel": model.kernel,
        "kernel_params": finite(model.kernel_params),
        "kind": "features",
        "trace": float(model.trace),
        "trace_error": float(model.trace_error),
        "vectors": _dtype_of(model.vectors),
        "versions": model.versions,
    }
    return header, {"factor": model.factor, "pivots": model.pivots, **matrix_arrays("vectors", model.vectors)}


def features_from_plain(header: dict[str, Any], arrays: Arrays) -> KernelFeatures:
    """The inverse; whatever does not make a sound one raises."""
    _require_keys(header, FEATURE_KEYS)
    used = {"factor", "pivots"}
    params, rest = endless(header.pop("kernel_params")), tuples(header)
    rest.pop("kind")
    vectors = _vectors(rest.pop("vectors"), rest.pop("features"), arrays, used)
    _require_arrays(arrays, used)
    model = KernelFeatures(
        vectors=vectors, pivots=arrays["pivots"], factor=arrays["factor"],
        kernel_params=params, **rest,
    )  # fmt: skip
    _require(
        type(model.trace) is type(model.trace_error) is float
        and is_signed_integer(model.pivots)
        and all(type(name) is str for name in model.versions.values())
    )
    return model


class Kind(NamedTuple):
    """A kind of model that says in the header what it is."""

    cls: type
    to_plain: Callable[..., tuple[dict[str, Any], Arrays]]
    from_plain: Callable[[dict[str, Any], Arrays], Any]


KINDS = {
    "kernel": Kind(KernelModel, kernel_to_plain, kernel_from_plain),
    "online": Kind(OnlineModel, online_to_plain, online_from_plain),
    "features": Kind(KernelFeatures, features_to_plain, features_from_plain),
}


def _listed(part: Any) -> Any:
    return None if part is None else list(part)


def _number_or_array(intercept: np.ndarray) -> Any:
    return intercept if intercept.ndim else float(intercept)


def _dtype_of(vectors: Any) -> str | None:
    """Files hold double precision only; the kernel of single precision rows is to be the same bits again."""
    return None if vectors is None else str(vectors.dtype)


def _vectors(dtype: Any, features: Any, arrays: Arrays, used: set[str]) -> Any:
    found = matrix_of("vectors", arrays, features, used)
    _require(type(features) is int and features > 0 and (found is None) == (dtype is None))
    return None if found is None else found.astype(DTYPES[dtype], copy=False)


def _require_keys(header: dict[str, Any], keys: set[str]) -> None:
    if set(header) != keys:
        raise ModelFileError(f"its header has other entries than such a model: {min(keys ^ set(header)):.40}")


def _require_arrays(arrays: Arrays, used: set[str]) -> None:
    if not set(arrays) <= used:
        raise ModelFileError("it has arrays that no model has")


def _require(good: Any) -> None:
    if not good:
        raise ModelFileError("a number, name or flag in its header is of the wrong kind")
