"""Programs that carry Fenchel to other processes or into their own files: cloudpickle, joblib, Dask, skops, MLflow."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys

import cloudpickle
import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fenchel
from fenchel import losses
from fenchel.compile.kernel import kernel
from fenchel.estimators.plain_state import MARK, packed, unpacked
from fenchel.kernels import passes
from fitted_estimators import CASES, SIGN, X, outcome, same

try:
    import skops.io as skops
except ImportError:
    skops = None
needs_skops = pytest.mark.skipif(skops is None, reason="the tests of skops need skops")


def certified(alpha):
    """Mentions the package, a module of it and a class."""
    problem = fenchel.Problem(X, SIGN, loss=fenchel.losses.Hinge(), alpha=alpha)
    return fenchel.solve(problem).status is fenchel.Status.CERTIFIED


def test_the_package_is_pickled_by_name():
    assert cloudpickle.loads(cloudpickle.dumps(fenchel)) is fenchel
    inside = {"package": fenchel, "solve": fenchel.solve, "module": fenchel.losses, "class": fenchel.Classifier}
    back = cloudpickle.loads(cloudpickle.dumps(inside))
    assert all(back[key] is value for key, value in inside.items())


@pytest.mark.parametrize(
    "body", ["fenchel.Status.CERTIFIED.name", "fenchel.losses.Hinge().margin", "fenchel.solve.__name__"]
)
def test_functions_that_mention_the_package_reach_a_new_process(body):
    """As they do from a notebook: cloudpickle sends the functions of __main__ with all that they name."""
    code = f"import cloudpickle, fenchel, sys\ndef f(): return {body}\nsys.stdout.buffer.write(cloudpickle.dumps(f))"
    sent = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert cloudpickle.loads(sent)() == eval(body)


def test_joblib_and_dask_run_functions_that_mention_the_package():
    local = cloudpickle.loads(cloudpickle.dumps(lambda alpha: certified(alpha) and fenchel.__name__))
    assert Parallel(n_jobs=2, backend="loky")(delayed(local)(alpha) for alpha in (0.1, 0.01)) == ["fenchel"] * 2
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert client.submit(lambda: fenchel.losses.Logistic().value(0.0, 1.0)).result() == pytest.approx(np.log(2.0))
        assert client.submit(lambda: certified(0.05)).result()


def test_compiled_kernels_travel_without_their_code():
    assert certified(0.3)  # compiles
    for pickler in (pickle, cloudpickle):
        assert pickler.loads(pickler.dumps(passes.mean_square)) is passes.mean_square

    @kernel
    def twice(x):
        return 2.0 * x

    assert twice(1.0) == cloudpickle.loads(cloudpickle.dumps(twice))(1.0) == 2.0


@needs_skops
@pytest.mark.parametrize("name", CASES)
def test_skops_needs_to_trust_the_estimator_alone(name):
    fitted, rows = CASES[name].make(), CASES[name].rows
    content = skops.dumps(fitted)
    kinds = {type(fitted)}
    if hasattr(
        fitted, "scorer_"
    ):  # estimators with cross-validation keep scikit-learn's scorer and the estimator that it scored
        kinds |= {type(fitted.scorer_), type(fitted._single_model)}
    trusted = sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)
    assert sorted(skops.get_untrusted_types(data=content)) == trusted
    back = skops.loads(content, trusted=skops.get_untrusted_types(data=content))
    assert same(outcome(fitted, rows), outcome(back, rows))
    for attribute in ("status_", "certificate_", "history_", "regularizer_", "solver_"):
        assert getattr(back, attribute, None) == getattr(fitted, attribute, None)
    again = pickle.loads(pickle.dumps(fitted))
    assert same(outcome(fitted, rows), outcome(again, rows))
    fenchel_files = [(skops.dumps(one), one) for one in (back, again)]
    assert all(
        same(outcome(skops.loads(data, trusted=trusted), rows), outcome(one, rows)) for data, one in fenchel_files
    )


@needs_skops
def test_estimators_that_came_back_can_be_saved_fitted_again_and_used_as_a_warm_start(tmp_path):
    fitted = fenchel.Classifier("logistic", alpha=0.01, warm_start=True).fit(X, SIGN)
    back = skops.loads(skops.dumps(fitted), trusted=["fenchel.estimators.classifier.Classifier"])
    fenchel.save(tmp_path / "a", fitted)
    fenchel.save(tmp_path / "b", back)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert back.fit(X, SIGN).n_iter_ <= fitted.fit(X, SIGN).n_iter_ + 1


@pytest.mark.parametrize(
    "value",
    [
        losses.Moreau(losses.Huber(0.5), 0.1),
        fenchel.regularizers.ElasticNet(0.5, 0.25),
        fenchel.multiclass.Tree(["a/b", "a/c", "d"]),
        fenchel.Status.STALLED,
        {"a": (1, [fenchel.solvers.Bundle()]), 3: None},
        fenchel.Checkpoint("here", seconds=3),
    ],
)
def test_objects_of_fenchel_become_plain_data_and_back(value):
    plain = packed(value)
    assert "fenchel." not in repr(type(plain))
    back = unpacked(plain)
    assert type(back) is type(value)
    assert back == value or vars(back).keys() == vars(value).keys()


@pytest.mark.parametrize(
    "path", ["os.system", "cli.main", "data.store.Stored", "losses.os", "result.nothing", 3, "model.Model"]
)
def test_a_state_may_name_nothing_but_data(path):
    with pytest.raises((ValueError, ImportError)):
        unpacked({MARK: path, "items": [], "state": {}, "fields": {}})


def test_what_is_not_fenchels_is_left_for_the_tool_to_judge():
    class Own(losses.Hinge):
        """A loss of the user's."""

    own = Own()
    assert packed([own])[0] is own


@pytest.mark.parametrize("name", ["two labels", "RBF", "sequences", "ordinal numbers"])
@pytest.mark.parametrize("storage", ["skops", "cloudpickle"])
def test_mlflow_logs_and_loads_estimators(name, storage, tmp_path):
    mlflow = pytest.importorskip("mlflow.sklearn", reason="the tests of MLflow need mlflow")
    fitted, rows = CASES[name].make(), CASES[name].rows
    kind = type(fitted)
    trusted = {"skops_trusted_types": [f"{kind.__module__}.{kind.__qualname__}"]}
    options = trusted if storage == "skops" else {"serialization_format": storage}
    mlflow.save_model(fitted, tmp_path / "model", pip_requirements=[], **options)
    assert same(outcome(fitted, rows), outcome(mlflow.load_model(str(tmp_path / "model")), rows))


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_mlflow_names_the_type_to_trust_and_needs_no_other(in_pipeline, tmp_path):
    """By default it refuses what neither NumPy nor scikit-learn defines, without a way for a package to join them."""
    mlflow = pytest.importorskip("mlflow.sklearn", reason="the tests of MLflow need mlflow")
    model = fenchel.Classifier("logistic", alpha=0.01)
    model = (make_pipeline(StandardScaler(), model) if in_pipeline else model).fit(X, SIGN)
    trusted = ["fenchel.estimators.classifier.Classifier"]
    with pytest.raises(Exception, match=re.escape(f"Untrusted types found in the file: {trusted}")):
        mlflow.save_model(model, tmp_path / "default", pip_requirements=[])
    mlflow.save_model(model, tmp_path / "trusted", pip_requirements=[], skops_trusted_types=trusted)
    back = mlflow.load_model(str(tmp_path / "trusted"))
    assert np.array_equal(back.predict_proba(X), model.predict_proba(X))
