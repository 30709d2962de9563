"""Losses and penalties from command-line arguments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from fenchel.errors import InputError

COMMON = ("margin", "tau", "epsilon", "p", "delta", "gamma", "beta")
ALIASES = {"f1": "f_beta"}


def pairs(words: Iterable[str], option: str) -> dict[str, float]:
    """name=value arguments as a dict.

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
        found[name] = int(number) if name == "k" and number.is_integer() else number
    return found


def loss_of(name: str, parameters: Mapping[str, Any], smoothing: float | None) -> Any:
    """The loss of that name with these parameters, smoothed if --smooth is given.

    >>> loss_of("quantile", {"tau": 0.9}, None), loss_of("top_k", {"k": 5}, None)
    (Quantile(tau=0.9), TopK(k=5))
    """
    from fenchel import losses
    from fenchel.multiclass import LOSSES as JOINT

    if name in JOINT:
        return _joint_loss(JOINT[name], name, parameters, smoothing)
    if name == "moreau":
        raise InputError("--loss moreau: name the loss to be smoothed, and give gamma with --smooth")
    kind: Any = losses.LOSSES.lookup(name, also=JOINT)
    envelope: Any = losses.Moreau
    _require_known(f"loss {name}", parameters, kind._fields)
    loss = losses.make(kind(**parameters))
    return loss if smoothing is None else losses.make(envelope(loss, smoothing))


def _joint_loss(kind: type, name: str, parameters: Mapping[str, Any], smoothing: float | None) -> Any:
    from inspect import signature

    from fenchel.multiclass import MoreauVector
    from fenchel.registry import required

    if kind is MoreauVector:
        raise InputError(f"--loss {name}: name the loss to be smoothed, and give gamma with --smooth")
    if getattr(kind, "several_targets", False):
        raise InputError(f"loss {name} needs several targets per row, which data files do not have: use it from Python")
    _require_known(f"loss {name}", parameters, signature(kind).parameters)
    for parameter in required(kind):
        if parameter not in parameters:
            raise InputError(f"loss {name} needs --{parameter}")
    loss = kind(**parameters)
    return loss if smoothing is None else MoreauVector(loss, smoothing)


def measure_of(name: str, parameters: Mapping[str, Any], smoothing: float | None) -> Any:
    """The measure of that name with these parameters.

    >>> measure_of("f1", {}, None), measure_of("ndcg", {"k": 10}, None)
    (FBeta(beta=1.0, scale=None), NDCG(k=10, decay=None))
    """
    from fenchel.measures import MEASURES

    name = ALIASES.get(name, name)
    kind = MEASURES.lookup(name)
    if smoothing is not None:
        raise InputError(f"--smooth is for losses of single rows: measure {name} has no Moreau envelope")
    known = fields(kind)  # type: ignore[arg-type]
    _require_known(f"measure {name}", parameters, [field.name for field in known])
    lacking = [field.name for field in known if field.default is MISSING and field.name not in parameters]
    if lacking:
        raise InputError(f"measure {name} needs {'--k' if lacking[0] == 'k' else f'--loss-param {lacking[0]}=...'}")
    return kind(**parameters)


def numbers(text: str, option: str) -> list[float]:
    """A comma-separated list of numbers.

    >>> numbers("3,2,1", "--rho")
    [3.0, 2.0, 1.0]
    """
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise InputError(f"{option} {text!r}: expected numbers separated by commas, as in {option} 3,2,1") from None


def matrix(path: str) -> Any:
    """A matrix from a text file with a line for each row; # starts a comment."""
    import numpy as np

    lines = _lines(path)
    try:
        rows = [[float(word) for word in line.replace(",", " ").split()] for line in lines]
    except ValueError as error:
        raise InputError(f"{path}: {error}; expected a matrix, one row of numbers per line") from None
    if not rows or {len(row) for row in rows} != {len(rows[0])}:
        raise InputError(
            f"{path}: all rows of a matrix must have the same length, got {[len(row) for row in rows][:9]}"
        )
    return np.array(rows)


def tree(path: str) -> Any:
    """A tree from a text file: a line for each class with its path ("animal/cat"), or numbers only: the parent array."""
    from fenchel.multiclass import Tree

    lines = _lines(path)
    words = [word for line in lines for word in line.replace(",", " ").split()]
    if words and all(word.removeprefix("-").isdecimal() for word in words):
        return Tree([int(word) for word in words])
    return Tree([line.strip() for line in lines])


def _lines(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:
        try:
            found = [line.partition("#")[0].strip() for line in file]
        except UnicodeDecodeError:
            raise InputError(f"{path}: not a text file") from None
    return [line for line in found if line]


FROM_PYTHON = {
    "quadratic": "needs a matrix K, which the command line does not support: use it from Python",
    "linearly_constrained": "needs a matrix A, which the command line does not support: use it from Python",
    "bounded": "adds bounds to another penalty: name that one, with --nonnegative, --lower or --upper",
    "shifted": "needs coefficients, which the command line does not support: use it from Python",
    "slope": "needs a sequence of weights, which the command line does not support: use it from Python",
}


def penalty_of(name: str, parameters: Mapping[str, Any], alpha: float) -> Any:
    """The regularizer of that name with these parameters and this strength, if it has one.

    >>> penalty_of("elastic_net", {"l1_ratio": 0.25}, 0.1)
    ElasticNet(alpha=0.1, l1_ratio=0.25)
    """
    from fenchel.regularizers import REGULARIZERS, has_strength

    kind: Any = REGULARIZERS.lookup(name, "penalty")
    if name in FROM_PYTHON:
        raise InputError(f"penalty {name} {FROM_PYTHON[name]}")
    own = [field for field in fields(kind) if field.name != "alpha"]
    _require_known(f"penalty {name}", parameters, [field.name for field in own])
    lacking = [field.name for field in own if field.default is MISSING and field.name not in parameters]
    if lacking:
        needed = "--groups FILE" if lacking[0] == "groups" else f"--penalty-param {lacking[0]}=..."
        raise InputError(f"penalty {name} needs {needed}")
    return kind(alpha, **parameters) if has_strength(kind) else kind(**parameters)


def _require_known(what: str, parameters: Mapping[str, float], known: Iterable[str]) -> None:
    for name in parameters:
        if name not in known:
            raise InputError(f"{what} has no parameter {name!r}; it has {', '.join(known) or 'none'}")
