"""What the command line does, from Python: exports, reports, views in notebooks, and names that other packages use."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel.cli import main
from fenchel.errors import ELSEWHERE, MODELS, InputError, UnknownNameError, called_elsewhere
from fenchel.losses import LOSSES
from fenchel.measures import MEASURES
from fenchel.models.export import FORMATS
from fenchel.multiclass import LOSSES as VECTOR_LOSSES
from fenchel.regularizers import REGULARIZERS
from fenchel.solvers import SOLVERS
from pages import PAYLOADS, Page

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
LABELS = (X[:, 0] + 0.3 * RNG.normal(size=60) > 0).astype(int)


@pytest.fixture(scope="module")
def model():
    return fenchel.Classifier("logistic", alpha=0.1).fit(X, LABELS)


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_export_writes_what_the_command_writes(model, format, tmp_path):
    if format == "onnx":
        pytest.importorskip("onnx")
    fenchel.export(model, tmp_path / "ours", format)
    model.save(tmp_path / "m")
    command = ["export", str(tmp_path / "m"), "--format", format, "-o", str(tmp_path / "theirs")]
    assert main(command) == 0
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    fenchel.export(fenchel.load(tmp_path / "m"), tmp_path / "ours", format)  # a model
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_export_of_a_result_and_of_infinite_numbers(tmp_path):
    bounds = fenchel.regularizers.Bounded(fenchel.regularizers.L2(0.1), lower=[0.0, -np.inf, -1.0])
    result = fenchel.solve(fenchel.Problem(X, 2.0 * LABELS - 1, loss="logistic", regularizer=bounds))
    fenchel.export(result, tmp_path / "out", "json")
    content = json.loads((tmp_path / "out").read_text(), parse_constant=lambda word: pytest.fail(word))
    assert np.array(content["arrays"]["coef"]).tobytes() == result.coef.tobytes()
    assert "-inf" in (tmp_path / "out").read_text()


def test_export_says_what_is_wrong(model, tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'onnx'"):
        fenchel.export(model, tmp_path / "out", "onx")
    with pytest.raises(InputError, match="got list"):
        fenchel.export([model], tmp_path / "out", "json")
    kernel = fenchel.KernelClassifier().fit(X, LABELS)
    with pytest.raises(InputError, match="cannot represent a kernel: use json"):
        fenchel.export(kernel, tmp_path / "out", "liblinear")
    assert not list(tmp_path.iterdir())


def test_an_estimator_writes_its_report(model, tmp_path):
    model.report(tmp_path / "short.html")
    model.report(tmp_path / "long.html", X, LABELS, title="Sixty rows")
    short, long = ((tmp_path / name).read_text(encoding="utf-8") for name in ("short.html", "long.html"))
    assert "Fenchel: Classifier" in short
    assert "Confusion" not in short
    assert "Sixty rows" in long
    assert len(long) > len(short)
    with pytest.raises(InputError, match="both X and y"):
        model.report(tmp_path / "x.html", X)
    ranker = fenchel.Ranker(alpha=0.1).fit(X, LABELS, qid=np.arange(60) // 10)
    ranker.report(tmp_path / "ranker.html", X, LABELS, qid=np.arange(60) // 10)
    assert (tmp_path / "ranker.html").exists()


# --- views ------------------------------------------------------------------------------------------------------------


def test_the_repr_of_a_result_is_one_line():
    result = fenchel.solve(fenchel.Problem(np.tile(X, (1, 50)), 2.0 * LABELS - 1, loss="hinge", alpha=0.1))
    assert len(repr(result)) < 160
    assert "\n" not in repr(result)
    assert all(part in repr(result) for part in ("CERTIFIED", "150 coefficients", result.solver, "relative gap"))


PROBLEMS = {
    "dense": lambda: fenchel.Problem(X, 2.0 * LABELS - 1, loss="hinge", alpha=0.1),
    "sparse": lambda: fenchel.Problem(sp.csr_matrix(X), 2.0 * LABELS - 1, loss="hinge", alpha=0.1, fit_intercept=True),
    "several": lambda: fenchel.Problem(X, LABELS + (X[:, 1] > 1), loss="softmax", regularizer="l1", alpha=0.1),
    "measure": lambda: fenchel.Problem(X, 2.0 * LABELS - 1, loss="roc_area", alpha=0.1),
    "kernel": lambda: fenchel.kernel_methods.KernelProblem(X, 2.0 * LABELS - 1, loss="hinge", alpha=0.1),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_is_a_small_table(name):
    problem = PROBLEMS[name]()
    page = Page(problem._repr_html_())
    assert page.tags == {"table", "caption", "tbody", "tr", "th", "td"}
    assert "60" in problem._repr_html_()
    assert ("free" in problem._repr_html_()) is (name == "sparse")


def test_a_path_is_a_table_with_the_middle_left_out():
    problem = fenchel.Problem(X, X[:, 0], loss="squared", regularizer="l1", alpha=1.0)
    path = fenchel.path(problem, np.geomspace(1e-3, 1.0, 5))
    html = path._repr_html_()
    assert html.count("<tr>") == 6
    assert html.count("CERTIFIED") == 5
    assert all(f"<td>{np.count_nonzero(result.coef)}</td>" in html for result in path)
    long = fenchel.estimators.path.Path(np.tile(path.alphas, 10), path.results * 10)._repr_html_()
    assert "30 more" in long
    assert long.count("CERTIFIED") == 20
    assert fenchel.estimators.path.Path(path.alphas[:0], ())._repr_html_().count("<tr>") == 1


@pytest.mark.parametrize("payload", PAYLOADS[:3])
def test_views_of_problems_are_safe(payload):
    problem = PROBLEMS["dense"]()
    plain = Page(problem._repr_html_()).elements
    problem.__dict__["loss"] = payload
    assert Page(problem._repr_html_()).elements == plain


# --- names ------------------------------------------------------------------------------------------------------------

KNOWN = {name for registry in (LOSSES, VECTOR_LOSSES, MEASURES, REGULARIZERS, SOLVERS) for name in registry}


def test_hints_name_what_there_is_and_never_hide_a_name():
    for elsewhere, here in ELSEWHERE.items():
        assert set(here.split()) <= KNOWN, elsewhere
        assert elsewhere not in here.split()
    assert set(MODELS) <= set(ELSEWHERE)


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("mse", "It is called 'squared' here"), ("MSE", "'squared'"), ("lasso", "loss='squared' with regularizer='l1'"),
        ("svm", "It is called 'hinge' here"), ("ridge", "loss='squared' with regularizer='l2'"),
        ("cross-entropy", "'logistic'"),
    ],
)  # fmt: skip
def test_a_loss_that_is_called_otherwise(typed, says):
    with pytest.raises(UnknownNameError) as caught:
        fenchel.Problem(X, 2.0 * LABELS - 1, loss=typed, alpha=0.1)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("typed", "says"), [("lasso", "'l1'"), ("ridge", "'l2'"), ("none", "'no_penalty'"), ("elasticnet", "'elastic_net'")]
)
def test_a_penalty_that_is_called_otherwise(typed, says):
    with pytest.raises(UnknownNameError) as caught:
        fenchel.Problem(X, 2.0 * LABELS - 1, loss="hinge", regularizer=typed, alpha=0.1)
    assert f"It is called {says} here" in str(caught.value)


def test_an_estimator_knows_the_names_of_all_its_losses():
    with pytest.raises(UnknownNameError, match="It is called 'max_hinge' here"):
        fenchel.Classifier(loss="crammer_singer").fit(X, LABELS)


def test_at_the_terminal_too(tmp_path, capsys):
    (tmp_path / "rows").write_text("1 1:1\n-1 1:2\n")
    assert main(["train", str(tmp_path / "rows"), "--loss", "svm", "--model", str(tmp_path / "m")]) in (1, 2)
    assert "called 'hinge' here" in capsys.readouterr().err


def test_names_without_another_name_get_the_nearest():
    assert called_elsewhere("hingge", KNOWN) == ""
