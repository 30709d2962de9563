"""Passes over rows, in runs and row by row, against sums written down in plain Python; rows without weight do not count."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel import losses as L
from fenchel.certificates.scalar import combined
from fenchel.data.accept import accept_matrix
from fenchel.data.dense import LONG, is_long
from fenchel.kernels.curvature_passes import curved_pass, hessian_product_pass, line_pass, newton_pass
from fenchel.kernels.dual_phase import moving_rows, violations, young_sums
from fenchel.kernels.gram import BUFFER_ROWS, NARROW, add_gram, symmetric
from fenchel.kernels.passes import combine_pass, conjugate_sum, loss_sums, risk_pass, scores_pass
from fenchel.losses import protocol

LOSSES = [L.Logistic(), L.Exponential(), L.SquaredHinge(), L.Huber(), L.Poisson()]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def case(loss, storage, n=37, d=9):
    """Rows of 0 to d entries; two have no weight, and the loss of one of these overflows, whatever the loss."""
    rng, d = np.random.default_rng(0), LONG + 3 if storage == "long" else d
    X = rng.standard_normal((n, d)) * (np.arange(d) < rng.integers(0, d + 1, n)[:, None])
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0) if "-1" in getattr(loss, "target_rule", "") else np.ones(n)
    weight = rng.random(n)
    weight[[5, 20]] = 0.0
    offset = 0.1 * rng.standard_normal(n)
    offset[20] = -1e200 * y[20] if not isinstance(loss, L.Poisson) else 1e200
    p = fenchel.Problem(sp.csr_matrix(X) if storage == "csr" else X, y, loss=loss, sample_weight=weight, offset=offset)
    assert is_long(p.rows) == (storage == "long")
    return p, X, rng.standard_normal(d) * np.sqrt(9.0 / d), 0.3


def written_down(p, X, w, b):
    """(sum p loss, slopes, curvatures, sum p u x, sum p h x), row by row, of the rows with weight."""
    total, u, h = 0.0, np.zeros(p.n), np.zeros(p.n)
    for i in np.flatnonzero(p.weights):
        z = float(X[i] @ w) + p.offset[i] + b
        total += p.weights[i] * p.loss.value(z, p.y[i])
        u[i], h[i] = p.loss.slope(z, p.y[i]), protocol.curvature(p.loss, z, p.y[i])
    return total, u, h, X.T @ (p.weights * u), X.T @ (p.weights * h)


@pytest.mark.parametrize("storage", ["dense", "csr", "long"])
@every_loss
def test_fused_passes_are_the_sums_written_down(loss, storage):
    p, X, w, b = case(loss, storage)
    total, u, h, gradient, curvature_sum = written_down(p, X, w, b)
    data = (p.compiled_loss, p.rows, p.y, p.weights, p.offset, w, b)
    got = np.zeros(p.d)
    value, slopes = risk_pass(*data, got)
    np.testing.assert_allclose([value, slopes], [total, p.weights @ u], rtol=1e-12, atol=1e-15)
    close = 1e-14 * (1.0 + np.abs(X).T @ np.abs(p.weights * u))  # what rounding can leave of sums that cancel
    assert (np.abs(got - gradient) <= close).all()
    z, got_u, got_h, got, got_bent = np.zeros(p.n), np.zeros(p.n), np.zeros(p.n), np.zeros(p.d), np.zeros(p.d)
    value, slopes = newton_pass(*data, z, got_u, got_h, got, got_bent)
    np.testing.assert_allclose([value, slopes], [total, p.weights @ u], rtol=1e-12, atol=1e-15)
    for found, want in ((got_u, u), (got_h, p.weights * h), (got_bent, curvature_sum)):
        np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-14)
    assert (np.abs(got - gradient) <= close).all()


@pytest.mark.parametrize("storage", ["dense", "csr", "long"])
def test_products_with_rows_are_those_with_the_matrix(storage):
    p, X, w, b = case(L.Logistic(), storage)
    rng = np.random.default_rng(1)
    u, h, z, got, curvature_sum = rng.standard_normal(p.n), rng.random(p.n), np.empty(p.n), np.zeros(p.d), np.ones(p.d)
    u[[2, 8, 9, 10, 11]] = h[[4, 12, 13, 14, 15]] = 0.0  # one of four rows, and all of them
    scores_pass(p.rows, (offset := rng.standard_normal(p.n)), w, z)
    np.testing.assert_allclose(z, X @ w + offset, rtol=1e-12, atol=1e-14)
    combine_pass(p.rows, p.weights, u, got)
    np.testing.assert_allclose(got, X.T @ (p.weights * u), rtol=1e-12, atol=1e-15)
    hessian_product_pass(p.rows, h, w, b, curvature_sum)
    np.testing.assert_allclose(curvature_sum, 1.0 + X.T @ (h * (X @ w + b)), rtol=1e-12, atol=1e-13)


@every_loss
def test_passes_over_scores_are_the_sums_written_down(loss):
    p, X, w, b = case(loss, "dense")
    total, u, h, _, _ = written_down(p, X, w, b)
    z, some = X @ w + p.offset, (p.y, p.weights)
    np.testing.assert_allclose(loss_sums(p.compiled_loss, *some, z, b), [total, p.weights @ u], rtol=1e-12)
    dz = np.linspace(-1.0, 1.0, p.n)
    along = line_pass(p.compiled_loss, *some, z + b - 0.5 * dz, dz, 0.5)
    np.testing.assert_allclose(along, [total, (p.weights * u) @ dz], rtol=1e-11)
    got_u, got_h = np.zeros(p.n), np.zeros(p.n)
    assert curved_pass(p.compiled_loss, *some, z + b, got_u, got_h) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(got_u, u, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(got_h, h, rtol=1e-12, atol=1e-14)
    u[20] = 5.0 * p.y[20]  # outside of most domains
    conjugates = sum(
        p.weights[i] * (loss.conjugate(u[i], p.y[i]) - u[i] * p.offset[i]) for i in np.flatnonzero(p.weights)
    )
    assert conjugate_sum(p.compiled_loss, *some, p.offset, u) == pytest.approx(conjugates, rel=1e-12)
    u[~np.isin(np.arange(p.n), [5, 20])] *= 0.7  # inside the domains
    for with_weight in (p.weights, np.where(np.arange(p.n) % 3 == 0, p.weights, 0.0)):
        sums = np.zeros(3)
        for i in np.flatnonzero(with_weight):
            f, c = loss.value(z[i] + b, p.y[i]), loss.conjugate(u[i], p.y[i])
            sums += with_weight[i] * np.array([f, c - u[i] * p.offset[i], f + c - u[i] * (z[i] + b)])
        got = young_sums(p.compiled_loss, p.y, with_weight, p.offset, u, z, b)
        np.testing.assert_allclose(got, sums, rtol=1e-10, atol=1e-14)


@every_loss
def test_rows_that_would_move_are_those_whose_dual_step_does(loss):
    p, X, w, b = case(loss, "dense")
    q = 0.3 * p.weights * np.sum(X * X, axis=1)
    z = X @ w + np.where(p.weights > 0.0, p.offset, 0.0) + b
    slopes = np.array([loss.slope(a, t) for a, t in zip(z, p.y, strict=True)])
    u = np.where(np.arange(p.n) % 3 > 0, slopes, 0.5 * slopes)  # some are where they want to be
    step = lambda i, shift: loss.dual_step(u[i], z[i] + shift, q[i], p.y[i]) - u[i]  # noqa: E731
    violation = [q[i] * abs(step(i, 0.0)) if q[i] > 0.0 else 0.0 for i in range(p.n)]
    typical = np.sqrt(sum(p.weights[i] * violation[i] ** 2 for i in range(p.n)))
    data = (p.compiled_loss, p.y, p.weights, q, u, z)
    np.testing.assert_allclose(violations(*data), [max(violation), typical], rtol=1e-9)
    for margin in (0.0, 0.1 * typical, 2.0):
        out = np.zeros(p.n, dtype=bool)
        count = moving_rows(*data, margin, out)
        assert count == out.sum()
        for i in range(p.n):
            moves = [abs(step(i, shift)) for shift in (margin, -margin)] if p.weights[i] * q[i] > 0.0 else [0.0]
            assert bool(out[i]) == (max(moves) > 0.0) or max(moves) < 1e-13  # an iteration may end a rounding away


@pytest.mark.parametrize("storage", ["float64", "float32", "csr"])
@pytest.mark.parametrize(
    ("n", "d"), [(1, 1), (7, 2), (BUFFER_ROWS, 5), (2 * BUFFER_ROWS + 3, 7), (40, 8), (30, NARROW + 1)]
)
def test_gram_matrices_are_the_sums_written_down(n, d, storage):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, d)).astype(np.float32 if storage == "float32" else np.float64)
    rows = accept_matrix(sp.csr_matrix(X) if storage == "csr" else X)[1]
    for weights in (rng.random(n), rng.random(n) * (rng.random(n) < 0.3), np.full(n, 0.25), np.zeros(n)):
        before = rng.standard_normal((d, d))
        before += before.T
        got = before.copy()
        add_gram(rows, weights, got)
        want = before + X.T.astype(np.float64) @ (weights[:, None] * X)
        np.testing.assert_allclose(symmetric(got), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("storage", ["float64", "float32", "csr", "csr float32"])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 2), (45, 5), (33, 9), (70, 100)])
def test_the_certificates_sum_of_rows_and_its_size_are_those_written_down(n, d, storage):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, d)).astype(np.float32 if "float32" in storage else np.float64)
    if "csr" in storage:
        X *= rng.random((n, d)) < rng.choice([0.1, 0.9], (n, 1))  # rows of any length, also empty ones
    p = fenchel.Problem(sp.csr_matrix(X) if "csr" in storage else X, np.ones(n), loss="squared", alpha=1.0)
    u = rng.standard_normal(n) * (rng.random(n) < 0.7)
    v, spread = combined(p, p.weights, u)
    exactly = X.astype(np.float64)
    np.testing.assert_allclose(v, -exactly.T @ (p.weights * u), rtol=1e-12, atol=1e-15)
    assert spread == pytest.approx(np.sum(p.weights * np.abs(u) * np.linalg.norm(exactly, axis=1)), rel=1e-12)
