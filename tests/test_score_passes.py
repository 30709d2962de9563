"""Passes over rows of several scores: on all threads with the same bits, and a certificate that costs few of them."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

import fenchel
from fenchel.certificates import vector as certificates
from fenchel.compile.dispatch import compilable
from fenchel.data import row_blocks
from fenchel.data.blas import one_blas_thread
from fenchel.engines import Local
from fenchel.kernels import vector_passes
from fenchel.oracles import oracle_of
from fenchel.oracles.slope_sums import MANY, ClassSlopeSums, SlopeSums
from fenchel.oracles.vector import VectorOracle

pytestmark = pytest.mark.xdist_group("max_hinge")
N, D, M = 40_000, 60, 8


def problem(dtype=np.float64, sparse=False, free=False, n=N, weights=None):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((n, D)) * 10.0 ** rng.uniform(-3, 3, D)).astype(dtype)
    y = np.r_[np.arange(M), rng.integers(0, M, n - M)]
    X = sp.csr_matrix(X) if sparse else X
    return fenchel.Problem(X, y, loss="max_hinge", alpha=1e-3, fit_intercept=free, sample_weight=weights)


def variables(p):
    return np.random.default_rng(1).standard_normal(p.d)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("free", [False, True])
def test_blas_and_compiled_passes_agree_within_the_floor(dtype, free):
    weights = np.arange(N) % 3.0
    dense, sparse = (problem(dtype, kind, free, weights=weights) for kind in (False, True))
    w, rng = variables(dense), np.random.default_rng(2)
    U = rng.standard_normal((N, M))
    first, second = (fenchel.certify(p, *p.present(w, 0.0), U) for p in (dense, sparse))
    floor = min(first.floor, second.floor)
    assert floor > 0.0 and abs(first.primal - second.primal) <= floor and abs(first.dual - second.dual) <= floor
    assert first.floor == pytest.approx(second.floor, rel=0.01)
    one, other = (certificates.primal_sums(p, w) for p in (dense, sparse))
    np.testing.assert_allclose(one.sizes, other.sizes, rtol=1e-12)
    assert (np.abs(one.scores - other.scores).max(axis=1) <= 1e-14 * one.sizes).all()


def test_what_a_row_of_weight_zero_holds_does_not_matter_to_the_floor():
    p = problem(n=2000)
    X, weights = p.X.copy(), np.ones(2000)
    weights[-1] = 0.0
    far = X.copy()
    far[-1] = 1e170  # the square of its length overflows
    U = np.random.default_rng(2).standard_normal((2000, M))
    spreads = [
        certificates.combined(fenchel.Problem(rows, p.y, loss="max_hinge", sample_weight=weights), U)[1]
        for rows in (X, far)
    ]
    assert np.isfinite(spreads[0]) and spreads[0] == spreads[1]


@pytest.mark.parametrize("sparse", [False, True])
def test_planes_slopes_and_conjugates_have_the_same_bits_on_any_threads(sparse):
    p, found = problem(sparse=sparse), []
    w = variables(p)
    for threads in (1, 4):
        oracle = oracle_of(p, Local(threads=threads))
        plane, U = oracle.plane_and_dual(w, 0.0)
        found.append((plane.value, plane.gradient, U, oracle.conjugates(oracle.feasible(U)), oracle.risk(w)[0]))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)
    value, gradient, U, conjugates, risk = found[0]
    assert value == pytest.approx(risk, rel=1e-12)
    np.testing.assert_allclose(gradient.reshape(D, M), p.X.T @ (U / N), rtol=1e-9, atol=1e-9)
    assert conjugates == pytest.approx(float(U[np.arange(N), p.y].mean()), rel=1e-9)  # -sum of the transfers


def test_slopes_and_conjugates_are_computed_in_blocks(monkeypatch):
    """One call for all rows would be one thread's."""
    p, rows = problem(), {"vector_losses": [], "vector_conjugates": []}
    for name, seen in rows.items():
        before = getattr(vector_passes, name)

        def recorded(loss, y, *rest, before=before, seen=seen):
            seen.append(y.size)
            return before(loss, y, *rest)

        monkeypatch.setattr(vector_passes, name, recorded)
    oracle = oracle_of(p, None)
    _, U = oracle.plane_and_dual(variables(p), 0.0)
    oracle.conjugates(U)
    for seen in rows.values():
        assert sum(seen) == N and max(seen) <= N // 4


def test_a_certificate_costs_about_two_passes():
    rng = np.random.default_rng(0)
    n, d, m = 20_000, 300, 30
    y = np.r_[np.arange(m), rng.integers(0, m, n - m)]
    p = fenchel.Problem(rng.standard_normal((n, d)), y, loss="softmax", alpha=1e-3)
    oracle, w = oracle_of(p, Local(threads=1)), 0.01 * rng.standard_normal(p.d)

    def seconds(work):
        least = np.inf
        for _ in range(5):
            began = time.process_time()
            work()
            least = min(least, time.process_time() - began)
        return least

    with one_blas_thread():
        _, U = oracle.plane_and_dual(w, 0.0)
        ratio = seconds(lambda: certificates.vector_certificate(p, w, 0.0, U)) / seconds(lambda: oracle.risk(w))
    assert ratio < 2.6  # a product with the absolute values of the rows is one more


