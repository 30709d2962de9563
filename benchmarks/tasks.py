"""What is solved: real data, a loss, an alpha, with or without a free intercept.

The data lie in the folder that FENCHEL_DATA names, else in ../shared/data beside the repository. What is not there is
replaced by generated data of about the same shape; its name then ends in "(stand-in)" and so does every row about it.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

STAND_IN = " (stand-in)"


class Data(NamedTuple):
    """Rows (CSR with int32 indices, as liblinear and most peers want them), labels -1 or +1, and a name."""

    X: sp.csr_matrix
    y: np.ndarray
    name: str


@dataclass(frozen=True)
class Spec:
    """A task by name, before its data are read."""

    data: str
    loss: str
    alpha: float
    fit_intercept: bool = False

    @property
    def name(self) -> str:
        return f"{self.loss}-{self.data}{'+b' if self.fit_intercept else ''}"

    def load(self) -> Task:
        X, y, name = read(self.data)
        return Task(
            self.name + (STAND_IN if name.endswith(STAND_IN) else ""), X, y, self.loss, self.alpha, self.fit_intercept
        )


class Task(NamedTuple):
    """min over w, b of (1/n) sum_i loss(<x_i, w> + b, y_i) + alpha/2 <w, w>; b = 0 unless `fit_intercept`."""

    name: str
    X: sp.csr_matrix
    y: np.ndarray
    loss: str
    alpha: float
    fit_intercept: bool

    @property
    def C(self) -> float:
        """The same strength as peers write it: <w, w>/2 + C sum_i loss."""
        return 1.0 / (self.alpha * self.X.shape[0])


ALPHA = {"a9a": 1e-4, "w8a": 1e-5, "news": 1e-5}
SPECS = [Spec(data, loss, alpha) for loss in ("hinge", "logistic") for data, alpha in ALPHA.items()]
SPECS += [Spec(data, "logistic", alpha, fit_intercept=True) for data, alpha in ALPHA.items()]
TASKS = {spec.name: spec for spec in SPECS}


def data_folder() -> Path:
    named = os.environ.get("FENCHEL_DATA")
    return Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"


@cache
def read(name: str) -> Data:
    """The data set of that name, or its stand-in when the file is missing."""
    reader, file, stand_in = READERS[name]
    path = data_folder() / file
    if path.is_file():
        X, y = reader(path)
        return Data(X, y, name)
    print(f"missing: {path} (set FENCHEL_DATA to the data folder); a generated stand-in is used", file=sys.stderr)
    X, y = stand_in()
    return Data(X, y, name + STAND_IN)


def as_csr(X: Any) -> sp.csr_matrix:
    """csr_matrix with float64 values and int32 indices."""
    X = sp.csr_matrix(X, dtype=np.float64)
    X.sort_indices()
    return sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def read_svmlight(path: Path) -> tuple[sp.csr_matrix, np.ndarray]:
    from sklearn.datasets import load_svmlight_file

    with lzma.open(path) as source:
        X, y = load_svmlight_file(io.BytesIO(source.read()))
    return as_csr(X), np.where(y > 0, 1.0, -1.0)


def read_news(path: Path) -> tuple[sp.csr_matrix, np.ndarray]:
    """Training posts of 20news-bydate, `TfidfVectorizer()` as it comes; the first class against the other nineteen."""
    content = path.read_bytes()
    folder = cache_folder()
    stem = folder / f"news-{hashlib.sha256(content).hexdigest()[:16]}"
    kept, labels = stem.with_suffix(".npz"), stem.with_suffix(".npy")
    if not (kept.is_file() and labels.is_file()):
        from sklearn.feature_extraction.text import TfidfVectorizer

        train = json.loads(lzma.decompress(content))["train"]
        y = np.where(np.array(train["label"]) == min(train["label"]), 1.0, -1.0)
        folder.mkdir(parents=True, exist_ok=True)
        sp.save_npz(kept, as_csr(TfidfVectorizer().fit_transform(train["text"])), compressed=False)
        np.save(labels, y)
    return as_csr(sp.load_npz(kept)), np.load(labels)


def cache_folder() -> Path:
    """Where vectorised text is kept between runs; never in the repository."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fenchel-benchmarks"


def generate(n: int, d: int, per_row: int, binary: bool) -> Callable[[], tuple[sp.csr_matrix, np.ndarray]]:
    """Sparse rows labelled by a noisy linear rule."""

    def make() -> tuple[sp.csr_matrix, np.ndarray]:
        rng = np.random.default_rng(0)
        popular = (d * rng.random(n * per_row) ** 3).astype(np.int32)  # a few columns are common, most are rare
        indptr = np.arange(0, n * per_row + 1, per_row)
        X = as_csr(sp.csr_matrix((rng.random(n * per_row) + 0.1, popular, indptr), shape=(n, d)))
        X.sum_duplicates()
        norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        X.data[:] = 1.0 if binary else X.data / np.repeat(norms, np.diff(X.indptr))
        z: np.ndarray = X @ rng.standard_normal(d)
        return X, np.where(z + 0.5 * z.std() * rng.standard_normal(n) > 0, 1.0, -1.0)

    return make


READERS: dict[str, tuple[Callable, str, Callable]] = {
    "a9a": (read_svmlight, "binary/a9a.svm.xz", generate(32561, 123, 14, True)),
    "w8a": (read_svmlight, "binary/w8a.svm.xz", generate(49749, 300, 12, True)),
    "news": (read_news, "text/20news-bydate.json.xz", generate(11314, 130107, 158, False)),
}


def select(patterns: list[str] | None) -> Iterator[Spec]:
    """The tasks whose name contains one of the patterns; all when there are none."""
    for name, spec in TASKS.items():
        if not patterns or any(p in name for p in patterns):
            yield spec
