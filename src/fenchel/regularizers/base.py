"""The protocol of a regularizer R and the base class of all regularizers.

============================  ====================================================================================
required                      meaning
============================  ====================================================================================
value(w)                      R(w), inf outside the domain
conjugate(v)                  R*(v) = sup_w v'w - R(w), inf where the sup is
or prox(w, step)              argmin_x step R(x) + 1/2 |x - w|^2
============================  ====================================================================================

============================  ====================================================================================
optional                      meaning; what is used if it is absent
============================  ====================================================================================
dual_scale(v)                 the largest c in [0, 1] with R*(c v) < inf; by bisection
primal_from_dual(v)           w = grad R*(v); `Bundle` steps by `prox`, or by differences of `conjugate` and `value`
gradient(w)                   grad R(w); solvers that need it are incompatible
conjugate_hessian(v, A)       A' (Hessian of R* at v) A; differences of `primal_from_dual`
prox_jacobian(w, step)        an element J of the generalised Jacobian of `prox` at w, a `ProxJacobian`: diag(a) plus few
                              outer products, with J @ x, columns() and restricted(columns); differences of `prox`
separable                     True if R is a sum of functions of one w_j each; `prox` and `prox_jacobian` then take a step for
                              each j, and J is diagonal. False is assumed
convex                        False for a penalty that is not convex: R* still bounds the optimum; few solvers take it
sorts                         True if R depends on the order of the |w_j|: its prox has very many pieces. False is assumed
unpenalised(dim)              N with R(w + N t) = R(w) for all t, d x k, orthogonal columns; None where there are none. R*(v)
                              is inf unless N'v = 0, and the certificate moves dual points there
perturbed(v, error)           points within `error` of v, one of them with about the largest R* there: for the rounding floor
standardized(deviations)      R(s w), s = deviations of the columns; refused
infeasibility(w, v)           for sets that w is in up to rounding: what that can change of the optimum, for the rounding floor
for_outputs(features, m)      the regularizer of the m coefficients of every feature; K, prior and weights are repeated
============================  ====================================================================================

A regularizer without an optional property does not have the method: solvers test with hasattr. In any case, the certificate
compares R*(v) with v'w - R(w) at many w: a conjugate that is too small is an error, never a certificate.
"""

from __future__ import annotations

import hashlib
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from fenchel.compile.dispatch import is_ours
from fenchel.errors import InputError
from fenchel.registry import snake_case
from fenchel.regularizers import derived
from fenchel.regularizers.metric import Metric
from fenchel.regularizers.numerics import Vector, positive


class available_if:
    """A method that exists only where `condition(self)` holds, so that hasattr tells solvers.

    >>> class Half(Regularizer):
    ...     value = conjugate = lambda self, w: 0.0
    ...     @available_if(lambda self: self.alpha > 1)
    ...     def gradient(self, w): return w
    >>> hasattr(Half(2.0), "gradient"), hasattr(Half(1.0), "gradient")
    (True, False)
    """

    def __init__(self, condition: Callable[[Any], bool]):
        self.condition = condition

    def __call__(self, method: Callable[..., Any]) -> Any:
        self.method = method
        self.__doc__ = method.__doc__
        return self

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self.method
        if not self.condition(instance):
            raise AttributeError(f"{instance!r} has no {self.name}")
        return self.method.__get__(instance, owner)


def _content(value: Any) -> list[bytes]:
    """The bytes that identify one parameter, preceded by its type and shape."""
    if value is None:
        return [b"none"]
    if isinstance(value, sp.csc_array):
        parts = [np.asarray(part, dtype="<i8") for part in (value.shape, value.indptr, value.indices)]
        return [b"sparse", *(part.tobytes() for part in parts), *_content(value.data)]
    if isinstance(value, np.ndarray):
        return [b"array", repr(value.shape).encode(), np.ascontiguousarray(value, dtype="<f8").tobytes()]
    if isinstance(value, Regularizer):
        return [b"regularizer", value.fingerprint()]
    if isinstance(value, (int, float, np.number)):
        return [b"number", struct.pack("<d", value)]
    return [b"object", repr(value).encode()]  # a custom regularizer


