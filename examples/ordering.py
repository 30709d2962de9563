"""A custom structured model: put three items in order.

An example is a matrix with a row of features for each item; its label is the best order of the rows. The certificate
and every solver that needs only a max-oracle work with this model.
"""

from itertools import permutations

import numpy as np

import fenchel


class Ordering:
    """phi(x, y) = sum over places k of (2 - k) x[y[k]]: what comes first should score high."""

    dim = 4

    def features(self, x, y):
        return 2 * x[y[0]] + x[y[1]]

    def cost(self, y, yhat):
        return float(sum(a != b for a, b in zip(y, yhat, strict=True)))

    def max_oracle(self, w, x, y):
        return max(permutations(range(3)), key=lambda yhat: w @ self.features(x, yhat) + self.cost(y, yhat))

    def predict(self, w, x):
        return tuple(int(k) for k in np.argsort(-(x @ w)))


def main() -> None:
    rng = np.random.default_rng(0)
    truth = np.array([1.0, -2.0, 0.5, 0.0])
    examples = [rng.normal(size=(3, 4)) for _ in range(60)]
    labels = [tuple(int(k) for k in np.argsort(-(x @ truth))) for x in examples]
    problem = fenchel.Problem(examples[:40], labels[:40], loss=Ordering(), alpha=0.01)
    result = fenchel.solve(problem, solver="block_frank_wolfe", tol=1e-3)
    print(result)
    right = [Ordering().predict(result.coef, x) == y for x, y in zip(examples[40:], labels[40:], strict=True)]
    print(f"{np.mean(right):.0%} of 20 new examples in the right order")


if __name__ == "__main__":
    main()
