"""Regularizers R(w), one per file, with the strength alpha inside: `L2(1e-3)`, `ElasticNet(1e-3, l1_ratio=0.2)`, ...

`base.py` defines the protocol, and `check` tests a custom regularizer. May import `projections` and `compile`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.errors import InputError
from fenchel.registry import Registry, classes_in, public_names, required
from fenchel.regularizers.balanced_entropy import BalancedEntropy as BalancedEntropy
from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.bounded import Bounded as Bounded
from fenchel.regularizers.check import check, check_foreign
from fenchel.regularizers.elastic_net import ElasticNet as ElasticNet
from fenchel.regularizers.entropy import Entropy as Entropy
from fenchel.regularizers.group_lasso import GroupLasso as GroupLasso
from fenchel.regularizers.l0 import L0 as L0
from fenchel.regularizers.l1 import L1 as L1
from fenchel.regularizers.l1_ball import L1Ball as L1Ball
from fenchel.regularizers.l2 import L2 as L2
from fenchel.regularizers.l2_ball import L2Ball as L2Ball
from fenchel.regularizers.linearly_constrained import LinearlyConstrained as LinearlyConstrained
from fenchel.regularizers.mcp import MCP as MCP
from fenchel.regularizers.multi_task import MultiTask as MultiTask
from fenchel.regularizers.no_penalty import NoPenalty as NoPenalty
from fenchel.regularizers.nuclear_norm import NuclearNorm as NuclearNorm
from fenchel.regularizers.q_norm import QNorm as QNorm
from fenchel.regularizers.quadratic import Quadratic as Quadratic
from fenchel.regularizers.scad import SCAD as SCAD
from fenchel.regularizers.shifted import Shifted as Shifted
from fenchel.regularizers.simplex import Simplex as Simplex
from fenchel.regularizers.slope import Slope as Slope
from fenchel.regularizers.sparse_group_lasso import SparseGroupLasso as SparseGroupLasso
from fenchel.regularizers.total_variation import TotalVariation as TotalVariation
from fenchel.regularizers.unnormalised_entropy import UnnormalisedEntropy as UnnormalisedEntropy

DEFAULT_ALPHA = 1e-4
Unpenalised = NoPenalty
OTHER_NAMES = {"unpenalised": "no_penalty"}

REGULARIZERS: Registry[Regularizer] = Registry("regularizer", classes_in(globals(), Regularizer), base=Regularizer)
__all__ = public_names(
    REGULARIZERS,
    "DEFAULT_ALPHA",
    "REGULARIZERS",
    Regularizer,
    "Unpenalised",
    check,
    check_foreign,
    "from_parameters",
    "has_strength",
    "make",
)


def make(spec: str | Regularizer, alpha: float | None = None) -> Regularizer:
    """A regularizer from a name (strength alpha, by default 1e-4), or the given regularizer itself.

    >>> make("elastic_net", 0.5)
    ElasticNet(alpha=0.5, l1_ratio=0.5)
    >>> make(L2(3.0)), make("l1", 0.0), make("unpenalised")
    (L2(alpha=3.0), NoPenalty(), NoPenalty())
    """
    spec = OTHER_NAMES.get(spec, spec) if isinstance(spec, str) else spec
    if isinstance(spec, str):
        if alpha == 0.0 and not isinstance(alpha, bool):
            return _without_strength(spec)
        if has_strength(REGULARIZERS.lookup(spec)):
            return REGULARIZERS.make(spec, DEFAULT_ALPHA if alpha is None else alpha)
        if alpha is not None and not required(REGULARIZERS[spec]):
            raise InputError(f"{spec!r} is a constraint and has no strength: leave alpha={alpha!r} out.")
        return REGULARIZERS.make(spec)
    if isinstance(spec, Regularizer) and alpha is not None:
        raise InputError(f"alpha lives inside the regularizer object: leave alpha={alpha!r} out, or pass a name.")
    return REGULARIZERS.make(spec)


def _without_strength(spec: str) -> Regularizer:
    """What is left of a penalty at alpha = 0: nothing, if it is finite everywhere."""
    kind = REGULARIZERS.lookup(spec)
    if (
        not has_strength(kind)
        or required(kind) != ("alpha",)
        or not all(np.isfinite(kind(1.0).value([x, x])) for x in (1e6, -1e6))
    ):
        raise InputError(f"alpha=0 leaves no penalty, and {spec!r} is more than a penalty: give it an alpha > 0.")
    return NoPenalty()


def has_strength(kind: type[Regularizer]) -> bool:
    """Whether alpha is a parameter of the class: not of constraint sets, nor of what has another regularizer inside.

    >>> has_strength(L2), has_strength(REGULARIZERS["simplex"])
    (True, False)
    """
    return any(field.name == "alpha" and field.init for field in fields(kind))


def from_parameters(name: str, params: Mapping[str, Any]) -> Regularizer:
    """The inverse of `parameters()`, bit for bit.

    >>> from_parameters("l2", {"alpha": 0.5})
    L2(alpha=0.5)
    """
    kind = REGULARIZERS.lookup(name)
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
