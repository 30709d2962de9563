"""OnlineModel: the weights that an online learner has come to. They minimise nothing, so there is no certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fenchel.errors import InputError
from fenchel.models.check import good_names
from fenchel.models.model import current_versions
from fenchel.models.parts import linear_scores, model_rows
from fenchel.models.traits import Traits


@dataclass(frozen=True, eq=False)
class OnlineModel(Traits):
    """The scores X coef' + intercept of an `OnlineClassifier`, and what they mean.

    Attributes
    ----------
    coef, intercept : (d,) and a float for two labels, else (k, d) and (k,), one label against the rest each.
    labels : (label of negative scores, label of positive scores), or one label per score, all numbers or all strings.
    algorithm, mistakes, seen : which learner it was, the mistakes it made (per score) and the rows it saw.
    feature_names, versions : as in `fenchel.Model`.

    Examples
    --------
    >>> import fenchel
    >>> learner = fenchel.OnlineClassifier().fit([[0.0], [1.0], [2.0]], ["no", "no", "yes"])
    >>> learner.to_model().predict([[0.0], [3.0]]).tolist()
    ['no', 'yes']
    """

    coef: np.ndarray
    intercept: Any
    labels: tuple[Any, ...]
    algorithm: str
    mistakes: tuple[int, ...]
    seen: int
    feature_names: tuple[str, ...] | None = None
    versions: dict[str, str] = field(default_factory=current_versions)

    family = "online"
    is_linear = True
    content = "the weights of an online learner"
    loss = None
    thresholds = None
    constant = None
    index_base = None
    target = None
    dropped = ()

    def __post_init__(self) -> None:
        coef, intercept, k = np.asarray(self.coef), np.asarray(self.intercept), self.k
        rules = {
            "coef must be a finite float64 array of shape (d,) or (k, d) with k > 1": coef.ndim in (1, 2)
            and coef.dtype == np.float64
            and coef.size > 0
            and (coef.ndim == 1 or k > 1)
            and bool(np.isfinite(coef).all()),
            f"intercept must be {'a finite number' if k == 1 else f'{k} finite numbers'}": intercept.shape
            == (() if k == 1 else (k,))
            and bool(np.isfinite(intercept).all()),
            "labels must be as many different numbers or strings as there are classes": good_names(
                self.labels, k if k > 1 else 2
            ),
            f"mistakes must be {k} numbers of at least 0": len(self.mistakes) == k
            and all(type(count) is int and count >= 0 for count in self.mistakes),
            "seen must be a number of rows": type(self.seen) is int and self.seen >= 0,
            f"feature_names must be None or {self.d} strings": self.feature_names is None
            or (len(self.feature_names) == self.d and all(isinstance(name, str) for name in self.feature_names)),
        }
        for rule, kept in rules.items():
            if not kept:
                raise InputError(rule)

    @property
    def d(self) -> int:
        """The number of features of a row."""
        return self.coef.shape[-1]

    @property
    def k(self) -> int:
        """The number of scores per row."""
        return 1 if self.coef.ndim == 1 else self.coef.shape[0]

    def scores(self, X: Any) -> np.ndarray:
        """X coef' + intercept: (n,), or (n, k) for k scores."""
        return linear_scores(model_rows(X, self.d), self.coef, self.intercept)

    label_scores = scores

    def predict(self, X: Any) -> np.ndarray:
        """The label with the highest score."""
        z = self.scores(X)
        return np.array(self.labels)[(z > 0.0).astype(int) if z.ndim == 1 else z.argmax(axis=1)]

    def probabilities(self, X: Any) -> np.ndarray:
        """There are none."""
        raise InputError("an online learner has no probabilities; fit a Classifier with loss 'logistic' or 'softmax'")
