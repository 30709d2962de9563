"""Convert lists of sequences, or rows on disk, to one matrix with the positions of all sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.data.accept import accept_matrix, read_only
from fenchel.data.dense import Dense
from fenchel.data.dtypes import is_integer
from fenchel.errors import InputError
from fenchel.structured.stacked import stacked

NO_EDGES = Dense(read_only(np.zeros((1, 0))))


def chain_positions(examples: list, edge_features: bool) -> tuple[Any, int, Any, int, np.ndarray]:
    """(rows, features, edge rows, edge features, first): rows first[i] .. first[i+1] are the positions of example i."""
    if not examples:
        raise InputError("there are no examples: pass at least one")
    links = []
    if edge_features:
        for i, example in enumerate(examples):
            if not (isinstance(example, (tuple, list)) and len(example) == 2):
                raise InputError(
                    f"example {i} must be a pair (X, E): edge_features=True needs features of positions and pairs"
                )
        links, examples = [example[1] for example in examples], [example[0] for example in examples]
    for i, example in enumerate(examples):
        if (example.shape[0] if hasattr(example, "shape") and example.shape else np.size(example)) == 0:
            raise InputError(f"example {i} is empty: a sequence needs at least one position")
    rows, features, first = stacked(examples, "position")
    if not links:
        return rows, features, NO_EDGES, 0, first
    edges, count = _links(links, np.diff(first))
    return rows, features, edges, count, first


def stored_positions(stored: Any) -> tuple[Any, int, np.ndarray]:
    """(rows, features, first) of sequences on disk, without a copy: rows of one group that follow each other are a sequence."""
    if stored.groups is None:
        raise InputError(
            f"the rows in {stored.folder} do not say which sequence they belong to: convert them with its number as qid "
            "(svmlight) or with --group (tables)"
        )
    groups = np.asarray(stored.groups)
    first = np.concatenate([[0], np.flatnonzero(np.diff(groups)) + 1, [groups.size]]).astype(np.int64)
    names, times = np.unique(groups[first[:-1]], return_counts=True)
    if np.any(times > 1):
        raise InputError(f"the rows of sequence {names[times > 1][0]} are not consecutive in {stored.folder}")
    rows = accept_matrix(stored)[1]
    return rows, stored.shape[1], read_only(first)


def stored_labels(stored: Any, first: np.ndarray) -> list[np.ndarray]:
    """The targets of each sequence on disk, as integers."""
    y = np.asarray(stored.y)
    whole = y.astype(np.int64)
    wrong = np.flatnonzero(whole != y)
    if wrong.size:
        raise InputError(
            f"row {wrong[0]} in {stored.folder} has target {y[wrong[0]]}: labels are integers 0, 1, 2, ..."
        )
    return np.split(whole, first[1:-1])


def _links(links: list, lengths: np.ndarray) -> tuple[Any, int]:
    """(rows, features) of the pairs of successive positions."""
    for i, (link, T) in enumerate(zip(links, lengths, strict=True)):
        found = link.shape[0] if hasattr(link, "shape") else len(link)
        if found != T - 1:
            raise InputError(f"example {i} has {T} positions and {found} rows of edge features: {T - 1} are needed")
    some = [i for i, T in enumerate(lengths) if T > 1]
    widths = {links[i].shape[1] for i in range(len(links)) if getattr(links[i], "ndim", 0) == 2}
    if not some:  # not a single pair
        count = widths.pop() if len(widths) == 1 else 0
        return Dense(read_only(np.zeros((1, count)))), count
    rows, count, _ = stacked([links[i] for i in some], "pair of positions")
    return rows, count


def chain_labels(labels: list, first: np.ndarray, classes: int | None) -> tuple[np.ndarray, int]:
    """(the labels of all positions, m)."""
    found = []
    for i, label in enumerate(labels):
        y, T = np.asarray(label), int(first[i + 1] - first[i])
        if y.shape != (T,):
            raise InputError(
                f"example {i} has {T} positions, but its labels have shape {y.shape}: one label per position"
            )
        if not is_integer(y):
            raise InputError(f"the labels of example {i} have dtype {y.dtype}: they must be integers 0, 1, 2, ...")
        found.append(y)
    y = np.concatenate(found).astype(np.int64)
    m = int(y.max()) + 1 if classes is None else int(classes)
    wrong = np.flatnonzero((y < 0) | (y >= m))
    if wrong.size:
        i = int(np.searchsorted(first, wrong[0], side="right")) - 1
        raise InputError(
            f"label {y[wrong[0]]} at position {wrong[0] - first[i]} of example {i} is outside 0 .. {m - 1} ({m} classes)"
        )
    return read_only(y.astype(np.int32)), m
