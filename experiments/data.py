"""The data sets, from the folder that FENCHEL_DATA names, else from ../shared/data beside the repository."""

from __future__ import annotations

import io
import json
import lzma
import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

# A word keeps the marks inside it (1,234.5, u.s, year-end): about the 45,000 features that the paper starts with.
WORD = r"[a-z0-9][a-z0-9.,'/-]*[a-z0-9]|[a-z0-9]"


class Binary(NamedTuple):
    """Training and test rows with labels -1 or +1."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


class Topics(NamedTuple):
    """Documents with any number of topics: has[i, c] says whether document i has topic c."""

    X: sp.csr_matrix
    has: np.ndarray
    X_test: sp.csr_matrix
    has_test: np.ndarray
    names: list[str]


def folder() -> Path:
    named = os.environ.get("FENCHEL_DATA")
    return Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"


def content(file: str) -> bytes:
    """The bytes of a file of the data folder, unpacked."""
    path = folder() / file
    if not path.is_file():
        raise SystemExit(f"missing: {path}; set FENCHEL_DATA to the folder with the data sets, or use --small")
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()


def as_csr(X: Any) -> sp.csr_matrix:
    X = sp.csr_matrix(X, dtype=np.float64)
    X.sort_indices()
    return sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def with_constant(X: sp.csr_matrix) -> sp.csr_matrix:
    """A last column of ones: the regularized bias of the papers."""
    return as_csr(sp.hstack([X, np.ones((X.shape[0], 1))]))


def signs(positive: np.ndarray) -> np.ndarray:
    return np.where(positive, 1.0, -1.0)


def svmlight(file: str, n_features: int | None = None) -> tuple[sp.csr_matrix, np.ndarray]:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(content(file)), n_features=n_features)
    return as_csr(X), signs(y > 0)


def held_out(X: Any, y: np.ndarray, share: float = 0.1, seed: int = 0) -> Binary:
    """A random part of the rows for testing."""
    order = np.random.default_rng(seed).permutation(y.size)
    cut = int(share * y.size)
    test, train = order[:cut], np.sort(order[cut:])
    return Binary(X[train], y[train], X[test], y[test])


def a9a() -> Binary:
    return Binary(*svmlight("binary/a9a.svm.xz", 123), *svmlight("binary/a9a.t.svm.xz", 123))


def w8a() -> Binary:
    """The test part is not among the data: a tenth of the training part is held out."""
    return held_out(*svmlight("binary/w8a.svm.xz", 300))


def covtype() -> Binary:
    """Class 2 against the others, scaled to [0, 1] as LIBSVM's covtype.binary.scale; 522,911 rows for training."""
    stored = np.load(io.BytesIO(content("binary/covtype.npz.xz")))
    q = stored["Xq"].T.astype(float)
    q = (q - q.min(axis=0)) / np.ptp(q, axis=0)
    X = np.hstack([q, np.eye(4)[stored["wilderness"]], np.eye(40)[stored["soil"]]])
    return held_out(as_csr(X), signs(stored["y"] == 2), share=0.1)


def news20() -> Binary:
    """20news-bydate, tf-idf with unit rows; the even classes against the odd ones, since the paper's split is not told."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    posts = json.loads(content("text/20news-bydate.json.xz"))
    words = TfidfVectorizer(sublinear_tf=True)
    X, X_test = words.fit_transform(posts["train"]["text"]), words.transform(posts["test"]["text"])
    names = sorted(set(posts["train"]["label"]))
    y, y_test = (signs(np.array([names.index(c) % 2 == 0 for c in posts[part]["label"]])) for part in ("train", "test"))
    return Binary(as_csr(X), y, as_csr(X_test), y_test)


def reuters_topic(name: str = "acq") -> Binary:
    """One topic of Reuters-21578 against the rest, rows of unit length (binary features)."""
    topics = reuters()
    c = topics.names.index(name)
    X, X_test = (as_csr(sp.diags(1.0 / np.sqrt(M.getnnz(axis=1).clip(1))) @ M) for M in (topics.X, topics.X_test))
    return Binary(X, signs(topics.has[:, c]), X_test, signs(topics.has_test[:, c]))


@cache
def reuters() -> Topics:
    """Reuters-21578, ModApte split, binary word features and a constant 1; all 118 topics of either part."""
    from sklearn.feature_extraction.text import CountVectorizer

    documents = json.loads(content("text/reuters21578_modapte.json.xz"))
    texts = {p: [f"{a} {b}" for a, b in zip(d["title"], d["body"], strict=True)] for p, d in documents.items()}
    words = CountVectorizer(token_pattern=WORD, binary=True)
    X, X_test = words.fit_transform(texts["train"]), words.transform(texts["test"])
    names = sorted({t for d in documents.values() for topics in d["topics"] for t in topics})
    has = {p: np.array([[t in topics for t in names] for topics in d["topics"]]) for p, d in documents.items()}
    return Topics(with_constant(X), has["train"], with_constant(X_test), has["test"], names)


def small_topics(n: int = 150, d: int = 60, classes: int = 3, seed: int = 0) -> Topics:
    """Documents of few words, each topic told by three of them."""
    rng = np.random.default_rng(seed)
    X = rng.random((2 * n, d)) < 0.15
    has = np.stack([X[:, 3 * c : 3 * c + 3].sum(axis=1) >= 1 for c in range(classes)], axis=1)
    has ^= rng.random(has.shape) < 0.03
    M = with_constant(as_csr(X))
    return Topics(M[:n], has[:n], M[n:], has[n:], ["acq", "trade", "grain"][:classes])


def small_binary(n: int = 200, d: int = 12, seed: int = 0) -> Binary:
    """Noisy linear labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2 * n, d)) * (rng.random((2 * n, d)) < 0.5)
    y = signs(X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(2 * n) > 0.0)
    return Binary(as_csr(X[:n]), y[:n], as_csr(X[n:]), y[n:])


def regression(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and target of a Torgo set, standardised; categories are kept as their codes."""
    stored = np.load(io.BytesIO(content(f"regression/{name}.npz")), allow_pickle=False)
    X, y = np.asarray(stored["X"], dtype=float), np.asarray(stored["y"], dtype=float)
    deviation = X.std(axis=0)
    X = (X[:, deviation > 0.0] - X[:, deviation > 0.0].mean(axis=0)) / deviation[deviation > 0.0]
    return X, (y - y.mean()) / y.std()


def small_regression(n: int = 200, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(n)
