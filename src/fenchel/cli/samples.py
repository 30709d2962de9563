"""A small problem for every pair of a loss and a penalty, on which the compatibility of solvers is tested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from fenchel.problems.kinds_of_loss import AnyLoss

LARGEST = 10_000_000  # maximum size of X
CLASSES = 3  # as many classes as the examples of losses have
CHAINS = {"chain": "hinge", "chain_log": "log"}


def loss_names() -> list[str]:
    """All losses and measures for which there are samples, the structured ones last."""
    from fenchel.losses import LOSSES
    from fenchel.measures import MEASURES
    from fenchel.multiclass import LOSSES as JOINT

    envelopes = ("moreau", "moreau_vector")
    return [name for name in (*LOSSES, *JOINT, *MEASURES) if name not in envelopes] + list(CHAINS)


def penalty_names() -> list[str]:
    """All penalties."""
    from fenchel.regularizers import REGULARIZERS

    return list(REGULARIZERS)


def sample(loss: str, penalty: str, rows: int = 24, features: int = 3, intercept: bool = False) -> Any:
    """A problem with that loss and that penalty, with random rows.

    >>> sample("hinge", "l1").n
    24
    """
    from fenchel.problems.scalar import Problem

    if loss not in loss_names():
        raise UnknownNameError("loss or measure", loss, loss_names())
    if rows < 12 or features < 1 or rows * features > LARGEST:
        raise InputError(f"--rows must be at least 12, --features at least 1, and their product at most {LARGEST}")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, features))
    if loss in CHAINS:
        from fenchel.structured import Chain

        cut = np.array_split(np.arange(rows), 4)
        labels = [np.arange(part.size) % CLASSES for part in cut]
        return Problem(
            [X[part] for part in cut], labels, loss=Chain(CLASSES, CHAINS[loss]), regularizer=_penalty(penalty, None)
        )
    made = _loss(loss)
    y, groups = _targets(made, rows)
    return Problem(X, y, loss=made, regularizer=_penalty(penalty, features), fit_intercept=intercept, groups=groups)


def _loss(name: str) -> Any:
    from fenchel.losses import LOSSES
    from fenchel.measures import MEASURES
    from fenchel.multiclass import LOSSES as JOINT

    kind: Any = LOSSES.get(name) or JOINT.get(name) or MEASURES[name]
    return kind.example() if hasattr(kind, "example") else kind()


def _targets(loss: AnyLoss, rows: int) -> tuple[np.ndarray, np.ndarray | None]:
    from fenchel.losses.task import task_of

    k = np.arange(rows)
    if getattr(loss, "several_targets", False):
        return np.column_stack([k % 2, k % 3]).astype(float), None
    if task_of(loss) == "classes":
        return k % CLASSES, None
    if getattr(loss, "needs_groups", False):
        return (k % 3).astype(float), k // 6
    if task_of(loss) in ("ordinal", "regression", "novelty"):
        return (k % 3).astype(float), None
    return np.where(k % 2 == 0, 1.0, -1.0), None


def _penalty(name: str, features: int | None) -> Any:
    from fenchel.registry import required
    from fenchel.regularizers import REGULARIZERS

    kind: Any = REGULARIZERS.lookup(name, "penalty")
    if features is None and name != "q_norm" and required(kind)[1:]:
        raise InputError(f"the penalty {name} needs a matrix or an array as large as the number of weights")
    return kind.example(1 if features is None else features)
