"""scikit-learn's own checks, all of them, on default and on other settings: no expected failure."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from fenchel import Classifier, NoveltyDetector, Regressor

ESTIMATORS = [
    Classifier(),
    Classifier(loss="logistic"),
    Classifier(loss="squared_hinge", C=1.0),
    Regressor(),
    Regressor(loss="absolute"),
    Regressor(loss="poisson"),
    NoveltyDetector(),
]


@parametrize_with_checks(ESTIMATORS)
def test_sklearn(estimator, check):
    check(estimator)
