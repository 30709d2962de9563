"""Numbers, names and columns as people meet them: Brier score, formulas, --metric, --target after --drop, a nameless index."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss

import fenchel
from fenchel.cli import main
from fenchel.errors import CheckpointError, IncompatibleError
from fenchel.report import formulas, write_page
from fenchel.report.evaluation import brier, evaluate
from fenchel.report.mathml import FENCES, math
from fenchel.report.subject import run_of

RNG = np.random.default_rng(11)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def frame(n=60, seed=0):
    """Four numbers, a comment column of numbers, the target in the middle."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3))
    label = np.where(rows @ [1.0, -1.0, 0.5] > 0, "yes", "no")
    columns = {"a": rows[:, 0], "species": label, "b": rows[:, 1], "c": rows[:, 2], "age": rng.integers(1, 9, n)}
    return pd.DataFrame(columns | {"serial": np.arange(n)})


# ---- Brier score


@pytest.mark.parametrize("seed", range(4))
def test_brier_scores_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    for k in (2, 3, 5):
        p = rng.dirichlet(np.ones(k), size=40)
        true = rng.integers(0, k, 40)
        if k == 2:
            assert brier(p, true) == pytest.approx(brier_score_loss(true, p[:, 1]), rel=1e-12)
        assert brier(p, true) == pytest.approx(((p - np.eye(k)[true]) ** 2).sum(axis=1).mean() / (2 if k == 2 else 1))


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_brier_score_of_two_labels_on_a_page(loss):
    X = RNG.normal(size=(80, 3))
    y = np.where(X[:, 0] + RNG.normal(size=80) > 0, "b", "a")
    model = fenchel.Classifier(loss, alpha=0.05).fit(X, y)
    found = evaluate(run_of(model, "m"), X, y).numbers
    expected = brier_score_loss(y == "b", model.predict_proba(X)[:, 1])
    assert found["Brier score"][0] == pytest.approx(expected, rel=1e-12)
    three = fenchel.Classifier("softmax", alpha=0.05).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    assert (
        "Brier score, summed over labels" in evaluate(run_of(three, "m"), X, np.digitize(X[:, 0], [-0.5, 0.5])).numbers
    )


# ---- formulas


def all_formulas():
    families = [formulas.objective(family, free) for family in formulas.OBJECTIVES for free in (False, True)]
    parts = [tex for tex, _ in [*formulas.FORMULAS.values(), *formulas.STRUCTURED.values()]]
    return [*families, *(math(tex, block=True) for tex in parts)]


def test_no_bracket_stretches():
    page = "".join(all_formulas())
    brackets = [found for found in re.findall(r"<mo([^>]*)>([^<]*)</mo>", page) if found[1] in FENCES]
    assert len(brackets) > 50
    assert all('stretchy="false"' in attributes for attributes, _ in brackets)


