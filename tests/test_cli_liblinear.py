"""liblinear's options mean what liblinear means by them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.svm import LinearSVC

import fenchel
from cli_case import NAMES, REAL, THREE, TWO, WORDS, X, csv_text, one_line
from cli_case import run_as_is as run
from fenchel.cli.folds import held_out
from fenchel.cli.tasks import Task
from fenchel.readers.svmlight.write import write_svmlight


def weights_of_liblinear(options: str, y, rows=X):
    """The weights that liblinear itself finds, for the greater of two labels, one row per label otherwise."""
    util = pytest.importorskip("liblinear.liblinearutil")
    model = util.train(
        list(map(float, y)), [dict(enumerate(map(float, row), 1)) for row in rows], options + " -e 1e-9 -q"
    )
    bias = float(options.split("-B ")[1].split()[0]) if "-B" in options else -1.0
    d, k = rows.shape[1] + (bias >= 0), model.nr_class if model.nr_class > 2 or "-s 4" in options else 1
    w = np.array(model.w[: d * k]).reshape(d, k).T
    labels = model.get_labels()
    if k == 1:
        return w[0] if not labels or labels[0] == max(labels) else -w[0]
    return w[np.argsort(labels)]


def objective(options: str, w, y) -> float:
    """What liblinear's manual says that it minimises, for two labels and for regression."""
    words = dict(zip(options.split()[::2], map(float, options.split()[1::2]), strict=True))
    kind, bias = int(words["-s"]), words.get("-B", -1.0)
    rows = np.column_stack([X, np.full(60, bias)]) if bias >= 0 else X
    z = rows @ w
    c = words.get("-c", 1.0) * np.array([words.get(f"-w{label:g}", 1.0) for label in y])
    if kind < 10:
        margin = np.where(y == 7, 1.0, -1.0) * z
        loss = (
            np.log1p(np.exp(-margin)) if kind in (0, 6, 7) else np.maximum(0.0, 1.0 - margin) ** (1 if kind == 3 else 2)
        )
    else:
        loss = np.maximum(0.0, np.abs(z - y) - words.get("-p", 0.1)) ** (1 if kind == 13 else 2)
    return (np.abs(w).sum() if kind in (5, 6) else 0.5 * w @ w) + c @ loss


TWO_LABELS = [
    "-s 0 -c 0.7", "-s 1 -c 0.7", "-s 2 -c 3", "-s 3 -c 0.2", "-s 5 -c 0.5", "-s 6 -c 0.5", "-s 7 -c 1",
    "-s 2 -c 1 -B 1", "-s 0 -c 1 -B 2.5", "-s 3 -c 0.1 -B 1", "-s 0", "-s 2 -c 0.5 -w7 4", "-s 0 -c 1 -w3 0.25 -w7 3",
    "-s 3 -c 0.02 -w3 2 -B 1", "-s 1 -c 1 -B -1",
]  # fmt: skip


@pytest.mark.parametrize("options", TWO_LABELS)
def test_two_labels_have_the_weights_that_liblinear_finds(options, files):
    assert run("train", "two", *options.split(), "--model", "m", "-e", "1e-10") == 0
    w, theirs = fenchel.load("m").coef, weights_of_liblinear(options, TWO)
    assert objective(options, w, TWO) <= objective(options, theirs, TWO) * (1 + 1e-9)
    if "-s 3" not in options:  # whose dual steps may end at the limit of iterations
        assert np.allclose(w, theirs, atol=2e-4)
    else:
        assert objective(options, theirs, TWO) <= objective(options, w, TWO) * (1 + 1e-2)


@pytest.mark.parametrize("options", ["-s 2 -c 0.3", "-s 0 -c 1", "-s 4 -c 0.5", "-s 0 -c 1 -B 1", "-s 4 -c 0.2 -w1 3"])
def test_three_labels(options, files):
    assert run("train", "three", *options.split(), "--model", "m", "-e", "1e-9") == 0
    assert np.allclose(fenchel.load("m").coef, weights_of_liblinear(options, THREE), atol=5e-4)


REGRESSION = [
    ("-s 11 -c 0.5", []),
    ("-s 13 -c 0.3", []),
    ("-s 12 -c 1 -p 0.5", ["--epsilon", "0.5"]),
    ("-s 11 -c 0.4 -p 0 -B 1", ["--epsilon", "0"]),
]


@pytest.mark.parametrize(("options", "own"), REGRESSION)
def test_regression(options, own, files):
    ours = options.replace(" -p 0.5", "").replace(" -p 0", "")
    assert run("train", "real", *ours.split(), *own, "--model", "m", "-e", "1e-10") == 0
    w, theirs = fenchel.load("m").coef, weights_of_liblinear(options, REAL)
    assert objective(options, w, REAL) <= objective(options, theirs, REAL) * (1 + 1e-9)
    assert np.allclose(w, theirs, atol=2e-3)


