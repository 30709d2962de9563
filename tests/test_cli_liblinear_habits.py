"""What hands used to liblinear type: -R, -M, -C, predict -b 1, predict TEST MODEL OUT, features that the model has not seen."""

from __future__ import annotations

import numpy as np
import pytest

import fenchel
from cli_case import TWO, X, run
from fenchel.readers.svmlight.write import write_svmlight


@pytest.fixture
def model(files, capsys):
    assert run("train", "two", "-s", "0", "--model", "m", "-q") == 0
    capsys.readouterr()
    return fenchel.load("m")


def test_b_1_gives_probabilities(model, files, capsys):
    for words in (["-b", "1"], ["--proba"]):
        assert run("predict", "m", "two", *words, "-q") == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[:60] == lines[60:]
    np.testing.assert_allclose([list(map(float, line.split())) for line in lines[:60]], model.probabilities(X))
    assert err == ""
    assert run("predict", "m", "two", "-b", "0", "-q") == 0
    assert len(capsys.readouterr().out.splitlines()[0].split()) == 1
    assert run("predict", "m", "two", "-b", "2") == 2


def test_three_files_are_test_model_out_or_model_data_out(model, files, capsys):
    assert run("predict", "two", "m", "ours", "-q") == 0
    assert run("predict", "m", "two", "theirs", "-q") == 0
    assert capsys.readouterr() == ("", "")
    expected = "".join(f"{label}\n" for label in model.predict(X).tolist())
    assert (files / "ours").read_text() == (files / "theirs").read_text() == expected
    assert run("predict", "two", "m", "ours", "-o", "again") == 1
    assert "named twice" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_features_that_are_not_in_the_model_are_ignored_with_a_word(model, command, files, capsys):
    write_svmlight("wide", np.column_stack([X, np.ones((60, 4))]), TWO)
    assert run(command, "m", "wide") == 0
    wide = capsys.readouterr()
    assert "wide has 8 features; those above 4 are not in the model and are ignored" in wide.err
    assert run(command, "m", "two") == 0
    assert capsys.readouterr().out == wide.out.replace("wide", "two")


def test_predict_quietly_says_nothing_about_more_features(model, files, capsys):
    write_svmlight("wide", np.column_stack([X, np.ones((60, 4))]), TWO)
    assert run("predict", "m", "wide", "-q", "-o", "out") == 0
    assert capsys.readouterr() == ("", "")


def test_r_with_b_1_is_a_free_intercept(files, capsys):
    assert run("train", "two", "-s", "0", "-B", "1", "-R", "--model", "ours", "-q") == 0
    assert run("train", "two", "-s", "0", "--intercept", "--model", "theirs", "-q") == 0
    ours, theirs = fenchel.load("ours"), fenchel.load("theirs")
    assert ours.intercept == theirs.intercept != 0.0
    assert ours.coef.tobytes() == theirs.coef.tobytes()
    util = pytest.importorskip("liblinear.liblinearutil")
    rows = [dict(enumerate(map(float, row), 1)) for row in X]
    answer = util.train(list(map(float, TWO)), rows, "-s 0 -B 1 -R -e 1e-10 -q")
    sign = 1.0 if answer.get_labels()[0] == max(TWO) else -1.0
    np.testing.assert_allclose(sign * np.array(answer.w[:5]), [*np.ravel(ours.coef), ours.intercept], atol=1e-4)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-R"], "-R needs -B 1"),
        (["-R", "-B", "2"], "-R needs -B 1"),
        (["-M", "1"], "one problem per pair"),
        (["-C"], "fenchel path"),
    ],
)
def test_what_has_no_equivalent_says_what_to_use(words, says, files, capsys):
    assert run("train", "two", "-s", "0", "--model", "m", *words) == 2
    assert says in capsys.readouterr().err
    assert not (files / "m").exists()


def test_m_0_is_what_is_done(files):
    assert run("train", "three", "-s", "0", "-M", "0", "--model", "ours", "-q") == 0
    assert run("train", "three", "-s", "0", "--model", "theirs", "-q") == 0
    assert fenchel.load("ours").coef.tobytes() == fenchel.load("theirs").coef.tobytes()
