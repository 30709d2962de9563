"""Loss and regularizer of a model: conversion to plain data, and properties that predictions need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel import losses, measures, multiclass, structured
from fenchel.errors import InputError, UnknownNameError
from fenchel.losses.task import innermost
from fenchel.problems.vector import VectorProblem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.problems.kinds_of_loss import AnyLoss
    from fenchel.problems.scalar import Problem
    from fenchel.regularizers.base import Regularizer

REGISTRIES = (losses.LOSSES, multiclass.LOSSES, measures.MEASURES, structured.MODELS)


def class_scores(loss: AnyLoss, Z: np.ndarray) -> np.ndarray:
    """(n, classes) from (n, scores): sums over paths for the losses of a tree, else the scores themselves."""
    loss = innermost(loss)
    return loss.class_scores(Z) if hasattr(loss, "class_scores") else Z


ROWS_AT_ONCE = 1 << 14  # float32 rows whose scores are computed at a time, because NumPy casts them to float64


def linear_scores(X: np.ndarray | sp.csr_matrix, coef: np.ndarray, intercept: np.ndarray | float) -> np.ndarray:
    """X coef' + intercept: (n,), or (n, k) if coef is (k, d). Estimators and models share it (bit-identical).

    >>> linear_scores(np.array([[1.0, 2.0]]), np.array([3.0, -1.0]), 0.5)
    array([1.5])
    """
    lines = np.atleast_2d(coef).T
    if X.dtype == np.float64:
        z = np.asarray(X @ lines)
    else:
        starts = range(0, max(X.shape[0], 1), ROWS_AT_ONCE)
        z = np.concatenate([np.asarray(X[a : a + ROWS_AT_ONCE] @ lines) for a in starts])
    return (z if coef.ndim == 2 else z[:, 0]) + intercept


def model_rows(X: ArrayLike | sp.csr_matrix, d: int) -> Any:
    """Validated rows: a float matrix with d columns, dense or sparse."""
    rows: Any = X if sp.issparse(X) else np.asarray(X)
    rows = rows if rows.dtype in (np.float32, np.float64) else rows.astype(float)
    if rows.ndim != 2 or rows.shape[1] != d:
        got = f"{rows.shape[1]} features" if rows.ndim == 2 else f"{rows.ndim} dimension(s)"
        raise InputError(f"X has {got}, but the model has {d} features; pass rows with the same features")
    return rows


def classes_known(loss: AnyLoss) -> int | None:
    """The number of classes that the parameters of the loss determine, or None.

    >>> classes_known(multiclass.CostHinge([[0, 1], [2, 0]])), classes_known(multiclass.TopK(2))
    (2, None)
    """
    loss = innermost(loss)
    if isinstance(loss, multiclass.CostHinge):
        return len(loss.cost)
    return int(loss.leaf.size) if hasattr(loss, "leaf") else None


def has_several_targets(loss: AnyLoss) -> bool:
    """Whether every score predicts a separate real target, not a label.

    >>> has_several_targets(multiclass.MultivariateSquared()), has_several_targets(multiclass.Softmax())
    (True, False)
    """
    return getattr(innermost(loss), "several_targets", False) is True


def regularizer_of(problem: Problem) -> Regularizer:
    """The regularizer as the user gave it; a problem with several scores wraps it."""
    return problem.given if isinstance(problem, VectorProblem) else problem.regularizer


def loss_parameters(loss: AnyLoss) -> dict[str, Any]:
    """The loss as plain data, {"name": ..., parameters}, which may include arrays; for built-in losses only.

    >>> loss_parameters(multiclass.TopK(5)), loss_parameters(losses.Hinge())
    ({'name': 'top_k', 'k': 5}, {'name': 'hinge', 'margin': 1.0})
    """
    registry = next((one for one in REGISTRIES if one.name_of(loss) is not None), losses.LOSSES)
    plain = registry.parameters(loss)
    return {key: np.array(value) if isinstance(value, tuple) else value for key, value in plain.items()}


def loss_from_parameters(data: Mapping[str, Any]) -> Any:
    """The inverse of `loss_parameters`; raises an error if the data do not define a valid loss.

    >>> loss_from_parameters({"name": "weighted_usunier", "rho": np.array([2.0, 1.0])})
    WeightedUsunier(rho=[2., 1.])
    """
    name = data.get("name")
    registry: Any = next((one for one in REGISTRIES if name in one), None)
    if registry is None:
        raise UnknownNameError("loss", str(name), [known for one in REGISTRIES for known in one])
    return registry.from_parameters(data)


KINDS: dict[str, tuple[type, ...]] = {  # the annotations of parameters of structured models, with the allowed types
    "bool": (bool,),
    "float": (float, int),
    "int | None": (int, type(None)),
    "str": (str,),
}


def require_built_in(loss: Any) -> None:
    """Reject other than built-in structured models with parameters of the right types, on which kernels rely."""
    name = type(loss).__name__
    if structured.MODELS.name_of(loss) is None:
        raise InputError(f"{name} is not a built-in model of structured outputs: it cannot be saved")
    for one in fields(loss):
        value = getattr(loss, one.name)
        if type(value) not in KINDS[str(one.type)]:
            raise InputError(f"{one.name} of {name} must be {one.type}, got {value!r}")
