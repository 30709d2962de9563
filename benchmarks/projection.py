"""Time of `fenchel.projections.box_equality` against one `np.partition`, and its growth with n.

    python benchmarks/projection.py [largest n]

Each line: the problem, n, milliseconds of the projection (median of interleaved repeats) and of one
`np.partition(m, n // 2)`, their ratio,
the time relative to half of n, and the coordinates touched by the search per variable.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from fenchel.projections import box_equality
from fenchel.projections.box_equality import project_box_equality

CASES = {
    "m, sigma arrays; box [0, 1]": ("sigma",),
    "m, sigma, lower, upper arrays": ("sigma", "lower", "upper"),
    "m, sigma, lower, upper, d arrays": ("sigma", "lower", "upper", "d"),
    "m array; simplex": (),
}


def problem(n: int, arrays: tuple[str, ...], seed: int = 0) -> dict:
    rng = np.random.default_rng(seed)
    bounded = bool(arrays)
    arguments = {"m": rng.standard_normal(n), "lower": 0.0, "upper": 1.0 if bounded else np.inf, "sigma": 1.0}
    arguments["z"] = 0.0 if bounded else 1.0
    choices = {
        "sigma": rng.choice([-1.0, 1.0], n),
        "lower": np.zeros(n),
        "upper": np.ones(n),
        "d": rng.uniform(0.5, 2.0, n),
    }
    return arguments | {name: choices[name] for name in arrays}


def interleaved_medians(functions: list[Callable], repeats: int) -> list[float]:
    """Median milliseconds of each function, taken in turns so that load of the machine hits all alike."""
    times = np.empty((repeats, len(functions)))
    for row in times:
        for j, function in enumerate(functions):
            start = time.perf_counter()
            function()
            row[j] = 1e3 * (time.perf_counter() - start)
    return list(np.median(times, axis=0))


def touched(arguments: dict) -> int:
    m = arguments["m"]
    low, high, sigma = (np.atleast_1d(arguments[name]) for name in ("lower", "upper", "sigma"))
    inv_d2 = np.atleast_1d(1.0 / np.asarray(arguments.get("d", 1.0)) ** 2)
    return project_box_equality(m, low, high, sigma, inv_d2, arguments["z"], np.empty_like(m))[2]


def table(largest: int = 4_000_000, repeats: int = 31) -> None:
    print(f"{'problem':<34}{'n':>9}{'ms':>9}{'partition':>11}{'ratio':>7}{'growth':>8}{'touched/n':>11}")
    for name, arrays in CASES.items():
        before = None
        for n in (largest // 16, largest // 8, largest // 4, largest // 2, largest):
            arguments = problem(n, arrays)
            m = arguments["m"]
            box_equality(**arguments)
            mine, partition = interleaved_medians(
                [lambda a=arguments: box_equality(**a), lambda m=m: np.partition(m, m.size // 2)], repeats
            )
            work = touched(arguments) / n
            growth = f"{mine / before:8.2f}" if before else " " * 8
            print(f"{name:<34}{n:9d}{mine:9.2f}{partition:11.2f}{mine / partition:7.2f}{growth}{work:11.2f}")
            before = mine


if __name__ == "__main__":
    table(*map(int, sys.argv[1:2]))