def test_the_limit_of_blas_ends_with_the_last_who_asked_for_it():
    """Two solves in two threads: the second begins before the first ends, and ends after it."""

    def threads():
        found = (library for library in threadpool_info() if library["user_api"] == "blas")
        return {library["num_threads"] for library in found if library["filepath"] in capable}

    with threadpool_limits(2, "blas"):  # another package may have loaded a BLAS that knows one thread only
        capable = [library["filepath"] for library in threadpool_info() if library["num_threads"] == 2]
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == {2}


def test_the_middle_of_the_intercepts_is_not_looked_for_longer_than_max_time(monkeypatch):
    """Then the solver's own intercepts are reported."""
    p = problem(n=3000, free=True)
    asked = []

    def endless(self, w, b):
        asked.append(time.perf_counter())
        while time.perf_counter() < asked[-1] + 20.0:
            vector_passes.vector_values(p.compiled_loss, p.y[:1], p.weights[:1], np.zeros((1, M)))
        return w, b

    monkeypatch.setattr(VectorOracle, "middle_intercept", endless)
    began = time.perf_counter()
    result = fenchel.solve(p, tol=1e-12, max_time=0.2)
    assert asked and time.perf_counter() - began < 15.0
    assert np.isfinite(result.certificate.primal)


@pytest.mark.parametrize("kind", ["numbers", "ties", "one class"])
def test_slopes_of_a_class_are_summed_over_the_rows_that_change(kind):
    """Against a sum over all rows, at points in any order and brackets that shrink."""
    rng = np.random.default_rng(0)
    n = 2 * MANY
    p = fenchel.Problem(np.ones((n, 1)), np.arange(n) % 3, loss="max_hinge", sample_weight=np.arange(n) % 4 + 0.0)
    Z = rng.standard_normal((n, 3)) if kind == "numbers" else np.round(rng.standard_normal((n, 3)))
    y = np.zeros(n, dtype=np.int64) if kind == "one class" else p.y
    loss = p.compiled_loss

    def direct(b):
        U = np.empty((n, 3))
        moved = Z.copy()
        moved[:, 1] += b
        certificates.vector_slopes_pass(loss, y, moved, U)
        return p.weights @ U[:, 1], p.weights @ np.abs(U[:, 1])

    sums = ClassSlopeSums(loss, y, p.weights, Z, 1)
    brackets = ()
    for low, high in ((-3.0, 3.0), (-1.0, 2.0), (-1.0, 0.5), (0.0, 0.25)):
        points = np.sort(np.append(rng.uniform(low, high, 5), [low, high]))
        total, size, _ = sums.at(points, brackets)
        for b, one, other in zip(points, total, size, strict=True):
            assert (one, other) == pytest.approx(direct(b), rel=1e-9, abs=1e-12)
        brackets += ((low, high),)
    assert sums.at(np.array([0.1]), brackets)[2] < n / 2


def test_certify_makes_a_bounded_number_of_sweeps_in_short_calls(monkeypatch):
    """On many rows all sweeps that are allowed on few would take hours."""
    p = problem(n=600)
    w = np.random.default_rng(3).standard_normal((M, D))
    whole = fenchel.certify(p, w)
    seen, before = [], certificates.vector_ascend

    def recorded(loss, rows, y, weights, order, *rest):
        seen.append(order.size)
        return before(loss, rows, y, weights, order, *rest)

    monkeypatch.setattr(certificates, "vector_ascend", recorded)
    monkeypatch.setattr(row_blocks, "MAX_CALL_VALUES", 100 * D * M)
    assert fenchel.certify(p, w) == whole  # steps are the same in parts
    assert max(seen) == 100 and sum(seen) >= certificates.SWEEPS * 600
    seen.clear()
    monkeypatch.setattr(certificates, "MOST_PRODUCTS", 1.0)
    found = fenchel.certify(p, w)
    assert sum(seen) == certificates.SWEEPS * 600
    assert found.dual <= whole.dual + whole.floor and found.primal == whole.primal


def test_sums_of_slopes_where_no_row_changes_any_more():
    """Every score is far beyond the point at which the slope of the hinge changes: brackets leave all rows out."""
    rng = np.random.default_rng(0)
    y, p = np.sign(rng.standard_normal(50)), np.full(50, 0.02)
    for z in (100.0 * y, -100.0 * y):
        sums = SlopeSums(compilable(fenchel.losses.Hinge()), y, p, z)
        for brackets in ([(-1.0, 1.0)], [(-1.0, 1.0), (-0.5, 0.5)]):
            total, size, _ = sums.at(np.array([-0.25, 0.0, 0.25]), brackets)
            right = float(np.sum(p * np.where(y * z < 1.0, -y, 0.0)))
            np.testing.assert_allclose(total, right, atol=1e-15)
            np.testing.assert_allclose(size, 0.0 if z @ y > 0.0 else 1.0, atol=1e-15)