def test_p_is_epsilon(files):
    write_svmlight("real", X, REAL)
    for words in (["-p", "0.3"], ["--epsilon", "0.3"]):
        assert run("train", "real", "-s", "13", *words, "--model", words[0].strip("-")) == 0
    assert fenchel.load("p").loss.epsilon == 0.3
    assert (files / "p").read_bytes() == (files / "epsilon").read_bytes()


@pytest.mark.parametrize(("loss", "name"), [("hinge", "hinge"), ("squared_hinge", "squared_hinge")])
def test_c_is_that_of_scikit_learn_too(loss, name, files):
    assert run("train", "two", "--loss", loss, "-c", "0.4", "--model", "m", "-e", "1e-10") == 0
    other = LinearSVC(C=0.4, loss=name, fit_intercept=False, tol=1e-10, max_iter=200_000, dual=True).fit(X, TWO)
    assert np.allclose(fenchel.load("m").coef, other.coef_[0], atol=1e-4)


def test_half_a_square_is_counted(files):
    """C sum r^2 + |w|^2 / 2 of liblinear is 2 C n times the mean of r^2 / 2 + alpha / 2 |w|^2 with alpha = 1 / (2 C n)."""
    for words, alpha in ((["--loss", "squared_hinge"], 1 / (2 * 3 * 60)), (["--loss", "hinge"], 1 / (3 * 60))):
        assert run("train", "two", *words, "-c", "3", "--model", "m") == 0
        assert fenchel.load("m").regularizer.alpha == pytest.approx(alpha, rel=1e-14)


def test_weights_of_labels_enter_the_strength_and_the_certificate(files, capsys):
    assert run("train", "two", "-c", "1", "-w7", "4", "--model", "m") == 0
    total = float(np.where(TWO == 7, 4.0, 1.0).sum())
    assert fenchel.load("m").regularizer.alpha == pytest.approx(1 / total, rel=1e-14)
    assert run("verify", "m", "two") == 1
    assert "-wi" in capsys.readouterr().err
    assert run("verify", "m", "two", "-w7", "4") == 0
    assert run("verify", "m", "two", "-w7", "3") == 4
    assert run("train", "three", "-w1", "4", "--alpha", "0.1", "--model", "m") == 0
    model = fenchel.load("m")
    for k in range(3):
        s = np.where((k == THREE) & (k == 1), 4.0, 1.0)
        problem = fenchel.Problem(X, np.where(k == THREE, 1, -1), alpha=0.1, sample_weight=s)
        assert fenchel.certify(problem, model.coef[k]).holds(1e-6)
    assert run("verify", "m", "three", "-w1", "4") == 0


def test_signs_are_numbers(files):
    write_svmlight("signs", X, np.where(TWO == 7, 1, -1))
    for plus in ("-w1", "-w+1", "-w1.0"):
        assert run("train", "signs", "-s", "2", "-c", "1", plus, "3", "-w-1", "0.5", "--model", "m", "-e", "1e-10") == 0
        theirs = weights_of_liblinear("-s 2 -c 1 -w1 3 -w-1 0.5", np.where(TWO == 7, 1, -1))
        assert np.allclose(fenchel.load("m").coef, theirs, atol=2e-4)


def test_words_have_weights_and_long_names_work(files):
    pytest.importorskip("pyarrow")
    (files / "t.csv").write_text(csv_text(WORDS))
    for words in (["-woak", "2"], ["--class-weight", "oak=2"], ["--class-weight=oak=2"]):
        assert run("train", "t.csv", *words, "--loss", "softmax", "--alpha", "0.1", "--model", "m") == 0
        model = fenchel.load("m")
        problem = fenchel.Problem(X, THREE, "softmax", alpha=0.1, sample_weight=np.where(THREE == 1, 2.0, 1.0))
        assert fenchel.certify(problem, model.coef, model.intercept).holds(1e-6)


def test_the_constant_feature_is_in_predictions_files_and_certificates(files, capsys):
    pytest.importorskip("pyarrow")
    (files / "t.csv").write_text(csv_text(TWO))
    wide = np.column_stack([X, np.full(60, 2.0)])
    for data in ("two", "t.csv"):
        assert run("train", data, "-B", "2", "--alpha", "0.1", "--model", "m") == 0
        assert "constant feature 2" in capsys.readouterr().out
        model = fenchel.load("m")
        assert (model.constant, model.d, model.coef.size) == (2.0, 4, 5)
        assert model.feature_names == (tuple(NAMES) if data == "t.csv" else None)
        assert np.allclose(model.scores(X), wide @ model.coef, rtol=1e-13)
        assert run("verify", "m", data) == 0
        assert run("predict", "m", data, "-o", "p") == 0
        assert np.array_equal(np.loadtxt("p"), np.where(wide @ model.coef > 0, 7, 3))
    from dataclasses import replace

    fenchel.save("edited", replace(model, constant=1.0))
    assert run("verify", "edited", "t.csv") == 4


