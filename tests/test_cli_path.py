"""fenchel path and fenchel compare."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fenchel
from cli_case import QID, REAL, TWO, X, one_line, run
from fenchel.cli.compare import reached
from fenchel.cli.folds import held_out
from fenchel.cli.path import Point, choose
from fenchel.cli.tasks import Task
from fenchel.readers.svmlight.write import write_svmlight


def path_json(capsys, *words, code=0):
    assert run("path", *words, "--model", "m", "--json", "-q") == code
    shown = capsys.readouterr()
    assert shown.err == ""
    return json.loads(shown.out)


# path


def test_scores_are_those_of_fits_without_the_fold(files, capsys):
    """Ridge regression in closed form, fold by fold."""
    found = path_json(capsys, "real", "--loss", "squared", "--alphas", "0.01,1,10", "--folds", "4", "-e", "1e-10")
    parts, alphas = held_out(Task(None, []), REAL, 60, 4, 0), [10.0, 1.0, 0.01]
    errors = np.empty((4, 3))
    for k, part in enumerate(parts):
        rest = np.setdiff1d(np.arange(60), part)
        A, b = X[rest], REAL[rest]
        for j, alpha in enumerate(alphas):
            w = np.linalg.solve(A.T @ A / rest.size + alpha * np.eye(4), A.T @ b / rest.size)
            errors[k, j] = np.sqrt(np.mean((X[part] @ w - REAL[part]) ** 2))
    points = found["points"]
    assert found["metric"] == "rmse"
    assert [point["alpha"] for point in points] == alphas
    assert [point["cv"] for point in points] == pytest.approx(errors.mean(axis=0), rel=1e-4)
    assert [point["se"] for point in points] == pytest.approx(errors.std(axis=0, ddof=1) / 2, rel=1e-3)
    assert found["best"] == alphas[int(np.argmin(errors.mean(axis=0)))]
    for point, alpha in zip(points, alphas, strict=True):
        assert point["status"] == "CERTIFIED"
        assert abs(point["relative_gap"]) <= 1e-10  # rounding may show below 0, and is shown
        assert point["cv_worst_relative_gap"] <= 1e-10
        w = np.linalg.solve(X.T @ X / 60 + alpha * np.eye(4), X.T @ REAL / 60)
        assert point["primal"] == pytest.approx(np.mean((X @ w - REAL) ** 2) / 2 + alpha / 2 * w @ w, rel=1e-9)


def test_the_chosen_model_is_written_certified_and_verifies(files, capsys):
    for rule in ("best", "one-se"):
        found = path_json(capsys, "two", "--loss", "logistic", "--rule", rule, "--alphas", "1,0.1,0.01", "--folds", "3")
        assert found["chosen"] == found["best" if rule == "best" else "one_se"]
        assert found["best"] <= found["one_se"]
        model = fenchel.load("m")
        assert model.regularizer.alpha == found["chosen"]
        assert run("verify", "m", "two") == 0
        capsys.readouterr()


def test_rules_of_choice():
    def points(*cv):
        return [Point(10.0**-k, [], value, se, 0.0) for k, (value, se) in enumerate(cv)]

    assert choose(points((0.5, 0.1), (0.4, 0.1), (0.35, 0.1)), False) == (2, 1)
    assert choose(points((0.5, 0.1), (0.4, 0.1), (0.35, 0.2)), False) == (2, 0)
    assert choose(points((0.5, 0.1), (0.6, 0.05), (0.6, 0.05)), True) == (1, 1)  # of equals the stronger penalty
    assert choose(points((np.nan, np.nan), (0.6, 0.0)), True) == (1, 1)
    with pytest.raises(fenchel.errors.InputError, match="not defined on any fold"):
        choose(points((np.nan, np.nan)), True)


def test_l1_paths_lose_weights(files, capsys):
    found = path_json(capsys, "two", "--loss", "logistic", "--penalty", "l1", "--alphas", "0.3,0.01", "--folds", "3")
    few, many = (point["nonzero"] for point in found["points"])
    assert few < many == 4


@pytest.mark.parametrize(
    ("words", "metric"),
    [
        (["three", "--alphas", "1,0.1"], "accuracy"),
        (["three", "--loss", "softmax", "--metric", "log_loss", "--alphas", "1,0.1"], "log_loss"),
        (["ranked", "--measure", "ndcg", "--alphas", "1,0.1"], "ndcg"),
        (["two", "--measure", "f1", "--metric", "f1", "--alphas", "1,0.1"], "f1"),
        (["real", "--loss", "quantile", "--tau", "0.5", "--alphas", "1"], "pinball_loss"),
        (["two", "-B", "1", "-w7", "2", "--alphas", "0.1,1", "--seed", "4"], "accuracy"),
    ],
)
def test_every_kind_of_task(words, metric, files, capsys):
    found = path_json(capsys, *words, "--folds", "3")
    assert found["metric"] == metric
    assert all(point["status"] == "CERTIFIED" for point in found["points"])
    assert run("evaluate", "m", words[0], "--resamples", "0") == 0
    if "-w7" not in words:
        assert run("verify", "m", words[0]) == 0


def test_default_strengths_begin_where_the_penalty_leaves_almost_nothing(files, capsys):
    found = path_json(capsys, "two", "--loss", "logistic", "--penalty", "l1", "--folds", "3")
    alphas = [point["alpha"] for point in found["points"]]
    assert len(alphas) == 11 and alphas[-1] == pytest.approx(1e-5 * alphas[0])
    y = np.where(TWO == 7, 1.0, -1.0)
    assert np.max(np.abs(X.T @ y)) / 120 == pytest.approx(alphas[0], rel=1e-3)  # the slopes at w = 0 are -y / 2


def test_a_range_is_certified_and_drawn(files, capsys):
    words = ["two", "--loss", "logistic", "--range", "0.001,1", "--eps", "0.02", "--folds", "3", "--report", "r.html"]
    found = path_json(capsys, *words)
    span = found["range"]
    assert span == {"low": 0.001, "high": 1.0, "eps": 0.02, "certified": True, "solves": len(found["points"])}
    problem = fenchel.Problem(X, np.where(TWO == 7, 1, -1), "logistic")
    alone = fenchel.path(problem, (0.001, 1.0), eps=0.02)
    assert [point["alpha"] for point in found["points"]] == pytest.approx(alone.alphas.tolist())
    page = (files / "r.html").read_text()
    assert "Relative gap at every alpha from 0.001 to 1: certified" in page
    assert run("path", *words[:-2], "--model", "m") == 0
    assert "every alpha from 0.001 to 1 within 0.02: certified" in capsys.readouterr().out


def test_queries_stay_together():
    parts = held_out(Task(None, [], QID), None, 60, 5)
    assert sorted(np.concatenate(parts).tolist()) == list(range(60))
    for part in parts:
        assert set(QID[part]) & set(np.delete(QID, part)) == set()


def test_the_table_and_the_note_at_the_end_of_the_range(files, capsys):
    assert run("path", "real", "--loss", "squared", "--model", "m", "--alphas", "10,5", "--folds", "3") == 0
    shown = capsys.readouterr()
    lines = shown.out.rstrip("\n").split("\n")
    assert lines[0].split() == ["alpha", "status", "relative", "gap", "weights", "cv", "rmse", "se"]
    assert len(lines) == 3
    assert "best" in lines[2] and "written" in lines[2]
    assert "the smallest that was tried" in shown.err


def test_a_path_with_a_gap_left_exits_3_and_writes(files, capsys):
    found = path_json(capsys, "two", "--alphas", "0.1", "--folds", "2", "--max-iter", "0", code=3)
    assert found["points"][0]["status"] == "MAX_ITER"
    assert fenchel.load("m").status is fenchel.Status.MAX_ITER


PATH_FAILURES = {
    "no data": (["nothing"], "nothing: No such file"),
    "alphas": (["two", "--alphas", "1,x"], "--alphas '1,x': expected numbers"),
    "alpha 0": (["two", "--alphas", "1,0"], "every strength must be > 0"),
    "folds": (["two", "--folds", "1"], "from 2 to 60"),
    "range": (["two", "--range", "1,0.1"], "low < high"),
    "eps alone": (["two", "--eps", "0.1"], "--eps is for --range"),
    "range and list": (["two", "--range", "0.1,1", "--alphas", "1"], "not both"),
    "range of three labels": (["three", "--range", "0.1,1"], "for one problem"),
    "metric": (["two", "--metric", "rmse"], "--metric rmse: not a metric for classification"),
    "novelty": (["two", "--loss", "novelty"], "cross-validation needs targets"),
    "too many queries": (["ranked", "--measure", "mrr", "--folds", "20"], "20 folds need at least 20 queries"),
    "rare label": (["rare", "--loss", "softmax", "--folds", "3"], "too few rows"),
    "solver": (["two", "--solver", "magic"], "unknown solver 'magic'"),
    "report": (["two", "--report", "no/r.html"], "'no'"),
}


@pytest.mark.parametrize("case", PATH_FAILURES)
def test_path_failures(case, files, capsys):
    write_svmlight("rare", X, np.where(np.arange(60) == 3, 2, TWO == 7).astype(int))
    words, message = PATH_FAILURES[case]
    assert run("path", *words, "--model", "x") == 1
    assert message in one_line(capsys)
    assert not (files / "x").exists()


# compare


def compare_json(capsys, *words, code=0):
    assert run("compare", *words, "--json", "-q", "--repeat", "1") == code
    return json.loads(capsys.readouterr().out)


def test_every_combination_has_its_certified_gap(files, capsys):
    found = compare_json(
        capsys, "two", "--loss", "hinge,logistic", "--penalty", "l2", "--solver", "auto,lbfgs,bundle", "--alpha", "0.1"
    )
    done = {(r["loss"], r["penalty"], r["solver"]): r for r in found["runs"]}
    assert len(done) == 5
    assert [(m["loss"], m["solver"]) for m in found["misfits"]] == [("hinge", "lbfgs")]
    assert "is not differentiable" in found["misfits"][0]["why"]
    y = np.where(TWO == 7, 1, -1)
    for loss in ("hinge", "logistic"):
        best = fenchel.solve(fenchel.Problem(X, y, loss=loss, alpha=0.1), tol=1e-10).certificate
        for key, row in done.items():
            if key[0] == loss:
                assert row["status"] == "CERTIFIED"
                assert row["relative_gap"] <= 1e-6
                assert row["dual"] <= best.primal * (1 + 1e-12)
                assert row["primal"] == pytest.approx(best.primal, rel=2e-6)
                times = list(row["within"].values())
                assert times == sorted(times)
                assert times[-1] <= row["seconds"]
                assert all(len(point) == 3 for point in row["trace"])


def test_parameters_strengths_and_several_labels(files, capsys):
    found = compare_json(
        capsys, "real", "--loss", "huber:delta=0.5,squared", "--penalty", "elastic_net:l1_ratio=0.2", "-c", "2"
    )
    assert [row["loss"] for row in found["runs"]] == ["huber:delta=0.5", "squared"]
    penalty = fenchel.regularizers.ElasticNet(1 / 120, 0.2)
    problem = fenchel.Problem(X, REAL, loss=fenchel.losses.Huber(0.5), regularizer=penalty)
    assert found["runs"][0]["primal"] == pytest.approx(fenchel.solve(problem).certificate.primal, rel=1e-5)
    half = fenchel.Problem(X, REAL, loss="squared", regularizer=fenchel.regularizers.ElasticNet(1 / 240, 0.2))
    assert found["runs"][1]["primal"] == pytest.approx(fenchel.solve(half).certificate.primal, rel=1e-5)
    found = compare_json(capsys, "three", "--loss", "hinge,max_hinge", "--alpha", "0.1")
    assert [row["trace"] == [] for row in found["runs"]] == [True, False]


def test_measures_compare_too(files, capsys):
    found = compare_json(capsys, "ranked", "--loss", "mrr,ndcg:k=3", "--alpha", "0.1")
    assert [row["status"] for row in found["runs"]] == ["CERTIFIED"] * 2


def test_the_table_and_limits(files, capsys):
    assert run("compare", "two", "--solver", "bundle,lbfgs", "--max-iter", "1", "--alpha", "1e-3") == 3
    shown = capsys.readouterr().out
    assert shown.split("\n")[0].split()[:6] == ["loss", "penalty", "solver", "status", "gap", "seconds"]
    assert "MAX_ITER" in shown
    assert "never" in shown
    assert "incompatible:" in shown


def test_times_come_from_the_best_objective_so_far():
    from types import SimpleNamespace as Some

    points = [Some(seconds=1.0, primal=3.0), Some(seconds=2.0, primal=float("nan")), Some(seconds=3.0, primal=1.2),
              Some(seconds=4.0, primal=2.0), Some(seconds=5.0, primal=1.01)]  # fmt: skip
    result = Some(trace=points, seconds=6.0, certificate=Some(primal=1.001))
    assert reached(result, 1.0, 0.5) == 3.0
    assert reached(result, 1.0, 0.02) == 5.0
    assert reached(result, 1.0, 0.005) == 6.0
    assert np.isnan(reached(result, 1.0, 1e-4))


COMPARE_FAILURES = {
    "no data": (["nothing"], "nothing: No such file"),
    "loss": (["two", "--loss", "hing"], "Did you mean 'hinge'"),
    "parameter": (["two", "--loss", "huber:delta"], "expected name=number"),
    "penalty": (["two", "--penalty", "l3"], "unknown penalty 'l3'"),
    "solver": (["two", "--solver", "magic"], "unknown solver 'magic'"),
    "report": (["two", "--report", "no/r.html"], "'no'"),
    "column": (["two", "--target", "y"], "is read as svmlight text"),
}


@pytest.mark.parametrize("case", COMPARE_FAILURES)
def test_compare_failures(case, files, capsys):
    words, message = COMPARE_FAILURES[case]
    assert run("compare", *words) == 1
    assert message in one_line(capsys)


def test_ctrl_c_leaves_no_half_answer(files, capsys, monkeypatch):
    from dataclasses import replace

    solve = fenchel.solve

    def stopped(*words, **more):
        return replace(solve(*words, **more), status=fenchel.Status.INTERRUPTED)

    monkeypatch.setattr("fenchel.estimators.path.solve", stopped)
    assert run("path", "two", "--model", "x", "--alphas", "1", "--folds", "2") == 130
    assert not (files / "x").exists()
    assert "interrupted" in one_line(capsys)
