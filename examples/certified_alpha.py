"""
A certified choice of alpha
===========================

Cross-validation on a grid says nothing about the strengths between its points. Duality gaps bound the cross-validation error
for every alpha in a range, and so prove how much better another choice could be.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

import fenchel

X, y = load_diabetes(return_X_y=True)
X = scale(X)
model = fenchel.RegressorCV(alphas=(1e-4, 10.0), certified=True, slack=0.01, cv=5).fit(X, y)
print(f"alpha {model.alpha_:.3g}: 1 - R² is {model.cv_error_:.4f}, and nowhere below {model.cv_error_lower_bound_:.4f}")

grid = GridSearchCV(fenchel.Regressor(), {"alpha": np.geomspace(1e-4, 10.0, 12)}, cv=5).fit(X, y)
print(f"grid search: alpha {grid.best_params_['alpha']:.3g}, 1 - R² = {1 - grid.best_score_:.4f}")

band = model.cv_band_
plt.stairs(band.high, band.alphas, baseline=band.low, fill=True, alpha=0.4, label="proven bounds")
plt.plot(grid.cv_results_["param_alpha"], 1 - grid.cv_results_["mean_test_score"], "k.", label="grid search")
plt.axvline(model.alpha_, color="black", linestyle="dashed", label="certified choice")
plt.xscale("log")
plt.xlabel("alpha")
plt.ylabel("1 - R² of held-out rows, mean over folds")
plt.ylim(0.49, 0.7)
plt.legend()
