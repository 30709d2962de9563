"""What a dual epoch costs with each regularizer, beside L2: `python -m benchmarks.epoch [--epochs N]`.

20news, tf-idf, the first class against the rest (a stand-in when the data are missing). Every regularizer's first epoch over
all rows, in which nearly every row moves, and the median of the next ones; the ratio is to L2's.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

import fenchel
from benchmarks.data_sets import read
from benchmarks.table import machine
from fenchel.oracles.scalar import Oracle
from fenchel.regularizers import L2, BalancedEntropy, Entropy, QNorm, Regularizer, UnnormalisedEntropy
from fenchel.solvers.base import Start
from fenchel.solvers.dual_ascent.solver import State

REGULARIZERS: dict[str, Regularizer] = {
    "L2": L2(1e-4),
    "Entropy": Entropy(1e-3, total=100.0),
    "UnnormalisedEntropy": UnnormalisedEntropy(1e-3, prior=0.01),
    "BalancedEntropy": BalancedEntropy(1e-3, prior=0.01),
    "BalancedEntropy, total": BalancedEntropy(1e-3, prior=0.01, total=2000.0),
    "QNorm(1.5)": QNorm(1e-3, 1.5),
}


def epochs(problem: fenchel.Problem, count: int) -> list[float]:
    """Seconds of each epoch over all rows."""
    state, rng, found = State(Oracle(problem), Start(np.zeros(problem.d))), np.random.default_rng(0), []
    for _ in range(count):
        began = time.perf_counter()
        state.epoch(rng, full=True)
        found.append(time.perf_counter() - began)
    return found


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20)
    count = parser.parse_args(argv).epochs
    X, y, *_ = read("news")
    print(f"{machine()}\n{X.shape[0]} x {X.shape[1]}, {X.nnz} non-zeros\n")
    print("| regularizer | first epoch, ms | ratio | later epochs, ms | ratio |\n| --- | --- | --- | --- | --- |")
    base: tuple[float, float] | None = None
    for name, regularizer in REGULARIZERS.items():
        problem = fenchel.Problem(X, y, loss="hinge", regularizer=regularizer)
        epochs(problem, 2)  # compiled
        first, *later = epochs(problem, count)
        times = first, statistics.median(later)
        base = times if base is None else base
        cells = (f"{1e3 * t:.1f} | {t / b:.1f}" for t, b in zip(times, base, strict=True))
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
