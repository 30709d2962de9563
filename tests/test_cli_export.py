"""fenchel export and fenchel report."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

import fenchel
from cli_case import WORDS, X, csv_text, one_line
from cli_case import run_as_is as run


@pytest.fixture
def files(files):
    (files / "tree").write_text("a/x\na/y\nb\n")
    (files / "chunks").write_text("a B\nb O\n\nb O\na B\n")
    return files


CASES = {
    "hinge": ["two", "--loss", "hinge"],
    "intercept": ["two", "--loss", "logistic", "--intercept"],
    "constant": ["two", "--loss", "squared_hinge", "-B", "2.5"],
    "l1": ["two", "--loss", "logistic", "--penalty", "l1"],
    "one against the rest": ["three", "--loss", "logistic", "--intercept"],
    "max hinge": ["three", "--loss", "max_hinge"],
    "two scores": ["two", "--loss", "max_hinge"],
    "softmax": ["three", "--loss", "softmax", "--intercept"],
    "softmax of two": ["two", "--loss", "softmax"],
    "tree": ["three", "--loss", "hierarchical_softmax", "--tree", "tree"],
    "regression": ["real", "--loss", "squared", "--intercept"],
    "measure": ["two", "--measure", "f1"],
    "ranking": ["ranked", "--measure", "mrr"],
    "poisson": ["counts", "--loss", "poisson", "--intercept"],
}
LIBLINEAR = [name for name in CASES if name != "poisson"]


def trained(name):
    assert run("train", *CASES[name], "--alpha", "0.05", "--model", "m") == 0
    return fenchel.load("m")


def read_liblinear(text):
    """(solver type, labels, scores of rows): liblinear's own rules, written down once more."""
    head, _, body = text.partition("\nw\n")
    facts = dict(line.split(" ", 1) for line in head.split("\n"))
    bias = float(facts["bias"])
    w = np.array([list(map(float, line.split())) for line in body.strip().split("\n")])
    assert len(w) == int(facts["nr_feature"]) + (bias >= 0)
    labels = list(map(int, facts["label"].split())) if "label" in facts else None

    def predict(rows):
        z = rows @ w[: rows.shape[1]] + (bias * w[-1] if bias >= 0 else 0.0)
        if labels is None:
            return z[:, 0]
        if int(facts["nr_class"]) == 2:
            return np.where(z[:, 0] > 0, labels[0], labels[1])
        return np.array(labels)[np.argmax(z, axis=1)]

    return facts["solver_type"], predict


@pytest.mark.parametrize("name", LIBLINEAR)
def test_liblinear_text_predicts_the_same(name, files, capsys):
    model = trained(name)
    assert run("export", "m", "--format", "liblinear", "-o", "out") == 0
    _, predict = read_liblinear((files / "out").read_text())
    expected = model.predict(X)
    assert np.array_equal(predict(X), expected) if model.labels else np.allclose(predict(X), expected, rtol=1e-12)
    capsys.readouterr()
    assert run("export", "m", "--format", "liblinear") == 0
    assert capsys.readouterr().out == (files / "out").read_text()


