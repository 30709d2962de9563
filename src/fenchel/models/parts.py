"""Loss and regularizer of a model: both as plain data, what its scores mean, the regularizer of one score."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel import losses, measures, multiclass, regularizers, structured
from fenchel.errors import InputError, UnknownNameError
from fenchel.losses.task import innermost

JOINT: dict[str, Any] = dict(multiclass.LOSSES)
# Of the losses of several scores that can be written to a file: what is written of them.
FIELDS = {name: list(cls.saved_fields) for name, cls in JOINT.items() if hasattr(cls, "saved_fields")}


def family_of(loss: Any) -> str:
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


def linear_scores(X: Any, coef: np.ndarray, intercept: Any) -> np.ndarray:
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


def model_rows(X: Any, d: int) -> Any:
    """Rows as a model takes them: a float matrix with d columns, dense or sparse."""
    X = X if sp.issparse(X) else np.asarray(X)
    X = X if X.dtype in (np.float32, np.float64) else X.astype(float)
    if X.ndim != 2 or X.shape[1] != d:
        got = f"{X.shape[1]} features" if X.ndim == 2 else f"{X.ndim} dimension(s)"
        raise InputError(f"X has {got}, but the model has {d} features; pass rows with the same features")
    return X


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


def loss_parameters(loss: Any) -> dict[str, Any]:
    """The loss as plain data, {"name": ..., parameters}, some of which may be arrays. Only built-in losses have that.

    >>> loss_parameters(multiclass.TopK(5)), loss_parameters(losses.Hinge())
    ({'name': 'top_k', 'k': 5}, {'name': 'hinge', 'margin': 1.0})
    """
    if structured.is_structured(loss):
        return _structured_parameters(loss)
    if measures.is_measure(loss):
        plain = measures.parameters(loss)
        return {key: np.array(value) if isinstance(value, tuple) else value for key, value in plain.items()}
    if not multiclass.is_vector_loss(loss):
        return losses.parameters(loss)
    name = next((key for key, kind in multiclass.LOSSES.items() if kind is type(loss)), None)
    if name not in FIELDS:
        raise InputError(
            f"loss {type(loss).__name__} cannot be written to a file: it is not a built-in loss of classes"
        )
    if name == "hierarchical_hinge":
        by_name = {pair: word for word, pair in (("tree", (0.5, 0.5)), ("lca", (0.0, 1.0)))}
        cost = by_name.get((loss.off_path, loss.on_path), loss.cost)
        return {"name": name, "parent": loss.parent, "leaf": loss.leaf, "cost": cost}
    plain = {field: getattr(loss, field) for field in FIELDS[name]}
    return {"name": name} | {key: loss_parameters(v) if key == "loss" else v for key, v in plain.items()}


def loss_from_parameters(data: dict[str, Any]) -> Any:
    """The inverse of `loss_parameters`; whatever does not make a sound loss raises.

    >>> loss_from_parameters({"name": "weighted_usunier", "rho": np.array([2.0, 1.0])})
    WeightedUsunier(rho=[2., 1.])
    """
    name = data.get("name")
    if name in losses.LOSSES:
        return losses.from_parameters(data)
    if name in measures.MEASURES:
        return measures.from_parameters(data)
    if name in structured.MODELS:
        return _structured_from_parameters(data)
    if name not in FIELDS:
        raise UnknownNameError("loss", str(name), [*losses.LOSSES, *FIELDS, *measures.MEASURES])
    values = {key: value for key, value in data.items() if key != "name"}
    if sorted(values) != sorted(FIELDS[name]):
        raise InputError(f"loss {name!r} has the parameters {FIELDS[name]}, got {sorted(values)}")
    if "parent" in values:
        return _of_tree(name, **values)
    if "loss" in values:
        values["loss"] = loss_from_parameters(dict(values["loss"]))
    return JOINT[name](**values)


def _of_tree(name: str, parent: Any, leaf: Any, **more: Any) -> Any:
    """Kernels walk these arrays without looking: they must be those of a tree."""
    tree = multiclass.Tree(np.asarray(parent).tolist())
    if not (np.array_equal(tree.parent, parent) and np.array_equal(np.sort(leaf), np.sort(tree.leaf))):
        raise InputError(f"loss {name!r}: parent and leaf are not those of a tree with parents before children")
    return JOINT[name](tree, **more)._replace(leaf=np.array(leaf, dtype=np.int64))


KINDS: dict[str, tuple[type, ...]] = {  # annotations of the parameters of structured models, and what they may be
    "bool": (bool,),
    "float": (float, int),
    "int | None": (int, type(None)),
    "str": (str,),
}


def require_built_in(loss: Any) -> None:
    """Only built-in models of structured outputs: kernels and arithmetic trust the kinds of their parameters."""
    name = type(loss).__name__
    if type(loss) not in structured.MODELS.values():
        raise InputError(f"{name} is not a built-in model of structured outputs: it cannot be saved")
    for one in fields(loss):
        value = getattr(loss, one.name)
        if type(value) not in KINDS[str(one.type)]:
            raise InputError(f"{one.name} of {name} must be {one.type}, got {value!r}")


def _structured_parameters(loss: Any) -> dict[str, Any]:
    require_built_in(loss)
    name = next(key for key, kind in structured.MODELS.items() if kind is type(loss))
    return {"name": name} | {one.name: vars(loss)[one.name] for one in fields(loss)}


def _structured_from_parameters(data: dict[str, Any]) -> Any:
    values = dict(data)
    name = values.pop("name")
    kind: Any = structured.MODELS[name]
    kinds = {one.name: KINDS[str(one.type)] for one in fields(kind)}
    if set(values) != set(kinds) or not all(type(value) in kinds[key] for key, value in values.items()):
        raise InputError(f"the parameters of {name} are {sorted(kinds)}: some are missing or of the wrong kind")
    return kind(**values)


def regularizer_name(regularizer: Any) -> str:
    """The name under which a file has it."""
    name = next((key for key, kind in regularizers.REGULARIZERS.items() if kind is type(regularizer)), None)
    if name is None:
        raise InputError(f"{type(regularizer).__name__} is not a built-in regularizer and cannot be written to a file")
    return name
