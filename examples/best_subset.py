"""
The best subset of features
===========================

`L0` charges a fixed price per feature. The problem is not convex: a solver can only find good subsets. The certificate
bounds how much better the best of all 1024 subsets can be, without trying them; here we try them, too.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import fenchel
from fenchel.regularizers import L0

X, y = load_diabetes(return_X_y=True)
X, y = X / X.std(axis=0), (y - y.mean()) / y.std()
n, d = X.shape
ridge, alphas = 0.1, np.geomspace(0.05, 0.001, 12)


def risk(chosen):
    """The best value of squared loss and ridge with these features."""
    A = X[:, chosen]
    w = np.linalg.solve(A.T @ A / n + ridge * np.eye(len(chosen)), A.T @ y / n)
    return np.mean((y - A @ w) ** 2) / 2 + ridge / 2 * w @ w


by_size = [min(risk(list(S)) for S in combinations(range(d), k)) for k in range(d + 1)]
results = [fenchel.solve(fenchel.Problem(X, y, "squared", L0(alpha, ridge))) for alpha in alphas]
best = [min(value + alpha * k for k, value in enumerate(by_size)) for alpha in alphas]
found, bound = ([getattr(r.certificate, name) for r in results] for name in ("primal", "dual"))
print(f"{np.isclose(found, best, rtol=1e-9).sum()} of {len(best)} are the best subset")
print(f"proven distance: {100 * min(r.certificate.relative_gap for r in results):.1f} %", end=" to ")
print(f"{100 * max(r.certificate.relative_gap for r in results):.1f} %")

plt.semilogx(alphas, best, label="best of all subsets")
plt.semilogx(alphas, found, "o", label="found")
plt.semilogx(alphas, bound, "--", label="proven lower bound")
plt.xlabel("alpha, the price of a feature")
plt.ylabel("objective")
plt.legend()
plt.show()
