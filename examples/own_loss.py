"""
A custom loss
=============

A loss needs two methods in plain Python: `value` and `slope`. It is compiled and works with every solver; its
conjugate and certificate are derived from the two. Here log cosh, quadratic near 0 and linear in the tails, is used
against outliers.
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


fenchel.losses.check(LogCosh())  # raises an error that lists what is wrong with it

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
