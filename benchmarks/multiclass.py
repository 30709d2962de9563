"""Many classes beside the peers: `python -m benchmarks.multiclass [TASK ...] [--rows N] [--seconds S]`.

max hinge    liblinear -s 4 (Crammer and Singer) and Fenchel, to 1e-3 relative suboptimality
softmax      scikit-learn's solvers, cyanure and Fenchel, to 1e-6
usunier      Fenchel's block dual ascent against its Frank-Wolfe with line search, weighted Usunier loss, to 1e-4

Everybody runs with ever smaller tolerances of its own until the objective, which is computed here from its definition, is near
enough to the best dual value known; the time of that run counts. Fenchel's includes its certificate. alpha = 1/n for the hinge
and Usunier losses, 1e-4 for softmax; no intercept. Letter, USPS, MNIST and 20news from the data folder (FENCHEL_DATA).
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import fenchel
from benchmarks.data_sets import as_csr, data_folder
from benchmarks.table import machine
from fenchel import multiclass

RHO = np.maximum(0, 6 - np.arange(1, 6)) / 15.0


class Task(NamedTuple):
    """A data set with a loss, and how near to the optimum one must come."""

    name: str
    X: Any
    y: np.ndarray
    loss: str
    alpha: float
    goal: float

    @property
    def problem(self) -> fenchel.Problem:
        loss = multiclass.WeightedUsunier(RHO) if self.loss == "usunier" else self.loss
        return fenchel.Problem(self.X, self.y, loss=loss, alpha=self.alpha)

    def objective(self, W: np.ndarray) -> float:
        """P(W) from its definition."""
        Z = np.asarray(self.X @ W.T)
        own = Z[np.arange(self.y.size), self.y][:, None]
        if self.loss == "softmax":
            top = Z.max(axis=1, keepdims=True)
            losses = np.log(np.exp(Z - top).sum(axis=1)) + (top - own)[:, 0]
        else:
            margins = 1.0 + Z - own
            margins[np.arange(self.y.size), self.y] = 0.0
            largest = -np.sort(-np.maximum(margins, 0.0), axis=1)
            losses = largest[:, 0] if self.loss == "max_hinge" else largest[:, :5] @ RHO
        return float(losses.mean() + 0.5 * self.alpha * np.sum(W * W))


def load(name: str, rows: int) -> tuple[Any, np.ndarray]:
    """Training rows scaled to at most 1 in size, and classes 0, 1, 2, ..."""
    folder = data_folder()
    if name == "20news":
        from sklearn.feature_extraction.text import TfidfVectorizer

        train = json.loads(lzma.decompress((folder / "text/20news-bydate.json.xz").read_bytes()))["train"]
        return as_csr(TfidfVectorizer().fit_transform(train["text"][:rows])), classes(train["label"][:rows])
    file = folder / "multiclass" / (f"{name}.npz.xz" if name == "mnist" else f"{name}.npz")
    content = file.read_bytes()
    arrays = np.load(io.BytesIO(lzma.decompress(content) if file.suffix == ".xz" else content))
    known = {key.lower(): key for key in arrays}
    X = arrays[known.get("x_train", known.get("x", ""))][:rows]
    y = arrays[known.get("y_train", known.get("y", ""))][:rows]
    X = X.reshape(X.shape[0], -1).astype(np.float64)
    X /= np.abs(X).max()
    return (as_csr(sp.csr_matrix(X)) if np.mean(X == 0.0) > 0.5 else X), classes(y)


def classes(labels: Any) -> np.ndarray:
    return np.unique(np.asarray(labels), return_inverse=True)[1]


Entrant = Callable[[Task], Iterator[Callable[[], np.ndarray]]]


def ours(solver: Any = "auto") -> Entrant:
    def attempts(task: Task) -> Iterator[Callable[[], np.ndarray]]:
        problem = task.problem
        fenchel.solve(problem, solver=solver, max_iter=2)  # compiled
        yield lambda: fenchel.solve(problem, solver=solver, tol=task.goal, max_time=120).coef

    return attempts


def liblinear(task: Task) -> Iterator[Callable[[], np.ndarray]]:
    from liblinear.liblinearutil import train

    m, d = int(task.y.max()) + 1, task.X.shape[1]

    def fit(eps: float) -> np.ndarray:
        X = as_csr(sp.csr_matrix(task.X))
        model = train(task.y.astype(float), X, f"-s 4 -c {1.0 / (task.alpha * task.y.size)} -e {eps} -q")
        W = np.empty((m, d))
        W[model.get_labels()] = np.array(model.w[: m * d]).reshape(d, m).T
        return W

    for eps in (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001):
        yield lambda eps=eps: fit(eps)


def sklearn(solver: str) -> Entrant:
    def attempts(task: Task) -> Iterator[Callable[[], np.ndarray]]:
        from sklearn.linear_model import LogisticRegression

        C = 1.0 / (task.alpha * task.y.size)
        for tol in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8):
            model = LogisticRegression(C=C, solver=solver, fit_intercept=False, tol=tol, max_iter=3000)
            yield lambda model=model: model.fit(task.X, task.y).coef_

    return attempts


def cyanure(task: Task) -> Iterator[Callable[[], np.ndarray]]:
    from cyanure.estimators import Classifier

    for tol in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
        model = Classifier(
            loss="multiclass-logistic", penalty="l2", lambda_1=task.alpha, fit_intercept=False, tol=tol, max_iter=2000,
            verbose=False, random_state=0,
        )  # fmt: skip

        def fit(model: Any = model) -> np.ndarray:
            W = np.asarray(model.fit(task.X, task.y).coef_)
            return W if W.shape[1] == task.X.shape[1] else W.T

        yield fit


ENTRANTS: dict[str, dict[str, Entrant]] = {
    "max_hinge": {"liblinear -s 4": liblinear, "fenchel": ours()},
    "softmax": {
        "sklearn lbfgs": sklearn("lbfgs"), "sklearn newton-cg": sklearn("newton-cg"),
        "sklearn newton-cholesky": sklearn("newton-cholesky"), "cyanure": cyanure, "fenchel": ours(),
    },
    "usunier": {"fenchel frank_wolfe": ours("frank_wolfe"), "fenchel block_ascent": ours("block_ascent")},
}  # fmt: skip


def race(task: Task, limit: float) -> dict[str, str]:
    """For every entrant the seconds of its first run that is near enough."""
    best = fenchel.solve(task.problem, tol=task.goal / 10, max_time=limit).certificate.dual
    found = {}
    for name, entrant in ENTRANTS[task.loss].items():
        spent, answer = 0.0, "-"
        for attempt in entrant(task):
            began = time.perf_counter()
            try:
                W = attempt()
            except MemoryError:
                answer = "no memory"
                break
            seconds = time.perf_counter() - began
            spent += seconds
            excess = task.objective(W) / best - 1.0
            if excess <= task.goal:
                answer = f"{seconds:.2f}"
                break
            if spent > limit:
                answer = f"> {seconds:.1f} ({excess:.0e})"
                break
        found[name] = answer
    return found


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", help="parts of the names of tasks; default all")
    parser.add_argument("--rows", type=int, default=10_000, help="of each data set, at most")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each entrant and task, about")
    args = parser.parse_args(argv)
    warnings.simplefilter("ignore")  # peers remark on limits that are set here on purpose
    print(machine() + "\n")
    for loss, goal in (("max_hinge", 1e-3), ("softmax", 1e-6), ("usunier", 1e-4)):
        print(f"| {loss}, to {goal:g} | rows x features x classes | {' | '.join(ENTRANTS[loss])} |")
        print("| --- " * (2 + len(ENTRANTS[loss])) + "|")
        for data in ("letter", "usps", "mnist", "20news"):
            if args.tasks and not any(part in f"{loss}-{data}" for part in args.tasks):
                continue
            X, y = load(data, args.rows)
            task = Task(data, X, y, loss, 1e-4 if loss == "softmax" else 1.0 / y.size, goal)
            shape = f"{X.shape[0]} x {X.shape[1]} x {int(y.max()) + 1}"
            print(f"| {data} | {shape} | {' | '.join(race(task, args.seconds).values())} |", flush=True)
        print()


if __name__ == "__main__":
    main()
