"""
Two classes: how the gap closes
===============================

A support vector machine (hinge loss, L2, free intercept) on the breast cancer data, solved by three solvers. All three
return a certificate for the same problem, so their results agree to the requested tolerance.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import fenchel

X, y = load_breast_cancer(return_X_y=True)
problem = fenchel.Problem(scale(X), 2.0 * y - 1, loss="hinge", alpha=1e-2, fit_intercept=True)

results = {name: fenchel.solve(problem, name, tol=1e-6) for name in ("semismooth_newton", "pairwise_ascent", "bundle")}
for name, result in results.items():
    print(f"{name:18} {result.status.name} {result.certificate}")

# %%
# The gap at every evaluated iterate, between the best bounds so far. The status follows from the final certificate, which
# is recomputed from the definitions.

for name, result in results.items():
    points = [point for point in result.trace if np.isfinite(point.gap)]
    gap = np.minimum.accumulate([p.primal for p in points]) - np.maximum.accumulate([p.dual for p in points])
    plt.semilogy([p.passes for p in points], np.maximum(gap, 1e-16), marker=".", label=name)
plt.axhline(1e-6 * result.certificate.primal, color="grey", linestyle=":", label="tol")
plt.xlabel("passes over the data")
plt.ylabel("duality gap")
plt.xscale("log")
plt.legend()
plt.show()
