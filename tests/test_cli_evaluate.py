"""fenchel evaluate: every metric against scikit-learn, intervals against resampling by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn import metrics as sk

import fenchel
from cli_case import COUNTS, GRADES, QID, REAL, THREE, TWO, X, one_line, run
from fenchel.cli.quality import quality_of, roc_area, sequence_quality
from fenchel.readers.svmlight.write import write_svmlight


def evaluated(capsys, *words, train):
    """(what evaluate says, the model)."""
    assert run("train", *train, "--alpha", "0.05", "--model", "m") == 0
    capsys.readouterr()
    assert run("evaluate", "m", train[0], "--json", *words) == 0
    return json.loads(capsys.readouterr().out), fenchel.load("m")


def values(found) -> dict[str, float]:
    return {name: part["value"] for name, part in found["metrics"].items()}


def test_two_labels(files, capsys):
    found, model = evaluated(capsys, "--resamples", "50", train=["two", "--loss", "logistic"])
    assert (found["task"], found["unit"], found["count"], found["seed"]) == ("classification", "rows", 60, 0)
    predicted, scores, p = model.predict(X), model.scores(X), model.probabilities(X)
    expected = {
        "accuracy": sk.accuracy_score(TWO, predicted),
        "balanced_accuracy": sk.balanced_accuracy_score(TWO, predicted),
        "f1": sk.f1_score(TWO, predicted, pos_label=7),
        "roc_area": sk.roc_auc_score(TWO == 7, scores),
        "log_loss": sk.log_loss(TWO, p),
    }
    assert values(found) == pytest.approx(expected, rel=1e-12)
    for part in found["metrics"].values():
        assert part["low"] <= part["value"] <= part["high"]


@pytest.mark.parametrize("loss", ["hinge", "softmax", "max_hinge"])
def test_three_labels(loss, files, capsys):
    found, model = evaluated(capsys, "--resamples", "0", train=["three", "--loss", loss])
    predicted, scores = model.predict(X), model.label_scores(X)
    expected = {
        "accuracy": sk.accuracy_score(THREE, predicted),
        "balanced_accuracy": sk.balanced_accuracy_score(THREE, predicted),
        "f1_macro": sk.f1_score(THREE, predicted, average="macro"),
        "top_2_accuracy": sk.top_k_accuracy_score(THREE, scores, k=2),
    }
    if loss == "softmax":
        expected["log_loss"] = sk.log_loss(THREE, model.probabilities(X))
    assert values(found) == pytest.approx(expected, rel=1e-12)
    assert all(part["low"] is None and part["high"] is None for part in found["metrics"].values())


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_regression(loss, files, capsys):
    found, model = evaluated(capsys, "--resamples", "0", train=["real", "--loss", loss])
    predicted = model.predict(X)
    expected = {
        "rmse": sk.root_mean_squared_error(REAL, predicted),
        "mae": sk.mean_absolute_error(REAL, predicted),
        "r2": sk.r2_score(REAL, predicted),
    }
    assert values(found) == pytest.approx(expected, rel=1e-12)


def test_quantile_and_poisson_have_their_own(files, capsys):
    found, model = evaluated(capsys, "--resamples", "0", train=["real", "--loss", "quantile", "--tau", "0.8"])
    got = values(found)
    assert got["pinball_loss"] == pytest.approx(sk.mean_pinball_loss(REAL, model.predict(X), alpha=0.8), rel=1e-12)
    assert got["coverage"] == np.mean(model.predict(X) >= REAL)
    found, model = evaluated(capsys, "--resamples", "0", train=["counts", "--loss", "poisson"])
    deviance = sk.mean_poisson_deviance(COUNTS, model.predict(X))
    assert values(found)["poisson_deviance"] == pytest.approx(deviance, rel=1e-10)


def test_rankings_count_queries(files, capsys):
    found, model = evaluated(capsys, "--resamples", "20", train=["ranked", "--measure", "ndcg"])
    told = len({q for q in QID if (GRADES[q == QID] > 0).any()})
    assert (found["task"], found["unit"], found["count"]) == ("ranking", "queries", told)
    z = model.scores(X)
    gains = [
        sk.ndcg_score([2.0 ** GRADES[q == QID] - 1.0], [z[q == QID]]) for q in set(QID) if (GRADES[q == QID] > 0).any()
    ]
    assert values(found)["ndcg"] == pytest.approx(np.mean(gains), rel=1e-12)
    assert values(found)["mrr"] == pytest.approx(fenchel.metrics.mrr(GRADES, z, QID), rel=1e-12)


def test_novelty_and_ordered_labels(files, capsys):
    found, model = evaluated(capsys, "--resamples", "0", train=["two", "--loss", "novelty"])
    assert values(found) == {"novel": np.mean(model.predict(X) < 0)}
    found, model = evaluated(capsys, "--resamples", "0", train=["three", "--measure", "ordinal"])
    error = np.abs(model.predict(X) - THREE).mean()
    assert values(found)["mean_level_error"] == pytest.approx(error, rel=1e-12)


def test_intervals_are_percentiles_of_resamples(files, capsys):
    found, model = evaluated(capsys, "--resamples", "40", "--seed", "3", "--level", "0.8", train=["two"])
    rng = np.random.default_rng(3)
    predicted, scores = model.predict(X), model.scores(X)
    drawn = []
    for _ in range(40):
        rows = rng.integers(0, 60, 60)
        drawn.append([
            sk.accuracy_score(TWO[rows], predicted[rows]), sk.balanced_accuracy_score(TWO[rows], predicted[rows]),
            sk.f1_score(TWO[rows], predicted[rows], pos_label=7), sk.roc_auc_score(TWO[rows] == 7, scores[rows]),
        ])  # fmt: skip
    low, high = np.quantile(drawn, [0.1, 0.9], axis=0)
    for j, name in enumerate(["accuracy", "balanced_accuracy", "f1", "roc_area"]):
        part = found["metrics"][name]
        assert (part["low"], part["high"]) == pytest.approx((low[j], high[j]), rel=1e-12)


def test_regression_intervals_by_hand(files, capsys):
    found, model = evaluated(capsys, "--resamples", "30", train=["real", "--loss", "squared"])
    rng, predicted = np.random.default_rng(0), model.predict(X)
    drawn = [sk.r2_score(REAL[rows], predicted[rows]) for rows in (rng.integers(0, 60, 60) for _ in range(30))]
    part = found["metrics"]["r2"]
    assert (part["low"], part["high"]) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), rel=1e-10)


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    """Accuracy of a coin: in 200 samples of 50 rows, intervals of level 0.9 hold the true 0.7 in 80 to 97 of 100."""
    from fenchel.cli.intervals import intervals
    from fenchel.cli.quality import Quality, mean_of

    rng, hits = np.random.default_rng(1), 0
    for _ in range(200):
        right = rng.random(50) < 0.7
        found = intervals(Quality("", "rows", 50, [mean_of("accuracy", True, right)]), 200, 0, 0.9)["accuracy"]
        hits += found.low <= 0.7 <= found.high
    assert 0.80 <= hits / 200 <= 0.97


def test_a_model_that_is_not_certified_is_said_to_be_none(files, capsys):
    assert run("train", "two", "--alpha", "0.1", "--max-iter", "0", "--model", "m") == 3
    capsys.readouterr()
    assert run("evaluate", "m", "two", "--resamples", "0") == 0
    assert "model: MAX_ITER, relative gap" in capsys.readouterr().out


def test_undefined_is_said_not_invented(files, capsys):
    assert run("train", "two", "--alpha", "0.1", "--model", "m") == 0
    rows = TWO == 7
    write_svmlight("sevens", X[rows], TWO[rows])
    capsys.readouterr()
    assert run("evaluate", "m", "sevens") == 0
    shown = capsys.readouterr().out
    assert "roc area" in shown and "not defined" in shown
    assert run("evaluate", "m", "sevens", "--json", "--resamples", "9") == 0
    part = json.loads(capsys.readouterr().out)["metrics"]["roc_area"]
    assert part == {"value": None, "low": None, "high": None}


def test_ties_in_the_roc_area_count_a_half():
    z, positive = np.array([1.0, 1.0, 0.0, 2.0, 2.0]), np.array([True, False, False, True, False])
    counts = np.array([2.0, 1.0, 3.0, 1.0, 1.0])
    expected = sk.roc_auc_score(np.repeat(positive, counts.astype(int)), np.repeat(z, counts.astype(int)))
    assert roc_area(z, positive).value(counts) == pytest.approx(expected, rel=1e-14)


def test_the_table_names_what_was_counted(files, capsys):
    assert run("train", "two", "--alpha", "0.1", "--model", "m") == 0
    capsys.readouterr()
    assert run("evaluate", "m", "two", "--level", "0.9", "--resamples", "20") == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "classification: 60 rows of two" in shown.out
    assert "0.9 interval" in shown.out
    assert "model: CERTIFIED, relative gap" in shown.out
    assert "balanced accuracy" in shown.out


SENTENCES = [
    "the/DT/B-NP dog/NN/I-NP barks/VBZ/B-VP",
    "it/PRP/B-NP runs/VBZ/B-VP fast/RB/O",
    "dogs/NNS/B-NP bark/VBP/B-VP",
] * 4


def test_sequences(files, capsys):
    text = "\n\n".join("\n".join(token.replace("/", " ") for token in line.split()) for line in SENTENCES) + "\n"
    (files / "chunks").write_text(text)
    assert run("train", "chunks", "--columns", "--loss", "log", "--alpha", "0.1", "--model", "m") == 0
    capsys.readouterr()
    assert run("evaluate", "m", "chunks", "--json", "--resamples", "10") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["task"], found["unit"], found["count"]) == ("sequences", "sequences", 12)
    assert set(found["metrics"]) == {"span_f1", "token_accuracy", "sequence_accuracy", "span_precision", "span_recall"}
    (files / "bare").write_text("\n".join(" ".join(line.split()[:2]) for line in text.split("\n")))
    assert run("evaluate", "m", "bare") == 1
    assert "has no labels" in one_line(capsys)


def test_sequence_metrics_are_those_of_the_library():
    gold = [["B-NP", "I-NP", "O"], ["B-VP", "O"], ["B-NP"]]
    said = [["B-NP", "I-NP", "B-NP"], ["B-NP", "O"], ["B-NP"]]
    found = {metric.name: metric.value(np.ones(3)) for metric in sequence_quality(gold, said).metrics}
    chunks = fenchel.metrics.chunk_scores(gold, said)
    assert (found["span_precision"], found["span_recall"], found["span_f1"]) == pytest.approx(chunks[:3], rel=1e-14)
    assert found["token_accuracy"] == pytest.approx(1 - fenchel.metrics.token_error(gold, said), rel=1e-14)
    assert found["sequence_accuracy"] == pytest.approx(1 - fenchel.metrics.sequence_error(gold, said), rel=1e-14)
    tags = {m.name for m in sequence_quality([["x", "y"]], [["x", "x"]]).metrics}
    assert tags == {"token_accuracy", "sequence_accuracy"}  # labels that are no chunks


def test_quality_does_not_depend_on_the_order_of_labels(files):
    problem = fenchel.Problem(X, np.where(TWO == 7, 1, -1), loss="logistic", alpha=0.1)
    model = fenchel.Model.from_result(fenchel.solve(problem), labels=("no", "yes"))
    found = {m.name: m.value(np.ones(60)) for m in quality_of(model, X, (TWO == 7).astype(int)).metrics}
    assert found["accuracy"] == np.mean((model.predict(X) == "yes") == (TWO == 7))


FAILURES = {
    "no data": (["m", "nothing"], "nothing: No such file"),
    "no model": (["nothing", "two"], "nothing: No such file"),
    "no model file": (["two", "two"], "cannot be read as a model"),
    "level": (["m", "two", "--level", "1"], "--level must be between 0 and 1"),
    "resamples": (["m", "two", "--resamples", "-1"], "--resamples must be at least 0"),
    "seed": (["m", "two", "--seed", "-1"], "--seed must be at least 0"),
    "column": (["m", "two", "--target", "y"], "is read as svmlight text"),
    "no queries": (["ranker", "two"], "no query id"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_failures(case, files, capsys):
    assert run("train", "two", "--alpha", "0.1", "--model", "m") == 0
    assert run("train", "ranked", "--measure", "mrr", "--alpha", "0.1", "--model", "ranker") == 0
    capsys.readouterr()
    words, message = FAILURES[case]
    assert run("evaluate", *words) == 1
    assert message in one_line(capsys)


def test_leave_one_out_is_that_of_refits(files, capsys):
    assert run("train", "three", "--loss", "softmax", "--alpha", "0.05", "--model", "m") == 0
    capsys.readouterr()
    assert run("evaluate", "m", "three", "--loo", "--json") == 0
    found, wrong, n = json.loads(capsys.readouterr().out), 0, len(THREE)
    for i in range(n):
        keep = np.arange(n) != i
        rest = fenchel.solve(fenchel.Problem(X[keep], THREE[keep], "softmax", alpha=0.05), tol=1e-9)
        wrong += int(np.argmax(rest.coef @ X[i]) != THREE[i])
    assert found["error"]["low"] - 1e-12 <= wrong / n <= found["error"]["high"] + 1e-12
    assert found["count"] == n and found["decided"] >= 0.9 * n
    assert run("evaluate", "m", "three", "--loo") == 0
    assert "leave-one-out error (fraction of wrong labels)" in capsys.readouterr().out


def test_leave_one_out_needs_the_rows_of_the_fit(files, capsys):
    assert run("train", "two", "--loss", "logistic", "--alpha", "0.05", "--model", "m") == 0
    assert run("train", "three", "--loss", "logistic", "--alpha", "0.05", "--model", "several") == 0
    write_svmlight("fewer", X[1:], TWO[1:])
    capsys.readouterr()
    assert run("evaluate", "m", "fewer", "--loo") == 1
    assert "does not have the rows" in one_line(capsys)
    assert run("evaluate", "several", "three", "--loo") == 1
    assert "one problem per label" in one_line(capsys)
