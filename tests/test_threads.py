"""The same bits: whatever the number of threads, the memory layout, the process; inputs are never changed."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel import solvers
from fenchel.data.accept import accept_matrix
from fenchel.data.threads import map_in_threads
from fenchel.engines import Local, local
from fenchel.selection import requirements

SHAPE = (1500, 12)


def arrays(kind="margin"):
    rng = np.random.default_rng(0)
    X = np.where(rng.random(SHAPE) < 0.6, rng.standard_normal(SHAPE), 0.0)
    score = X @ rng.standard_normal(SHAPE[1]) + rng.standard_normal(SHAPE[0])
    return X, np.where(score > 0, 1.0, -1.0) if kind == "margin" else score


def bits(result):
    parts = (result.coef, np.float64(result.intercept), result.dual_point, np.float64(result.certificate.dual))
    return b"".join(np.asarray(part).tobytes() for part in parts)


def solve_bits(X, y, loss="logistic", solver="auto", threads=2, fit_intercept=True, **more):
    p = fenchel.Problem(X, y, loss=loss, alpha=1e-3, fit_intercept=fit_intercept, **more)
    return bits(fenchel.solve(p, solver=solver, tol=1e-5, max_iter=60, engine=Local(threads)))


@pytest.fixture
def many_blocks(monkeypatch):
    monkeypatch.setattr(local, "SMALLEST_BLOCK", 512)
    X, y = arrays()
    assert len(Local().blocks(fenchel.Problem(X, y))) > 8


@pytest.mark.parametrize("solver", ["auto", *solvers.SOLVERS])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.xdist_group("logistic")
def test_threads_and_reruns_give_identical_bytes(many_blocks, solver, storage):
    X, y = arrays()
    p = fenchel.Problem(X, y, loss="logistic", alpha=1e-3)
    if solver != "auto" and not requirements.fits(solvers.SOLVERS[solver], p):
        pytest.skip(f"{solver} is for other problems")
    answers = {
        solve_bits(storage(X), y, solver=solver, threads=k, fit_intercept=solver != "cocoa") for k in (1, 2, 4, 8, 8)
    }
    assert len(answers) == 1


@pytest.mark.parametrize(
    "loss", [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in ("hinge", "squared", "absolute")]
)
def test_threads_give_identical_bytes_for_other_losses(many_blocks, loss):
    X, y = arrays("margin" if loss == "hinge" else "real")
    assert len({solve_bits(X, y, loss=loss, threads=k) for k in (1, 2, 8)}) == 1


PROGRAM = """
import sys; sys.path.insert(0, sys.argv[1])
import hashlib, test_threads as t
t.local.SMALLEST_BLOCK = 512
X, y = t.arrays()
print(hashlib.sha256(t.solve_bits(X, y) + t.solve_bits(X, y, loss="hinge", threads=1)).hexdigest())
"""


def test_hash_seeds_and_processes_give_identical_bytes():
    folder = __file__.rpartition("/")[0]
    answers = set()
    for seed in ("0", "1", "12345"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, folder], env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        answers.add(done.stdout)
    assert len(answers) == 1


def as_memmap(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def with_indices(matrix, kind):
    return sp.csr_matrix((matrix.data, matrix.indices.astype(kind), matrix.indptr.astype(kind)), shape=matrix.shape)


@pytest.mark.xdist_group("logistic")
@pytest.mark.parametrize("solver", ["lbfgs", "dual_ascent"])
def test_memory_layout_does_not_change_a_bit(many_blocks, tmp_path, solver):
    X, y = arrays()
    strided = np.zeros((2 * SHAPE[0], 3 * SHAPE[1]))[::2, ::3]
    strided[...] = X
    layouts = [X, np.asfortranarray(X), strided, X[::-1][::-1], as_memmap(X, tmp_path), X.tolist()]
    assert len({solve_bits(A, y, solver=solver) for A in layouts}) == 1
    csr = sp.csr_matrix(X)
    sparse = [csr, with_indices(csr, np.int32), sp.csr_array(X), csr.tocsc(), csr.tocoo()]
    int64 = with_indices(csr, np.int64)
    int64.indices, int64.indptr = int64.indices.astype(np.int64), int64.indptr.astype(np.int64)
    assert int64.indices.dtype == np.int64
    assert len({solve_bits(A, y, solver=solver) for A in sparse}) == 1
    # Kernels for 64-bit indices are compiled apart, and their sums may be taken in another order: equal up to rounding.
    bits = [np.frombuffer(solve_bits(A, y, solver=solver)) for A in (csr, int64)]
    np.testing.assert_allclose(bits[0], bits[1], rtol=1e-5, atol=1e-7)


@pytest.mark.xdist_group("logistic")
def test_float32_values_mean_their_float64_equals():
    X, y = arrays()
    single = X.astype(np.float32)
    for storage in (np.asarray, sp.csr_matrix):
        p, q = (
            fenchel.Problem(storage(A), y, loss="logistic", alpha=1e-3) for A in (single, single.astype(np.float64))
        )
        w = np.linspace(-1.0, 1.0, p.d)
        assert p.X.dtype == np.float32  # used as it is, not copied up
        assert fenchel.certify(p, w).primal == pytest.approx(fenchel.certify(q, w).primal, rel=1e-15)
        a, b = fenchel.solve(p, tol=1e-8), fenchel.solve(q, tol=1e-8)
        assert a.status is b.status is fenchel.Status.CERTIFIED
        assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=2e-8)


@pytest.mark.xdist_group("hinge")
@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_matrix])
def test_inputs_are_never_changed_and_may_be_read_only(storage):
    X, y = arrays()
    X, s, o = storage(X), np.linspace(0.5, 2.0, y.size), np.linspace(-0.1, 0.1, y.size)
    inside = [X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]
    everything = [*inside, y, s, o]
    before = [a.copy() for a in everything]
    for a in everything:
        a.flags.writeable = False
    p = fenchel.Problem(X, y, loss="hinge", alpha=1e-2, sample_weight=s, offset=o, fit_intercept=True)
    start = None
    for name in [k for k, cls in solvers.SOLVERS.items() if requirements.fits(cls, p)]:
        start = fenchel.solve(p, solver=name, tol=1e-3, max_iter=20, start=start)
        start.coef.flags.writeable = False
        fenchel.certify(p, start.coef, start.intercept)
    for a, b in zip(everything, before, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.xdist_group("logistic")
def test_eight_python_threads_at_once_give_the_serial_bits(many_blocks):
    X, y = arrays()
    jobs = [(loss, 2 + k % 3) for k in range(24) for loss in ("logistic", "hinge")]
    serial = {loss: solve_bits(X, y, loss=loss) for loss in ("logistic", "hinge")}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda job: (job[0], solve_bits(X, y, loss=job[0], threads=job[1])), jobs))
    assert all(answer == serial[loss] for loss, answer in answers)


def child(_):
    X, y = arrays()
    return solve_bits(X, y, threads=4)


@pytest.mark.xdist_group("logistic")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_of_a_threaded_solve_does_not_hang(many_blocks):
    X, y = arrays()
    expected = solve_bits(X, y, threads=4)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(child, range(4)).get(timeout=120) == [expected] * 4
    assert solve_bits(X, y, threads=4) == expected


@pytest.mark.slow
@pytest.mark.xdist_group("logistic")
def test_a_thousand_solves_on_eight_threads_give_the_serial_bits(many_blocks):
    X, y = arrays()
    serial = {loss: solve_bits(X, y, loss=loss) for loss in ("logistic", "hinge")}
    jobs = [loss for _ in range(500) for loss in serial]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda loss: solve_bits(X, y, loss=loss), jobs))
    assert all(answer == serial[loss] for loss, answer in zip(jobs, answers, strict=True))


@pytest.mark.xdist_group("logistic")
def test_a_spawned_child_agrees_with_its_parent_which_solves_meanwhile():
    X, y = arrays()
    expected = solve_bits(X, y)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        waiting = pool.map_async(child, range(2))
        assert solve_bits(X, y) == expected
        assert waiting.get(timeout=120) == [expected] * 2


@pytest.mark.xdist_group("logistic")
def test_joblib_workers_agree():
    joblib = pytest.importorskip("joblib")
    X, y = arrays()
    expected = solve_bits(X, y)
    for backend in ("loky", "threading"):
        jobs = (joblib.delayed(solve_bits)(X, y) for _ in range(3))
        assert joblib.Parallel(n_jobs=2, backend=backend, timeout=300)(jobs) == [expected] * 3


def test_work_is_spread_in_order_and_the_caller_does_its_share():
    names = map_in_threads(lambda k: (k, threading.current_thread().name, time.sleep(0.01)), list(range(12)), threads=3)
    assert [k for k, *_ in names] == list(range(12))
    workers = {name for _, name, _ in names}
    assert threading.current_thread().name in workers
    assert len(workers) <= 3


def test_nobody_waits_for_a_helper_that_has_not_begun():
    """The helpers are held up by other work: the caller does everything alone."""
    hold, busy = threading.Event(), threading.Barrier(2)

    def held(k):
        if k == 0:
            busy.wait(10)  # both threads are in here: the only helper of two threads is taken
            hold.wait(10)
        else:
            busy.wait(10)
            assert map_in_threads(lambda j: threading.get_ident(), [0, 1, 2], threads=2) == 3 * [threading.get_ident()]
            hold.set()
        return k

    assert map_in_threads(held, [0, 1], threads=2) == [0, 1]


def test_the_first_failure_of_many_is_raised_and_the_rest_is_left():
    def fails(k):
        if k >= 3:
            raise ValueError(f"block {k}")
        return k

    for threads in (1, 2, 4):
        with pytest.raises(ValueError, match="block 3"):
            map_in_threads(fails, list(range(50)), threads)
    done = []

    def interrupted(k):
        done.append(k)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        map_in_threads(interrupted, list(range(1000)), threads=2)
    assert len(done) <= 2


def test_helpers_hold_nothing_while_they_wait():
    work = lambda item: time.sleep(0.02)  # noqa: E731
    gone = weakref.ref(work)
    map_in_threads(work, [0, 1], threads=2)  # both threads have one of them
    del work
    until = time.monotonic() + 10.0
    while gone() is not None and time.monotonic() < until:
        time.sleep(0.01)
    assert gone() is None


def test_threads_that_cannot_be_started_are_a_clear_error_and_leave_none_behind(monkeypatch):
    begun, start = [], threading.Thread.start

    def limited(self):
        if self.name.startswith("fenchel_"):
            if len(begun) == 3:
                raise RuntimeError("can't start new thread")
            begun.append(self)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", limited)
    with pytest.raises(MemoryError, match="stacks of 37 threads"):
        map_in_threads(abs, list(range(40)), threads=37)
    for thread in begun:
        thread.join(10.0)
    assert len(begun) == 3 and not any(thread.is_alive() for thread in begun)


def test_sparse_rows_are_shared_by_two_threads_sooner_than_dense_ones():
    """A stored value takes several times as long there; but a block never has fewer than twice as many values as columns."""
    n, d = 1 << 13, 1 << 4
    dense = np.ones((n, d))
    assert local.cut(accept_matrix(dense)[1], n, d) == [0, n]
    assert local.cut(accept_matrix(sp.csr_matrix(dense))[1], n, d) == [0, n // 2, n]
    assert local.cut(accept_matrix(sp.csr_matrix(dense[:-1]))[1], n - 1, d) == [0, n - 1]  # below 2^17 values
    assert local.cut(accept_matrix(sp.csr_matrix(dense))[1], n, 1 << 16) == [0, n]
