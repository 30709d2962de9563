"""Loss and regularizer of a model: both as plain data, what its scores mean, the regularizer of one score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel import losses, measures, multiclass, structured
from fenchel.errors import InputError, UnknownNameError
from fenchel.losses.task import innermost

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.problems.kinds_of_loss import AnyLoss

REGISTRIES = (losses.LOSSES, multiclass.LOSSES, measures.MEASURES, structured.MODELS)


def family_of(loss: AnyLoss) -> str:
    """ "vector" for losses of several scores, "set" for measures, "scalar" for all others.

    >>> family_of(multiclass.TopK(2)), family_of(measures.NDCG()), family_of(losses.Hinge())
    ('vector', 'set', 'scalar')
    """
    if multiclass.is_vector_loss(loss):
        return "vector"
    return "set" if measures.is_measure(loss) else "scalar"


def class_scores(loss: Any, Z: np.ndarray) -> np.ndarray:
    """(n, classes) from (n, scores): sums over paths for the losses of a tree, else the scores themselves."""
    loss = innermost(loss)
    return loss.class_scores(Z) if hasattr(loss, "class_scores") else Z


ROWS_AT_ONCE = 1 << 14  # float32 rows whose scores are computed together: numpy up-casts what it multiplies


def linear_scores(X: np.ndarray | sp.csr_matrix, coef: np.ndarray, intercept: np.ndarray | float) -> np.ndarray:
    """X coef' + intercept: (n,), or (n, k) if coef is (k, d). Estimators and models compute it here, hence to the same bits.

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
    """Rows as a model takes them: a float matrix with d columns, dense or sparse."""
    rows: Any = X if sp.issparse(X) else np.asarray(X)
    rows = rows if rows.dtype in (np.float32, np.float64) else rows.astype(float)
    if rows.ndim != 2 or rows.shape[1] != d:
        got = f"{rows.shape[1]} features" if rows.ndim == 2 else f"{rows.ndim} dimension(s)"
        raise InputError(f"X has {got}, but the model has {d} features; pass rows with the same features")
    return rows


def classes_known(loss: Any) -> int | None:
    """How many classes the parameters of the loss speak of; None if they do not say.

    >>> classes_known(multiclass.CostHinge([[0, 1], [2, 0]])), classes_known(multiclass.TopK(2))
    (2, None)
    """
    loss = innermost(loss)
    if isinstance(loss, multiclass.CostHinge):
        return len(loss.cost)
    return int(loss.leaf.size) if hasattr(loss, "leaf") else None


def has_several_targets(loss: Any) -> bool:
    """Whether every score predicts a target of its own, so that none stands for a label.

    >>> has_several_targets(multiclass.MultivariateSquared()), has_several_targets(multiclass.Softmax())
    (True, False)
    """
    return getattr(innermost(loss), "several_targets", False) is True


def regularizer_of(problem: Any) -> Any:
    """The regularizer as it was given: that of a problem with several scores is spread over all of them."""
    return problem.given if problem.is_vector else problem.regularizer


def loss_parameters(loss: AnyLoss) -> dict[str, Any]:
    """The loss as plain data, {"name": ..., parameters}, some of which may be arrays. Only built-in losses have that.

    >>> loss_parameters(multiclass.TopK(5)), loss_parameters(losses.Hinge())
    ({'name': 'top_k', 'k': 5}, {'name': 'hinge', 'margin': 1.0})
    """
    registry = next((one for one in REGISTRIES if one.name_of(loss) is not None), losses.LOSSES)
    plain = registry.parameters(loss)
    return {key: np.array(value) if isinstance(value, tuple) else value for key, value in plain.items()}


def loss_from_parameters(data: Mapping[str, Any]) -> Any:
    """The inverse of `loss_parameters`; whatever does not make a sound loss raises.

    >>> loss_from_parameters({"name": "weighted_usunier", "rho": np.array([2.0, 1.0])})
    WeightedUsunier(rho=[2., 1.])
    """
    name = data.get("name")
    registry: Any = next((one for one in REGISTRIES if name in one), None)
    if registry is None:
        raise UnknownNameError("loss", str(name), [known for one in REGISTRIES for known in one])
    return registry.from_parameters(data)


KINDS: dict[str, tuple[type, ...]] = {  # annotations of the parameters of structured models, and what they may be
    "bool": (bool,),
    "float": (float, int),
    "int | None": (int, type(None)),
    "str": (str,),
}


def require_built_in(loss: Any) -> None:
    """Only built-in models of structured outputs: kernels and arithmetic trust the kinds of their parameters."""
    name = type(loss).__name__
    if structured.MODELS.name_of(loss) is None:
        raise InputError(f"{name} is not a built-in model of structured outputs: it cannot be saved")
    for one in fields(loss):
        value = getattr(loss, one.name)
        if type(value) not in KINDS[str(one.type)]:
            raise InputError(f"{one.name} of {name} must be {one.type}, got {value!r}")
