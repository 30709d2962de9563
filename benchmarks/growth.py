"""How time grows with the data: `python -m benchmarks.growth [--repeat N]`.

A fixed number of passes or steps on scaled copies of generated data; the slope of log time against log size should be 1 for
the number of stored values, whichever of rows, columns and values per row makes it grow. Also the memory that a whole solve
adds, relative to X.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import fenchel
from benchmarks.bandwidth import stored_bytes
from benchmarks.data_sets import noisy_signs
from benchmarks.table import machine
from fenchel import solvers

FACTORS = (1, 2, 4, 8, 16)
STEPS = 8  # few enough that none is at the rounding level: there certificates are tried again and again, which are no passes
MEMORY_STEPS = 20


def sparse(n: int, d: int, per_row: int) -> Any:
    """Rows of equally many values, in columns drawn evenly."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, d, (n, per_row)), axis=1).astype(np.int32)
    X = sp.csr_matrix((rng.random(n * per_row), columns.ravel(), np.arange(0, n * per_row + 1, per_row)), shape=(n, d))
    X.sum_duplicates()
    return X


def dense(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, d))


# What grows, beyond the caches from the first size on, and with what it was measured.
AXES: dict[str, Callable[[int], Any]] = {
    "CSR, rows": lambda k: sparse(100_000 * k, 500, 20),
    "CSR, values per row": lambda k: sparse(30_000, 2_000 * k, 100 * k),  # the same share of the columns in every row
    "dense, rows": lambda k: dense(100_000 * k, 100),
    "dense, columns": lambda k: dense(10_000, 1_000 * k),
}
WORK: dict[str, dict[str, Any]] = {
    "L-BFGS, logistic": {"loss": "logistic", "solver": "lbfgs"},
    "dual ascent, hinge": {"loss": "hinge", "solver": "dual_ascent"},
    "bundle, hinge": {"loss": "hinge", "solver": "bundle"},
}


def seconds_per_pass(X: Any, y: np.ndarray, loss: str, solver: str, repeat: int) -> float:
    """Of a solve that is cut off after so many steps, less what two steps take, the least of both: start and certificate drop
    out."""
    problem = fenchel.Problem(X, y, loss=loss, alpha=1e-6)
    least, passes = {2: np.inf, STEPS: np.inf}, {}
    for _ in range(repeat):
        for steps in least:
            began = time.perf_counter()
            result = fenchel.solve(problem, solver=solvers.make(solver), tol=1e-300, max_iter=steps)
            least[steps] = min(least[steps], time.perf_counter() - began)
            passes[steps] = result.passes
    return (least[STEPS] - least[2]) / (passes[STEPS] - passes[2])


def added_memory(X: Any, y: np.ndarray, loss: str, solver: str) -> float:
    """Peak of what numpy allocates during Problem and solve, relative to X."""
    tracemalloc.start()
    try:
        fenchel.solve(fenchel.Problem(X, y, loss=loss, alpha=1e-4), solver=solver, tol=1e-3, max_iter=MEMORY_STEPS)
        return tracemalloc.get_traced_memory()[1] / stored_bytes(X)
    finally:
        tracemalloc.stop()


def slope(sizes: list[float], times: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--axes", nargs="*", help="parts of names of what grows")
    options = parser.parse_args(argv)
    print(f"{machine()}\n")
    print(f"| what grows | work | {' | '.join(f'x {k}, ms' for k in FACTORS)} | slope | memory added / X |")
    print(f"| --- | --- | {' | '.join('---' for _ in FACTORS)} | --- | --- |")
    for axis, make in AXES.items():
        if options.axes and not any(part in axis for part in options.axes):
            continue
        data = [make(k) for k in FACTORS]
        labels = [noisy_signs(X, np.random.default_rng(1)) for X in data]
        for work, how in WORK.items():
            seconds_per_pass(data[0], labels[0], **how, repeat=1)  # compiles
            times = [seconds_per_pass(X, y, **how, repeat=options.repeat) for X, y in zip(data, labels, strict=True)]
            sizes = [float(stored_bytes(X)) for X in data]
            cells = " | ".join(f"{1e3 * t:.2f}" for t in times)
            memory = added_memory(data[-1], labels[-1], **how)
            print(f"| {axis} | {work} | {cells} | {slope(sizes, times):.2f} | {memory:.2f} |", flush=True)


if __name__ == "__main__":
    main()
