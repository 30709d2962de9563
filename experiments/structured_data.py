"""Data sets with structured outputs, from the same folder as the others (see `data.py`), and small generated ones."""

from __future__ import annotations

import io
import json
from typing import Any, NamedTuple

import numpy as np

from experiments.data import content


class Words(NamedTuple):
    """Handwritten words: a row of pixels per letter, letters as 0 .. 25, and the fold of each word."""

    X: list[np.ndarray]
    y: list[np.ndarray]
    folds: np.ndarray


class Columns(NamedTuple):
    """Sentences as lists of tokens, each a list of columns, the last of which is the label."""

    train: list[list[list[str]]]
    test: list[list[list[str]]]


class LabelSets(NamedTuple):
    """Rows with any number of labels: Y is 0 or 1."""

    X: np.ndarray
    Y: np.ndarray
    X_test: np.ndarray
    Y_test: np.ndarray


class Pairs(NamedTuple):
    """Sentences in two languages with the sure and possible links (English word, French word)."""

    trial: list[dict[str, Any]]
    test: list[dict[str, Any]]
    unaligned: list[dict[str, Any]]


def ocr() -> Words:
    """6877 words of Taskar's OCR set, 16 x 8 pixels per letter, in 10 folds."""
    arrays = np.load(io.BytesIO(content("structured/ocr_letters.npz")))
    X = np.unpackbits(arrays["X"], axis=1)[:, :128].astype(np.float64)
    cut = np.cumsum(arrays["lengths"])[:-1]
    return Words(np.split(X, cut), np.split(arrays["y"].astype(np.int64), cut), np.asarray(arrays["folds"]))


def small_words(seed: int = 0) -> Words:
    """Words over an alphabet of 4 whose letters look alike and like to follow each other."""
    rng = np.random.default_rng(seed)
    shapes, X, y = rng.normal(size=(4, 6)), [], []
    for _ in range(60):
        letters = [int(rng.integers(4))]
        for _ in range(int(rng.integers(1, 6))):
            letters.append((letters[-1] + 1) % 4 if rng.random() < 0.7 else int(rng.integers(4)))
        y.append(np.array(letters))
        X.append(shapes[y[-1]] + 1.5 * rng.normal(size=(len(letters), 6)))
    return Words(X, y, np.arange(60) % 10)


def conll2000() -> Columns:
    """Chunks of the Wall Street Journal: 8936 and 2012 sentences with words, parts of speech and BIO labels."""
    return Columns(*(sentences(content(f"structured/conll2000_{part}.txt.xz").decode()) for part in ("train", "test")))


def sentences(text: str) -> list[list[list[str]]]:
    blocks = text.strip().split("\n\n")
    return [[line.split() for line in block.splitlines() if line.strip()] for block in blocks]


def scene() -> LabelSets:
    """1211 and 1196 pictures, 294 numbers each, 6 labels."""
    a = np.load(io.BytesIO(content("structured/scene_multilabel.npz")))
    return LabelSets(*(np.asarray(a[name], dtype=float) for name in ("X", "Y", "Xt", "Yt")))


def yeast() -> LabelSets:
    """2417 genes, 103 numbers each, 14 labels; the first 1500 are the training part."""
    a = np.load(io.BytesIO(content("structured/yeast_multilabel.npz")))
    X, Y = np.asarray(a["X"], dtype=float), np.asarray(a["Y"], dtype=float)
    return LabelSets(X[:1500], Y[:1500], X[1500:], Y[1500:])


def hansards() -> Pairs:
    """37 and 447 sentence pairs with links, and 2383 without."""
    found = json.loads(content("structured/hansards_wpt03.json.xz"))
    return Pairs(found["trial"], found["test"], found["unaligned_train"])
