"""Paper 004, section on the L1 ball: saddle-point Frank-Wolfe, beside the bundle method on the penalised problem.

min over |w|_1 <= radius of sum p max_y [L(y) + <w, psi(y)>] is a game between w, whose best answer is a vertex of the ball, and
distributions of labels, whose best answers are labels. Both move towards their best answers by 2 / (t + 2); only w,
g = sum p psi and the mean cost are kept. P - D = risk(w) - (cost - radius |g|_inf) is the sum of the two Frank-Wolfe gaps.

Fenchel's solvers take penalties, not constraints, so the bundle method solves risk(w) + alpha |w|_1; its answer is that of the
ball with radius |w|_1, and a certified gap there is a gap here. The table counts passes (a max-oracle for each example) until
the gap, relative to the optimum of the ball, falls below each level.

    python -m experiments.saddle_frank_wolfe [--small] [--words 500] [--steps 3000] [--alpha 0.02]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import fenchel
from experiments import common
from experiments.structured_data import ocr, small_words
from fenchel.oracles.structured import StructuredOracle
from fenchel.structured import Chain

LEVELS = (0.5, 0.1, 0.05, 0.01, 1e-3)


def saddle_frank_wolfe(problem: Any, radius: float) -> Iterator[tuple[float, float]]:
    """(P, D) after each pass, for ever; the regularizer of the problem is not looked at."""
    oracle = StructuredOracle(problem)
    w, g, cost, t = np.zeros(problem.d), np.zeros(problem.d), 0.0, 0
    while True:
        value, slope, _ = oracle.labels_at(w)
        yield value, cost - radius * float(np.max(np.abs(g)))
        step, best = 2.0 / (t + 2.0), int(np.argmax(np.abs(g)))
        new_cost, answer = value - float(slope @ w), np.zeros(problem.d)
        answer[best] = -radius * np.sign(g[best])
        w, g = (1.0 - step) * w + step * answer, (1.0 - step) * g + step * slope
        cost, t = (1.0 - step) * cost + step * new_cost, t + 1


def first_below(gaps: Sequence[float], passes: Sequence[float]) -> list[float | None]:
    """Passes until the gap is below each level for the first time."""
    return [next((p for gap, p in zip(gaps, passes, strict=True) if gap <= level), None) for level in LEVELS]


def compare(problem: Any, steps: int) -> list[list[Any]]:
    """A row of passes for each method."""
    result = fenchel.solve(problem, solver="bundle", tol=1e-6)
    radius, alpha = float(np.abs(result.coef).sum()), problem.regularizer.alpha
    best = result.certificate.primal - alpha * radius
    bundle = [(p.primal, p.dual, p.passes) for p in result.trace]
    values, bounds = np.minimum.accumulate([p for p, *_ in bundle]), np.maximum.accumulate([d for _, d, _ in bundle])
    rows = [["Bundle (penalty)", result.status.name, *first_below((values - bounds) / best, [n for *_, n in bundle])]]
    found = [pair for pair, _ in zip(saddle_frank_wolfe(problem, radius), range(steps), strict=False)]
    values, bounds = np.minimum.accumulate([p for p, _ in found]), np.maximum.accumulate([d for _, d in found])
    gaps = (values - bounds) / best
    rows.append(["SP-FW (ball)", f"gap {gaps[-1]:.2g}", *first_below(gaps, list(range(1, steps + 1)))])
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    parser = common.arguments(
        __doc__,
        words={"type": int, "default": 500},
        steps={"type": int, "default": 3000},
        alpha={"type": float, "default": 0.02},
    )
    args = parser.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    words = small_words() if args.small else ocr()
    count, steps = (30, 200) if args.small else (args.words, args.steps)
    problem = fenchel.Problem(words.X[:count], words.y[:count], loss=Chain(), regularizer="l1", alpha=args.alpha)
    header = ["method", "end", *(f"passes to {level:g}" for level in LEVELS)]
    common.write(args.out, "saddle_frank_wolfe", common.markdown(header, compare(problem, steps)))


if __name__ == "__main__":
    main()
