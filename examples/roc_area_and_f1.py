"""
ROC area and F1
===============

The task is to detect the digit eight, one row in ten. The hinge loss, a sum over rows, is dominated by the other nine;
`MeasureClassifier` minimises a convex upper bound of the evaluation measure itself, over all rows together.
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
