"""
Classes in a tree
=================

A tree defines which confusions are worse: 1 and 7, both straight, are closer than 8 and 7. `HierarchicalClassifier`
adds up the scores of the nodes on the path to a class, so that similar classes share parameters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

import fenchel

shapes = ["round", "straight", "bent", "bent", "straight", "bent", "round", "straight", "round", "round"]
tree = fenchel.multiclass.Tree([f"{shape}/{digit}" for digit, shape in enumerate(shapes)])
X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16.0, y, test_size=0.5, random_state=0)

model = fenchel.HierarchicalClassifier(tree, loss="softmax", alpha=1e-3, tol=1e-4).fit(X, y)
predicted = model.predict(X_test)
distance = tree.cost_matrix("tree")[y_test, predicted].mean()
print(f"{model.status_.name}: {model.certificate_}")
print(f"{np.mean(predicted != y_test):.1%} wrong, mean distance in the tree {distance:.3f}")

order = np.argsort(shapes, kind="stable")
counts = confusion_matrix(y_test, predicted)[np.ix_(order, order)]
plt.imshow(np.log1p(counts), cmap="Blues")
plt.xticks(range(10), [f"{shapes[k]} {k}" for k in order], rotation=90)
plt.yticks(range(10), [f"{shapes[k]} {k}" for k in order])
plt.xlabel("predicted")
plt.ylabel("true")
plt.tight_layout()
plt.show()
