"""
Novelty detection
=================

`NoveltyDetector` is linear. After `IncompleteCholesky`, which approximates the feature map of a Gaussian kernel to a
given trace error, its boundary can have any shape. Five percent of the training rows are assumed to be novel.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline

import fenchel

X = make_moons(300, noise=0.06, random_state=0)[0]
model = make_pipeline(
    fenchel.IncompleteCholesky(gamma=4.0, tolerance=1e-3), fenchel.NoveltyDetector(contamination=0.05, alpha=1.0)
).fit(X)
print(f"{model[-1].status_.name}: {model[-1].certificate_}")
print(f"rank of the kernel's features: {model[0].transform(X).shape[1]}, novel rows: {np.sum(model.predict(X) < 0)}")

a, b = np.meshgrid(np.linspace(-1.6, 2.6, 120), np.linspace(-1.1, 1.6, 120))
level = model.decision_function(np.c_[a.ravel(), b.ravel()]).reshape(a.shape)
plt.contourf(a, b, level, levels=[level.min(), 0.0, level.max()], colors=["white", "lightsteelblue"])
normal = model.predict(X) > 0
plt.plot(*X[normal].T, "k.", label="normal")
plt.plot(*X[~normal].T, "rx", label="novel")
plt.legend()
plt.show()
