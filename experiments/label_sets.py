"""Sets of labels: pair weights against independent labels, and solvers against each other (paper 004's figure on scene).

scene    1211 pictures to learn from, 1196 to test, 294 numbers each, 6 labels
yeast    1500 genes to learn from, 917 to test, 103 numbers each, 14 labels

Errors   Hamming loss (wrong labels) and subset accuracy (whole sets right) on the test part. "independent": one binary
         linear model per label, which is the pairwise model with all pair weights 0, loss and strength the same. From the
         log-loss with pairs, the most probable set and the labels with probability above 1/2 are both tried. alpha is chosen
         by each measure on a fifth of the training part, the same for all labels; relative gap 1e-3.
Solvers  structured hinge with pair weights, alpha = 0.01 as in the paper: the relative gap after so many calls of each
         example's max-oracle (passes) and CPU seconds. The paper's figure shows BCFW alone. Methods that work on
         distributions of label sets (extragradient, Pragam) are for up to 12 labels: scene.

    python -m experiments.label_sets [--small] [--data scene yeast] [--seconds 20] [--cached]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fenchel
from experiments import common, structured_data
from experiments.races import race, race_panels, race_table
from experiments.structured_data import LabelSets
from fenchel.structured import PairwiseLabels

SETS: dict[str, Callable[[], LabelSets]] = {"scene": structured_data.scene, "yeast": structured_data.yeast}
ALPHAS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
MODELS = ("independent, hinge", "independent, log", "pairs, hinge", "pairs, log", "pairs, log, label by label")
RACE_ALPHA = 0.01


def small_sets(seed: int = 0) -> LabelSets:
    """Three labels, the third of which likes to be there when one of the others is."""
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(120, 5)), rng.normal(size=(5, 3))
    Y = (X @ W + rng.normal(size=(120, 3)) > 0.0).astype(float)
    Y[:, 2] = np.where(rng.random(120) < 0.6, Y[:, 0] != Y[:, 1], Y[:, 2])
    return LabelSets(X[:80], Y[:80], X[80:], Y[80:])


class Fit:
    """Weights of all labels, and what is certified of them."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, model: str, alpha: float, tol: float, seconds: float):
        self.model, loss = model, model.split(", ")[1]
        if model.startswith("independent"):
            self.found = independent(X, Y, loss, alpha, tol, seconds)
        else:
            problem = fenchel.Problem(X, Y, loss=PairwiseLabels(loss), alpha=alpha)
            self.found = [fenchel.solve(problem, tol=tol, max_time=seconds)]

    def predict(self, X: np.ndarray) -> np.ndarray:
        if self.model.startswith("independent"):
            rows = np.hstack([X, np.ones((X.shape[0], 1))])
            return np.column_stack([rows @ found.coef > 0.0 for found in self.found])
        (found,) = self.found
        pairwise = found.problem.loss
        if self.model.endswith("label by label"):
            return np.array([pairwise.marginals(found.coef, x) > 0.5 for x in X])
        return np.array([pairwise.predict(found.coef, x) for x in X])

    def facts(self) -> dict[str, Any]:
        """Of independent labels: seconds and gap of all together."""
        primal = sum(found.certificate.primal for found in self.found)
        dual = sum(found.certificate.dual for found in self.found)
        return {
            "gap": (primal - dual) / primal,
            "seconds": sum(found.seconds for found in self.found),
            "solver": self.found[0].solver,
        }


def independent(X: np.ndarray, Y: np.ndarray, loss: str, alpha: float, tol: float, seconds: float) -> list[Any]:
    """A binary problem per label; the bias is a feature, and is regularized, as in the pairwise model."""
    rows, name = np.hstack([X, np.ones((X.shape[0], 1))]), {"hinge": "hinge", "log": "logistic"}[loss]
    problems = [fenchel.Problem(rows, 2.0 * y - 1.0, loss=name, alpha=alpha) for y in Y.T]
    return [fenchel.solve(problem, tol=tol, max_time=seconds) for problem in problems]


def certifier(Y: np.ndarray, said: np.ndarray) -> dict[str, float]:
    """In percent, both to be small."""
    wrong = Y.astype(bool) != said.astype(bool)
    return {"hamming": 100.0 * float(wrong.mean()), "subset": 100.0 * float(wrong.any(axis=1).mean())}


def examine(sets: LabelSets, model: str, seconds: float) -> dict[str, Any]:
    """Test errors at the alphas that are best on a fifth of the training rows."""
    held = np.arange(len(sets.Y)) % 5 == 0
    Fit(sets.X[:30], sets.Y[:30], model, 1.0, 1e-1, 60.0)  # compiled
    tried, fits = {}, {}
    for alpha in ALPHAS:
        fit = Fit(sets.X[~held], sets.Y[~held], model, alpha, 1e-2, seconds)
        tried[alpha] = certifier(sets.Y[held], fit.predict(sets.X[held]))
    found: dict[str, Any] = {"tried": list(tried.items())}
    for measure in ("hamming", "subset"):
        alpha = min(tried, key=lambda a: tried[a][measure])
        if alpha not in fits:
            fits[alpha] = Fit(sets.X, sets.Y, model, alpha, 1e-3, seconds)
        said = fits[alpha].predict(sets.X_test)
        found[measure] = {"value": certifier(sets.Y_test, said)[measure], "alpha": alpha, **fits[alpha].facts()}
    return found


def report(args: Any, found: dict[str, Any]) -> None:
    table, panels = [], []
    for name, results in found.items():
        for model in MODELS:
            h, s = results[model]["hamming"], results[model]["subset"]
            errors = [f"{h['value']:.2f}", h["alpha"], f"{100.0 - s['value']:.2f}", s["alpha"]]
            table.append([name, model, *errors, h["solver"], h["seconds"], s["seconds"], max(h["gap"], s["gap"])])
        panels += race_panels(f"{name}, alpha = {RACE_ALPHA}", results["race"])
    text = "# Label sets of the test part\n\n"
    header = ["data", "model", "Hamming loss %", "alpha", "subset accuracy %", "alpha", "solver", "seconds", "seconds"]
    text += common.markdown([*header, "larger gap"], table)
    text += f"\n\n# Solvers, hinge with pairs, alpha = {RACE_ALPHA}\n\n"
    text += race_table({name: results["race"] for name, results in found.items()})
    common.write(args.out, "label_sets", text)
    common.plot(args.out, "label_sets", panels, columns=2)


def main(argv: Sequence[str] | None = None) -> None:
    parser = common.arguments(
        __doc__,
        data={"nargs": "+", "default": list(SETS), "choices": list(SETS)},
        seconds={"type": float, "default": 20.0, "help": "for each fit"},
        cached=common.CACHED,
    )
    args = parser.parse_args(argv)
    found = common.Kept(args, "label_sets")
    for name in ["generated"] if args.small else args.data:
        sets, seconds = (small_sets(), 0.3) if args.small else (SETS[name](), args.seconds)
        results = found.setdefault(name, {})
        for part in (*MODELS, "race"):
            if part not in results:
                problem = fenchel.Problem(sets.X, sets.Y, loss=PairwiseLabels(), alpha=RACE_ALPHA)
                results[part] = race(problem, seconds) if part == "race" else examine(sets, part, seconds)
                found.write()
    report(args, found)


if __name__ == "__main__":
    main()
