"""
Kernels
=======

`KernelClassifier` fits the same losses in the feature space of a kernel, by dual coordinate ascent on working sets. The
results are certified like those of linear models.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import fenchel

X, y = make_moons(300, noise=0.2, random_state=0)
a, b = np.meshgrid(np.linspace(-1.7, 2.7, 120), np.linspace(-1.2, 1.7, 120))
grid = np.c_[a.ravel(), b.ravel()]

_, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
for axis, loss in zip(axes, ("hinge", "logistic"), strict=True):
    model = fenchel.KernelClassifier(loss=loss, kernel="rbf", gamma=2.0, C=1.0, tol=1e-4).fit(X, y)
    print(f"{loss:9} {model.status_.name}: {model.certificate_}; {len(model.support_)} of {len(X)} rows carry weight")
    axis.contourf(a, b, model.decision_function(grid).reshape(a.shape), levels=12, cmap="RdBu")
    axis.scatter(*X.T, c=y, cmap="RdBu", edgecolor="k", s=14)
    axis.set_title(f"{loss}: {len(model.support_)} support rows")
plt.show()
