"""Paper 001, figures 1 and 2, Tables 1 and 2: the weighted Usunier loss with rho_j = max(0, 6 - j) / 15.

Figures   gap P - D and objective error P - P* (best values so far) against iterations and seconds at alpha = 1/n, for the
          loss itself (figure 1) and its Moreau envelope with gamma = 0.01 (figure 2). P* is known from block dual ascent.
Table 2   seconds for one iteration
Table 1   top-1, 3, 5 and 10 errors of the other half of the rows: mean (standard deviation) over random halves, alpha from
          {0.01, 0.1, 1, 10}/n for each half and method by the top-1 error in --folds of five folds of the half

LSFW and StdFW are Frank-Wolfe on the dual with line search and with 2 / (t + 1), towards vertices as in the paper, PG is the
projected subgradient method with its 1 / t; one of their iterations is a pass over the rows, as is one of block dual ascent,
which ends at a relative gap of 1e-6 in the figures and 1e-4 in the tables. Rows are scaled to unit length. Of the paper's
sets Caltech101 silhouettes and News20 are here, from other files (16 x 16 grey levels out of 28 x 28; 1024 singular vectors
of 20news-bydate), MNIST, USPS and letter stand in for the deep features.

    python -m experiments.usunier_frank_wolfe [--small] [--data usps ...] [--rows 4000] [--iterations 300] [--halves 3]
        [--folds 1] [--parts figures table] [--cached]

The defaults are the paper's: all rows, 1000 iterations, 20 halves, five folds. That is half an hour for the figures and days
for Table 1; `make experiments` has smaller numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fenchel
from experiments import common, data
from fenchel.losses import Moreau
from fenchel.metrics import top_k_error
from fenchel.multiclass import WeightedUsunier
from fenchel.solvers import BlockAscent, FrankWolfe, ProjectedSubgradient

RHO = np.maximum(0.0, 6.0 - np.arange(1, 6)) / 15.0
LOSSES: dict[str, Any] = {"": WeightedUsunier(RHO), "Moreau": Moreau(WeightedUsunier(RHO), 0.01)}
SOLVERS: dict[str, Any] = {
    "LSFW": FrankWolfe(direction="vertices"), "StdFW": FrankWolfe(step="schedule", direction="vertices"),
    "PG": ProjectedSubgradient(schedule="1/t"), "block ascent": BlockAscent(),
}  # fmt: skip
SETS: dict[str, Callable[[], data.Classes]] = {
    "caltech101": data.caltech101, "news20": data.news20_counts, "mnist": data.mnist, "usps": data.usps,
    "letter": data.letter,
}  # fmt: skip
TOP = (1, 3, 5, 10)
PAPER_ERRORS = {
    "caltech101": {
        "PG": "0.469 0.307 0.257 0.183", "StdFW": "0.481 0.317 0.266 0.192", "LSFW": "0.467 0.300 0.244 0.169",
    },
    "news20": {
        "PG": "0.348 0.142 0.083 0.031", "StdFW": "0.348 0.143 0.084 0.052", "LSFW": "0.339 0.136 0.080 0.028",
    },
}  # fmt: skip
PAPER_SECONDS = {
    "caltech101": {"PG": 0.453, "StdFW": 0.589, "LSFW": 0.814}, "news20": {"PG": 0.548, "StdFW": 0.436, "LSFW": 0.531},
}  # fmt: skip
STRENGTHS = (0.01, 0.1, 1.0, 10.0)  # alpha n
FOLDS = 5
PARTS = ("figures", "table")
LEVELS = (1e-1, 1e-2, 1e-3, 1e-4)


def prepare(name: str, rows: int | None) -> data.Classes:
    """Rows of unit length in a random order."""
    classes = data.small_classes() if name == "small" else SETS[name]().sample(rows)
    if name == "news20":
        classes = data.reduced(classes)
    length = np.linalg.norm(classes.X, axis=1, keepdims=True)
    return data.Classes(classes.X / np.where(length > 0.0, length, 1.0), classes.y)


def half(classes: data.Classes, seed: int) -> tuple[data.Classes, data.Classes]:
    """A random half of the rows, with all classes, and the other one."""
    order = np.random.default_rng(seed).permutation(classes.y.size)
    cut = classes.y.size // 2
    return tuple(data.Classes(classes.X[part], classes.y[part]) for part in (order[:cut], order[cut:]))  # type: ignore[return-value]


def fit(
    part: data.Classes, m: int, loss: Any, strength: float, solver: Any, tol: float, iterations: int, callback: Any = None
) -> fenchel.Result:  # fmt: skip
    """At alpha = strength / n. Classes without a row in the part are kept by a row of zeros that weighs nothing."""
    lost = np.setdiff1d(np.arange(m), part.y)
    X = np.vstack([part.X, np.zeros((lost.size, part.X.shape[1]))])
    weight = np.repeat([1.0, 0.0], [part.y.size, lost.size])
    y = np.append(part.y, lost)
    problem = fenchel.Problem(X, y, loss=loss, alpha=strength / part.y.size, sample_weight=weight)
    return fenchel.solve(problem, solver=solver, tol=tol, max_iter=iterations, callback=callback)


# ------------------------------------------------------------------------------------------------ figures and Table 2


def convergence(train: data.Classes, m: int, loss: Any, iterations: int) -> dict[str, Any]:
    """Of every solver, what the trace says; block dual ascent stops at a relative gap of 1e-6."""
    found = {}
    for name, solver in SOLVERS.items():
        fit(train, m, loss, 1.0, solver, 1e-6, 2)  # compile
        result = fit(train, m, loss, 1.0, solver, 1e-6, 10 * iterations if name == "block ascent" else iterations)
        trace = result.trace
        found[name] = {
            "iteration": [p.iteration for p in trace], "seconds": [p.seconds for p in trace],
            "primal": common.running_best([p.primal for p in trace]).tolist(),
            "dual": np.maximum.accumulate([p.dual for p in trace]).tolist(),
            "status": result.status.name, "per iteration": trace[-1].seconds / max(trace[-1].iteration, 1),
        }  # fmt: skip
    return found


def reached(run: dict[str, Any], level: float) -> float | None:
    """Seconds until the gap was at most `level`."""
    gap = np.subtract(run["primal"], run["dual"])
    below = np.flatnonzero(gap <= level)
    return run["seconds"][below[0]] if below.size else None


def convergence_rows(name: str, kind: str, runs: dict[str, Any]) -> list[list[Any]]:
    best = max(run["dual"][-1] for run in runs.values())  # P* is between this and the smallest P
    rows = []
    for solver, run in runs.items():
        error, gap = run["primal"][-1] - best, run["primal"][-1] - run["dual"][-1]
        paper = None if kind else PAPER_SECONDS.get(name, {}).get(solver)
        times = [reached(run, level) for level in LEVELS]
        last = f"{run['iteration'][-1]} {run['status']}"
        rows.append([name, kind or "-", solver, last, gap, error, *times, run["per iteration"], paper])
    return rows


def panels(name: str, kind: str, runs: dict[str, Any]) -> list[common.Panel]:
    """Gap and error against iterations, gap against seconds."""
    best = max(run["dual"][-1] for run in runs.values())
    gaps = {s: np.subtract(run["primal"], run["dual"]) for s, run in runs.items()}
    title = f"figure {2 if kind else 1}: {name}"
    by_iteration = [common.Curve(s, run["iteration"], gaps[s]) for s, run in runs.items()]
    errors = [common.Curve(s, run["iteration"], np.subtract(run["primal"], best)) for s, run in runs.items()]
    by_time = [common.Curve(s, run["seconds"], gaps[s]) for s, run in runs.items()]
    return [
        common.Panel(title, errors, "iterations", "P - D*", "xy"),
        common.Panel(title, by_iteration, "iterations", "P - D", "xy"),
        common.Panel(title, by_time, "seconds", "P - D", "xy"),
    ]


# ------------------------------------------------------------------------------------------------------------ Table 1


def errors(
    train: data.Classes, test: data.Classes, m: int, strength: float, solver: Any, iterations: int
) -> list[float]:
    """Top-k errors of the test part, of the last iterate, as in the paper: a Result has the one with the smallest P."""
    last: list[np.ndarray] = []

    def keep(state: Any) -> None:
        last[:] = [state.coef]

    result = fit(train, m, LOSSES[""], strength, solver, 1e-4, iterations, keep)
    W, _ = result.problem.present(last[0], 0.0)
    Z = test.X @ W.T
    return [top_k_error(test.y, Z, k) for k in TOP]


def choose(train: data.Classes, m: int, solver: Any, iterations: int, folds: int) -> float:
    """The strength with the smallest top-1 error in so many of five folds."""
    part = np.arange(train.y.size) % FOLDS  # the rows are in a random order

    def error(strength: float, fold: int) -> float:
        rest, held = (data.Classes(train.X[some], train.y[some]) for some in (part != fold, part == fold))
        return errors(rest, held, m, strength, solver, iterations)[0]

    return min(STRENGTHS, key=lambda strength: np.mean([error(strength, fold) for fold in range(folds)]))


def recognition(classes: data.Classes, m: int, halves: int, iterations: int, folds: int) -> dict[str, Any]:
    found: dict[str, Any] = {name: {"strengths": [], "errors": []} for name in SOLVERS}
    for seed in range(halves):
        train, test = half(classes, seed)
        for name, solver in SOLVERS.items():
            strength = choose(train, m, solver, iterations, folds)
            found[name]["strengths"].append(strength)
            found[name]["errors"].append(errors(train, test, m, strength, solver, iterations))
    return found


def recognition_rows(name: str, found: dict[str, Any]) -> list[list[Any]]:
    rows = []
    for solver, run in found.items():
        mean, deviation = np.mean(run["errors"], axis=0), np.std(run["errors"], axis=0)
        ours = [f"{a:.3f} ({b:.3f})" for a, b in zip(mean, deviation, strict=True)]
        paper = PAPER_ERRORS.get(name, {}).get(solver, "- - - -").split()
        chosen = " ".join(f"{strength:g}" for strength in sorted(set(run["strengths"])))
        rows.append([name, solver, chosen, *ours, *paper])
    return rows


# --------------------------------------------------------------------------------------------------------------- main


def examine(
    name: str, rows: int | None, iterations: int, halves: int, folds: int, parts: Sequence[str]
) -> dict[str, Any]:
    """The figures and the table of one data set, or one of them."""
    classes = prepare(name, rows)
    m, train = int(classes.y.max()) + 1, half(classes, 0)[0]
    found: dict[str, Any] = {"shape": [*train.X.shape, m]}
    for part in parts:
        began = time.perf_counter()
        if part == "figures":
            found[part] = {kind: convergence(train, m, loss, iterations) for kind, loss in LOSSES.items()}
        else:
            found[part] = recognition(classes, m, halves, iterations, folds)
        found[f"minutes, {part}"] = (time.perf_counter() - began) / 60.0
    return found


def main(argv: Sequence[str] | None = None) -> None:
    parser = common.arguments(
        __doc__,
        data={"nargs": "+", "default": list(SETS), "choices": list(SETS)},
        rows={"type": int, "default": 0, "help": "rows drawn from a data set, half of them to learn from; 0: all"},
        iterations={"type": int, "default": 1000, "help": "of every method but block dual ascent in the figures"},
        halves={"type": int, "default": 20, "help": "random halves of Table 1"},
        folds={"type": int, "default": FOLDS, "choices": range(1, FOLDS + 1), "help": "of five, tried to choose alpha"},
        parts={"nargs": "+", "default": list(PARTS), "choices": list(PARTS)},
        cached=common.CACHED,
    )
    args = parser.parse_args(argv)
    iterations, halves, folds = (20, 2, 1) if args.small else (args.iterations, args.halves, args.folds)
    found = common.Kept(args, "usunier_frank_wolfe")
    for name in ["small"] if args.small else args.data:
        missing = [part for part in args.parts if part not in found.get(name, {})]
        if missing:
            found[name] = found.get(name, {}) | examine(name, args.rows or None, iterations, halves, folds, missing)
            found.write()
    report(args, found)


def report(args: Any, found: dict[str, Any]) -> None:
    sizes, timed, judged, drawn = [], [], [], []
    for name, results in found.items():
        sizes.append([name, *results["shape"], *(results.get(f"minutes, {part}") for part in PARTS)])
        for kind, runs in results.get("figures", {}).items():
            timed += convergence_rows(name, kind, runs)
            drawn += panels(name, kind, runs)
        judged += recognition_rows(name, results.get("table", {}))
    levels = [f"s to {level:g}" for level in LEVELS]
    header = ["data", "loss", "solver", "iterations", "P - D", "P - D*", *levels, "s/iteration", "paper's"]
    text = "# Weighted Usunier loss, alpha = 1/n: gap, error and seconds\n\n"
    text += (
        common.markdown(["data", "rows", "features", "classes", *(f"minutes, {part}" for part in PARTS)], sizes)
        + "\n\n"
    )
    text += common.markdown(header, timed) + "\n\n# Top-k errors of the other half\n\n"
    text += common.markdown(
        ["data", "solver", "alpha n", *(f"top-{k}" for k in TOP), *(f"paper's top-{k}" for k in TOP)], judged
    )
    common.write(args.out, "usunier_frank_wolfe", text)
    if drawn:
        common.plot(args.out, "usunier_frank_wolfe", drawn)


if __name__ == "__main__":
    main()
