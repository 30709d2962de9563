"""standardize=True: the same answer as StandardScaler and rescaled coefficients, in the units of X, with X as it is."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

import fenchel
from cli_case import REAL, X, csv_text, one_line
from cli_case import run_as_is as run
from fenchel import Classifier, OrdinalClassifier, Ranker, Regressor
from fenchel import regularizers as R
from fenchel.data.deviations import column_deviations
from fenchel.errors import InputError

SCALES, SHIFTS = np.array([1e-3, 1.0, 40.0, 0.3]), np.array([0.0, 5.0, -100.0, 2.0])


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, 4)) * (rng.random((n, 4)) < 0.6)
    y = Z @ [1.0, -2.0, 0.5, 0.0] + 0.5 * rng.standard_normal(n)
    return Z, y, rng.uniform(0.2, 3.0, n)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix, lambda A: A.astype(np.float32)])
def test_deviations_are_those_of_StandardScaler(storage):
    Z, _, s = data()
    A = storage(Z * SCALES + (0.0 if storage is sp.csr_matrix else SHIFTS))
    for weights in (None, s):
        own = StandardScaler(with_mean=False).fit(A.astype(np.float64), sample_weight=weights)
        np.testing.assert_allclose(
            column_deviations(A, weights), own.scale_, rtol=1e-6 if A.dtype == np.float32 else 1e-9
        )


def test_constant_columns_count_as_of_variance_one():
    A = np.column_stack([np.full(50, 0.1), np.zeros(50), np.full(50, 1e9), np.arange(50.0)])
    np.testing.assert_array_equal(column_deviations(A)[:3], 1.0)
    assert column_deviations(sp.csr_matrix(A))[3] == pytest.approx(np.std(np.arange(50.0)))


PENALTIES = {
    "l2": ({"regularizer": "l2", "alpha": 0.1}, lambda s: R.L2(0.1)),
    "l1": ({"regularizer": "l1", "alpha": 0.05}, lambda s: R.L1(0.05)),
    "elastic_net": ({"regularizer": "elastic_net", "alpha": 0.1, "l1_ratio": 0.3}, lambda s: R.ElasticNet(0.1, 0.3)),
    "weights": ({"regularizer": R.L1(0.05, weights=[1.0, 0.0, 2.0, 1.0])}, lambda s: R.L1(0.05, [1.0, 0.0, 2.0, 1.0])),
    "bounds": ({"regularizer": R.Bounded(R.ElasticNet(0.1, 0.3), lower=-0.01)},
               lambda s: R.Bounded(R.ElasticNet(0.1, 0.3), lower=-0.01 * s)),
    "shifted": ({"regularizer": R.Shifted(R.L2(0.1), [1.0, 0.0, 0.0, 1.0])},
                lambda s: R.Shifted(R.L2(0.1), s * [1.0, 0.0, 0.0, 1.0])),
    "quadratic": ({"regularizer": R.Quadratic(0.1, np.eye(4) + 0.2)}, lambda s: R.Quadratic(0.1, np.eye(4) + 0.2)),
    "diagonal": ({"regularizer": R.Quadratic(0.1, [1.0, 2.0, 1.0, 3.0])}, lambda s: R.Quadratic(0.1, [1.0, 2.0, 1.0, 3.0])),
    "sparse_K": ({"regularizer": R.Quadratic(0.1, sp.csc_array(np.eye(4) + 0.2))},
                 lambda s: R.Quadratic(0.1, np.eye(4) + 0.2)),
}  # fmt: skip


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_regression_equals_scaled_columns(name, weighted):
    Z, y, s = data()
    s = s if weighted else None
    A = Z * SCALES + SHIFTS
    given, scaled = PENALTIES[name]
    scaler = StandardScaler().fit(A, sample_weight=s)
    found = Regressor("squared", tol=1e-8, standardize=True, **given).fit(A, y, sample_weight=s)
    other = Regressor("squared", tol=1e-8, regularizer=scaled(scaler.scale_)).fit(
        scaler.transform(A), y, sample_weight=s
    )
    assert found.converged_ and other.converged_
    assert found.objective_ == pytest.approx(other.objective_, rel=2e-8)
    np.testing.assert_allclose(found.coef_ * scaler.scale_, other.coef_, atol=2e-4)
    np.testing.assert_allclose(found.predict(A), other.predict(scaler.transform(A)), atol=1e-3)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_classification_of_sparse_rows_equals_scaled_columns(loss):
    Z, y, s = data()
    labels = np.digitize(y, [-0.5, 0.5]) if loss == "softmax" else (y > 0).astype(int)
    A = sp.csr_matrix(Z * SCALES)
    before = A.data.copy()
    for penalty in ("l2", "l1"):
        given = {"loss": loss, "regularizer": penalty, "alpha": 0.02, "tol": 1e-8}
        found = Classifier(**given, standardize=True).fit(A, labels, sample_weight=s)
        scaler = StandardScaler().fit(A.toarray(), sample_weight=s)
        other = Classifier(**given).fit(scaler.transform(A.toarray()), labels, sample_weight=s)
        assert np.max(found.objective_) == pytest.approx(np.max(other.objective_), rel=1e-7)
        np.testing.assert_allclose(found.coef_ * scaler.scale_, other.coef_, atol=1e-3)
        np.testing.assert_array_equal(A.data, before)


def test_multi_task_weighs_features():
    Z, y, _ = data()
    A, labels = Z * [0.3, 1.0, 3.0, 0.5], np.digitize(y, [-0.5, 0.5])
    scaler = StandardScaler().fit(A)
    found = Classifier("softmax", R.MultiTask(0.02), tol=1e-8, standardize=True).fit(A, labels)
    other = Classifier("softmax", R.MultiTask(0.02), tol=1e-8).fit(scaler.transform(A), labels)
    assert found.objective_ == pytest.approx(other.objective_, rel=1e-7)


def test_paths_and_other_estimators():
    Z, y, s = data()
    A = Z * SCALES
    scale = StandardScaler().fit(A, sample_weight=s).scale_
    alphas = [0.5, 0.05]
    found = Regressor(regularizer="l1", standardize=True).path(A, y, alphas, sample_weight=s)
    for alpha, result in zip(alphas, found, strict=True):
        model = Regressor(regularizer="l1", alpha=alpha).fit(A / scale, y, sample_weight=s)
        assert result.certificate.primal == pytest.approx(model.objective_, rel=3e-6)
    levels, plain = np.digitize(y, [-0.5, 0.5]), A.std(axis=0)
    for one, other in (
        (
            OrdinalClassifier(alpha=0.1, standardize=True).fit(A, levels),
            OrdinalClassifier(alpha=0.1).fit(A / plain, levels),
        ),
        (
            Ranker(standardize=True).fit(A, levels, qid=np.arange(60) // 6),
            Ranker().fit(A / plain, levels, qid=np.arange(60) // 6),
        ),
    ):
        assert one.objective_ == pytest.approx(other.objective_, rel=3e-3)


@pytest.mark.parametrize(
    "reg",
    [
        R.GroupLasso(0.1, [0, 0, 1, 1]),
        R.L1Ball(1.0),
        R.Slope(0.1, [2.0, 1.0, 1.0, 1.0]),
        R.TotalVariation(0.1),
        R.Entropy(0.1),
    ],
)
def test_what_would_become_another_penalty_is_refused(reg):
    Z, y, _ = data()
    with pytest.raises(InputError, match=f"{type(reg).__name__} cannot be standardized.*StandardScaler"):
        Regressor(regularizer=reg, standardize=True).fit(Z, y)


def test_square_weights_are_checked():
    with pytest.raises(InputError, match="needs weights beside it"):
        R.ElasticNet(0.1, square_weights=[1.0])
    with pytest.raises(InputError, match=r"only one of weights\[1\] and square_weights\[1\] is 0"):
        R.ElasticNet(0.1, weights=[1.0, 0.0], square_weights=[1.0, 2.0])
    reg = R.ElasticNet(0.1, 0.4, weights=[1.0, 2.0], square_weights=[0.5, 7.0])
    R.check(reg, 2)
    for w, v in np.random.default_rng(0).standard_normal((20, 2, 2)):  # strongly convex in its metric, with modulus 1
        x = reg.primal_from_dual(v)
        assert reg.value(w) >= reg.value(x) + v @ (w - x) + 0.5 * reg.metric(2).norm(w - x) ** 2 - 1e-12


@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net"])
def test_the_command_line_does_the_same(penalty, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real.csv").write_text(csv_text(REAL))
    words = [
        "real.csv",
        "--loss",
        "squared",
        "--penalty",
        penalty,
        "--intercept",
        "-q",
        "--model",
        "m",
        "--standardize",
    ]
    assert run("train", *words, "--alpha", "0.1", "-e", "1e-8") == 0
    other = Regressor(regularizer=penalty, alpha=0.1, tol=1e-8, standardize=True).fit(X, REAL)
    assert fenchel.load("m").certificate.primal == pytest.approx(other.objective_, rel=1e-7)
    assert run("verify", "m", "real.csv") == 0
    assert run("path", *words, "--alphas", "0.1,0.01", "--folds", "3") == 0
    capsys.readouterr()
    assert run("train", "real.csv", "--loss", "squared", "--penalty", "l1_ball", "--standardize", "--model", "m") == 1
    assert "cannot be standardized" in one_line(capsys)
