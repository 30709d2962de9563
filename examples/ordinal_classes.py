"""
Ordinal classes
===============

The target is the progression of a disease in five levels: an error of two levels is worse than an error of one.
`OrdinalClassifier` learns one score and the thresholds between the levels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import fenchel

X, progress = load_diabetes(return_X_y=True)
y = np.digitize(progress, np.quantile(progress, [0.2, 0.4, 0.6, 0.8]))
X = X / X.std(axis=0)

model = fenchel.OrdinalClassifier(alpha=1e-3, tol=1e-4).fit(X, y)
scores = model.latent_scores(X)
off = np.abs(model.predict(X) - y)
print(f"{model.status_.name}: {model.certificate_}")
print(f"levels off, on average: {off.mean():.2f}; more than one level off: {np.mean(off > 1):.1%}")

for level in range(5):
    plt.hist(scores[y == level], bins=np.linspace(scores.min(), scores.max(), 25), histtype="step", label=str(level))
for threshold in model.thresholds_:
    plt.axvline(threshold, color="grey", linestyle=":")
plt.xlabel("score")
plt.ylabel("rows")
plt.legend(title="level")
plt.show()
