"""Rankings of held-out queries: `python -m benchmarks.rankings [--held-out]`.

MQ2008 (fold 1) and LightGBM's ranking example, from the data folder (FENCHEL_DATA). Each line: the method, the seconds of its
fit, its status, and NDCG@10, average precision and reciprocal rank on the test queries, with standard errors over queries;
queries without a relevant document are left out. Alpha is what `Ranker()` takes for every measure, and 1e-3 for least squares.

With --held-out: NDCG@10 on queries held out of training, 3 times 5 folds, for sums over pairs at several alphas relative to the
variance of the features. The defaults of `Ranker` come from there.
"""

from __future__ import annotations

import io
import lzma
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_svmlight_file

import fenchel
from benchmarks.data_sets import data_folder
from fenchel import metrics
from fenchel.estimators.ranker import total_variance
from fenchel.measures import AreaPairs, MAPPairs, NDCGPairs

METHODS: dict[str, Callable[[], Any]] = {
    "least squares": lambda: fenchel.Regressor("squared", alpha=1e-3),
    "ROC area by query": lambda: fenchel.Ranker("roc_area"),
    "bound of NDCG": lambda: fenchel.Ranker("ndcg"),
    "NDCG pairs, squared hinge (default)": fenchel.Ranker,
    "NDCG pairs, logistic": lambda: fenchel.Ranker(NDCGPairs(loss="logistic")),
    "NDCG pairs, hinge": lambda: fenchel.Ranker(NDCGPairs(loss="hinge")),
    "MAP pairs, squared hinge": lambda: fenchel.Ranker("map_pairs"),
    "MRR pairs, squared hinge": lambda: fenchel.Ranker("mrr_pairs"),
}
CANDIDATES = [NDCGPairs(), NDCGPairs(10), NDCGPairs(loss="logistic"), NDCGPairs(loss="hinge"), MAPPairs(), AreaPairs()]
STRENGTHS = 10.0 ** np.arange(-4.0, -0.4, 0.5)
FOLDS, REPEATS = 5, 3


class Rows(NamedTuple):
    """Features, relevances, queries."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray

    def some(self, mask: np.ndarray) -> Rows:
        return Rows(self.X[mask], self.y[mask], self.qid[mask])


def mq2008() -> tuple[Rows, Rows]:
    """(training, test)."""
    with np.load(data_folder() / "ranking/mq2008_fold1.npz") as z:
        train, test = (Rows(z[f"X_{p}"], z[f"y_{p}"].astype(float), z[f"qid_{p}"]) for p in ("train", "test"))
    return train, test


def lightgbm() -> tuple[Rows, Rows]:
    """(training, test)."""
    found = []
    for part in ("train", "test"):
        text = lzma.decompress((data_folder() / f"ranking/lightgbm_rank.{part}.svm.xz").read_bytes())
        X, y, qid = load_svmlight_file(io.BytesIO(text), n_features=301, query_id=True)
        found.append(Rows(X.toarray(), y, qid))
    return found[0], found[1]


def by_query(rows: Rows, z: np.ndarray, metric: Callable[..., float]) -> np.ndarray:
    """The metric of every query with a relevant document."""
    parts = [rows.qid == q for q in np.unique(rows.qid)]
    return np.array([metric(rows.y[part], z[part]) for part in parts if rows.y[part].max() > 0.0])


def ndcg_10(y: np.ndarray, z: np.ndarray) -> float:
    """NDCG of the first 10."""
    return metrics.ndcg(y, z, k=10)


def in_words(values: np.ndarray) -> str:
    return f"{100 * values.mean():.1f} ± {100 * values.std(ddof=1) / np.sqrt(values.size):.1f}"


def table(name: str, train: Rows, test: Rows) -> None:
    print(f"\n| {name} | seconds | status | NDCG@10 | MAP | MRR |\n| --- | --- | --- | --- | --- | --- |")
    for method, make in METHODS.items():
        model = make().set_params(max_time=60)
        options = {} if isinstance(model, fenchel.Regressor) else {"qid": train.qid}
        model.fit(train.X, train.y, **options)  # compiles
        start = time.perf_counter()
        model.fit(train.X, train.y, **options)
        seconds, z = time.perf_counter() - start, model.predict(test.X)
        found = [in_words(by_query(test, z, m)) for m in (ndcg_10, metrics.mean_average_precision, metrics.mrr)]
        print(f"| {method} | {seconds:.2f} | {model.status_.name} | {' | '.join(found)} |", flush=True)


def held_out(name: str, rows: Rows) -> None:
    print(f"\n| {name}, held out | {' | '.join(f'{s:.1e}' for s in STRENGTHS)} |\n|{' --- |' * (STRENGTHS.size + 1)}")
    for measure in CANDIDATES:
        found: list[list[np.ndarray]] = [[] for _ in STRENGTHS]
        for repeat in range(REPEATS):
            queries = np.random.default_rng(10 + repeat).permutation(np.unique(rows.qid))
            for fold in np.array_split(queries, FOLDS):
                test = np.isin(rows.qid, fold)
                train, other = rows.some(~test), rows.some(test)
                for k, strength in enumerate(STRENGTHS):
                    alpha = strength * total_variance(train.X)
                    model = fenchel.Ranker(measure, alpha=alpha).fit(train.X, train.y, qid=train.qid)
                    found[k].append(by_query(other, model.predict(other.X), ndcg_10))
        print(f"| {measure} | {' | '.join(f'{100 * np.concatenate(f).mean():.1f}' for f in found)} |", flush=True)


if __name__ == "__main__":
    for name, read in (("MQ2008 fold 1", mq2008), ("LightGBM example", lightgbm)):
        train, test = read()
        if "--held-out" in sys.argv[1:]:
            held_out(name, train)
        else:
            table(name, train, test)
