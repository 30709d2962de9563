"""Labels for the tokens of sequences: conditional random fields and max-margin Markov chains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fenchel.errors import InputError
from fenchel.estimators.parameters import SOLVE_ATTRIBUTES, documented, keep
from fenchel.estimators.sequence_input import SequenceEncoder, find_classes, label_lists, numbered
from fenchel.estimators.sequence_kernel import kernel_rows, pivots_of
from fenchel.estimators.sequence_saving import RESCALINGS, SequenceSaving, array_of
from fenchel.structured.chain import Chain
from fenchel.structured.chain_weights import ChainWeights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _has_probabilities(self: Any) -> bool:
    if self.loss != "log":
        raise AttributeError(f'loss={self.loss!r} has no probabilities: use SequenceLabeler(loss="log")')
    return True


@documented(SOLVE_ATTRIBUTES)
class SequenceLabeler(SequenceSaving):
    """min over w of (1/n) sum_i loss(x_i, y_i) + R(w), where a labelling y of a sequence x of T tokens has the score

        sum_t <x_t, W[:, y_t]> + bias[y_t] + sum_t transitions[y_t, y_{t+1}] + start[y_1] + end[y_T]

    and the loss is max over y of errors(y) + score(y) - score(gold) ("hinge": max-margin), or log sum over y of
    exp(score(y) - score(gold)) ("log": a conditional random field). The prediction is the labelling with the largest score.

    X is a list of sequences: arrays (T, features), scipy matrices, or lists with a dictionary {attribute: value} or a list of
    attributes for each token, as in sklearn-crfsuite. y is a list of label sequences; labels are any hashable objects.

    Parameters
    ----------
    loss : "hinge" or "log".
    C : alternative to alpha: alpha = 1 / (C n). Give only one of them. CRFsuite's c2 is C = 1 / (2 c2); its c1 and c2 together
        are regularizer="elastic_net", C = 1 / (c1 + 2 c2), l1_ratio = c1 / (c1 + 2 c2).
    bias, ends : whether there is a bias for each label, and weights for labels at both ends of a sequence.
    rescaling : "margin": errors(y) + score(y) - score(gold), or "slack": errors(y) (1 + score(y) - score(gold)), in the hinge.
    normalise : whether errors(y) is the fraction of wrong tokens instead of their number.
    observed_only : weights only for pairs of feature and label, and of successive labels, that occur in training. CRFsuite's
        default model is observed_only=True, bias=False, ends=False.
    edge_features : whether pairs of successive labels have weights for features, too: + sum_t <e_t, edges[:, y_t, y_{t+1}]> in
        the score. X is then a list of pairs (tokens, links), where links has one row, or dictionary, less than tokens.
    min_count : attributes that occur less often in training are ignored.
    kernel : None, or a kernel of tokens as in `fenchel.KernelClassifier` (not "precomputed"): <phi(x_t), W[:, y_t]> in the
        space of the kernel instead of <x_t, W[:, y_t]>. With loss="log" this is Gaussian-process sequence labelling. The
        features are a Cholesky factor of the kernel matrix of all training tokens; the certificate is for these features.
    max_rank : largest number of these features, for many tokens; None: no limit.
    warm_start : start from the previous fit, if it had the same features and labels.
    random_state : seed of a named solver that shuffles.

    Attributes
    ----------
    classes_ : the labels, sorted if they have an order.
    weights_ : the parts of the coefficients by name: emissions (features, m), bias, transitions (m, m), start, end, edges.
    state_features_, transition_features_ : the same as dictionaries {(attribute, label): weight}, {(label, label): weight}.
    attributes_ : names of the attributes in the order of the features; None if X was numeric.
    coef_ : all coefficients, flat, in the layout of `fenchel.structured.Chain`.
    dual_point_ : the point at which the certificate's dual value is evaluated: labellings with weights (hinge), or scores of
        distributions (log).
    n_features_in_ : features per token.

    Examples
    --------
    >>> X = [[{"word": "the"}, {"word": "dog"}], [{"word": "a"}, {"word": "dog"}, {"word": "barks"}]]
    >>> model = SequenceLabeler("log", alpha=0.01).fit(X, [["D", "N"], ["D", "N", "V"]])
    >>> model.predict([[{"word": "the"}, {"word": "cat"}, {"word": "barks"}]]), model.status_.name
    ([['D', 'N', 'V']], 'CERTIFIED')

    `model.save(path)` writes it to a file, `SequenceLabeler.load(path)` reads it.
    """

    def __init__(
        self, loss="hinge", regularizer="l2", alpha=None, C=None, l1_ratio=0.5, bias=True, ends=True, rescaling="margin",
        normalise=False, observed_only=False, edge_features=False, min_count=1, tol=1e-3, solver="auto", max_iter=None,
        max_time=None, warm_start=False, random_state=None, n_jobs=None, verbose=0, checkpoint=None, engine=None,
        kernel=None, gamma="scale", degree=3, coef0=0.0, kernel_params=None, max_rank=None,
    ):  # fmt: skip
        keep(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = True
        return tags

    def fit(self, X: Iterable[Any], y: Iterable[Any], sample_weight: ArrayLike | None = None) -> Self:
        """Fit to sequences and their labels; sample_weight is one number per sequence."""
        encoder = SequenceEncoder(bool(self.edge_features), self._min_count())
        rows = encoder.fit_transform(X)
        labels = label_lists(y, lengths(rows, encoder.edges))
        classes = find_classes(labels)
        numbers, same = numbered(labels, classes), self._same_features(classes, encoder)
        pivots = None
        if self.kernel is not None:
            pivots = pivots_of(self, rows, encoder.edges)
            rows, same = kernel_rows(self.kernel, pivots, rows, encoder.edges), False
        result = self._fit_structured(rows, numbers, len(rows), self._chain(len(classes)), sample_weight, same)
        self._labels, self._encoder, self._pivots = classes, encoder, pivots
        self.classes_ = array_of(classes)
        self.n_features_in_ = encoder.tokens.width
        self._full_coef = result.problem.model.full(self.coef_) if self.observed_only else self.coef_
        return self

    def predict(self, X: Iterable[Any]) -> list[Any]:
        """The labelling with the largest score of each sequence: a list of lists."""
        chain, rows = self._rows(X)
        return [self._names(path) for path in chain.predict_all(self._full_coef, rows)]

    def predict_single(self, x):
        """The labelling of one sequence."""
        return self.predict([x])[0]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Iterable[Any]) -> list[Any]:
        """P(label of token t) for each sequence: a list of arrays (T, m), columns in the order of classes_."""
        chain, rows = self._rows(X)
        return [chain.marginals(self._full_coef, x)[0] for x in rows]

    @available_if(_has_probabilities)
    def predict_marginals(self, X):
        """The same as a dictionary {label: probability} for each token of each sequence."""
        return [[dict(zip(self._labels, row, strict=True)) for row in p.tolist()] for p in self.predict_proba(X)]

    @available_if(_has_probabilities)
    def predict_marginals_single(self, x):
        """The dictionaries of one sequence."""
        return self.predict_marginals([x])[0]

    def score(self, X: Iterable[Any], y: Iterable[Any]) -> float:
        """The fraction of tokens with the correct label; labels that did not occur in training count as errors.

        `fenchel.metrics` has other metrics: chunk_f1, sequence_error, ...
        """
        found = self.predict(X)
        labels = label_lists(y, [len(path) for path in found])
        hits = sum(a == b for true, path in zip(labels, found, strict=True) for a, b in zip(true, path, strict=True))
        return hits / sum(map(len, labels))

    @property
    def weights_(self) -> ChainWeights:
        """The coefficients as named arrays."""
        check_is_fitted(self)
        width = self.n_features_in_ if self._pivots is None else self._pivots.factor.shape[1]
        return self._chain(len(self._labels)).split(self._full_coef, width, self._encoder.links.width)

    @property
    def state_features_(self) -> dict:
        """{(attribute, label): weight} for the nonzero weights; features of arrays are named by their indices."""
        table = self.weights_.emissions
        attributes = self.attributes_ if self._pivots is None else None
        names = range(table.shape[0]) if attributes is None else attributes
        places = zip(*(index.tolist() for index in np.nonzero(table)), strict=True)
        return {(names[j], self._labels[c]): float(table[j, c]) for j, c in places}

    @property
    def transition_features_(self) -> dict:
        """{(label, next label): weight}."""
        table = self.weights_.transitions.tolist()
        return {(a, b): table[i][j] for i, a in enumerate(self._labels) for j, b in enumerate(self._labels)}

    @property
    def attributes_(self) -> list[str] | None:
        """The names of the token features, in the order of the weights; None if rows were matrices."""
        check_is_fitted(self)
        return self._encoder.tokens.names

    def _chain(self, m: int) -> Chain:
        beta = RESCALINGS.get(self.rescaling) if isinstance(self.rescaling, str) else None
        if beta is None:
            raise InputError(f'rescaling must be "margin" or "slack", got {self.rescaling!r}')
        return Chain(
            classes=m, loss=self.loss, bias=bool(self.bias), ends=bool(self.ends), beta=0.0 if self.loss == "log" else beta,
            normalise=bool(self.normalise), observed_only=bool(self.observed_only), edge_features=bool(self.edge_features),
        )  # fmt: skip

    def _min_count(self) -> int:
        if not isinstance(self.min_count, (int, np.integer)) or self.min_count < 1:
            raise InputError(f"min_count must be an integer of at least 1, got {self.min_count!r}")
        return int(self.min_count)

    def _same_features(self, classes: list, encoder: SequenceEncoder) -> bool:
        """Whether the coefficients of an earlier fit have the same meaning."""
        return hasattr(self, "_labels") and self._labels == classes and encoder.same_features(self._encoder)

    def _rows(self, X: Any) -> tuple[Chain, list[Any]]:
        """The sequences in the form of the fitted chain."""
        check_is_fitted(self)
        rows = self._encoder.transform(X)
        if self._pivots is not None:
            rows = kernel_rows(self.kernel, self._pivots, rows, self._encoder.edges)
        return self._chain(len(self._labels)), rows

    def _names(self, path: np.ndarray) -> list:
        return [self._labels[k] for k in path.tolist()]


def lengths(rows: list[Any], edges: bool) -> list[int]:
    """The number of tokens of every sequence."""
    return [x[0].shape[0] if edges else x.shape[0] for x in rows]
