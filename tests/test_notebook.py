"""Manners in a notebook and among scikit-learn's tools: small safe views, callbacks, output of frames, silence, threads."""

from __future__ import annotations

import logging
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fenchel
from fenchel import Classifier, IncompleteCholesky, KernelClassifier, NoveltyDetector, Regressor
from fenchel.result import Certificate, Status
from pages import PAYLOADS, Page


@pytest.fixture(scope="module")
def binary():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 5))
    return X, np.where(X[:, 0] - X[:, 1] + rng.normal(size=200) > 0, "yes", "no")


@pytest.fixture(scope="module")
def result(binary):
    X, y = binary
    return fenchel.solve(fenchel.Problem(X, np.where(y == "yes", 1.0, -1.0), loss="logistic", alpha=0.1))


# ---- views


def test_a_result_and_a_certificate_are_small_tables(result):
    for thing in (result, result.certificate):
        page = Page(thing._repr_html_())
        assert page.tags == {"table", "caption", "tbody", "tr", "th", "td"}
        assert len(thing._repr_html_()) < 2000
        for value in (result.certificate.primal, result.certificate.dual):
            assert f"{value:.10g}" in page.text
        assert f"{result.certificate.relative_gap:.3g}" in page.text
    assert "✓ CERTIFIED" in result._repr_html_()
    stopped = replace(result, status=Status.MAX_ITER)
    assert "! MAX_ITER" in stopped._repr_html_()
    assert "raise max_iter" in stopped._repr_html_()


def test_views_are_safe(result):
    plain = Page(replace(result, solver="x")._repr_html_()).elements
    for payload in PAYLOADS:
        certificate = Certificate(1.0, float("-inf"), payload, float("nan"))
        hostile = replace(result, solver=payload, certificate=certificate)
        assert Page(hostile._repr_html_()).elements == plain
        assert Page(certificate._repr_html_()).tags == {"table", "caption", "tbody", "tr", "th", "td"}


@pytest.mark.parametrize("fitted", [False, True])
def test_diagrams_show_estimators_inside_others(binary, fitted):
    X, y = binary
    search = GridSearchCV(
        make_pipeline(StandardScaler(), Classifier("logistic", tol=1e-3)), {"classifier__alpha": [1.0, 0.1]}
    )
    html = (search.fit(X, y) if fitted else search)._repr_html_()
    for name in ("GridSearchCV", "Pipeline", "StandardScaler", "Classifier"):
        assert name in html
    assert search._repr_mimebundle_()["text/html"]


def test_frames_come_out_where_frames_are_asked_for():
    frame = load_iris(as_frame=True)
    parts = make_column_transformer(
        (IncompleteCholesky(max_rank=5), list(frame.data.columns[:2])), remainder="passthrough"
    )
    table = parts.set_output(transform="pandas").fit_transform(frame.data)
    assert list(table.columns) == list(parts.get_feature_names_out())
    assert table.index.equals(frame.data.index)
    alone = IncompleteCholesky(max_rank=3).set_output(transform="pandas").fit(frame.data)
    assert list(alone.transform(frame.data).columns) == [f"incompletecholesky{k}" for k in range(3)]


@pytest.mark.parametrize(
    "model",
    [
        Classifier("logistic", tol=1e-3),
        Classifier("softmax", tol=1e-3),
        KernelClassifier("logistic", tol=1e-3),
        NoveltyDetector(),
        Regressor(),
    ],
    ids=lambda model: f"{type(model).__name__}-{getattr(model, 'loss', '')}",
)
def test_fitted_estimators_survive_pickling_and_cloning(binary, model):
    X, y = binary
    target = (y == "yes") * 1.0 if isinstance(model, Regressor) else y
    fitted = clone(model).fit(X, target)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert again.certificate_ == fitted.certificate_
    assert not hasattr(clone(fitted), "certificate_")
    assert clone(fitted).get_params() == fitted.get_params()


# ---- silence and threads


def test_nothing_is_printed_and_logging_says_what_happened(binary, capfd, caplog, tmp_path):
    X, y = binary
    with caplog.at_level(logging.INFO, logger="fenchel"):
        model = Classifier("logistic", alpha=0.1).fit(X, y)
        fenchel.report.write_page(tmp_path / "p.html", model, data=(X, y))
        GridSearchCV(Regressor(), {"alpha": [0.1, 1.0]}, cv=2).fit(X, (y == "yes") * 1.0)
    assert capfd.readouterr() == ("", "")
    lines = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("CERTIFIED by ") and "gap" in line for line in lines)
    assert any("p.html" in line for line in lines)
    assert {record.levelno for record in caplog.records} == {logging.INFO}


