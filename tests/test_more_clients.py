"""Programs that call Fenchel's models: ONNX Runtime, SHAP, optuna, imbalanced-learn, a notebook; each skipped where absent."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

import fenchel

RNG = np.random.default_rng(1)
X = RNG.normal(size=(80, 3))
SCORE = X @ [2.0, -1.0, 0.0] + 0.5 * RNG.normal(size=80)
LABELS = np.where(SCORE > 0, "yes", "no")
LEVELS = np.digitize(SCORE, [-1.0, 1.0])


@pytest.mark.parametrize("loss", ["logistic", "hinge", "softmax"])
def test_onnx_runtime_predicts_the_same(loss, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    y = LEVELS if loss == "softmax" else LABELS
    model = fenchel.Classifier(loss, alpha=0.05).fit(X, y)
    fenchel.export(model, tmp_path / "model.onnx", "onnx")
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, {"X": X}), strict=True))
    assert np.array_equal(found["label"].astype(y.dtype), model.predict(X))
    np.testing.assert_allclose(np.squeeze(found["scores"]), model.decision_function(X), rtol=1e-12, atol=1e-12)
    assert ("probabilities" in found) is (loss != "hinge")
    if loss != "hinge":
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), rtol=1e-12)


def test_onnx_runtime_predicts_numbers(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    model = fenchel.Regressor("poisson", alpha=0.05).fit(X, np.round(np.exp(0.3 * SCORE)))
    fenchel.export(model, tmp_path / "model.onnx", "onnx")
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    (found,) = session.run(["prediction"], {"X": X})
    np.testing.assert_allclose(found[:, 0], model.predict(X), rtol=1e-12)


def test_shap_explains_the_scores():
    """Values of a linear model are coef_j (x_j - mean x_j), and with the mean score they add up to the score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages that it imports
        shap = pytest.importorskip("shap")
        model = fenchel.Regressor(alpha=0.05).fit(X, SCORE)
        linear = shap.LinearExplainer(model, shap.maskers.Independent(X, max_samples=len(X)))(X)
        by_calls = shap.Explainer(model.predict, X, algorithm="exact")(X[:5])
    expected = model.coef_ * (X - X.mean(axis=0))
    np.testing.assert_allclose(linear.values, expected, atol=1e-9)
    np.testing.assert_allclose(by_calls.values, expected[:5], atol=1e-9)
    np.testing.assert_allclose(linear.base_values + linear.values.sum(axis=1), model.predict(X), atol=1e-9)


def test_optuna_searches_for_a_strength():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optuna = pytest.importorskip("optuna")
        optuna.logging.set_verbosity(optuna.logging.ERROR)

        def objective(trial):
            alpha = trial.suggest_float("alpha", 1e-3, 10.0, log=True)
            return cross_val_score(fenchel.Regressor(alpha=alpha, tol=1e-4), X, SCORE, cv=3).mean()

        study = optuna.create_study(
            direction="maximize", sampler=optuna.samplers.GridSampler({"alpha": [1e-3, 0.1, 10.0]})
        )
        study.optimize(objective, n_trials=3)
    direct = {
        a: cross_val_score(fenchel.Regressor(alpha=a, tol=1e-4), X, SCORE, cv=3).mean() for a in (1e-3, 0.1, 10.0)
    }
    assert study.best_params["alpha"] == max(direct, key=direct.__getitem__)
    assert study.best_value == max(direct.values())


def test_imbalanced_learn_resamples_before_a_fit():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("imblearn")
        from imblearn.over_sampling import RandomOverSampler
        from imblearn.pipeline import make_pipeline

        rare = np.where(SCORE > 2.0, 1, 0)
        whole = make_pipeline(RandomOverSampler(random_state=0), fenchel.Classifier("logistic", alpha=0.05)).fit(
            X, rare
        )
        rows, labels = RandomOverSampler(random_state=0).fit_resample(X, rare)
    alone = fenchel.Classifier("logistic", alpha=0.05).fit(rows, labels)
    assert alone.coef_.tobytes() == whole[-1].coef_.tobytes()
    assert whole.predict(X).sum() > rare.sum()  # or nothing was resampled


def test_a_notebook_shows_problems_results_and_paths(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cells = [
        "import fenchel\nproblem = fenchel.Problem([[1.0], [2.0], [3.0]], [1.0, 2.0, 2.5], loss='squared', alpha=0.1)\nproblem",
        "result = fenchel.solve(problem)\nresult",
        "fenchel.path(problem, [0.1, 1.0])",
        "fenchel.Regressor(alpha=0.1).fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 2.5])",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        environment = os.environ | {"IPYTHONDIR": str(tmp_path), "JUPYTER_ALLOW_INSECURE_WRITES": "1"}
        client = nbclient.NotebookClient(
            book, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
        )
        client.execute(env=environment)
    shown = [cell.outputs for cell in book.cells]
    assert all(len(outputs) == 1 for outputs in shown), "and nothing else is printed"
    pages = ["".join(outputs[0].data["text/html"]) for outputs in shown]
    for page, part in zip(pages, ("Problem", "CERTIFIED", "Path of 2 strengths", "Regressor"), strict=True):
        assert part in page
