"""Small structured problems, all their labels, and their optimum by CVXPY."""

from __future__ import annotations

import importlib.util
from itertools import product
from pathlib import Path

import cvxpy as cp
import numpy as np

import fenchel
from fenchel import structured
from fenchel.structured.python_model import PythonModel
from problems import cvxpy_regularizer

_spec = importlib.util.spec_from_file_location("ordering", Path(__file__).parent.parent / "examples" / "ordering.py")
ordering = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(ordering)


def classes(rng, **options):
    X = rng.standard_normal((15, 3))
    y = (X @ rng.standard_normal((3, 4)) + rng.standard_normal((15, 4))).argmax(axis=1)
    return X, y, structured.Multiclass(4, **options)


def own(rng, **options):
    x = [rng.standard_normal((3, 4)) for _ in range(8)]
    y = [tuple(int(k) for k in np.argsort(rng.standard_normal(3) - z[:, 0])) for z in x]
    return x, y, ordering.Ordering()


def chain(rng, **options):
    x = [rng.standard_normal((t, 2)) for t in (1, 3, 2, 3, 2, 3)]
    return x, [rng.integers(0, 3, len(z)) for z in x], structured.Chain(3, **options)


def tree(rng, **options):
    parents = [[-1], [-1, 0, 0], [1, -1], [-1, 0, 1]]
    x = [(rng.standard_normal((len(up), 2)), up) for up in parents]
    return x, [rng.integers(0, 2, len(up)) for up in parents], structured.Tree(2, **options)


def matching(rng, **options):
    x = [rng.standard_normal((rows, 3, 2)) for rows in (2, 3, 3, 2)]
    return x, [rng.permutation(3)[: len(z)] for z in x], structured.Matching(**options)


def label_sets(rng, **options):
    return rng.standard_normal((8, 2)), rng.integers(0, 2, (8, 3)), structured.PairwiseLabels(**options)


def graph(rng, **options):
    edges = [[[0, 1], [1, 2], [2, 0]], [], [[1, 0], [1, 2]], [[2, 0], [0, 1], [1, 2]]]
    x = [(rng.standard_normal((3, 2)), pairs, rng.standard_normal((len(pairs), 2))) for pairs in edges]
    return x, [rng.integers(0, 2, 3) for _ in x], structured.Graph(2, **options)


def associative(rng, **options):
    x, y, _ = graph(rng)
    return x, y, structured.AssociativeGraph(**options)


def candidates(rng, **options):
    x = [rng.standard_normal((count, 3)) for count in (2, 4, 1, 3, 3, 5)]
    return x, [int(rng.integers(len(z))) for z in x], structured.Candidates(**options)


MAKERS = {
    "candidates": candidates,
    "multiclass": classes, "own": own, "chain": chain, "tree": tree, "matching": matching, "label_sets": label_sets,
    "graph": graph, "associative": associative,
}  # fmt: skip
LOG = ["candidates", "multiclass", "chain", "tree", "label_sets"]


def problem(name, regularizer="l2", alpha=0.05, weighted=False, **options):
    rng = np.random.default_rng(7)
    examples, labels, model = MAKERS[name](rng, **options)
    weights = rng.integers(0, 3, len(labels)) + (np.arange(len(labels)) < 2) if weighted else None
    return fenchel.Problem(
        examples, labels, loss=model, regularizer=regularizer, alpha=alpha if isinstance(regularizer, str) else None,
        sample_weight=weights,
    )  # fmt: skip


def labels_of(problem, i):
    """All labels of example i, encoded."""
    model = problem.model
    if isinstance(model, PythonModel):
        yield from ([model.number(i, y)] for y in permutations_of_three())
    elif isinstance(problem.loss, structured.Candidates):
        yield from ([c] for c in range(int(np.diff(model.first)[i])))
    elif isinstance(problem.loss, structured.Multiclass):
        yield from ([c] for c in range(model.m))
    elif isinstance(problem.loss, structured.Matching):
        yield from (y for y in product(range(3), repeat=int(model.sizes[i])) if len(set(y)) == len(y))
    elif isinstance(problem.loss, structured.AssociativeGraph):
        graphs, first = model.graphs, model.graphs.first_edge[i]
        edges = list(zip(graphs.tails[first:], graphs.heads[first:], strict=True))[: graphs.first_edge[i + 1] - first]
        for y in product(range(2), repeat=int(np.diff(graphs.first)[i])):
            for d in product(range(2), repeat=len(edges)):
                if all(cut >= (y[u] != y[v]) for cut, (u, v) in zip(d, edges, strict=True)):
                    yield (*y, *d)
    else:
        m = 2 if isinstance(problem.loss, structured.PairwiseLabels) else model.m
        yield from product(range(m), repeat=int(model.sizes[i]))


def permutations_of_three():
    return [y for y in product(range(3), repeat=3) if len(set(y)) == 3]


def planes(problem, i):
    """(costs, slopes f psi) of all labels of example i."""
    costs, slopes = [], []
    for y in labels_of(problem, i):
        y = np.array(y, dtype=np.int32)
        cost = problem.model.label_cost(i, y)
        slope = np.zeros(problem.d)
        factor = problem.model.plane_factor(cost) if hasattr(problem.model, "plane_factor") else 1.0
        problem.model.add_label(i, y, factor, slope)
        costs.append(cost)
        slopes.append(slope)
    return np.array(costs), np.array(slopes)


def optimum(problem):
    """The least value of the objective over all labels, by CVXPY."""
    w, terms = cp.Variable(problem.d), []
    for i in range(problem.n):
        costs, slopes = planes(problem, i)
        loss = cp.log_sum_exp(slopes @ w) if problem.log else cp.max(costs + slopes @ w)
        terms.append(problem.weights[i] * loss)
    regular, constraints = cvxpy_regularizer(problem.regularizer, w)
    objective = cp.Problem(cp.Minimize(sum(terms) + regular), constraints)
    objective.solve(solver=cp.CLARABEL)
    return float(objective.value)
