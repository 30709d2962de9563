"""Measures as losses: certified, equal to CVXPY on all their planes, never certified when wrong."""

from __future__ import annotations

import itertools
import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel import measures as M
from fenchel import regularizers as R
from fenchel import solvers
from fenchel.errors import IncompatibleError, InputError
from fenchel.problems.measure import Mixture
from fenchel.selection import requirements
from judge import judge
from problems import cvxpy_regularizer
from test_measures import labelings, rankings
from test_pair_measures import weighted_pairs

MEASURES = {
    "roc_area": M.ROCArea(),
    "f1": M.FBeta(),
    "f2": M.FBeta(2.0),
    "precision": M.PrecisionAtK(3),
    "recall": M.RecallAtK(3),
    "break_even": M.BreakEven(),
    "ordinal": M.Ordinal(),
    "ndcg": M.NDCG(3),
    "ndcg_decay": M.NDCG(decay=0.25),
    "mrr": M.MRR(),
    "eru": M.ERU(1.0, 2.5),
    "winner": M.WinnerTakesAll(),
    "area_pairs": M.AreaPairs(),
    "ndcg_pairs": M.NDCGPairs(3),
    "ndcg_logistic": M.NDCGPairs(loss="logistic"),
    "map_pairs": M.MAPPairs("hinge"),
    "mrr_pairs": M.MRRPairs(),
}
PHI = {
    "hinge": lambda m: cp.pos(1.0 - m),
    "squared_hinge": lambda m: 0.5 * cp.square(cp.pos(1.0 - m)),
    "logistic": lambda m: cp.logistic(-m),
}
REGULARIZERS = {"l2": R.L2(0.02), "l1": R.L1(0.02), "elastic_net": R.ElasticNet(0.02, 0.5), "entropy": R.Entropy(0.05)}


def data(name, queries=3, size=4, d=3):
    """Rows of several queries; for measures of one set, as many rows as can be enumerated."""
    rng = np.random.default_rng(7)
    n = queries * size if MEASURES[name].needs_groups else 8
    X = rng.standard_normal((n, d))
    score = X @ rng.standard_normal(d) + 0.8 * rng.standard_normal(n)
    levels = np.digitize(score, np.quantile(score, [0.3, 0.6, 0.8])).astype(float)
    if MEASURES[name].needs_groups:
        return X, levels, np.arange(n) % queries  # queries are not in order
    return X, levels if name == "ordinal" else np.where(score > np.median(score), 1.0, -1.0), None


def problem(name, reg, storage=np.asarray):
    X, y, groups = data(name)
    return fenchel.Problem(storage(X), y, loss=MEASURES[name], regularizer=reg, groups=groups)


def in_cvxpy(measure, z, y, groups):
    """The measure as the maximum of all its planes, or as the sum over pairs that defines it."""
    if isinstance(measure, M.ROCArea | M.Ordinal):
        terms = [
            cp.pos(1.0 - (z[int(j)] - z[int(i)])) for i, j in itertools.product(range(y.size), repeat=2) if y[i] < y[j]
        ]
        return cp.sum(cp.hstack(terms)) / len(terms)
    if isinstance(measure, M.PairMeasure):
        i, j, p = weighted_pairs(measure, y, np.zeros(y.size) if groups is None else groups)
        return p @ PHI[measure.loss](z[i] - z[j])
    if groups is None:
        return cp.max(cp.hstack([slope @ z + constant for slope, constant in labelings(measure, y)]))
    parts = []
    for q in np.unique(groups):
        rows = np.flatnonzero(groups == q)
        if y[rows].max() > 0 and (not isinstance(measure, M.ERU) or y[rows].max() > measure.neutral):
            planes = rankings(measure, y[rows])
            parts.append(cp.max(cp.hstack([slope @ z[rows] + constant for slope, constant in planes])))
    return cp.sum(cp.hstack(parts)) / len(parts)


def optimum(p):
    w = cp.Variable(p.d)
    regular, constraints = cvxpy_regularizer(p.regularizer, w)
    model = cp.Problem(cp.Minimize(in_cvxpy(p.loss, p.X @ w, p.y, p.groups) + regular), constraints)
    model.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return float(model.value)


@pytest.mark.parametrize("reg", REGULARIZERS)
@pytest.mark.parametrize("name", [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in MEASURES])
def test_every_pair_is_certified_and_equals_cvxpy(name, reg):
    p = problem(name, REGULARIZERS[reg])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = optimum(p)
    for solver in ["auto", *(k for k, cls in solvers.SOLVERS.items() if requirements.fits(cls, p))]:
        tol = 2e-2 if solver == "frank_wolfe" else 1e-4
        result = fenchel.solve(p, solver=solver, tol=tol, max_time=60)
        c, where = result.certificate, f"{solver}: {result}"
        assert result.status is fenchel.Status.CERTIFIED, where
        judge(result)
        slack = 1e-6 * (1.0 + abs(best))
        assert c.dual - slack <= best <= c.primal + slack, where
        assert isinstance(result.dual_point, Mixture)
        again = fenchel.certify(p, result.coef, dual_point=result.dual_point)
        assert again.dual == pytest.approx(c.dual, rel=1e-12)


@pytest.mark.parametrize("name", ["roc_area", "ndcg"])
def test_csr_gives_the_same_optimum(name):
    a = fenchel.solve(problem(name, REGULARIZERS["l2"]), tol=1e-6)
    b = fenchel.solve(problem(name, REGULARIZERS["l2"], sp.csr_matrix), tol=1e-6)
    assert b.status is fenchel.Status.CERTIFIED
    assert b.certificate.primal == pytest.approx(a.certificate.primal, rel=2e-6)


