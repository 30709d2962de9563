"""
The leave-one-out error with few refits
=======================================

For every row, the solution for all rows bounds the score at the optimum without that row. Only rows whose class the bounds
leave open are fitted again, so that the exact leave-one-out error costs a handful of refits. It is an estimate of the error on
new data, not a bound for it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import fenchel

X, y = load_breast_cancer(return_X_y=True)
X, y = scale(X), 2.0 * y - 1

alphas, errors = np.geomspace(1e-4, 1.0, 9), []
for alpha in alphas:
    result = fenchel.solve(fenchel.Problem(X, y, loss="logistic", alpha=alpha, fit_intercept=True))
    found = fenchel.leave_one_out(result)
    errors.append(found.error.high)
    print(
        f"alpha {alpha:.0e}: error {found.error.low:.4f} to {found.error.high:.4f}, {found.refits} refits of {len(y)} rows"
    )

plt.semilogx(alphas, errors, "o-")
plt.xlabel("alpha")
plt.ylabel("leave-one-out error")
plt.show()
