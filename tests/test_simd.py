"""The loops in the compiler's own vectors do what their plain Python says."""

import numpy as np
import pytest
import scipy.sparse as sp

from fenchel.compile.kernel import kernel
from fenchel.data.accept import accept_matrix
from fenchel.data.rows import row_parts
from fenchel.kernels.simd import LANES, TILE, add_to_rows, sum_rows

WIDTHS = [LANES, LANES + 1, 10, LANES * TILE, LANES * TILE + 1, 2 * LANES * TILE + 7]


@kernel
def sums(rows, scale, W, Z):
    for i in range(np.uint64(Z.shape[0])):
        columns, values = row_parts(rows, i)
        sum_rows(scale, values, columns, W, Z[i])


@kernel
def additions(rows, scale, W, Z):
    for i in range(np.uint64(Z.shape[0])):
        columns, values = row_parts(rows, i)
        add_to_rows(scale, values, columns, W, Z[i])


@pytest.fixture(params=["dense", "csr"])
def data(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 9)) * (rng.random((6, 9)) < 0.6)
    X[2] = 0.0
    return X, accept_matrix(sp.csr_matrix(X) if request.param == "csr" else X)[1]


@pytest.mark.parametrize("m", WIDTHS)
def test_scores_of_rows(data, m):
    X, rows = data
    W, Z = np.random.default_rng(1).normal(size=(9, m)), np.full((6, m), np.nan)
    sums(rows, 0.5, W, Z)
    np.testing.assert_allclose(Z, 0.5 * X @ W, atol=1e-14)
    plain = np.empty((6, m))
    sums.py_func(rows, 0.5, W, plain)
    np.testing.assert_allclose(plain, Z, atol=1e-14)


@pytest.mark.parametrize("m", [1, 2, 3, *WIDTHS])
def test_rows_added(data, m):
    X, rows = data
    Z = np.random.default_rng(2).normal(size=(6, m))
    W = np.ones((10, m))
    additions(rows, -2.0, W, Z)
    np.testing.assert_allclose(W[:9], 1.0 - 2.0 * X.T @ Z, atol=1e-13)
    assert (W[9] == 1.0).all()
    plain = np.ones((10, m))
    additions.py_func(rows, -2.0, plain, Z)
    np.testing.assert_allclose(plain, W, atol=1e-13)
