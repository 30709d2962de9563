"""Whether `auto` chooses well: `python -m benchmarks.choice [--tasks ...] [--tol 1e-3 1e-6]`.

Every solver that fits a task beside `auto`; the last column is auto's time over that of the best single solver.
"""

from __future__ import annotations

import argparse
import time

import fenchel
from benchmarks.entrants import Fenchel
from benchmarks.table import machine
from benchmarks.tasks import Task, select
from fenchel import compat, solvers


def seconds(task: Task, solver: str, tol: float, limit: float, repeat: int) -> float | None:
    """Least time to a certificate; None if there is none within the limit."""
    found = []
    for k in range(repeat + 1):  # the first one compiles
        began = time.perf_counter()
        result = fenchel.solve(Fenchel().problem(task), solver=solver, tol=tol, max_time=limit)
        if not result.converged:
            return None
        if k:
            found.append(time.perf_counter() - began)
    return min(found)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="*")
    parser.add_argument("--tol", nargs="*", type=float, default=[1e-3, 1e-6])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--limit", type=float, default=5.0, help="seconds per solver, and ten times auto's at most")
    parser.add_argument("--alphas", nargs="*", type=float, default=[1.0], help="factors of each task's alpha")
    options = parser.parse_args(argv)
    print(f"{machine()}\n\n| task | alpha | tol | auto, ms | chose | best single solver, ms | its name | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for spec in select(options.tasks, tuple(options.alphas)):
        task = spec.load()
        problem = Fenchel().problem(task)
        names = [n for n, cls in solvers.SOLVERS.items() if compat.fits(cls, problem) and not cls.slow]
        for tol in options.tol:
            auto = seconds(task, "auto", tol, 60.0, options.repeat)
            chose = fenchel.solve(problem, tol=tol, max_time=60.0).solver
            limit = min(options.limit, 10.0 * (auto or options.limit) + 0.5)
            times = {n: t for n in names if (t := seconds(task, n, tol, limit, options.repeat)) is not None}
            best = min(times, key=times.__getitem__, default="-")
            cells = [f"{1e3 * auto:.1f}" if auto else "-", chose]
            cells += [f"{1e3 * times[best]:.1f}", best] if times else ["-", "-"]
            cells.append(f"{auto / times[best]:.2f}" if auto and times else "-")
            print(f"| {task.name} | {task.alpha:g} | {tol:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
