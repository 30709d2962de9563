"""What a user has becomes rows for kernels: no needless copies, nothing modified, nothing malformed gets through."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, xlogy

import fenchel
from fenchel.compile.kernel import kernel
from fenchel.data.accept import accept_matrix, accept_vector, block, size
from fenchel.data.csr import CSR
from fenchel.data.dense import NARROW, Dense
from fenchel.data.rows import add_rows
from fenchel.errors import InputError
from fenchel.mirror_maps.coordinatewise import Identity, Soft

RNG = np.random.default_rng(7)
DENSE = RNG.normal(size=(6, 4)) * (RNG.random(size=(6, 4)) < 0.6)
Y = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
W = np.array([0.5, -1.0, 0.25, 2.0])


def densify(rows, d):
    """The matrix that kernels see, row by row, through the row operations alone."""
    n = rows.values.shape[0] if isinstance(rows, Dense) else rows.indptr.size - 1
    out = np.zeros((n, d))
    for i in range(n):
        rows.axpy(np.uint64(i), 1.0, out[i])
    return out


def certified(X):
    """(P, D) at W, computed by the package."""
    problem = fenchel.Problem(X, Y[: X.shape[0]], loss="logistic", alpha=0.1)
    certificate = fenchel.certify(problem, W[: X.shape[1]])
    return certificate.primal, certificate.dual


def by_hand(X):
    """P at W and D at the slopes there, in numpy."""
    X, y, w = np.asarray(X, dtype=float), Y[: len(X)], W[: X.shape[1]]
    z = X @ w
    primal = np.mean(np.logaddexp(0.0, -y * z)) + 0.05 * w @ w
    u = -y * expit(-y * z)
    s, v = -y * u, -X.T @ u / len(X)
    return primal, -np.mean(xlogy(s, s) + xlogy(1 - s, 1 - s)) - v @ v / 0.2


# --- what is kept as it is ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_c_order_is_not_copied(dtype):
    X = DENSE.astype(dtype)
    matrix, rows = accept_matrix(X)
    assert np.shares_memory(X, rows.values)
    assert np.shares_memory(X, matrix)
    assert rows.values.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
def test_canonical_csr_is_not_copied(dtype, index, kind):
    X = kind(DENSE.astype(dtype))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    _, rows = accept_matrix(X)
    assert np.shares_memory(X.data, rows.values)
    assert np.shares_memory(X.indices, rows.indices)
    assert np.shares_memory(X.indptr, rows.indptr)
    assert rows.indices.dtype == (np.uint32 if index is np.int32 else np.uint64)
    np.testing.assert_array_equal(densify(rows, 4), DENSE.astype(dtype))


def test_memory_map_is_read_where_it_lies(tmp_path):
    mapped = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=DENSE.shape)
    mapped[:] = DENSE
    mapped.flush()
    reading = np.memmap(tmp_path / "x", dtype=np.float64, mode="r", shape=DENSE.shape)
    _, rows = accept_matrix(reading)
    assert np.shares_memory(reading, rows.values)
    assert certified(reading) == certified(DENSE)


def unsorted():
    X = sp.csr_matrix(DENSE)
    for i in range(6):
        a, b = X.indptr[i : i + 2]
        X.indices[a:b], X.data[a:b] = X.indices[a:b][::-1].copy(), X.data[a:b][::-1].copy()
    X.has_sorted_indices = False
    X.has_canonical_format = False
    return X


def duplicated():
    """Every value stored as two halves."""
    X = sp.csr_matrix(DENSE)
    return sp.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)


def mixed_indices():
    X = sp.csr_matrix(DENSE)
    X.indptr = X.indptr.astype(np.int64)
    return X


def with_spare_room():
    """Arrays longer than the last entry of indptr, as scipy allows; the spare part is rubbish."""
    X = sp.csr_matrix(DENSE)
    X.data, X.indices = np.append(X.data, [1e9, 1e9]), np.append(X.indices, np.array([99, -5], dtype=np.int32))
    return X


def big_endian():
    X = sp.csr_matrix(DENSE)
    X.data = X.data.astype(">f8")
    return X


def read_only(X):
    X.flags.writeable = False
    return X


FORMS = {
    "F order": lambda: np.asfortranarray(DENSE),
    "strided": lambda: np.repeat(np.repeat(DENSE, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda: np.ascontiguousarray(DENSE[::-1, ::-1])[::-1, ::-1],
    "read-only": lambda: read_only(DENSE.copy()),
    "big-endian": lambda: DENSE.astype(">f8"),
    "list": lambda: DENSE.tolist(),
    "objects": lambda: DENSE.astype(object),
    "longdouble": lambda: DENSE.astype(np.longdouble),
    "matrix of strings": lambda: DENSE.astype(str),
    "CSC": lambda: sp.csc_matrix(DENSE),
    "COO": lambda: sp.coo_matrix(DENSE),
    "COO array": lambda: sp.coo_array(DENSE),
    "LIL": lambda: sp.lil_matrix(DENSE),
    "DOK": lambda: sp.dok_matrix(DENSE),
    "BSR": lambda: sp.bsr_matrix(DENSE, blocksize=(2, 2)),
    "DIA": lambda: sp.dia_matrix(DENSE),
    "CSR unsorted": unsorted,
    "CSR duplicates": duplicated,
    "CSR int32 and int64": mixed_indices,
    "CSR with spare room": with_spare_room,
    "CSR big-endian": big_endian,
}


@kernel
def summed(rows, start, stop, p, u, out):
    add_rows(rows, start, stop, p, u, out)


def frozen(X):
    """A copy of everything that could be modified."""
    if sp.issparse(X):
        names = ("data", "indices", "indptr", "row", "col", "rows", "offsets")
        return [(name, np.array(getattr(X, name), copy=True)) for name in names if hasattr(X, name)]
    return [("values", np.array(X, copy=True))]


def unchanged(X, before):
    pairs = zip(frozen(X), before, strict=True)
    return all(a[1].dtype == b[1].dtype and a[1].tobytes() == b[1].tobytes() for a, b in pairs)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_matrix_and_is_not_modified(form):
    X = FORMS[form]()
    before = frozen(X) if form not in ("objects", "LIL", "DOK") else None
    matrix, rows = accept_matrix(X)
    np.testing.assert_array_equal(densify(rows, 4), DENSE)
    assert matrix.shape == DENSE.shape
    primal, dual = certified(matrix)
    assert (primal, dual) == pytest.approx(by_hand(DENSE), rel=1e-12)
    if sp.issparse(matrix):
        assert matrix.has_canonical_format
        assert size(rows) == np.count_nonzero(DENSE) or form == "BSR"  # its blocks hold zeros
    if before is not None:
        assert unchanged(X, before)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.uint64])
@pytest.mark.parametrize("kind", [np.array, sp.csr_matrix])
def test_integers_and_booleans_become_float64(dtype, kind):
    values = (np.abs(DENSE) * 3).astype(dtype)
    _, rows = accept_matrix(kind(values))
    assert rows.values.dtype == np.float64
    np.testing.assert_array_equal(densify(rows, 4), values.astype(float))


def test_half_precision_becomes_float64():
    assert accept_matrix(DENSE.astype(np.float16))[1].values.dtype == np.float64


def test_a_frame_is_accepted():
    pd = pytest.importorskip("pandas")
    np.testing.assert_array_equal(densify(accept_matrix(pd.DataFrame(DENSE))[1], 4), DENSE)


def test_row_operations_agree_with_numpy_in_both_formats():
    for X in (DENSE, sp.csr_matrix(DENSE)):
        _, rows = accept_matrix(X)
        for i in map(np.uint64, range(6)):
            assert rows.dot(i, W) == pytest.approx(DENSE[i] @ W)
            assert rows.sized_dot(i, W) == pytest.approx((DENSE[i] @ W, np.abs(DENSE[i]) @ np.abs(W)))
            assert rows.sqnorm(i) == pytest.approx(DENSE[i] @ DENSE[i])
            assert rows.mapped_dot(i, W, Identity()) == pytest.approx(DENSE[i] @ W)
            soft = np.sign(W) * np.maximum(np.abs(W) - 0.4, 0.0)
            assert rows.mapped_dot(i, W, Soft(0.4)) == pytest.approx(DENSE[i] @ soft)


@pytest.mark.parametrize("columns", [1, 7, NARROW, NARROW + 1])
@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("form", [np.float64, np.float32, sp.csr_matrix])
def test_sums_of_rows_agree_with_numpy_wherever_they_begin_and_end(columns, share, form):
    rng = np.random.default_rng(columns)
    X, p = rng.standard_normal((23, columns)).astype(np.float32).astype(float), rng.random(23)
    u = np.where(rng.random(23) < share, rng.standard_normal(23), 0.0)
    _, rows = accept_matrix(sp.csr_matrix(X) if form is sp.csr_matrix else X.astype(form))
    for run in (summed, summed.py_func):
        for start, stop in ((0, 23), (1, 22), (5, 5), (3, 6), (2, 6)):
            out = np.ones(columns)
            run(rows, np.uint64(start), np.uint64(stop), p, u, out)
            np.testing.assert_allclose(out, 1.0 + X[start:stop].T @ (p * u)[start:stop], rtol=1e-12, atol=1e-12)


def test_blocks_are_views_of_their_rows():
    for X in (DENSE, sp.csr_matrix(DENSE)):
        _, rows = accept_matrix(X)
        part = block(rows, 2, 5)
        assert isinstance(part, (Dense, CSR))
        assert np.shares_memory(part.values, rows.values)
        np.testing.assert_array_equal(densify(part, 4), DENSE[2:5])
        assert size(block(rows, 0, 6)) == size(rows)
    assert size(part) == np.count_nonzero(DENSE[2:5])


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.array, np.asfortranarray, sp.csr_matrix, sp.csc_matrix, sp.coo_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nonfinite_values_are_located(bad, kind, dtype):
    X = np.abs(DENSE).astype(dtype) + 1.0
    X[4, 2] = bad
    X[5, 0] = -bad
    word = "NaN" if np.isnan(bad) else "infinity"
    with pytest.raises(InputError, match=f"X contains {word} at row 4, column 2"):
        accept_matrix(kind(X))


def test_values_whose_sum_overflows_are_accepted():
    for kind in (np.array, sp.csr_matrix):
        _, rows = accept_matrix(kind(np.full((3, 3), 1.7e308)))
        assert np.isfinite(rows.values).all()


def test_the_first_bad_row_of_many_is_found():
    X = np.zeros((10_000, 2))
    X[9_000, 1] = np.nan
    with pytest.raises(InputError, match="row 9000, column 1"):
        accept_matrix(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), "two-dimensional"),
        (np.zeros((2, 2, 2)), "two-dimensional"),
        (3.0, "two-dimensional"),
        (None, "two-dimensional"),
        (np.zeros((0, 3)), "no rows"),
        (np.zeros((3, 0)), "no columns"),
        (sp.csr_matrix((0, 3)), "no rows"),
        (sp.csr_matrix((3, 0)), "no columns"),
        (np.zeros((2, 2), dtype=complex), "Complex data not supported"),
        (sp.csr_matrix(np.eye(2, dtype=complex)), "Complex data not supported"),
        (np.array([["a", "b"]]), "must hold numbers"),
        (np.array([[object(), 1.0]], dtype=object), "must hold numbers"),
        (np.zeros((2, 2), dtype="M8[s]"), "must hold numbers"),
        ([[1.0, 2.0], [3.0]], "X is not an array of numbers"),
        (sp.coo_array(np.ones(4)), "two-dimensional"),
    ],
)
def test_bad_matrices_are_refused(X, message):
    with pytest.raises(InputError, match=message):
        accept_matrix(X)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones(5), r"one entry per row of X \(6\), got shape \(5,\)"),
        (np.ones((6, 2)), "one-dimensional"),
        ([1, 1, np.nan, 1, 1, 1], "y contains NaN at row 2"),
        ([1, 1, 1, 1, 1, -np.inf], "y contains infinity at row 5"),
        (["a"] * 6, "y must hold numbers"),
        ([[1], [1, 2], [1], [1], [1], [1]], "y is not an array"),
        ([1j] * 6, "Complex data not supported: y"),
    ],
)
def test_bad_vectors_are_refused(y, message):
    with pytest.raises(InputError, match=message):
        accept_vector(y, 6, "y")
    assert accept_vector(Y.reshape(-1, 1), 6, "y").tolist() == Y.tolist()


# --- malformed CSR --------------------------------------------------------------------------------------------------


def malformed(seed):
    """A CSR matrix with one to three random faults in its arrays, put past scipy's own checks."""
    rng = np.random.default_rng(seed)
    X = sp.csr_matrix(DENSE) if seed % 2 else sp.csr_array(DENSE)
    X.has_canonical_format, X.has_sorted_indices  # noqa: B018  (scipy would remember these as true)
    for _ in range(rng.integers(1, 4)):
        name = rng.choice(["indptr", "indices", "data"])
        array = getattr(X, name).copy()
        fault = rng.integers(0, 9)
        place = rng.integers(0, max(array.size, 1))
        far = rng.choice([-1, -5, 4, 99, 2**31 - 1, -(2**31), 6, 1])
        if fault <= 2 and array.size:
            array.flat[place] = np.array(far).astype(array.dtype)
        elif fault == 3:
            array = array[: rng.integers(0, array.size + 1)]
        elif fault == 4:
            array = np.append(array, array[:1] if name == "data" else array.dtype.type(far))
        elif fault == 5:
            array = array.astype(rng.choice([np.float64, np.int8, np.uint32, np.int64, np.uint64, object, bool]))
        elif fault == 6:
            array = rng.permutation(array)
        elif fault == 7:
            array = array.reshape(1, -1)
        else:
            array = array[::-1]
        setattr(X, name, array)
    return X


