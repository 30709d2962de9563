"""A tiny problem for every loss, measure and model that is registered: `compat` is asked which solvers fit it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

import fenchel
from fenchel import losses, measures, multiclass, regularizers, structured

ROWS, FEATURES, CLASSES = 12, 3, 3
# What cannot be made from its name alone, and has no example
SCALAR: dict[str, Any] = {"moreau": losses.Moreau(losses.Hinge(), 0.5)}
VECTOR: dict[str, Any] = {"moreau_vector": multiclass.MoreauVector(multiclass.MaxHinge(), 0.5)}
MEASURES: dict[str, Any] = {"recall_at_k": measures.RecallAtK(3)}
ONE_SCORE = {"no_penalty", "slope", "total_variation"}

rng = np.random.default_rng(0)
X = rng.standard_normal((ROWS, FEATURES))
SIGNS = np.resize([-1.0, 1.0], ROWS)
CLASS = np.arange(ROWS) % CLASSES
CHAINS = [rng.standard_normal((2, FEATURES)) for _ in range(4)]
GRAPHS = [(chain, [[0, 1]]) for chain in CHAINS]
LEVELS = (np.arange(ROWS) % 3).astype(float)
STRUCTURES: dict[str, Callable[[], tuple[Any, Any, dict[str, Any]]]] = {
    "associative_graph": lambda: (GRAPHS, [[0, 1], [1, 0], [1, 1], [0, 0]], {}),
    "candidates": lambda: (CHAINS, [0, 1, 1, 0], {}),
    "chain": lambda: (CHAINS, [[0, 1], [1, 0], [1, 1], [0, 0]], {}),
    "graph": lambda: (GRAPHS, [[0, 1], [1, 0], [1, 1], [0, 0]], {}),
    "matching": lambda: ([rng.standard_normal((2, 2, FEATURES)) for _ in range(3)], [[0, 1], [1, 0], [0, 1]], {}),
    "multiclass": lambda: (X, CLASS, {}),
    "pairwise_labels": lambda: (X[:4], np.array([[0, 1], [1, 1], [1, 0], [0, 0]]), {}),
    "tree": lambda: ([(chain, [-1, 0]) for chain in CHAINS], [[0, 1], [1, 0], [1, 1], [0, 0]], {"classes": 2}),
}


def made(cls: Any) -> Any:
    """The example of a class, or its object without parameters."""
    return cls.example() if hasattr(cls, "example") else cls()


def regularizer(name: str, d: int = FEATURES) -> Any:
    """The registered regularizer of that name, for d weights."""
    return regularizers.REGULARIZERS[name].example(d)


def scalar(name: str, penalty: str, free: bool = False) -> Any:
    """One score per row."""
    loss = SCALAR.get(name) or losses.make(name)
    y = SIGNS if "1" in loss.target_rule or name == "moreau" else np.abs(X[:, 0])
    return fenchel.Problem(X, y, loss=loss, regularizer=regularizer(penalty), fit_intercept=free)


def vector(name: str, penalty: str, free: bool = False) -> Any:
    """Several scores per row; None if the penalty is of one score only."""
    if penalty in ONE_SCORE:
        return None
    loss = VECTOR.get(name) or made(multiclass.LOSSES[name])
    y = X[:, :2] if getattr(loss, "several_targets", False) else CLASS
    return fenchel.Problem(X, y, loss=loss, regularizer=regularizer(penalty), fit_intercept=free)


def whole_set(name: str, penalty: str) -> Any | None:
    """A measure of all rows, or of each query; None if the penalty leaves coefficients free."""
    if regularizer(penalty).unpenalised(FEATURES) is not None:
        return None
    measure = MEASURES.get(name) or made(measures.MEASURES[name])
    groups = np.arange(ROWS) % 2 if measure.needs_groups else None
    y = LEVELS if measure.needs_groups or name == "ordinal" else SIGNS
    return fenchel.Problem(X, y, loss=measure, regularizer=regularizer(penalty), groups=groups)


def structure(name: str, penalty: str, loss: str = "hinge") -> Any | None:
    """Structured outputs; None if the model has no such loss, or no examples above, or coefficients would be free."""
    if name not in STRUCTURES:
        return None
    examples, labels, options = STRUCTURES[name]()
    has_log = "loss" in {field.name for field in fields(structured.MODELS[name])}
    if loss == "log" and not has_log:
        return None
    model = structured.MODELS[name](**options, **({"loss": loss} if has_log else {}))
    d = fenchel.Problem(examples, labels, loss=model, alpha=0.1).d
    if regularizer(penalty, d).unpenalised(d) is not None:
        return None
    return fenchel.Problem(examples, labels, loss=model, regularizer=regularizer(penalty, d))
