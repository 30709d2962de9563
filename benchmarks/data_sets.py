"""The data that tasks are made of: real files where they are, generated stand-ins of about the same shape where not.

The files lie in the folder that FENCHEL_DATA names, else in ../shared/data beside the repository. What is slow to read is
kept, once read, in the user's cache folder; never in the repository.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

STAND_IN = " (stand-in)"


class Data(NamedTuple):
    """Rows (dense, or CSR with int32 indices, as liblinear and most peers want them), targets, a name, weights of rows."""

    X: Any
    y: np.ndarray
    name: str
    weights: np.ndarray | None = None


class Source(NamedTuple):
    """How a data set is read, its file, and what replaces it."""

    reader: Callable[[Path], tuple]
    file: str
    stand_in: Callable[[], tuple]


def data_folder() -> Path:
    named = os.environ.get("FENCHEL_DATA")
    return Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"


@cache
def read(name: str) -> Data:
    """The data set of that name, or its stand-in when the file is missing."""
    source = SOURCES[name]
    path = data_folder() / source.file
    if path.is_file():
        X, y, *weights = kept(path, source.reader)
        return Data(X, y, name, *weights)
    print(f"missing: {path} (set FENCHEL_DATA to the data folder); a generated stand-in is used", file=sys.stderr)
    X, y, *weights = source.stand_in()
    return Data(X, y, name + STAND_IN, *weights)


def kept(path: Path, reader: Callable[[Path], tuple]) -> tuple:
    """What the reader makes of the file, from the cache folder if it is there."""
    stem = f"{path.name.split('.')[0]}-{reader.__name__}-{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
    file = cache_folder() / f"{stem}.npz"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        X, *vectors = reader(path)
        parts = {f"v{k}": v for k, v in enumerate(vectors)}
        if sp.issparse(X):
            parts |= {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
        else:
            parts |= {"X": X}
        np.savez(file, **parts)
    with np.load(file) as stored:
        vectors = [stored[f"v{k}"] for k in range(2) if f"v{k}" in stored]
        if "X" in stored:
            return (stored["X"], *vectors)
        X = sp.csr_matrix((stored["data"], stored["indices"], stored["indptr"]), shape=tuple(stored["shape"]))
        return (X, *vectors)


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fenchel-benchmarks"


def as_csr(X: Any) -> sp.csr_matrix:
    """csr_matrix with float64 values and int32 indices."""
    X = sp.csr_matrix(X, dtype=np.float64)
    X.sort_indices()
    return sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def standardised(X: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and deviation 1 (constant ones are 0)."""
    X = X.astype(np.float64)
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)


def arrays(path: Path) -> Any:
    return np.load(io.BytesIO(lzma.decompress(path.read_bytes())) if path.suffix == ".xz" else path)


def one_hot(codes: np.ndarray) -> sp.csr_matrix:
    """A column per value that occurs."""
    values, place = np.unique(codes, return_inverse=True)
    return sp.csr_matrix((np.ones(codes.size), (np.arange(codes.size), place)), shape=(codes.size, values.size))


def read_svmlight(path: Path) -> tuple:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(lzma.decompress(path.read_bytes())))
    return as_csr(X), np.where(y > 0, 1.0, -1.0)


