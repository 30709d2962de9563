"""Train on real data, print the certificate, certify the result of another package, and write an HTML report.

Data: the Wisconsin diagnostic breast cancer set that comes with scikit-learn (569 rows, 30 features), standardised.
Problem: soft-margin support vector machine, hinge loss + L2, free intercept.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np

import fenchel
from fenchel.report import Fit, write_page

ALPHA, TOL = 1e-2, 1e-6


def data() -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Standardised rows, labels -1 (malignant) or +1 (benign), and the names of the features."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    found = load_breast_cancer()
    labels = np.where(found.target == 1, 1.0, -1.0)
    return StandardScaler().fit_transform(found.data), labels, [str(name) for name in found.feature_names]


def linear_svc(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """What scikit-learn's LinearSVC, with its default tolerance, answers to the same problem."""
    from sklearn.svm import LinearSVC

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearSVC(loss="hinge", C=1.0 / (ALPHA * len(y)), random_state=0).fit(X, y)
    return model.coef_[0], float(model.intercept_[0])


def main() -> int:
    X, y, features = data()
    problem = fenchel.Problem(X, y, loss="hinge", regularizer="l2", alpha=ALPHA, fit_intercept=True)
    print(problem)
    began = time.perf_counter()
    result = fenchel.solve(problem, tol=TOL)
    print(f"\nFenchel ({result.solver}, {time.perf_counter() - began:.2f} s including compilation)")
    print(f"  {result.status.name}: {result.status.advice}")
    print(f"  {result.certificate}")
    gap = result.certificate.relative_gap
    print(f"  In words: no coefficients can beat these by more than {gap:.1e} of the objective.")

    coef, intercept = linear_svc(X, y)
    other = fenchel.certify(problem, coef, intercept)
    above = (other.primal - result.certificate.dual) / result.certificate.dual
    print("\nscikit-learn's LinearSVC, default settings, the same problem (it also penalises the intercept)")
    print(f"  {other}")
    print(f"  In words: its objective is at most {above:.1e} above the optimum, relatively.")

    right = np.mean(np.sign(X @ result.coef + result.intercept) == y)
    print(f"\n{right:.2%} of the rows are on the right side.")
    model, page = Path("demo.fenchel").resolve(), Path("demo.html").resolve()
    fitted = fenchel.Model.from_result(result, labels=("malignant", "benign"), feature_names=features)
    fenchel.save(model, fitted)
    labels = np.where(y > 0, "benign", "malignant")
    write_page(page, Fit(fitted, [result]), title="Breast cancer: hinge + L2", data=(X, labels))
    print(f"\nmodel: {model}\npage:  {page}")
    return 0 if result.converged else 1


if __name__ == "__main__":
    sys.exit(main())
