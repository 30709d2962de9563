"""Small problems whose labels are made of parts, all labels of an example with their parts, and the optimum by CVXPY."""

from __future__ import annotations

from itertools import product

import cvxpy as cp
import numpy as np

import fenchel
from fenchel.structured import Chain, Multiclass, Tree


def chain(alpha=0.1, weighted=False, lengths=(3, 1, 4, 2, 3), regularizer="l2", **options):
    rng = np.random.default_rng(5)
    examples = [rng.normal(size=(T, 2)) for T in lengths]
    pairs = [(x, rng.normal(size=(len(x) - 1, 2))) for x in examples] if options.get("edge_features") else examples
    labels = [rng.integers(0, 3, size=T) for T in lengths]
    weights = [1.0, 2.0, 0.0, 3.0, 1.0] if weighted else None
    model = Chain(classes=3, **options)
    return fenchel.Problem(pairs, labels, loss=model, regularizer=regularizer, alpha=alpha, sample_weight=weights)


def classes(alpha=0.05, regularizer="l2"):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(12, 3))
    y = (X @ rng.normal(size=(3, 4)) + rng.normal(size=(12, 4))).argmax(axis=1)
    return fenchel.Problem(X, y, loss=Multiclass(4), regularizer=regularizer, alpha=alpha)


def tree(alpha=0.1, **options):
    """Trees with several children, a node alone, two roots."""
    rng = np.random.default_rng(6)
    parents = [[-1, 0, 0, 0], [-1], [2, 2, -1, 1], [-1, 0, -1, 2]]
    examples = [(rng.normal(size=(len(up), 2)), up) for up in parents]
    labels = [rng.integers(0, 3, size=len(up)) for up in parents]
    return fenchel.Problem(examples, labels, loss=Tree(classes=3, **options), alpha=alpha)


PROBLEMS = {
    "classes": classes(),
    "chain": chain(),
    "weights": chain(weighted=True),
    "plain": chain(alpha=0.02, bias=False, ends=False, normalise=True),
    "edges": chain(edge_features=True),
    "observed": chain(observed_only=True),
    "tree": tree(),
    "tree, shares": tree(alpha=0.02, normalise=True),
}


SOLVED = [name for name in PROBLEMS if name != "observed"]  # that one would be compiled for its own sake


def every_label(problem, i):
    """(label, its parts as 0 and 1) for all labels of example i."""
    m, size = problem.model.m, int(problem.model.sizes[i])
    if isinstance(problem.loss, Tree):
        yield from every_tree_label(problem.model, i)
        return
    for label in product(range(m), repeat=size):
        mu = np.zeros(m if size == 1 else (size - 1) * m * m)
        if size == 1:
            mu[label[0]] = 1.0
        for t in range(size - 1):
            mu[(t * m + label[t]) * m + label[t + 1]] = 1.0
        yield np.array(label, dtype=np.int32), mu


def every_tree_label(model, i):
    m, up = model.m, model.parent[model.first[i] : model.first[i + 1]]
    for label in product(range(m), repeat=up.size):
        tables = [np.zeros(m) if u < 0 else np.zeros((m, m)) for u in up]
        for v, u in enumerate(up):
            tables[v][label[v] if u < 0 else (label[u], label[v])] = 1.0
        yield np.array(label, dtype=np.int32), np.concatenate([table.ravel() for table in tables])


def planes(problem, i):
    """(costs, slopes) of all labels of example i."""
    costs, slopes = [], []
    for label, _ in every_label(problem, i):
        slope = np.zeros(problem.d)
        problem.model.add_label(i, label, 1.0, slope)
        costs.append(problem.model.label_cost(i, label))
        slopes.append(slope)
    return np.array(costs), np.array(slopes)


def optimum(problem, cache={}):  # noqa: B006
    """The least value of the objective over all labels."""
    if problem.digest not in cache:
        w, terms = cp.Variable(problem.d), []
        for i in range(problem.n):
            costs, slopes = planes(problem, i)
            terms.append(problem.weights[i] * cp.max(costs + slopes @ w))
        alpha = problem.regularizer.alpha
        l1 = type(problem.regularizer).__name__ == "L1"
        regular = alpha * cp.norm1(w) if l1 else alpha / 2 * cp.sum_squares(w)
        tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10)
        made = cp.Problem(cp.Minimize(sum(terms) + regular))
        made.solve(solver=cp.CLARABEL, **tight)
        cache[problem.digest] = float(made.value)
    return cache[problem.digest]
