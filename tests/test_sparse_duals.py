"""Dual variables that are stored without their zeros: the same answers as with them, in little memory, wherever they go."""

from __future__ import annotations

import pickle
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from cli_case import run_as_is as run
from fenchel import multiclass as M
from fenchel import regularizers as R
from fenchel.data.dense import Dense
from fenchel.errors import InputError, ModelFileError
from fenchel.files.container import encode
from fenchel.kernels import sparse_duals
from fenchel.kernels.sparse_duals import SparseDuals, as_csr, grown, keep_row, stored
from fenchel.models.stored import plain
from fenchel.oracles.vector import VectorOracle
from fenchel.solvers.base import Start
from fenchel.solvers.block_ascent import solver as block_ascent
from fenchel.solvers.block_ascent.settings import Settings
from fenchel.solvers.block_ascent.solver import BlockAscent, BlockState
from vector_problems import hinges

pytestmark = pytest.mark.xdist_group("max_hinge")
CLASSES = 120
RNG = np.random.default_rng(8)
COST = RNG.uniform(0.5, 2.0, (CLASSES, CLASSES))
np.fill_diagonal(COST, 0.0)
TREE = M.Tree([f"{c % 11}/{c}" for c in range(CLASSES)])
LOSSES = hinges(COST, TREE)


def rows(n=360, d=6, m=CLASSES):
    rng = np.random.default_rng(4)
    y = np.arange(n) % m
    return 0.5 * rng.standard_normal((m, d))[y] + rng.standard_normal((n, d)), y


def problem(loss="max_hinge", regularizer=None, storage=np.asarray, **options):
    X, y = rows(**options)
    weights = np.random.default_rng(5).integers(0, 4, y.size)
    return fenchel.Problem(
        storage(X), y, loss=LOSSES[loss], regularizer=regularizer or R.L2(1.0 / y.size), sample_weight=weights
    )


def state(p, sparse):
    return BlockState(VectorOracle(p), Start(np.zeros(p.d)), sparse)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("regularizer", [R.L2(0.003), R.ElasticNet(0.003, 0.001)], ids=["l2", "elastic_net"])
def test_storage_changes_no_iterate(loss, regularizer, monkeypatch):
    """Also where rows grow all the time, because a pool has no room to spare but for one row."""
    monkeypatch.setattr(sparse_duals, "FREE_PER_ROW", 0)
    p = problem(loss, regularizer, sp.csr_matrix if loss in ("max_hinge", "top_k") else np.asarray)
    sparse, dense = state(p, True), state(p, False)
    generators = np.random.default_rng(0), np.random.default_rng(0)
    pools = set()
    for _ in range(8):
        for one, rng in zip((sparse, dense), generators, strict=True):
            one.epoch(rng, full=False)
        pools.add(len(sparse.duals.columns))
        assert sparse.moved == pytest.approx(dense.moved, rel=1e-6)
    assert len(pools) > 1, "nothing grew"
    assert isinstance(sparse.duals, SparseDuals) and sp.issparse(sparse.U)
    assert sparse.U.nnz < 0.3 * p.n * p.outputs
    np.testing.assert_allclose(sparse.U.toarray(), dense.U, atol=1e-9)
    np.testing.assert_allclose(sparse.V, dense.V, atol=1e-9)
    ours, theirs = sparse.check(), dense.check()
    assert (ours.primal, ours.dual) == pytest.approx((theirs.primal, theirs.dual), rel=1e-9)


@pytest.mark.parametrize("loss", ["max_hinge", "weighted_usunier"])
def test_the_optimum_and_its_certificate_are_those_of_dense_storage(loss, monkeypatch):
    p = problem(loss)
    few = fenchel.solve(p, solver=BlockAscent(), tol=1e-4)
    monkeypatch.setattr(block_ascent, "SETTINGS", Settings(min_sparse_scores=CLASSES + 1))
    all_of_them = fenchel.solve(p, solver=BlockAscent(), tol=1e-4)
    assert isinstance(few.dual_point, sp.csr_matrix) and isinstance(all_of_them.dual_point, np.ndarray)
    for result in (few, all_of_them):
        assert result.converged
        other = all_of_them if result is few else few
        assert result.certificate.dual <= other.certificate.primal + 1e-12
    duals = [point.dual for point in few.trace]
    assert all(b >= a - 1e-12 for a, b in pairwise(duals))


