"""Every fitted estimator, and the Result of every kind of problem, to a file and back: the same predictions to the last bit."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.svm import SVC

import fenchel
from fenchel import estimators, multiclass
from fenchel.errors import IncompatibleError, InputError, ModelFileError
from fenchel.kernel_methods import KernelProblem
from fenchel.models import file as model_file
from fenchel.report.subject import run_of
from fitted_estimators import CASES, LEVEL, NEW, REAL, SIGN, WORDS, X, outcome, same

KERNELS = [
    ("rbf", {"gamma": 0.5}),
    ("linear", {}),
    ("polynomial", {"degree": 2, "gamma": 0.5, "coef0": 1.0}),
    ("laplacian", {}),
]


def back(tmp_path, thing):
    """Written and read again."""
    path = tmp_path / "model.fenchel"
    fenchel.save(path, thing)
    assert b"pickle" not in path.read_bytes()
    return fenchel.load(path)


@pytest.mark.parametrize("name", CASES)
def test_a_saved_estimator_predicts_the_same_bits(name, tmp_path):
    fitted = CASES[name].make()
    loaded = back(tmp_path, fitted)
    rows = CASES[name].rows
    assert same(outcome(fitted, rows), outcome(loaded, rows))
    if hasattr(fitted, "predict_proba"):
        assert same(fitted.predict_proba(rows), loaded.probabilities(rows))
    if hasattr(fitted, "certificate_"):
        own = fitted.certificate_ if isinstance(fitted.certificate_, list) else [fitted.certificate_]
        stated = loaded.certificates if hasattr(loaded, "certificates") else [loaded.certificate]
        assert list(stated) == own
    again = tmp_path / "again.fenchel"
    fenchel.save(again, loaded)
    assert again.read_bytes() == (tmp_path / "model.fenchel").read_bytes()


@pytest.mark.parametrize("name", CASES)
def test_an_estimator_loads_itself_from_its_file(name, tmp_path):
    fitted, rows = CASES[name].make(), CASES[name].rows
    fitted.save(tmp_path / "a")
    loaded = type(fitted).load(tmp_path / "a")
    for method in ("predict", "transform", "decision_function", "predict_proba", "score_samples"):
        if hasattr(fitted, method):
            assert same(getattr(fitted, method)(rows), getattr(loaded, method)(rows)), method
    stated = {key for key in vars(fitted) if key.endswith("_") and not key.startswith("_")}
    assert stated <= set(vars(loaded))
    for key in stated & {"coef_", "classes_", "certificate_", "status_", "objective_", "solver_", "n_features_in_"}:
        assert same(getattr(fitted, key), getattr(loaded, key)), key
    loaded.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert clone(loaded).get_params().keys() == fitted.get_params().keys()


@pytest.mark.parametrize("name", CASES)
def test_an_estimator_refuses_the_file_of_another(name, tmp_path):
    path = tmp_path / "model.fenchel"
    fitted = CASES[name].make()
    fitted.save(path)
    for other in estimators.__all__:
        cls = getattr(estimators, other)
        if other in ("Path", "TableTransformer") or cls is type(fitted):
            continue
        kinds = {name.removesuffix("CV") for name in (other, type(fitted).__name__)}
        if len(kinds) == 1:
            continue  # a model does not say how its alpha was chosen
        if kinds == {"Classifier", "HierarchicalClassifier"}:
            continue  # a loss of several scores of a Classifier may be one of a tree
        with pytest.raises(InputError, match=rf"(not|be a|of) {other}: use fenchel\.load"):
            cls.load(path)


@pytest.mark.parametrize(
    ("name", "y"),
    [("one against the rest", WORDS), ("softmax, elastic net", WORDS), ("squared", REAL), ("novelty", None)],
)
def test_a_loaded_linear_estimator_is_a_warm_start(name, y, tmp_path):
    fitted, rows = CASES[name].make(), X + 2.0 * (name == "novelty")
    fitted.save(tmp_path / "a")
    warm = type(fitted).load(tmp_path / "a").set_params(warm_start=True).fit(rows, y)
    assert np.all(warm.n_iter_ <= 1)
    np.testing.assert_allclose(warm.objective_, fitted.objective_, rtol=1e-5)


LEARNERS = {
    "perceptron": {}, "averaged": {"average": True, "fit_intercept": False},
    "p_norm": {"algorithm": "p_norm", "p": np.float64(3.0), "random_state": np.random.RandomState(1)},
    "winnow": {"algorithm": "winnow", "eta": 0.1}, "threshold": {"algorithm": "winnow", "eta": 0.1, "threshold": 2},
    "normalised": {"algorithm": "normalised_winnow", "eta": 0.1, "total": 3.0, "prior": np.arange(1.0, 1.0 + X.shape[1])},
    "balanced": {"algorithm": "balanced_winnow", "eta": 0.1, "prior": 0.5, "average": True},
}  # fmt: skip


@pytest.mark.parametrize("y", [SIGN, WORDS], ids=["two", "three"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_loaded_learner_learns_on_to_the_same_bits(name, storage, y, tmp_path):
    rows, half = storage(np.abs(X)), len(y) // 2
    learner = fenchel.OnlineClassifier(**LEARNERS[name]).partial_fit(rows[:half], y[:half], classes=np.unique(y))
    learner.save(tmp_path / "a")
    loaded = fenchel.OnlineClassifier.load(tmp_path / "a")
    for name, value in learner.get_params().items():
        if name != "random_state" or not isinstance(value, np.random.RandomState):
            assert np.array_equal(getattr(loaded, name), value)
    for one in (learner, loaded):
        one.partial_fit(rows[half:], y[half:])
    assert np.array_equal(loaded.coef_, learner.coef_) and np.array_equal(loaded.intercept_, learner.intercept_)
    assert np.array_equal(loaded.mistakes_, learner.mistakes_) and loaded.n_seen_ == learner.n_seen_
    learner.save(tmp_path / "a")
    loaded.save(tmp_path / "b")
    assert fenchel.load(tmp_path / "b").learner.keys() >= {"v", "eta"}
    assert np.array_equal(fenchel.load(tmp_path / "a").coef, fenchel.load(tmp_path / "b").coef)


def test_a_learner_of_a_file_without_its_state_says_that_it_cannot_learn_on(tmp_path):
    model = CASES["Perceptron"].make().to_model()
    fenchel.save(tmp_path / "a", replace(model, learner=None))
    loaded = fenchel.OnlineClassifier.load(tmp_path / "a")
    with pytest.raises(InputError, match="only its weights"):
        loaded.partial_fit(X, WORDS)
    assert loaded.fit(X, WORDS).n_seen_ > 0


@pytest.mark.parametrize("state", [{}, {"v": np.zeros((1, 1))}, {"v": np.full((3, 5), np.nan)}, {"v": 1.0}])
def test_a_state_that_does_not_fit_is_refused(state):
    with pytest.raises(InputError, match="learner must hold v"):
        replace(CASES["Perceptron"].make().to_model(), learner=state)


def test_a_page_is_of_a_loaded_estimator_as_of_its_model(tmp_path):
    for name in ("two labels", "one against the rest", "RBF", "sequences"):
        fitted = CASES[name].make()
        fitted.save(tmp_path / "a")
        run = run_of(type(fitted).load(tmp_path / "a"), "loaded")
        own, model = run_of(fitted, "fitted"), run_of(fitted.to_model(), "model")
        assert [solve.certificate for solve in run.solves] == [solve.certificate for solve in model.solves]
        assert [solve.n_iter for solve in run.solves] == [None] * len(run.solves)
        assert all(solve.trace for solve in own.solves)
        assert (own.family, own.task, own.labels) == (run.family, run.task, run.labels)


def test_every_public_estimator_is_among_the_cases():
    """A new estimator must be saved as well."""
    kinds = {type(case.make()).__name__ for case in CASES.values()}
    assert kinds == set(estimators.__all__) - {"Path", "TableTransformer"}  # which is saved with its model


@pytest.mark.parametrize(("kernel", "params"), KERNELS)
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
def test_kernel_problems_through_solve_certify_save_load_and_predict(kernel, params, loss, tmp_path):
    problem = KernelProblem(X, SIGN, loss, 0.02, True, kernel=kernel, kernel_params=params)
    result = fenchel.solve(problem, tol=1e-7)
    assert result.status is fenchel.Status.CERTIFIED
    assert fenchel.certify(problem, result.coef, result.intercept).relative_gap <= 1e-5
    loaded = back(tmp_path, result)
    assert isinstance(loaded, fenchel.KernelModel)
    assert loaded.digests == (problem.digest,)
    # by the definition, with numpy alone
    gamma = params.get("gamma", 1.0 / X.shape[1])
    values = {
        "rbf": lambda: np.exp(-gamma * ((NEW[:, None] - X) ** 2).sum(axis=2)),
        "laplacian": lambda: np.exp(-gamma * np.abs(NEW[:, None] - X).sum(axis=2)),
        "linear": lambda: NEW @ X.T,
        "polynomial": lambda: (0.5 * NEW @ X.T + 1.0) ** 2,
    }[kernel]()
    np.testing.assert_allclose(loaded.scores(NEW), values @ result.coef + result.intercept, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(loaded.full_coef, result.coef)


def test_a_linear_kernel_is_the_linear_problem(tmp_path):
    kernel = back(tmp_path, fenchel.solve(KernelProblem(X, REAL, "huber", 0.05, True, kernel="linear"), tol=1e-9))
    linear = back(tmp_path, fenchel.solve(fenchel.Problem(X, REAL, "huber", alpha=0.05, fit_intercept=True), tol=1e-9))
    np.testing.assert_allclose(kernel.predict(NEW), linear.predict(NEW), atol=1e-3)
    assert kernel.certificate.primal == pytest.approx(linear.certificate.primal, rel=1e-8)


def test_solve_of_a_kernel_problem_knows_its_solver_start_checkpoint_and_limits(tmp_path):
    problem = KernelProblem(X, SIGN, "hinge", 0.01, True, kernel="rbf")
    cold = fenchel.solve(problem, "kernel_ascent", tol=1e-7)
    for start in (cold, (cold.coef, cold.intercept), (cold.coef, cold.intercept, cold.dual_point)):
        assert fenchel.solve(problem, tol=1e-6, start=start).n_iter <= 1
    assert fenchel.solve(problem, max_iter=0).status is fenchel.Status.MAX_ITER
    path = tmp_path / "state"
    fenchel.solve(problem, max_iter=1, checkpoint=path)
    assert fenchel.solve(problem, checkpoint=path, resume=True).status is fenchel.Status.CERTIFIED
    for solver in ("dual_ascent", fenchel.solvers.Bundle(), "lbfgs"):
        with pytest.raises(IncompatibleError, match="KernelAscent"):
            fenchel.solve(problem, solver)


def test_digests_of_kernel_problems_tell_rows_apart():
    """The diagonal of an RBF kernel is 1 whatever the rows are."""
    other = X.copy()
    other[3, 2] += 1e-9
    makers = [X, other, sp.csr_matrix(X), X.astype(np.float32)]
    digests = [KernelProblem(rows, SIGN, kernel="rbf").digest for rows in makers]
    assert len(set(digests)) == 4
    assert KernelProblem(X.copy(), SIGN, kernel="rbf").digest == digests[0]
    assert len({KernelProblem(X, SIGN, kernel="rbf", kernel_params={"gamma": g}).digest for g in (0.5, 0.25)}) == 2
    K = X @ X.T
    assert (
        KernelProblem(K, SIGN, kernel="precomputed").digest != KernelProblem(2 * K, SIGN, kernel="precomputed").digest
    )


def test_a_kernel_machine_from_a_file_agrees_with_libsvm(tmp_path):
    machine = back(tmp_path, fenchel.KernelClassifier(C=1.0, gamma=0.3, tol=1e-8).fit(X, SIGN))
    peer = SVC(C=1.0, gamma=0.3, tol=1e-8).fit(X, SIGN)
    np.testing.assert_allclose(machine.scores(NEW), peer.decision_function(NEW), atol=1e-3)


def test_a_kernel_result_never_becomes_a_linear_model():
    result = fenchel.solve(KernelProblem(X, SIGN, kernel="rbf"))
    with pytest.raises(InputError, match="KernelModel"):
        fenchel.Model.from_result(result)
    with pytest.raises(InputError, match="fenchel.Model"):
        fenchel.KernelModel.from_result(fenchel.solve(fenchel.Problem(X, SIGN, alpha=0.1)))
    assert not isinstance(model_file.as_model(result), fenchel.Model)


def own_kernel(A, B):
    """(a'b)^2."""
    return (A @ B.T) ** 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: fenchel.KernelClassifier(kernel=own_kernel, C=1.0).fit(X, SIGN),
        lambda: fenchel.KernelRegressor(kernel=lambda A, B: A @ B.T, alpha=0.1).fit(X, REAL),
        lambda: fenchel.IncompleteCholesky(kernel=own_kernel, max_rank=5).fit(X),
        lambda: fenchel.solve(KernelProblem(X, SIGN, kernel=own_kernel)),
    ],
)
def test_a_kernel_of_ones_own_is_refused_with_advice(make, tmp_path):
    with pytest.raises(InputError, match="precomputed"):
        fenchel.save(tmp_path / "model.fenchel", make())
    assert not (tmp_path / "model.fenchel").exists()


