"""Small fits of the kinds that people make first, whose kernels `fenchel warm-up` compiles and a wheel brings along.

The data are random and small; what matters is which kernels a fit calls: those of its loss, its penalty, its storage (dense and
CSR) and of the solvers that are chosen for small, tall and wide data.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np


def common_fits() -> dict[str, Callable[[], Any]]:
    """A function for each kind of fit, by the name that `fenchel warm-up` shows.

    >>> list(common_fits())[:3]
    ['logistic', 'hinge', 'softmax']
    """
    return {
        "logistic": lambda: _linear("Classifier", "logistic", 2),
        "hinge": lambda: _linear("Classifier", "hinge", 2),
        "softmax": lambda: _linear("Classifier", "softmax", 3),
        "squared": lambda: _linear("Regressor", "squared", 0),
        "L1": lambda: _penalty("Regressor", "squared", "l1"),
        "elastic net": lambda: _penalty("Regressor", "squared", "elastic_net"),
        "sparse logistic": lambda: _penalty("Classifier", "logistic", "l1"),
        "quantile": lambda: _linear("Regressor", "quantile", 0),
        "absolute": lambda: _linear("Regressor", "absolute", 0),
        "Huber": lambda: _linear("Regressor", "huber", 0),
        "epsilon-insensitive": lambda: _linear("Regressor", "epsilon_insensitive", 0),
        "squared hinge": lambda: _linear("Classifier", "squared_hinge", 2),
        "Poisson": lambda: _linear("Regressor", "poisson", 0),
        "kernel": _kernel,
        "ranker": _ranker,
        "sequences": _sequences,
        "F1": _measure,
        "problem": _problem,
    }


def warm_up(names: list[str] | None = None, before: Callable[[str], Any] = lambda name: None) -> list[str]:
    """Make the common fits, all or those with these names, once; returns the names.

    >>> warm_up(["problem"])
    ['problem']
    """
    from sklearn.exceptions import ConvergenceWarning

    fits = common_fits()
    chosen = [name for name in fits if names is None or name in names]
    for name in chosen:
        before(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # only the calls of kernels matter here
            fits[name]()
    return chosen


def _data(n: int, d: int, classes: int, counts: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Rows and targets: labels 0, 1, ..., numbers if there are no classes, or counts."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    t = X[:, :3].sum(axis=1) + rng.normal(size=n)
    if counts:
        return X, rng.poisson(np.exp(np.clip(0.3 * t, -3.0, 3.0))).astype(float)
    return X, np.digitize(t, np.quantile(t, np.arange(1, classes) / classes)) if classes else t


SHAPES = ((300, 8), (4000, 12), (60, 150))


def _linear(estimator: str, loss: str, classes: int) -> None:
    """Dense fits of three shapes and a sparse one, with predictions."""
    import scipy.sparse as sp

    from fenchel import estimators

    for n, d in SHAPES:
        X, y = _data(n, d, classes, loss == "poisson")
        model = getattr(estimators, estimator)(loss=loss, alpha=1e-2).fit(X, y)
        model.predict(X)
    X, y = _data(600, 60, classes, loss == "poisson")
    model.fit(sp.csr_matrix(np.where(X > 1.0, X, 0.0)), y)


def _penalty(estimator: str, loss: str, penalty: str) -> None:
    """The same with a penalty that sets coefficients to zero."""
    import scipy.sparse as sp

    from fenchel import estimators

    for n, d in SHAPES:
        X, y = _data(n, d, 2 * (estimator == "Classifier"))
        model = getattr(estimators, estimator)(loss=loss, regularizer=penalty, alpha=1e-2).fit(X, y)
        model.predict(X)
    X, y = _data(600, 60, 2 * (estimator == "Classifier"))
    model.fit(sp.csr_matrix(np.where(X > 1.0, X, 0.0)), y)


def _kernel() -> None:
    from fenchel.estimators import KernelClassifier, KernelRegressor

    X, y = _data(150, 5, 2)
    KernelClassifier(alpha=1e-2).fit(X, y).predict(X)
    X, y = _data(150, 5, 0)
    KernelRegressor(alpha=1e-2).fit(X, y).predict(X)


def _ranker() -> None:
    from fenchel.estimators import Ranker

    X, y = _data(200, 8, 4)
    Ranker(alpha=1e-2).fit(X, y, qid=np.arange(200) // 10).predict(X)


def _sequences() -> None:
    from fenchel.estimators import SequenceLabeler

    rng = np.random.default_rng(0)
    X = [[{"word": str(w), "odd": w % 2 == 1} for w in rng.integers(0, 20, 6)] for _ in range(40)]
    y = [["long" if len(token["word"]) > 1 else "short" for token in sentence] for sentence in X]
    SequenceLabeler(alpha=1e-2).fit(X, y).predict(X)


def _measure() -> None:
    from fenchel.estimators import MeasureClassifier

    X, y = _data(300, 8, 2)
    MeasureClassifier(measure="f_beta", alpha=1e-2).fit(X, y).predict(X)


def _problem() -> None:
    """The first example of the documentation: a problem, solved and certified once more."""
    from fenchel.certificates.scalar import certify
    from fenchel.problems.scalar import Problem
    from fenchel.solving.solve import solve

    X, y = _data(400, 30, 2)
    problem = Problem(X, 2.0 * y - 1.0, loss="hinge", regularizer="l2", alpha=1e-2, fit_intercept=True)
    result = solve(problem)
    certify(problem, result.coef, result.intercept, result.dual_point)
    certify(problem, 1.01 * result.coef, result.intercept)
