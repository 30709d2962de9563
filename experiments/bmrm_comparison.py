"""Paper 002, figures 3, 4, 5 and 7: bundle methods beside liblinear and libsvm.

Figure 3  time against lambda, hinge loss: a9a, w8a, covtype
Figure 4  time against lambda, epsilon-insensitive regression on incomplete Cholesky features of an RBF kernel: mv, fried,
          2dplanes, pol (targets standardised, epsilon 0.1, at most --rank features; the paper has up to 1000)
Figure 5  time against the number of rows at lambda = 1e-5
Figure 7  gap against iterations for several lambdas

bmrm and what `auto` picks are solved to a certified relative gap of 1e-3, liblinear and libsvm to their own default
tolerances; the table says by how much (relative) the answer of liblinear is above P*. libsvm has a free intercept, which
bmrm and liblinear have not, and in regression it works with the kernel itself. Whoever needs longer than --seconds is cut
off; peers that were cut off at one lambda are not asked for smaller ones. Preparation (Cholesky) is not in the times. Beside
the iterations of bmrm is the number of them that Theorem 2 proves to be enough for this gap.

    python -m experiments.bmrm_comparison [--small] [--data a9a mv ...] [--seconds 20] [--rank 100]

Up to half an hour with all data sets and lambdas; fewer of either, or fewer seconds, make it shorter.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import fenchel
from experiments import common, data, peers
from fenchel.losses import EpsilonInsensitive, Hinge
from fenchel.solvers import Bundle

CLASSIFICATION = {"a9a": data.a9a, "w8a": data.w8a, "covtype": data.covtype}
REGRESSION = {name: partial(data.regression, name) for name in ("mv", "fried", "2dplanes", "pol")}
LAMBDAS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 3e-6)
EPSILON = 0.1
TOL = 1e-3
AT = 1e-5  # lambda of figure 5


class Task(NamedTuple):
    """Rows, targets and a loss; for libsvm the rows before the Cholesky factorisation and the width of the kernel."""

    name: str
    X: Any
    y: np.ndarray
    loss: Any
    raw: Any
    gamma: float = 1.0

    def problem(self, alpha: float, rows: int | None = None) -> fenchel.Problem:
        return fenchel.Problem(self.X[:rows], self.y[:rows], loss=self.loss, alpha=alpha)

    @property
    def peers(self) -> dict[str, Any]:
        kind = "" if isinstance(self.loss, Hinge) else ", regression"
        return {"liblinear" + kind: self.X, "libsvm" + kind: self.raw}


def prepare(name: str, rank: int, small: bool) -> Task:
    """A data set as the solvers see it."""
    if name in CLASSIFICATION or name == "classes":
        sets = data.small_binary() if small else CLASSIFICATION[name]()
        order = np.random.default_rng(0).permutation(sets.y.size)  # so that the first rows are a sample
        return Task(name, sets.X[order], sets.y[order], Hinge(), sets.X[order])
    from fenchel.estimators.incomplete_cholesky import IncompleteCholesky

    X, y = data.small_regression() if small else REGRESSION[name]()
    order = np.random.default_rng(0).permutation(y.size)
    X, y = X[order], y[order]
    gamma = 1.0 / X.shape[1]
    began = time.perf_counter()
    factor = IncompleteCholesky(gamma=gamma, tolerance=1e-3, max_rank=rank)
    features = factor.fit_transform(X)
    share = factor.trace_error_ / factor.trace_
    print(f"{name}: {features.shape[1]} features, trace error {share:.1e}, {time.perf_counter() - began:.1f} s")
    return Task(name, features, y, EpsilonInsensitive(EPSILON), X, gamma)


def solve(task: Task, alpha: float, solver: Any, seconds: float, rows: int | None = None) -> fenchel.Result:
    return fenchel.solve(task.problem(alpha, rows), solver=solver, tol=TOL, max_time=seconds)


def against_lambda(task: Task, lambdas: Sequence[float], seconds: float, apart: bool) -> tuple[list[list[Any]], dict]:
    """Rows of the table, and the bundle method's results by lambda. `apart`: peers in a process of their own."""
    rows, results = [], {}
    late: set[str] = set()
    for alpha in sorted(lambdas, reverse=True):
        results[alpha] = bundle = solve(task, alpha, Bundle(level=False), seconds)
        auto = solve(task, alpha, "auto", seconds)
        known = max(bundle.certificate.dual, auto.certificate.dual)
        enough = f"{most_steps(bundle.problem, TOL * known):.1e}"
        row = [task.name, alpha, elapsed(bundle), bundle.n_iter, enough, elapsed(auto), auto.solver]
        for peer, X in task.peers.items():
            answer = None if peer in late else ask(peer, X, task, alpha, seconds, apart)
            if answer is None:
                late.add(peer)
            row.append(f"> {seconds:g}" if answer is None else answer.seconds)
            if peer.startswith("liblinear"):
                excess = None
                if answer is not None and answer.coef is not None:
                    excess = max(fenchel.certify(task.problem(alpha), answer.coef).primal - known, 0.0) / known
                row.append(excess)
        rows.append(row)
    return rows, results