def inner_regularizers(reg: Regularizer) -> list[Regularizer]:
    """The inner regularizers of this one."""
    names = getattr(type(reg), "__dataclass_fields__", ())  # none: the squared norm of a kernel's space
    return [value for name in names if isinstance(value := getattr(reg, name, None), Regularizer)]


def is_convex(problem: Any) -> bool:
    """Whether the regularizer of a problem is convex.

    >>> from types import SimpleNamespace
    >>> from fenchel.regularizers import L0, L1
    >>> [is_convex(SimpleNamespace(regularizer=reg)) for reg in (L1(0.1), L0(0.1))]
    [True, False]
    """
    return getattr(problem.regularizer, "convex", True)


def require_convex(reg: Regularizer, use: str) -> None:
    """Raise InputError for a regularizer that is not convex; `use` needs a convex one."""
    if not reg.convex:
        raise InputError(
            f"{use} needs a convex regularizer, and {type(reg).__name__} is not: use L1, L2 or ElasticNet."
        )


def is_trusted(reg: Regularizer) -> bool:
    """Whether a regularizer and all its inner ones are built in; the R* of a custom one is checked."""
    return is_ours(type(reg)) and (not isinstance(reg, Regularizer) or all(map(is_trusted, inner_regularizers(reg))))


def _plain(value: Any) -> Any:
    """One parameter as JSON-compatible data; floats are restored exactly, because JSON writes their shortest repr."""
    if isinstance(value, sp.csc_array):
        parts = {"indptr": value.indptr, "indices": value.indices, "data": value.data}
        return {"shape": list(value.shape)} | {name: part.tolist() for name, part in parts.items()}
    if isinstance(value, Regularizer):
        return {"name": snake_case(type(value).__name__), "parameters": value.parameters()}
    return value.tolist() if isinstance(value, np.ndarray) else value


