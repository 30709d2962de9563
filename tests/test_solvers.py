"""Every loss x every regularizer x intercept x weights: certified at 1e-6 and equal to CVXPY, by every solver that fits."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel import solvers
from fenchel.errors import IncompatibleError
from fenchel.selection import requirements
from judge import judge
from problems import LOSSES, REGULARIZERS, optimum, problem

TOL = 1e-6


def tol_of(solver):
    """Baselines with a slow rate are asked for what it allows."""
    return 1e-2 if solver != "auto" and solvers.SOLVERS[solver].slow else TOL


def grid(losses=LOSSES):
    return [
        pytest.param(loss, reg, marks=pytest.mark.xdist_group(loss), id=f"{loss}-{reg}")
        for loss, reg in itertools.product(losses, REGULARIZERS)
    ]


def reference(p):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CVXPY's own remarks on its compilation
        return optimum(p)


@pytest.mark.parametrize(("loss", "reg"), grid())
def test_every_pair_is_certified_and_equals_cvxpy(loss, reg):
    for intercept, weighted in itertools.product([False, True], [False, True]):
        p = problem(LOSSES[loss], REGULARIZERS[reg], intercept, weighted, offset=weighted)
        best = reference(p)
        fitting = [name for name, cls in solvers.SOLVERS.items() if requirements.fits(cls, p)]
        for solver in ["auto", *fitting]:
            result = fenchel.solve(p, solver=solver, tol=tol_of(solver), max_time=60)
            c = result.certificate
            where = f"{solver} intercept={intercept} weighted={weighted}: {result}"
            assert result.status is fenchel.Status.CERTIFIED, where
            assert c.relative_gap <= tol_of(solver), where
            assert c.gap >= -c.floor, where
            judge(result)
            slack = 2e-7 * (1 + abs(best))  # what the reference solver's own tolerance leaves open
            assert c.dual - slack <= best <= c.primal + slack, where


@pytest.mark.parametrize(("loss", "reg"), grid(["hinge", "logistic", "quantile", "poisson"]))
def test_csr_gives_the_same_optimum_as_dense(loss, reg):
    p = problem(LOSSES[loss], REGULARIZERS[reg], intercept=True, weighted=True)
    q = problem(LOSSES[loss], REGULARIZERS[reg], intercept=True, weighted=True, storage=sp.csr_matrix)
    for solver in ["auto", *(name for name, cls in solvers.SOLVERS.items() if requirements.fits(cls, q))]:
        a, b = fenchel.solve(p, tol=TOL), fenchel.solve(q, solver=solver, tol=tol_of(solver), max_time=60)
        assert b.status is fenchel.Status.CERTIFIED
        assert max(a.certificate.dual, b.certificate.dual) <= min(a.certificate.primal, b.certificate.primal) + 1e-12


@pytest.mark.parametrize("reg", ["l2", "quadratic", "entropy"])
def test_ls_bmrm_reaches_what_its_rate_allows(reg):
    p = problem(LOSSES["hinge"], REGULARIZERS[reg])
    result = fenchel.solve(p, solver=solvers.Bundle(line_search=True), tol=1e-2, max_time=60)
    assert result.status is fenchel.Status.CERTIFIED
    assert result.certificate.dual <= reference(p) + 1e-7


def test_bundle_iterations_do_not_explode_with_features_under_l1():
    rng = np.random.default_rng(0)
    counts = []
    for d in (5, 20, 60):
        X = rng.standard_normal((200, d))
        y = np.sign(X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(200))
        result = fenchel.solve(
            fenchel.Problem(X, y, loss="hinge", regularizer="l1", alpha=0.02), solver="bundle", tol=1e-4, max_time=120
        )
        assert result.status is fenchel.Status.CERTIFIED
        counts.append(result.n_iter)
    # Pure cutting planes need 37, 122 and more than 400 iterations here.
    assert counts[2] < 200


def test_a_pair_that_does_not_fit_says_what_is_missing_why_and_who_can():
    p = problem(LOSSES["hinge"], REGULARIZERS["l1"])
    with pytest.raises(IncompatibleError, match=r"DualAscent cannot .* `L1` has no .* Solvers that can: Bundle"):
        fenchel.solve(p, solver="dual_ascent")
    with pytest.raises(IncompatibleError, match=r"LBFGS cannot .* `Hinge` is not differentiable .*Solvers that can"):
        fenchel.solve(p, solver="lbfgs")


def test_auto_says_which_solver_and_why():
    result = fenchel.solve(problem(LOSSES["logistic"], REGULARIZERS["l2"]))
    assert result.solver == "NewtonCG"
    assert "curvature" in result.reason
    result = fenchel.solve(problem(LOSSES["hinge"], REGULARIZERS["l2"]))
    assert result.solver == "SemismoothNewton"
    assert "few features" in result.reason
    result = fenchel.solve(problem(LOSSES["logistic"], REGULARIZERS["q_norm"]))
    assert result.solver == "DualAscent"
    assert "one row" in result.reason


@pytest.mark.parametrize(
    "solver",
    [name for name, cls in solvers.SOLVERS.items() if "scalar" in cls.kinds and not cls.slow and not cls.nonconvex],
)
def test_warm_start_at_the_optimum_ends_at_once(solver):
    problems = (problem(LOSSES["smoothed_hinge"], REGULARIZERS[reg], intercept=True) for reg in ("l2", "elastic_net"))
    p = next(p for p in problems if requirements.fits(solvers.SOLVERS[solver], p))
    cold = fenchel.solve(p, solver=solver, tol=1e-8)
    warm = fenchel.solve(p, solver=solver, tol=1e-6, start=cold)
    assert warm.status is fenchel.Status.CERTIFIED
    assert warm.n_iter <= 3
