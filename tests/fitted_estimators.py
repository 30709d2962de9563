"""One fitted estimator of every public kind, with the rows to predict: makers by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

import fenchel
from fenchel import losses, measures, multiclass, regularizers

RNG = np.random.default_rng(7)
X = RNG.normal(size=(60, 4))
SIGN = np.where(X @ [1.0, -2.0, 0.0, 0.5] + 0.3 * RNG.normal(size=60) > 0, 1, -1)
LEVEL = np.digitize(X @ [1.0, -1.0, 0.5, 0.0], [-1.0, 0.5])
WORDS = np.array(["low", "mid", "top"])[LEVEL]
REAL = X @ [1.0, 0.5, 0.0, -1.0] + 0.1 * RNG.normal(size=60)
COUNT = RNG.poisson(np.exp(0.3 * X[:, 0]))
QID = np.repeat(np.arange(12), 5)
SETS = (X[:, :3] > 0).astype(int)
NEW = RNG.normal(size=(41, 4))
SEQUENCES = [RNG.normal(size=(length, 3)) for length in (3, 1, 4, 2, 5, 3)]
TAGS = [["NV"[int(row[0] > 0)] for row in x] for x in SEQUENCES]
TOKENS = [[{"word": word, "x": 0.5} for word in text.split()] for text in ("a dog barks", "the cat", "a cat sleeps")]
TOKEN_TAGS = [["D", "N", "V"], ["D", "N"], ["D", "N", "V"]]
PAIRS = [RNG.normal(size=(3, 4, 2)) for _ in range(6)]
MATCHINGS = [x[:, :, 0].argmax(axis=1) for x in PAIRS]
for matching in MATCHINGS:  # a column at most once
    matching[:] = RNG.permutation(4)[:3]


class Case(NamedTuple):
    """How to make the fitted estimator, and rows to predict."""

    make: Callable[[], Any]
    rows: Any = NEW


def _online(**options: Any) -> Any:
    return fenchel.OnlineClassifier(epochs=3, **options)


CASES: dict[str, Case] = {
    "two labels": Case(lambda: fenchel.Classifier("logistic", alpha=0.01).fit(X, SIGN)),
    "single precision": Case(lambda: fenchel.Classifier(alpha=0.01).fit(X.astype(np.float32), SIGN), NEW.astype(np.float32)),
    "sparse rows": Case(lambda: fenchel.Classifier("squared", alpha=0.01).fit(sp.csr_matrix(X), SIGN), sp.csr_matrix(NEW)),
    "one against the rest": Case(lambda: fenchel.Classifier("logistic", alpha=0.01).fit(X, WORDS)),
    "softmax, elastic net": Case(
        lambda: fenchel.Classifier("softmax", regularizer="elastic_net", alpha=0.02).fit(X, WORDS)
    ),
    "cost hinge": Case(lambda: fenchel.Classifier(multiclass.CostHinge(1.0 - np.eye(3)), alpha=0.05).fit(X, LEVEL)),
    "named columns": Case(
        lambda: fenchel.Classifier(alpha=0.05, class_weight="balanced").fit(pd.DataFrame(X, columns=list("abcd")), SIGN > 0),
        pd.DataFrame(NEW, columns=list("abcd")),
    ),
    "squared": Case(lambda: fenchel.Regressor(alpha=0.01).fit(X, REAL)),
    "quantile, L1": Case(lambda: fenchel.Regressor("quantile", quantile=0.8, regularizer="l1", alpha=0.05).fit(X, REAL)),
    "Poisson": Case(lambda: fenchel.Regressor("poisson", alpha=0.05).fit(X, COUNT)),
    "weighted Huber": Case(lambda: fenchel.Regressor("huber", delta=0.5).fit(X, REAL, sample_weight=np.arange(60) % 3)),
    "two labels, cross-validated": Case(lambda: fenchel.ClassifierCV("logistic", alphas=[0.1, 0.01]).fit(X, SIGN)),
    "squared, cross-validated": Case(lambda: fenchel.RegressorCV(alphas=3).fit(X, REAL)),
    "novelty": Case(lambda: fenchel.NoveltyDetector(contamination=0.2).fit(X + 2.0), NEW + 1.0),
    "ordinal numbers": Case(lambda: fenchel.OrdinalClassifier(alpha=0.01).fit(X, LEVEL)),
    "F1": Case(lambda: fenchel.MeasureClassifier("f1", alpha=0.01).fit(X, SIGN)),
    "ROC area": Case(lambda: fenchel.MeasureClassifier(alpha=0.01).fit(X, np.where(SIGN > 0, "yes", "no"))),
    "NDCG": Case(lambda: fenchel.Ranker(alpha=0.1, tol=1e-3).fit(X, LEVEL, qid=QID)),
    "precision at 2": Case(
        lambda: fenchel.Ranker(measures.PrecisionAtK(2), alpha=0.1, tol=1e-3).fit(X, SIGN > 0, qid=QID)
    ),
    "tree": Case(
        lambda: fenchel.HierarchicalClassifier(["a/low", "a/mid", "top"], alpha=0.01).fit(
            X, np.array(["a/low", "a/mid", "top"])[LEVEL]
        )
    ),
    "tree, softmax": Case(
        lambda: fenchel.HierarchicalClassifier([-1, 0, 0, 1, 1], loss="softmax", alpha=0.01).fit(X, LEVEL)
    ),
    "RBF": Case(lambda: fenchel.KernelClassifier(C=1.0).fit(X, WORDS)),
    "polynomial, logistic": Case(
        lambda: fenchel.KernelClassifier("logistic", "polynomial", degree=2, coef0=1.0, alpha=0.01).fit(X, SIGN)
    ),
    "single precision RBF": Case(
        lambda: fenchel.KernelClassifier(C=1.0).fit(X.astype(np.float32), SIGN), NEW.astype(np.float32)
    ),
    "sparse Laplacian": Case(
        lambda: fenchel.KernelClassifier(kernel="laplacian", C=1.0).fit(sp.csr_matrix(X), SIGN), sp.csr_matrix(NEW)
    ),
    "precomputed": Case(lambda: fenchel.KernelClassifier(kernel="precomputed", C=0.1).fit(X @ X.T, SIGN), NEW @ X.T),
    "kernel regression": Case(
        lambda: fenchel.KernelRegressor(losses.EpsilonInsensitive(0.1), gamma=0.5, C=1.0).fit(X, REAL)
    ),
    "kernel Poisson": Case(lambda: fenchel.KernelRegressor("poisson", alpha=0.1).fit(X, COUNT)),
    "features of a kernel": Case(lambda: fenchel.IncompleteCholesky(gamma=0.1, tolerance=1e-3).fit(X)),
    "Perceptron": Case(lambda: _online().fit(X, WORDS)),
    "Winnow": Case(lambda: _online(algorithm="winnow", eta=0.1).fit(np.abs(X), SIGN), np.abs(NEW)),
    "averaged p-norm": Case(lambda: _online(algorithm="p_norm", average=True).fit(X, SIGN)),
    "sequences": Case(lambda: fenchel.SequenceLabeler("log", alpha=0.05).fit(SEQUENCES, TAGS), SEQUENCES),
    "tokens": Case(
        lambda: fenchel.SequenceLabeler(alpha=0.05, observed_only=True).fit(TOKENS, TOKEN_TAGS), TOKENS
    ),
    "matchings": Case(lambda: fenchel.MatchingModel(alpha=0.1).fit(PAIRS, MATCHINGS), PAIRS),
    "label sets": Case(lambda: fenchel.MultiLabelClassifier("log", alpha=0.05).fit(X, SETS)),
    "Mahalanobis": Case(
        lambda: fenchel.Classifier("logistic", regularizers.Quadratic(0.1, np.arange(1.0, 5.0))).fit(X, SIGN)
    ),
}  # fmt: skip


def outcome(fitted: Any, rows: Any) -> Any:
    """Everything that it says of the rows: predictions, or features of a transformer."""
    return (fitted.predict if hasattr(fitted, "predict") else fitted.transform)(rows)


def same(a: Any, b: Any) -> bool:
    """Equal to the last bit, also lists of arrays."""
    if isinstance(a, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(np.array_equal(a, b)) if isinstance(a, np.ndarray) else a == b
