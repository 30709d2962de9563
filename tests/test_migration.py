"""The tables of docs/howto/migrate.md: both columns are fitted to the same data and give the same coefficients."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from sklearn import kernel_ridge, linear_model, multiclass, svm
from sklearn.exceptions import ConvergenceWarning

import fenchel
from documentation import ROOT

PAGE = ROOT / "docs" / "howto" / "migrate.md"
SPACE = {
    name: getattr(module, name) for module in (linear_model, svm, kernel_ridge, multiclass) for name in dir(module)
}
SPACE |= {name: getattr(fenchel, name) for name in fenchel.__all__} | {
    "EpsilonInsensitive": fenchel.losses.EpsilonInsensitive
}
# As exact as their authors allow: the table has only what the translation is about.
EXACT = {"tol": 1e-10, "max_iter": 1_000_000, "random_state": 0}
STATED = {"Lasso": 1e-12, "ElasticNet": 1e-12}


def rows(heading: str, header: str) -> list[list[str]]:
    """The code of each row of the first table with this header below a heading."""
    section = re.split(rf"^## {heading}$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1].split("\n## ")[0]
    below = section[section.index(header) + len(header) :]
    table = below.split("\n\n")[0].splitlines()[2:]
    return [re.findall(r"`([^`]+)`", line) for line in table]


BINARY = rows("From scikit-learn", "| scikit-learn | Fenchel |")
MULTI = rows("From scikit-learn", "With more than two classes:\n\n| scikit-learn | Fenchel |")
LIBLINEAR = [row[-1:-3:-1] for row in rows("From liblinear", "| `train`")]
CRF = rows("From CRFsuite", "| CRFsuite")


def data(classes: int = 2):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 4))
    z = X @ rng.normal(size=(4, classes)) + 0.8 * rng.normal(size=(80, classes))
    return X, z.argmax(axis=1), np.abs(z[:, 0])


def exact(model):
    """The model, asked for all the digits that it can give."""
    model = getattr(model, "estimator", model)
    known = model.get_params()
    return {
        name: STATED.get(type(model).__name__, value) if name == "tol" else value
        for name, value in EXACT.items()
        if name in known
    }


def fitted(code: str, classes: int = 2):
    model = eval(code, dict(SPACE))
    X, y, target = data(classes)
    regression = model.__sklearn_tags__().estimator_type == "regressor"
    settings = {"tol": 1e-11} if code.split("(")[0] in fenchel.__all__ else exact(model)
    nested = {f"estimator__{k}": v for k, v in settings.items()} if hasattr(model, "estimator") else settings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # their limit or ours: the comparison decides
        return model.set_params(**nested).fit(X, target if regression else y)


def scores(model, X):
    """What the two have in common, whatever they call their coefficients."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize("row", BINARY, ids=lambda row: row[0])
def test_from_scikit_learn(row):
    theirs, ours = map(fitted, row)
    X = np.random.default_rng(1).normal(size=(20, 4))
    np.testing.assert_allclose(scores(ours, X), scores(theirs, X), atol=2e-4, rtol=2e-4)
    if hasattr(theirs, "coef_") and hasattr(ours, "coef_"):
        np.testing.assert_allclose(np.ravel(ours.coef_), np.ravel(theirs.coef_), atol=2e-4, rtol=2e-4)


@pytest.mark.parametrize("row", MULTI, ids=lambda row: row[0])
def test_from_scikit_learn_with_several_classes(row):
    theirs, ours = (fitted(code, 3) for code in row)
    mine = np.asarray(ours.coef_)
    other = np.array([part.coef_[0] for part in theirs.estimators_]) if hasattr(theirs, "estimators_") else theirs.coef_
    free = 0.0 if hasattr(theirs, "estimators_") else 1.0  # of joint losses the sum over classes is fixed by L2: 0
    np.testing.assert_allclose(mine - free * mine.mean(axis=0), other - free * other.mean(axis=0), atol=5e-4)


@pytest.mark.parametrize("row", LIBLINEAR, ids=lambda row: row[0])
def test_from_liblinear(row):
    theirs, ours = map(fitted, row)
    np.testing.assert_allclose(np.ravel(ours.coef_), np.ravel(theirs.coef_), atol=2e-4, rtol=2e-4)


def test_from_crfsuite(tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    rng = np.random.default_rng(2)
    X = [[{"word": str(w), "odd": str(w % 2)} for w in rng.integers(0, 5, rng.integers(2, 6))] for _ in range(30)]
    y = [[("low", "high")[int(int(t["word"]) + rng.normal() > 2)] for t in sentence] for sentence in X]
    ((settings, code),) = CRF
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(eval(settings) | {"max_iterations": 10000, "epsilon": 1e-12, "delta": 1e-14})
    for sentence, labels in zip(X, y, strict=True):
        trainer.append(sentence, labels)
    trainer.train(str(tmp_path / "model"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    theirs = tagger.info()
    ours = eval(code, dict(SPACE)).set_params(tol=1e-11).fit(X, y)
    states = {pair: w for pair, w in ours.state_features_.items() if w != 0.0}
    assert states.keys() == theirs.state_features.keys()
    for mine, other in ((states, theirs.state_features), (ours.transition_features_, theirs.transitions)):
        for pair, weight in other.items():
            assert mine[pair] == pytest.approx(weight, abs=1e-3)
