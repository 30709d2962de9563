"""What `word_alignment` knows of a pair of words: associations counted in a text, positions and spelling."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

ROUNDS = 5  # of EM


class Associations:
    """Dice coefficients and the translation probabilities of IBM's Model 1, of the words of sentence pairs in lower case."""

    def __init__(self, pairs: list[dict[str, Any]]):
        self.words = [_numbers(pairs, side) for side in ("e", "f")]
        sides = [self._table(pairs, side) for side in (0, 1)]
        self.frequency = [np.maximum(np.asarray(side.sum(axis=0)).ravel(), 1.0) for side in sides]
        present = [side.sign() for side in sides]
        together = (present[0].T @ present[1]).tocoo()
        counts = [np.asarray(side.sum(axis=0)).ravel() for side in present]
        dice = 2.0 * together.data / (counts[0][together.row] + counts[1][together.col])
        self.dice = sp.csr_matrix((dice, (together.row, together.col)), shape=together.shape)
        self.model1 = [self._translations(pairs, side) for side in (0, 1)]

    def numbers(self, pair: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        e, f = ([self.words[k][w.lower()] for w in pair[side]] for k, side in enumerate("ef"))
        return np.array(e), np.array(f)

    def dice_table(self, pair: dict[str, Any]) -> np.ndarray:
        e, f = self.numbers(pair)
        return self.dice[e][:, f].toarray()

    def model1_table(self, pair: dict[str, Any]) -> np.ndarray:
        """The geometric mean of t(f | e) and t(e | f)."""
        forth, back = self.translations(pair)
        return np.sqrt(forth * back)

    def translations(self, pair: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """t(f | e) and t(e | f) for every pair of words."""
        e, f = self.numbers(pair)
        return self.model1[0][e][:, f].toarray(), self.model1[1][f][:, e].toarray().T

    def _table(self, pairs: list[dict[str, Any]], side: int) -> Any:
        rows, columns = [], []
        for k, pair in enumerate(pairs):
            numbers = self.numbers(pair)[side]
            rows += [k] * numbers.size
            columns += numbers.tolist()
        shape = len(pairs), len(self.words[side])
        return sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)

    def _translations(self, pairs: list[dict[str, Any]], given: int) -> Any:
        """t(target | source) by EM, from equal probabilities; an empty word explains what no word does."""
        sources, targets, slots, at = [], [], [], 0
        null = len(self.words[given])
        for pair in pairs:
            numbers = self.numbers(pair)
            source, target = np.append(numbers[given], null), numbers[1 - given]
            sources.append(np.tile(source, target.size))
            targets.append(np.repeat(target, source.size))
            slots.append(np.repeat(at + np.arange(target.size), source.size))
            at += target.size
        s, t, slot = np.concatenate(sources), np.concatenate(targets), np.concatenate(slots)
        width = len(self.words[1 - given])
        cells, cell = np.unique(s.astype(np.int64) * width + t, return_inverse=True)
        owner, p = cells // width, np.ones(cells.size)
        for _ in range(ROUNDS):
            q = p[cell]
            q /= np.bincount(slot, q)[slot]
            expected = np.bincount(cell, q)
            p = expected / np.bincount(owner, expected)[owner]
        return sp.csr_matrix((p, (owner, cells % width)), shape=(null + 1, width))


def _numbers(pairs: list[dict[str, Any]], side: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for pair in pairs:
        for word in pair[side]:
            found.setdefault(word.lower(), len(found))
    return found


@cache
def spelling(a: str, b: str) -> tuple[float, float]:
    """Common prefix and longest common subsequence, as shares of the longer word and of both.

    >>> spelling("complex", "complexe")
    (0.875, 0.9333333333333333)
    """
    prefix = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    before = [0] * (len(b) + 1)
    for x in a:
        row = [0]
        for j, y in enumerate(b):
            row.append(before[j] + 1 if x == y else max(before[j + 1], row[j]))
        before = row
    return prefix / max(len(a), len(b)), 2.0 * before[-1] / (len(a) + len(b))


def edges(pair: dict[str, Any], associations: Associations) -> np.ndarray:
    """(English words, French words, features); the first is the bias, the second Dice, the last two are those of Model 1."""
    e, f = [w.lower() for w in pair["e"]], [w.lower() for w in pair["f"]]
    dice = associations.dice_table(pair)
    forth, back = (np.sqrt(table) for table in associations.translations(pair))
    apart = np.abs((np.arange(len(e))[:, None] + 0.5) / len(e) - (np.arange(len(f)) + 0.5) / len(f))
    alike = np.array([[spelling(a, b) for b in f] for a in e])
    equal = np.array([[a == b for b in f] for a in e])
    marks, short = [], []
    for words in (e, f):
        marks.append(np.array([not any(c.isalnum() for c in w) for w in words]))
        short.append(np.array([len(w) < 4 for w in words]))
    rare = [np.log(associations.frequency[k][n]) for k, n in enumerate(associations.numbers(pair))]
    return np.stack([
        np.ones_like(dice), dice, _moved(dice, 1), _moved(dice, -1), dice / np.maximum(dice.max(axis=1, keepdims=True), 1e-9),
        dice / np.maximum(dice.max(axis=0), 1e-9), apart, apart**2, np.sqrt(apart), equal,
        equal & ~marks[0][:, None], alike[:, :, 0], alike[:, :, 1], marks[0][:, None] & marks[1], marks[0][:, None] ^ marks[1],
        short[0][:, None] & short[1], short[0][:, None] ^ short[1], np.abs(rare[0][:, None] - rare[1]) / 5.0, forth, back,
    ], axis=2).astype(float)  # fmt: skip


def _moved(table: np.ndarray, by: int) -> np.ndarray:
    """The entry of both neighbours before (1) or after (-1), 0 where there are none."""
    out = np.zeros_like(table)
    if by == 1:
        out[1:, 1:] = table[:-1, :-1]
    else:
        out[:-1, :-1] = table[1:, 1:]
    return out