@pytest.mark.parametrize("name", LIBLINEAR)
def test_liblinear_itself_reads_it_and_predicts_the_same(name, files, capfd):
    util = pytest.importorskip("liblinear.liblinearutil")
    model = trained(name)
    assert run("export", "m", "--format", "liblinear", "-o", "out") == 0
    theirs = util.load_model("out")
    rows = [dict(enumerate(map(float, row), 1)) for row in X]
    logistic = name in ("intercept", "l1", "one against the rest")
    found, _, values = util.predict([], rows, theirs, "-b 1 -q" if logistic else "-q")
    expected = model.predict(X)
    assert np.array_equal(found, expected) if model.labels else np.allclose(found, expected, rtol=1e-12)
    if logistic:
        order = [theirs.get_labels().index(label) for label in model.labels]
        assert np.allclose(np.array(values)[:, order], model.probabilities(X), rtol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_json_has_every_number_to_the_last_bit(name, files):
    model = trained(name)
    assert run("export", "m", "--format", "json", "-o", "out") == 0
    found = json.loads((files / "out").read_text(), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    for key in ("coef", "dual_points"):
        assert np.array(found["arrays"][key]).tobytes() == np.ascontiguousarray(getattr(model, key)).tobytes()
    header = found["header"]
    assert header["labels"] == (None if model.labels is None else list(model.labels))
    assert [c["primal"] for c in header["certificates"]] == [c.primal for c in model.certificates]
    assert header["tol"] == model.tol
    assert header["digests"] == list(model.digests)


def test_json_of_sequences_and_of_infinite_numbers(files):
    assert run("train", "chunks", "--columns", "--alpha", "0.1", "--model", "m") == 0
    assert run("export", "m", "--format", "json", "-o", "out") == 0
    found = json.loads((files / "out").read_text())
    assert np.array(found["arrays"]["coef"]).tobytes() == fenchel.load("m").coef.tobytes()
    model = trained("hinge")
    fenchel.save("m", replace(model, certificates=(replace(model.certificate, dual=-np.inf),), dual_points=None))
    assert run("export", "m", "--format", "json", "-o", "out") == 0
    assert json.loads((files / "out").read_text())["header"]["certificates"][0]["dual"] == "-inf"


@pytest.mark.parametrize("name", CASES)
def test_onnx_predicts_the_same(name, files):
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    model = trained(name)
    assert run("export", "m", "--format", "onnx", "-o", "out.onnx") == 0
    proto = onnx.load("out.onnx")
    onnx.checker.check_model(proto, full_check=True)
    names = [output.name for output in proto.graph.output]
    found = dict(zip(names, ReferenceEvaluator(proto).run(None, {"X": X}), strict=True))
    if model.labels is None:
        assert np.allclose(found["prediction"][:, 0], model.predict(X), rtol=1e-12)
    else:
        assert np.array_equal(found["label"], model.predict(X))
    can = hasattr(model.loss, "probability") and model.labels is not None and name != "tree"
    assert ("probabilities" in found) == can
    if can:
        assert np.allclose(found["probabilities"], model.probabilities(X), rtol=1e-10, atol=1e-14)


def test_onnx_keeps_words(files):
    pytest.importorskip("onnx")
    pytest.importorskip("pyarrow")
    from onnx.reference import ReferenceEvaluator

    (files / "t.csv").write_text(csv_text(WORDS))
    assert run("train", "t.csv", "--alpha", "0.1", "--model", "m") == 0
    assert run("export", "m", "--format", "onnx", "-o", "out.onnx") == 0
    label = ReferenceEvaluator("out.onnx").run(["label"], {"X": X})[0]
    assert label.tolist() == fenchel.load("m").predict(X).tolist()


def test_without_onnx_the_remedy_is_named(files, capsys, monkeypatch):
    trained("hinge")
    capsys.readouterr()
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert run("export", "m", "--format", "onnx", "-o", "out") == 1
    assert "pip install 'fenchel[onnx]'" in one_line(capsys)


def test_export_failures(files, capsys):
    def fails(message, *words):
        capsys.readouterr()
        assert run("export", *words) == 1
        assert message in one_line(capsys)

    trained("poisson")
    fails("no model that predicts as Poisson does", "m", "--format", "liblinear")
    model = trained("hinge")
    fenchel.save("words", replace(model, labels=("a", "b")))
    fails("labels are integers", "words", "--format", "liblinear")
    fails("nothing: No such file", "nothing", "--format", "json")
    fails("cannot be read as a model", "two", "--format", "json")
    fails("'no'", "m", "--format", "json", "-o", "no/out")
    assert run("train", "chunks", "--columns", "--alpha", "0.1", "--model", "c") == 0
    fails("cannot represent a model of Chain", "c", "--format", "liblinear")
    assert run("train", "two", "--loss", "novelty", "--model", "n") == 0
    fails("as Novelty does", "n", "--format", "liblinear")
    assert run("train", "three", "--measure", "ordinal", "--alpha", "0.1", "--model", "o") == 0
    fails("several thresholds", "o", "--format", "liblinear")


# report


def test_pages_from_training_paths_comparisons_and_models(files, capsys):
    assert run("train", "two", "--loss", "logistic", "--alpha", "0.1", "--model", "m", "--report", "a.html") == 0
    assert "report   a.html" in capsys.readouterr().out
    model = fenchel.load("m")
    text = (files / "a.html").read_text()
    assert repr(model.certificate.primal) in text
    assert "fenchel train two" in text
    assert run("report", "m", "-o", "b.html", "--data", "two", "--title", "My models") == 0
    text = (files / "b.html").read_text()
    assert "<title>My models</title>" in text
    assert repr(model.certificate.primal) in text
    assert run("train", "two", "--alpha", "0.1", "-B", "1", "--model", "n", "--report", "c.html") == 0
    assert run("report", "m", "n", "-o", "d.html") == 0
    text = (files / "d.html").read_text()
    assert all(repr(fenchel.load(name).certificate.primal) in text for name in "mn")
    assert run("path", "two", "--alphas", "1,0.1", "--folds", "2", "--model", "p", "--report", "e.html", "-q") == 0
    assert repr(fenchel.load("p").certificate.primal) in (files / "e.html").read_text()
    assert run("compare", "two", "--loss", "hinge,logistic", "--alpha", "0.1", "--report", "f.html") == 0
    text = (files / "f.html").read_text()
    assert "logistic, l2, auto" in text
    assert run("train", "chunks", "--columns", "--alpha", "0.1", "--model", "s", "--report", "g.html") == 0
    assert run("report", "s", "-o", "h.html") == 0


def test_a_page_with_words_and_names(files):
    pytest.importorskip("pyarrow")
    (files / "t.csv").write_text(csv_text(WORDS))
    assert (
        run("train", "t.csv", "-B", "1", "--loss", "softmax", "--alpha", "0.1", "--model", "m", "--report", "r.html")
        == 0
    )
    text = (files / "r.html").read_text()
    assert "length" in text and "yew" in text
    assert run("report", "m", "--data", "t.csv", "-o", "r.html") == 0


def test_report_failures(files, capsys):
    def fails(message, *words):
        capsys.readouterr()
        assert run("report", *words) == 1
        assert message in one_line(capsys)
        assert not (files / "r.html").exists()

    trained("hinge")
    assert run("train", "three", "--alpha", "0.1", "--model", "n") == 0
    assert run("train", "chunks", "--columns", "--alpha", "0.1", "--model", "c") == 0
    fails("nothing: No such file", "nothing", "-o", "r.html")
    fails("cannot be read as a model", "two", "-o", "r.html")
    fails("nothing: No such file", "m", "--data", "nothing", "-o", "r.html")
    fails("n has other labels or features than m", "m", "n", "--data", "two", "-o", "r.html")
    fails("is a model of sequences", "c", "--data", "chunks", "-o", "r.html")
    fails("'no'", "m", "-o", "no/r.html")
    fails("which the model does not know", "m", "--data", "three", "-o", "r.html")
    assert run("train", "two", "--model", "x", "--report", "no/r.html") == 1
    assert not (files / "x").exists()


def test_onnx_of_a_moreau_envelope_predicts_what_the_model_does(tmp_path, monkeypatch):
    pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.round(np.exp(X[:, 0]))
    loss = fenchel.losses.Moreau(fenchel.losses.Poisson(), 0.1)
    result = fenchel.solve(fenchel.Problem(X, y, loss, alpha=0.1, fit_intercept=True), tol=1e-4)
    fenchel.save("m", result)
    assert run("export", "m", "--format", "onnx", "-o", "out.onnx") == 0
    expected = np.exp(X @ result.coef + result.intercept)
    found = ReferenceEvaluator("out.onnx").run(["prediction"], {"X": X})[0].ravel()
    assert found == pytest.approx(expected, rel=1e-12)
    assert fenchel.load("m").predict(X) == pytest.approx(expected, rel=1e-12)
