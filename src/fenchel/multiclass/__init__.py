"""Losses of several scores per row, one per file; `fenchel.multiclass.protocol` defines the interface.

>>> from fenchel import Problem, multiclass, solve
>>> X, y = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [1.0, 1.0]], [0, 1, 2, 1]
>>> solve(Problem(X, y, loss=multiclass.TopK(2), alpha=0.1)).status.name
'CERTIFIED'
"""

from __future__ import annotations

import re
from typing import Any

from fenchel.errors import InputError, UnknownNameError
from fenchel.losses.moreau import Moreau
from fenchel.multiclass.check import check, check_foreign
from fenchel.multiclass.cost_hinge import CostHinge
from fenchel.multiclass.hierarchical_hinge import HierarchicalHinge
from fenchel.multiclass.hierarchical_softmax import HierarchicalSoftmax
from fenchel.multiclass.max_hinge import MaxHinge
from fenchel.multiclass.moreau import MoreauVector
from fenchel.multiclass.multivariate_squared import MultivariateSquared
from fenchel.multiclass.own import outputs, smoothness
from fenchel.multiclass.softmax import Softmax
from fenchel.multiclass.top_k import TopK
from fenchel.multiclass.tree import Tree
from fenchel.multiclass.usunier import Usunier
from fenchel.multiclass.weighted_top_k import WeightedTopK
from fenchel.multiclass.weighted_usunier import WeightedUsunier

__all__ = [
    "LOSSES",
    "CostHinge",
    "HierarchicalHinge",
    "HierarchicalSoftmax",
    "MaxHinge",
    "MoreauVector",
    "MultivariateSquared",
    "Softmax",
    "TopK",
    "Tree",
    "Usunier",
    "WeightedTopK",
    "WeightedUsunier",
    "check",
    "check_foreign",
    "is_vector_loss",
    "make",
    "outputs",
    "smoothness",
]

_CLASSES: list[type] = [
    CostHinge, HierarchicalHinge, HierarchicalSoftmax, MaxHinge, MoreauVector, MultivariateSquared, Softmax, TopK,
    Usunier, WeightedTopK, WeightedUsunier,
]  # fmt: skip
LOSSES: dict[str, type] = {re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower(): cls for cls in _CLASSES}


def is_vector_loss(loss: object) -> bool:
    """True for a name or an object of this package, a `fenchel.losses.Moreau` of one, or an object with a method `slopes`.

    >>> is_vector_loss("softmax"), is_vector_loss("hinge"), is_vector_loss(MaxHinge())
    (True, False, True)
    """
    if isinstance(loss, Moreau):
        return is_vector_loss(loss.loss)
    return loss in LOSSES if isinstance(loss, str) else any(hasattr(type(loss), name) for name in ("outputs", "slopes"))


def make(loss: object) -> Any:
    """A loss from a name or an object; names give those that need no parameters.

    >>> make("max_hinge")
    MaxHinge()
    """
    if isinstance(loss, Moreau):
        return MoreauVector(make(loss.loss), loss.gamma)
    if not isinstance(loss, str):
        return loss
    if loss not in LOSSES:
        raise UnknownNameError("loss of several scores", loss, sorted(LOSSES))
    try:
        return LOSSES[loss]()
    except TypeError:
        raise InputError(
            f"loss {loss!r} needs parameters: pass fenchel.multiclass.{LOSSES[loss].__name__}(...)"
        ) from None
