"""
ROC area and F1
===============

Is it an eight? One row in ten is. A hinge loss of each row spends its effort on the others; `MeasureClassifier` minimises
a convex bound of what the task is judged by, of all rows together.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score, roc_auc_score, roc_curve
from sklearn.model_selection import train_test_split

import fenchel

X, digit = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16.0, digit == 8, test_size=0.5, random_state=0)
models = {
    "hinge": fenchel.Classifier(loss="hinge", alpha=1e-2, tol=1e-3),
    "ROC area": fenchel.MeasureClassifier("roc_area", alpha=1e-2, tol=1e-3),
    "F1": fenchel.MeasureClassifier("f_beta", alpha=1e-2, tol=1e-2),
}
for name, model in models.items():
    scores = model.fit(X, y).decision_function(X_test)
    area, f1 = roc_auc_score(y_test, scores), f1_score(y_test, model.predict(X_test))
    print(f"{name:9} {model.status_.name}; test ROC area {area:.3f}, F1 {f1:.3f}")
    share, found, _ = roc_curve(y_test, scores)
    plt.plot(share, found, label=f"{name}: area {area:.3f}")
plt.xlabel("share of negatives above the threshold")
plt.ylabel("share of positives above it")
plt.legend()
plt.show()