def read_news(path: Path) -> tuple:
    """Training posts of 20news-bydate, `TfidfVectorizer()` as it comes; the first class against the other nineteen."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    train = json.loads(lzma.decompress(path.read_bytes()))["train"]
    y = np.where(np.array(train["label"]) == min(train["label"]), 1.0, -1.0)
    return as_csr(TfidfVectorizer().fit_transform(train["text"])), y


def read_covtype(path: Path) -> tuple:
    """Dense, columns scaled to [0, 1]; class 2 against the rest."""
    z = arrays(path)
    numbers = z["Xq"].T.astype(np.float64)
    numbers = (numbers - numbers.min(axis=0)) / np.ptp(numbers, axis=0)
    X = np.hstack([numbers, np.eye(4)[z["wilderness"]], np.eye(40)[z["soil"]]])
    return np.ascontiguousarray(X), np.where(z["y"] == 2, 1.0, -1.0)


def read_kdd99(path: Path) -> tuple:
    """log(1 + x) of the counts, scaled to [0, 1], and a column per category; attacks against normal traffic."""
    z = arrays(path)
    counts = np.log1p(np.maximum(z["Xnum"].astype(np.float64), 0.0))
    scaled = counts / np.maximum(counts.max(axis=0), 1e-12)
    X = as_csr(sp.hstack([sp.csr_matrix(scaled), *(one_hot(column) for column in z["Xcat"].T)]))
    return X, np.where(z["label_names"][z["y"]] == "normal", -1.0, 1.0)


def read_regression(path: Path) -> tuple:
    """Dense; columns and target standardised."""
    z = arrays(path)
    return standardised(z["X"]), standardised(z["y"][:, None])[:, 0]


def read_arcene(path: Path) -> tuple:
    z = arrays(path)
    return standardised(z["X"]), z["y"].astype(np.float64)


def read_claims(path: Path) -> tuple:
    """Claims per year of each policy, weighted by its exposure; categories as columns, numbers scaled to [0, 1]."""
    z = arrays(path)
    exposure = np.minimum(z["Exposure"].astype(np.float64), 1.0)
    ages = np.column_stack(
        [np.minimum(z["VehAge"], 20), np.minimum(z["DrivAge"], 90), np.minimum(z["BonusMalus"], 150)]
    )
    numbers = np.column_stack([ages, np.log(np.maximum(z["Density"], 1))]).astype(np.float64)
    numbers = (numbers - numbers.min(axis=0)) / np.ptp(numbers, axis=0)
    names = ("Area", "VehPower", "VehBrand", "VehGas", "Region")
    X = as_csr(sp.hstack([sp.csr_matrix(numbers), *(one_hot(z[name]) for name in names)]))
    return X, np.minimum(z["ClaimNb"], 4) / exposure, exposure


def sparse_rows(n: int, d: int, per_row: int, binary: bool) -> Callable[[], tuple]:
    """Sparse rows labelled by a noisy linear rule."""

    def make() -> tuple:
        rng = np.random.default_rng(0)
        popular = (d * rng.random(n * per_row) ** 3).astype(np.int32)  # a few columns are common, most are rare
        indptr = np.arange(0, n * per_row + 1, per_row)
        X = as_csr(sp.csr_matrix((rng.random(n * per_row) + 0.1, popular, indptr), shape=(n, d)))
        X.sum_duplicates()
        norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        X.data[:] = 1.0 if binary else X.data / np.repeat(norms, np.diff(X.indptr))
        return X, noisy_signs(X, rng)

    return make


def dense_rows(n: int, d: int, target: str) -> Callable[[], tuple]:
    """Normal columns; target "sign", "number", or "count" with weights."""

    def make() -> tuple:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, d))
        if target == "sign":
            return X, noisy_signs(X, rng)
        z = X @ rng.standard_normal(d) / np.sqrt(d)
        if target == "number":
            return X, z + rng.standard_t(3, size=n)
        exposure = rng.random(n) + 0.01
        return as_csr(X), rng.poisson(exposure * np.exp(0.3 * z - 2.0)) / exposure, exposure

    return make


def noisy_signs(X: Any, rng: np.random.Generator) -> np.ndarray:
    z: np.ndarray = X @ rng.standard_normal(X.shape[1])
    return np.where(z + 0.5 * z.std() * rng.standard_normal(z.size) > 0, 1.0, -1.0)


SOURCES: dict[str, Source] = {
    "a9a": Source(read_svmlight, "binary/a9a.svm.xz", sparse_rows(32561, 123, 14, True)),
    "w8a": Source(read_svmlight, "binary/w8a.svm.xz", sparse_rows(49749, 300, 12, True)),
    "ijcnn1": Source(read_svmlight, "binary/ijcnn1.svm.xz", sparse_rows(49990, 22, 13, False)),
    "news": Source(read_news, "text/20news-bydate.json.xz", sparse_rows(11314, 130107, 158, False)),
    "reuters": Source(read_svmlight, "binary/reuters_tick.svm.xz", sparse_rows(7770, 8315, 44, False)),
    "covtype": Source(read_covtype, "binary/covtype.npz.xz", dense_rows(581012, 54, "sign")),
    "kdd99": Source(read_kdd99, "binary/kddcup99_10pct.npz", sparse_rows(494021, 119, 16, False)),
    "arcene": Source(read_arcene, "binary/arcene.npz", dense_rows(200, 10000, "sign")),
    "claims": Source(read_claims, "regression/freMTPL2freq.npz.xz", dense_rows(678013, 20, "count")),
    **{
        name: Source(read_regression, f"regression/{name}.npz", dense_rows(n, d, "number"))
        for name, n, d in (("fried", 40768, 10), ("mv", 40768, 10), ("cal_housing", 20640, 8), ("pol", 15000, 48))
    },
}
