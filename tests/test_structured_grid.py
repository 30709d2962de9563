"""Every structure with every penalty and every solver that `compat` offers: certified, and CVXPY's optimum over all labels."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest

import fenchel
from fenchel import regularizers, solvers
from fenchel.selection import requirements
from fenchel.structured import Matching, PairwiseLabels
from marginal_problems import chain, classes, every_label

PENALTIES = {
    "l2": (regularizers.L2(0.1), lambda w: 0.05 * cp.sum_squares(w), None),
    "l1": (regularizers.L1(0.05), lambda w: 0.05 * cp.norm1(w), None),
    "both": (
        regularizers.ElasticNet(0.1, l1_ratio=0.5),
        lambda w: 0.05 * cp.norm1(w) + 0.025 * cp.sum_squares(w),
        None,
    ),
    "l2 ball": (regularizers.L2Ball(1.0), None, lambda w: cp.norm2(w) <= 1.0),
    "l1 ball": (regularizers.L1Ball(1.5), None, lambda w: cp.norm1(w) <= 1.5),
}


def matching(regularizer):
    rng = np.random.default_rng(3)
    X = [rng.normal(size=(*size, 3)) for size in ((2, 3), (3, 3), (1, 4))]
    y = [np.array([1, 2]), np.array([2, 0, 1]), np.array([3])]
    return fenchel.Problem(X, y, loss=Matching(), regularizer=regularizer)


def label_sets(regularizer):
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(12, 3)), rng.integers(0, 2, (12, 3))
    return fenchel.Problem(X, Y, loss=PairwiseLabels(), regularizer=regularizer)


STRUCTURES = {
    "chain": lambda regularizer: chain(None, regularizer=regularizer),
    "classes": lambda regularizer: classes(None, regularizer=regularizer),
    "matching": matching,
    "label sets": label_sets,
}


def labels_of(problem, i):
    """All labels of example i, as the encoded model has them."""
    if isinstance(problem.loss, Matching):
        columns = problem.model.columns[i]
        found = product(range(columns), repeat=int(problem.model.sizes[i]))
        return [np.array(y, dtype=np.int32) for y in found if len(set(y)) == len(y)]
    if isinstance(problem.loss, PairwiseLabels):
        return [np.array(y, dtype=np.int32) for y in product((0, 1), repeat=problem.model.m)]
    return [y for y, _ in every_label(problem, i)]


def optimum(problem, penalty, constraint):
    """The least value over all labels, by Clarabel."""
    w, terms = cp.Variable(problem.d), []
    for i in range(problem.n):
        costs, slopes = [], []
        for y in labels_of(problem, i):
            slope = np.zeros(problem.d)
            problem.model.add_label(i, y, 1.0, slope)
            costs.append(problem.model.label_cost(i, y))
            slopes.append(slope)
        terms.append(problem.weights[i] * cp.max(np.array(costs) + np.array(slopes) @ w))
    objective = sum(terms) + (0.0 if penalty is None else penalty(w))
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-8)
    made = cp.Problem(cp.Minimize(objective), [] if constraint is None else [constraint(w)])
    return float(made.solve(solver=cp.CLARABEL, **tight))


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_every_solver_that_fits_is_certified_and_equals_cvxpy(structure, penalty):
    regularizer, *terms = PENALTIES[penalty]
    problem = STRUCTURES[structure](regularizer)
    best, fitting = optimum(problem, *terms), [c for c in solvers.SOLVERS.values() if requirements.fits(c, problem)]
    assert len(fitting) >= 1
    for solver in fitting:
        tol = 1e-3 if solver.slow else 1e-5
        result = fenchel.solve(problem, solver=solver(), tol=tol)
        assert result.status.name == "CERTIFIED", solver
        assert best * (1 - 1e-6) <= result.certificate.primal <= best * (1 + 1.1 * tol), solver
        assert result.certificate.dual <= best * (1 + 1e-6), solver
