"""Is everything that is called proven true of the optimum? `python -m benchmarks.proofs [--cases 5000] [--seed 0]`.

Random small problems over losses, penalties, sample weights, offsets, intercepts, scales of columns, several scores and kernels
are solved to the rounding floor. A case is a point between that optimum and noise, with its own certificate, at one of eight
sizes of the gap. What its certificate claims (ball, scores, intercept, classes, zeros, signs, rows without influence) is
compared with the optimum, whose own ball is the only doubt that counts. A false claim is printed.
"""

from __future__ import annotations

import argparse
import dataclasses
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import fenchel
from benchmarks.table import machine
from fenchel import regularizers as R
from fenchel.certificates.scalar import certifier_of
from fenchel.kernel_methods import KernelProblem
from fenchel.proofs.decisions import classifies

MIXES = (0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 0.0)  # shares of noise
K = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5
PENALTIES = (
    R.L2(0.05), R.L2(1e-3), R.L2(0.05, weights=[1.0, 0.1, 3.0, 50.0]), R.L2(0.05, weights=[1.0, 0.0, 3.0, 1.0]),
    R.ElasticNet(0.2, 0.8), R.ElasticNet(0.02), R.Quadratic(0.05, K), R.QNorm(0.1, 1.5), R.L1(0.05),
    R.Bounded(R.L2(0.05), lower=0.0), R.Shifted(R.L2(0.05), center=[1.0, 0.0, -1.0, 0.0]),
)  # fmt: skip
SIGNS = ("hinge", "logistic", "squared_hinge", "smoothed_hinge")
NUMBERS = ("squared", "absolute", "huber", "quantile", "epsilon_insensitive")
SEVERAL = ("softmax", "max_hinge")


def draw(rng: np.random.Generator) -> Any:
    """A problem."""
    n, d = int(rng.integers(10, 40)), 4
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-2, 3, d) + rng.standard_normal(d)
    t = X @ (rng.standard_normal(d) / np.abs(X).max(axis=0)) + 0.3 * rng.standard_normal(n)
    kind = rng.integers(8)
    s = rng.random(n) + 0.1 if rng.random() < 0.5 else None
    free = bool(rng.random() < 0.5)
    if kind == 0:
        loss = str(rng.choice(SEVERAL))
        penalty = PENALTIES[int(rng.choice([0, 1, 2, 4, 5, 6]))]
        return fenchel.Problem(X, np.arange(n) % 3, loss, penalty, sample_weight=s)
    y = np.where(t > np.median(t), 1.0, -1.0)
    if kind == 1:
        gamma = {"gamma": float(10.0 ** rng.integers(-3, 1))}
        return KernelProblem(
            X / np.abs(X).max(axis=0),
            y,
            str(rng.choice(SIGNS)),
            alpha=0.02,
            fit_intercept=free,
            sample_weight=s,
            kernel_params=gamma,
        )
    loss = str(rng.choice(SIGNS if kind < 5 else NUMBERS))
    offset = {"offset": 0.1 * rng.standard_normal(n)} if rng.random() < 0.3 else {}
    penalty = PENALTIES[int(rng.integers(len(PENALTIES)))]
    return fenchel.Problem(X, y if loss in SIGNS else t, loss, penalty, fit_intercept=free, sample_weight=s, **offset)


def between(found: fenchel.Result, mix: float, rng: np.random.Generator) -> fenchel.Result:
    """A point between the optimum and noise, with its own certificate."""
    problem: Any = found.problem
    if problem.is_kernel:
        w, b = np.asarray(found.coef), float(found.intercept)
    else:
        w, b = problem.variables(found.coef, found.intercept)
    certifier = certifier_of(problem)
    noise = np.abs(rng.standard_normal(w.size)) * (np.abs(w).max() + 0.1)
    moved = (1.0 - mix) * w + mix * noise
    b = b + mix * problem.has_intercept * rng.standard_normal() * (not problem.is_vector)
    u = found.dual_point.toarray() if hasattr(found.dual_point, "toarray") else np.asarray(found.dual_point)
    u = (1.0 - mix) * u + mix * certifier.slopes_at(problem, moved, b)
    certificate, point = certifier.certificate(problem, moved, b, u)
    coef, intercept = (moved, b) if problem.is_kernel else problem.present(moved, b)
    return dataclasses.replace(found, coef=coef, intercept=intercept, certificate=certificate, dual_point=point)


