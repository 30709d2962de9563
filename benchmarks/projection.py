"""Time of the projections against one `np.partition` and against sorting, and their growth with n.

    python -m benchmarks.projection [largest n]

Each line: the problem, n, milliseconds of the projection and of one `np.partition(m, n // 2)` (medians of interleaved
repeats), their ratio, the time relative to that for half of n, milliseconds of the O(n log n) version that sorts all
kinks, and the coordinates touched by the search per variable.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.timing import in_turns
from fenchel.projections import box_equality
from fenchel.projections.box_equality import project_box_equality

CASES = {
    "m; simplex": (),
    "m; capped simplex": ("cap",),
    "m, sigma; box [0, 1]": ("sigma",),
    "m, sigma, lower, upper": ("sigma", "lower", "upper"),
    "m, sigma, lower, upper, d": ("sigma", "lower", "upper", "d"),
}


def problem(n: int, arrays: tuple[str, ...], seed: int = 0) -> dict:
    """Arguments of `box_equality`: standard normal m, the named arguments as arrays and the others as numbers."""
    rng = np.random.default_rng(seed)
    arguments = {"m": rng.standard_normal(n), "lower": 0.0, "upper": 1.0 if arrays else np.inf, "sigma": 1.0}
    arguments["z"] = {(): 1.0, ("cap",): n / 4}.get(arrays, 0.0)
    choices = {
        "sigma": rng.choice([-1.0, 1.0], n),
        "lower": np.zeros(n),
        "upper": np.ones(n),
        "d": rng.uniform(0.5, 2.0, n),
    }
    return arguments | {name: choices[name] for name in arrays if name != "cap"}


def by_sorting(m, lower, upper, sigma, z, d=1.0) -> np.ndarray:
    """The same projection in O(n log n): sort all kinks, sum the slopes, interpolate."""
    m, lower, upper, sigma, d = np.broadcast_arrays(*map(np.float64, (m, lower, upper, sigma, d)))
    g = sigma / d**2
    live = g != 0.0
    ends = np.sort([(lower[live] - m[live]) / g[live], (upper[live] - m[live]) / g[live]], axis=0)
    steep = (sigma * g)[live]
    kinks, turns = ends.ravel(), np.concatenate([steep, -steep])
    order = np.argsort(kinks)
    order = order[np.isfinite(kinks[order])]
    before = float(np.sum(steep[ends[0] == -np.inf]))
    if order.size == 0:
        nu = (z - np.sum(sigma * m)) / before if before > 0.0 else 0.0
        return np.clip(m + nu * g, lower, upper)
    t = kinks[order]
    slopes = before + np.cumsum(turns[order])
    first = np.sum(sigma * np.clip(m + t[0] * g, lower, upper))
    values = first + np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(t))])
    j = int(np.searchsorted(values, z))
    if j == 0:
        nu = t[0] - ((values[0] - z) / before if before > 0.0 else 0.0)
    else:
        slope = slopes[j - 1]
        nu = t[j - 1] + ((z - values[j - 1]) / slope if slope > 0.0 else 0.0)
        nu = min(nu, t[j]) if j < t.size else nu
    for _ in range(3):  # the cumulated sums cancel; Newton steps take that out
        x = m + nu * g
        slope = np.sum((sigma * g)[(x > lower) & (x < upper)])
        nu += (z - np.sum(sigma * np.clip(x, lower, upper))) / slope if slope > 0.0 else 0.0
    return np.clip(m + nu * g, lower, upper)


def touched(arguments: dict) -> int:
    """Coordinates touched by the search for the multiplier."""
    m = arguments["m"]
    low, high, sigma = (np.atleast_1d(arguments[name]) for name in ("lower", "upper", "sigma"))
    inv_d2 = np.atleast_1d(1.0 / np.asarray(arguments.get("d", 1.0)) ** 2)
    return project_box_equality(m, low, high, sigma, inv_d2, arguments["z"], np.empty_like(m))[2]


def table(largest: int = 4_000_000, repeats: int = 31) -> None:
    """Print the table."""
    columns = f"{'n':>9}{'ms':>9}{'partition':>11}{'ratio':>7}{'growth':>8}{'sorting':>9}{'touched/n':>11}"
    print(f"{'arrays; problem':<28}{columns}")
    for name, arrays in CASES.items():
        before = None
        for n in (largest // 16, largest // 8, largest // 4, largest // 2, largest):
            arguments = problem(n, arrays)
            m = arguments["m"]
            box_equality(**arguments)
            mine, partition = in_turns(
                lambda a=arguments: box_equality(**a), lambda m=m: np.partition(m, m.size // 2), repeats=repeats
            )
            (sorting,) = in_turns(lambda a=arguments: by_sorting(**a), repeats=1)
            growth = f"{mine / before:8.2f}" if before else " " * 8
            times = f"{n:9d}{mine:9.2f}{partition:11.2f}{mine / partition:7.2f}{growth}{sorting:9.0f}"
            print(f"{name:<28}{times}{touched(arguments) / n:11.2f}")
            before = mine


if __name__ == "__main__":
    table(*map(int, sys.argv[1:2]))
