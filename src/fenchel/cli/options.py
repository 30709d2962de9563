"""Losses and penalties from the words of a command line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from fenchel.errors import InputError, UnknownNameError

COMMON = ("margin", "tau", "epsilon", "p", "delta", "gamma")


def pairs(words: Iterable[str], option: str) -> dict[str, float]:
    """name=value words as a dict.

    >>> pairs(["l1_ratio=0.25"], "--penalty-param")
    {'l1_ratio': 0.25}
    """
    found: dict[str, float] = {}
    for word in words:
        name, equals, value = word.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not equals or math.isnan(number):
            raise InputError(f"{option} {word!r}: expected name=number, as in {option} tau=0.9")
        if name in found:
            raise InputError(f"{option} {name} is given twice")
        found[name] = number
    return found


def loss_of(name: str, parameters: Mapping[str, float], smoothing: float | None) -> Any:
    """The loss of that name with these parameters, smoothed when asked for.

    >>> loss_of("quantile", {"tau": 0.9}, None)
    Quantile(tau=0.9)
    """
    from fenchel import losses

    if name == "moreau":
        raise InputError("--loss moreau: name the loss that is smoothed, and its gamma with --smooth")
    if name not in losses.LOSSES:
        raise UnknownNameError("loss", name, [known for known in losses.LOSSES if known != "moreau"])
    kind: Any = losses.LOSSES[name]
    envelope: Any = losses.Moreau
    _require_known(f"loss {name}", parameters, kind._fields)
    loss = losses.make(kind(**parameters))
    return loss if smoothing is None else losses.make(envelope(loss, smoothing))


def penalty_of(name: str, parameters: Mapping[str, float], alpha: float) -> Any:
    """The regularizer of that name with this strength and these parameters.

    >>> penalty_of("elastic_net", {"l1_ratio": 0.25}, 0.1)
    ElasticNet(alpha=0.1, l1_ratio=0.25)
    """
    from fenchel.regularizers import REGULARIZERS

    if name not in REGULARIZERS:
        raise UnknownNameError("penalty", name, REGULARIZERS)
    kind = REGULARIZERS[name]
    own = [field for field in fields(kind) if field.name != "alpha"]
    _require_known(f"penalty {name}", parameters, [field.name for field in own])
    if name == "quadratic":
        raise InputError("penalty quadratic needs a matrix K, which a command line cannot give: use it from Python")
    lacking = [field.name for field in own if field.default is MISSING and field.name not in parameters]
    if lacking:
        raise InputError(f"penalty {name} needs --penalty-param {lacking[0]}=...")
    return kind(alpha, **parameters)


def _require_known(what: str, parameters: Mapping[str, float], known: Iterable[str]) -> None:
    for name in parameters:
        if name not in known:
            raise InputError(f"{what} has no parameter {name!r}; it has {', '.join(known) or 'none'}")
