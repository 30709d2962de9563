"""liblinear and libsvm through scikit-learn, in a process of their own that is ended when its time is over."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from typing import Any, NamedTuple

import numpy as np


class Answer(NamedTuple):
    """Seconds of the fit, and the weights of a linear model (None: a kernel model, or no answer in time)."""

    seconds: float
    coef: np.ndarray | None


def make(peer: str, alpha: float, n: int, epsilon: float, gamma: float) -> Any:
    """The model of that name with its own tolerance. P = mean loss + alpha/2 w'w is their C = 1 / (alpha n)."""
    from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

    C = 1.0 / (alpha * n)
    return {
        "liblinear": lambda: LinearSVC(loss="hinge", C=C, fit_intercept=False, max_iter=10_000),
        "libsvm": lambda: SVC(kernel="linear", C=C),
        "liblinear, regression": lambda: LinearSVR(epsilon=epsilon, C=C, fit_intercept=False, max_iter=10_000),
        "libsvm, regression": lambda: SVR(kernel="rbf", gamma=gamma, epsilon=epsilon, C=C),
    }[peer]()


def fit(peer: str, X: Any, y: np.ndarray, alpha: float, epsilon: float, gamma: float) -> Answer:
    model = make(peer, alpha, y.size, epsilon, gamma)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its iteration limit: the excess of its answer is in the table
        began = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - began
    return Answer(seconds, np.ravel(model.coef_) if peer.startswith("liblinear") else None)


def _child(pipe: Any, arguments: tuple[Any, ...]) -> None:
    pipe.send("ready")
    pipe.send(fit(*arguments))


def fit_within(
    limit: float, peer: str, X: Any, y: np.ndarray, alpha: float, epsilon: float = 0.1, gamma: float = 1.0
) -> Answer | None:
    """The answer, or None if it takes longer than `limit` seconds."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_child, args=(theirs, (peer, X, y, alpha, epsilon, gamma)), daemon=True)
    process.start()
    theirs.close()  # so that the end of the process is the end of the pipe
    try:
        ours.recv()
        return ours.recv() if ours.poll(limit) else None
    finally:
        process.terminate()
        process.join()
