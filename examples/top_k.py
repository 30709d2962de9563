"""
Multiclass: optimising the top-k error
======================================

`TopK(k)` is a convex loss that is 0 if the true class is among the k best with a margin; softmax optimises the first
place only. The plot shows how often the true digit is not among the k best.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import fenchel

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16.0, y, test_size=0.5, random_state=0)

for name, loss in {"softmax": "softmax", "max hinge": "max_hinge", "top 3": fenchel.multiclass.TopK(3)}.items():
    model = fenchel.Classifier(loss=loss, alpha=1e-3, fit_intercept=False, tol=1e-4).fit(X, y)
    scores = model.decision_function(X_test)
    errors = [100 * fenchel.metrics.top_k_error(y_test, scores, k) for k in range(1, 6)]
    print(f"{name:10} {model.status_.name} by {model.solver_}; top-1 {errors[0]:.1f} %, top-3 {errors[2]:.1f} %")
    plt.semilogy(range(1, 6), errors, marker="o", label=name)
plt.xticks(range(1, 6))
plt.xlabel("k")
plt.ylabel("test error among the k best, %")
plt.legend()
plt.show()
