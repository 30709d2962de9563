"""
Counts with exposure
====================

The data are insurance claims of cars, each insured for a different fraction of the year. The offset log(exposure) is a
fixed term of the score, so the model learns claims per year.
"""

import matplotlib.pyplot as plt
import numpy as np

import fenchel

rng = np.random.default_rng(0)
n = 20000
age, power = rng.uniform(18, 80, n), rng.uniform(40, 200, n)
exposure = rng.uniform(0.1, 1.0, n)
rate = np.exp(-1.6 - 0.02 * (age - 50) + 0.006 * (power - 100))
claims = rng.poisson(rate * exposure)

X = np.c_[(age - 50) / 20, (power - 100) / 50]
model = fenchel.Regressor(loss="poisson", alpha=1e-5).fit(X, claims, offset=np.log(exposure))
print(f"{model.status_.name}: {model.certificate_}")
print(f"true coefficients -0.40 and 0.30, learned {model.coef_[0]:.2f} and {model.coef_[1]:.2f}")

predicted = np.exp(X @ model.coef_ + model.intercept_)
edges = np.quantile(predicted, np.linspace(0, 1, 11))
place = np.clip(np.digitize(predicted, edges) - 1, 0, 9)
seen = [claims[place == k].sum() / exposure[place == k].sum() for k in range(10)]
said = [np.average(predicted[place == k], weights=exposure[place == k]) for k in range(10)]
plt.plot(said, seen, "o")
plt.axline((0, 0), slope=1, color="grey", linestyle=":")
plt.xlabel("claims per year, predicted (tenths of the cars)")
plt.ylabel("claims per year, seen")
plt.show()
