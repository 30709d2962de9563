"""The random problems of `benchmarks.grid`: by a seed a loss, a regularizer, data and a tolerance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import fenchel
import vector_problems
from fenchel import regularizers as R
from problems import LOSSES, data

ATTAINED = ("squared", "absolute", "quantile", "epsilon_1", "epsilon_2", "epsilon_1.5", "huber", "moreau_absolute")
ROWS_WITHOUT_PENALTY = 20  # for each column, so that there is a minimum as a rule
LEVELS = 50  # of the weights of Slope: a statement in CVXPY needs d variables for each
MOST_VECTOR_ROWS, MOST_VECTOR_COLUMNS = 400, 60
VECTOR_SHARE = 0.15  # of the cases that have several scores


@dataclass(frozen=True)
class Case:
    """A random problem, by the numbers that make it."""

    seed: int
    loss: str
    regularizer: str
    n: int
    d: int
    intercept: bool
    weighted: bool
    sparse: bool
    scale: float
    share: float  # alpha as a share of alpha_max
    tol: float
    several: bool = False  # scores for each row


Maker = Callable[[int, float, float, np.random.Generator], Any]


def labels(d: int) -> list[int]:
    """Groups of five neighbours."""
    return [j // 5 for j in range(d)]


def some_free(d: int, rng: np.random.Generator) -> np.ndarray:
    """Weights of which up to three are 0: so many coefficients are not penalised."""
    weights = rng.uniform(0.5, 2.0, d)
    weights[rng.permutation(d)[: int(rng.integers(1, 4))]] = 0.0
    return weights


# (columns, alpha, size of a typical coefficient, random numbers) -> regularizer
SEPARABLE: dict[str, Maker] = {
    "l2": lambda d, a, size, rng: R.L2(a),
    "l1": lambda d, a, size, rng: R.L1(a),
    "elastic_net": lambda d, a, size, rng: R.ElasticNet(a, 0.5),
    "nonnegative_l2": lambda d, a, size, rng: R.Bounded(R.L2(a), lower=0.0),
    "nonnegative_l1": lambda d, a, size, rng: R.Bounded(R.L1(a), lower=0.0),
    "box_net": lambda d, a, size, rng: R.Bounded(R.ElasticNet(a, 0.5), -size * rng.random(d), size * rng.random(d)),
    "l1_ball": lambda d, a, size, rng: R.L1Ball(size * np.sqrt(d)),
    "l2_ball": lambda d, a, size, rng: R.L2Ball(size),
    "shifted_l2": lambda d, a, size, rng: R.Shifted(R.L2(a), size * rng.standard_normal(d)),
    "shifted_l1": lambda d, a, size, rng: R.Shifted(R.L1(a), size * rng.standard_normal(d)),
}
SCALAR: dict[str, Maker] = SEPARABLE | {
    "diagonal": lambda d, a, size, rng: R.Quadratic(a, np.linspace(0.5, 2.0, d)),
    "given_sum": lambda d, a, size, rng: R.LinearlyConstrained.sum_to(R.L2(a), d, size),
    "entropy": lambda d, a, size, rng: R.Entropy(a, total=2.0),
    "unnormalised_entropy": lambda d, a, size, rng: R.UnnormalisedEntropy(a),
    "balanced_entropy": lambda d, a, size, rng: R.BalancedEntropy(a),
    "q_norm": lambda d, a, size, rng: R.QNorm(a, 1.5),
    "simplex": lambda d, a, size, rng: R.Simplex(size),
    "group_lasso": lambda d, a, size, rng: R.GroupLasso(a, labels(d)),
    "sparse_group_lasso": lambda d, a, size, rng: R.SparseGroupLasso(a, labels(d), l1_ratio=0.5),
    "slope": lambda d, a, size, rng: R.Slope(a, np.linspace(2.0, 0.5, LEVELS)[np.arange(d) * LEVELS // max(d, LEVELS)]),
    "total_variation": lambda d, a, size, rng: R.TotalVariation(a, l1=0.1),
    "total_variation_alone": lambda d, a, size, rng: R.TotalVariation(a),
    "no_penalty": lambda d, a, size, rng: R.NoPenalty(),
    "l1_weights": lambda d, a, size, rng: R.L1(a, weights=rng.uniform(0.1, 3.0, d)),
    "l1_free": lambda d, a, size, rng: R.L1(a, weights=some_free(d, rng)),
    "l2_free": lambda d, a, size, rng: R.L2(a, weights=some_free(d, rng)),
}
SEVERAL: dict[str, Maker] = SEPARABLE | {
    "group_lasso": lambda d, a, size, rng: R.GroupLasso(a, labels(d)),
    "sparse_group_lasso": lambda d, a, size, rng: R.SparseGroupLasso(a, labels(d), l1_ratio=0.5),
    "multi_task": lambda d, a, size, rng: R.MultiTask(a),
    "nuclear_norm": lambda d, a, size, rng: R.NuclearNorm(a),
}
POPULAR = ["l1", "elastic_net", "nonnegative_l2", "group_lasso"]  # a quarter of the cases
UNPENALISED = ("no_penalty", "l1_free", "l2_free", "total_variation_alone")


def draw(seed: int, several: bool | None = None) -> Case:
    """A case; `several`: with several scores or with one, otherwise both are drawn."""
    rng = np.random.default_rng([seed, 7])
    drawn = bool(rng.random() < VECTOR_SHARE)
    several = drawn if several is None else several
    makers = SEVERAL if several else SCALAR
    popular = [name for name in POPULAR if name in makers]
    case = Case(
        seed=seed,
        loss=str(rng.choice(list(vector_problems.LOSSES if several else LOSSES))),
        regularizer=str(rng.choice(popular if rng.random() < 0.25 else list(makers))),
        n=int(5 * 400 ** rng.random()),
        d=int(500 ** rng.random()),
        intercept=bool(rng.random() < 0.5),
        weighted=bool(rng.random() < 0.3),
        sparse=bool(rng.random() < 0.3),
        scale=float(10 ** rng.uniform(-3, 3)),
        share=float(10 ** rng.uniform(-6, 0)),
        tol=float(10 ** rng.uniform(-8, -3)),
        several=several,
    )
    return fitted(case)


def fitted(case: Case) -> Case:
    """The case, with so few columns and so many rows that it can be stated and has a minimum."""
    values = dict(vars(case))
    if case.several:
        values |= {"n": min(case.n, MOST_VECTOR_ROWS), "d": min(case.d, MOST_VECTOR_COLUMNS)}
    elif case.regularizer in UNPENALISED and case.loss not in ATTAINED:
        d = min(case.d, 100)
        values |= {"d": d, "n": max(case.n, ROWS_WITHOUT_PENALTY * d)}
    return Case(**values)


def problem(case: Case) -> Any:
    """The problem of a case; None where the drawn data make none (a single label, free intercepts of a loss without)."""
    rng = np.random.default_rng([case.seed, 11])
    X, y, loss = targets(case, rng)
    storage = sp.csr_array(X) if case.sparse else X
    weights = rng.uniform(0.1, 2.0, case.n) if case.weighted else None
    try:
        started = fenchel.Problem(storage, y, loss, R.L2(1.0), None, case.intercept, weights)
    except fenchel.errors.InputError:
        return None
    alpha = case.share * max(largest_slope(started, X), 1e-12)
    size = float(10 ** rng.uniform(-1, 1)) / case.scale / np.sqrt(case.d)
    make = (SEVERAL if case.several else SCALAR)[case.regularizer]
    return fenchel.Problem(storage, y, loss, make(case.d, alpha, size, rng), None, case.intercept, weights)


def targets(case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Any]:
    """(X, y, loss); X is neither centred nor scaled."""
    loss = (vector_problems.LOSSES if case.several else LOSSES)[case.loss]
    if case.several:
        X = np.random.default_rng(case.seed).standard_normal((case.n, case.d))
        y = (X @ rng.standard_normal((case.d, 4)) / np.sqrt(case.d) + 0.7 * rng.standard_normal((case.n, 4))).argmax(1)
        y[:4] = range(4)
        if getattr(loss, "several_targets", False):
            y = X[:, :2] @ rng.standard_normal((min(case.d, 2), 2)) + 0.3 * rng.standard_normal((case.n, 2))
    else:
        X, y = data(loss, n=case.n, d=case.d, seed=case.seed)
    X = X / np.sqrt(case.d) + rng.standard_normal(case.d)
    if case.sparse:
        X = X * (rng.random(X.shape) < 0.3)
    return X * case.scale, y, loss


def largest_slope(p: Any, X: np.ndarray) -> float:
    """The largest entry of the risk's gradient at w = 0, from where on L1 without an intercept gives w = 0."""
    if p.is_vector:
        slopes = np.abs(p.weights)[:, None] * np.ones(
            p.outputs
        )  # a bound for hinges and softmax; of the order for squares
        return float(np.abs(X.T @ slopes).max()) / p.outputs
    slopes = np.array([p.loss.slope(float(b), float(t)) for b, t in zip(p.offset, p.y, strict=True)])
    if not slopes.any():  # at a nonsmooth point, where 0 is one of the slopes
        slopes = np.sign(p.y)
    return float(np.abs(X.T @ (p.weights * slopes)).max())
