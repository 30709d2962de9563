"""Column files at the terminal: train, predict and verify chains."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys

import numpy as np
import pytest

import fenchel
from cli_case import one_line, run
from fenchel import SequenceLabeler
from fenchel.readers.columns import read_columns
from fenchel.sequences.metrics import chunk_scores, token_error
from fenchel.sequences.templates import Templates, default_templates

WORDS = {"DT": ["the", "a"], "NN": ["dog", "cat", "café", "no\u00a0break"], "VB": ["barks", "sleeps", "sees"]}
CHUNKS = {"DT": "B-NP", "NN": "I-NP", "VB": "B-VP"}
PATTERNS = [["DT", "NN", "VB"], ["DT", "NN", "VB", "DT", "NN"], ["NN", "VB"], ["VB"]]


def sentences(seed: int, count: int) -> list[list[list[str]]]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        tags = PATTERNS[rng.integers(len(PATTERNS))]
        before = ["", *tags]
        rows = [[str(rng.choice(WORDS[tag])), tag, CHUNKS[tag]] for tag in tags]
        for row, previous in zip(rows, before, strict=False):
            if row[2] == "I-NP" and previous != "DT":
                row[2] = "B-NP"
            if rng.random() < 0.05:
                row[2] = "O"
        found.append(rows)
    return found


def text(rows: list[list[list[str]]], columns=(0, 1, 2)) -> str:
    return "".join("".join(" ".join(row[c] for c in columns) + "\n" for row in part) + "\n" for part in rows)


TRAIN, TEST = sentences(0, 25), sentences(1, 10)
TEMPLATE = "# words\nU0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\n\nB\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").write_text(text(TRAIN), encoding="utf-8")
    (tmp_path / "test").write_text(text(TEST), encoding="utf-8")
    (tmp_path / "bare").write_text(text(TEST, (0, 1)), encoding="utf-8")
    (tmp_path / "turned").write_text(text(TRAIN, (2, 0, 1)), encoding="utf-8")
    (tmp_path / "template").write_text(TEMPLATE)
    return tmp_path


def train(*words, data="train", model="m", alpha="0.05") -> int:
    return run("train", data, "--columns", "--model", model, "--alpha", alpha, *words)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--loss", "log"], {"loss": "log"}),
        ([], {"loss": "hinge"}),
        (["--beta", "1", "--no-bias"], {"rescaling": "slack", "bias": False}),
        (
            ["--loss", "log", "--observed-only", "--no-ends", "--min-count", "2", "--template", "template"],
            {"loss": "log", "observed_only": True, "ends": False, "min_count": 2},
        ),
        (["--loss", "log", "--penalty", "elastic_net", "--penalty-param", "l1_ratio=0.25"],
         {"loss": "log", "regularizer": "elastic_net", "l1_ratio": 0.25}),
    ],
)  # fmt: skip
def test_train_predict_and_verify_are_those_of_the_estimator(words, options, files, capsys):
    assert train(*words) == 0
    out = capsys.readouterr().out
    assert "status   CERTIFIED" in out
    assert f"{len(TRAIN)} sequences, {sum(map(len, TRAIN))} tokens" in out
    templates = Templates.parse(TEMPLATE) if "template" in words else default_templates(2)
    X, y = [templates.apply(rows) for rows in TRAIN], [[row[2] for row in rows] for rows in TRAIN]
    estimator = SequenceLabeler(alpha=0.05, tol=1e-3, **options).fit(X, y)
    model = fenchel.load("m")
    assert np.array_equal(model.coef, estimator.coef_)
    assert model.certificate == estimator.certificate_

    assert run("predict", "m", "test", "-o", "out") == 0
    notes = capsys.readouterr().err.splitlines()
    predicted = estimator.predict([templates.apply(rows) for rows in TEST])
    written = read_columns("out")
    assert [[row[:3] for row in rows] for rows in written.sentences] == TEST
    assert written.labels == predicted
    gold = [[row[2] for row in rows] for rows in TEST]
    assert f"({1 - token_error(gold, predicted):.4%})" in notes[0]
    assert f"F1 {chunk_scores(gold, predicted).f1:.4%}" in notes[1]

    assert run("verify", "m", "train") == 0
    out = capsys.readouterr().out
    assert "data and problem are those of the model" in out
    assert "for the stored dual point" in out
    assert out.endswith("HOLDS    the coefficients are within the stated gap of the optimum\n")


def test_predicting_needs_no_labels_and_writes_probabilities(files, capsys, monkeypatch):
    train("--loss", "log")
    capsys.readouterr()
    run("predict", "m", "test", "--quiet")
    with_labels = capsys.readouterr()
    assert with_labels.err == ""
    assert run("predict", "m", "bare") == 0
    without = capsys.readouterr()
    assert without.err == ""
    drop = [" ".join(line.split(" ")[:2] + line.split(" ")[3:]) for line in with_labels.out.split("\n")]
    assert without.out.split("\n") == drop
    assert run("predict", "m", "bare", "--proba") == 0
    shown = capsys.readouterr()
    model = fenchel.load("m")
    assert shown.err == f"fenchel: columns after those of the file: {' '.join(model.labels)}\n"
    rows = [line.split(" ") for line in shown.out.split("\n") if line]
    P = np.array([[float(p) for p in row[2:]] for row in rows])
    assert P.shape == (sum(map(len, TEST)), len(model.labels))
    assert np.allclose(P.sum(axis=1), 1.0)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(text(TEST, (0, 1)).encode()))))
    assert run("predict", "m", "-") == 0
    assert capsys.readouterr().out == without.out


def test_predictions_as_json(files, capsys):
    train("--loss", "log")
    model = fenchel.load("m")
    capsys.readouterr()
    assert run("predict", "m", "bare", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["labels"], found["columns"]) == (list(model.labels), None)
    (files / "lines").write_text(text(TEST, (0, 1, 2)), encoding="utf-8")
    examples = model.attributes_of(read_columns("lines").sentences)
    assert found["predictions"] == model.predict(examples)
    assert run("predict", "m", "bare", "--json", "--proba", "--quiet") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"] == list(model.labels)
    assert [np.array(p).shape for p in found["predictions"]] == [(len(rows), len(model.labels)) for rows in TEST]


def test_labels_in_another_column(files, capsys):
    (files / "t").write_text("U0:%x[0,1]\nU1:%x[-1,2]/%x[0,2]\nB01:%x[0,2]\nB\n")
    assert train("--label-column", "0", "--template", "t", "--loss", "log", data="turned") == 0
    assert fenchel.load("m").columns == (3, 0)
    assert fenchel.load("m").loss.edge_features
    assert run("verify", "m", "turned") == 0
    capsys.readouterr()
    assert run("predict", "m", "bare", "--quiet") == 0
    bare = capsys.readouterr().out
    (files / "turned_test").write_text(text(TEST, (2, 0, 1)), encoding="utf-8")
    assert run("predict", "m", "turned_test", "--quiet") == 0
    whole = capsys.readouterr().out
    assert [line.split(" ")[-1] for line in whole.split("\n")] == [line.split(" ")[-1] for line in bare.split("\n")]


def test_limits_json_and_files_without_a_dual_point(files, capsys):
    assert train("--loss", "log", "--max-iter", "1", "--tol", "1e-9", "--json") == 3
    outcome = json.loads(capsys.readouterr().out)
    assert (outcome["status"], outcome["tol"], outcome["n"]) == ("MAX_ITER", 1e-9, len(TRAIN))
    assert outcome["labels"] == sorted({row[2] for rows in TRAIN for row in rows})
    assert run("verify", "m", "train") == 3
    assert "FAILS    the gap is above the tolerance" in capsys.readouterr().out
    assert run("verify", "m", "train", "--tol", "10") == 0
    assert train("--loss", "log", "--no-dual", model="small") == 0
    assert fenchel.load("small").dual_point is None
    capsys.readouterr()
    assert run("verify", "small", "train", "--json") == 0
    assert json.loads(capsys.readouterr().out)["fits"][0]["same_digest"]


def test_strength_and_threads_mean_what_they_mean_elsewhere(files):
    assert train("--loss", "log", "--threads", "1") == 0
    assert run("train", "train", "--columns", "--loss", "log", "-c", 1 / (0.05 * len(TRAIN)), "--model", "c") == 0
    assert np.allclose(fenchel.load("c").coef, fenchel.load("m").coef)
    assert fenchel.load("m").tol == 1e-3


@pytest.mark.parametrize("words", [["--loss", "log", "--observed-only"], ["--loss", "log"], []])
def test_other_data_and_edited_coefficients_are_exposed(words, files, capsys):
    from dataclasses import replace

    train(*words)
    assert run("verify", "m", "test") == 4
    assert "DIFFERENT" in capsys.readouterr().out
    model = fenchel.load("m")
    coef = model.coef.copy()
    coef[np.argmax(np.abs(coef))] *= 1.01
    fenchel.save("edited", replace(model, coef=coef))
    assert run("verify", "edited", "train") == 4
    if model.places is not None:  # a weight that the problem does not have
        free = np.setdiff1d(np.arange(model.full_coef.size), model.places)[0]
        places = np.append(model.places, free)
        order = np.argsort(places)
        more = np.append(model.coef, 1.0)[order]
        fenchel.save("edited", replace(model, coef=more, places=places[order], dual_point=None))
        assert run("verify", "edited", "train") == 4


FAILURES = {
    "no such file": (["train", "none", "--columns", "--model", "x"], "none: No such file"),
    "ragged": (["train", "ragged", "--columns", "--model", "x"], "ragged:2: 1 column"),
    "empty": (["train", "empty", "--columns", "--model", "x"], "no tokens"),
    "one label": (["train", "train", "--columns", "--model", "x", "--label-column", "7"], "label_column is 7"),
    "same label": (["train", "same", "--columns", "--model", "x"], "has only one label (O)"),
    "label not last": (["train", "turned", "--columns", "--model", "x", "--label-column", "0"], "use --template to say"),
    "unknown loss": (["train", "train", "--columns", "--model", "x", "--loss", "logistic"], "logistic"),
    "a measure": (["train", "train", "--columns", "--model", "x", "--measure", "f1"], "--measure cannot be used with"),
    "an intercept": (["train", "train", "--columns", "--model", "x", "--intercept"], "--intercept cannot be used with"),
    "bounds": (["train", "train", "--columns", "--model", "x", "--lower", "0"], "--lower cannot be used with"),
    "standardize": (["train", "train", "--columns", "--model", "x", "--standardize"], "--standardize cannot be used with"),
    "penalty weight": (["train", "train", "--columns", "--model", "x", "--penalty-weight", "a=0"], "--penalty-weight cannot"),
    "index base": (["train", "train", "--columns", "--model", "x", "--index-base", "1"], "--index-base cannot"),
    "rescaled log": (["train", "train", "--columns", "--model", "x", "--loss", "log", "--beta", "1"], "beta must be 0"),
    "min count": (["train", "train", "--columns", "--model", "x", "--min-count", "0"], "--min-count must be at least 1"),
    "too rare": (["train", "train", "--columns", "--model", "x", "--min-count", "999"], "rarer than min_count"),
    "no transitions": (["train", "train", "--columns", "--model", "x", "--template", "flat"], "flat has no line 'B'"),
    "bad template": (["train", "train", "--columns", "--model", "x", "--template", "bad"], "bad:2: "),
    "looks at the label": (["train", "train", "--columns", "--model", "x", "--template", "spy"], "which is the label"),
    "template alone": (["train", "train", "--model", "x", "--template", "template"], "add --columns"),
    "other columns": (["predict", "m", "narrow"], "narrow has 1 columns, but the model m was trained on 3"),
    "scores": (["predict", "m", "test", "--scores"], "--scores cannot be used with"),
    "top k": (["predict", "m", "test", "--top-k", "2"], "--top-k cannot be used with"),
    "no probabilities": (["predict", "m", "test", "--proba"], "has no probabilities"),
    "verify without labels": (["verify", "m", "bare"], "has no labels"),
    "strange label": (["verify", "m", "strange"], "sentence 1 has the label B-XX"),
    "csv": (["predict", "m", "test", "--csv"], "but not as CSV"),
    "csv by name": (["predict", "m", "test", "-o", "x.csv"], "but not as CSV"),
    "format": (["predict", "m", "test", "--format", "csv"], "--format cannot be used with a model of sequences"),
    "target": (["verify", "m", "test", "--target", "a"], "--target cannot be used with a model of sequences"),
    "not for columns": (["predict", "arrays", "test"], "was not trained on a column file"),
    "weighted": (["verify", "weighted", "train"], "fitted with sample weights"),
}  # fmt: skip


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A max-margin model, one of arrays and one of weighted sequences."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "train").write_text(text(TRAIN), encoding="utf-8")
    assert run("train", folder / "train", "--columns", "--alpha", "0.1", "--model", folder / "m") == 0
    from dataclasses import replace

    model = fenchel.load(folder / "m")
    fenchel.save(folder / "arrays", replace(model, attributes=None, template=None, columns=None))
    fenchel.save(folder / "weighted", replace(model, weighted=True))
    return folder


@pytest.mark.parametrize("case", FAILURES)
def test_failures_are_one_line_and_exit_1(case, files, models, capsys):
    for name in ("m", "arrays", "weighted"):
        (files / name).write_bytes((models / name).read_bytes())
    (files / "ragged").write_text("a B\nb\n")
    (files / "empty").write_text("\n\n")
    (files / "same").write_text("a O\nb O\n")
    (files / "narrow").write_text("a\n")
    (files / "strange").write_text("a DT B-XX\n")
    (files / "flat").write_text("U0:%x[0,0]\n")
    (files / "bad").write_text("B\nX0:%x[0,0]\n")
    (files / "spy").write_text("B\nU0:%x[0,2]\n")
    words, message = FAILURES[case]
    assert run(*words) == 1
    assert message in one_line(capsys)
    assert not (files / "x").exists()


def test_control_characters_reach_files_but_not_a_terminal(files, models, capsys, monkeypatch):
    (files / "evil").write_bytes(b"\x1b[31mred NN\n")
    assert run("predict", models / "m", "evil", "-o", "out") == 0
    assert (files / "out").read_bytes().startswith(b"\x1b[31mred NN ")
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert run("predict", models / "m", "evil") == 0
    assert capsys.readouterr().out.startswith(r"\x1b[31mred NN ")


def test_labels_that_are_no_chunks_have_an_accuracy_only(files, capsys):
    (files / "tags").write_text(text(TRAIN, (0, 1)), encoding="utf-8")
    assert train(data="tags") == 0
    assert any(line.startswith("Uw") for line in fenchel.load("m").template)  # spelling, as there is only the word
    capsys.readouterr()
    assert run("predict", "m", "tags", "-o", "out") == 0
    assert "tokens have the label given in the file" in one_line(capsys)


def test_the_help_tells_of_columns_and_is_quick():
    heavy = "print([name for name in ('numba', 'sklearn', 'scipy') if name in sys.modules])"
    code = (
        f"import sys; from fenchel.cli import main; main(['train', '--help']); main(['train', '--help-all']); {heavy}"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for option in ("--columns", "--template", "--label-column", "--min-count", "--observed-only", "--no-bias"):
        assert option in shown
    assert shown.splitlines()[-1] == "[]"