def random_point(p, rng, size):
    U = np.zeros(p.dual_shape)
    picked = rng.random(U.shape) < 0.05
    U[picked] = size * rng.standard_normal(int(picked.sum()))
    U[np.arange(p.n), p.y % p.outputs] -= U.sum(axis=1)
    return U


@pytest.mark.parametrize("loss", LOSSES)
def test_the_certificate_of_a_sparse_point_is_that_of_the_same_numbers_in_an_array(loss):
    """Feasible, infeasible, and scaled because R* is infinite at it: to the last bit."""
    rng = np.random.default_rng(0)
    for regularizer in (R.L2(0.003), R.L1(0.01)):
        p = problem(loss, regularizer)
        W = 0.1 * rng.standard_normal((p.outputs, p.features))
        feasible = VectorOracle(p).feasible(random_point(p, rng, 0.3))
        for U in (feasible, random_point(p, rng, 1e-3), random_point(p, rng, 5.0)):
            for kind in (sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.csr_array):
                assert fenchel.certify(p, W, 0.0, kind(U)) == fenchel.certify(p, W, 0.0, U)
            twice = sp.coo_matrix(U)  # every entry as two halves
            halves = (np.tile(0.5 * twice.data, 2), (np.tile(twice.row, 2), np.tile(twice.col, 2)))
            assert fenchel.certify(p, W, 0.0, sp.coo_matrix(halves, shape=U.shape)) == fenchel.certify(p, W, 0.0, U)


@pytest.mark.parametrize("free", [M.MaxHinge(), M.Softmax()], ids=["max_hinge", "softmax"])
def test_free_intercepts_take_sparse_points_too(free):
    X, y = rows(m=5)
    p = fenchel.Problem(X, y, loss=free, alpha=0.01, fit_intercept=True)
    W, b = np.zeros((5, p.features)), np.zeros(5)
    U = random_point(p, np.random.default_rng(0), 0.2)
    assert fenchel.certify(p, W, b, sp.csr_matrix(U)) == fenchel.certify(p, W, b, U)


def test_several_targets_take_sparse_points_too():
    X, _ = rows()
    p = fenchel.Problem(X, X[:, :2], loss=M.MultivariateSquared(), alpha=0.01)
    U = np.where(X[:, :2] > 1.0, X[:, :2], 0.0)
    found = fenchel.certify(p, np.zeros((2, p.features)), 0.0, sp.csr_matrix(U))
    assert found == fenchel.certify(p, np.zeros((2, p.features)), 0.0, U)


def broken(change):
    U = sp.csr_matrix(([1.0, 2.0], ([0, 3], [1, 2])), shape=(360, CLASSES))
    change(U)
    return U


@pytest.mark.parametrize(
    ("point", "message"),
    [
        (sp.csr_matrix((360, CLASSES - 1)), r"shape \(360, 120\).*got shape \(360, 119\)"),
        (sp.csr_matrix((360, CLASSES), dtype=complex), "complex"),
        (broken(lambda U: U.data.__setitem__(0, np.nan)), "NaN"),
        (broken(lambda U: U.indices.__setitem__(0, CLASSES)), "not a valid CSR matrix.*column index 120"),
        (broken(lambda U: U.indices.__setitem__(1, -1)), "not a valid CSR matrix.*column index -1"),
        (broken(lambda U: U.indptr.__setitem__(-1, 7)), "not a valid CSR matrix.*indptr ends at 7"),
        (broken(lambda U: U.indptr.__setitem__(2, 2)), "not a valid CSR matrix.*decreases"),
    ],
    ids=["shape", "complex", "nan", "too_large", "negative", "too_long", "decreasing"],
)
def test_sparse_matrices_that_are_no_dual_points_are_refused(point, message):
    p = problem()
    W = np.zeros((p.outputs, p.features))
    with pytest.raises(InputError, match=message):
        fenchel.certify(p, W, 0.0, point)
    assert p.dual_like(point) is None
    found = fenchel.solve(p, solver=BlockAscent(), tol=1e-2, start=(W, 0.0, point))  # from the weights alone
    assert found.converged


