"""Word alignment of the Canadian Hansards: matchings learned from aligned sentences, beside associations alone.

37 trial and 447 test sentence pairs have sure and possible links. With 2383 pairs without links they are all the text from
which associations are counted; published work counts in corpora that are larger by orders of magnitude. Protocols:

37 / 447     learned from the trial pairs, tested on all test pairs
137 / 347    learned from the trial pairs and the first 100 test pairs, tested on the others

Gold matchings are made of sure and possible links by `Matching.feasible` (as many links as fit, among equals those which are
sure and have strong associations), or of the sure ones alone. Costs: an edge too many : a gold edge too few. alpha is chosen
by alignment error rate (sure links must be found, possible ones may be) in five folds of the training pairs, and in bold is
what the folds like best of all golds and costs.

Features of an edge   bias; Dice coefficient of the words, of both words before and both after them, and relative to the best
                      of the row and of the column; position difference, its square and root; equal words, common prefix,
                      longest common subsequence; punctuation and short words; difference of log frequencies. "model 1" adds
                      the translation probabilities of IBM's Model 1 in both directions, by EM on the same text.
Baselines             best French word of each English word with an association above a threshold; the pairs that are best
                      both ways (intersection). The threshold is the one best on the training pairs.
Solvers               on the first 100 test pairs, alpha = 0.01 (100 pairs and 0.01 are what paper 004 took)

    python -m experiments.word_alignment [--small] [--seconds 10] [--cached]
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

import fenchel
from experiments import common, structured_data
from experiments.alignment_features import Associations, edges
from experiments.races import race, race_panels, race_table
from fenchel.metrics import alignment_error_rate
from fenchel.structured import Matching

ALPHAS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4)
COSTS = {"1:1": (1.0, 1.0), "1:3": (1.0, 3.0), "3:1": (3.0, 1.0)}
GOLDS = ("sure", "sure and possible")
KINDS = ("Dice", "Dice and model 1")
THRESHOLDS = np.linspace(0.0, 0.9, 19)
RACE_ALPHA = 0.01
Pair = dict[str, Any]


def small_pairs(seed: int = 0) -> structured_data.Pairs:
    """Sentences of 30 words and their translations word by word, some swapped with their neighbours."""
    rng = np.random.default_rng(seed)

    def pair() -> Pair:
        words = rng.integers(30, size=int(rng.integers(2, 7)))
        order = np.arange(words.size)
        if words.size > 2 and rng.random() < 0.5:
            order[[0, 1]] = order[[1, 0]]
        links = [[int(i), j] for j, i in enumerate(order)]
        return {
            "e": [f"w{k}" for k in words], "f": [f"m{words[i]}" for i in order], "sure": links[:-1], "possible": links[-1:],
        }  # fmt: skip

    return structured_data.Pairs(*([pair() for _ in range(n)] for n in (20, 15, 40)))


def gold(x: np.ndarray, pair: Pair, kind: str) -> np.ndarray:
    """A matching of the links; feature 1 (Dice) decides among links that cannot all be kept."""
    wish, weights = np.zeros(x.shape[:2], dtype=int), x[:, :, 1].copy()
    for i, j in pair["sure"]:
        wish[i, j], weights[i, j] = 1, weights[i, j] + 2.0
    for i, j in pair["possible"] if kind == "sure and possible" else ():
        wish[i, j] = 1
    return Matching(partial=True).feasible(x, wish, weights)


def error(pairs: list[Pair], said: list[np.ndarray]) -> float:
    """Alignment error rate in percent."""
    return 100.0 * alignment_error_rate([p["sure"] for p in pairs], said, [p["possible"] for p in pairs])


def fit(X: list[np.ndarray], Y: list[np.ndarray], alpha: float, costs: str, tol: float, seconds: float) -> Any:
    problem = fenchel.Problem(X, Y, loss=Matching(True, *COSTS[costs]), alpha=alpha)
    return fenchel.solve(problem, tol=tol, max_time=seconds)


def predicted(found: Any, X: list[np.ndarray]) -> list[np.ndarray]:
    return [found.problem.loss.predict(found.coef, x) for x in X]


def choose(X: list[np.ndarray], pairs: list[Pair], seconds: float, small: bool) -> list[tuple[str, str, float, float]]:
    """(gold, costs, alpha, error in five folds) of everything that is tried."""
    tried = []
    for kind, costs, alpha in product(GOLDS[1:] if small else GOLDS, COSTS, ALPHAS[2:3] if small else ALPHAS):
        labels = [gold(x, pair, kind) for x, pair in zip(X, pairs, strict=True)]
        said: dict[int, np.ndarray] = {}
        for fold in range(5):
            held, rest = range(fold, len(X), 5), [i for i in range(len(X)) if i % 5 != fold]
            found = fit([X[i] for i in rest], [labels[i] for i in rest], alpha, costs, 1e-2, seconds)
            said.update(zip(held, predicted(found, [X[i] for i in held]), strict=True))
        tried.append((kind, costs, alpha, error(pairs, [said[i] for i in range(len(X))])))
    return tried


def learned(
    train: list[Pair], test: list[Pair], make: Any, features: slice, seconds: float, small: bool
) -> dict[str, Any]:
    """The test error of the best of every kind of gold and costs, and which of them the folds prefer."""
    X, X_test = ([make(p)[:, :, features] for p in part] for part in (train, test))
    tried = choose(X, train, seconds, small)
    rows = []
    for kind, costs in dict.fromkeys((t[0], t[1]) for t in tried):
        best = min((t for t in tried if t[:2] == (kind, costs)), key=lambda t: t[3])
        labels = [gold(x, pair, kind) for x, pair in zip(X, train, strict=True)]
        found = fit(X, labels, best[2], costs, 1e-3, seconds)
        rows.append({
            "gold": kind, "costs": costs, "alpha": best[2], "folds": best[3], "error": error(test, predicted(found, X_test)),
            "gap": found.certificate.relative_gap, "seconds": found.seconds, "solver": found.solver,
        })  # fmt: skip
    return {"rows": rows, "tried": tried}


def best_both_ways(scores: np.ndarray, threshold: float, both: bool) -> np.ndarray:
    """The best column of every row above the threshold; with `both` only if the row is the best of that column too."""
    best = scores.argmax(axis=1)
    keep = scores.max(axis=1) > threshold
    if both:
        keep &= scores.argmax(axis=0)[best] == np.arange(best.size)
    return np.where(keep, best, -1)


def baselines(train: list[Pair], test: list[Pair], score: Any) -> list[tuple[str, float, float]]:
    """(name, threshold, error)."""
    rows = []
    for both in (False, True):
        said = {
            t: [best_both_ways(s, t, both) for s in map(score, train)]
            for t in THRESHOLDS
            if any((best_both_ways(s, t, both) >= 0).any() for s in map(score, train))
        }
        threshold = min(said, key=lambda t: error(train, said[t]))
        found = error(test, [best_both_ways(score(p), threshold, both) for p in test])
        rows.append(("intersection" if both else "best of each word", float(threshold), found))
    return rows


def extra_pairs(small: bool) -> int:
    """Test pairs to learn from, in the second protocol."""
    return 5 if small else 100


def work(pairs: structured_data.Pairs, args: Any, found: dict[str, Any], keep: Any) -> None:
    associations = Associations([*pairs.trial, *pairs.test, *pairs.unaligned])
    made: dict[int, np.ndarray] = {}

    def make(pair: Pair) -> np.ndarray:
        if id(pair) not in made:
            made[id(pair)] = edges(pair, associations)
        return made[id(pair)]

    extra = extra_pairs(args.small)
    protocols = {
        f"{len(pairs.trial)} / {len(pairs.test)}": (pairs.trial, pairs.test),
        f"{len(pairs.trial) + extra} / {len(pairs.test) - extra}": (
            [*pairs.trial, *pairs.test[:extra]],
            pairs.test[extra:],
        ),
    }
    if "race" not in found:
        X = [make(p) for p in pairs.test[:extra]]
        Y = [gold(x, pair, GOLDS[1]) for x, pair in zip(X, pairs.test, strict=False)]
        found["race"] = race(fenchel.Problem(X, Y, loss=Matching(True), alpha=RACE_ALPHA), args.seconds)
        keep()
    for protocol, (train, test) in protocols.items():
        results = found.setdefault(protocol, {})
        for name, score in (("Dice", associations.dice_table), ("model 1", associations.model1_table)):
            results.setdefault(f"{name} alone", baselines(train, test, score))
        for name, features in zip(KINDS, (slice(0, -2), slice(None)), strict=True):
            if name not in results:
                results[name] = learned(train, test, make, features, args.seconds, args.small)
                keep()


def report(args: Any, found: dict[str, Any]) -> None:
    table = []
    protocols = [name for name in found if name != "race"]
    for protocol in protocols:
        for name in ("Dice alone", "model 1 alone"):
            for what, threshold, value in found[protocol][name]:
                table.append([protocol, f"{name}, {what}", None, None, f"{value:.1f}", None, f"above {threshold:g}"])
        for name in KINDS:
            best = min(row["folds"] for row in found[protocol][name]["rows"])
            for row in found[protocol][name]["rows"]:
                chosen = f"**{row['error']:.1f}**" if row["folds"] == best else f"{row['error']:.1f}"
                facts = [row["gold"], row["costs"], chosen, f"{row['folds']:.1f}", row["alpha"], row["solver"]]
                table.append([protocol, f"matching, {name}", *facts, row["seconds"], row["gap"]])
    table = [row + [None] * (10 - len(row)) for row in table]
    text = "# Alignment error rate, percent (bold: what the folds chose)\n\n"
    header = [
        "learned from / tested on",
        "model",
        "gold",
        "costs",
        "test",
        "folds",
        "alpha",
        "solver",
        "seconds",
        "gap",
    ]
    text += common.markdown(header, table) + f"\n\n# Solvers, costs 1:1, alpha = {RACE_ALPHA}\n\n"
    text += race_table({f"{extra_pairs(args.small)} pairs": found["race"]})
    common.write(args.out, "word_alignment", text)
    panels = race_panels(f"matchings, alpha = {RACE_ALPHA}", found["race"])
    tried = found[protocols[-1]][KINDS[-1]]["tried"]
    curves = [
        common.Curve(f"{kind}, {costs}", *zip(*[t[2:] for t in tried if tuple(t[:2]) == (kind, costs)], strict=True))
        for kind, costs in dict.fromkeys((t[0], t[1]) for t in tried)
    ]
    panels.append(common.Panel(f"{protocols[-1]}: five folds", curves, "alpha", "alignment error %", "x"))
    common.plot(args.out, "word_alignment", panels)


def main(argv: Sequence[str] | None = None) -> None:
    parser = common.arguments(
        __doc__,
        seconds={"type": float, "default": 10.0, "help": "for each fit"},
        cached=common.CACHED,
    )
    args = parser.parse_args(argv)
    found = common.Kept(args, "word_alignment")
    pairs = small_pairs() if args.small else structured_data.hansards()
    args.seconds = 0.3 if args.small else args.seconds
    work(pairs, args, found, found.write)
    report(args, found)


if __name__ == "__main__":
    main()
