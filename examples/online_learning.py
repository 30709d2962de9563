"""
Online learning: Perceptron and Winnow
======================================

Rows arrive one by one, and the model is updated on mistakes only. If few of many features are relevant, multiplicative
updates (Winnow) make fewer mistakes than additive ones (Perceptron).
"""

import matplotlib.pyplot as plt
import numpy as np

import fenchel

rng = np.random.default_rng(0)
d, n = 500, 2000
X = rng.integers(0, 2, (n, d)).astype(float)
y = np.where(X[:, :5].sum(axis=1) >= 3, 1, -1)  # five features matter

learners = {
    "perceptron": fenchel.OnlineClassifier("perceptron"),
    "p-norm, p = 2 ln d": fenchel.OnlineClassifier("p_norm", p=2 * np.log(d)),
    "balanced Winnow": fenchel.OnlineClassifier("balanced_winnow", eta=0.1),
}
for name, learner in learners.items():
    mistakes = []
    for at in range(0, n, 50):
        learner.partial_fit(X[at : at + 50], y[at : at + 50], classes=[-1, 1])
        mistakes.append(int(learner.mistakes_))
    print(f"{name:18} {mistakes[-1]} mistakes on {n} rows")
    plt.plot(range(50, n + 1, 50), mistakes, label=name)
plt.xlabel("rows seen")
plt.ylabel("mistakes so far")
plt.legend()
plt.show()
