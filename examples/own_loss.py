"""
A loss of your own
==================

Two methods in plain Python make a loss: `value` and `slope`. It is compiled, works in every solver, and its conjugate and
certificate are derived from the two. Here log cosh, which is squared near 0 and absolute far out, against outliers.
"""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

import fenchel


class LogCosh(NamedTuple):
    def value(self, z, y):
        return abs(z - y) + np.log1p(np.exp(-2 * abs(z - y))) - np.log(2)

    def slope(self, z, y):
        return np.tanh(z - y)


fenchel.losses.check(LogCosh())  # tells you what is wrong with it, if anything

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3, 3, 80))
y = 1.5 * x + rng.normal(0, 0.5, 80)
y[::8] += 12.0

plt.plot(x, y, ".", color="grey")
for name, loss in {"squared": "squared", "log cosh": LogCosh()}.items():
    model = fenchel.Regressor(loss=loss, alpha=1e-4).fit(x[:, None], y)
    print(f"{name:9} {model.status_.name}: {model.certificate_}; slope {model.coef_[0]:.2f} (true: 1.50)")
    plt.plot(x, model.predict(x[:, None]), label=name)
plt.legend()
plt.show()
