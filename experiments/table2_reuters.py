"""Paper 003, Table 2: Reuters-21578 (ModApte), micro-averaged break-even point over 118 topics.

Binary word occurrences and a constant 1, no feature selection and no stop words (as in the paper, section 6.2). One problem
per topic against the rest; the threshold of each is moved to its break-even point on the test part, and the confusion
matrices are summed. Online algorithms: 200 epochs in the given order, rate 0.01; large margins: hinge loss, solved to a
relative gap of 1e-3 in at most 1000 epochs; prior 0.01 for the Winnows. "Spars" is the paper's (16) with epsilon 0.1,
g(w) = 0.1 |w|_1 + w'w / 2.
Lambda is one per column, chosen by three-fold cross-validation on the training part (topics of at least 10 documents,
gap 1e-2). Topics without training documents cannot be told: their test documents count as found by chance.

    python -m experiments.table2_reuters [--small] [--columns LM-Perc ...] [--cached]

About 10 minutes of one core, most of them for the two large-margin Winnows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import fenchel
from experiments import common, data
from experiments.algorithms import EPOCHS, LARGE_MARGIN, ONLINE, online_weights
from fenchel.solvers import DualAscent

PAPER = {
    "Perceptron": 78.5, "LM-Perc": 85.7, "UWin": 79.2, "LM-UWin": 87.0, "NWin": 79.2, "LM-NWin": 87.1, "Spars": 86.7,
}  # fmt: skip
STRENGTHS = {
    "LM-Perc": (3e-4, 0.001, 0.003, 0.01, 0.03),
    "LM-UWin": (3e-5, 1e-4, 3e-4, 1e-3),
    "LM-NWin": (3e-5, 1e-4, 3e-4, 1e-3),
    "Spars": (0.001, 0.003, 0.01, 0.03),
}
FOLDS = 3
FEWEST = 10  # training documents that a topic needs to have a say in the choice of lambda


class Part(NamedTuple):
    """Rows to learn from, rows to certifier by, for all topics."""

    X: Any
    has: np.ndarray
    X_test: Any
    has_test: np.ndarray


def scores(name: str, part: Part, topic: int, strength: float, tol: float, epochs: int) -> tuple[np.ndarray, int]:
    """Scores of the test rows, and how many weights are not 0."""
    positive = part.has[:, topic]
    if not positive.any() or positive.all():
        return np.zeros(part.X_test.shape[0]), 0
    y = data.signs(positive)
    if name in ONLINE:
        w = online_weights(name, part.X, y, epochs)
    else:
        problem = LARGE_MARGIN[name].problem(part.X, y, strength)
        w = fenchel.solve(problem, solver=DualAscent(), tol=tol, max_iter=5 * epochs).coef
    return part.X_test @ w, int(np.count_nonzero(w))


def certifier(
    name: str, part: Part, topics: Sequence[int], strength: float, tol: float, epochs: int
) -> tuple[float, list[int]]:
    """Micro-averaged break-even point in percent, and the numbers of weights."""
    points, sizes = [], []
    for topic in topics:
        found, size = scores(name, part, topic, strength, tol, epochs)
        points.append(common.break_even(found, part.has_test[:, topic]))
        sizes.append(size)
    return 100.0 * common.micro_average(points), sizes


def folds(topics: data.Topics, seed: int = 0) -> list[Part]:
    """The training part, cut in FOLDS at random, each in turn held out."""
    label = np.random.default_rng(seed).permutation(topics.X.shape[0]) % FOLDS
    return [
        Part(topics.X[label != k], topics.has[label != k], topics.X[label == k], topics.has[label == k])
        for k in range(FOLDS)
    ]


def cross_validate(name: str, topics: data.Topics, epochs: int) -> dict[float, float]:
    """Break-even point for every lambda, the mean over the folds."""
    counts = topics.has.sum(axis=0)
    frequent = [c for c in range(len(topics.names)) if counts[c] >= FEWEST]
    parts = folds(topics)
    return {
        strength: float(np.mean([certifier(name, part, frequent, strength, 1e-2, epochs)[0] for part in parts]))
        for strength in STRENGTHS[name]
    }


def column(name: str, topics: data.Topics, epochs: int) -> dict[str, Any]:
    """One number of the table, and how it came about."""
    began = time.perf_counter()
    curve = {} if name in ONLINE else cross_validate(name, topics, epochs)
    strength = max(curve, key=lambda a: curve[a]) if curve else None
    everything = Part(topics.X, topics.has, topics.X_test, topics.has_test)
    value, sizes = certifier(name, everything, range(len(topics.names)), strength or 0.0, 1e-3, epochs)
    top = np.argsort(-topics.has.sum(axis=0), kind="stable")[:10]
    return {
        "bep": value, "lambda": strength, "validation": [[a, v] for a, v in curve.items()],
        "weights": float(np.mean(sizes)), "weights of the top 10": float(np.mean([sizes[c] for c in top])),
        "seconds": time.perf_counter() - began,
    }  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    parser = common.arguments(
        __doc__,
        columns={"nargs": "+", "default": list(PAPER), "choices": list(PAPER)},
        cached=common.CACHED,
    )
    args = parser.parse_args(argv)
    topics, epochs = (data.small_topics(), 20) if args.small else (data.reuters(), EPOCHS)
    found = common.Kept(args, "table2_reuters")
    for name in args.columns:
        if name not in found:
            found[name] = column(name, topics, epochs)
            found.write()
    report(args, topics, found)


def report(args: Any, topics: data.Topics, found: dict[str, Any]) -> None:
    columns = [name for name in PAPER if name in found]
    rows = [] if args.small else [["paper", *(PAPER[c] for c in columns)]]
    rows.append(["ours", *(f"{found[c]['bep']:.1f}" for c in columns)])
    for key in ("lambda", "weights", "weights of the top 10", "seconds"):
        rows.append([key, *(found[c][key] for c in columns)])
    n, d = topics.X.shape
    text = f"# Micro-averaged break-even point (%): {len(topics.names)} topics, {n} documents, {d} features\n\n"
    common.write(args.out, "table2_reuters", text + common.markdown(["", *columns], rows))
    curves = [common.Curve(c, *zip(*found[c]["validation"], strict=True)) for c in columns if found[c]["validation"]]
    panel = common.Panel("cross-validation", curves, "lambda", "break-even point (%)", log="x")
    common.plot(args.out, "table2_reuters", [panel])


if __name__ == "__main__":
    main()
