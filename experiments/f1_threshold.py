"""F1 optimised directly against a hinge whose threshold is moved, on whole data sets and with complete fits.

`MeasureClassifier("f1")` minimises the convex bound of 1 - F1 (paper 002, section 3.2), `Classifier("hinge")` the plain hinge.
Both then take the threshold that is best for F1 on the training scores, and the hinge is given with its own threshold, too.
The grid of alpha is the same for all; alpha is chosen for each by the mean F1 of three-fold cross-validation on the training
part, and the fit is repeated on all of it. No fit has a limit of time: all end with a certified relative gap of --tol.
Standard errors are those of the test F1, and of its differences, over 200 bootstrap samples of the test rows.

    python -m experiments.f1_threshold [--small] [--data a9a w8a ijcnn1] [--tol 1e-3] [--cached]

w8a has no test part here: a third of its rows is held out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

import fenchel
from experiments import common, data
from fenchel.estimators.cuts import best_threshold
from fenchel.measures import FBeta


def w8a() -> data.Binary:
    """A third is held out: a tenth would have 148 positive rows."""
    return data.held_out(*data.svmlight("binary/w8a.svm.xz", 300), share=1.0 / 3.0)


SETS: dict[str, Callable[[], data.Binary]] = {"a9a": data.a9a, "w8a": w8a, "ijcnn1": data.ijcnn1}
ALPHAS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
FOLDS, SAMPLES = 3, 200
MEASURE, MOVED, PLAIN = "F1", "hinge, threshold moved", "hinge"


def fitted(learner: str, X: Any, y: np.ndarray, alpha: float, tol: float) -> tuple[Any, Any, float]:
    """(scores of rows, the same with the threshold moved for F1, seconds): the first are None for the measure."""
    began = time.process_time()
    if learner == MEASURE:
        model: Any = fenchel.MeasureClassifier("f1", alpha=alpha, tol=tol).fit(X, y)
        plain, moved = None, model.decision_function
    else:
        model = fenchel.Classifier("hinge", alpha=alpha, tol=tol, fit_intercept=True).fit(X, y)
        threshold = best_threshold(FBeta(), model.decision_function(X), y > 0)
        plain = model.decision_function

        def moved(rows: Any) -> np.ndarray:
            return plain(rows) - threshold

    if model.status_.name != "CERTIFIED":
        raise RuntimeError(f"{learner} at alpha {alpha:g}: {model.status_.name}, gap {model.dual_gap_}")
    return plain, moved, time.process_time() - began


def f1(y: np.ndarray, z: np.ndarray) -> float:
    return 100.0 * float(f1_score(y > 0, z > 0))


def compare(sets: data.Binary, tol: float) -> dict[str, Any]:
    """learner -> its alpha, cross-validated F1, F1 on the test part; and the scores on the test part."""
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(sets.X, sets.y))
    quality: dict[str, dict[float, list[float]]] = {MEASURE: {}, MOVED: {}, PLAIN: {}}
    seconds = {MEASURE: 0.0, MOVED: 0.0, PLAIN: 0.0}

    def judge(learner: str, alpha: float, X: Any, y: np.ndarray) -> dict[str, Any]:
        plain, moved, spent = fitted(learner, X, y, alpha, tol)
        seconds[learner] += spent
        return {MEASURE: moved} if learner == MEASURE else {MOVED: moved, PLAIN: plain}

    for learner in (MEASURE, MOVED):
        for alpha in ALPHAS:
            for rest, held in folds:
                for name, scores in judge(learner, alpha, sets.X[rest], sets.y[rest]).items():
                    quality[name].setdefault(alpha, []).append(f1(sets.y[held], scores(sets.X[held])))
            print(f"{learner} at {alpha:g}: {np.mean(quality[learner][alpha]):.2f}", flush=True)
    found: dict[str, Any] = {}
    for name, values in quality.items():
        alpha = max(values, key=lambda a: float(np.mean(values[a])))
        scores = judge(MEASURE if name == MEASURE else MOVED, alpha, sets.X, sets.y)[name]
        z = scores(sets.X_test)
        found[name] = {
            "alpha": alpha, "validated": float(np.mean(values[alpha])), "test": f1(sets.y_test, z),
            "called": (z > 0.0).tolist(), "seconds": seconds[name],
        }  # fmt: skip
    return found | {"y": (sets.y_test > 0).tolist()}


def bootstrap(found: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """learner -> standard errors of its F1 and of the gain of the measure over it."""
    rng, y = np.random.default_rng(0), np.array(found["y"])
    draws: dict[str, list[float]] = {name: [] for name in (MEASURE, MOVED, PLAIN)}
    for _ in range(SAMPLES):
        rows = rng.integers(0, y.size, y.size)
        for name, values in draws.items():
            values.append(100.0 * float(f1_score(y[rows], np.array(found[name]["called"])[rows])))
    measure = np.array(draws[MEASURE])
    return {name: (float(np.std(values)), float(np.std(measure - values))) for name, values in draws.items()}


def main(argv: Sequence[str] | None = None) -> None:
    parser = common.arguments(
        __doc__,
        data={"nargs": "+", "default": [*SETS], "choices": [*SETS]},
        tol={"type": float, "default": 1e-3},
        cached=common.CACHED,
    )
    args = parser.parse_args(argv)
    found = common.Kept(args, "f1_threshold")
    for name in ["w8a"] if args.small else args.data:
        if name not in found:
            found[name] = compare(data.small_binary() if args.small else SETS[name](), args.tol)
            found.write()
    table = []
    for name, results in found.items():
        errors = bootstrap(results)
        for learner in (MEASURE, MOVED, PLAIN):
            cell = results[learner]
            gain = results[MEASURE]["test"] - cell["test"]
            better = "" if learner == MEASURE else f"{gain:+.2f} ± {errors[learner][1]:.2f}"
            row = ["generated" if args.small else name, learner, f"{cell['alpha']:g}", f"{cell['validated']:.2f}"]
            table.append([*row, f"{cell['test']:.2f} ± {errors[learner][0]:.2f}", better, f"{cell['seconds']:.0f}"])
    header = ["data", "learner", "alpha", "validated F1", "test F1", "gain of the measure", "CPU seconds"]
    text = "# F1 optimised directly, and a hinge whose threshold is moved\n\n" + common.markdown(header, table)
    common.write(args.out, "f1_threshold", text)


if __name__ == "__main__":
    main()