@pytest.mark.parametrize("name", ["block_ascent", "block_frank_wolfe", "newton_cg", "projected_subgradient", "bundle"])
def test_every_solver_starts_from_a_sparse_point(name):
    p = problem()
    first = fenchel.solve(p, solver=BlockAscent(), tol=1e-3)
    assert sp.issparse(first.dual_point)
    again = fenchel.solve(p, solver=name, tol=1e-2, start=first, max_iter=30)
    if name not in ("projected_subgradient", "bundle"):  # which may need more than 30 iterations
        assert again.converged and again.n_iter <= 2
    elsewhere = fenchel.solve(fenchel.Problem(p.X, p.y % 2, loss="squared", alpha=1.0))
    assert fenchel.solve(elsewhere.problem, start=(elsewhere.coef, 0.0, first.dual_point)).converged


def test_a_dense_point_starts_sparse_storage():
    p = problem()
    first = fenchel.solve(p, solver=BlockAscent(), tol=1e-3)
    again = fenchel.solve(p, solver=BlockAscent(), tol=1e-2, start=(first.coef, 0.0, first.dual_point.toarray()))
    assert again.converged and again.n_iter <= 2 and sp.issparse(again.dual_point)


def test_rows_grow_move_and_shrink():
    """Random rows, kept and grown as the kernel does it, beside a dense matrix."""
    rng, n, m = np.random.default_rng(0), 60, 500
    kept, duals = np.zeros((n, m)), stored(sp.csr_matrix((n, m)))
    for _ in range(300):
        i, u = np.uint64(rng.integers(n)), np.zeros(m)
        few = rng.integers(0, m, rng.integers(0, 40))
        u[few] = rng.standard_normal(few.size)
        while not keep_row(duals, i, u):
            assert np.array_equal(as_csr(duals, m).toarray(), kept)
            duals = grown(duals, m)
        kept[i] = u
    assert isinstance(duals, SparseDuals)
    assert np.array_equal(as_csr(duals, m).toarray(), kept)
    assert as_csr(duals, m).has_canonical_format
    assert int(duals.used[0]) <= duals.columns.size < 0.5 * n * m


def test_rows_that_are_not_sparse_end_in_a_dense_matrix():
    n, m = 30, 120
    duals, u = stored(sp.csr_matrix((n, m))), np.arange(1.0, m + 1)
    for i in range(n):
        while isinstance(duals, SparseDuals) and not keep_row(duals, np.uint64(i), u):
            duals = grown(duals, m)
        if isinstance(duals, Dense):
            assert np.array_equal(duals.values[:i], np.tile(u, (i, 1)))
            assert not duals.values[i:].any()
            return
    pytest.fail("a pool that is larger than the matrix")


def test_a_loss_whose_duals_are_not_sparse_keeps_an_array():
    X, y = rows()
    p = fenchel.Problem(X, y, loss="softmax", alpha=0.01)
    assert isinstance(fenchel.solve(p, solver=BlockAscent(), tol=1e-2).dual_point, np.ndarray)
    p = fenchel.Problem(X, y % 7, loss="max_hinge", alpha=0.01)  # few classes
    assert isinstance(fenchel.solve(p, solver=BlockAscent(), tol=1e-2).dual_point, np.ndarray)


def test_memory_is_far_below_rows_times_classes():
    n, m = 4000, 2000
    X, y = rows(n, 10, m)
    small = fenchel.Problem(X[:400], y[:400] % 200, loss="max_hinge", alpha=0.01)
    fenchel.solve(small, solver=BlockAscent(), tol=1e-1)  # compiled
    tracemalloc.start()
    p = fenchel.Problem(X, y, loss="max_hinge", alpha=1.0 / n)
    result = fenchel.solve(p, solver=BlockAscent(), tol=1e-9, max_iter=12)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sp.issparse(result.dual_point) and np.isfinite(result.certificate.dual)
    assert peak < 0.4 * n * m * 8, "with zeros it is twice that matrix"
    assert result.dual_point.nnz > n


