"""Decisions of models and estimators that are called proven are those of the exact optimum; solves that stop by decisions."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

import fenchel
from cli_case import TWO, X, run
from fenchel.errors import InputError
from fenchel.models.model import Model

IRIS, SPECIES = load_iris(return_X_y=True)
IRIS = IRIS - IRIS.mean(axis=0)
NEW = IRIS[::2] + 0.3 * np.random.default_rng(0).standard_normal(IRIS[::2].shape)


def scores(results, rows):
    return np.column_stack([rows @ r.coef.T + r.intercept for r in results])


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("regularizer", ["l2", "elastic_net"])
@pytest.mark.parametrize("intercept", [False, True])
def test_models_of_one_and_of_several_problems(loss, regularizer, intercept):
    proven = 0
    for labels in ([1], [0, 1, 2]):
        problems = [
            fenchel.Problem(IRIS, np.where(k == SPECIES, 1.0, -1.0), loss, regularizer, 0.05, fit_intercept=intercept)
            for k in labels
        ]
        exact = scores([fenchel.solve(p, tol=1e-12, max_time=10.0) for p in problems], NEW)
        for tol in (1e-1, 1e-3, 1e-6):
            results = [fenchel.solve(p, tol=tol) for p in problems]
            model = Model.from_results(results, labels=["no", "yes"] if len(labels) == 1 else ["a", "b", "c"])
            certain, now = model.certain(NEW), scores(results, NEW)
            same = (now > 0.0) == (exact > 0.0) if len(labels) == 1 else now.argmax(axis=1) == exact.argmax(axis=1)
            assert np.all(np.ravel(same)[certain])
            assert np.array_equal(certain, model.certain(sp.csr_matrix(NEW)))
            if len(labels) == 1:  # the result itself proves at least as much
                assert np.all(results[0].certain(NEW)[certain])
            proven += certain.sum()
    assert proven > len(NEW)


def test_models_of_several_scores_and_constants():
    result = fenchel.solve(fenchel.Problem(IRIS, SPECIES, "softmax", alpha=0.01), tol=1e-5)
    exact = fenchel.solve(result.problem, tol=1e-12)
    certain = Model.from_result(result, labels=["a", "b", "c"]).certain(NEW)
    assert np.array_equal((NEW @ exact.coef.T).argmax(1)[certain], (NEW @ result.coef.T).argmax(1)[certain])
    assert certain.mean() > 0.9
    y = np.where(SPECIES == 1, 1.0, -1.0)
    with_one = np.column_stack([IRIS, np.full(len(y), 2.0)])
    result = fenchel.solve(fenchel.Problem(with_one, y, "logistic", alpha=0.01), tol=1e-4)
    model = Model.from_result(result, labels=["no", "yes"], constant=2.0)
    assert np.array_equal(model.certain(NEW), model.certain(NEW[:, ::1]))
    assert np.all(result.certain(np.column_stack([NEW, np.full(len(NEW), 2.0)]))[model.certain(NEW)])


def test_what_a_file_keeps(tmp_path):
    y = np.where(SPECIES == 1, 1.0, -1.0)
    result = fenchel.solve(fenchel.Problem(IRIS, y, "logistic", alpha=0.01, fit_intercept=True), tol=1e-4)
    model = Model.from_result(result, labels=["no", "yes"])
    fenchel.save(tmp_path / "m", model)
    again = fenchel.load(tmp_path / "m")
    assert again.intercept_bounds == model.intercept_bounds and np.array_equal(again.certain(NEW), model.certain(NEW))
    assert fenchel.Classifier.load(tmp_path / "m").predict_certain(NEW).sum() == model.certain(NEW).sum() > 0


def test_estimators():
    y = np.where(SPECIES == 1, "yes", "no")
    model = fenchel.Classifier("hinge", alpha=0.01, fit_intercept=False, tol=1e-4).fit(IRIS, y)
    exact = fenchel.Classifier("hinge", alpha=0.01, fit_intercept=False, tol=1e-11).fit(IRIS, y)
    certain = model.predict_certain(NEW)
    assert certain.any() and np.array_equal(model.predict(NEW)[certain], exact.predict(NEW)[certain])
    free = fenchel.Classifier("logistic", alpha=0.01).fit(IRIS, y)
    with pytest.raises(InputError, match="training rows bound the free intercept"):
        free.predict_certain(NEW)
    with pytest.raises(InputError, match="training rows have the labels"):
        free.predict_certain(NEW, training=(IRIS, SPECIES))
    with pytest.raises(InputError, match="not strongly convex"):
        fenchel.Classifier("logistic", "l1", alpha=0.01, fit_intercept=False).fit(IRIS, y).predict_certain(NEW)
    with pytest.raises(InputError, match="no decisions with a proof"):
        Model.from_result(fenchel.solve(fenchel.Problem(IRIS, IRIS[:, 0], "squared"))).certain(NEW)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "softmax"])
def test_a_solve_stops_when_no_decision_can_change(loss):
    y = SPECIES if loss == "softmax" else np.where(SPECIES == 1, 1.0, -1.0)
    problem = fenchel.Problem(IRIS, y, loss, alpha=0.01, fit_intercept=loss != "softmax")
    exact = fenchel.solve(problem, tol=1e-11, max_time=10.0)
    z = IRIS @ exact.coef.T + exact.intercept
    clear = (np.abs(z) if z.ndim == 1 else np.diff(np.sort(z, axis=1))[:, -1]) > 0.2
    result = fenchel.solve(problem, tol=1e-11, until=fenchel.Decisions(IRIS[clear]))
    assert result.status is fenchel.Status.DECIDED and not result.converged
    now = IRIS[clear] @ result.coef.T + result.intercept
    assert (
        np.array_equal(now > 0.0, z[clear] > 0.0) if z.ndim == 1 else np.array_equal(now.argmax(1), z[clear].argmax(1))
    )
    assert result.certificate.relative_gap > exact.certificate.relative_gap and result.n_iter <= exact.n_iter
    never = fenchel.solve(problem, tol=1e-5, until=fenchel.Decisions(np.zeros((1, 4)))) if loss == "softmax" else None
    assert never is None or never.status is fenchel.Status.CERTIFIED  # a tie is never decided


def test_until_is_refused_where_nothing_is_ever_proven():
    until, y = fenchel.Decisions(IRIS), np.where(SPECIES == 1, 1.0, -1.0)
    with pytest.raises(InputError, match="not strongly convex"):
        fenchel.solve(fenchel.Problem(IRIS, y, "logistic", "l1"), until=until)
    with pytest.raises(InputError, match="does not classify"):
        fenchel.solve(fenchel.Problem(IRIS, IRIS[:, 0], "squared"), until=until)
    with pytest.raises(InputError, match="free intercepts"):
        fenchel.solve(fenchel.Problem(IRIS, SPECIES, "softmax", fit_intercept=True), until=until)
    with pytest.raises(InputError, match="until must be"):
        fenchel.solve(fenchel.Problem(IRIS, y, "logistic"), until=3)


def test_the_command_line_adds_a_column(tmp_path, monkeypatch, capsys):
    from fenchel.readers.svmlight.write import write_svmlight

    monkeypatch.chdir(tmp_path)
    write_svmlight("two", X, TWO)
    assert (
        run("train", "two", "--loss", "logistic", "--intercept", "--alpha", "0.05", "--tol", "1e-3", "--model", "m")
        == 0
    )
    capsys.readouterr()
    assert run("predict", "m", "two", "--certain") == 0
    shown, model = capsys.readouterr(), fenchel.load("m")
    rows = np.array([line.split() for line in shown.out.splitlines()], dtype=int)
    assert np.array_equal(rows[:, 0], model.predict(X)) and np.array_equal(rows[:, 1] == 1, model.certain(X))
    assert f"{model.certain(X).sum()} of 60 labels are those of the exact optimum (proven)" in shown.err
    assert run("predict", "m", "two", "--certain", "--csv", "--quiet") == 0
    assert capsys.readouterr().out.splitlines()[0].replace('"', "") == "prediction,certain"
    assert run("train", "two", "--loss", "logistic", "--penalty", "l1", "--model", "n") == 0
    capsys.readouterr()
    assert run("predict", "n", "two", "--certain") == 1
    assert "not strongly convex" in capsys.readouterr().err


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_fitted_estimator_with_an_intercept_takes_the_training_rows(loss, classes):
    y = np.array(["a", "b", "c"])[np.minimum(SPECIES, classes - 1)]
    s = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    exact = fenchel.Classifier(loss, alpha=0.02, tol=1e-11, class_weight="balanced").fit(IRIS, y, s)
    for tol in (1e-1, 1e-3, 1e-6):
        model = fenchel.Classifier(loss, alpha=0.02, tol=tol, class_weight="balanced").fit(IRIS, y, s)
        certain = model.predict_certain(NEW, training=(IRIS, y, s))
        assert np.array_equal(model.predict(NEW)[certain], exact.predict(NEW)[certain])
        # With other rows it is the optimum of those that is meant: this point is far from it, and proves little.
        assert np.array_equal(certain, model.predict_certain(sp.csr_matrix(NEW), training=(sp.csr_matrix(IRIS), y, s)))
        other = model.predict_certain(NEW, training=(IRIS[::-1] + 1.0, y, s))
        optimum = fenchel.Classifier(loss, alpha=0.02, tol=1e-11, class_weight="balanced").fit(IRIS[::-1] + 1.0, y, s)
        assert np.array_equal(model.predict(NEW)[other], optimum.predict(NEW)[other])
    assert certain.mean() > 0.5
