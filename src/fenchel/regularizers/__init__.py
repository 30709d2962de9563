"""Regularizers R(w), one per file, with the strength alpha inside: `L2(1e-3)`, `ElasticNet(1e-3, l1_ratio=0.2)`, ...

`base.py` states the protocol, `check` tries it on a regularizer of your own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

import scipy.sparse as sp

from fenchel.errors import InputError, UnknownNameError
from fenchel.regularizers.balanced_entropy import BalancedEntropy
from fenchel.regularizers.base import Regularizer, snake_case
from fenchel.regularizers.bounded import Bounded
from fenchel.regularizers.check import check, check_foreign
from fenchel.regularizers.elastic_net import ElasticNet
from fenchel.regularizers.entropy import Entropy
from fenchel.regularizers.group_lasso import GroupLasso
from fenchel.regularizers.l1 import L1
from fenchel.regularizers.l1_ball import L1Ball
from fenchel.regularizers.l2 import L2
from fenchel.regularizers.l2_ball import L2Ball
from fenchel.regularizers.multi_task import MultiTask
from fenchel.regularizers.no_penalty import NoPenalty
from fenchel.regularizers.nuclear_norm import NuclearNorm
from fenchel.regularizers.q_norm import QNorm
from fenchel.regularizers.quadratic import Quadratic
from fenchel.regularizers.shifted import Shifted
from fenchel.regularizers.simplex import Simplex
from fenchel.regularizers.slope import Slope
from fenchel.regularizers.sparse_group_lasso import SparseGroupLasso
from fenchel.regularizers.total_variation import TotalVariation
from fenchel.regularizers.unnormalised_entropy import UnnormalisedEntropy

__all__ = [
    "DEFAULT_ALPHA",
    "L1",
    "L2",
    "REGULARIZERS",
    "BalancedEntropy",
    "Bounded",
    "ElasticNet",
    "Entropy",
    "GroupLasso",
    "L1Ball",
    "L2Ball",
    "MultiTask",
    "NoPenalty",
    "NuclearNorm",
    "QNorm",
    "Quadratic",
    "Regularizer",
    "Shifted",
    "Simplex",
    "Slope",
    "SparseGroupLasso",
    "TotalVariation",
    "UnnormalisedEntropy",
    "check",
    "check_foreign",
    "from_parameters",
    "make",
]

DEFAULT_ALPHA = 1e-4


_CLASSES: tuple[type[Regularizer], ...] = (
    L1, L2, BalancedEntropy, Bounded, ElasticNet, Entropy, GroupLasso, L1Ball, L2Ball, MultiTask, NoPenalty, NuclearNorm, QNorm,
    Quadratic, Shifted, Simplex, Slope, SparseGroupLasso, TotalVariation, UnnormalisedEntropy,
)  # fmt: skip
REGULARIZERS: dict[str, type[Regularizer]] = {snake_case(cls.__name__): cls for cls in _CLASSES}


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
    has_strength = "alpha" in [field.name for field in fields(kind) if field.init]
    if required:
        raise InputError(
            f"{spec!r} needs {', '.join(required)}: pass {kind.__name__}({', '.join(has_strength * ['alpha'] + required)}) "
            "instead."
        )
    build: Callable[..., Regularizer] = kind
    if has_strength:
        return build(DEFAULT_ALPHA if alpha is None else alpha)
    if alpha is not None:
        raise InputError(f"{spec!r} is a constraint and has no strength: leave alpha={alpha!r} out.")
    return build()


def from_parameters(name: str, params: Mapping[str, Any]) -> Regularizer:
    """The inverse of `parameters()`, bit for bit.

    >>> from_parameters("l2", {"alpha": 0.5})
    L2(alpha=0.5)
    """
    kind = _lookup(name)
    known = {field.name for field in fields(kind) if field.init}
    absent = known - set(params)
    if set(params) - known or absent - set(kind.omitted_if_none):
        raise InputError(f"{name} has the parameters {sorted(known)}, got {sorted(params)}.")
    return kind(**{key: _restored(value) for key, value in params.items()})


def _restored(value: Any) -> Any:
    """One parameter from its JSON terms."""
    if not isinstance(value, Mapping):
        return value
    if set(value) == {"name", "parameters"} and isinstance(value["parameters"], Mapping):
        return from_parameters(str(value["name"]), value["parameters"])
    return _sparse(value)


def _sparse(parts: Mapping[str, Any]) -> sp.csc_array:
    try:
        matrix = sp.csc_array((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
        matrix.check_format(full_check=True)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"a sparse K needs valid shape, indptr, indices and data: {error}.") from None
    return matrix