def meaning(X):
    """The matrix that sound arrays describe, without scipy; None if they describe none."""
    indptr, indices, data = (np.asarray(a) for a in (X.indptr, X.indices, X.data))
    if any(a.ndim != 1 for a in (indptr, indices, data)) or indptr.size != 7 or data.dtype.kind not in "biufO":
        return None
    if any(a.dtype.kind not in "iu" for a in (indptr, indices)):
        return None
    ends = [int(k) for k in indptr]
    if ends[0] != 0 or ends != sorted(ends) or ends[-1] > min(indices.size, data.size):
        return None
    out = np.zeros((6, 4))
    for i in range(6):
        for k in range(ends[i], ends[i + 1]):
            if not 0 <= int(indices[k]) < 4:
                return None
            out[i, int(indices[k])] += float(data[k])
    return out


@pytest.mark.filterwarnings("ignore:.*:scipy.sparse.SparseEfficiencyWarning")
def test_malformed_csr_never_crashes_and_is_refused_or_right():
    refused = 0
    for seed in range(300):
        X = malformed(seed)
        truth = meaning(X)
        try:
            primal, dual = certified(X)
        except InputError:
            refused += 1
            continue
        assert truth is not None, seed
        assert (primal, dual) == pytest.approx(by_hand(truth), rel=1e-9), seed
    assert 100 < refused < 300


