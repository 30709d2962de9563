"""StructuredModel: a fitted model of structured outputs, for predictions, saving and verification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel.errors import InputError
from fenchel.models.base import BaseModel, Rules, current_versions, labels_shown, plain_entries
from fenchel.models.scored import is_weighted
from fenchel.models.structured_check import Shape, check_columns, coefficients, structured_rules
from fenchel.result import Certificate, Result, Status
from fenchel.sequences.attributes import Attributes, has_names
from fenchel.sequences.templates import Templates
from fenchel.structured import (
    AssociativeGraph,
    Candidates,
    Chain,
    Graph,
    Matching,
    Multiclass,
    PairwiseLabels,
    Pool,
    Tree,
)
from fenchel.structured.pool import enlarged

if TYPE_CHECKING:
    from fenchel.problems.kinds_of_loss import AnyLoss


@dataclass(frozen=True, eq=False)
class StructuredModel(BaseModel):
    """The coefficients of a model of `fenchel.structured` with their certificate and the problem that they solve.

    Attributes
    ----------
    coef : the coefficients in the layout of the problem; `full_coef` adds zeros where Chain(observed_only=True) has no weights.
    loss, regularizer : the problem that was solved; the loss is one of `fenchel.structured.MODELS`.
    shape : the numbers of features and labels.
    certificate, status, tol, solver : the result of the solve, and the relative gap requested.
    digest : sha256 of the data and the problem (`Problem.digest`).
    n : the number of training examples; `weighted`: whether they had different weights, which are not stored.
    places : for Chain(observed_only=True): the indices of the coefficients in `full_coef`.
    dual_point : Pool, Gibbs or Marginals of the certificate's dual value; None if it was not kept.
    labels : names of the labels, strings or numbers; None: predictions are the numbers 0, 1, 2, ...
    attributes, link_attributes : names of the features of tokens, and of pairs of tokens; None: features have no names.
    template, columns : for column files: the lines of the template, and (number of columns, index of the label column).
    versions : the versions of fenchel and numpy that created the model.

    Examples
    --------
    >>> import fenchel
    >>> problem = fenchel.Problem(
    ...     [[[1.0], [-1.0]], [[-1.0]]], [[1, 0], [0]], loss=fenchel.structured.Chain(), alpha=0.1
    ... )
    >>> model = StructuredModel.from_result(fenchel.solve(problem, tol=1e-3), labels=["no", "yes"])
    >>> model.predict([[[2.0], [-2.0], [3.0]]]), model.status.name
    ([['yes', 'no', 'yes']], 'CERTIFIED')
    """

    coef: np.ndarray
    loss: Any
    regularizer: Any
    shape: Shape
    certificate: Certificate
    status: Status
    tol: float
    solver: str
    digest: str
    n: int
    weighted: bool = False
    places: np.ndarray | None = field(default=None, repr=False)
    dual_point: Any = field(default=None, repr=False)
    labels: tuple[Any, ...] | None = None
    attributes: tuple[str, ...] | None = field(default=None, repr=False)
    link_attributes: tuple[str, ...] | None = field(default=None, repr=False)
    template: tuple[str, ...] | None = None
    columns: tuple[int, int] | None = None
    versions: dict[str, str] = field(default_factory=current_versions)

    kind = "structured"
    is_structured = True

    def rules(self) -> Rules:
        """The conditions on the parts."""
        yield from structured_rules(self)
        self.regularizer.validate(self.coef.size)
        if self.template is not None:
            check_columns(self)

    @classmethod
    def from_result(cls, result: Result, keep_dual: bool = True, **about: Any) -> StructuredModel:
        """The model of a Result; `about`: labels, attributes, link_attributes, template and columns."""
        point = dual_point_of(result) if keep_dual else None
        return cls(coef=np.array(result.coef), dual_point=point, **facts_of(result), **entries_of(about))

    @property
    def d(self) -> int:
        """The number of coefficients."""
        return self.coef.size

    @property
    def certificates(self) -> tuple[Certificate]:
        """The certificate, in a tuple as for models with several solves."""
        return (self.certificate,)

    @property
    def statuses(self) -> tuple[Status]:
        """The status, in a tuple."""
        return (self.status,)

    @property
    def solvers(self) -> tuple[str]:
        """The solver, in a tuple."""
        return (self.solver,)

    @property
    def digests(self) -> tuple[str]:
        """The digest, in a tuple."""
        return (self.digest,)

    @cached_property
    def full_coef(self) -> np.ndarray:
        """The coefficients in the layout that has weights for all pairs."""
        if self.places is None:
            return self.coef
        full = np.zeros(coefficients(self.loss, self.shape))
        full[self.places] = self.coef
        return full

    def facts(self) -> dict[str, Any]:
        """Facts about the data, as text."""
        return {
            "Examples": self.n, "Coefficients": self.d, "Labels": labels_shown(self.labels),
            "Weights of examples": "yes" if self.weighted else None,
        }  # fmt: skip

    def predict(self, examples: Any) -> Any:
        """The label with the largest score for every example: a list, of lists of labels for a Chain, Tree or graph; a 0/1
        matrix for PairwiseLabels. With attributes, tokens are dictionaries or lists of names; without, examples are as in the
        problem.
        """
        loss, rows = self._fixed, self._examples(examples)
        w = self.full_coef
        if isinstance(loss, Chain):
            return [self._named(path) for path in loss.predict_all(w, rows)] if rows else []
        found = [loss.predict(w, x) for x in rows]
        if isinstance(loss, Tree | Graph | AssociativeGraph):
            return [self._named(nodes) for nodes in found]
        if isinstance(loss, Multiclass):
            return self._named(np.array(found, dtype=int))
        return np.array(found).reshape(-1, self.shape.classes) if isinstance(loss, PairwiseLabels) else found

    def probabilities(self, examples: Any) -> list[np.ndarray]:
        """P(label), an array for every example: (tokens or nodes, labels), or (labels,) for PairwiseLabels; log-loss only."""
        loss = self._fixed
        if loss.loss != "log" or not hasattr(loss, "marginals"):
            raise InputError(f"{loss!r} has no probabilities; train a chain, tree or label sets with loss 'log'")
        found = [loss.marginals(self.full_coef, x) for x in self._examples(examples)]
        return [nodes for nodes, _ in found] if isinstance(loss, Chain) else found

    def attributes_of(self, sentences: Sequence[Any]) -> list[Any]:
        """The attributes that the template generates for sentences, which are lists of tokens, each a list of columns."""
        if self.template is None:
            raise InputError("the model has no template: it was not trained on a column file")
        return template_attributes(Templates(self.template), sentences)

    def matrices(self, examples: Sequence[np.ndarray]) -> list[Any]:
        """Examples with named attributes in the form of the loss: matrices or pairs of matrices."""
        if self.attributes is None or not isinstance(self.loss, Chain):
            return list(examples)
        if self.link_attributes is None:
            return _cut(self._columns[0], list(examples))
        tokens, links = ([pair[k] for pair in examples] for k in (0, 1))
        return list(zip(_cut(self._columns[0], tokens), _cut(self._columns[1], links), strict=True))

    @cached_property
    def _columns(self) -> tuple[Attributes, Attributes]:
        return Attributes(self.attributes or ()), Attributes(self.link_attributes or ())

    @cached_property
    def _fixed(self) -> Any:
        """The loss with the number of labels of the coefficients."""
        return replace(self.loss, classes=self.shape.classes) if hasattr(self.loss, "classes") else self.loss

    def _examples(self, examples: Any) -> list[Any]:
        rows = self.matrices(examples.tocsr() if sp.issparse(examples) else examples)
        for i, x in enumerate(rows):
            wide = width(self.loss, x)
            if wide != self.shape.features:
                raise InputError(f"example {i} has {wide} features, but the model has {self.shape.features}")
        if isinstance(self.loss, Multiclass | PairwiseLabels):
            return [x.toarray() if sp.issparse(x) else x for x in rows]
        return rows

    def _named(self, numbers: np.ndarray) -> list[Any]:
        return numbers.tolist() if self.labels is None else [self.labels[k] for k in numbers.tolist()]


def template_attributes(templates: Templates, sentences: Sequence[Any]) -> list[Any]:
    """The attributes of tokens; with those of pairs of tokens, if the templates have any, in pairs."""
    if not templates.edges:
        return [templates.apply(sentence) for sentence in sentences]
    return [(templates.apply(sentence), templates.apply_edges(sentence)) for sentence in sentences]


def facts_of(result: Result) -> dict[str, Any]:
    """The facts about a solve other than coefficients and dual point, without references to the data."""
    problem: Any = result.problem
    loss, encoded = problem.loss, problem.model
    if type(loss) not in (AssociativeGraph, Candidates, Chain, Graph, Matching, Multiclass, PairwiseLabels, Tree):
        raise InputError(f"{type(loss).__name__} is not a built-in model of structured outputs: it cannot be saved")
    features = None
    if isinstance(loss, Chain):
        features = encoded.layout.start.size - 1 if loss.observed_only else encoded.layout.features
    shape = Shape(
        int(encoded.features if features is None else features),
        int(getattr(encoded, "edge_features", 0)),
        1 if isinstance(loss, Candidates | Matching) else int(encoded.m),
    )
    return {
        "loss": loss, "regularizer": problem.regularizer, "shape": shape, "places": places_of(problem), "n": int(problem.n),
        "certificate": result.certificate, "status": result.status, "tol": float(result.tol), "solver": result.solver,
        "digest": result.digest, "weighted": is_weighted(problem),
    }  # fmt: skip


def places_of(problem: Any) -> np.ndarray | None:
    """The indices of the coefficients of a Chain(observed_only=True) in the layout with weights for all pairs."""
    if not (isinstance(problem.loss, Chain) and problem.loss.observed_only):
        return None
    return np.flatnonzero(problem.model.full(np.ones(problem.d)))


def dual_point_of(result: Result) -> Any:
    """The dual point without labels of weight 0."""
    problem: Any = result.problem
    point: Any = result.dual_point
    if not isinstance(point, Pool):
        return point
    sizes = np.asarray(problem.model.sizes)
    return enlarged(point, sizes, np.zeros(sizes.size, dtype=np.int64))


def entries_of(about: Mapping[str, Any]) -> dict[str, Any]:
    """Lists and arrays as tuples of plain values."""
    return {key: plain_entries(part) for key, part in about.items()}


def width(loss: AnyLoss, x: np.ndarray | sp.csr_matrix) -> int:
    """The number of features per token, node, edge or row of an example."""
    if (
        isinstance(loss, Tree | Graph | AssociativeGraph)
        or (isinstance(loss, Chain) and loss.edge_features)
        or isinstance(x, tuple)
    ):
        x = x[0]
    shape = x.shape if hasattr(x, "shape") else np.shape(x)
    return int(shape[-1]) if shape else 0


def _cut(columns: Attributes, sequences: list[Any]) -> list[Any]:
    """A matrix for every sequence of tokens."""
    for i, sequence in enumerate(sequences):
        named = isinstance(sequence, (list, tuple)) and all(token == [] or has_names(token) for token in sequence)
        if not named:
            raise InputError(
                f"example {i} must be a list of dictionaries or of lists of attribute names, one per token"
            )
    rows, first = columns.transform(sequences)
    return [rows[a:b] for a, b in pairwise(first.tolist())]
