"""scikit-learn's own checks, all of them, on default and on other settings.

One is expected to fail: words without an order are no levels, so OrdinalClassifier refuses them.
"""

import os
import subprocess
import sys

from sklearn.utils.estimator_checks import parametrize_with_checks

from fenchel import (
    Classifier,
    ClassifierCV,
    MeasureClassifier,
    NoveltyDetector,
    OrdinalClassifier,
    Regressor,
    RegressorCV,
)

ESTIMATORS = [
    Classifier(),
    Classifier(loss="logistic", C=1.0),
    Classifier(loss="softmax", alpha=0.01, tol=1e-8),  # repetitions equal weights to 1e-7 only where the gap is small
    Classifier(loss="max_hinge", alpha=0.1, tol=1e-12),  # see above
    ClassifierCV("logistic", alphas=[0.1, 0.01], cv=3),
    RegressorCV(alphas=3, cv=3),
    MeasureClassifier(),
    MeasureClassifier("f1"),
    OrdinalClassifier(),
    Regressor(),
    Regressor(loss="absolute", alpha=0.01),
    Regressor(loss="poisson"),
    NoveltyDetector(tol=1e-10),
]
ARRAY_API = """
from sklearn.utils.estimator_checks import check_array_api_input
from fenchel import Classifier, NoveltyDetector, Regressor
for model in (Classifier("logistic"), Regressor(), NoveltyDetector()):
    check_array_api_input(type(model).__name__, model, array_namespace="numpy", expect_only_array_outputs=False)
"""


def expected(estimator):
    """What cannot be asked of an estimator."""
    if not isinstance(estimator, OrdinalClassifier):
        return {}
    return {"check_classifiers_classes": "its labels are words in the order of the alphabet, which is none"}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected)
def test_sklearn(estimator, check):
    check(estimator)


def test_array_api_dispatch_changes_nothing():
    """The one check that the runs above leave out: it needs an environment variable when scipy is imported."""
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    subprocess.run([sys.executable, "-c", ARRAY_API], env=environment, check=True, timeout=120)
