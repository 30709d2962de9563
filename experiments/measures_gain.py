"""What it gains to optimise the measure that a task is judged by, on the test part.

Classification  ROC area, F1 and precision@k of one class against the rest, on w8a, a9a, ijcnn1 and Reuters (acq), of the
                loss that bounds the measure, against the plain hinge. The hinge's F1 is given twice: as it is, and with the
                threshold moved to where F1 is best on the held-out rows. k is half of the positives that the training part
                leads to expect. Rows have a constant 1.
Ranking         NDCG@10 on MQ2008 (paper 002, section 3.2), of the loss that bounds NDCG@10 by query, against least squares
                on the relevances, the hinge of relevant against irrelevant, and ROC area by query.

The same grid of alpha for all; alpha is chosen for every loss and every measure apart, on a third of the training part
(queries stay whole), and the loss is then solved anew on all of it. Mean and standard deviation over random draws of at most
--rows training rows (MQ2008: of the third that is held out). The relative gap asked for is 1e-5: these bounds can be nearly
as large at the optimum as at w = 0, so that at 1e-3 no scores at all would pass for a solution. Lengths of w that are 0 mean
that the certificate holds at w = 0: no w has a bound that is lower by more than 1e-5 of it. The value then is that of a
random order, and whether the optimum is exactly 0 is not said.

    python -m experiments.measures_gain [--small] [--data a9a mq2008 ...] [--rows 4000] [--draws 3] [--cached]

About ten minutes. Papers 001 and 002 have no figures for these.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

import fenchel
from experiments import common, data
from fenchel.losses import Hinge, Squared
from fenchel.measures import NDCG, FBeta, Measure, PrecisionAtK, ROCArea
from fenchel.metrics import ndcg

SETS: dict[str, Callable[[], data.Binary]] = {
    "w8a": data.w8a, "a9a": data.a9a, "ijcnn1": data.ijcnn1, "reuters acq": data.reuters_topic,
}  # fmt: skip
ALPHAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
TOL = 1e-5
RANKING = "mq2008"


# ----------------------------------------------------------------------------------------------------------- measures


def f1(y: np.ndarray, z: np.ndarray, threshold: float = 0.0) -> float:
    """2 a / (called positive + positive), a those that are both.

    >>> f1(np.array([1, -1, 1, -1]), np.array([2.0, 1.0, -1.0, -1.0]))
    0.5
    """
    called, positive = z > threshold, y > 0
    return float(2.0 * np.sum(called & positive) / (called.sum() + positive.sum()))


def best_threshold(y: np.ndarray, z: np.ndarray) -> float:
    """Where F1 is largest.

    >>> best_threshold(np.array([1, -1, 1, -1]), np.array([2.0, 1.0, 1.5, -1.0]))
    1.25
    """
    order = np.argsort(-z, kind="stable")
    hits = np.cumsum(y[order] > 0)
    value = 2.0 * hits / (np.arange(1, y.size + 1) + hits[-1])
    value[:-1][z[order][:-1] == z[order][1:]] = -1.0  # no threshold lies between equal scores
    k = int(np.argmax(value))
    return float(0.5 * (z[order][k] + z[order][k + 1])) if k + 1 < y.size else -np.inf


def precision(y: np.ndarray, z: np.ndarray, k: int) -> float:
    """The share of positives among the k highest, the mean over the orders of ties.

    >>> precision(np.array([1, -1, 1]), np.array([1.0, 0.0, 0.0]), 2)
    0.75
    """
    edge = np.partition(z, z.size - k)[z.size - k]
    above, level = z > edge, z == edge
    share = (k - above.sum()) / level.sum()
    return float(((y[above] > 0).sum() + share * (y[level] > 0).sum()) / k)


# ------------------------------------------------------------------------------------------------- fitting and judging


class Part(NamedTuple):
    """Rows to learn from or to certifier by."""

    X: Any
    y: np.ndarray
    groups: np.ndarray | None = None


class Fitter:
    """Solved problems by loss, alpha and part: three measures share the hinge."""

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.known: dict[Any, tuple[np.ndarray, float, str]] = {}
        self.compiled: set[type] = set()
        self.short: list[str] = []  # those that the clock cut off

    def fit(self, loss: Any, part: Part, alpha: float) -> tuple[np.ndarray, float, str]:
        """(weights, seconds, name of the solver)."""
        key = (repr(loss), alpha, id(part))
        if key not in self.known:
            groups = part.groups if isinstance(loss, Measure) else None
            targets = part.y if isinstance(loss, (NDCG, Squared)) else data.signs(part.y > 0)
            problem = fenchel.Problem(part.X, targets, loss=loss, alpha=alpha, groups=groups)
            if type(loss) not in self.compiled:  # outside of the clock
                fenchel.solve(problem, tol=TOL, max_iter=3)
                self.compiled.add(type(loss))
            result = fenchel.solve(problem, tol=TOL, max_time=self.seconds)
            if not result.converged:
                self.short.append(f"{loss} at {alpha:g}: {result.certificate.relative_gap:.1e}")
            self.known[key] = (result.coef, result.seconds, result.solver)
        return self.known[key]


def choose(
    fitter: Fitter, loss_of: Callable[[Part], Any], rest: Part, held: Part, certifier: Any
) -> tuple[float, float]:
    """(alpha, threshold) with the best value on the held-out part; certifier gives (value, threshold)."""
    found = {}
    for alpha in ALPHAS:
        found[alpha] = certifier(held, held.X @ fitter.fit(loss_of(rest), rest, alpha)[0])
    best = max(found, key=lambda alpha: found[alpha][0])
    return best, found[best][1]


def examine(fitter: Fitter, parts: tuple[Part, Part, Part, Part], loss_of: Any, certifier: Any) -> dict[str, Any]:
    """One cell: chosen on (rest, held), learned on train, judged on test. `certifier(part, z, threshold)`."""
    rest, held, train, test = parts
    alpha, threshold = choose(fitter, loss_of, rest, held, certifier)
    w, seconds, solver = fitter.fit(loss_of(train), train, alpha)
    cell = {"value": certifier(test, test.X @ w, threshold)[0], "alpha": alpha, "length": float(np.linalg.norm(w))}
    return cell | {"seconds": seconds, "solver": solver}


def binary_cells(share: float) -> dict[str, dict[str, tuple[Any, Any]]]:
    """measure -> learner -> (its loss for a part, its certifier); `share` of the rows are positive."""

    def depth(part: Part) -> int:
        return max(1, round(0.5 * share * part.y.size))

    def by_area(part: Part, z: np.ndarray, _: float | None = None) -> tuple[float, float]:
        return float(roc_auc_score(part.y, z)), 0.0

    def by_f1(part: Part, z: np.ndarray, _: float | None = None) -> tuple[float, float]:
        return f1(part.y, z), 0.0

    def by_moved_f1(part: Part, z: np.ndarray, threshold: float | None = None) -> tuple[float, float]:
        threshold = best_threshold(part.y, z) if threshold is None else threshold
        return f1(part.y, z, threshold), threshold

    def by_precision(part: Part, z: np.ndarray, _: float | None = None) -> tuple[float, float]:
        return precision(part.y, z, depth(part)), 0.0

    def hinge(_: Part) -> Any:
        return Hinge()

    return {
        "ROC area": {"hinge": (hinge, by_area), "measure": (lambda _: ROCArea(), by_area)},
        "F1": {
            "hinge": (hinge, by_f1), "hinge, threshold moved": (hinge, by_moved_f1),
            "measure": (lambda _: FBeta(), by_f1),
        },
        "precision@k": {
            "hinge": (hinge, by_precision), "measure": (lambda part: PrecisionAtK(depth(part)), by_precision),
        },
    }  # fmt: skip


def ranking_cells() -> dict[str, dict[str, tuple[Any, Any]]]:
    def certifier(part: Part, z: np.ndarray, _: float | None = None) -> tuple[float, float]:
        return ndcg(part.y, z, part.groups, k=10), 0.0

    losses = {
        "least squares": Squared(), "hinge": Hinge(), "ROC area by query": ROCArea(), "measure": NDCG(10),
    }  # fmt: skip
    return {"NDCG@10": {name: (lambda _, loss=loss: loss, certifier) for name, loss in losses.items()}}


# ---------------------------------------------------------------------------------------------------------- the draws


def binary_parts(sets: data.Binary, rows: int, seed: int) -> tuple[Part, Part, Part, Part]:
    X, X_test = data.with_constant(sets.X), data.with_constant(sets.X_test)
    order = np.random.default_rng(seed).permutation(sets.y.size)[:rows]
    cut = order.size // 3
    held, rest = order[:cut], order[cut:]
    rows_of = [Part(X[part], sets.y[part]) for part in (rest, held, order)]
    return rows_of[0], rows_of[1], rows_of[2], Part(X_test, sets.y_test)


def query_parts(queries: data.Queries, seed: int) -> tuple[Part, Part, Part, Part]:
    X, X_test = (np.hstack([M, np.ones((len(M), 1))]) for M in (queries.X, queries.X_test))
    names = np.random.default_rng(seed).permutation(np.unique(queries.groups))
    held = np.isin(queries.groups, names[: names.size // 3])
    everything = np.ones(queries.y.size, dtype=bool)
    rest, out, train = (Part(X[k], queries.y[k], queries.groups[k]) for k in (~held, held, everything))
    return rest, out, train, Part(X_test, queries.y_test, queries.groups_test)


def gains(name: str, rows: int, draws: int, seconds: float, small: bool) -> dict[str, Any]:
    """measure -> learner -> the cells of all draws."""
    began = time.perf_counter()
    found: dict[str, Any] = {}
    short: list[str] = []
    sets: Any = None
    if name == RANKING:
        sets = data.small_queries() if small else data.mq2008()
    else:
        sets = data.small_binary() if small else SETS[name]()
    for seed in range(draws):
        parts = query_parts(sets, seed) if name == RANKING else binary_parts(sets, rows, seed)
        cells = ranking_cells() if name == RANKING else binary_cells(float(np.mean(parts[2].y > 0)))
        fitter = Fitter(seconds)
        for measure, learners in cells.items():
            for learner, (loss_of, certifier) in learners.items():
                cell = examine(fitter, parts, loss_of, certifier)
                found.setdefault(measure, {}).setdefault(learner, []).append(cell)
        short += fitter.short
    return {"cells": found, "minutes": (time.perf_counter() - began) / 60.0, "cut off": short}


def main(argv: Sequence[str] | None = None) -> None:
    names = [*SETS, RANKING]
    parser = common.arguments(
        __doc__,
        data={"nargs": "+", "default": names, "choices": names},
        rows={"type": int, "default": 4000, "help": "training rows of a draw"},
        draws={"type": int, "default": 3},
        seconds={"type": float, "default": 4.0, "help": "for each fit"},
        cached=common.CACHED,
    )
    args = parser.parse_args(argv)
    rows, draws, seconds = (100, 2, 0.05) if args.small else (args.rows, args.draws, args.seconds)
    found = common.Kept(args, "measures_gain")
    for name in ["w8a", RANKING] if args.small else args.data:
        if name not in found:
            found[name] = gains(name, rows, draws, seconds, args.small)
            found.write()
    report(args, found)


def report(args: Any, found: dict[str, Any]) -> None:
    table, drawn, notes = [], [], []
    for name, results in found.items():
        shown = "generated" if args.small else name
        for measure, learners in results["cells"].items():
            values = {k: 100.0 * np.array([cell["value"] for cell in cells]) for k, cells in learners.items()}
            for learner, cells in learners.items():
                gain = common.spread(list(values["measure"] - values[learner])) if learner != "measure" else None
                alphas = " ".join(f"{cell['alpha']:g}" for cell in cells)
                lengths = " ".join(f"{cell['length']:.2g}" for cell in cells)
                seconds, solver = np.mean([cell["seconds"] for cell in cells]), cells[0]["solver"]
                row = [shown, measure, learner, common.spread(list(values[learner])), gain]
                table.append([*row, alphas, lengths, solver, seconds])
            curves = [common.Curve(k, np.arange(v.size), v) for k, v in values.items()]
            drawn.append(common.Panel(f"{shown}: {measure}", curves, "draw", "%"))
        if results["cut off"]:
            notes.append(f"{shown}: {len(results['cut off'])} fits were cut off, {results['cut off'][0]} ...")
    header = ["data", "measure", "learner", "test %", "gain of the measure", "alphas", "lengths of w", "solver", "s"]
    text = "# What optimising the measure gains on the test part\n\n" + common.markdown(header, table)
    text += "\n\n" + "\n".join(notes)
    common.write(args.out, "measures_gain", text)
    common.plot(args.out, "measures_gain", drawn)


if __name__ == "__main__":
    main()