@pytest.mark.parametrize("reg", REGULARIZERS)
@pytest.mark.parametrize("name", MEASURES)
def test_no_mixture_claims_more_than_the_optimum(name, reg):
    """Any scores, any weights: what they bound below is never above a value that is attained."""
    p = problem(name, REGULARIZERS[reg])
    best = fenchel.solve(p, tol=1e-4)
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores = p.X @ best.coef + 10.0 ** rng.uniform(-4, 2) * rng.standard_normal((3, p.n))
        found = fenchel.certify(p, best.coef, dual_point=(rng.random(3), scores))
        assert found.dual <= best.certificate.primal + best.certificate.floor
        assert found.primal == best.certificate.primal


def test_the_measure_is_better_on_its_own_ground():
    """Training on the ROC area ranks a skewed sample at least as well as training on the hinge."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) * [1, 1, 1, 1, 3]
    y = np.where(X[:, 0] - X[:, 1] + 1.5 * rng.standard_normal(400) > 2.5, 1.0, -1.0)
    area = fenchel.solve(fenchel.Problem(X, y, loss="roc_area", alpha=1e-4), tol=1e-3)
    hinge = fenchel.solve(fenchel.Problem(X, y, loss="hinge", alpha=1e-4), tol=1e-6)
    loss, prepared, out = M.ROCArea(), M.ROCArea().prepare(y), np.empty(400)
    assert area.status is fenchel.Status.CERTIFIED
    best = area.certificate.primal
    for scale in 10.0 ** np.arange(-2, 2):  # the hinge's direction at any length is no better in the area's own problem
        w = scale * hinge.coef / np.linalg.norm(hinge.coef)
        assert loss.value_and_slope(X @ w, prepared, out) + 0.5e-4 * w @ w >= best * (1.0 - 1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "ndcg"}, "groups"),
        ({"loss": "roc_area", "fit_intercept": True}, "adding a constant"),
        ({"loss": "f_beta", "fit_intercept": True}, "constant column"),
        ({"loss": "roc_area", "offset": np.zeros(8)}, "offset"),
        ({"loss": "roc_area", "y": None}, "y is missing"),
        ({"loss": "roc_area", "y": np.arange(8.0)}, "y"),
        ({"loss": "roc_area", "sample_weight": np.arange(8.0)}, "weight"),
        ({"loss": "roc_area", "groups": np.zeros(3)}, "one entry per row"),
        ({"loss": M.PrecisionAtK(9)}, "k"),
        ({"loss": "hinge", "groups": np.zeros(8)}, "groups"),
    ],
)
def test_bad_input_is_named(options, message):
    X, y, _ = data("roc_area")
    arguments = {"y": y} | options
    with pytest.raises(InputError, match=message):
        fenchel.Problem(X, **arguments)


def test_bad_mixtures_are_named():
    p = problem("roc_area", REGULARIZERS["l2"])
    rows = np.zeros((1, 8))
    for bad in (np.zeros(8), (np.ones(2), np.zeros((3, 8))), (-np.ones(1), rows), (np.ones(1), rows + np.nan)):
        with pytest.raises(InputError):
            fenchel.certify(p, np.zeros(3), dual_point=bad)


def test_solvers_that_do_not_fit_say_why():
    with pytest.raises(IncompatibleError, match="all scores together"):
        fenchel.solve(problem("roc_area", REGULARIZERS["l2"]), solver="pegasos")
    for solver in ("lbfgs", "newton_cg"):
        with pytest.raises(IncompatibleError, match="`ROCArea` is not"):
            fenchel.solve(problem("roc_area", REGULARIZERS["l2"]), solver=solver)
        with pytest.raises(IncompatibleError, match="`NDCGPairs` is not"):
            fenchel.solve(
                fenchel.Problem(*data("ndcg")[:2], loss=M.NDCGPairs(loss="hinge"), groups=data("ndcg")[2]),
                solver=solver,
            )


@pytest.mark.parametrize("name", ["area_pairs", "ndcg_pairs", "ndcg_logistic", "mrr_pairs"])
def test_newton_steps_on_differentiable_measures(name):
    """auto takes them, they end in few steps at a tight tolerance, and their optimum is that of quasi-Newton steps."""
    p = problem(name, R.L2(1e-3))
    newton, quasi = fenchel.solve(p, tol=1e-9), fenchel.solve(p, solver="lbfgs", tol=1e-9)
    assert newton.solver == "NewtonCG"
    assert newton.status is quasi.status is fenchel.Status.CERTIFIED
    assert newton.n_iter < 20
    assert newton.coef == pytest.approx(quasi.coef, abs=1e-3)
    assert newton.certificate.primal == pytest.approx(quasi.certificate.primal, rel=2e-9)


def test_newton_steps_in_a_metric():
    """w'Kw with K not diagonal: the same optimum as by cutting planes."""
    K = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.5]])
    p = problem("ndcg_pairs", R.Quadratic(0.01, K))
    newton, bundle = fenchel.solve(p, tol=1e-8), fenchel.solve(p, solver="bundle", tol=1e-5)
    assert newton.solver == "NewtonCG"
    assert newton.certificate.primal == pytest.approx(bundle.certificate.primal, rel=2e-5)
