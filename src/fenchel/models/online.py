"""OnlineModel: the weights that an online learner has come to. They minimise nothing, so there is no certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.models.base import Rules, current_versions, good_names, name_rules, score_rules
from fenchel.models.parts import linear_scores, model_rows
from fenchel.models.scored import Scored

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)
class OnlineModel(Scored):
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

    kind = "online"
    is_linear = True
    content = "the weights of an online learner"
    loss = None
    thresholds = None
    constant = None
    index_base = None
    target = None
    dropped = ()

    def rules(self) -> Rules:
        """What must be true of the parts."""
        yield from score_rules(self.coef, self.intercept, self.k)
        yield "coef must have at least one entry", self.coef.size > 0
        yield (
            "labels must be as many different numbers or strings as there are classes",
            self.labels is not None and good_names(self.labels, self.k if self.k > 1 else 2),
        )
        yield (
            f"mistakes must be {self.k} numbers of at least 0",
            len(self.mistakes) == self.k and all(type(count) is int and count >= 0 for count in self.mistakes),
        )
        yield "seen must be a number of rows", type(self.seen) is int and self.seen >= 0
        yield from name_rules(self.feature_names, self.d)

    @property
    def d(self) -> int:
        """The number of features of a row."""
        return self.coef.shape[-1]

    def scores(self, X: ArrayLike | sp.csr_matrix) -> np.ndarray:
        """X coef' + intercept: (n,), or (n, k) for k scores."""
        return linear_scores(model_rows(X, self.d), self.coef, self.intercept)