def test_cross_validation_is_that_of_models_that_have_not_seen_the_rows(files, capsys):
    parts = held_out(Task([3, 7], []), TWO.astype(float), 60, 5)
    assert sorted(np.concatenate(parts).tolist()) == list(range(60))
    assert all(abs((TWO[part] == 7).mean() - (TWO == 7).mean()) < 0.1 for part in parts)
    right = 0
    for part in parts:
        rest = np.setdiff1d(np.arange(60), part)
        w = weights_of_liblinear("-s 2 -c 0.5 -B 1", TWO[rest], X[rest])
        right += (np.where(X[part] @ w[:4] + w[4] > 0, 7, 3) == TWO[part]).sum()
    assert run("train", "two", "-s", "2", "-c", "0.5", "-B", "1", "-v", "5") == 0
    assert capsys.readouterr().out == f"Cross Validation Accuracy = {100 * right / 60:.6g}%\n"
    assert run("train", "two", "-s", "2", "-c", "0.5", "-B", "1", "-v", "5", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["accuracy"] == right / 60
    assert found["worst_relative_gap"] <= 1e-6
    assert list(files.glob("m*")) == []


def test_cross_validation_of_regression_and_words(files, capsys):
    parts = held_out(Task(None, []), REAL, 60, 4)
    found = np.empty(60)
    for part in parts:
        rest = np.setdiff1d(np.arange(60), part)
        A = X[rest]
        found[part] = X[part] @ np.linalg.solve(A.T @ A / rest.size + 0.1 * np.eye(4), A.T @ REAL[rest] / rest.size)
    assert run("train", "real", "--loss", "squared", "--alpha", "0.1", "-v", "4", "--json", "-e", "1e-12") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["mean_squared_error"] == pytest.approx(np.mean((found - REAL) ** 2), rel=1e-5)
    assert shown["squared_correlation"] == pytest.approx(np.corrcoef(found, REAL)[0, 1] ** 2, rel=1e-5)
    assert run("train", "real", "--loss", "squared", "-v", "4") == 0
    assert "Squared correlation coefficient" in capsys.readouterr().out
    pytest.importorskip("pyarrow")
    (files / "t.csv").write_text(csv_text(WORDS))
    assert run("train", "t.csv", "-v", "3", "--alpha", "0.01", "--json") == 0
    assert 0.7 < json.loads(capsys.readouterr().out)["accuracy"] <= 1.0


def test_a_cross_validation_that_is_not_certified_exits_3(files, capsys):
    assert run("train", "two", "-v", "3", "--max-iter", "0") == 3
    assert "Accuracy" in capsys.readouterr().out


FAILURES = {
    "unknown type": (["-s", "21", "--model", "x"], "-s 21 has no equivalent here"),
    "type and penalty": (["-s", "1", "--penalty", "l1", "--model", "x"], "-s 1 determines the penalty"),
    "no such label": (["-w9", "2", "--model", "x"], "-w9: two has no such label; it has 3, 7"),
    "no weight": (["-w7", "x", "--model", "x"], "expected LABEL=X"),
    "zero weight": (["-w7", "0", "--model", "x"], "expected LABEL=X with X > 0"),
    "weight twice": (["-w7", "1", "-w7", "2", "--model", "x"], "given twice"),
    "weights of numbers": (["--loss", "squared", "-w7", "2", "--model", "x"], "are for classification"),
    "too many folds": (["-v", "61"], "from 2 to 60"),
    "one fold": (["-v", "1"], "from 2 to 60"),
    "folds of novelty": (["--loss", "novelty", "-v", "3"], "-v is for classification and regression"),
    "endless constant": (["-B", "inf", "--model", "x"], "-B must be a finite number"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILURES)
def test_failures(case, files, capsys):
    words, message = FAILURES[case]
    assert run("train", "two", *words) == 1
    assert message in one_line(capsys)
    assert not (files / "x").exists()


def test_strengths_that_would_differ_by_label_are_refused(files, capsys):
    assert run("train", "three", "-c", "1", "-w1", "2", "--model", "x") == 1
    assert "use --alpha" in one_line(capsys)


def test_a_constant_feature_needs_rows_in_memory(files, capsys):
    assert run("convert", "two", "rows") == 0
    capsys.readouterr()
    assert run("train", "rows", "-B", "1", "--model", "x") == 1
    assert "use --intercept" in one_line(capsys)


@pytest.mark.parametrize("words", [["-s", "1"], ["-B", "1"], ["-v", "3"], ["-w1", "2"], ["--target", "y"]])
def test_column_files_have_no_such_options(words, files, capsys):
    (files / "c").write_text("a B\nb O\n")
    words = words if "-v" in words else [*words, "--model", "x"]
    assert run("train", "c", "--columns", *words) == 1
    name = "-wi" if words[0] == "-w1" else words[0]
    assert f"{name} cannot be used with --columns" in one_line(capsys)
