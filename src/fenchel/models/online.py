"""OnlineModel: the weights of an online learner. They do not minimise an objective, so there is no certificate."""

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
    """The scores X coef' + intercept of an `OnlineClassifier`, with their labels.

    Attributes
    ----------
    coef, intercept : (d,) and a float for two labels, else (k, d) and (k,), one-vs-rest.
    labels : (label of negative scores, label of positive scores), or one label per score, all numbers or all strings.
    algorithm, mistakes, seen : the algorithm, its number of mistakes (per score) and of rows seen.
    feature_names, versions : as in `fenchel.Model`.
    learner : the parameters of the `OnlineClassifier` and its state (`v`, and `sums` of averages), with which it learns on
        after `load`; None in files of versions that did not keep them.

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
    learner: dict[str, Any] | None = None

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
        """The conditions on the parts."""
        yield from score_rules(self.coef, self.intercept, self.k)
        yield "coef must have at least one entry", self.coef.size > 0
        yield (
            "labels must be as many distinct numbers or strings as there are classes",
            self.labels is not None and good_names(self.labels, self.k if self.k > 1 else 2),
        )
        yield (
            f"mistakes must be {self.k} numbers of at least 0",
            len(self.mistakes) == self.k and all(type(count) is int and count >= 0 for count in self.mistakes),
        )
        yield "seen must be a number of rows", type(self.seen) is int and self.seen >= 0
        yield from name_rules(self.feature_names, self.d)
        yield (
            "learner must hold v, and sums if it has them: finite float64 arrays of a row per score",
            self.learner is None or all(self._is_state(self.learner.get(part)) for part in self._state_parts()),
        )

    def _state_parts(self) -> list[str]:
        """The names of the arrays that the state of the learner has."""
        return ["v", "sums"] if self.learner and "sums" in self.learner else ["v"]

    def _is_state(self, part: Any) -> bool:
        """Whether it may be the state of the learner; there may be a constant feature."""
        return (
            isinstance(part, np.ndarray)
            and part.dtype == np.float64
            and part.shape in ((self.k, self.d), (self.k, self.d + 1))
            and bool(np.isfinite(part).all())
        )

    @property
    def d(self) -> int:
        """The number of features of a row."""
        return self.coef.shape[-1]

    def scores(self, X: ArrayLike | sp.csr_matrix) -> np.ndarray:
        """X coef' + intercept: (n,), or (n, k) for k scores."""
        return linear_scores(model_rows(X, self.d), self.coef, self.intercept)