def test_two_fits_at_once_give_the_bits_of_one_after_another(binary):
    X, y = binary

    def bits(seed: int) -> bytes:
        rows = np.random.default_rng(seed).permutation(200)[:150]
        model = Classifier("logistic" if seed % 2 else "hinge", alpha=0.01).fit(X[rows], y[rows])
        return model.coef_.tobytes() + model.intercept_.tobytes() + model.dual_coef_.tobytes()

    serial = [bits(seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(bits, range(8))) == serial


# ---- scikit-learn's callbacks


class Recorder:
    """A callback as scikit-learn defines them; stops the iterations after `most` of them."""

    def __init__(self, most: int = 10**9):
        self.events: list[tuple[str, str]] = []
        self.scores: list[float] = []
        self.most = most

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.events.append(("end", context.task_name))
        if fitted_estimator is not None:
            self.scores.append(fitted_estimator.score(X, y))
        return len(self.scores) >= self.most


@pytest.fixture
def callbacks():
    return pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_callbacks_see_the_solves_the_iterations_and_the_model(callbacks, binary, loss):
    X, y = binary
    seen = Recorder()
    model = Classifier(loss, alpha=0.1, solver="lbfgs").set_callbacks(seen).fit(X, y)
    plain = Classifier(loss, alpha=0.1, solver="lbfgs").fit(X, y)
    assert model.coef_.tobytes() == plain.coef_.tobytes()  # being watched changes nothing
    assert seen.events[:3] == [("setup", "fit"), ("begin", "fit"), ("begin", "solve")]
    assert seen.events[-3:] == [("end", "solve"), ("end", "fit"), ("teardown", "fit")]
    begun = [name for kind, name in seen.events if kind == "begin"]
    assert sorted(begun) == sorted(name for kind, name in seen.events if kind == "end")
    assert len(seen.scores) >= model.n_iter_
    assert seen.scores[-1] == pytest.approx(model.score(X, y), abs=0.02)


def test_callbacks_may_stop_a_solve(callbacks, binary):
    X, y = binary
    model = Classifier("logistic", alpha=1e-4, tol=1e-12, solver="lbfgs").set_callbacks(Recorder(most=3))
    with pytest.warns(ConvergenceWarning, match="STOPPED_BY_CALLBACK"):
        model.fit(X, y)
    assert model.status_ is Status.STOPPED_BY_CALLBACK
    assert np.isfinite(model.dual_gap_)


def test_callbacks_are_torn_down_when_a_fit_fails(callbacks, binary):
    X, y = binary
    seen = Recorder()
    with pytest.raises(fenchel.errors.FenchelError):
        Classifier("logistic", alpha=-1.0).set_callbacks(seen).fit(X, y)
    with pytest.raises(fenchel.errors.FenchelError):
        Regressor("squared", solver="dual_ascent", regularizer="l1").set_callbacks(seen).fit(X, (y == "yes") * 1.0)
    assert [kind for kind, _ in seen.events].count("setup") == [kind for kind, _ in seen.events].count("teardown")


def test_one_against_the_rest_and_kernels_have_a_task_per_solve(callbacks):
    X, y = load_iris(return_X_y=True)
    for model in (Classifier("logistic", tol=1e-2), KernelClassifier("logistic", tol=1e-2)):
        seen = Recorder()
        model.set_callbacks(seen).fit(X, y)
        assert seen.events.count(("end", "solve")) == 3
        pickle.loads(pickle.dumps(model)).predict(X)


def test_scikit_learns_own_callbacks_work_on_ours_and_around_them(callbacks, binary, capfd):
    X, y = binary
    monitor = callbacks.ScoringMonitor(scoring="accuracy")
    model = Classifier("logistic", alpha=0.1).set_callbacks(monitor).fit(X, y)
    logged = [entry["accuracy"] for entry in monitor.get_logs().data if "accuracy" in entry]
    assert logged
    assert logged[-1] == pytest.approx(model.score(X, y), abs=0.02)
    pipeline = make_pipeline(StandardScaler(), Classifier("logistic", tol=1e-3))
    search = GridSearchCV(pipeline, {"classifier__alpha": [1.0, 0.1]}, cv=2)
    search.set_callbacks(callbacks.ProgressBar()).fit(X, y)
    assert search.best_score_ > 0.7
    capfd.readouterr()  # the bar is scikit-learn's to draw
