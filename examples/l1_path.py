"""
An L1 regularization path
=========================

`alpha` decreases from the smallest value for which all coefficients are 0 to a thousandth of it. Each point is
warm-started from the previous one and has its own certificate.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import fenchel

X, y = load_diabetes(return_X_y=True, as_frame=True)
names, X, y = list(X), X.to_numpy() / X.to_numpy().std(axis=0), y.to_numpy()
largest = abs(X.T @ (y - y.mean())).max() / len(y)

problem = fenchel.Problem(X, y, loss="squared", regularizer="l1", fit_intercept=True)
path = fenchel.path(problem, largest * np.geomspace(1.0, 1e-3, 40), tol=1e-6)
print(path)
print(f"largest relative gap {max(c.relative_gap for c in path.certificates):.1e}")
print(f"weights that are not 0: {[int(np.count_nonzero(w)) for w in path.coefs[::8]]} at every eighth strength")

for name, weights in zip(names, path.coefs.T, strict=True):
    plt.semilogx(path.alphas, weights, label=name)
plt.gca().invert_xaxis()
plt.xlabel("alpha")
plt.ylabel("weight")
plt.legend(ncols=2, fontsize="small")
plt.show()
