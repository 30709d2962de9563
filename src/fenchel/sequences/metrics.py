"""Metrics of predicted sequences, chunks and alignments; `fenchel.metrics` provides them by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fenchel.data.dtypes import is_integer
from fenchel.errors import InputError

__all__ = ["ChunkScores", "alignment_error_rate", "chunk_f1", "chunk_scores", "sequence_error", "token_error"]

BEGINS, ENDS, INSIDE = frozenset("BSU"), frozenset("ESLU"), frozenset("I")
Chunk = tuple[int, int, int, str]


class ChunkScores(NamedTuple):
    """Precision, recall and F1 of chunks, and the counts from which they are computed."""

    precision: float
    recall: float
    f1: float
    correct: int
    predicted: int
    true: int


def chunk_scores(y_true: Sequence[Sequence[str]], y_pred: Sequence[Sequence[str]]) -> ChunkScores:
    """Precision = correct / predicted, recall = correct / true, F1 = 2 precision recall / (precision + recall).

    A chunk is correct if its first token, its last token and its type are. Labels are "O" or a tag, "-" and a type: "B-NP"
    begins a chunk, and "I-NP" continues one, or begins one if there is none of its type, as in the CoNLL evaluation.
    "E"/"L" (last token) and "S"/"U" (chunk of one token) are also supported. A fraction with denominator 0 is 0.

    >>> chunk_scores([["B-NP", "I-NP", "O"], ["B-VP"]], [["B-NP", "I-NP", "I-NP"], ["I-VP"]])[:3]
    (0.5, 0.5, 0.5)
    """
    _require_equal_shape(y_true, y_pred)
    true, predicted = set(_all_chunks("y_true", y_true)), set(_all_chunks("y_pred", y_pred))
    correct = len(true & predicted)
    precision = correct / len(predicted) if predicted else 0.0
    recall = correct / len(true) if true else 0.0
    f1 = 2.0 * correct / (len(predicted) + len(true)) if correct else 0.0
    return ChunkScores(precision, recall, f1, correct, len(predicted), len(true))


def chunk_f1(y_true: Sequence[Sequence[str]], y_pred: Sequence[Sequence[str]]) -> float:
    """F1 = 2 precision recall / (precision + recall) of chunks: see `chunk_scores`.

    >>> chunk_f1([["B-NP", "I-NP", "O"]], [["I-NP", "I-NP", "O"]])
    1.0
    """
    return chunk_scores(y_true, y_pred).f1


def token_error(y_true: Sequence[Sequence[Any]], y_pred: Sequence[Sequence[Any]]) -> float:
    """The fraction of tokens of all sequences whose label is wrong (the Hamming loss).

    >>> token_error([["a", "b"], ["a", "a"]], [["a", "a"], ["a", "a"]])
    0.25
    """
    wrong, total = zip(*_counts(y_true, y_pred), strict=True)
    return sum(wrong) / sum(total)


def sequence_error(y_true: Sequence[Sequence[Any]], y_pred: Sequence[Sequence[Any]]) -> float:
    """The fraction of sequences in which a label is wrong (the 0/1 loss).

    >>> sequence_error([["a", "b"], ["a", "a"]], [["a", "a"], ["a", "a"]])
    0.5
    """
    found = list(_counts(y_true, y_pred))
    return sum(wrong > 0 for wrong, _ in found) / len(found)


def alignment_error_rate(sure: Sequence[Any], predicted: Sequence[Any], possible: Sequence[Any] | None = None) -> float:
    """1 - (|A and S| + |A and P|) / (|A| + |S|) of predicted (A), sure (S) and possible (P, which contain S) links.

    The counts are sums over sentence pairs. The links of a sentence pair are a set or list of pairs (i, j), or the j of every
    i, -1 for none. Without `possible` links it is 1 - F1 of the sure ones.

    >>> alignment_error_rate([{(0, 0), (1, 1)}], [[0, 2]], possible=[{(1, 2)}])
    0.25
    """
    if possible is None:
        possible = [()] * len(sure)
    if not len(sure) == len(predicted) == len(possible):
        raise InputError(
            f"there are {len(sure)} sure, {len(predicted)} predicted and {len(possible)} possible alignments"
        )
    hits, total = 0, 0
    for i, (s, a, p) in enumerate(zip(sure, predicted, possible, strict=True)):
        S, A, P = _links("sure", i, s), _links("predicted", i, a), _links("possible", i, p)
        hits += len(A & S) + len(A & (S | P))
        total += len(A) + len(S)
    if not total:
        raise InputError("the alignment error rate is not defined: there are no sure and no predicted links")
    return 1.0 - hits / total


def _all_chunks(name: str, sequences: Sequence[Sequence[str]]) -> Iterator[Chunk]:
    known: dict[str, tuple[str, str]] = {}
    for i, labels in enumerate(sequences):
        tags = []
        for t, label in enumerate(labels):
            if label not in known:
                known[label] = _tag(label, f"{name} of sequence {i}, token {t}")
            tags.append(known[label])
        yield from _chunks(i, tags)


def _tag(label: str, where: str) -> tuple[str, str]:
    """("B", "NP") of "B-NP"."""
    tag, _, kind = label.partition("-") if isinstance(label, str) else ("", "", "")
    if tag != "O" and tag not in BEGINS | ENDS | INSIDE:
        raise InputError(
            f"{where} is {label!r}, which is not a chunk label; expected 'O', 'B-...' or 'I-...' (or E, S, L, U)"
        )
    return tag, kind


def _chunks(i: int, tags: list[tuple[str, str]]) -> Iterator[Chunk]:
    """(sequence, first token, token after the last, type)."""
    start, before, type_before = 0, "O", ""
    for t, (tag, kind) in enumerate([*tags, ("O", "")]):
        goes_on = tag != "O" and tag not in BEGINS and before != "O" and before not in ENDS and kind == type_before
        if not goes_on:
            if before != "O":
                yield i, start, t, type_before
            start = t
        before, type_before = tag, kind


def _counts(y_true: Sequence[Sequence[Any]], y_pred: Sequence[Sequence[Any]]) -> Iterator[tuple[int, int]]:
    """(wrong tokens, tokens) of every sequence."""
    _require_equal_shape(y_true, y_pred)
    for true, predicted in zip(y_true, y_pred, strict=True):
        yield sum(a != b for a, b in zip(true, predicted, strict=True)), len(true)


def _require_equal_shape(y_true: Sequence[Sequence[Any]], y_pred: Sequence[Sequence[Any]]) -> None:
    if len(y_true) != len(y_pred):
        raise InputError(f"y_true has {len(y_true)} sequences, y_pred has {len(y_pred)}")
    for i, (true, predicted) in enumerate(zip(y_true, y_pred, strict=True)):
        if isinstance(true, str) or isinstance(predicted, str) or not (np.ndim(true) and np.ndim(predicted)):
            raise InputError(
                f"sequence {i} is {true!r} and {predicted!r}: expected a list of labels for every sequence"
            )
        if len(true) != len(predicted):
            raise InputError(f"sequence {i} has {len(true)} labels in y_true and {len(predicted)} in y_pred")
    if not sum(map(len, y_true)):
        raise InputError("y_true has no labels: pass at least one")


def _links(name: str, i: int, links: Iterable[Any]) -> set[tuple[int, int]]:
    found = np.array(list(links))
    if found.size == 0:
        return set()
    if not is_integer(found) or not (found.ndim == 1 or found.shape[1:] == (2,)):
        raise InputError(
            f"the {name} links of sentence pair {i} must be pairs (i, j), or the j of every i, -1 for none"
        )
    if found.ndim == 1:
        found = np.column_stack([np.flatnonzero(found >= 0), found[found >= 0]])
    return set(map(tuple, found.tolist()))
