"""
Quantile regression
===================

The quantile loss fits the line below which a given fraction of the targets lies. Here the noise grows with x, and so
does the distance between the lines. Each line is the certified optimum of its problem, so the fraction is exact up to
the rows on the line itself.
"""

import matplotlib.pyplot as plt
import numpy as np

import fenchel

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0.0, 10.0, 400))
y = 2.0 + 0.5 * x + rng.normal(0.0, 0.2 + 0.15 * x)
X = x[:, None]

plt.plot(x, y, ".", color="lightgrey")
for quantile in (0.1, 0.5, 0.9):
    model = fenchel.Regressor(loss="quantile", quantile=quantile, alpha=1e-6).fit(X, y)
    share = np.mean(y <= model.predict(X))
    print(f"quantile {quantile}: {share:.1%} of the targets below; {model.status_.name}, {model.certificate_}")
    plt.plot(x, model.predict(X), label=f"{quantile}")
plt.legend(title="quantile")
plt.show()
