"""Pages that commands write: their numbers are those of the command's own output and of scikit-learn."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn import metrics

import fenchel
from cli_case import GRADES, QID, REAL, THREE, TWO, X, run
from pages import Page

OWN_ROWS = "These are the training rows"


def page(name="p.html") -> Page:
    with open(name, encoding="utf-8") as file:
        return Page(file.read())


@pytest.mark.parametrize("data", ["two", "three", "real"])
@pytest.mark.parametrize("more", [[], ["-B", "1"], ["--intercept"]], ids=["plain", "constant", "intercept"])
def test_a_training_page_has_the_numbers_of_the_fit_and_of_its_own_rows(data, more, files, capsys):
    loss = {"two": "logistic", "three": "softmax", "real": "squared"}[data]
    words = ["--loss", loss, "--alpha", "0.1", *more]
    assert run("train", data, *words, "--model", "m", "--report", "p.html", "--json") == 0
    said = json.loads(capsys.readouterr().out)["fits"][0]
    found = page()
    solve = found.data["runs"][0]["solves"][0]
    assert {name: solve[name] for name in ("primal", "dual", "gap", "seconds")} == {
        name: said[name] for name in ("primal", "dual", "gap", "seconds")
    }
    assert OWN_ROWS in found.text
    predicted = fenchel.load("m").predict(X)
    numbers = found.data["evaluation"][0]
    if data == "real":
        assert numbers["R²"][0] == pytest.approx(metrics.r2_score(REAL, predicted), rel=1e-9)
        return
    y = TWO if data == "two" else THREE
    assert numbers["Accuracy"][0] == pytest.approx(metrics.accuracy_score(y, predicted), rel=1e-12)
    assert found.numbers("count") == metrics.confusion_matrix(y, predicted).ravel().tolist()


def test_a_page_about_a_path_shows_its_chosen_model_on_its_own_rows(files, capsys):
    words = ["--loss", "logistic", "--alphas", "1,0.1", "--folds", "3", "-q", "--model", "m", "--report", "p.html"]
    assert run("path", "two", *words) == 0
    assert OWN_ROWS in page().text
    accuracy = metrics.accuracy_score(TWO, fenchel.load("m").predict(X))
    assert page().data["evaluation"][0]["Accuracy"][0] == pytest.approx(accuracy, rel=1e-12)


def test_rows_on_disk_are_not_read_again_for_a_page(files):
    assert run("convert", "two", "rows") == 0
    assert run("train", "rows", "--alpha", "0.1", "--model", "m", "--report", "p.html") == 0
    assert page().data["evaluation"] == []


@pytest.mark.parametrize("measure", ["ndcg", "ndcg_pairs", "area_pairs", "roc_area"])
def test_rankings_are_evaluated_by_query(files, measure):
    words = ["--measure", measure, "--alpha", "0.01"]
    assert run("train", "ranked", *words, "--model", "m", "--report", "p.html") == 0
    assert run("report", "m", "--data", "ranked", "-o", "q.html") == 0
    z = X @ fenchel.load("m").coef
    queries = [q == QID for q in np.unique(QID) if GRADES[q == QID].any()]
    expected = np.mean([metrics.ndcg_score([2.0 ** GRADES[rows] - 1.0], [z[rows]]) for rows in queries])
    for name in ("p.html", "q.html"):
        value = next(v for name, v in page(name).data["evaluation"][0].items() if "NDCG" in name)
        assert value[0] == pytest.approx(expected, rel=1e-9)


def test_only_a_weighted_model_is_repeated_with_weights(files):
    for words, weighted in (([], False), (["-w7", "2"], True)):
        assert run("train", "two", "--alpha", "0.1", *words, "--model", "m") == 0
        assert run("report", "m", "-o", "p.html") == 0
        assert ("sample_weight=" in page().text) == weighted


def test_what_is_compared_comes_first(files):
    assert (
        run("compare", "two", "--solver", "auto,lbfgs", "--loss", "logistic", "--repeat", "1", "--report", "p.html")
        == 0
    )
    places = [found.get("id") for tag, found in page().elements if tag == "section"]
    assert places[:4] == ["runs", "convergence", "weights", "certificate"]
