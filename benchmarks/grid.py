"""Every loss with every convex regularizer beside CVXPY: `python -m benchmarks.grid [--cases 200] [--seed 0] [--limit 10]`.

Random problems: 5 to 2,000 rows, 1 to 500 columns that are not centred, scales 1e-3 to 1e3, with and without intercept,
sample weights and CSR storage, alpha from the largest entry of the risk's gradient at w = 0 (from where on L1 without
an intercept gives w = 0) down to 1e-6 of it, tol 1e-3 to 1e-8; one case of seven has several scores (then up to 400 rows
and 60 columns). Each is solved by `auto` and by CVXPY with Clarabel. A certificate is false if its dual value exceeds the
objective at any point, here at CVXPY's, evaluated by plain Python. A case whose tol lies below the rounding floor of its
certificate is counted apart: no float64 solution proves such a gap. Times are processor seconds without compilation;
CVXPY's include its own.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import asdict, dataclass

import numpy as np

import fenchel
from benchmarks.grid_cases import Case, draw, problem
from benchmarks.grid_cvxpy import at_start, by_cvxpy
from benchmarks.table import machine

SMALLEST = 0.03  # seconds: a time below it counts as this much in ratios
ROUNDING = 1e-9
ROUNDED = "tol below the rounding floor"
WAITING = 5.0  # seconds by the clock for each of the processor, on a machine with other work
SMALLEST_OPTIMUM = 1e-9  # relative to the objective where a solve starts


@dataclass(frozen=True)
class Outcome:
    """What came of a case. Seconds are the processor's, without compilation."""

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


def run(case: Case, limit: float) -> Outcome | None:
    """Solve a case both ways; None where the drawn data make no problem, or one whose optimum is 0: a gap is relative to it."""
    p = problem(case)
    if p is None:
        return None
    reference, cvxpy_seconds = by_cvxpy(p, 3.0 * limit)
    if 0.0 <= reference <= SMALLEST_OPTIMUM * at_start(p):
        return None
    try:
        result, seconds = solve(p, case.tol, limit)
    except fenchel.errors.InputError:  # there is no minimum, or no solver fits
        return None if np.isinf(reference) else Outcome(case, "refused", np.inf, 0.0, cvxpy_seconds, False, "")
    except fenchel.errors.FenchelError as error:
        return Outcome(case, f"error: {error}", np.inf, 0.0, cvxpy_seconds, False, "")
    certificate = result.certificate
    false = result.converged and certificate.dual > reference + ROUNDING * (abs(reference) + 1.0)
    below = not result.converged and certificate.floor > case.tol * abs(certificate.primal)
    name = ROUNDED if below else result.status.name
    return Outcome(case, name, certificate.relative_gap, seconds, cvxpy_seconds, bool(false), result.solver)


def solve(p: fenchel.Problem, tol: float, limit: float) -> tuple[fenchel.Result, float]:
    """(the result, processor seconds); a solve during which kernels were compiled is repeated."""
    while True:
        began = time.process_time()
        spent = lambda state: time.process_time() - began > limit  # noqa: B023, E731
        result = fenchel.solve(p, tol=tol, max_time=WAITING * limit, callback=spent)
        seconds = time.process_time() - began
        if result.compile_seconds == 0.0:
            return result, seconds


def report(outcomes: list[Outcome], worst: int) -> str:
    """Counts, times and the slowest or uncertified cases, as Markdown."""
    certified = [o for o in outcomes if o.status == "CERTIFIED"]
    ratios = np.array([o.ratio for o in outcomes])
    ours, theirs = np.array([o.seconds for o in outcomes]), np.array([o.cvxpy_seconds for o in outcomes])
    lines = [
        "| cases | certified | false | errors | below rounding | median s | CVXPY's | within 3 times | total s | CVXPY's |",
        "|" + 10 * " --- |",
        f"| {len(outcomes)} | {len(certified)} | {sum(o.false for o in outcomes)} "
        f"| {sum(o.status.startswith('error') for o in outcomes)} | {sum(o.status == ROUNDED for o in outcomes)} "
        f"| {np.median(ours):.4f} | {np.median(theirs):.4f} | {np.mean(ratios <= 3.0):.1%} | {ours.sum():.1f} "
        f"| {theirs.sum():.1f} |",
        "",
        "| seed | loss | regularizer | n x d | intercept | scale | alpha / alpha_max | tol | status | gap | s | CVXPY s "
        "| solver |",
        "|" + 13 * " --- |",
    ]
    for o in sorted(outcomes, key=lambda o: (o.status == "CERTIFIED", -o.ratio))[:worst]:
        c = o.case
        lines.append(
            f"| {c.seed} | {c.loss} | {c.regularizer} | {c.n} x {c.d} | {c.intercept} | {c.scale:.0e} | {c.share:.1e} "
            f"| {c.tol:.0e} | {o.status} | {o.gap:.1e} | {o.seconds:.3f} | {o.cvxpy_seconds:.3f} | {o.solver} |"
        )
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="the first one; a case for each")
    parser.add_argument("--scores", choices=["one", "several", "any"], default="any", help="for each row")
    parser.add_argument("--limit", type=float, default=10.0, help="processor seconds per solve")
    parser.add_argument("--worst", type=int, default=25, help="rows of the second table")
    parser.add_argument("--json", help="a file for all outcomes")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    several = {"one": False, "several": True, "any": None}[options.scores]
    outcomes = []
    for seed in range(options.seed, options.seed + options.cases):
        found = run(draw(seed, several), options.limit)
        if found is not None:
            outcomes.append(found)
            if options.json:
                with open(options.json, "w", encoding="utf-8") as file:
                    json.dump([asdict(o) for o in outcomes], file)
    print(f"{machine()}\n\n{report(outcomes, options.worst)}")


if __name__ == "__main__":
    main()