@pytest.mark.parametrize("kind", [sp.csc_matrix, sp.coo_matrix, sp.bsr_matrix])
@pytest.mark.parametrize("far", [-1, 99, 2**31 - 1])
def test_malformed_matrices_of_other_formats_are_refused(kind, far):
    X = kind(DENSE)
    if kind is sp.coo_matrix:
        X.col = X.col.copy()
        X.col[3] = far
    else:
        X.indices = X.indices.copy()
        X.indices[0] = far
    with pytest.raises(InputError, match="X is not a valid"):
        accept_matrix(X)


def test_faults_are_named():
    X = sp.csr_matrix(DENSE)
    X.indices = X.indices.copy()
    X.indices[X.indptr[3]] = 4
    with pytest.raises(InputError, match="row 3 has column index 4, allowed are 0 to 3"):
        accept_matrix(X)


BOUNDS = """
import numpy as np, scipy.sparse as sp, fenchel
rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4)); y = np.sign(X[:, 0] + 0.3 * rng.normal(size=30))
S = sp.csr_matrix(X * (np.abs(X) > 0.5))
L = S.copy()
L.indices, L.indptr = L.indices.astype(np.int64), L.indptr.astype(np.int64)
primal = []
for data in (S.toarray(), S, L):
    result = fenchel.solve(fenchel.Problem(data, y, loss="hinge", alpha=0.1), tol=1e-6)
    assert result.status.name == "CERTIFIED", result
    primal.append(result.certificate.primal)
assert np.ptp(primal) <= 2e-6 * primal[0], primal
import numba
assert numba.config.BOUNDSCHECK == 1
"""


def test_a_solve_is_green_under_bounds_checking(tmp_path):
    env = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "FENCHEL_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", BOUNDS], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
