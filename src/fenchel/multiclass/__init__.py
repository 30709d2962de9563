"""Losses of several scores per row, one per file; `fenchel.multiclass.protocol` defines the interface. May import `losses`.

>>> from fenchel import Problem, multiclass, solve
>>> X, y = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [1.0, 1.0]], [0, 1, 2, 1]
>>> solve(Problem(X, y, loss=multiclass.TopK(2), alpha=0.1)).status.name
'CERTIFIED'
"""

from __future__ import annotations

from typing import Any

from fenchel.losses.moreau import Moreau
from fenchel.multiclass.check import check, check_foreign
from fenchel.multiclass.cost_hinge import CostHinge as CostHinge
from fenchel.multiclass.hierarchical_hinge import HierarchicalHinge as HierarchicalHinge
from fenchel.multiclass.hierarchical_softmax import HierarchicalSoftmax as HierarchicalSoftmax
from fenchel.multiclass.max_hinge import MaxHinge as MaxHinge
from fenchel.multiclass.moreau import MoreauVector as MoreauVector
from fenchel.multiclass.multivariate_squared import MultivariateSquared as MultivariateSquared
from fenchel.multiclass.own import outputs, smoothness
from fenchel.multiclass.softmax import Softmax as Softmax
from fenchel.multiclass.top_k import TopK as TopK
from fenchel.multiclass.tree import Tree as Tree
from fenchel.multiclass.usunier import Usunier as Usunier
from fenchel.multiclass.weighted_top_k import WeightedTopK as WeightedTopK
from fenchel.multiclass.weighted_usunier import WeightedUsunier as WeightedUsunier
from fenchel.registry import Registry, classes_in, public_names


def _accept(loss: Any) -> Any:
    """The envelope of a loss of several scores is one of them."""
    return MoreauVector(LOSSES.make(loss.loss), loss.gamma) if isinstance(loss, Moreau) else loss


LOSSES: Registry[Any] = Registry(
    "loss of several scores", classes_in(globals(), lambda cls: hasattr(cls, "outputs")), _accept
)
__all__ = public_names(LOSSES, "LOSSES", Tree, check, check_foreign, "is_vector_loss", "make", outputs, smoothness)


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
    return LOSSES.make(loss)