def ask(peer: str, X: Any, task: Task, alpha: float, seconds: float, apart: bool) -> peers.Answer | None:
    if apart:
        return peers.fit_within(seconds, peer, X, task.y, alpha, EPSILON, task.gamma)
    return peers.fit(peer, X, task.y, alpha, EPSILON, task.gamma)


def most_steps(problem: fenchel.Problem, gap: float) -> float:
    """Theorem 2: log2(lambda R(0)) - 2 log2 G + 8 G^2 / (lambda gap) - 4 steps are enough, |slope of the risk| <= G.

    The slopes of these losses are at most 1, so that G = sum_i p_i |x_i| will do.

    >>> p = fenchel.Problem([[1.0], [2.0]], [1.0, -1.0], loss="hinge", alpha=0.5)  # R(0) = 1, G = 1.5
    >>> round(most_steps(p, 0.01), 3)  # -1 - 1.170 + 3600 - 4
    3593.83
    """
    X, alpha = problem.X, problem.regularizer.alpha
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X))
    G, start = float(problem.weights @ lengths), fenchel.certify(problem, np.zeros(problem.d)).primal
    return float(np.log2(alpha * start) - 2.0 * np.log2(G) + 8.0 * G * G / (alpha * gap) - 4.0)


def elapsed(result: fenchel.Result) -> Any:
    """Seconds to the certificate, or where it was cut off."""
    return result.seconds if result.converged else f"> {result.seconds:.3g} (gap {result.certificate.relative_gap:.1e})"


def seconds_of(cell: Any) -> float:
    return float(cell) if isinstance(cell, (int, float)) else float("nan")


def against_rows(task: Task, seconds: float) -> list[list[Any]]:
    """Time of the bundle method on ever larger parts of the rows."""
    n = task.y.size
    sizes = sorted({max(n // 2**k, 50) for k in range(7)})
    found = []
    for size in sizes:
        result = solve(task, AT, Bundle(level=False), seconds, size)
        found.append([task.name, size, elapsed(result), result.n_iter])
    return found


def draw(task: Task, rows: list[list[Any]], results: dict, sizes: list[list[Any]]) -> list[common.Panel]:
    """Time against lambda, time against rows, gap against iterations."""
    alphas = [row[1] for row in rows]
    places = {"bmrm": 2, "fenchel auto": 5, "liblinear": 7, "libsvm": 9}
    times = [common.Curve(name, alphas, [seconds_of(row[k]) for row in rows]) for name, k in places.items()]
    gaps = [
        common.Curve(
            f"lambda = {alpha:g}",
            [p.iteration for p in result.trace],
            common.running_best([p.primal for p in result.trace])
            - np.maximum.accumulate([p.dual for p in result.trace]),
        )
        for alpha, result in results.items()
    ]
    chunk = [common.Curve("bmrm", [row[1] for row in sizes], [seconds_of(row[2]) for row in sizes])]
    figure = "figure 3" if isinstance(task.loss, Hinge) else "figure 4"
    found = [
        common.Panel(f"{figure}: {task.name}", times, "lambda", "seconds", "xy"),
        common.Panel(f"figure 7: {task.name}", gaps, "iterations", "P - D", "y"),
    ]
    return [*found, common.Panel(f"figure 5: {task.name}", chunk, "rows", "seconds", "xy")]


def main(argv: Sequence[str] | None = None) -> None:
    names = [*CLASSIFICATION, *REGRESSION]
    parser = common.arguments(
        __doc__,
        data={"nargs": "+", "default": names, "choices": names},
        seconds={"type": float, "default": 20.0, "help": "for each fit"},
        rank={"type": int, "default": 100, "help": "most features of the incomplete Cholesky factorisation"},
        lambdas={"type": float, "nargs": "+", "default": list(LAMBDAS)},
    )
    args = parser.parse_args(argv)
    lambdas, seconds, rank = ([1.0, 1e-2], 0.5, 20) if args.small else (args.lambdas, args.seconds, args.rank)
    rows: list[list[Any]] = []
    sizes: list[list[Any]] = []
    panels: list[common.Panel] = []
    for name in ["classes", "values"] if args.small else args.data:
        task = prepare(name, rank, args.small)
        for solver in (Bundle(level=False), "auto"):  # compile first
            fenchel.solve(task.problem(lambdas[0], 1000), solver=solver, tol=1e-2, max_iter=20)
        new_rows, results = against_lambda(task, lambdas, seconds, apart=not args.small)
        new_sizes = against_rows(task, seconds)
        panels += draw(task, new_rows, results, new_sizes)
        rows += new_rows
        sizes += new_sizes
    header = [
        "data",
        "lambda",
        "bmrm s",
        "iterations",
        "Theorem 2",
        "auto s",
        "its solver",
        "liblinear s",
        "its excess",
    ]
    header.append("libsvm s")
    text = f"# Seconds against lambda (relative gap {TOL:g})\n\n" + common.markdown(header, rows)
    text += f"\n\n# Seconds of bmrm against rows (lambda = {AT:g})\n\n"
    text += common.markdown(["data", "rows", "seconds", "iterations"], sizes)
    common.write(args.out, "bmrm_comparison", text)
    common.plot(args.out, "bmrm_comparison", panels)


if __name__ == "__main__":
    main()
