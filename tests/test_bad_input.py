"""Bad arguments: the error names the argument, the first bad place and the remedy, at once and without compiling."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from clock import least_seconds
from fenchel import losses, regularizers, solvers
from fenchel.engines import Local
from fenchel.errors import FenchelError, IncompatibleError, InputError, UnknownNameError

X = np.arange(12.0).reshape(4, 3) / 7
Y = np.array([1.0, -1.0, 1.0, -1.0])


def changed(array, place, value):
    array = np.array(array, dtype=float)
    array[place] = value
    return array


def problem(**changes):
    arguments = {"X": X, "y": Y, "loss": "hinge", "regularizer": "l2", "alpha": 0.1, **changes}
    return fenchel.Problem(arguments.pop("X"), arguments.pop("y"), **arguments)


def solve(**arguments):
    return fenchel.solve(problem(**arguments.pop("problem", {})), **arguments)


class NoSlope:
    def value(self, z, y):
        return 0.0


BAD = {  # name: (call, words that the message must contain)
    "nan_in_X": (lambda: problem(X=changed(X, (2, 1), np.nan)), "X contains NaN at row 2, column 1.*[Ii]mpute"),
    "inf_in_X": (lambda: problem(X=changed(X, (3, 0), np.inf)), "X contains infinity at row 3, column 0"),
    "nan_in_csr": (lambda: problem(X=sp.csr_matrix(changed(X, (1, 2), np.nan))), "X contains NaN at row 1, column 2"),
    "nan_in_y": (lambda: problem(y=changed(Y, 2, np.nan)), "y contains NaN at row 2.*remove"),
    "inf_in_y": (lambda: problem(y=changed(Y, 0, -np.inf)), "y contains infinity at row 0"),
    "nan_in_weights": (lambda: problem(sample_weight=[1, 1, np.nan, 1]), "sample_weight contains NaN at row 2"),
    "negative_weight": (lambda: problem(sample_weight=[1, -2, 1, -1]), "sample_weight of row 1 is .*at least 0"),
    "zero_weights": (
        lambda: problem(sample_weight=np.zeros(4)),
        "sample_weight is zero everywhere.*at least one weight",
    ),
    "inf_in_offset": (lambda: problem(offset=[0, 0, np.inf, 0]), "offset contains infinity at row 2"),
    "short_offset": (
        lambda: problem(offset=[0.0]),
        r"offset must be .* one entry per row .*got shape \(1,\)",
    ),
    "short_y": (lambda: problem(y=Y[:3]), r"y must be .* one entry per row of X \(4\), got shape \(3,\)"),
    "long_weights": (lambda: problem(sample_weight=np.ones(5)), "sample_weight must be .* one entry per row"),
    "matrix_y": (lambda: problem(y=np.ones((4, 2))), r"y must be one-dimensional .*\(4, 2\)"),
    "missing_y": (lambda: problem(y=None), "y is missing: loss Hinge needs targets"),
    "three_classes": (lambda: problem(y=[1, -1, 0, 2]), "y of row 2 is .*-1 or \\+1.*Classifier maps"),
    "zero_one_labels": (lambda: problem(y=[0, 1, 0, 1], loss="logistic"), "y of row 0 is .*-1 or \\+1"),
    "negative_count": (lambda: problem(y=[1, 0, 2, -1], loss="poisson"), "y of row 3 is .*Poisson.*at least 0"),
    "no_rows": (lambda: problem(X=np.empty((0, 3)), y=[]), r"X has no rows \(n = 0\).*at least one row"),
    "no_columns": (lambda: problem(X=np.empty((4, 0))), r"X has no columns \(d = 0\).*one column"),
    "vector_X": (lambda: problem(X=Y), "X must be two-dimensional .*[Rr]eshape"),
    "cube_X": (lambda: problem(X=np.ones((2, 2, 2))), "X must be two-dimensional"),
    "strings_in_X": (lambda: problem(X=np.array([["a"], ["b"], ["c"], ["d"]])), "X must hold numbers"),
    "complex_X": (lambda: problem(X=X + 1j), "Complex data not supported: X"),
    "times_in_X": (lambda: problem(X=X.astype("datetime64[s]")), "X must hold numbers.*convert"),
    "ragged_X": (lambda: problem(X=[[1.0], [1.0, 2.0], [1.0], [1.0]]), "X is not an array of numbers"),
    "csr_column_out_of_range": (
        lambda: problem(X=broken_csr()),
        "X is not a valid CSR matrix: row 1 has column index 7, allowed are 0 to 2",
    ),
    "zero_alpha": (lambda: regularizers.L2(0.0), "alpha must be .*got 0"),
    "negative_alpha": (lambda: problem(alpha=-1.0), "alpha must be .*got -1"),
    "nan_alpha": (lambda: problem(alpha=np.nan), "alpha must be .*nan"),
    "word_alpha": (lambda: problem(alpha="much"), "alpha must be .*much"),
    "alpha_twice": (lambda: problem(regularizer=regularizers.L2(1.0), alpha=0.1), "alpha lives inside"),
    "l1_ratio": (lambda: regularizers.ElasticNet(0.1, 1.5), "l1_ratio must be .*1.5"),
    "q": (lambda: regularizers.QNorm(0.1, 0.5), "q must be > 1, got 0.5"),
    "matrix_K": (lambda: problem(regularizer=regularizers.Quadratic(0.1, np.eye(2)), alpha=None), "K .*3|3.* K"),
    "indefinite_K": (lambda: regularizers.Quadratic(0.1, np.diag([1.0, -1.0, 1.0])), "K .*positive"),
    "prior": (lambda: regularizers.Entropy(0.1, prior=[1.0, 0.0, 1.0]), "prior"),
    "tau": (lambda: problem(loss=losses.Quantile(1.5)), "tau must be strictly between 0 and 1, got 1.5"),
    "epsilon": (lambda: problem(loss=losses.EpsilonInsensitive(-1.0)), "epsilon must be at least 0, got -1"),
    "delta": (lambda: problem(loss=losses.Huber(0.0)), "delta must be greater than 0"),
    "nan_parameter": (lambda: problem(loss=losses.Huber(np.nan)), "delta of loss Huber is NaN"),
    "unknown_loss": (lambda: problem(loss="hinje"), "unknown loss 'hinje'. Did you mean 'hinge'"),
    "unknown_regularizer": (
        lambda: problem(regularizer="elasticnet"),
        "It is called 'elastic_net' here",
    ),
    "unknown_solver": (lambda: solve(solver="lbgfs"), "unknown solver 'lbgfs'. Did you mean 'lbfgs'"),
    "loss_class": (lambda: problem(loss=losses.Hinge), r"loss must be a name or an object.*call it: Hinge\(...\)"),
    "regularizer_class": (lambda: problem(regularizer=regularizers.L2, alpha=None), r"call it: L2\(alpha\)"),
    "loss_without_slope": (lambda: problem(loss=NoSlope()), r"NoSlope has no method slope\(z, y\)"),
    "bare_moreau": (lambda: problem(loss="moreau"), r"needs loss: pass fenchel\.losses\.Moreau\(loss\)"),
    "solver_number": (lambda: solve(solver=3), "solver must be a name or a Solver object, got 3"),
    "negative_tol": (lambda: solve(tol=-1e-6), "tol must be a number greater than 0"),
    "nan_tol": (lambda: solve(tol=np.nan), "tol must be"),
    "word_tol": (lambda: solve(tol="tight"), "tol must be .*tight"),
    "fraction_max_iter": (lambda: solve(max_iter=1.5), "max_iter must be None or an integer"),
    "negative_max_iter": (lambda: solve(max_iter=-1), "max_iter must be"),
    "zero_max_time": (lambda: solve(max_time=0), "max_time must be .*greater than 0"),
    "callback": (lambda: solve(callback=3), "callback must be callable, got 3"),
    "start_word": (lambda: solve(start="there"), r"start must be a Result, \(coef, intercept\)"),
    "start_shape": (lambda: solve(start=(np.zeros(7), 0.0)), r"coef must have one entry per column of X \(3\)"),
    "threads": (lambda: Local(threads=0), "threads must be None or an integer of at least 1, got 0"),
    "coef_shape": (lambda: fenchel.certify(problem(), np.zeros(4)), r"coef must .*column of X \(3\).*\(4,\)"),
    "nan_coef": (lambda: fenchel.certify(problem(), [0, np.nan, 0]), "coef contains NaN or infinity at column 1"),
    "intercept": (lambda: fenchel.certify(problem(), np.zeros(3), 1.0), "intercept is 1.0.*fit_intercept=True"),
    "nan_intercept": (
        lambda: fenchel.certify(problem(fit_intercept=True), np.zeros(3), np.nan),
        "intercept must be one finite number",
    ),
    "nonsmooth": (
        lambda: solve(solver="lbfgs"),
        "LBFGS cannot .* `Hinge` is not differentiable .*Solvers that can: .*DualAscent",
    ),
    "no_quadratic_part": (
        lambda: solve(problem={"regularizer": "l1"}, solver=solvers.DualAscent()),
        "DualAscent cannot .* `L1` has no .*Solvers that can: ",
    ),
}


def broken_csr():
    matrix = sp.csr_matrix((np.ones(2), np.array([0, 2]), np.array([0, 1, 2, 2, 2])), shape=(4, 3))
    matrix.indices[1] = 7
    return matrix


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_argument_is_named_with_its_place_and_remedy(kind):
    call, words = BAD[kind]
    with pytest.raises((InputError, IncompatibleError, UnknownNameError)) as caught:
        call()
    assert isinstance(caught.value, FenchelError)
    assert isinstance(caught.value, ValueError)
    assert re.search(words, str(caught.value)), str(caught.value)


def test_bad_arguments_are_refused_within_50_ms():
    for kind, (call, _) in BAD.items():

        def refused(call=call):
            with pytest.raises(FenchelError):
                call()

        assert least_seconds(refused, 0.05) < 0.05, kind


def test_bad_arguments_compile_nothing():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_bad_input as t\n"
        "for kind, (call, _) in t.BAD.items():\n"
        "    try: call()\n"
        "    except ValueError: continue\n"
        "    raise SystemExit(kind)\n"
        "assert 'numba' not in sys.modules, 'numba was imported'\n"
    )
    folder = __file__.rpartition("/")[0]
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_nothing_is_changed_by_a_refused_argument():
    bad = changed(X, (2, 1), np.nan)
    before = bad.copy()
    with pytest.raises(InputError):
        problem(X=bad)
    np.testing.assert_array_equal(bad, before)


@pytest.mark.parametrize("make", [np.array, sp.csr_matrix, sp.csc_matrix, sp.coo_matrix])
def test_constant_and_zero_rows_and_columns_are_no_error(make):
    p = fenchel.Problem(make([[0.0, 0.0, 2.0], [0.0, 1.0, 2.0], [0.0, 0.0, 2.0]]), [1, 1, -1], loss="hinge", alpha=0.1)
    assert (p.n, p.d) == (3, 3)
    one_label = fenchel.Problem(X, np.ones(4), loss="hinge", alpha=0.1)  # legal here; a classifier's fit refuses it
    assert one_label.n == 4
