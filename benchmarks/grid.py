"""Every loss with every regularizer beside CVXPY: `python -m benchmarks.grid [--cases 200] [--seed 0] [--limit 10]`.

Random problems: 5 to 2,000 rows, 1 to 500 columns that are not centred, scales 1e-3 to 1e3, with and without intercept,
sample weights and CSR storage, alpha from the largest entry of the risk's gradient at w = 0 (from where on L1 without
an intercept gives w = 0) down to 1e-6 of it, tol 1e-3 to 1e-8. Each is solved by `auto` and by CVXPY with Clarabel. A
certificate is false if its dual value exceeds the objective at any point, here at CVXPY's, evaluated by plain Python.
Times are without compilation; CVXPY's include its own.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import asdict, dataclass

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from tests.problems import LOSSES, cvxpy_loss, cvxpy_regularizer, data

import fenchel
from benchmarks.table import machine
from fenchel import regularizers as R

SMALLEST = 0.03  # seconds: a time below it counts as this much in ratios
ROUNDING = 1e-9


@dataclass(frozen=True)
class Case:
    """A random problem, by the numbers that make it."""

    seed: int
    loss: str
    regularizer: str
    n: int
    d: int
    intercept: bool
    weighted: bool
    sparse: bool
    scale: float
    share: float  # alpha as a share of alpha_max
    tol: float


@dataclass(frozen=True)
class Outcome:
    """What came of a case. Seconds are without compilation."""

    case: Case
    status: str
    gap: float
    seconds: float
    cvxpy_seconds: float
    false: bool
    solver: str

    @property
    def ratio(self) -> float:
        return max(self.seconds, SMALLEST) / max(self.cvxpy_seconds, SMALLEST)


def regularizers(d: int, alpha: float) -> dict[str, fenchel.regularizers.Regularizer]:
    """Those that CVXPY can state, for d columns."""
    return {
        "l2": R.L2(alpha),
        "diagonal": R.Quadratic(alpha, np.linspace(0.5, 2.0, d)),
        "l1": R.L1(alpha),
        "elastic_net": R.ElasticNet(alpha, 0.5),
        "entropy": R.Entropy(alpha, total=2.0),
        "unnormalised_entropy": R.UnnormalisedEntropy(alpha),
        "balanced_entropy": R.BalancedEntropy(alpha),
        "q_norm": R.QNorm(alpha, 1.5),
    }


def draw(seed: int) -> Case:
    """A case: half of the regularizers are L1 or elastic nets, whose users are many."""
    rng = np.random.default_rng([seed, 7])
    names = list(regularizers(1, 1.0))
    popular = ["l1", "elastic_net"]
    return Case(
        seed=seed,
        loss=str(rng.choice(list(LOSSES))),
        regularizer=str(rng.choice(popular if rng.random() < 0.5 else names)),
        n=int(5 * 400 ** rng.random()),
        d=int(500 ** rng.random()),
        intercept=bool(rng.random() < 0.5),
        weighted=bool(rng.random() < 0.3),
        sparse=bool(rng.random() < 0.3),
        scale=float(10 ** rng.uniform(-3, 3)),
        share=float(10 ** rng.uniform(-6, 0)),
        tol=float(10 ** rng.uniform(-8, -3)),
    )


def problem(case: Case) -> fenchel.Problem:
    """The problem of a case; raises `InputError` where the drawn data make none (a single label)."""
    rng = np.random.default_rng([case.seed, 11])
    loss = LOSSES[case.loss]
    X, y = data(loss, n=case.n, d=case.d, seed=case.seed)
    X = X / np.sqrt(case.d) + rng.standard_normal(case.d)  # not centred
    if case.sparse:
        X = X * (rng.random(X.shape) < 0.3)
    X *= case.scale
    weights = rng.uniform(0.1, 2.0, case.n) if case.weighted else None
    storage = sp.csr_array(X) if case.sparse else X
    started = fenchel.Problem(storage, y, loss, R.L2(1.0), None, case.intercept, weights)
    slopes = np.array([loss.slope(float(b), float(t)) for b, t in zip(started.offset, y, strict=True)])
    alpha = case.share * max(float(np.abs(X.T @ (started.weights * slopes)).max()), 1e-12)
    return fenchel.Problem(
        storage, y, loss, regularizers(case.d, alpha)[case.regularizer], None, case.intercept, weights
    )


def objective(p: fenchel.Problem, w: np.ndarray, b: float) -> float:
    """P by the definitions, in plain Python."""
    z = p.X @ w + p.offset + b
    losses = [p.loss.value(float(s), float(t)) for s, t in zip(z, p.y, strict=True)]
    return float(p.weights @ np.array(losses)) + float(p.regularizer.value(w))


def by_cvxpy(p: fenchel.Problem, limit: float) -> tuple[float, float]:
    """(the objective at CVXPY's point, seconds); infinite where it fails."""
    w, b = cp.Variable(p.d), cp.Variable()
    began = time.perf_counter()
    regular, constraints = cvxpy_regularizer(p.regularizer, w)
    z = p.X @ w + p.offset + (b if p.fit_intercept else 0.0)
    model = cp.Problem(cp.Minimize(p.weights @ cvxpy_loss(p.loss, z, p.y) + regular), constraints)
    try:
        model.solve(solver="CLARABEL", time_limit=limit)
    except (cp.SolverError, ValueError):
        return np.inf, limit
    seconds = time.perf_counter() - began
    if w.value is None:
        return np.inf, seconds
    return objective(p, w.value, float(b.value) if p.fit_intercept else 0.0), seconds


def run(case: Case, limit: float) -> Outcome | None:
    """Solve a case both ways; None where the drawn data make no problem."""
    try:
        p = problem(case)
    except fenchel.errors.InputError:
        return None
    reference, cvxpy_seconds = by_cvxpy(p, 3.0 * limit)
    began = time.perf_counter()
    try:
        result = fenchel.solve(p, tol=case.tol, max_time=limit)
    except fenchel.errors.SolveError as error:
        return Outcome(case, f"error: {error}", np.inf, time.perf_counter() - began, cvxpy_seconds, False, "")
    seconds = time.perf_counter() - began - result.compile_seconds
    certificate = result.certificate
    false = result.converged and certificate.dual > reference + ROUNDING * (abs(reference) + 1.0)
    name = result.status.name
    return Outcome(case, name, certificate.relative_gap, seconds, cvxpy_seconds, bool(false), result.solver)


def report(outcomes: list[Outcome], worst: int) -> str:
    """Counts, times and the slowest or uncertified cases, as Markdown."""
    certified = [o for o in outcomes if o.status == "CERTIFIED"]
    ratios = np.array([o.ratio for o in outcomes])
    ours, theirs = np.array([o.seconds for o in outcomes]), np.array([o.cvxpy_seconds for o in outcomes])
    lines = [
        "| cases | certified | false | errors | median s | CVXPY's | within 3 times | total s | CVXPY's |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        f"| {len(outcomes)} | {len(certified)} | {sum(o.false for o in outcomes)} "
        f"| {sum(o.status.startswith('error') for o in outcomes)} | {np.median(ours):.4f} | {np.median(theirs):.4f} "
        f"| {np.mean(ratios <= 3.0):.1%} | {ours.sum():.1f} | {theirs.sum():.1f} |",
        "",
        "| seed | loss | regularizer | n x d | intercept | alpha / alpha_max | tol | status | gap | s | CVXPY s | solver |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for o in sorted(outcomes, key=lambda o: (o.status == "CERTIFIED", -o.ratio))[:worst]:
        c = o.case
        lines.append(
            f"| {c.seed} | {c.loss} | {c.regularizer} | {c.n} x {c.d} | {c.intercept} | {c.share:.1e} | {c.tol:.0e} "
            f"| {o.status} | {o.gap:.1e} | {o.seconds:.3f} | {o.cvxpy_seconds:.3f} | {o.solver} |"
        )
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="the first one; a case for each")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds per solve")
    parser.add_argument("--worst", type=int, default=25, help="rows of the second table")
    parser.add_argument("--json", help="a file for all outcomes")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    outcomes = []
    for seed in range(options.seed, options.seed + options.cases):
        found = run(draw(seed), options.limit)
        if found is not None:
            outcomes.append(found)
    print(f"{machine()}\n\n{report(outcomes, options.worst)}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([asdict(o) for o in outcomes], file)


if __name__ == "__main__":
    main()