def test_brackets_are_one_line_high_in_a_browser(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    if CHROMIUM is None:
        pytest.skip("the browser tests need Chromium (on Debian: the package chromium)")
    problem = fenchel.Problem([[1.0], [2.0]], [1, -1], loss="logistic", regularizer="elastic_net", fit_intercept=True)
    write_page(tmp_path / "page.html", fenchel.solve(problem, tol=1e-3))
    (tmp_path / "all.html").write_text("<meta charset=utf-8>" + "".join(f"<p>{each}</p>" for each in all_formulas()))
    heights = """[...document.querySelectorAll('mo')].filter(m => '()[]{}|‖⟨⟩'.includes(m.textContent)).map(
        m => m.getBoundingClientRect().height / parseFloat(getComputedStyle(m).fontSize))"""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name in ("page.html", "all.html"):
            page = browser.new_page()
            page.goto((tmp_path / name).as_uri())
            found = page.evaluate(heights)
            assert len(found) > 4 and max(found) < 1.8
        browser.close()


# ---- --metric


@pytest.mark.parametrize(
    ("loss", "target", "names"),
    [
        ("logistic", "species", ["balanced accuracy", "Balanced-Accuracy", "ROC area", "roc_auc", "log loss", "F1"]),
        ("squared", "a", ["RMSE", "mae", "R2"]),
        ("quantile", "a", ["pinball loss", "coverage"]),
    ],
)
def test_path_takes_the_names_that_evaluate_prints(loss, target, names, tmp_path, capsys):
    data, model = tmp_path / "rows.csv", str(tmp_path / "m.fenchel")
    table = frame().drop(columns=["serial"] if target == "species" else ["serial", "species"])
    table.to_csv(data, index=False)
    common = [
        str(data),
        "--target",
        target,
        "--loss",
        loss,
        "--model",
        model,
        "--alphas",
        "0.1,0.01",
        "--folds",
        "2",
        "-q",
    ]
    for name in names:
        assert main(["path", *common, "--metric", name, "--json"]) == 0
        capsys.readouterr()
    assert main(["evaluate", model, str(data), "--target", target, "--resamples", "0"]) == 0
    metrics = capsys.readouterr().out.split("\n\n")[0]  # the counts of each label follow
    printed = [line.split("  ")[0].strip() for line in metrics.splitlines()[3:] if line.strip()]
    printed = [word for word in printed if word and not set(word) <= set("-─━ ")]
    assert len(printed) >= 3
    for name in printed:
        assert main(["path", *common, "--metric", name, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["metric"] == name.replace(" ", "_")


@pytest.mark.parametrize("name", ["nonsense", "rmse", "accuracy_score"])
def test_an_unknown_metric_is_refused_with_the_known_ones_before_the_work(name, tmp_path, capsys, monkeypatch):
    from fenchel.cli import path

    data = tmp_path / "rows.csv"
    frame().drop(columns="serial").to_csv(data, index=False)
    monkeypatch.setattr(path, "_points", lambda *_: pytest.fail("the path was solved first"))
    command = [
        "path",
        str(data),
        "--target",
        "species",
        "--loss",
        "logistic",
        "--model",
        str(tmp_path / "m"),
        "--metric",
        name,
    ]
    assert main(command) == 1
    assert "balanced accuracy, f1, roc area, log loss" in capsys.readouterr().err


# ---- --target after --drop


@pytest.mark.parametrize("drop", [["serial"], ["serial", "age"], ["serial", "a", "c"]])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_model_knows_its_target_and_what_was_dropped(drop, kind, tmp_path, capsys):
    data, model = tmp_path / f"rows.{kind}", str(tmp_path / "m.fenchel")
    table = frame()
    table.to_csv(data, index=False) if kind == "csv" else table.to_parquet(data, index=False)
    options = [word for name in drop for word in ("--drop", name)]
    assert (
        main(["train", str(data), "--target", "species", *options, "--loss", "logistic", "--model", model, "-q"]) == 0
    )
    stored = fenchel.load(model)
    assert stored.target == "species" and stored.dropped == tuple(drop)
    for command in (["verify", model, str(data)], ["evaluate", model, str(data), "--resamples", "0"]):
        assert main(command) == 0, capsys.readouterr().err
    assert main(["report", model, "--data", str(data), "-o", str(tmp_path / "page.html")]) == 0
    assert main(["predict", model, str(data), "-o", str(tmp_path / "out")]) == 0
    shuffled = tmp_path / f"shuffled.{kind}"
    mixed = table[["serial", "c", "a", "species", "age", "b"]]
    mixed.to_csv(shuffled, index=False) if kind == "csv" else mixed.to_parquet(shuffled, index=False)
    assert main(["verify", model, str(shuffled)]) == 0


def test_a_target_of_ones_own_choice_still_wins(tmp_path, capsys):
    data, model = tmp_path / "rows.csv", str(tmp_path / "m.fenchel")
    table = frame()
    table["other"] = np.where(table["species"] == "yes", "no", "yes")
    table.to_csv(data, index=False)
    words = ["--drop", "serial", "--drop", "other", "--loss", "hinge", "--model", model, "-q"]
    assert main(["train", str(data), "--target", "species", *words]) == 0
    capsys.readouterr()
    values = []
    for choice in ([], ["--target", "other"]):
        assert main(["evaluate", model, str(data), "--resamples", "0", "--json", *choice]) == 0
        values.append(json.loads(capsys.readouterr().out)["metrics"]["accuracy"]["value"])
    assert values[0] + values[1] == pytest.approx(1.0) and values[0] > 0.9
    table.drop(columns=["species"]).to_csv(data, index=False)  # and a table without it is asked about
    assert main(["evaluate", model, str(data), "--resamples", "0", "--target", "other"]) == 0


# ---- a nameless column


@pytest.mark.parametrize("write", ["first", "last", "parquet"])
def test_an_index_without_a_name_is_no_feature(write, tmp_path, capsys):
    table, data = frame().drop(columns="serial"), tmp_path / ("rows.parquet" if write == "parquet" else "rows.csv")
    table = table[["a", "b", "c", "age", "species"]]
    if write == "parquet":
        table.index = RNG.permutation(len(table))  # not a range, which Parquet keeps as a remark
        table.to_parquet(data)
    elif write == "first":
        table.to_csv(data)
    else:
        table.assign(**{"": np.arange(len(table))}).to_csv(data, index=False)
    model = str(tmp_path / "m.fenchel")
    assert main(["train", str(data), "--loss", "logistic", "--model", model]) == 0
    assert "without a name" in capsys.readouterr().err
    stored = fenchel.load(model)
    assert stored.feature_names == ("a", "b", "c", "age") and stored.target == "species"
    assert main(["verify", model, str(data)]) == 0


# ---- versions of checkpoints, and why a solver stays at home


@pytest.mark.parametrize("change", [{"fenchel": "0.0.9"}, {"numpy": "1.26"}, {"fenchel": "9", "numpy": "9"}])
def test_a_checkpoint_of_another_version_is_refused(change, tmp_path, monkeypatch):
    from fenchel.solving import checkpoint

    X = RNG.normal(size=(40, 3))
    problem = fenchel.Problem(X, np.sign(X[:, 0]), "logistic", alpha=0.01)
    path = tmp_path / "state"
    fenchel.solve(problem, "lbfgs", max_iter=2, checkpoint=path)
    fenchel.solve(problem, "lbfgs", max_iter=3, checkpoint=path, resume=True)
    own = checkpoint.version
    monkeypatch.setattr(checkpoint, "version", lambda name: change.get(name, own(name)))
    with pytest.raises(CheckpointError, match=f"numpy {own('numpy')}.*{next(iter(change.values()))}"):
        fenchel.solve(problem, "lbfgs", checkpoint=path, resume=True)


@pytest.mark.parametrize(
    ("solver", "reason"),
    [
        ("pragam", "dual variable for each"),
        ("semismooth_newton", "near a nonsmooth point"),
        ("dual_ascent", "one by one"),
    ],
)
def test_the_reason_why_a_solver_is_refused_on_a_cluster_is_its_own(solver, reason):
    from fenchel import solvers
    from fenchel.selection import requirements

    problem = fenchel.Problem([[1.0], [2.0]], [1, -1], loss="hinge", alpha=0.1)
    with pytest.raises(IncompatibleError, match=f"on a cluster .*{reason}"):
        requirements.require_fit(solvers.make(solver), problem, remote=True)
