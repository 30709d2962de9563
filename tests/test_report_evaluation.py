"""What a report computes about evaluation rows, against independent answers; formulas for everything registered."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from scipy.stats import binomtest
from sklearn import metrics
from sklearn.datasets import load_iris

import fenchel
from fenchel import losses, measures, multiclass, regularizers, structured
from fenchel.report import write_page
from fenchel.report.evaluation import equal_groups, evaluate, histogram, reliability, roc, wilson
from fenchel.report.formulas import FORMULAS, OBJECTIVES, STRUCTURED, formula, objective
from fenchel.report.mathml import math
from fenchel.report.subject import run_of
from pages import Page


@pytest.fixture(scope="module")
def two():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(230, 3)).round(1)  # ties in the scores
    y = np.where(X @ [1.0, -1.0, 0.5] + rng.normal(size=230) > 0.3, 1.0, -1.0)
    return X, y, fenchel.solve(fenchel.Problem(X, y, loss="logistic", alpha=0.1, fit_intercept=True), tol=1e-4)


def test_two_classes(two, tmp_path):
    X, y, result = two
    found = evaluate(run_of(result, "r"), X, y)
    z = X @ result.coef + result.intercept
    pairs = [
        (z[i] > z[j]) + 0.5 * (z[i] == z[j]) for i, j in itertools.product(np.flatnonzero(y > 0), np.flatnonzero(y < 0))
    ]
    assert found.numbers["Area under the ROC curve"][0] == pytest.approx(np.mean(pairs), abs=1e-12)
    p = 1.0 / (1.0 + np.exp(-z))
    assert found.numbers["Mean log loss"][0] == pytest.approx(metrics.log_loss(y, p), rel=1e-12)
    assert found.numbers["Brier score"][0] == pytest.approx(metrics.brier_score_loss(y, p, pos_label=1.0), rel=1e-12)
    predicted = np.where(z > 0, 1.0, -1.0)
    assert found.numbers["Balanced accuracy"][0] == pytest.approx(
        metrics.balanced_accuracy_score(y, predicted), rel=1e-12
    )
    counts = metrics.confusion_matrix(y, predicted)
    np.testing.assert_array_equal(found.confusion[1], counts)
    write_page(tmp_path / "p.html", result, data=(X, y))
    page = Page((tmp_path / "p.html").read_text())
    assert page.numbers("count") == counts.ravel().tolist()
    assert "These are the training rows" in page.text
    write_page(tmp_path / "p.html", result, data=(X[:100], y[:100]))
    assert "These are the training rows" not in (tmp_path / "p.html").read_text()


def test_an_interval_is_that_of_wilson():
    for right, total in [(0, 5), (5, 5), (45, 50), (1, 1), (333, 1000)]:
        share, low, high = wilson(right, total)
        expected = binomtest(right, total).proportion_ci(0.95, method="wilson")
        assert (share, low, high) == pytest.approx((right / total, expected.low, expected.high), abs=1e-12)


def test_groups_hold_every_row_once_and_no_group_is_small():
    rng = np.random.default_rng(0)
    for values in (rng.random(137), np.repeat([0.2, 0.7], 50), np.zeros(30), rng.random(3)):
        groups = equal_groups(values)
        np.testing.assert_array_equal(np.sort(np.concatenate(groups)), np.arange(values.size))
        assert all(len(group) >= min(10, values.size) for group in groups)
        ends = [(values[group].min(), values[group].max()) for group in groups]
        assert all(a[1] < b[0] for a, b in itertools.pairwise(ends))


def test_calibration_of_a_calibrated_forecast_is_on_the_diagonal():
    rng = np.random.default_rng(3)
    p = rng.random(20_000)
    columns = reliability(p, rng.random(p.size) < p)
    assert sum(columns["rows"]) == p.size
    inside = [
        low <= q <= high for q, low, high in zip(*(columns[k] for k in ("predicted", "low", "high")), strict=True)
    ]
    assert sum(inside) >= 8
    wrong = reliability(p, rng.random(p.size) < p**3)
    assert max(abs(a - b) for a, b in zip(wrong["predicted"], wrong["observed"], strict=True)) > 0.2


def test_a_curve_that_is_thinned_keeps_its_ends_and_the_area_of_all_points():
    rng = np.random.default_rng(4)
    positive = rng.random(5000) < 0.4
    scores = rng.normal(size=5000) + positive
    columns, area = roc(positive, scores)
    assert len(columns["false_positive"]) <= 160
    assert (columns["false_positive"][0], columns["true_positive"][0]) == (0.0, 0.0)
    assert (columns["false_positive"][-1], columns["true_positive"][-1]) == (1.0, 1.0)
    assert area == pytest.approx(metrics.roc_auc_score(positive, scores), abs=1e-12)


@pytest.mark.parametrize("loss", ["absolute", "poisson"])
def test_regression(loss):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(90, 2))
    y = np.floor(np.exp(X @ [0.5, -0.3] + rng.normal(size=90)))
    result = fenchel.solve(fenchel.Problem(X, y, loss=loss, alpha=0.01, fit_intercept=True), tol=1e-4)
    found = evaluate(run_of(result, "r"), X, y)
    predicted = X @ result.coef + result.intercept
    predicted = np.exp(predicted) if loss == "poisson" else predicted
    assert found.numbers["R²"][0] == pytest.approx(metrics.r2_score(y, predicted), rel=1e-9)
    assert found.numbers["Mean absolute error"][0] == pytest.approx(metrics.mean_absolute_error(y, predicted), rel=1e-9)
    assert found.numbers["Root mean squared error"][0] == pytest.approx(
        metrics.root_mean_squared_error(y, predicted), rel=1e-9
    )
    assert sum(found.histogram["rows"]) == 90
    columns = found.by_prediction
    assert sum(columns["rows"]) == 90
    weighted = np.average(columns["mean"], weights=columns["rows"])
    assert weighted == pytest.approx(found.numbers["Mean residual"][0], abs=1e-12)


@pytest.mark.parametrize(
    "values", [[1.0], [0.0, 0.0], [1e-9, 2e-9], [-1e12, 5.0, 1e12], [0.1, 0.2, 0.30000000000000004]]
)
def test_a_histogram_counts_every_row_between_round_edges(values):
    columns = histogram(np.array(values))
    assert sum(columns["rows"]) == len(values)
    edges = [*columns["from"], columns["to"][-1]]
    np.testing.assert_allclose(np.diff(edges), edges[1] - edges[0], rtol=1e-9)
    assert edges[0] <= min(values)
    assert max(values) <= edges[-1]


def test_many_classes_are_the_worst_confusions(tmp_path):
    rng = np.random.default_rng(7)
    y = np.arange(200) % 20
    X = np.eye(20)[y] + 0.8 * rng.normal(size=(200, 20))
    result = fenchel.solve(fenchel.Problem(X, y, loss="softmax", alpha=0.1), tol=1e-2)
    write_page(tmp_path / "p.html", result, data=(X, y))
    page = Page((tmp_path / "p.html").read_text())
    assert "The most frequent confusions of 20 labels" in page.text
    assert page.data["evaluation"][0]["Accuracy"][0] == np.mean(np.argmax(X @ result.coef.T, axis=1) == y)


@pytest.mark.parametrize("loss", ["softmax", "max_hinge"])
def test_three_classes_have_a_curve_each(loss, tmp_path):
    X, y = load_iris(return_X_y=True)
    result = fenchel.solve(fenchel.Problem(X, y, loss=loss, alpha=0.1), tol=1e-3)
    found = evaluate(run_of(result, "r"), X, y)
    Z = X @ result.coef.T
    if loss == "softmax":
        area = metrics.roc_auc_score(y, softmax(Z, axis=1), multi_class="ovr")
    else:  # by how much a class beats the best of the others
        beats = [np.array([row[k] - max(row[j] for j in range(3) if j != k) for row in Z]) for k in range(3)]
        area = np.mean([metrics.roc_auc_score(y == k, beats[k]) for k in range(3)])
    assert found.numbers["Area under the ROC curve, mean over labels"][0] == pytest.approx(area, rel=1e-12)
    assert list(found.roc) == ["0", "1", "2"]
    write_page(tmp_path / "p.html", result, data=(X, y))
    about = Page((tmp_path / "p.html").read_text()).data["charts"]["roc"]
    assert [curve["name"] for curve in about["curves"]] == ["0", "1", "2"]


def test_rankings_are_measured_by_query():
    rng = np.random.default_rng(2)
    X, groups = rng.normal(size=(60, 2)), np.repeat(np.arange(6), 10)
    y = (X[:, 0] + rng.normal(size=60) > 1).astype(float)
    result = fenchel.solve(fenchel.Problem(X, y, loss="ndcg", groups=groups, alpha=0.1), tol=1e-2)
    found = evaluate(run_of(result, "r"), X, y, groups)
    z = X @ result.coef
    relevant = [g for g in range(6) if y[groups == g].any()]
    expected = [metrics.ndcg_score(y[None, groups == g], z[None, groups == g], k=10) for g in relevant]  # gains 0 and 1
    assert found.numbers["NDCG of the first 10"][0] == pytest.approx(np.mean(expected), rel=1e-12)
    first = [1 + (z[groups == g] > z[(groups == g) & (y > 0)].max()).sum() for g in relevant]
    assert found.numbers["Mean reciprocal rank"][0] == pytest.approx(np.mean(1.0 / np.array(first)), rel=1e-12)
    assert "groups" in evaluate(run_of(result, "r"), X, y).note


def test_novelty(tmp_path):
    X = np.random.default_rng(8).normal(size=(50, 2)) + 3.0
    result = fenchel.solve(fenchel.Problem(X, loss="novelty", alpha=0.1), tol=1e-3)
    found = evaluate(run_of(result, "r"), X, np.zeros(50))
    assert found.numbers["Fraction predicted to be novel"][0] == np.mean(X @ result.coef < 1.0)


# ---- formulas

REGISTERED = {**losses.LOSSES, **multiclass.LOSSES, **measures.MEASURES, **regularizers.REGULARIZERS}


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_everything_registered_has_a_formula(name):
    assert REGISTERED[name].__name__ in FORMULAS


def test_every_formula_is_well_formed():
    allowed = {
        "math",
        "mrow",
        "mi",
        "mn",
        "mo",
        "mtext",
        "mspace",
        "mfrac",
        "msqrt",
        "msub",
        "msup",
        "msubsup",
        "munder",
    }
    allowed |= {"mover", "munderover"}
    children = {"mfrac": 2, "msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2, "munderover": 3, "msqrt": 1}
    for tex in [*(pair[0] for pair in (*FORMULAS.values(), *STRUCTURED.values()))]:
        tree = ElementTree.fromstring(math(tex))
        assert {node.tag for node in tree.iter()} <= allowed, tex
        assert all(len(node) == children[node.tag] for node in tree.iter() if node.tag in children), tex
    for family in OBJECTIVES:
        for intercept in (False, True):
            ElementTree.fromstring(objective(family, intercept))


def test_formulas_show_parameters_and_what_is_inside():
    assert "margin</i> = 0.5" in formula(losses.Hinge(0.5))
    nested = formula(losses.Moreau(losses.Hinge(), 0.25))
    assert "<strong>Moreau</strong>" in nested
    assert "<strong>Hinge</strong>" in nested
    assert "γ</i> = 0.25" in nested
    assert "α</i> = 0.01" in formula(regularizers.L1(0.01))
    assert "log" in formula(structured.Chain(loss="log"))
    assert "<strong>CostHinge</strong>" in formula(multiclass.CostHinge([[0.0, 1.0], [2.0, 0.0]]))


def number_of(tex: str, **names: float) -> float:
    """The value of a formula without sums: read in another way than the page reads it."""
    if tex.startswith(r"\min_x"):
        body = tex.removeprefix(r"\min_x")
        found = minimize_scalar(lambda x: number_of(body, x=x, **names), bracket=(-9.0, 9.0), tol=1e-12)
        return float(found.fun)
    text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", tex)
    text = re.sub(r"\\lvert(.*?)\\rvert", r" abs(\1) ", text)
    text = re.sub(r"\\[,;]", " ", text).replace("^", "**")
    text = re.sub(r"\\([a-z]+)", r" \1 ", text)
    text = re.sub(r"(?<=[\w)])\s+(?=[\w(])|(?<=\))(?=\()|(?<=\d)(?=[a-z(])", "*", re.sub(r"\s+", " ", text).strip())
    text = re.sub(r"\b(max|min|log|exp|abs)\*?\s*\(", r"\1(", text)
    space = {"max": max, "min": min, "log": np.log, "exp": np.exp, "abs": abs}
    return float(eval(text, space, names))


@pytest.mark.parametrize(
    ("loss", "names"),
    [
        (losses.Absolute(), {}),
        (losses.EpsilonInsensitive(0.2, 1.5), {"epsilon": 0.2, "p": 1.5}),
        (losses.Exponential(), {}),
        (losses.Hinge(0.7), {"rho": 0.7}),
        (losses.Huber(0.4), {"delta": 0.4}),
        (losses.Logistic(), {}),
        (losses.Novelty(), {}),
        (losses.Poisson(), {}),
        (losses.PowerHinge(1.5), {"p": 1.5}),
        (losses.Quantile(0.3), {"tau": 0.3}),
        (losses.SmoothedHinge(0.6), {"gamma": 0.6}),
        (losses.Squared(), {}),
        (losses.SquaredHinge(0.7), {"rho": 0.7}),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, dict) else "",
)
def test_the_formula_on_the_page_is_the_loss(loss, names):
    tex = FORMULAS[type(loss).__name__][0]
    close = 1e-7 if "min_x" in tex else 1e-12  # a search for the minimum has an end
    for z in (-2.0, -0.3, 0.4, 0.69, 1.7):
        y = 1.0 if "+1" in loss.target_rule or isinstance(loss, losses.Poisson) else 0.25
        for target in (y, -y) if "+1" in loss.target_rule else (y,):
            scope = {"z": z, "y": target, **names}
            assert number_of(tex, **scope) == pytest.approx(loss.value(z, target), abs=close), (tex, z, target)
