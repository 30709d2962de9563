"""Scalar losses loss(z, y), convex in the raw score z. One per file; `fenchel.losses.protocol` defines the interface.

A custom loss needs only `value` and `slope`:

>>> from typing import NamedTuple
>>> class LogCosh(NamedTuple):
...     def value(self, z, y): return abs(z - y) + np.log1p(np.exp(-2 * abs(z - y))) - np.log(2)
...     def slope(self, z, y): return np.tanh(z - y)
>>> import numpy as np
>>> check(LogCosh())
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from fenchel.errors import InputError
from fenchel.losses.absolute import Absolute as Absolute
from fenchel.losses.check import check, check_foreign
from fenchel.losses.derived import is_differentiable
from fenchel.losses.epsilon_insensitive import EpsilonInsensitive as EpsilonInsensitive
from fenchel.losses.exponential import Exponential as Exponential
from fenchel.losses.hinge import Hinge as Hinge
from fenchel.losses.huber import Huber as Huber
from fenchel.losses.logistic import Logistic as Logistic
from fenchel.losses.moreau import Moreau as Moreau
from fenchel.losses.novelty import Novelty as Novelty
from fenchel.losses.poisson import Poisson as Poisson
from fenchel.losses.power_hinge import PowerHinge as PowerHinge
from fenchel.losses.quantile import Quantile as Quantile
from fenchel.losses.smoothed_hinge import SmoothedHinge as SmoothedHinge
from fenchel.losses.squared import Squared as Squared
from fenchel.losses.squared_hinge import SquaredHinge as SquaredHinge
from fenchel.registry import Registry, classes_in, public_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fenchel.losses.protocol import Loss


def _accept(spec: Any) -> Any:
    """Floats in the fields, all methods that are needed, sound parameters."""
    loss = _as_named_tuple(spec)
    for name in ("value", "slope"):
        if not callable(getattr(loss, name, None)):
            raise InputError(f"loss {type(spec).__name__} has no method {name}(z, y); a loss needs value and slope")
    if hasattr(loss, "parameters_ok"):
        loss.parameters_ok()
    return loss


LOSSES: Registry[Any] = Registry(
    "loss", classes_in(globals(), lambda cls: hasattr(cls, "value") and hasattr(cls, "slope")), _accept
)
__all__ = public_names(LOSSES, "LOSSES", check, check_foreign, "from_parameters", "make", "parameters", "smoothness")


def make(spec: object) -> Any:
    """A validated loss from a name or an object.

    >>> make("quantile")
    Quantile(tau=0.5)
    """
    return LOSSES.make(spec)


def _as_named_tuple(spec: Any) -> Any:
    """The loss with float fields, because numba compiles one kernel per field type; other objects become a NamedTuple."""
    cls = type(spec)
    if isinstance(spec, tuple) and hasattr(spec, "_fields"):
        return cls._make(_number(f, v, cls) for f, v in zip(spec._fields, spec, strict=True))
    fields = {name: _number(name, v, cls) for name, v in getattr(spec, "__dict__", {}).items()}
    methods = {name: f for name, f in vars(cls).items() if callable(f) and not name.startswith("__")}
    base = NamedTuple(cls.__name__, [(name, float) for name in fields])
    return type(cls.__name__, (base,), {**methods, "__module__": cls.__module__, "__slots__": ()})(**fields)


def _number(name: str, value: Any, cls: type) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return make(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"parameter {name} of loss {cls.__name__} must be a number or a loss, got {value!r}") from None
    if math.isnan(number):
        raise InputError(f"parameter {name} of loss {cls.__name__} is NaN")
    return number


def smoothness(loss: Loss, targets: Iterable[float] = (-1.0, 1.0)) -> float | None:
    """The Lipschitz constant of the slope; inf if the slope is continuous but not Lipschitz, None if it jumps.

    >>> smoothness(Logistic()), smoothness(Hinge())
    (0.25, None)
    """
    if hasattr(loss, "smoothness"):
        return loss.smoothness()
    return math.inf if is_differentiable(loss, targets) else None


def parameters(loss: Loss) -> dict[str, Any]:
    """The loss as plain data, for model files: {"name": ..., fields}. Only built-in losses can be written."""
    return LOSSES.parameters(loss)


def from_parameters(data: dict[str, Any]) -> Any:
    """The inverse of `parameters`.

    >>> from_parameters(parameters(Moreau(Hinge(), 0.5)))
    Moreau(loss=Hinge(margin=1.0), gamma=0.5)
    """
    return LOSSES.from_parameters(data)
