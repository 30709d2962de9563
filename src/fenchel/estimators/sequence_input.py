"""Conversion of sequences and labels to matrices and class indices."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.data.dtypes import is_object
from fenchel.errors import InputError
from fenchel.sequences.attributes import Attributes, has_names


class SequenceEncoder:
    """Sequences to matrices with a row per token; with `edges`, pairs (tokens, links) to pairs of matrices.

    >>> encoder = SequenceEncoder()
    >>> [x.toarray().tolist() for x in encoder.fit_transform([[{"a": 1.0}], [["b"], ["a", "b"]]])]
    [[[1.0, 0.0]], [[0.0, 1.0], [1.0, 1.0]]]
    """

    def __init__(self, edges: bool = False, min_count: int = 1):
        self.edges = edges
        self.tokens, self.links = Part("token", min_count), Part("pair of tokens", min_count)

    def same_features(self, other: SequenceEncoder) -> bool:
        """Whether the columns have the same meaning."""
        mine, theirs = ((part.width, part.names) for part in (self.tokens, other.tokens))
        return mine == theirs and (self.links.width, self.links.names) == (other.links.width, other.links.names)

    def fit_transform(self, X: Any) -> list[Any]:
        """Learn the names and the number of features."""
        return self._run(X, Part.fit_transform)

    def transform(self, X: Any) -> list[Any]:
        """The same features of other sequences; unknown attributes are ignored."""
        return self._run(X, Part.transform)

    def _run(self, X: Any, run: Callable[[Part, list[Any]], list[Any]]) -> list[Any]:
        sequences = _listed(X)
        if not self.edges:
            return run(self.tokens, _filled(sequences))
        for i, pair in enumerate(sequences):
            if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
                raise InputError(f"sequence {i} of X must be a pair (tokens, links): edge_features=True needs both")
        tokens, links = _filled([pair[0] for pair in sequences]), [pair[1] for pair in sequences]
        for i, (token, link) in enumerate(zip(tokens, links, strict=True)):
            if length(link, i) != length(token, i) - 1:
                raise InputError(
                    f"sequence {i} has {length(token, i)} tokens and {length(link, i)} links: expected one less"
                )
        return list(zip(run(self.tokens, tokens), run(self.links, links), strict=True))


class Part:
    """The features of tokens, or of pairs of tokens: numbers or named attributes."""

    def __init__(self, what: str, min_count: int):
        self.what, self.min_count = what, min_count
        self.width = 0
        self.attributes: Attributes | None = None

    @property
    def names(self) -> list[str] | None:
        return None if self.attributes is None else self.attributes.names

    def fit_transform(self, sequences: list[Any]) -> list[Any]:
        if not any(map(_named, sequences)):
            found = [_numbers(i, x, self.what) for i, x in enumerate(sequences)]
            self.width = next((x.shape[1] for x in found if x.shape[0]), 0)
            return self._checked(found)
        self.attributes = Attributes(min_count=self.min_count)
        found = self._cut(sequences, self.attributes.fit_transform)
        self.width = len(self.attributes)
        return found

    def transform(self, sequences: list[Any]) -> list[Any]:
        if self.attributes is not None:
            return self._cut(sequences, self.attributes.transform)
        for i, sequence in enumerate(sequences):
            if _named(sequence):
                raise InputError(
                    f"sequence {i} of X has named attributes, but the model was fitted to arrays of numbers"
                )
        return self._checked([_numbers(i, x, self.what) for i, x in enumerate(sequences)])

    def _cut(self, sequences: list[Any], run: Callable[[list[Any]], tuple[sp.csr_matrix, np.ndarray]]) -> list[Any]:
        for i, sequence in enumerate(sequences):
            if _numeric(sequence):
                raise InputError(
                    f"sequence {i} of X is an array, but other sequences have named attributes (dictionaries)"
                )
        return cut(*run(sequences))

    def _checked(self, found: list[Any]) -> list[Any]:
        for i, x in enumerate(found):
            if x.shape[0] == 0:
                found[i] = x = np.zeros((0, self.width))  # no pair of tokens, so that the number of features is unknown
            if x.shape[1] != self.width:
                raise InputError(f"sequence {i} of X has {x.shape[1]} features per {self.what}, expected {self.width}")
            _require_finite(i, x, self.what)
        return found


def length(sequence: Any, i: int) -> int:
    """The number of tokens of sequence i."""
    if sp.issparse(sequence) or getattr(sequence, "ndim", 0) > 0:
        return sequence.shape[0]
    if isinstance(sequence, (list, tuple)):
        return len(sequence)
    raise InputError(
        f"sequence {i} of X is {sequence!r}: expected a matrix with a row per token, or a list of dictionaries"
    )


def cut(rows: sp.csr_matrix, first: np.ndarray) -> list[sp.csr_matrix]:
    """Rows first[i] .. first[i+1] as one matrix each, without copying values."""
    parts = []
    for a, b in pairwise(first.tolist()):
        start, stop = rows.indptr[a], rows.indptr[b]
        arrays = rows.data[start:stop], rows.indices[start:stop], rows.indptr[a : b + 1] - start
        parts.append(sp.csr_matrix(arrays, shape=(b - a, rows.shape[1])))
    return parts


def _listed(X: Any) -> list[Any]:
    if sp.issparse(X) or isinstance(X, (str, dict)) or not hasattr(X, "__iter__"):
        raise InputError(f"X must be a list of sequences (matrices, or lists of dictionaries), got {type(X).__name__}")
    sequences = list(X)
    if not sequences:
        raise InputError("X has no sequences: pass at least one")
    return sequences


def _filled(sequences: list[Any]) -> list[Any]:
    for i, sequence in enumerate(sequences):
        if length(sequence, i) == 0:
            raise InputError(f"sequence {i} of X is empty: a sequence needs at least one token; drop it")
    return sequences


def _named(sequence: Any) -> bool:
    return not _numeric(sequence) and any(map(has_names, sequence))


def _numeric(sequence: Any) -> bool:
    return sp.issparse(sequence) or (hasattr(sequence, "dtype") and not is_object(sequence))


def _numbers(i: int, sequence: Any, what: str) -> Any:
    if sp.issparse(sequence) and sequence.ndim == 2:
        return sequence.tocsr()
    try:
        values = np.asarray(sequence)
        values = values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"sequence {i} of X is not a matrix of numbers with a row per {what}: {error}") from None
    if values.ndim != 2 and values.shape[0]:
        raise InputError(f"sequence {i} of X has {values.ndim} dimension(s): expected a matrix with a row per {what}")
    return values


def _require_finite(i: int, x: Any, what: str) -> None:
    values = x.data if sp.issparse(x) else x
    with np.errstate(over="ignore", invalid="ignore"):
        suspect = not np.isfinite(values.sum(dtype=np.float64))
    if suspect and not np.isfinite(values).all():
        place = int(np.argmin(np.isfinite(values).ravel()))
        row = np.searchsorted(x.indptr, place, side="right") - 1 if sp.issparse(x) else place // x.shape[1]
        raise InputError(f"sequence {i} of X contains NaN or infinity at {what} {row}: repair or drop the sequence")


def label_lists(y: Any, lengths: list[int]) -> list[list[Hashable]]:
    """The labels of every sequence as a list, as many as it has tokens."""
    if isinstance(y, str) or not hasattr(y, "__iter__"):
        raise InputError(f"y must be a list of label sequences, got {y!r}")
    found = [list(labels.tolist() if isinstance(labels, np.ndarray) else labels) for labels in map(_iterable, y)]
    if len(found) != len(lengths):
        raise InputError(f"X has {len(lengths)} sequences, but y has {len(found)}: pass a list of labels for each")
    for i, (labels, T) in enumerate(zip(found, lengths, strict=True)):
        if len(labels) != T:
            raise InputError(f"sequence {i} has {T} tokens in X, but {len(labels)} labels in y: one label per token")
    return found


def _iterable(labels: Any) -> Any:
    if not hasattr(labels, "__iter__"):
        raise InputError(
            f"y must be a list of label sequences, but an entry of it is {labels!r}: wrap the labels of each sequence"
        )
    return labels


def find_classes(labels: list[list[Hashable]]) -> list[Hashable]:
    """The distinct labels: sorted, or by first occurrence if they have no order."""
    seen: dict[Hashable, None] = {}
    for i, sequence in enumerate(labels):
        try:
            seen.update(dict.fromkeys(sequence))
        except TypeError as error:
            raise InputError(f"the labels of sequence {i} must be hashable: {error}") from None
    strange = next((label for label in seen if label != label or label is None), 0)
    if strange != 0:
        i = next(i for i, sequence in enumerate(labels) if any(label is strange for label in sequence))
        raise InputError(f"a label of sequence {i} is {strange!r}: every token needs a label")
    try:
        return sorted(seen)  # type: ignore[type-var]
    except TypeError:
        return list(seen)


def numbered(labels: list[list[Hashable]], classes: list[Hashable]) -> list[np.ndarray]:
    """The indices of the labels among the classes."""
    number = {label: k for k, label in enumerate(classes)}
    return [np.array([number[label] for label in sequence], dtype=np.int32) for sequence in labels]
