"""Regularizers R(w), one per file, with the strength alpha inside: `L2(1e-3)`, `ElasticNet(1e-3, l1_ratio=0.2)`, ...

`base.py` states the protocol, `check` tries it on a regularizer of your own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import scipy.sparse as sp

from fenchel.errors import InputError, UnknownNameError
from fenchel.regularizers.balanced_entropy import BalancedEntropy
from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.check import check, check_foreign
from fenchel.regularizers.elastic_net import ElasticNet
from fenchel.regularizers.entropy import Entropy
from fenchel.regularizers.l1 import L1
from fenchel.regularizers.l2 import L2
from fenchel.regularizers.q_norm import QNorm
from fenchel.regularizers.quadratic import Quadratic
from fenchel.regularizers.unnormalised_entropy import UnnormalisedEntropy

__all__ = [
    "DEFAULT_ALPHA",
    "L1",
    "L2",
    "REGULARIZERS",
    "BalancedEntropy",
    "ElasticNet",
    "Entropy",
    "QNorm",
    "Quadratic",
    "Regularizer",
    "UnnormalisedEntropy",
    "check",
    "check_foreign",
    "from_parameters",
    "make",
]

DEFAULT_ALPHA = 1e-4


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


REGULARIZERS: dict[str, type[Regularizer]] = {
    _snake_case(cls.__name__): cls
    for cls in (L1, L2, BalancedEntropy, ElasticNet, Entropy, QNorm, Quadratic, UnnormalisedEntropy)
}


def _lookup(name: str) -> type[Regularizer]:
    if name not in REGULARIZERS:
        raise UnknownNameError("regularizer", name, REGULARIZERS)
    return REGULARIZERS[name]


def make(spec: str | Regularizer, alpha: float | None = None) -> Regularizer:
    """The regularizer that `spec` names (strength alpha, 1e-4 when None), or `spec` itself when it is one.

    >>> make("elastic_net", 0.5)
    ElasticNet(alpha=0.5, l1_ratio=0.5)
    >>> make(L2(3.0))
    L2(alpha=3.0)
    """
    if isinstance(spec, Regularizer):
        if alpha is not None:
            raise InputError(f"alpha lives inside the regularizer object: leave alpha={alpha!r} out, or pass a name.")
        return spec
    if not isinstance(spec, str):
        hint = f"; call it: {spec.__name__}(alpha)" if isinstance(spec, type) else ""
        raise InputError(f"regularizer must be a name or a Regularizer object, got {spec!r}{hint}.")
    kind = _lookup(spec)
    required = [field.name for field in fields(kind) if field.default is MISSING and field.name != "alpha"]
    if required:
        raise InputError(
            f"{spec!r} needs {', '.join(required)}: pass {kind.__name__}(alpha, {', '.join(required)}) instead."
        )
    return kind(DEFAULT_ALPHA if alpha is None else alpha)


def from_parameters(name: str, params: Mapping[str, Any]) -> Regularizer:
    """The inverse of `parameters()`, bit for bit.

    >>> from_parameters("l2", {"alpha": 0.5})
    L2(alpha=0.5)
    """
    kind = _lookup(name)
    known = {field.name for field in fields(kind)}
    absent = known - set(params)
    if set(params) - known or absent - set(kind.omitted_if_none):
        raise InputError(f"{name} has the parameters {sorted(known)}, got {sorted(params)}.")
    values: dict[str, Any] = {key: _sparse(val) if isinstance(val, Mapping) else val for key, val in params.items()}
    return kind(**values)


def _sparse(parts: Mapping[str, Any]) -> sp.csc_array:
    try:
        matrix = sp.csc_array((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
        matrix.check_format(full_check=True)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"a sparse K needs valid shape, indptr, indices and data: {error}.") from None
    return matrix