def test_models_with_sparse_points_are_saved_loaded_and_verified(tmp_path, capsys):
    X, y = rows()
    np.savetxt(tmp_path / "rows.csv", np.column_stack([X, y]), delimiter=",", header="a,b,c,d,e,f,kind", comments="")
    options = (
        "--loss",
        "max_hinge",
        "--solver",
        "block_ascent",
        "--tol",
        "1e-3",
        "--alpha",
        "0.003",
        "--target",
        "kind",
    )
    assert run("train", tmp_path / "rows.csv", "--model", tmp_path / "m.fenchel", *options) == 0
    model = fenchel.load(tmp_path / "m.fenchel")
    assert isinstance(model.dual_points, sp.csr_matrix)
    assert run("verify", tmp_path / "m.fenchel", tmp_path / "rows.csv", "--target", "kind") == 0
    assert "for the stored dual point" in capsys.readouterr().out
    fenchel.save(tmp_path / "again", model)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m.fenchel").read_bytes()
    assert (tmp_path / "again").stat().st_size < 0.5 * 8 * y.size * CLASSES


def test_results_and_estimators_with_sparse_points_are_saved_pickled_and_shown(tmp_path):
    p = problem()
    result = fenchel.solve(p, solver=BlockAscent(), tol=1e-3)
    fenchel.save(tmp_path / "m", result)
    model = fenchel.load(tmp_path / "m")
    assert (model.dual_points != result.dual_point).nnz == 0
    again = fenchel.certify(p, model.coef, model.intercept, model.dual_points)
    assert again.primal == result.certificate.primal
    # the point is moved into the domain once more, which may change last digits
    assert abs(again.dual - result.certificate.dual) <= result.certificate.floor
    assert again.floor == pytest.approx(result.certificate.floor, rel=1e-3)
    copy = pickle.loads(pickle.dumps(result))
    assert (copy.dual_point != result.dual_point).nnz == 0
    assert "CERTIFIED" in str(result) and "<table" in result._repr_html_()
    X, y = rows()
    model = fenchel.Classifier(loss="max_hinge", solver="block_ascent", tol=1e-3, alpha=0.003, warm_start=True)
    fitted = model.fit(X, y)
    assert sp.issparse(fitted.dual_coef_) and fitted.dual_coef_.shape == (CLASSES, y.size)
    again = pickle.loads(pickle.dumps(fitted)).set_params(tol=1e-2).fit(X, y)
    assert again.n_iter_ <= 2


@pytest.mark.parametrize(
    "forge",
    [
        lambda a: a["dual_points/indices"].__setitem__(0, CLASSES),
        lambda a: a["dual_points/indices"].__setitem__(0, -1),
        lambda a: a["dual_points/indptr"].__setitem__(-1, 10**12),
        lambda a: a["dual_points/indptr"].__setitem__(1, 10**6),
        lambda a: a.__setitem__("dual_points/indptr", a["dual_points/indptr"][:-1]),
        lambda a: a.__setitem__("dual_points/indptr", np.empty(0, np.int64)),
        lambda a: a.__setitem__("dual_points", np.zeros((360, CLASSES))),
        lambda a: a.pop("dual_points/data"),
    ],
)
def test_forged_sparse_points_are_refused(forge, tmp_path):
    header, arrays = plain(fenchel.Model.from_result(fenchel.solve(problem(), solver=BlockAscent(), tol=1e-2)))
    arrays = {name: array.astype(np.int64 if array.dtype.kind == "i" else float) for name, array in arrays.items()}
    (tmp_path / "good").write_bytes(b"".join(encode(header, arrays)))
    assert sp.issparse(fenchel.load(tmp_path / "good").dual_points)
    forge(arrays)
    (tmp_path / "bad").write_bytes(b"".join(encode(header, arrays)))
    with pytest.raises(ModelFileError):
        fenchel.load(tmp_path / "bad")


def test_a_crash_and_resume_give_the_same_bits(tmp_path):
    p, keep = problem(), fenchel.Checkpoint(tmp_path / "c", seconds=0, segment=5)

    def solve(**options):
        return fenchel.solve(p, solver=BlockAscent(), tol=1e-4, max_iter=60, checkpoint=keep, **options)

    def crash(state):
        if state.iteration >= 30:
            raise RuntimeError

    whole = solve()
    (tmp_path / "c").unlink()
    with pytest.raises(fenchel.errors.SolveError):
        solve(callback=crash)
    resumed = solve(resume=True)
    assert resumed.coef.tobytes() == whole.coef.tobytes()
    for part in ("data", "indices", "indptr"):
        assert getattr(resumed.dual_point, part).tobytes() == getattr(whole.dual_point, part).tobytes()
    assert resumed.certificate == whole.certificate
