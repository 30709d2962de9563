"""Paper 003, figures 2-7: duality gap and break-even point per epoch on two topics of Reuters, and what changes them.

Figures 2 and 3  LM-Perc, LM-NWin and Spars on "acq" and on "trade"
Figure 4         LM-Perc with a share t of the exact step. t = 10 is rule (23) with rate 10 / mean |x|^2, which is the paper's
                 tenfold step for a row of mean length: a solver that must not lose ground takes no such steps
Figures 5 and 6  Spars and LM-UWin with rule (23) and learning rates from 0.0001 to 0.1
Figure 7         augmented Lagrangian for a free intercept, mu = 1, with rates eta of the multiplier. It is not the paper's
                 run: ours takes whole steps in shuffled blocks of rows, the paper's a tenth of a step in the given order, and
                 its panel of the constraint's violation is not drawn. What is plotted is
                 the gap of the repaired dual point: the paper's own curve, at a fixed intercept, is no certificate

Rows in their given order (but for figure 7), 200 epochs. The gap P - D, 1 at the start, is evaluated ever more rarely, the
break-even point after every epoch. Lambda is what cross-validation chose in table2_reuters.

    python -m experiments.figures_reuters [--small] [--figures "figure 2" ...]

A few minutes of one core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import fenchel
from experiments import common, data
from experiments.algorithms import EPOCHS, LARGE_MARGIN, RATE
from fenchel.solvers import DualAscent, Solver
from fenchel.solvers.augmented_lagrangian.solver import AugmentedLagrangian

LAMBDA = {"LM-Perc": 0.003, "LM-UWin": 1e-4, "LM-NWin": 1e-4, "Spars": 0.001}
RATES = (0.0001, 0.001, 0.01, 0.1)
SHARES = (0.01, 0.1, 1.0)


class Run(NamedTuple):
    """One curve: an algorithm on a topic."""

    label: str
    method: str
    solver: Solver | Callable[[Any], Solver]  # or a function of the rows
    free_intercept: bool = False


def gradient(rate: float) -> DualAscent:
    return DualAscent(step="explicit", rate=rate, order="cyclic")


def tenfold(X: Any) -> DualAscent:
    return gradient(10.0 * X.shape[0] / float(X.multiply(X).sum()))


TOO_LONG = Run("LM-Perc, t = 10", "LM-Perc", tenfold)
FIGURES: dict[str, tuple[str, list[Run]]] = {
    "figure 2": ("acq", [Run(name, name, LARGE_MARGIN[name].paper) for name in ("LM-Perc", "LM-NWin", "Spars")]),
    "figure 3": ("trade", [Run(name, name, LARGE_MARGIN[name].paper) for name in ("LM-Perc", "LM-NWin", "Spars")]),
    "figure 4": (
        "trade",
        [*(Run(f"LM-Perc, t = {t:g}", "LM-Perc", DualAscent(order="cyclic", damping=t)) for t in SHARES), TOO_LONG],
    ),
    "figure 5": ("trade", [Run(f"Spars, rate {r:g}", "Spars", gradient(r)) for r in RATES]),
    "figure 6": ("trade", [Run(f"LM-UWin, rate {r:g}", "LM-UWin", gradient(r)) for r in RATES]),
    "figure 7": (
        "trade",
        [
            Run(f"eta = {eta:g}", "LM-Perc", AugmentedLagrangian(mu=1.0, eta=eta), True)
            for eta in (0.01, 0.1, 1.0, 10.0)
        ],
    ),
}


class Curves(NamedTuple):
    """What one run leaves behind."""

    epochs: np.ndarray
    gap: np.ndarray
    points: np.ndarray  # break-even, in percent, after every epoch
    status: str


def follow(run: Run, topics: data.Topics, topic: str, epochs: int) -> Curves:
    """Solve for so many epochs, looking at the test part after each."""
    c = topics.names.index(topic)
    X, X_test = (topics.X[:, :-1], topics.X_test[:, :-1]) if run.free_intercept else (topics.X, topics.X_test)
    regularizer = LARGE_MARGIN[run.method].regularizer(LAMBDA[run.method], X.shape[1])
    y = data.signs(topics.has[:, c])
    problem = fenchel.Problem(X, y, loss="hinge", regularizer=regularizer, fit_intercept=run.free_intercept)

    def percent(w: np.ndarray, b: float) -> float:
        if not np.isfinite(w).all():
            return float("nan")
        return 100.0 * common.break_even(X_test @ w, topics.has_test[:, c]).value

    history = common.History(percent)
    solver = run.solver if isinstance(run.solver, Solver) else run.solver(X)
    result = fenchel.solve(problem, solver=solver, tol=1e-12, max_iter=epochs, callback=history)
    gaps = [point.primal - point.dual for point in result.trace]
    return Curves(
        np.array([p.iteration for p in result.trace]), np.array(gaps), np.array(history.values), result.status.name
    )


def main(argv: Sequence[str] | None = None) -> None:
    args = common.arguments(
        __doc__, figures={"nargs": "+", "default": list(FIGURES), "choices": list(FIGURES)}
    ).parse_args(argv)
    topics, epochs = (data.small_topics(), 15) if args.small else (data.reuters(), EPOCHS)
    rows: list[list[Any]] = []
    panels = []
    for figure in args.figures:
        topic, runs = FIGURES[figure]
        curves = {run.label: follow(run, topics, topic, epochs) for run in runs}
        panels += [
            common.Panel(
                f"{figure}: {topic}", [common.Curve(k, c.epochs, c.gap) for k, c in curves.items()],
                "epoch", "P - D", log="y",
            ),
            common.Panel(
                f"{figure}: {topic}", [common.Curve(k, np.arange(len(c.points)), c.points) for k, c in curves.items()],
                "epoch", "break-even point (%)",
            ),
        ]  # fmt: skip
        rows += [row(figure, topic, label, found) for label, found in curves.items()]
    header = [
        "figure",
        "topic",
        "run",
        "gap after 10",
        "last gap",
        "epochs",
        "BEP after 5",
        "last BEP",
        "best BEP",
        "end",
    ]
    rate = f"Learning rate {RATE} where none is named. The gap at the start is 1."
    common.write(args.out, "figures_reuters", f"# Convergence on Reuters\n\n{rate}\n\n" + common.markdown(header, rows))
    common.plot(args.out, "figures_reuters", panels, columns=2)


def row(figure: str, topic: str, label: str, found: Curves) -> list[Any]:
    early = found.gap[np.searchsorted(found.epochs, 10, side="right") - 1]
    points = found.points
    return [
        figure, topic, label, float(early), float(found.gap[-1]), len(points) - 1,
        float(points[min(5, len(points) - 1)]), float(points[-1]), float(np.nanmax(points)), found.status,
    ]  # fmt: skip


if __name__ == "__main__":
    main()
