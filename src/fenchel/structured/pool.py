"""Dual points of structured problems: weights of labels, marginals, or the points at which distributions are taken."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from fenchel.compile.copy import copy
from fenchel.compile.kernel import kernel


class Pool(NamedTuple):
    """Labels of every example with weights: the dual point of a structured hinge loss.

    The labels of example i are start[i] .. start[i+1]; label k is labels[offsets[k]:offsets[k+1]]. Weights are at least 0 and
    sum to at most 1 per example; the gold label, whose plane is 0, has the rest. The certificate recomputes the planes from the
    labels.
    """

    start: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray


class Marginals(NamedTuple):
    """Probabilities of the parts of every example: values[start[i]:start[i+1]] are those of example i (see `parts`).

    They are one kind of dual point of a structured hinge loss, `Pool` is the other. Their weight is `scale`; the gold label,
    whose plane is 0, has the rest. The certificate first makes them exact marginals.
    """

    start: np.ndarray
    values: np.ndarray
    scale: float = 1.0


class Gibbs(NamedTuple):
    """The dual point of a structured log-loss: a mixture (weights sum to 1) of the models' own distributions at several
    vectors of coefficients, a row for each."""

    weights: np.ndarray
    coefs: np.ndarray


DualPoint: TypeAlias = Pool | Marginals | Gibbs


def fits(pool: Pool, model: object) -> bool:
    """Whether the arrays form a pool for these encoded examples, with labels that are valid for the model."""
    sizes, n = np.asarray(model.sizes), model.n  # type: ignore[attr-defined]
    if pool.start.shape != (n + 1,) or pool.start.dtype != np.int64 or pool.offsets.dtype != np.int64:
        return False
    shares = np.diff(pool.start)
    return bool(
        pool.start[0] == 0 and (shares >= 0).all()
        and pool.weights.shape == (int(pool.start[-1]),) and pool.weights.dtype == np.float64
        and np.isfinite(pool.weights).all() and pool.offsets.shape == (pool.weights.size + 1,) and pool.offsets[0] == 0
        and np.array_equal(np.diff(pool.offsets), np.repeat(sizes, shares))
        and pool.labels.shape == (int(pool.offsets[-1]),) and pool.labels.dtype == np.int32
        and model.valid_labels(pool)  # type: ignore[attr-defined]
    )  # fmt: skip


def empty_pool(sizes: np.ndarray, capacity: np.ndarray) -> Pool:
    """A pool with capacity[i] labels of weight 0 for each example."""
    start = np.concatenate([[0], np.cumsum(capacity)]).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(np.repeat(sizes, capacity))]).astype(np.int64)
    return Pool(start, np.zeros(int(start[-1])), offsets, np.zeros(int(offsets[-1]), dtype=np.int32))


def enlarged(pool: Pool, sizes: np.ndarray, more: np.ndarray) -> Pool:
    """A copy of the labels of positive weight, with space for `more` further ones in each example."""
    used = np.bincount(owners(pool)[pool.weights > 0.0], minlength=sizes.size)
    found = empty_pool(sizes, used + more)
    pack(pool.start, pool.weights, pool.offsets, pool.labels, *found)
    return found


def owners(pool: Pool) -> np.ndarray:
    """The example of every label."""
    return np.repeat(np.arange(pool.start.size - 1), np.diff(pool.start))


def pool_of(sizes: np.ndarray, labelings: list[np.ndarray], weights: np.ndarray) -> Pool:
    """A pool of several labels for every example: each labeling is one flat array, with one weight per labeling."""
    pool = empty_pool(sizes, np.full(sizes.size, len(labelings)))
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    for k, flat in enumerate(labelings):
        fill_labels(flat, first, k, pool.start, pool.offsets, pool.labels)
    pool.weights[:] = np.tile(weights, sizes.size)
    return pool


@kernel
def fill_labels(flat, first, k, start, offsets, labels):
    """Write label k of every example from a flat labeling."""
    for i in range(start.size - 1):
        at = offsets[start[i] + k]
        for j in range(first[i + 1] - first[i]):
            labels[at + j] = flat[first[i] + j]


@kernel
def pack(start, weights, offsets, labels, new_start, new_weights, new_offsets, new_labels):
    """Copy the labels of weight above 0, example by example."""
    for i in range(start.size - 1):
        to = new_start[i]
        for k in range(start[i], start[i + 1]):
            if weights[k] > 0.0:
                new_weights[to] = weights[k]
                copy(labels[offsets[k] : offsets[k + 1]], new_labels[new_offsets[to] : new_offsets[to + 1]])
                to += 1
