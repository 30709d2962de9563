"""On a worker: a block of the user's data looked at, and made into a problem that knows its place among all rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from fenchel.cluster.holder import Holder
from fenchel.data.accept import aligned, read_only
from fenchel.errors import InputError
from fenchel.problems.measure import SetProblem
from fenchel.problems.scalar import Problem
from fenchel.problems.vector import Unpenalised

SAMPLE = 16  # targets of a block that are told


class Spec(NamedTuple):
    """What the problem is, without its data."""

    loss: Any
    regularizer: Any
    fit_intercept: bool


class Facts(NamedTuple):
    """What must be known of a block, or of all of them, before any can be made."""

    n: int
    d: int  # columns, or features of a structured model
    classes: int  # scores per row, for losses of several
    targets: np.ndarray  # some, the smallest and the largest among them
    largest: float  # sample weight
    weighted: bool  # whether there are sample weights
    total: float = 0.0  # of them, relative to the largest
    mass: float | None = None  # the weight of the queries, for a mean over queries


def parts_of(whole: Any, parts: tuple) -> tuple:
    """(X, y, sample_weight, offset, groups) of a block."""
    if whole is not None:
        if not isinstance(whole, tuple) or not 1 <= len(whole) <= 5:
            raise InputError(f"a block must be a tuple (X, y) or (X, y, sample_weight), got {type(whole).__name__}")
        parts = whole
    parts = tuple(_plain(part) for part in parts)
    return parts + (None,) * (5 - len(parts))


def _plain(part: Any) -> Any:
    """Data frames and series as arrays; arrays at proper addresses, wherever a message has left them."""
    part = part.to_numpy() if hasattr(part, "to_numpy") else part
    return aligned(part) if isinstance(part, np.ndarray) or (issparse(part) and part.format == "csr") else part


def look(spec: Spec, number: int, whole: Any, *parts: Any) -> Facts:
    """What a block is like; says which one if there is something wrong with it."""
    X, y, s, offset, groups = parts_of(whole, parts)
    try:
        problem = _problem(spec, X, y, s, offset, groups)
    except InputError as error:
        raise InputError(f"block {number} of the data: {error}") from None
    largest = 1.0 if s is None else float(np.max(s))
    if problem.is_measure:
        mass = problem.own_mass()
        return Facts(problem.n, problem.d, 0, np.zeros(0), largest, s is not None, mass=mass)
    if problem.is_structured:
        return Facts(problem.n, problem.d, 0, np.zeros(0), largest, s is not None)
    targets = np.unique(problem.y)
    few = np.unique(np.append(targets[:SAMPLE], targets[-1:])) if problem.y.ndim == 1 else np.zeros(0)
    classes = problem.outputs if problem.is_vector else 0
    return Facts(problem.n, problem.X.shape[1], classes, few, largest, s is not None)


def relative_total(largest: float, whole: Any, *parts: Any) -> float:
    """The sum of the block's sample weights, the largest of all blocks being 1."""
    X, _, s = parts_of(whole, parts)[:3]
    return float(np.shape(X)[0] / largest if s is None else np.sum(np.asarray(s, dtype=float) / largest))


def make(spec: Spec, facts: Facts, whole: Any, *parts: Any) -> Holder:
    """The block as a problem whose rows have the weights that they have among all."""
    X, y, s, offset, groups = parts_of(whole, parts)
    problem = _problem(spec, X, y, s, offset, groups)
    own = problem.__dict__
    if facts.weighted:
        relative = np.ones(problem.n) if s is None else np.asarray(s, dtype=float)
        own["weights"] = read_only(relative / facts.largest / facts.total)
    else:
        own["weights"] = read_only(np.full(problem.n, 1.0 / facts.n))
    if problem.is_measure:
        own["total_mass"] = facts.mass
    if problem.is_vector:
        own["outputs"] = facts.classes
        own["penalty"] = problem.given.for_outputs(problem.features, facts.classes)
        own["free"] = spec.fit_intercept
        own["regularizer"] = Unpenalised(problem.penalty, facts.classes) if problem.free else problem.penalty
        own["d"] = (problem.features + problem.free) * facts.classes
    return Holder(problem)


def _problem(spec: Spec, X: Any, y: Any, s: Any, offset: Any, groups: Any) -> Any:
    from fenchel.measures import is_measure
    from fenchel.multiclass import is_vector_loss

    if is_measure(spec.loss):
        return SetProblem.block(X, y, spec.loss, spec.regularizer, groups)
    free = spec.fit_intercept and not is_vector_loss(spec.loss)  # a block need not have rows of every class
    return Problem(X, y, spec.loss, spec.regularizer, None, free, s, offset, groups)
