"""A thousand planted lies, each of which the independent checker refutes, and the truths that they were made from.

A claim is a problem, coefficients, a dual point and the stated certificate. It is confirmed if the recomputed certificate holds
at tol and agrees with the stated one, as `fenchel verify` decides.
"""

import dataclasses
import functools

import numpy as np
import pytest

import fenchel
from fenchel.cli.verify import agrees
from fenchel.kernel_methods import KernelProblem

TOL, N, D = 1e-4, 12, 3
OTHER_LOSS = {
    "hinge": "squared_hinge", "logistic": "exponential", "squared_hinge": "hinge", "squared": "huber", "absolute": "squared",
    "huber": "absolute", "quantile": "absolute", "softmax": "max_hinge", "max_hinge": "softmax",
}  # fmt: skip
CASES = [
    (loss, regularizer, intercept)
    for loss in OTHER_LOSS
    for regularizer in ("l2", "l1", "elastic_net")
    for intercept in (False, True)
    if loss != "max_hinge" or regularizer == "l2" or not intercept
] + [("hinge", "kernel", True), ("logistic", "kernel", False)]


def data(loss):
    rng = np.random.default_rng(len(loss))
    X = rng.standard_normal((N, D))
    t = X @ [1.0, -1.0, 0.5] + rng.standard_normal(N)
    if loss in ("softmax", "max_hinge"):
        return X, np.digitize(t, [-0.5, 0.5]).astype(np.int64)
    return X, np.where(t > 0.0, 1.0, -1.0) if loss in ("hinge", "logistic", "squared_hinge") else t


def make(loss, regularizer, intercept, X, y, alpha=0.05, weights=None):
    if regularizer == "kernel":
        return KernelProblem(X, y, loss, alpha, intercept, sample_weight=weights, kernel_params={"gamma": 0.5})
    return fenchel.Problem(X, y, loss, regularizer, alpha, fit_intercept=intercept, sample_weight=weights)


@functools.cache
def solved(case):
    result = fenchel.solve(make(*case, *data(case[0])), tol=1e-6, max_time=20.0)
    assert result.converged
    return result


def confirmed(problem, coef, intercept, u, stated):
    found = fenchel.check_proof(problem, coef, intercept, u)
    return found.holds(TOL) and agrees(stated, found, same_point=True)


def lies(case, rng):
    """(what is wrong, the claim)."""
    result = solved(case)
    loss, regularizer, intercept = case
    (X, y), w, b, c = data(loss), np.asarray(result.coef), result.intercept, result.certificate
    u = result.dual_point.toarray() if hasattr(result.dual_point, "toarray") else np.asarray(result.dual_point)
    problem = result.problem
    for size in (0.01, 0.1, 1.0):
        yield "model", (problem, w + size * rng.standard_normal(w.shape), b, u, c)
        yield (
            "one coefficient",
            (problem, w + size * (np.arange(w.size).reshape(w.shape) == rng.integers(w.size)), b, u, c),
        )
        yield "dual", (problem, w, b, u + size * rng.standard_normal(u.shape), c)
    yield "dual of the other sign", (problem, w, b, -u, c)
    yield "dual of nothing", (problem, w, b, np.zeros_like(u), c)
    for value in (np.nan, np.inf, -np.inf):
        wrong = u.copy()
        wrong.flat[rng.integers(u.size)] = value
        yield f"dual with {value}", (problem, w, b, wrong, c)
    strongest = int(np.argmax(np.abs(u).reshape(N, -1).max(axis=1)))
    moved, other, weights = X.copy(), y.copy(), np.ones(N)
    moved[strongest] += 0.5 * rng.standard_normal(D)
    other[strongest] = {"softmax": (y[strongest] + 1) % 3, "max_hinge": (y[strongest] + 1) % 3}.get(
        loss, -y[strongest] + 0.0
    )
    weights[strongest] = 3.0
    yield "row", (make(*case, moved, y), w, b, u, c)
    yield "target", (make(*case, X, other), w, b, u, c)
    yield "weight", (make(*case, X, y, weights=weights), w, b, u, c)
    yield "order of rows", (make(*case, X[::-1].copy(), y), w, b, u, c)
    for alpha in (0.04, 0.06) if w.any() else ():  # w = 0 can be optimal at several strengths, which is no lie
        yield "strength", (make(*case, X, y, alpha=alpha), w, b, u, c)
    yield "loss", (make(OTHER_LOSS[loss], regularizer, intercept, X, y), w, b, u, c)
    yield "stated primal", (problem, w, b, u, dataclasses.replace(c, primal=c.primal * (1.0 - 1e-7)))
    yield "stated dual", (problem, w, b, u, dataclasses.replace(c, dual=c.dual * (1.0 + 1e-7)))
    if intercept:
        yield "intercept", (problem, w, b + 0.1 * (np.arange(3.0) if np.ndim(b) else 1.0), u, c)
        yield "balance", (problem, w, b, u + 0.1 * np.sign(u.sum() or 1.0), c)


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_the_truth_is_confirmed(case):
    result = solved(case)
    assert confirmed(result.problem, result.coef, result.intercept, result.dual_point, result.certificate)


def test_a_thousand_lies_are_refuted():
    rng, count = np.random.default_rng(0), 0
    for case in CASES:
        for what, claim in lies(case, rng):
            count += 1
            assert not confirmed(*claim), (case, what)
    assert count >= 1000
