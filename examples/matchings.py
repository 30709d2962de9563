"""
Matchings
=========

Given two images of the same points, the second shifted and noisy, find the corresponding points. `MatchingModel` learns
the weight of each feature (distance, colour) from images with known matchings; prediction is an assignment problem.
"""

import matplotlib.pyplot as plt
import numpy as np

import fenchel

rng = np.random.default_rng(0)


def pair(points=8):
    first, colour = rng.uniform(size=(points, 2)), rng.uniform(size=points)
    order = rng.permutation(points)  # order[i] is the new index of point i
    second, repainted = np.empty_like(first), np.empty_like(colour)
    second[order] = first + rng.normal(0.05, 0.08, first.shape)
    repainted[order] = colour + rng.normal(0.0, 0.1, points)
    clues = [np.linalg.norm(first[:, None] - second, axis=2), abs(colour[:, None] - repainted), np.zeros((points,) * 2)]
    clues[2] = rng.uniform(size=(points, points))  # an uninformative feature
    return np.stack(clues, axis=2), order, first, second


pairs = [pair() for _ in range(60)]
model = fenchel.MatchingModel(alpha=1e-3).fit([p[0] for p in pairs[:40]], [p[1] for p in pairs[:40]])
right = np.mean([model.predict([edges])[0] == order for edges, order, *_ in pairs[40:]])
print(f"{model.status_.name}: {model.certificate_}")
print(f"weights of distance, colour, nothing: {np.round(model.coef_, 2)}; {right:.0%} of new points matched rightly")

edges, order, first, second = pairs[-1]
for i, j in enumerate(model.predict([edges])[0]):
    plt.plot(*np.c_[first[i], second[j]], color="green" if j == order[i] else "red")
plt.plot(*first.T, "ko", label="first")
plt.plot(*second.T, "k^", markerfacecolor="white", label="second")
plt.legend()
plt.show()