def test_what_is_no_model_is_refused(tmp_path):
    from sklearn.exceptions import NotFittedError
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(StandardScaler(), fenchel.Classifier(alpha=0.1)).fit(X, SIGN)
    for thing in (pipeline, StandardScaler(), X, None, fenchel.Classifier):
        with pytest.raises(InputError, match="fitted estimator"):
            fenchel.save(tmp_path / "model.fenchel", thing)
    for kind in (fenchel.Classifier, fenchel.KernelRegressor, fenchel.OnlineClassifier, fenchel.IncompleteCholesky):
        with pytest.raises(NotFittedError):
            fenchel.save(tmp_path / "model.fenchel", kind())
    assert list(back(tmp_path, pipeline[-1]).labels) == [-1, 1]


@pytest.mark.parametrize(
    "name", ["RBF", "precomputed", "sparse Laplacian", "Perceptron", "features of a kernel", "novelty"]
)
def test_damaged_and_edited_files_of_the_new_kinds_are_refused(name, tmp_path):
    path = tmp_path / "model.fenchel"
    fenchel.save(path, CASES[name].make())
    with path.open("rb") as file:
        header, arrays = model_file.decode(file, path.stat().st_size)
    content = path.read_bytes()
    for place in (9, 40, len(content) // 2, len(content) - 5):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(ModelFileError):
            fenchel.load(path)
    for key, value in [*((key, {"?": 1}) for key in header), ("more", 1), ("kind", "other")]:
        path.write_bytes(b"".join(model_file.encode({**header, key: value}, arrays)))
        with pytest.raises(ModelFileError):
            fenchel.load(path)
    for key in arrays:
        for changed in (arrays[key].ravel()[:-1], np.full_like(arrays[key], -7), np.zeros((0, 3))):
            if np.array_equal(changed, arrays[key]):
                continue
            path.write_bytes(b"".join(model_file.encode(header, {**arrays, key: changed})))
            with suppress(ModelFileError, InputError):  # what is sound in form must be safe to use
                outcome(fenchel.load(path), CASES[name].rows)


def table(path, rows, y):
    """A CSV file with the target last."""
    lines = [",".join([*(repr(float(v)) for v in row), str(label)]) for row, label in zip(rows, y, strict=True)]
    path.write_text("\n".join(["a,b,c,d,y", *lines]) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("make", "y"),
    [
        (lambda: fenchel.KernelClassifier(C=1.0).fit(X, WORDS), WORDS),
        (lambda: fenchel.KernelClassifier("logistic", alpha=0.05).fit(X, SIGN), SIGN),
        (lambda: fenchel.KernelRegressor("huber", alpha=0.05).fit(X, REAL), REAL),
        (lambda: fenchel.Classifier("softmax", alpha=0.05).fit(X, LEVEL), LEVEL),
        (lambda: fenchel.OrdinalClassifier(alpha=0.05).fit(X, LEVEL), LEVEL),
    ],
)
def test_the_program_verifies_predicts_and_evaluates_saved_estimators(make, y, tmp_path, capsys):
    from fenchel.cli import main

    fitted, model = make(), str(tmp_path / "model.fenchel")
    fenchel.save(model, fitted)
    data = table(tmp_path / "rows.csv", X, y)
    assert main(["verify", model, data]) == 0
    assert "HOLDS" in capsys.readouterr().out
    assert main(["predict", model, data, "--target", "y", "--quiet"]) == 0
    said = capsys.readouterr().out.split()
    assert said == [str(value) for value in fitted.predict(X).tolist()]
    assert main(["evaluate", model, data, "--resamples", "0", "--json"]) == 0
    assert main(["report", model, "--data", data, "-o", str(tmp_path / "page.html")]) == 0
    changed = table(tmp_path / "other.csv", 1.5 * X, y)
    assert main(["verify", model, changed]) in (3, 4)


def test_the_program_refuses_to_verify_what_has_no_certificate(tmp_path, capsys):
    from fenchel.cli import main

    data = table(tmp_path / "rows.csv", X, WORDS)
    for name in ("Perceptron", "features of a kernel"):
        model = str(tmp_path / "model.fenchel")
        fenchel.save(model, CASES[name].make())
        assert main(["verify", model, data]) == 1
        assert "no certificate" in capsys.readouterr().err
    assert main(["evaluate", model, data]) == 1
    fenchel.save(model, CASES["Perceptron"].make())
    assert main(["evaluate", model, data, "--resamples", "0"]) == 0
    assert "no certificate" in capsys.readouterr().out


def test_a_model_of_several_targets_predicts_them_all(tmp_path):
    Y = np.column_stack([REAL, -2.0 * REAL, X[:, 0]])
    problem = fenchel.Problem(X, Y, loss=multiclass.MultivariateSquared(), alpha=1e-3)
    result = fenchel.solve(problem)
    model = back(tmp_path, result)
    np.testing.assert_array_equal(model.predict(NEW), NEW @ result.coef.T + result.intercept)
    assert model.labels is None
    assert run_of(result, "a page").task == "regression"
