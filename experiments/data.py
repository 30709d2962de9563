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


class DataMissing(SystemExit):
    """A data set is not there: ends a script with a sentence, and lets `python -m experiments` go on to the next one."""

    def __init__(self, path: Path):
        super().__init__(f"missing: {path}; set FENCHEL_DATA to the folder with the data sets, or use --small")
        self.path = path


def folder() -> Path:
    named = os.environ.get("FENCHEL_DATA")
    return Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"


def content(file: str) -> bytes:
    """The bytes of a file of the data folder, unpacked."""
    path = folder() / file
    if not path.is_file():
        raise DataMissing(path)
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


# --------------------------------------------------------------------------------------- many classes, queries, trees


class Classes(NamedTuple):
    """Rows with classes 0 .. m - 1, not yet cut into training and test part."""

    X: Any
    y: np.ndarray

    def sample(self, rows: int | None, seed: int = 0) -> Classes:
        """So many rows at random, classes numbered anew where some are lost."""
        order = np.random.default_rng(seed).permutation(self.y.size)[:rows]
        return Classes(self.X[order], np.unique(self.y[order], return_inverse=True)[1])


def arrays(file: str) -> Any:
    return np.load(io.BytesIO(content(file)), allow_pickle=False)


def caltech101() -> Classes:
    """Silhouettes, 28 x 28 averaged to 16 x 16 (the file of 16 x 16 images of the paper is not among the data)."""
    stored = arrays("multiclass/caltech101_silhouettes_28.npz")
    images = np.unpackbits(stored["X"], axis=1)[:, :784].reshape(-1, 28, 28).astype(float)
    edges = np.arange(17) * 28 / 16
    overlap = np.clip(
        np.minimum(edges[1:, None], np.arange(1, 29)) - np.maximum(edges[:-1, None], np.arange(28)), 0, None
    )
    overlap /= overlap.sum(axis=1, keepdims=True)
    return Classes((overlap @ images @ overlap.T).reshape(-1, 256), stored["y"].astype(np.int64) - 1)


def news20_counts() -> Classes:
    """20news-bydate, both parts: counts of words of at least 5 posts, rows of unit length."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.preprocessing import normalize

    posts = json.loads(content("text/20news-bydate.json.xz"))
    X = normalize(CountVectorizer(min_df=5).fit_transform(posts["train"]["text"] + posts["test"]["text"]).astype(float))
    return Classes(as_csr(X), np.unique(posts["train"]["label"] + posts["test"]["label"], return_inverse=True)[1])


def reduced(classes: Classes, rank: int = 1024) -> Classes:
    """The rows in the basis of the first singular vectors of all of them."""
    from sklearn.decomposition import TruncatedSVD

    rank = min(rank, min(classes.X.shape) - 1)
    return Classes(TruncatedSVD(rank, n_iter=2, random_state=0).fit_transform(classes.X), classes.y)


def mnist() -> Classes:
    stored = arrays("multiclass/mnist.npz.xz")
    X = np.vstack([stored["X"], stored["Xt"]]) / 255.0
    return Classes(X, np.concatenate([stored["y"], stored["yt"]]).astype(np.int64))


def usps() -> Classes:
    stored = arrays("multiclass/usps.npz")
    X = np.vstack([stored["X"], stored["Xt"]]).astype(float)
    return Classes(X, np.concatenate([stored["y"], stored["yt"]]).astype(np.int64))


def letter() -> Classes:
    """Standardised, with a constant 1, since 16 features do not span one."""
    stored = arrays("multiclass/letter.npz")
    X = stored["X"].astype(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return Classes(np.hstack([X, np.ones((len(X), 1))]), np.unique(stored["y"], return_inverse=True)[1])


def ijcnn1() -> Binary:
    return Binary(*svmlight("binary/ijcnn1.svm.xz", 22), *svmlight("binary/ijcnn1.t.svm.xz", 22))


class Queries(NamedTuple):
    """Documents with relevances and the queries they belong to."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    groups_test: np.ndarray


def mq2008() -> Queries:
    """LETOR 4.0 MQ2008, fold 1, without its validation part, which is not among the data."""
    stored = arrays("ranking/mq2008_fold1.npz")
    parts = [stored[f"{what}_{part}"] for part in ("train", "test") for what in ("X", "y", "qid")]
    return Queries(*(p.astype(float) if p.dtype == np.uint8 else p for p in parts))


