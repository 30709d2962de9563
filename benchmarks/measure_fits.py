"""Fits to measures of all scores: ROC area, F1, precision at k and break-even point on a9a, w8a and ijcnn1.

    python -m benchmarks.measure_fits [--tol 1e-2] [--seconds 15] [--solver auto] [--alphas 1e-3 1e-4 1e-5] [--penalty l2]

Each line: the data, the measure, alpha, the seconds of the solve (certificate included, compilation not), its iterations and
the certified relative gap; at the end how many of the fits are certified. k is 100; no intercept; features as they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import fenchel
from benchmarks.data_sets import read
from fenchel.measures import BreakEven, FBeta, Measure, PrecisionAtK, ROCArea

DATA = ["a9a", "w8a", "ijcnn1"]
MEASURES: list[Measure] = [ROCArea(), FBeta(), PrecisionAtK(100), BreakEven()]
ALPHAS = [1e-3, 1e-4, 1e-5]


def fits(
    alphas: list[float], tol: float, seconds: float, solver: str, penalty: str
) -> Iterator[tuple[str, fenchel.Result]]:
    """(data, measure and alpha in words; the result) for every fit."""
    for name in DATA:
        data = read(name)
        for measure in MEASURES:
            for alpha in alphas:
                problem = fenchel.Problem(data.X, data.y, loss=measure, regularizer=penalty, alpha=alpha)
                result = fenchel.solve(problem, solver=solver, tol=tol, max_time=seconds)
                yield f"{data.name:<10}{type(measure).__name__:<14}{alpha:<8.0e}", result


def table(alphas: list[float], tol: float, seconds: float, solver: str, penalty: str = "l2") -> None:
    certified = total = 0
    for words, result in fits(alphas, tol, seconds, solver, penalty):
        gap = result.certificate.relative_gap
        print(f"{words}{result.seconds:8.2f} s{result.n_iter:7d} iterations   gap {gap:8.1e}", flush=True)
        certified, total = certified + result.converged, total + 1
    print(f"{certified} of {total} certified to {tol:g} within {seconds:g} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--alphas", type=float, nargs="+", default=ALPHAS)
    parser.add_argument("--penalty", default="l2")
    options = parser.parse_args()
    table(options.alphas, options.tol, options.seconds, options.solver, options.penalty)
