"""What a block can be asked beyond what its oracle says. The first argument is the `Holder` on whose worker it runs.

Answers that are added up over blocks are tuples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.kernels.intercept import slope_limits
from fenchel.oracles.intercepts import Brackets
from fenchel.oracles.local_dual import LocalDual, Round


def combined(holder: Any, u: np.ndarray) -> tuple[np.ndarray]:
    """(sum p u x,)."""
    return (holder.oracle.combine(np.ascontiguousarray(u)),)


def grams(holder: Any, weights: np.ndarray) -> tuple[np.ndarray]:
    """(sum of weights x x', above the diagonal,)."""
    return (holder.oracle.upper_gram(np.ascontiguousarray(weights)),)


def risk_alone(holder: Any, w: np.ndarray) -> tuple[float, np.ndarray]:
    """(sum p loss, its gradient), where there is no intercept apart from the variables."""
    return holder.oracle.risk(w)[:2]


def labels(holder: Any, w: np.ndarray) -> np.ndarray:
    """The best labels of the block's examples, flat."""
    (block,), first = holder.oracle.blocks, holder.problem.first
    return holder.oracle.labels_at(w)[2][first[block.start] : first[block.stop]]


def size(holder: Any) -> int:
    """How many rows or examples."""
    (block,) = holder.oracle.blocks
    return block.stop - block.start


def begin_local_dual(holder: Any, name: str, transfer: Any, strength: float, seed: int) -> tuple[np.ndarray]:
    """(sum p u x,) of new dual variables, kept here."""
    (block,), problem = holder.oracle.blocks, holder.problem
    holder.kept[name] = LocalDual(problem.compiled_loss, block, transfer, strength, seed)
    return (holder.kept[name].combined(problem.d),)


def local_dual_round(holder: Any, name: str, told: Round) -> Any:
    """What `LocalDual.round` answers."""
    return holder.kept[name].round(told)


def local_dual_before(holder: Any, name: str) -> np.ndarray:
    """The block's dual variables at which the last round began."""
    return holder.kept[name].before


def forget(holder: Any, name: str) -> None:
    """What is kept under a name is not needed any more."""
    holder.kept.pop(name, None)


def mean_row(holder: Any) -> tuple[np.ndarray]:
    """(sum p x,)."""
    return (holder.oracle.mean_row,)


def class_rows(holder: Any) -> tuple[np.ndarray]:
    """(sum p x over the rows of each class,)."""
    return (holder.oracle.class_rows,)


def masses(holder: Any) -> tuple[np.ndarray]:
    """(the weight of the rows of every class,)."""
    return (holder.problem.masses(),)


def first_means(holder: Any) -> tuple[np.ndarray, float]:
    """(sum p x, sum p offset)."""
    return holder.oracle.means


def slopes_at_intercepts(
    holder: Any, w: np.ndarray, bs: np.ndarray, brackets: Brackets
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """(sum p slope, sum p |slope| for every intercept, how many rows these brackets leave in question, sum p |score|)."""
    z = holder.oracle.scores(w)
    return *holder.oracle.slope_sums(z)(bs, brackets), holder.oracle.score_size(z)


def limits_of_slopes(holder: Any) -> tuple[float, float]:
    """What sum p slope tends to as the intercept goes to minus and to plus infinity."""
    return slope_limits(holder.problem.compiled_loss, holder.problem.y, holder.problem.weights)


def vector(holder: Any, name: str) -> np.ndarray:
    """The targets, weights or offsets of the block's rows."""
    return np.asarray(getattr(holder.problem, name))


def digest(holder: Any) -> str:
    """That of the block's problem."""
    return holder.problem.digest


def basis(holder: Any) -> str:
    """What a dual value of the block rests on."""
    return holder.problem.basis
