"""Solvers of structured hinge losses against each other: the relative gap after so many passes and CPU seconds."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import fenchel
from experiments import common
from fenchel import solvers
from fenchel.selection.requirements import fits

GOALS = (1e-1, 1e-2, 1e-3)
SOLVERS: dict[str, Any] = {
    "BCFW": solvers.BlockFrankWolfe("plain", "uniform", cache=False),
    "BCFW, averaged": solvers.BlockFrankWolfe("plain", "uniform", cache=False, average=True),
    "BCFW, pairwise": solvers.BlockFrankWolfe("pairwise", "uniform", cache=False),
    "BCFW, pairwise, gap sampling": solvers.BlockFrankWolfe("pairwise", "gap", cache=False),
    "BCFW, pairwise, gap sampling, cache": solvers.BlockFrankWolfe("pairwise", "gap", cache=True),
    "n-slack cutting planes": solvers.CuttingPlane(),
    "1-slack cutting planes (bundle)": solvers.Bundle(level=False),
    "Frank-Wolfe": solvers.FrankWolfe(),
    "extragradient, blocks": solvers.Extragradient(),
    "extragradient, blocks, entropic": solvers.Extragradient("entropic"),
    "extragradient, all at once": solvers.Extragradient(blocks=False),
    "Pragam": solvers.Pragam(),
}
Curves = dict[str, list[tuple[float, float, float]]]


def race(problem: Any, seconds: float) -> Curves:
    """(passes, CPU seconds, relative gap so far) of every solver that fits, which has this time limit."""
    curves = {}
    for name, solver in SOLVERS.items():
        if not fits(solver, problem):
            continue
        fenchel.solve(problem, solver=solver, max_iter=1)  # compiled
        used: dict[int, float] = {}

        def watch(state: Any, used: dict[int, float] = used) -> None:
            used[state.iteration] = time.process_time()

        began = time.process_time()
        found = fenchel.solve(problem, solver=solver, tol=1e-4, max_time=seconds, callback=watch)
        primal, dual, curve = np.inf, -np.inf, []
        for point in found.trace:
            primal, dual = min(primal, point.primal), max(dual, point.dual)
            if np.isfinite(dual) and point.iteration in used:
                curve.append((point.passes, used[point.iteration] - began, (primal - dual) / primal))
        curves[name] = curve
    return curves


def reached(curve: list[tuple[float, float, float]], goal: float, what: int) -> float | None:
    """Passes (0) or CPU seconds (1) to a gap."""
    return next((point[what] for point in curve if point[2] <= goal), None)


def race_table(races: dict[str, Curves]) -> str:
    """Passes and CPU seconds of every solver to three gaps."""
    rows = []
    for name, curves in races.items():
        for solver, curve in curves.items():
            goals = [v for goal in GOALS for v in (reached(curve, goal, 0), reached(curve, goal, 1))]
            rows.append([name, solver, *goals, curve[-1][2] if curve else None])
    header = [f"{what} to {goal:.0e}" for goal in GOALS for what in ("passes", "CPU seconds")]
    return common.markdown(["data", "solver", *header, "last gap"], rows)


def race_panels(title: str, curves: Curves) -> list[common.Panel]:
    """The gap by passes and by CPU seconds."""
    panels = []
    for what, label in ((0, "passes"), (1, "CPU seconds")):
        lines = [common.Curve(k, [p[what] for p in c], [p[2] for p in c]) for k, c in curves.items() if c]
        panels.append(common.Panel(title, lines, label, "relative gap", "xy"))
    return panels
