"""Losses that know the tree of the classes, against flat ones: TREC questions and 20news.

TREC      5452 questions to learn from, 500 to test: 50 fine classes below 6 coarse ones
20news    11314 and 7532 posts of 20 groups, in the tree of their names (comp, comp/sys, rec/sport, ...)

At most --rows of the training rows, drawn at random, are used.

Flat losses have a score per class: max hinge, hinge with the tree distance as cost, softmax. Hierarchical ones have a score
per node, and the score of a class is the sum over its path. alpha is chosen for every loss by the tree distance of a fifth
of the training part, and the loss is then solved anew on all of it, to a relative gap of 1e-3 or until --seconds are over.
Tree distance: half the steps between the true and the predicted leaf; coarse error: another branch below the root.

    python -m experiments.hierarchies [--small] [--data trec 20news] [--seconds 8] [--rows 4000] [--cached]

About five minutes. The papers have no figures for these.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fenchel
from experiments import common, data
from fenchel.metrics import top_k_error, tree_distance
from fenchel.multiclass import CostHinge, HierarchicalHinge, HierarchicalSoftmax, MaxHinge, Softmax, Tree

SETS: dict[str, Callable[[], data.Labelled]] = {"trec": data.trec, "20news": data.news20_tree}
ALPHAS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


def losses(tree: Tree) -> dict[str, Any]:
    return {
        "max hinge": MaxHinge(),
        "cost hinge": CostHinge(tree.cost_matrix()),
        "hierarchical hinge": HierarchicalHinge(tree),
        "softmax": Softmax(),
        "hierarchical softmax": HierarchicalSoftmax(tree),
    }


def class_scores(tree: Tree, X: Any, coef: np.ndarray) -> np.ndarray:
    """A column per class, whether the loss had scores of classes or of nodes."""
    Z = np.asarray(X @ coef.T)
    return Z if coef.shape[0] == tree.classes else tree.class_scores(Z)


def certifier(tree: Tree, y: np.ndarray, Z: np.ndarray) -> dict[str, float]:
    """Distance with its standard error, and the errors in percent."""
    said = Z.argmax(axis=1)
    branch = np.array([tree.path(c)[0] for c in range(tree.classes)])
    apart = tree.cost_matrix()[y, said]
    return {
        "distance": tree_distance(tree.leaf[y], tree.leaf[said], tree.parent),
        "deviation": float(apart.std() / np.sqrt(y.size)),
        "error": 100.0 * top_k_error(y, Z, 1),
        "coarse": 100.0 * float(np.mean(branch[y] != branch[said])),
    }


def fit(X: Any, y: np.ndarray, loss: Any, alpha: float, tol: float, seconds: float) -> fenchel.Result:
    return fenchel.solve(fenchel.Problem(X, y, loss=loss, alpha=alpha), tol=tol, max_time=seconds)


def held_out(texts: data.Labelled, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(rows to learn from, a fifth of the rows). One row of every class is kept to learn from."""
    order = np.random.default_rng(seed).permutation(texts.y.size)
    order = np.append(np.delete(order, first := np.unique(texts.y[order], return_index=True)[1]), order[first])
    cut = texts.y.size // 5
    return np.sort(order[cut:]), np.sort(order[:cut])


def examine(texts: data.Labelled, seconds: float) -> dict[str, Any]:
    tree, (rest, held) = Tree(texts.paths), held_out(texts)
    found = {}
    for name, loss in losses(tree).items():
        fenchel.solve(fenchel.Problem(texts.X, texts.y, loss=loss, alpha=ALPHAS[0]), tol=1e-2, max_iter=3)  # compile
        began, curve = time.perf_counter(), {}
        for alpha in ALPHAS:
            result = fit(texts.X[rest], texts.y[rest], loss, alpha, 1e-2, seconds)
            curve[alpha] = certifier(tree, texts.y[held], class_scores(tree, texts.X[held], result.coef))["distance"]
        alpha = min(curve, key=lambda a: curve[a])
        result = fit(texts.X, texts.y, loss, alpha, 1e-3, seconds)
        found[name] = certifier(tree, texts.y_test, class_scores(tree, texts.X_test, result.coef)) | {
            "alpha": alpha, "validation": list(curve.items()), "solver": result.solver, "seconds": result.seconds,
            "gap": result.certificate.relative_gap, "all seconds": time.perf_counter() - began,
        }  # fmt: skip
    return {"losses": found, "shape": [*texts.X.shape, tree.classes, tree.scores]}


def main(argv: Sequence[str] | None = None) -> None:
    parser = common.arguments(
        __doc__,
        data={"nargs": "+", "default": list(SETS), "choices": list(SETS)},
        seconds={"type": float, "default": 8.0, "help": "for each fit"},
        rows={"type": int, "default": 4000, "help": "training rows at most; 0: all"},
        cached=common.CACHED,
    )
    args = parser.parse_args(argv)
    found = common.Kept(args, "hierarchies")
    for name in ["generated"] if args.small else args.data:
        if name not in found:
            texts = data.small_labelled() if args.small else fewer(SETS[name](), args.rows)
            found[name] = examine(texts, 0.1 if args.small else args.seconds)
            found.write()
    report(args, found)


def fewer(texts: data.Labelled, rows: int) -> data.Labelled:
    """So many training rows at random, with at least one of every class."""
    if not 0 < rows < texts.y.size:
        return texts
    order = np.random.default_rng(1).permutation(texts.y.size)
    first = np.unique(texts.y[order], return_index=True)[1]
    chosen = np.append(order[first], np.delete(order, first))[:rows]
    return texts._replace(X=texts.X[chosen], y=texts.y[chosen])


def report(args: Any, found: dict[str, Any]) -> None:
    sizes, table, drawn = [], [], []
    for name, results in found.items():
        sizes.append([name, *results["shape"]])
        for loss, r in results["losses"].items():
            distance = f"{r['distance']:.4f} ± {r['deviation']:.4f}"
            errors = [f"{r['error']:.1f}", f"{r['coarse']:.1f}"]
            table.append(
                [name, loss, distance, *errors, r["alpha"], r["solver"], r["seconds"], r["gap"], r["all seconds"]]
            )
        curves = [common.Curve(k, *zip(*r["validation"], strict=True)) for k, r in results["losses"].items()]
        drawn.append(common.Panel(f"{name}: held-out fifth", curves, "alpha", "tree distance", "x"))
    header = [
        "data",
        "loss",
        "tree distance",
        "error %",
        "coarse error %",
        "alpha",
        "solver",
        "seconds",
        "relative gap",
    ]
    text = "# Tree distance and error on the test part\n\n"
    text += common.markdown(["data", "rows", "features", "classes", "nodes"], sizes) + "\n\n"
    text += common.markdown([*header, "seconds with the choice of alpha"], table)
    common.write(args.out, "hierarchies", text)
    common.plot(args.out, "hierarchies", drawn)


if __name__ == "__main__":
    main()
