"""Classification into the leaves of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from fenchel.data.dtypes import is_number_or_bool
from fenchel.errors import InputError, UnknownNameError
from fenchel.estimators.base import accept_weights, total_weight
from fenchel.estimators.joint import JointEstimator, best
from fenchel.estimators.parameters import SOLVE_ATTRIBUTES, documented, keep
from fenchel.models.base import are_strings
from fenchel.models.model import Model
from fenchel.models.parts import loss_parameters
from fenchel.multiclass import HierarchicalHinge, HierarchicalSoftmax, Tree
from fenchel.problems.scalar import Problem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator

    from fenchel.data.types import MatrixLike


def _is_softmax(estimator: BaseEstimator) -> bool:
    return isinstance(estimator.loss, str) and estimator.loss == "softmax"


@documented(SOLVE_ATTRIBUTES)
class HierarchicalClassifier(ClassifierMixin, JointEstimator):
    """min over W of (1/S) sum_i s_i loss(W x_i, y_i) + R(W), a row of W for every node of a tree below its root.

    The score of a class is the sum of the scores of the nodes on the path to its leaf. loss="hinge" is the max-margin
    loss max over c of cost(y, c) + score(c) - score(y), with costs given by the tree; loss="softmax" is
    log sum_c exp(score(c)) - score(y).

    Parameters
    ----------
    tree : a `fenchel.multiclass.Tree`, or its definition: label paths such as ["animal/cat", "animal/dog", "plant"], a
        parent array or a networkx DiGraph.
    loss : "hinge" or "softmax".
    cost : of the hinge: "tree" (half the number of edges between the leaves), "lca" (steps from the true leaf up to the
        lowest common ancestor) or a matrix in the order of the leaves.
    warm_start : start from the previous fit's coefficients and dual variables.

    There are no free intercepts: centre the features or append a constant column, whose coefficients are then regularised.

    Attributes
    ----------
    tree_ : the Tree.
    classes_ : all leaves in the order of the tree, including those that do not occur in y: their names if y holds strings,
        else the numbers 0 .. leaves - 1.
    coef_, intercept_, dual_coef_ : shapes (nodes, d), (nodes,) (zero) and (nodes, n); nodes in the order of tree_.
        With many nodes dual_coef_ may be a CSR matrix (`Result.dual_point`).

    Examples
    --------
    >>> X = [[2.0, 0.0], [2.0, 1.0], [-1.0, 0.0], [2.0, -1.0]]
    >>> y = ["animal/dog", "animal/cat", "plant", "animal/dog"]
    >>> model = HierarchicalClassifier(["animal/cat", "animal/dog", "plant"], alpha=0.01).fit(X, y)
    >>> model.status_.name, model.predict(X).tolist() == y, model.coef_.shape
    ('CERTIFIED', True, (4, 2))
    """

    def __init__(
        self, tree, loss="hinge", cost="tree", regularizer="l2", alpha=None, C=None, l1_ratio=0.5, tol=1e-6,
        solver="auto", max_iter=None, max_time=None, warm_start=False, random_state=None, n_jobs=None,
        verbose=0, checkpoint=None, engine=None, standardize=False,
    ):  # fmt: skip
        keep(self, locals())

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X (dense, sparse or a data frame) and leaves y: names, or numbers from 0."""
        tree = Tree(self.tree)
        loss = self._loss(tree)
        X, labels = self._training_rows(X, y=y)
        check_classification_targets(labels)
        weights = accept_weights(sample_weight, X.shape[0])
        classes, codes = leaves_of(tree, labels)
        present = np.unique(codes if weights is None else codes[weights > 0.0])
        if present.size < 2:
            raise InputError(
                f"HierarchicalClassifier can't train when only one class is present: every row with a weight above 0 is of "
                f"class {classes[present[0]].item()!r}; it needs samples of at least 2 leaves"
            )
        regularizer = self._standardized(self._regularizer(total_weight(weights, X.shape[0])), X, weights)
        (result,) = self._fit_problems(
            [lambda: Problem(X, codes, loss=loss, regularizer=regularizer, sample_weight=weights)],
            [self._joint_start(tree.scores, X.shape[1])],
        )
        self.tree_, self.classes_ = tree, classes
        self._keep_joint(result, regularizer)
        return self

    def _loss(self, tree: Tree) -> Any:
        if not isinstance(self.loss, str) or self.loss not in ("hinge", "softmax"):
            raise UnknownNameError("loss of a tree", str(self.loss), ["hinge", "softmax"])
        if self.loss == "hinge":
            return HierarchicalHinge(tree, self.cost)
        if not (isinstance(self.cost, str) and self.cost == "tree"):
            raise InputError(f"cost={self.cost!r} is only for loss='hinge': the softmax has no costs")
        return HierarchicalSoftmax(tree)

    @classmethod
    def _is_own_loss(cls, model: Model) -> bool:
        return isinstance(model.loss, (HierarchicalHinge, HierarchicalSoftmax)) and model.labels is not None

    @classmethod
    def _parameters_of(cls, model: Model) -> dict[str, Any]:
        loss: dict[str, Any] = {"loss": "softmax"}
        if isinstance(model.loss, HierarchicalHinge):
            loss = {"loss": "hinge", "cost": loss_parameters(model.loss)["cost"]}
        return {"tree": _tree_of(model)} | loss | super()._parameters_of(model)

    def _restore(self, model: Model) -> None:
        super()._restore(model)
        self.tree_ = Tree(self.tree)

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Scores of the classes: shape (n, leaves); for two leaves (n,), the second's minus the first's."""
        scores = self.tree_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def tree_scores(self, X: MatrixLike) -> np.ndarray:
        """Scores of the classes: shape (n, leaves), sums over the paths to the leaves."""
        scores = self._raw_scores(X)
        return self.tree_.class_scores(scores)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The leaf with the highest score."""
        best_leaf = self.tree_scores(X).argmax(axis=1)
        return self.classes_[best_leaf]

    def predict_top_k(self, X: MatrixLike, k: int) -> np.ndarray:
        """The leaves with the k highest scores, best first: shape (n, k)."""
        leaves = best(self.tree_scores(X), k)
        return self.classes_[leaves]

    @available_if(_is_softmax)
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """P(leaf | x) of loss="softmax", shape (n, leaves)."""
        scores = self._raw_scores(X)
        return self._loss(self.tree_).probability(scores)

    @available_if(_is_softmax)
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """log P(leaf | x)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def _tree_of(model: Model) -> Any:
    """A definition of the tree of the model's loss: label paths if the labels are paths, else the parents of the nodes."""
    labels = list(model.labels or ())
    for source in ([labels] if are_strings(labels) else []) + [model.loss.parent.tolist()]:
        tree = Tree(source)
        if np.array_equal(tree.parent, model.loss.parent) and np.array_equal(tree.leaf, model.loss.leaf):
            return source
    raise InputError("the leaves of this model are in an order that no definition of a tree gives: use fenchel.load")


def leaves_of(tree: Tree, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(classes, the index of every label among them): names if y holds strings, else the numbers of the leaves.

    >>> leaves_of(Tree(["a/x", "a/y", "b"]), np.array(["b", "a/x"]))
    (array(['a/x', 'a/y', 'b'], dtype='<U3'), array([2, 0]))
    """
    if is_number_or_bool(y):
        good = (y == np.floor(y)) & (y >= 0) & (y < tree.classes)
        if not good.all():
            row = int(np.argmin(good))
            raise InputError(
                f"y of row {row} is {y[row]!r}: numbers must be leaves 0 to {tree.classes - 1} of the tree, or use names"
            )
        return np.arange(tree.classes), y.astype(np.int64)
    place = {name: c for c, name in enumerate(tree.labels)}
    for row, name in enumerate(y.tolist()):
        if name not in place:
            raise InputError(
                f"y of row {row} is {name!r}, which is not a leaf of the tree: {list(tree.labels)[:5]} ..."
            )
    return np.array(tree.labels), np.array([place[name] for name in y.tolist()], dtype=np.int64)
