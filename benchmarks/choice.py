"""Whether `auto` chooses well: `python -m benchmarks.choice [--tasks ...] [--tol 1e-3 1e-6]`.

Every solver that fits a task beside `auto`; the last column is auto's time over that of the best single solver.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import fenchel
from benchmarks.entrants import Fenchel
from benchmarks.table import machine
from benchmarks.tasks import Task, select
from fenchel import solvers
from fenchel.selection import requirements

FAR = 3.0  # times auto's least: a solver slower than that in two rounds (the first may compile) is not run again


def seconds(task: Task, solver: str, tol: float, limit: float) -> float | None:
    """Time to a certificate; None if there is none within the limit."""
    began = time.perf_counter()
    result = fenchel.solve(Fenchel().problem(task), solver=solver, tol=tol, max_time=limit)
    return time.perf_counter() - began if result.converged else None


def race(task: Task, names: list[str], tol: float, limit: float, repeat: int) -> dict[str, float]:
    """Least times of `auto` and of the solvers that arrive, run in turn, so that all have the same machine."""
    seconds(task, "auto", tol, 60.0)  # compiles
    first = seconds(task, "auto", tol, 60.0)
    if first is None:
        return {}
    limit = min(limit, 10.0 * first + 0.5)
    times, racing = {"auto": first}, list(names)
    for name in names:
        fenchel.solve(Fenchel().problem(task), solver=name, tol=tol, max_iter=2)  # compiles most
    for k in range(repeat):
        for name in ["auto", *racing]:
            took = seconds(task, name, tol, 60.0 if name == "auto" else limit)
            times[name] = min(times.get(name, np.inf), np.inf if took is None else took)
        racing = [name for name in racing if k == 0 or times[name] <= FAR * times["auto"]]
    return times


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="*")
    parser.add_argument("--tol", nargs="*", type=float, default=[1e-3, 1e-6])
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--limit", type=float, default=5.0, help="seconds per solver, and ten times auto's at most")
    parser.add_argument("--alphas", nargs="*", type=float, default=[1.0], help="factors of each task's alpha")
    options = parser.parse_args(argv)
    print(f"{machine()}\n\n| task | alpha | tol | auto, ms | chose | best single solver, ms | its name | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for spec in select(options.tasks, tuple(options.alphas)):
        task = spec.load()
        problem = Fenchel().problem(task)
        names = [n for n, cls in solvers.SOLVERS.items() if requirements.fits(cls, problem) and not cls.slow]
        for tol in options.tol:
            times = race(task, names, tol, options.limit, options.repeat)
            auto = times.pop("auto", None)
            chose = fenchel.solve(problem, tol=tol, max_time=60.0).solver
            best = min(times, key=times.__getitem__, default="-")
            cells = [f"{1e3 * auto:.1f}" if auto else "-", chose]
            cells += [f"{1e3 * times[best]:.1f}", best] if times else ["-", "-"]
            cells.append(f"{auto / times[best]:.2f}" if auto and times else "-")
            print(f"| {task.name} | {task.alpha:g} | {tol:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
