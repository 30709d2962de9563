"""
Gaussian-process sequence labelling
===================================

Label the tokens of sequences when a token's features separate the labels only along a curve. `SequenceLabeler(kernel=...)` is a
chain whose scores of tokens come from a kernel; with the log-loss it is a Gaussian process with an exact, certified optimum.
"""

import matplotlib.pyplot as plt
import numpy as np

import fenchel

rng = np.random.default_rng(0)


def sequence():
    """Points that stay on one of two rings for a while."""
    ring = np.cumsum(rng.random(8) < 0.3) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, 8), 1.0 + ring + rng.normal(0.0, 0.35, 8)
    return np.c_[radius * np.cos(angle), radius * np.sin(angle)], ring.tolist()


X, y = zip(*[sequence() for _ in range(60)], strict=True)
X_new, y_new = zip(*[sequence() for _ in range(200)], strict=True)
for name, options in {"linear": {}, "kernel": {"kernel": "rbf", "gamma": 1.0}}.items():
    model = fenchel.SequenceLabeler("log", alpha=1e-2, **options).fit(X, y)
    print(f"{name}: {model.status_.name}, {model.score(X_new, y_new):.1%} of new tokens are right")

points = np.concatenate(X_new)
chance = np.concatenate(model.predict_proba(X_new))[:, 1]
plt.scatter(*points.T, c=chance, s=8, cmap="coolwarm")
plt.gca().set_aspect("equal")
plt.colorbar(label="P(outer ring), with the whole sequence known")
plt.show()