def claims(best: fenchel.Result, point: fenchel.Result) -> Iterator[tuple[str, bool, int]]:
    """(claim, whether it is true, how many things it says) of a point."""
    problem: Any = best.problem
    strong = problem.is_kernel or problem.is_vector or problem.regularizer.metric(problem.d) is not None
    if strong:
        exact, region = best.ball(), point.ball()
        rows = region.space.training_rows()
        z, doubt = exact.around(rows)
        doubt = doubt[:, None] if z.ndim == 2 else doubt
        yield "ball", region.space.norm(exact.center - region.center) <= region.distance + exact.distance, 1
        z_low, z_high = (z - doubt, z + doubt) if problem.is_vector else exact.scores(rows)
        low, high = region.scores(rows)
        yield "scores", bool(np.all((low <= z_high) & (z_low <= high))), int(np.isfinite(high - low).sum())
        a, c = exact.intercept, region.intercept
        yield "intercept", bool(np.all(np.less_equal(c.low, a.high) & np.less_equal(a.low, c.high))), 1
        if classifies(problem) and not problem.is_kernel:
            yield from _classes(problem, point, z_low, z_high)
    if not problem.is_kernel:
        support, sure = point.support(), best.support()
        clash = support.zero & (sure.positive | sure.negative) | support.positive & sure.negative
        yield "support", not np.any(clash | support.negative & sure.positive), int((~support.open).sum())
    if strong and not problem.is_vector:
        removable = fenchel.removable_rows(point) & (problem.weights > 0.0)
        yield (
            "removable",
            all(_flat(problem, i, z_low[i], z_high[i]) for i in np.flatnonzero(removable)),
            int(removable.sum()),
        )


def _flat(problem: Any, i: int, low: float, high: float) -> bool:
    """Whether 0 is a slope of a loss in an interval of scores."""
    slopes = [problem.loss.slope(z + problem.offset[i], problem.y[i]) for z in (low, high)]
    return bool(slopes[0] <= 1e-9 and slopes[1] >= -1e-9)


def _classes(problem: Any, point: fenchel.Result, low: np.ndarray, high: np.ndarray) -> Iterator[tuple[str, bool, int]]:
    certain, z = point.certain(problem.X), problem.X @ np.asarray(point.coef).T + point.intercept
    if problem.is_vector:
        here = z.argmax(axis=1)[:, None]
        top, others = np.take_along_axis(high, here, axis=1)[:, 0], low.copy()
        np.put_along_axis(others, here, -np.inf, axis=1)
        possible = top >= others.max(axis=1)
    else:
        possible = np.where(z > 0.0, high > 0.0, low < 0.0)
    yield "classes", bool(np.all(possible[certain])), int(certain.sum())


def main() -> None:
    """Print the numbers of claims, by kind, and every false one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rng, cases, false = np.random.default_rng(arguments.seed), 0, 0
    said, skipped, relative = Counter[str](), Counter[str](), []
    while cases < arguments.cases:
        try:
            problem = draw(rng)
            best = fenchel.solve(problem, tol=1e-13, max_time=3.0)
        except fenchel.errors.FenchelError as error:
            skipped[type(error).__name__] += 1
            continue
        if (
            best.dual_point is None
            or best.certificate.gap > 1e-9 * abs(best.certificate.primal) + 10.0 * best.certificate.floor
        ):
            skipped["not solved to 1e-9"] += 1
            continue
        for mix in MIXES:
            point = between(best, mix, rng)
            if not np.isfinite(point.certificate.gap):
                skipped["no finite bound"] += 1
                continue
            cases += 1
            relative.append(point.certificate.relative_gap)
            for name, true, count in claims(best, point):
                said[name] += count
                if not true:
                    false += 1
                    print(f"FALSE {name}: gap {point.certificate.relative_gap:.1e}, {problem!r}", flush=True)
    low, middle, high = np.quantile(np.maximum(relative, 1e-16), [0.05, 0.5, 0.95])
    print(machine())
    print(f"{cases} cases, {false} false claims; relative gaps {low:.0e}, {middle:.0e}, {high:.0e} (5 %, 50 %, 95 %)")
    print("claims: " + ", ".join(f"{name} {count}" for name, count in said.items()))
    print("not counted: " + ", ".join(f"{name} {count}" for name, count in skipped.items()))


if __name__ == "__main__":
    main()