@dataclass(frozen=True, eq=False)
class Regularizer(ABC):
    """A convex function R(w) with its strength alpha inside; subclass it to add your own.

    A subclass defines `value` and `conjugate`, or `value` and `prox`. `fenchel.regularizers.check` lists what is wrong with it;
    a `Problem` runs the same check once for each regularizer and number of features.

    >>> class Tilt(Regularizer):
    ...     def value(self, w): return self.alpha / 2 * float((w - 1) @ (w - 1))
    ...     def conjugate(self, v): return float(v @ v) / (2 * self.alpha) + float(v.sum())
    >>> Tilt(2.0).value(np.zeros(3)), Tilt(2.0).dual_scale(np.ones(3))
    (3.0, 1.0)
    """

    alpha: float

    formula: ClassVar[str] = ""
    omitted_if_none: ClassVar[tuple[str, ...]] = ("weights",)  # fields that files and fingerprints may omit
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = False
    separable: ClassVar[bool] = False
    strongly_convex: ClassVar[bool] = False
    sorts: ClassVar[bool] = False  # R depends on the order of the |w_j|: its prox has very many pieces
    degree: ClassVar[float | None] = None  # k with R(t w) = t^k R(w) for all t > 0, if there is one

    def __post_init__(self) -> None:
        self._set(alpha=positive("alpha", self.alpha))

    def _set(self, **values: Any) -> None:
        """Store validated parameters, during construction only."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @abstractmethod
    def value(self, w: ArrayLike) -> float:
        """R(w), inf outside the domain."""

    def conjugate(self, v: ArrayLike) -> float:
        """R*(v) = sup_w v'w - R(w), by default derived from `prox` (or `primal_from_dual`)."""
        return derived.conjugate(self, v)

    def dual_scale(self, v: ArrayLike) -> float:
        """The largest c in [0, 1] with R*(c v) < inf: 1 where R* is finite everywhere."""
        return 1.0 if is_ours(type(self)) else derived.dual_scale(self, v)

    def unpenalised(self, dim: int) -> sp.csc_array | None:
        """N with R(w + N t) = R(w) for every t, so that R*(v) = inf unless N'v = 0; its columns are orthogonal."""
        return None

    @classmethod
    def example(cls, dim: int) -> Self:
        """An example for `dim` features, for tables of compatibility."""
        return cls(0.1)

    def metric(self, dim: int) -> Metric | None:
        """A norm in which R is strongly convex, with modulus 1; None if none is known. The distance of a solution to the
        optimum in this norm is bounded by the duality gap."""
        return None

    def start(self, dim: int) -> Vector:
        """A point where R is finite, to start a solver from."""
        return np.zeros(dim)

    def validate(self, dim: int) -> None:
        """Raise InputError if a parameter does not match `dim` features."""
        if dim < 1:
            raise InputError(f"a regularizer needs at least one feature, got {dim}.")

    def scaled(self, alpha: float) -> Self:
        """The same regularizer with another alpha."""
        return replace(self, alpha=alpha)

    def standardized(self, deviations: ArrayLike) -> Regularizer:
        """R(s_1 w_1, ..., s_d w_d): the penalty as if columns were divided by s = `deviations`, for w in their units."""
        raise InputError(
            f"{type(self).__name__} cannot be standardized, as it would become another kind of penalty: scale the columns of X "
            "instead, for instance by sklearn.preprocessing.StandardScaler(with_mean=False)."
        )

    def perturbed(self, v: Vector, error: float) -> tuple[Vector, ...]:
        """Points that differ from v by `error` in every entry, among them one with about the largest R*.

        v is a sum with rounding errors. Most R* increase with v_j or with |v_j|.
        """
        return v + error, v + np.copysign(error, v)

    def for_outputs(self, features: int, outputs: int) -> Regularizer:
        """The regularizer of features * outputs variables, feature by feature, that treats each score alike."""
        changes: dict[str, Any] = {}
        K = getattr(self, "K", None)
        if K is not None:
            is_diagonal = np.ndim(K) == 1 and not sp.issparse(K)
            changes["K"] = np.repeat(K, outputs) if is_diagonal else sp.kron(K, sp.eye(outputs), format="csr")
        for name in ("prior", "weights", "square_weights"):
            given = getattr(self, name, None)
            if given is not None and np.ndim(given) == 1:
                changes[name] = np.repeat(given, outputs)
        return replace(self, **changes) if changes else self

    def parameters(self) -> dict[str, Any]:
        """All parameters as JSON-compatible data; `from_parameters` is the exact inverse."""
        return {name: _plain(value) for name, value in self._given()}

    def _given(self) -> list[tuple[str, Any]]:
        """(name, value) of every argument of the constructor, without optional ones that were not given."""
        pairs = [(field.name, getattr(self, field.name)) for field in fields(self) if field.init]
        return [pair for pair in pairs if pair[1] is not None or pair[0] not in self.omitted_if_none]

    def fingerprint(self) -> bytes:
        """Class name and a SHA-256 of every parameter's bits: equal exactly for equal regularizers."""
        digest = hashlib.sha256()
        for name, value in self._given():
            for part in (name.encode(), *_content(value)):
                digest.update(struct.pack("<q", len(part)))
                digest.update(part)
        return type(self).__name__.encode() + b":" + digest.digest()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._given())})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Regularizer):
            return NotImplemented
        return self is other or self.fingerprint() == other.fingerprint()

    def __hash__(self) -> int:
        return hash(self.fingerprint())

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and pickles contain the parameters only: cached factorisations are recomputed, and some cannot be pickled.
        return type(self), tuple(getattr(self, field.name) for field in fields(self) if field.init)
