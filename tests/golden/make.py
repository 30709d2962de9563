"""Golden model files of one release: `python tests/golden/make.py` at every release, never again for an old one.

Coefficients and rows are small multiples of 1/8, so that every score is exact in floating point, whatever the order of the
sums and the processor: "bit-equal for ever" can be asked for. `expected.json` holds the scores, in hexadecimal, and the
predictions, computed here with fractions and by counting, not by Fenchel.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import numpy as np

import fenchel
from fenchel import losses, measures, multiclass, regularizers, structured
from fenchel.result import Certificate, Status

FOLDER = Path(__file__).parent / fenchel.__version__
ROWS = np.array([[1.0, -2.0, 0.5], [0.0, 0.25, 3.0], [-1.5, 1.0, 1.0], [2.0, 2.0, -4.0], [0.125, 0.0, -0.5]])
COEF = np.array([[0.5, -1.25, 2.0], [1.0, 0.375, -0.5], [-0.25, 0.75, 1.5]])
INTERCEPT = np.array([0.125, -0.5, 0.25])
K = np.array([2.0, 0.5, 1.0])
TREE = multiclass.Tree(["a/b", "a/c", "d"])


def model(coef, intercept, loss, regularizer, **about):
    """A model with made-up certificates: what is golden is the file."""
    several = np.ndim(coef) == 2 and not hasattr(type(loss), "outputs")
    count = len(coef) if several else 1
    return fenchel.Model(
        coef=np.array(coef), intercept=intercept, loss=loss, regularizer=regularizer, fit_intercept=bool(np.any(intercept)),
        labels=about.pop("labels", None), certificates=(Certificate(1.0, 0.875, "conjugate", 2.0**-50),) * count,
        statuses=(Status.CERTIFIED,) * count, tol=0.25, solvers=("DualAscent",) * count, digests=("0" * 64,) * count, n=2,
        **about,
    )  # fmt: skip


def models():
    """One of every kind of file."""
    node = np.vstack([COEF, [[0.5, 0.25, -1.0]]])  # a row for each node of the tree below its root
    l2, net = regularizers.L2(0.25), regularizers.ElasticNet(0.5, 0.25)
    return {
        "binary": model(COEF[0], 0.125, losses.Hinge(), l2, labels=("no", "yes"), dual_points=np.array([0.5, -0.5])),
        "one_against_rest": model(COEF, INTERCEPT, losses.Logistic(), net, labels=(3, 5, 8), index_base=1),
        "quantile": model(COEF[1], 0.25, losses.Quantile(0.75), regularizers.L1(0.125), feature_names=("a", "b", "c")),
        "smoothed": model(COEF[2], 0.0, losses.Moreau(losses.Absolute(), 0.5), regularizers.Quadratic(0.5, K)),
        "max_hinge": model(COEF, np.zeros(3), multiclass.MaxHinge(), l2, labels=("x", "y", "z")),
        "tree": model(node, np.zeros(4), multiclass.HierarchicalHinge(TREE), l2, labels=("a/b", "a/c", "d")),
        "ordinal": model(COEF[2], 0.0, measures.Ordinal(), l2, labels=(0, 1, 2), thresholds=(-1.0, 0.5)),
    }


def chain():
    """A chain of two labels on dense positions."""
    problem = fenchel.Problem([ROWS[:2], ROWS[2:4]], [[0, 1], [1, 0]], loss=structured.Chain(2), alpha=1.0)
    made = fenchel.StructuredModel.from_result(fenchel.solve(problem, max_iter=0), keep_dual=False, labels=("D", "N"))
    weights = np.arange(made.coef.size) % 7 / 8.0 - 0.375
    return fenchel.StructuredModel(**{**vars(made), "coef": weights})


def _dot(x, w):
    return sum(Fraction(a) * Fraction(b) for a, b in zip(x, w, strict=True))


def exact_scores(made):
    """The scores of ROWS, by fractions."""
    lines = np.atleast_2d(made.coef)
    add = np.resize(np.atleast_1d(made.intercept), len(lines))
    dots = [[_dot(x, w) + Fraction(c) for w, c in zip(lines, add, strict=True)] for x in ROWS]
    return [[float(value) for value in row] for row in dots]


def expected(made, name):
    """Scores and predictions, without Fenchel's own arithmetic."""
    scores = exact_scores(made)
    if name == "tree":
        parent = TREE.parent
        paths = [[v for v in range(1, 5) if v == leaf or v == parent[leaf]] for leaf in TREE.leaf]
        answers = [made.labels[int(np.argmax([sum(row[v - 1] for v in path) for path in paths]))] for row in scores]
    elif name == "ordinal":
        answers = [sum(row[0] > threshold for threshold in made.thresholds) for row in scores]
    elif made.labels is None:
        answers = [row[0].hex() for row in scores]
    elif len(scores[0]) == 1:
        answers = [made.labels[row[0] > 0] for row in scores]
    else:
        answers = [made.labels[int(np.argmax(row))] for row in scores]
    return {"scores": [[value.hex() for value in row] for row in scores], "predictions": answers}


def expected_chain(made):
    """The best labelling of ROWS by trying all of them."""
    parts = made.loss.split(made.full_coef, features=3)
    best = max(
        product(range(2), repeat=len(ROWS)),
        key=lambda y: (
            sum(float(x @ parts.emissions[:, c]) + parts.bias[c] for x, c in zip(ROWS, y, strict=True))
            + sum(parts.transitions[a, b] for a, b in pairwise(y))
            + parts.start[y[0]]
            + parts.end[y[-1]]
        ),
    )
    return {"predictions": [made.labels[c] for c in best]}


def main() -> None:
    if FOLDER.exists():
        sys.exit(f"{FOLDER} is there already: golden files are made once for each release")
    FOLDER.mkdir()
    found = {}
    for name, made in models().items():
        fenchel.save(FOLDER / f"{name}.fenchel", made)
        found[name] = expected(made, name)
    fenchel.save(FOLDER / "chain.fenchel", made := chain())
    found["chain"] = expected_chain(made)
    (FOLDER / "expected.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
