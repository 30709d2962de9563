"""The command line, driven as a user would."""

from __future__ import annotations

import inspect
import json
import os
import pty
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import fenchel
from cli_case import one_line, run
from fenchel.cli import COMMANDS
from fenchel.cli.progress import Progress
from fenchel.cli.terminal import clean
from fenchel.readers.svmlight.write import write_svmlight

RNG = np.random.default_rng(3)
X = RNG.normal(size=(80, 5))
W = np.array([1.0, -2.0, 0.5, 0.0, 1.5])
TWO = np.where(X @ W + 0.5 * RNG.normal(size=80) > 0, 7, 3)
THREE = np.argmax(X[:, :3] + 0.3 * RNG.normal(size=(80, 3)), axis=1)
REAL = X @ W + 0.1 * RNG.normal(size=80)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_svmlight("two", X, TWO)
    write_svmlight("three", X, THREE, index_base=0)
    write_svmlight("real", X, REAL)
    return tmp_path


def command(*words, **options):
    words = [sys.executable, "-m", "fenchel", *map(str, words)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, **options)


def train(*words, data="two", model="m", alpha="0.1") -> int:
    return run("train", data, "--model", model, "--alpha", alpha, *words)


# help


@pytest.mark.parametrize("words", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_exits_0_and_explains_the_exit_status(words, capsys):
    assert run(*words) == 0
    assert "exit status" in capsys.readouterr().out


def test_help_is_as_quick_as_importing_and_brings_in_nothing_heavy():
    code = "import sys; from fenchel.cli import main; main(['--help']); heavy = {'numba', 'sklearn', 'rich', 'pandas'}"
    run = subprocess.run(
        [sys.executable, "-c", f"{code}; print(heavy & set(sys.modules))"], capture_output=True, text=True
    )
    assert run.stdout.endswith("set()\n")
    base, full = (min(_user_seconds("-c", c) for _ in range(2)) for c in ("import fenchel", code))
    assert full - base < 0.15


def _user_seconds(*words) -> float:
    before = os.times()
    subprocess.run([sys.executable, *words], capture_output=True, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


@pytest.mark.parametrize(
    "words",
    [[], ["fly"], ["train"], ["train", "two"], ["train", "two", "--model", "m", "--alpha", "x"], ["losses", "a", "b"],
     ["train", "two", "--model", "m", "--alpha", "1", "-c", "1"], ["predict", "m", "d", "--scores", "--proba"],
     ["predict", "m", "d", "--top-k", "2", "--proba"], ["predict", "m", "d", "--top-k", "two"],
     ["train", "two", "--model", "m", "--intercept", "--no-intercept"],
     ["train", "two", "--model", "m", "--tool", "1"],
     ["train", "two", "--model", "m", "--loss", "hinge", "--measure", "f1"],
     ["train", "two", "--model", "m", "--k", "1.5"]],
)  # fmt: skip
def test_wrong_usage_exits_2(words, capsys):
    assert run(*words) == 2
    assert "usage" in capsys.readouterr().err


def test_version(capsys):
    assert run("--version") == 0
    assert fenchel.__version__ in capsys.readouterr().out


# train, verify, predict: the happy path


def test_two_labels_are_mapped_certified_and_verified(files, capsys):
    assert train("--intercept", "--loss", "hinge", "--penalty", "l2") == 0
    out = capsys.readouterr()
    assert "CERTIFIED" in out.out
    assert out.err == ""
    model = fenchel.load("m")
    assert model.labels == (3, 7)
    assert model.index_base == 1
    problem = fenchel.Problem(X, np.where(TWO == 7, 1, -1), loss="hinge", alpha=0.1, fit_intercept=True)
    assert fenchel.certify(problem, model.coef, model.intercept, model.dual_points).holds(1e-6)
    assert run("verify", "m", "two") == 0
    assert "HOLDS" in capsys.readouterr().out
    assert run("predict", "m", "two", "-o", "p") == 0
    scores = X @ model.coef + model.intercept
    assert np.array_equal(np.loadtxt("p"), np.where(scores > 0, 7, 3))
    assert f"{int((np.where(scores > 0, 7, 3) == TWO).sum())} of 80" in capsys.readouterr().err


def test_more_labels_are_fitted_one_against_the_rest(files, capsys):
    assert train("--loss", "logistic", "--json", data="three") == 0
    outcome = json.loads(capsys.readouterr().out)
    assert [fit["status"] for fit in outcome["fits"]] == ["CERTIFIED"] * 3
    assert outcome["labels"] == [0, 1, 2]
    model = fenchel.load("m")
    assert model.index_base == 0
    for label in range(3):
        problem = fenchel.Problem(X, np.where(label == THREE, 1, -1), loss="logistic", alpha=0.1)
        assert fenchel.certify(problem, model.coef[label]).holds(1e-6)
    assert run("verify", "m", "three", "--json") == 0
    assert [fit["same_digest"] for fit in json.loads(capsys.readouterr().out)["fits"]] == [True] * 3
    assert run("predict", "m", "three", "--proba", "-o", "p") == 0
    assert np.allclose(np.loadtxt("p").sum(axis=1), 1.0)
    assert "columns: 0 1 2" in capsys.readouterr().err
    assert run("predict", "m", "three", "--scores", "--quiet") == 0
    out = capsys.readouterr()
    assert np.allclose(np.loadtxt(out.out.split("\n")), X @ model.coef.T)
    assert out.err == ""


def test_regression_with_the_parameters_of_the_loss(files, capsys):
    assert train("--loss", "quantile", "--tau", "0.9", "--intercept", data="real") == 0
    model = fenchel.load("m")
    assert model.loss == fenchel.losses.Quantile(0.9)
    assert model.labels is None
    capsys.readouterr()
    assert run("predict", "m", "real") == 0
    predicted = np.loadtxt(capsys.readouterr().out.split("\n"))
    assert np.array_equal(predicted, fenchel.load("m").scores(X)) or np.allclose(predicted, model.scores(X), rtol=1e-14)
    assert 0.8 <= np.mean(predicted + 1e-3 >= REAL) <= 1.0  # what a 0.9-quantile is


def test_the_same_problem_in_other_words(files):
    assert train("--loss", "huber", "--loss-param", "delta=0.5", "--penalty", "l2", data="real", alpha="0.05") == 0
    assert run("train", "real", "--model", "n", "-c", repr(1 / (0.05 * 80)), "--loss", "huber", "--delta", "0.5") == 0
    assert np.allclose(fenchel.load("m").coef, fenchel.load("n").coef, atol=1e-2)
    assert abs(fenchel.load("m").certificate.primal - fenchel.load("n").certificate.primal) < 1e-6
    assert train("--penalty", "elastic_net", "--penalty-param", "l1_ratio=0.25", "--smooth", "0.5") == 0
    model = fenchel.load("m")
    assert model.regularizer == fenchel.regularizers.ElasticNet(0.1, 0.25)
    assert model.loss == fenchel.losses.Moreau(fenchel.losses.Hinge(), 0.5)
    assert run("verify", "m", "two") == 0


def test_novelty_does_not_look_at_labels(files, capsys):
    assert train("--loss", "novelty", data="real") == 0
    first = fenchel.load("m").coef
    assert train("--loss", "novelty", data="two") == 0
    assert np.array_equal(first, fenchel.load("m").coef)
    assert run("verify", "m", "two") == 0
    capsys.readouterr()
    assert run("predict", "m", "two") == 0
    assert set(capsys.readouterr().out.split()) <= {"1", "-1"}


def test_limits_write_the_model_and_exit_3(files, capsys):
    assert train("--max-iter", "0") == 3
    assert "MAX_ITER" in capsys.readouterr().out
    assert fenchel.load("m").status is fenchel.Status.MAX_ITER
    assert run("verify", "m", "two") == 3
    assert "above the tolerance" in capsys.readouterr().out
    assert run("verify", "m", "two", "--tol", "1e9") == 0


def test_a_tolerance_below_rounding_is_told_from_a_gap(files, capsys):
    assert train("--loss", "logistic", "--tol", "1e-9") == 0
    capsys.readouterr()
    assert run("verify", "m", "two", "--tol", "1e-30", "--json") == 3
    fit = json.loads(capsys.readouterr().out)["fits"][0]
    rounding = abs(fit["primal"] - fit["dual"]) <= fenchel.load("m").certificate.floor
    assert run("verify", "m", "two", "--tol", "1e-30") == 3
    assert ("below the rounding floor" if rounding else "above the tolerance") in capsys.readouterr().out


def test_numbers_that_are_taken_for_labels_are_doubted_aloud(files, capsys):
    train_on = ["--max-iter", "0", "--model", "m", "-q"]
    assert run("train", "real", *train_on) == 3
    assert "80 different labels in 80 rows: is this regression? Then use --loss squared" in capsys.readouterr().err
    for words in (["two"], ["three"], ["real", "--loss", "squared"]):
        assert run("train", *words, *train_on) in (0, 3)
        assert "regression" not in capsys.readouterr().err


def test_threads_and_quiet_do_not_change_the_answer_and_no_dual_is_smaller(files):
    assert train("--threads", "1", "--quiet", model="a") == 0
    assert train("--threads", "2", model="b") == 0
    assert (files / "a").read_bytes() == (files / "b").read_bytes()
    assert train("--no-dual", model="c") == 0
    assert (files / "c").stat().st_size < (files / "a").stat().st_size
    assert run("verify", "c", "two") == 0


def test_max_time_is_shared_by_all_labels(files):
    began = time.perf_counter()
    code = train("--max-time", "0.5", "--tol", "1e-15", "--alpha", "1e-7", data="three")
    assert code in (0, 3)
    assert time.perf_counter() - began < 20.0  # compiling may be in it


def test_a_test_file_may_lack_the_last_columns(files):
    assert train() == 0
    write_svmlight("short", X[:, :4], TWO)
    assert run("predict", "m", "short", "--scores", "-o", "p") == 0
    padded = np.column_stack([X[:, :4], np.zeros(80)])
    assert np.allclose(np.loadtxt("p"), fenchel.load("m").scores(padded), rtol=1e-14)


# verify exposes what was changed


def test_edited_coefficients_with_a_good_checksum_are_exposed(files, capsys):
    assert train("--intercept", "--tol", "1e-3") == 0
    model = fenchel.load("m")
    edits = {
        "coef": replace(model, coef=model.coef * 1.01),
        "one coef": replace(model, coef=model.coef + np.array([0, 1e-7, 0, 0, 0])),
        "intercept": replace(model, intercept=model.intercept + 0.1),
        "dual": replace(model, dual_points=0.9 * model.dual_points),
        "labels": replace(model, labels=model.labels[::-1]),
        "primal": replace(model, certificates=(replace(model.certificate, primal=0.5 * model.certificate.primal),)),
        "dual value": replace(model, certificates=(replace(model.certificate, dual=model.certificate.primal),)),
        "floor": replace(model, coef=model.coef * 1.01, certificates=(replace(model.certificate, floor=1.0),)),
        "alpha": replace(model, regularizer=fenchel.regularizers.L2(0.05)),
    }
    for name, edited in edits.items():
        fenchel.save("edited", edited)
        for option in ([], ["--independent"]):
            assert run("verify", "edited", "two", *option) == 4, name
            assert "FAILS" in capsys.readouterr().out
    assert run("verify", "m", "two", "--independent") == 0
    assert "basis independent" in capsys.readouterr().out


def test_a_consistent_forgery_is_a_model_with_a_gap(files):
    """Who also repairs the stated certificate only states how bad the coefficients are."""
    assert train() == 0
    model = fenchel.load("m")
    coef = 1.5 * model.coef
    problem = fenchel.Problem(X, np.where(TWO == 7, 1, -1), alpha=0.1)
    stated = fenchel.certify(problem, coef, dual_point=model.dual_points)
    fenchel.save("m", replace(model, coef=coef, certificates=(stated,)))
    assert run("verify", "m", "two") == 3


def test_other_data_are_exposed(files, capsys):
    assert train() == 0
    changed = X.copy()
    changed[17, 2] += 1e-6
    write_svmlight("other", changed, TWO)
    run("verify", "m", "other")
    assert "DIFFERENT" in capsys.readouterr().out
    write_svmlight("fewer", X[:40], TWO[:40])
    assert run("verify", "m", "fewer") == 4
    write_svmlight("flipped", X, 10 - TWO)
    assert run("verify", "m", "flipped") == 4


def test_weights_and_offsets_cannot_be_verified_from_a_file(files, capsys):
    problem = fenchel.Problem(X, REAL, loss="squared", alpha=0.1, sample_weight=np.arange(1, 81))
    fenchel.save("m", fenchel.solve(problem))
    assert run("verify", "m", "real") == 1
    assert "sample weights" in capsys.readouterr().err


def test_sample_weights_of_a_fit_are_read_from_a_file(files, capsys):
    weights = np.arange(1, len(REAL) + 1) / 7.0
    fenchel.save("m", fenchel.solve(fenchel.Problem(X, REAL, loss="squared", alpha=0.1, sample_weight=weights)))
    (files / "weights").write_text("".join(f"{weight!r}\n" for weight in weights.tolist()))
    assert run("verify", "m", "real", "--weights", "weights") == 0
    (files / "others").write_text("1\n" * len(REAL))
    assert run("verify", "m", "real", "--weights", "others") == 4
    for text, message in {"1\nx\n": "line 2: expected a number", "1\n2\n": "sample_weight", "": "is empty"}.items():
        (files / "wrong").write_text(text)
        capsys.readouterr()
        assert run("verify", "m", "real", "--weights", "wrong") == 1
        assert message in capsys.readouterr().err
    assert run("verify", "m", "real", "--weights", "weights", "-w1", "2") == 1


# several scores in one problem, measures


QID = np.repeat(np.arange(16), 5)
GRADES = np.digitize(REAL, [0.0, 2.0])
JOINT = {
    "max_hinge": [], "softmax": ["--intercept"], "top_k": ["--k", 2], "usunier": ["--k", 1],
    "weighted_top_k": ["--rho", "0.75,0.25"], "weighted_usunier": ["--rho", "2,1"], "cost_hinge": ["--cost", "costs"],
    "hierarchical_hinge": ["--tree", "paths"], "hierarchical_softmax": ["--tree", "parents"],
}  # fmt: skip


@pytest.fixture
def more(files):
    write_svmlight("ranked", X, GRADES, qid=QID)
    write_svmlight("levels", X, np.digitize(REAL, [-2.0, 0.0, 2.0]) + 1)
    (files / "costs").write_text("# what it costs\n0 1 2\n1, 0, 3\n2 1 0\n")
    (files / "paths").write_text("a/x\na/y\nb\n")
    (files / "parents").write_text("-1 0 0\n1 1\n")
    return files


def test_weights_of_queries_are_read_from_a_file(more, capsys):
    weights = (1.0 + QID % 3) * (QID != 5)
    model = fenchel.Ranker("ndcg_pairs", alpha=0.1, tol=1e-6).fit(X, GRADES, qid=QID, query_weight=weights)
    model.save("m")
    assert run("verify", "m", "ranked") == 1
    assert "sample weights" in capsys.readouterr().err
    (more / "weights").write_text("".join(f"{weight}\n" for weight in weights.tolist()))
    assert run("verify", "m", "ranked", "--weights", "weights") == 0
    (more / "others").write_text("".join(f"{1.0 + QID[k] % 2}\n" for k in range(len(QID))))
    assert run("verify", "m", "ranked", "--weights", "others") == 4
    (more / "apart").write_text("".join(f"{1.0 + k}\n" for k in range(len(QID))))
    capsys.readouterr()
    assert run("verify", "m", "ranked", "--weights", "apart") == 1
    assert "all rows of a query must have the same weight" in capsys.readouterr().err


@pytest.mark.parametrize("loss", JOINT)
def test_several_scores_are_one_certified_problem(loss, more, capsys):
    assert train("--loss", loss, *JOINT[loss], data="three") == 0
    assert "one problem" in capsys.readouterr().out
    model = fenchel.load("m")
    assert model.labels == (0, 1, 2)
    assert len(model.certificates) == 1
    problem = fenchel.Problem(X, THREE, model.loss, alpha=0.1, fit_intercept=loss == "softmax")
    found = fenchel.certify(problem, model.coef, model.intercept, model.dual_points)
    assert found.holds(1e-6)
    assert found.primal == pytest.approx(model.certificate.primal, rel=1e-12)
    assert run("verify", "m", "three", "--json") == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["holds"]
    assert [fit["same_digest"] for fit in outcome["fits"]] == [True]
    assert run("predict", "m", "three", "-o", "p") == 0
    assert np.array_equal(np.loadtxt("p"), model.predict(X))
    assert (model.predict(X) == THREE).mean() > 0.5
    assert run("predict", "m", "three", "--scores", "-o", "s") == 0
    assert np.array_equal(np.loadtxt("s").argmax(axis=1), model.predict(X))
    assert "columns: 0 1 2" in capsys.readouterr().err
    assert run("predict", "m", "three", "--proba", "-o", "q") == (0 if "softmax" in loss else 1)
    if "softmax" in loss:
        np.testing.assert_allclose(np.loadtxt("q").sum(axis=1), 1.0)


@pytest.mark.parametrize("words", [["--loss", "top_k", "--k", "2"], ["--loss", "hinge", "--intercept"],
                                   ["--loss", "hierarchical_softmax", "--tree", "parents"]])  # fmt: skip
def test_the_best_labels_of_every_row(words, more, capsys):
    assert train(*words, data="three") == 0
    model = fenchel.load("m")
    capsys.readouterr()
    assert run("predict", "m", "three", "--top-k", "2", "-o", "p") == 0
    found, scores = np.loadtxt("p", dtype=int), model.label_scores(X)
    assert found.shape == (80, 2)
    assert np.array_equal(found[:, 0], model.predict(X))
    left_out = 3 - found.sum(axis=1)  # of the labels 0, 1, 2
    rows = np.arange(80)
    assert (scores[rows, found[:, 0]] >= scores[rows, found[:, 1]]).all()
    assert (scores[rows, found[:, 1]] >= scores[rows, left_out]).all()
    right = int((found == THREE[:, None]).any(axis=1).sum())
    assert f"{right} of 80 rows have the label given in the file among the 2 printed" in capsys.readouterr().err


def test_the_best_of_two_labels_and_of_too_many(more, capsys):
    assert train("--loss", "logistic") == 0
    model = fenchel.load("m")
    capsys.readouterr()
    assert run("predict", "m", "two", "--top-k", "2", "--quiet") == 0
    out = capsys.readouterr()
    found = np.loadtxt(out.out.split("\n"), dtype=int)
    assert np.array_equal(found[:, 0], model.predict(X))
    assert (found.sum(axis=1) == 3 + 7).all()
    assert out.err == ""
    for k in (0, 3, -1):
        assert run("predict", "m", "two", "--top-k", k) == 1
        assert f"--top-k must be from 1 to 2, the number of labels, got {k}" in one_line(capsys)


@pytest.mark.parametrize(
    ("words", "data", "message"),
    [
        (["--loss", "squared"], "real", "a model with the loss Squared has no labels"),
        (["--loss", "novelty"], "real", "a model with the loss Novelty has no labels"),
        (["--measure", "ndcg"], "ranked", "a model with the loss NDCG has no labels"),
        (["--measure", "f1"], "two", "needs a score for every label"),
        (["--measure", "ordinal"], "levels", "needs a score for every label"),
    ],
)
def test_models_without_a_score_for_every_label_have_no_best_ones(words, data, message, more, capsys):
    assert train(*words, data=data) == 0
    capsys.readouterr()
    assert run("predict", "m", "no such file", "--top-k", "1") == 1  # said before the data are read
    assert message in one_line(capsys)


def test_parameters_reach_the_loss(more, capsys):
    assert train("--loss", "top_k", "--k", 2, "--smooth", "0.5", data="three") == 0
    assert fenchel.load("m").loss == fenchel.multiclass.MoreauVector(fenchel.multiclass.TopK(2), 0.5)
    assert train("--loss", "cost_hinge", "--cost", "costs", "--beta", "1", data="three") == 0
    assert fenchel.load("m").loss == fenchel.multiclass.CostHinge([[0, 1, 2], [1, 0, 3], [2, 1, 0]], beta=1.0)
    assert run("train", "two", "--loss", "max_hinge", "-c", "2", "--model", "a") == 0
    assert fenchel.load("a").regularizer.alpha == 1 / 160
    assert fenchel.load("a").coef.shape == (2, 5)  # two labels: the file's own names
    assert fenchel.load("a").labels == (3, 7)


def test_max_hinge_from_the_command_line_is_that_of_the_estimator(more):
    assert train("--loss", "max_hinge", "--no-dual", data="three") == 0
    model = fenchel.Classifier("max_hinge", alpha=0.1).fit(X, THREE)
    assert fenchel.load("m").certificate.primal == pytest.approx(model.objective_, rel=1e-6)
    assert run("verify", "m", "three") in (0, 3)  # a dual point built from the coefficients may be a little worse


@pytest.mark.parametrize(
    ("words", "measure"),
    [
        (["roc_area"], fenchel.measures.ROCArea()),
        (["f_beta", "--beta", "2"], fenchel.measures.FBeta(2.0)),
        (["f1"], fenchel.measures.FBeta()),
        (["precision_at_k", "--k", "30"], fenchel.measures.PrecisionAtK(30)),
        (["break_even"], fenchel.measures.BreakEven()),
    ],
)
def test_measures_of_two_labels(words, measure, files, capsys):
    assert train("--measure", *words) == 0
    model = fenchel.load("m")
    assert (model.loss, model.labels) == (measure, (3, 7))
    expected = fenchel.MeasureClassifier(measure, alpha=0.1).fit(X, TWO)
    assert model.certificate.primal == pytest.approx(expected.objective_, rel=1e-6)
    assert run("verify", "m", "two") == 0
    assert "HOLDS" in capsys.readouterr().out
    assert run("predict", "m", "two", "-o", "p") == 0
    assert "of 80 rows have the label" in capsys.readouterr().err
    assert (np.loadtxt("p") == expected.predict(X)).mean() > 0.97


def test_ordered_labels(more, capsys):
    (more / "four").write_text("0 1 2 3\n1 0 1 2\n2 1 0 1\n3 2 1 0\n")
    for words in ([], ["--cost", "four"]):
        assert train("--measure", "ordinal", *words, data="levels") == 0
        model = fenchel.load("m")
        assert (model.labels, len(model.thresholds)) == ((1, 2, 3, 4), 3)
        assert run("verify", "m", "levels") == 0
        assert run("predict", "m", "levels", "-o", "p") == 0
        assert np.abs(np.loadtxt("p") - np.digitize(REAL, [-2.0, 0.0, 2.0]) - 1).mean() < 0.3


@pytest.mark.parametrize(
    ("words", "measure"),
    [
        (["ndcg"], fenchel.measures.NDCG()),
        (["ndcg", "--k", "3"], fenchel.measures.NDCG(3)),
        (["mrr"], fenchel.measures.MRR()),
        (["winner_takes_all"], fenchel.measures.WinnerTakesAll()),
        (["precision_at_k", "--k", "2"], fenchel.measures.PrecisionAtK(2)),
        (["roc_area"], fenchel.measures.ROCArea()),
        (["eru", "--loss-param", "neutral=0.5", "--loss-param", "half_life=3"], fenchel.measures.ERU(0.5, 3.0)),
    ],
)
def test_rankings_by_query(words, measure, more, capsys):
    assert train("--measure", *words, data="ranked") == 0
    model = fenchel.load("m")
    assert (model.loss, model.labels) == (measure, None)
    expected = fenchel.Ranker(measure, alpha=0.1, tol=1e-6).fit(X, GRADES, qid=QID)
    assert model.certificate.primal == pytest.approx(expected.objective_, rel=1e-5)
    capsys.readouterr()
    assert run("verify", "m", "ranked", "--json") == 0
    assert json.loads(capsys.readouterr().out)["holds"]
    assert run("predict", "m", "ranked", "-o", "p", "--quiet") == 0
    np.testing.assert_allclose(np.loadtxt("p"), X @ model.coef, rtol=1e-12, atol=1e-14)
    assert run("predict", "m", "real", "-o", "q") == 0  # scores need no query ids
    assert np.array_equal(np.loadtxt("p"), np.loadtxt("q"))
    assert run("verify", "m", "real") == 1  # the certificate does
    assert "query id" in one_line(capsys)


def test_an_edited_measure_is_exposed(more, capsys):
    assert train("--measure", "ndcg", data="ranked") == 0
    model = fenchel.load("m")
    fenchel.save("m", replace(model, coef=model.coef * 1.01))
    assert run("verify", "m", "ranked") == 4


# every way of failing


FAILURES = {
    "no data": (["train", "nothing", "--model", "m"], "nothing: No such file"),
    "folder as data": (["train", ".", "--model", "m"], ". holds no rows: it has no manifest"),
    "malformed": (["train", "bad", "--model", "m"], "bad:2:3: bad entry"),
    "empty": (["train", "empty", "--model", "m"], "no row"),
    "one label": (["train", "ones", "--model", "m"], "only one label"),
    "unknown loss": (["train", "two", "--model", "m", "--loss", "hing"], "Did you mean 'hinge'"),
    "moreau": (["train", "two", "--model", "m", "--loss", "moreau"], "--smooth"),
    "unknown penalty": (["train", "two", "--model", "m", "--penalty", "l3"], "unknown penalty 'l3'"),
    "unknown solver": (["train", "two", "--model", "m", "--solver", "magic"], "unknown solver 'magic'"),
    "misfit": (["train", "two", "--model", "m", "--solver", "lbfgs"], "LBFGS cannot solve"),
    "alpha": (["train", "two", "--model", "m", "--alpha", "-1"], "alpha"),
    "cost": (["train", "two", "--model", "m", "-c", "0"], "-c must be"),
    "tol": (["train", "two", "--model", "m", "--tol", "0"], "tol must be"),
    "threads": (["train", "two", "--model", "m", "--threads", "0"], "threads must be"),
    "parameter of another loss": (["train", "two", "--model", "m", "--tau", "0.5"], "no parameter 'tau'; it has"),
    "bad parameter": (["train", "two", "--model", "m", "--loss", "quantile", "--tau", "2"], "tau must be"),
    "parameter twice": (["train", "two", "--model", "m", "--margin", "1", "--loss-param", "margin=0"], "twice"),
    "no number": (["train", "two", "--model", "m", "--loss-param", "margin"], "expected name=number"),
    "penalty lacks": (["train", "two", "--model", "m", "--penalty", "q_norm"], "--penalty-param q="),
    "matrix": (["train", "two", "--model", "m", "--penalty", "quadratic"], "matrix K"),
    "negative counts": (["train", "real", "--model", "m", "--loss", "poisson"], "at least 0"),
    "no folder": (["train", "two", "--model", "no/m"], "'no'"),
    "folder as model": (["train", "two", "--model", "."], "plain file"),
    "index base": (["train", "three", "--model", "m", "--index-base", "1"], "three:1:"),
    "too few features": (["train", "two", "--model", "m", "--n-features", "2"], "n_features"),
    "no model": (["predict", "nothing", "two"], "nothing: No such file"),
    "data as model": (["predict", "two", "two"], "cannot be read as a model"),
    "verify no model": (["verify", "nothing", "two"], "nothing: No such file"),
    "verify data as model": (["verify", "two", "two"], "cannot be read as a model"),
    "loss by name": (["losses", "hing"], "Did you mean 'hinge'"),
    "k of too many": (["train", "three", "--model", "m", "--loss", "top_k", "--k", "3"], "less than the number of classes"),
    "no k": (["train", "three", "--model", "m", "--loss", "top_k"], "loss top_k needs --k"),
    "no cost": (["train", "three", "--model", "m", "--loss", "cost_hinge"], "needs --cost"),
    "k of another loss": (["train", "three", "--model", "m", "--loss", "softmax", "--k", "3"], "has no parameter 'k'"),
    "rho": (["train", "three", "--model", "m", "--loss", "weighted_usunier", "--rho", "1,x"], "separated by commas"),
    "rising rho": (["train", "three", "--model", "m", "--loss", "weighted_usunier", "--rho", "1,2"], "must not increase"),
    "no cost file": (["train", "three", "--model", "m", "--loss", "cost_hinge", "--cost", "gone"], "gone: No such file"),
    "ragged costs": (["train", "three", "--model", "m", "--loss", "cost_hinge", "--cost", "bad"], "bad"),
    "small costs": (["train", "three", "--model", "m", "--loss", "cost_hinge", "--cost", "costs2"], "for 2 labels"),
    "intercept": (
        ["train", "three", "--model", "m", "--loss", "hierarchical_softmax", "--tree", "tree", "--intercept"],
        "free intercepts",
    ),
    "unknown measure": (["train", "two", "--model", "m", "--measure", "roc"], "unknown measure 'roc'"),
    "measure without k": (["train", "two", "--model", "m", "--measure", "recall_at_k"], "needs --k"),
    "measure without more": (["train", "two", "--model", "m", "--measure", "eru"], "needs --loss-param neutral="),
    "smoothed measure": (["train", "two", "--model", "m", "--measure", "f1", "--smooth", "1"], "no Moreau envelope"),
    "no qid": (["train", "two", "--model", "m", "--measure", "ndcg"], "no query id"),
    "three labels": (["train", "three", "--model", "m", "--measure", "f1"], "needs two labels"),
    "measure of one label": (["train", "ones", "--model", "m", "--measure", "f1"], "only one label"),
    "several targets": (["train", "two", "--model", "m", "--loss", "multivariate_squared"], "several targets per row"),
    "leaves": (["train", "two", "--model", "m", "--loss", "hierarchical_softmax", "--tree", "tree"], "leaves 0 to 2"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILURES)
def test_failures_are_one_line_and_exit_1(case, files, capsys):
    (files / "bad").write_text("1 1:2\n1 x\n")
    (files / "empty").write_text("# nothing\n")
    (files / "ones").write_text("1 1:2\n1 1:3\n")
    (files / "costs2").write_text("0 1\n1 0\n")
    (files / "tree").write_text("a/x\na/y\nb\n")
    words, message = FAILURES[case]
    assert run(*words) == 1
    assert message in one_line(capsys)
    assert not (files / "m").exists()


def test_failures_with_a_model(files, capsys):
    assert train() == 0
    capsys.readouterr()
    write_svmlight("wide", np.ones((2, 9)), [3, 7])
    assert run("verify", "m", "wide") == 1  # other data than the model's; predict ignores the others, as liblinear does
    message = one_line(capsys)
    assert "9 features" in message
    assert "was fitted with 5" in message
    assert run("predict", "m", "two", "--proba") == 1
    assert "no probabilities" in one_line(capsys)
    assert run("predict", "m", "two", "-o", "/dev/null") == 1
    assert "plain file" in one_line(capsys)
    assert run("verify", "m", "two", "--tol", "nan") == 1
    assert "--tol" in one_line(capsys)
    write_svmlight("strange", X, np.where(TWO == 7, 7, 4))
    assert run("verify", "m", "strange") == 1
    assert "label 4" in one_line(capsys)
    whole = (files / "m").read_bytes()
    (files / "m").write_bytes(whole[:-1])
    assert run("predict", "m", "two") == 1
    assert "damaged" in one_line(capsys)


def test_too_many_labels_suggest_regression(files, capsys):
    write_svmlight("many", np.ones((1500, 1)), np.arange(1500))
    assert run("train", "many", "--model", "m") == 1
    assert "regression" in one_line(capsys)


def test_a_failed_training_leaves_the_old_model(files):
    assert train() == 0
    old = (files / "m").read_bytes()
    assert train("--solver", "lbfgs") == 1
    assert (files / "m").read_bytes() == old


def test_unexpected_errors_are_one_line_too_and_debug_shows_where(files, capsys, monkeypatch):
    monkeypatch.setattr("fenchel.cli.train.read", lambda *a: 1 / 0)
    assert train() == 1
    assert "ZeroDivisionError" in one_line(capsys)
    monkeypatch.setenv("FENCHEL_DEBUG", "1")
    assert train() == 1
    assert "Traceback" in capsys.readouterr().err


# what reaches the terminal


def test_control_characters_do_not_reach_the_terminal(files, capsys):
    evil = "x\x1b[31m\x07\u202e"
    (files / evil).write_text("1 1:2\n\x1b[2Jq\n")
    words = [
        ["train", evil, "--model", "m"],
        ["train", evil + "y", "--model", "m"],
        ["losses", evil],
        ["predict", evil, evil],
    ]
    words += [["train", "two", "--model", "m", "--loss", evil], ["train", "two", "--model", "m", f"--{evil}"], [evil]]
    words += [
        ["train", "two", "--model", evil, "--alpha", "0.1"],
        ["train", "two", "--model", "m", "--loss-param", evil],
    ]
    for line in words:
        run(*line)
        out = capsys.readouterr()
        assert not {c for c in out.out + out.err if not c.isprintable() and c != "\n"}, line
    fenchel.save("m", replace(fenchel.load(evil), labels=("a", evil + "\n1")))
    assert run("predict", "m", "two") == 0
    lines = capsys.readouterr().out.split("\n")
    assert len(lines) == 81
    assert all(c.isprintable() for line in lines for c in line)


def test_undecodable_names_are_shown(files, capsys):
    assert run("train", os.fsdecode(b"\xff\xfe"), "--model", "m") == 1
    assert "udcff" in one_line(capsys)
    assert clean("ü ok") == "ü ok"


def test_losses_prints_every_loss_and_penalty_with_its_formula(capsys):
    assert run("losses") == 0
    table = capsys.readouterr().out
    for name, kind in fenchel.losses.LOSSES.items():
        assert name in table
        assert kind.__doc__.split("\n")[0] in table
    for name, kind in fenchel.regularizers.REGULARIZERS.items():
        assert name in table
        assert kind.formula in table
        assert run("losses", name) == 0
    for name in fenchel.losses.LOSSES:
        assert run("losses", name) == 0
    for name, kind in {**fenchel.multiclass.LOSSES, **fenchel.measures.MEASURES}.items():
        assert f"  {name}" in table
        assert inspect.getdoc(kind).split("\n")[0] in table
        capsys.readouterr()
        assert run("losses", name) == 0
        assert capsys.readouterr().out.startswith(name)


def test_the_progress_line_shows_primal_dual_gap_and_time_on_a_terminal_only(files):
    progress = Progress(1e-6, quiet=False)
    problem = fenchel.Problem(X, REAL, loss="squared", alpha=0.1)
    fenchel.solve(problem, callback=progress)
    assert all(word in progress.text() for word in ("primal", "dual", "gap", " s"))
    leader, follower = pty.openpty()
    words = [sys.executable, "-m", "fenchel", "train", "real", "--loss", "squared", "--model", "m", "--alpha", "0.1"]
    run = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=follower, timeout=120, env=os.environ | {"TERM": "xterm"}
    )
    os.close(follower)
    shown = os.read(leader, 100_000).decode()
    os.close(leader)
    assert run.returncode == 0
    assert " s" in shown
    assert b"\x1b" not in run.stdout


# as a process


def test_pipes_and_full_disks(files):
    assert command("train", "-", "--model", "m", "--alpha", "0.1", input=(files / "two").read_text()).returncode == 0
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "fenchel", "predict", "m", "two"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert run.returncode == 1
    assert "No space left" in run.stderr
    assert "Traceback" not in run.stderr
    write_svmlight("long", np.tile(X, (300, 1)), np.tile(TWO, 300))
    line = f"{sys.executable} -m fenchel predict m long | head -1; echo ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert run.stdout.split()[-1] in ("141", "0")
    assert "Traceback" not in run.stderr


SLOW = """
import sys, time
from fenchel.cli import main, progress
def slowly(self, state):
    if state.iteration == 5:
        print("solving", flush=True, file=sys.stderr)
    time.sleep(0.05)
progress.Progress.__call__ = slowly
sys.exit(main(sys.argv[1:]))
"""


def test_ctrl_c_writes_the_best_iterate_certified_and_exits_130(files):
    words = ["train", "two", "--model", "m", "--tol", "1e-15", "--alpha", "0.1", "--solver", "dual_ascent"]
    with subprocess.Popen([sys.executable, "-c", SLOW, *words], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "solving\n"
        began = time.perf_counter()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert time.perf_counter() - began < 3.0
        assert process.stderr.read() == ""
    assert fenchel.load("m").status is fenchel.Status.INTERRUPTED
    assert run("verify", "m", "two", "--tol", "1e9") == 0
    assert run("verify", "m", "two") == 3


def test_ctrl_c_before_the_first_iterate_is_one_line(files, monkeypatch, capsys):
    def interrupted(*words):
        raise KeyboardInterrupt

    monkeypatch.setattr("fenchel.cli.train.read", interrupted)
    assert train() == 130
    assert "interrupted" in one_line(capsys)


@pytest.mark.parametrize("raised", [False, True], ids=["inside a solve", "between two solves"])
def test_ctrl_c_with_several_labels_still_gives_a_whole_model(raised, files, monkeypatch):
    original, calls = fenchel.solve, []

    def interrupted_at_the_second(problem, solver, tol, max_iter, *rest, **options):
        calls.append(max_iter)
        if len(calls) == 2 and raised:
            raise KeyboardInterrupt
        result = original(problem, solver, tol, 0 if len(calls) == 2 else max_iter, *rest, **options)
        return replace(result, status=fenchel.Status.INTERRUPTED) if len(calls) == 2 else result

    monkeypatch.setattr(sys.modules["fenchel.solving.solve"], "solve", interrupted_at_the_second)
    assert train(data="three") == 130
    model = fenchel.load("m")
    assert [status.name for status in model.statuses] == ["CERTIFIED", "INTERRUPTED", "INTERRUPTED"]
    assert run("verify", "m", "three", "--tol", "1e9") == 0