class Labelled(NamedTuple):
    """Texts as rows with classes 0 .. m - 1; paths[c] is the way to class c in a tree, its parts divided by "/"."""

    X: sp.csr_matrix
    y: np.ndarray
    X_test: sp.csr_matrix
    y_test: np.ndarray
    paths: list[str]


def labelled(texts: tuple[list[str], ...], labels: tuple[list[str], ...], ngrams: int, **words: Any) -> Labelled:
    """tf-idf of words (and neighbouring words), rows of unit length and a constant 1; labels are paths."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, ngrams), **words)
    X, X_test = with_constant(vectors.fit_transform(texts[0])), with_constant(vectors.transform(texts[1]))
    paths = sorted(set(labels[0]))
    y, y_test = (np.array([paths.index(label) for label in part]) for part in labels)
    return Labelled(X, y, X_test, y_test, paths)


def trec() -> Labelled:
    """Questions by what they ask for: 6 coarse classes, 50 fine ones below them."""
    stored = json.loads(content("text/trec_qc.json.xz"))
    texts, labels = (tuple([row[k] for row in stored[part]] for part in ("train", "test")) for k in (1, 0))
    labels = tuple([label.replace(":", "/") for label in part] for part in labels)
    return labelled(texts, labels, 2, min_df=3, token_pattern=r"\S+")  # a question mark, what and of are words here


def news20_tree() -> Labelled:
    """20news-bydate; the tree of the groups' names, without nodes that have a single child."""
    posts = json.loads(content("text/20news-bydate.json.xz"))
    texts, labels = (tuple(posts[part][k] for part in ("train", "test")) for k in ("text", "label"))
    path = forks(sorted(set(labels[0])))
    return labelled(texts, tuple([path[label] for label in part] for part in labels), 1, max_features=8000)


def forks(names: list[str]) -> dict[str, str]:
    """Dotted names as paths: a dot becomes a division where names differ after it.

    >>> forks(["rec.autos", "rec.sport.hockey", "rec.sport.baseball", "misc.forsale"])["rec.sport.hockey"]
    'rec/sport/hockey'
    >>> forks(["rec.autos", "rec.sport.hockey", "rec.sport.baseball", "misc.forsale"])["misc.forsale"]
    'misc.forsale'
    """

    def several(prefix: str) -> bool:
        return len({n[len(prefix) + 1 :].split(".")[0] for n in names if n.startswith(prefix + ".")}) > 1

    found = {}
    for name in names:
        parts = name.split(".")
        marks = ["/" if several(".".join(parts[:k])) else "." for k in range(1, len(parts))] + [""]
        found[name] = "".join(part + mark for part, mark in zip(parts, marks, strict=True))
    return found


def small_classes(n: int = 120, d: int = 8, m: int = 6, seed: int = 0) -> Classes:
    """The class is the highest of m noisy linear scores."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Z = X @ rng.standard_normal((d, m)) + 0.5 * rng.standard_normal((n, m))
    return Classes(X, np.unique(Z.argmax(axis=1), return_inverse=True)[1])


def small_queries(queries: int = 20, size: int = 8, d: int = 5, seed: int = 0) -> Queries:
    """Relevances 0, 1, 2 from noisy linear scores."""
    rng = np.random.default_rng(seed)
    X, groups = rng.standard_normal((2 * queries * size, d)), np.repeat(np.arange(2 * queries), size)
    z = X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(len(X))
    y, cut = (z > 0.5).astype(float) + (z > 2.0), queries * size
    return Queries(X[:cut], y[:cut], groups[:cut], X[cut:], y[cut:], groups[cut:])


def small_labelled(n: int = 80, d: int = 12, seed: int = 0) -> Labelled:
    """Six classes in three branches: each branch and each class has a direction of its own."""
    rng = np.random.default_rng(seed)
    paths = [f"{branch}/{leaf}" for branch in "abc" for leaf in "xy"]
    y = np.arange(2 * n) % 6
    branches, leaves = rng.standard_normal((3, d)), rng.standard_normal((6, d))
    X = with_constant(as_csr(branches[y // 2] + 0.6 * leaves[y] + rng.standard_normal((2 * n, d))))
    return Labelled(X[:n], y[:n], X[n:], y[n:], paths)
