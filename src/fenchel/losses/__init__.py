"""Scalar losses loss(z, y), convex in the raw score z. One per file; `fenchel.losses.protocol` defines the interface.

A loss of your own needs only `value` and `slope`:

>>> from typing import NamedTuple
>>> class LogCosh(NamedTuple):
...     def value(self, z, y): return abs(z - y) + np.log1p(np.exp(-2 * abs(z - y))) - np.log(2)
...     def slope(self, z, y): return np.tanh(z - y)
>>> import numpy as np
>>> check(LogCosh())
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from fenchel.errors import InputError, UnknownNameError
from fenchel.losses.absolute import Absolute
from fenchel.losses.check import check, check_foreign
from fenchel.losses.derived import is_differentiable
from fenchel.losses.epsilon_insensitive import EpsilonInsensitive
from fenchel.losses.exponential import Exponential
from fenchel.losses.hinge import Hinge
from fenchel.losses.huber import Huber
from fenchel.losses.logistic import Logistic
from fenchel.losses.moreau import Moreau
from fenchel.losses.novelty import Novelty
from fenchel.losses.poisson import Poisson
from fenchel.losses.power_hinge import PowerHinge
from fenchel.losses.quantile import Quantile
from fenchel.losses.smoothed_hinge import SmoothedHinge
from fenchel.losses.squared import Squared
from fenchel.losses.squared_hinge import SquaredHinge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fenchel.losses.protocol import Loss

__all__ = [
    "LOSSES",
    "Absolute",
    "EpsilonInsensitive",
    "Exponential",
    "Hinge",
    "Huber",
    "Logistic",
    "Moreau",
    "Novelty",
    "Poisson",
    "PowerHinge",
    "Quantile",
    "SmoothedHinge",
    "Squared",
    "SquaredHinge",
    "check",
    "check_foreign",
    "from_parameters",
    "make",
    "parameters",
    "smoothness",
]

_CLASSES = [Absolute, EpsilonInsensitive, Exponential, Hinge, Huber, Logistic, Moreau, Novelty, Poisson, PowerHinge]
_CLASSES += [Quantile, SmoothedHinge, Squared, SquaredHinge]
LOSSES: dict[str, type] = {re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower(): cls for cls in _CLASSES}


def make(spec: object) -> Any:
    """A validated loss from a name or an object.

    >>> make("quantile")
    Quantile(tau=0.5)
    """
    if isinstance(spec, str):
        if spec not in LOSSES:
            raise UnknownNameError("loss", spec, LOSSES)
        if spec == "moreau":
            raise InputError("loss 'moreau' needs the loss it smooths: pass fenchel.losses.Moreau(loss, gamma)")
        return LOSSES[spec]()
    if isinstance(spec, type):
        raise InputError(f"loss must be an object, got the class {spec.__name__}: write {spec.__name__}(...)")
    loss = _as_named_tuple(spec)
    for name in ("value", "slope"):
        if not callable(getattr(loss, name, None)):
            raise InputError(f"loss {type(spec).__name__} has no method {name}(z, y); a loss needs value and slope")
    if hasattr(loss, "parameters_ok"):
        loss.parameters_ok()
    return loss


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


def parameters(loss: Any) -> dict[str, Any]:
    """The loss as plain data for model files: {"name": ..., fields}. Only built-in losses can be written."""
    name = next((k for k, cls in LOSSES.items() if cls is type(loss)), None)
    if name is None:
        raise InputError(f"{type(loss).__name__} is not a built-in loss and cannot be written to a file")
    return {"name": name} | {f: v if isinstance(v, float) else parameters(v) for f, v in loss._asdict().items()}


def from_parameters(data: dict[str, Any]) -> Any:
    """The inverse of `parameters`.

    >>> from_parameters(parameters(Moreau(Hinge(), 0.5)))
    Moreau(loss=Hinge(margin=1.0), gamma=0.5)
    """
    fields = {k: from_parameters(v) if isinstance(v, dict) else v for k, v in data.items() if k != "name"}
    if data.get("name") not in LOSSES:
        raise UnknownNameError("loss", str(data.get("name")), LOSSES)
    try:
        return make(LOSSES[data["name"]](**fields))
    except TypeError as error:
        raise InputError(f"parameters of loss {data['name']!r} do not fit: {error}") from None
