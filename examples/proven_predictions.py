"""
Predictions that cannot change
==============================

A solver stops before the exact optimum. The duality gap bounds how far the coefficients are from it, and so proves for most
rows that the exact optimum predicts the same class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import fenchel

X, y = make_moons(300, noise=0.3, random_state=0)
problem = fenchel.Problem(X, 2.0 * y - 1, loss="logistic", alpha=1e-2, fit_intercept=True)

figure, axes = plt.subplots(1, 2, figsize=(8, 3.5), sharey=True)
for axis, tol in zip(axes, (1e-2, 1e-4), strict=True):
    result = fenchel.solve(problem, tol=tol)
    certain = result.certain(X)
    share = f"{certain.mean():.0%} of the decisions are proven, radius {result.ball().radius:.2g}"
    print(f"tol {tol:g}: {result.status.name}, {share}")
    axis.scatter(*X[certain].T, c=y[certain], s=12, cmap="coolwarm")
    axis.scatter(*X[~certain].T, facecolors="none", edgecolors="black", s=40, label="not proven")
    axis.set_title(f"tol = {tol:g}: gap {result.certificate.gap:.1e}")
    axis.legend(loc="lower left")
figure.tight_layout()

low, high = result.ball().scores(X)
print(f"the scores of the exact optimum are known to within {np.max(high - low):.2g}")
