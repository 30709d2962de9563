"""The base class of models, with the check that their parts are consistent, and the versions that created them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from fenchel.errors import InputError

Rules = Iterator[tuple[str, bool]]


class HasModel(Protocol):
    """A fitted estimator, which can be converted to a model."""

    def to_model(self) -> Any:
        """The model."""


class BaseModel:
    """A fitted model without the data: a frozen dataclass whose `rules` must hold and whose fields can be saved.

    A subclass adds `predict` or `transform`; class attributes and the loss define its kind.
    """

    kind: ClassVar[str | None] = None  # the name of the class in files; linear models have none
    is_linear: Any = False  # scores are X coef' + intercept
    is_vector: Any = False  # a loss of several scores per row
    is_measure: Any = False  # a measure of all scores together
    is_ranking: Any = False  # a measure whose scores are for ranking, without labels
    is_structured: Any = False  # examples with structured outputs
    is_kernel: Any = False  # scores in the space of a kernel

    @property
    def family(self) -> str:
        """ "scalar", "vector" (a loss of several scores), "set" (a measure of all rows), or the kind of the model."""
        return str(self.kind)

    def __post_init__(self) -> None:
        for rule, kept in self.rules():
            if not kept:
                raise InputError(rule)

    def rules(self) -> Rules:
        """The conditions on the parts: a sentence, and whether it holds.

        They are ordered so that each may rely on the previous ones.
        """
        raise NotImplementedError("abstract: a model defines the conditions on its parts")


def score_rules(coef: np.ndarray, intercept: np.ndarray | float, k: int, width: str = "d") -> Rules:
    """The conditions on coefficients and intercept of k scores."""
    yield (
        f"coef must be a finite float64 array of shape ({width},) or (k, {width}) with k > 1",
        coef.ndim in (1, 2)
        and coef.dtype == np.float64
        and (coef.ndim == 1 or k > 1)
        and bool(np.isfinite(coef).all()),
    )
    intercept = np.asarray(intercept)
    yield (
        f"intercept must be {'a finite number' if k == 1 else f'{k} finite numbers'}",
        intercept.shape == (() if k == 1 else (k,)) and bool(np.isfinite(intercept).all()),
    )


def solve_rules(model: Any, problems: int) -> Rules:
    """The conditions on the facts about the solves of so many problems."""
    yield (
        "intercept must be 0 when fit_intercept is False",
        bool(model.fit_intercept or not np.any(model.intercept)),
    )
    yield (
        f"certificates, statuses, solvers and digests must have {problems} entries",
        {problems} == {len(part) for part in (model.certificates, model.statuses, model.solvers, model.digests)},
    )
    yield tol_rule(model.tol)
    yield "n must be at least 1", model.n >= 1


def tol_rule(tol: float) -> tuple[str, bool]:
    """The condition on the tolerance."""
    return "tol must be a number greater than 0", 0.0 < tol < np.inf


def name_rules(names: Sequence[str] | None, d: int) -> Rules:
    """The condition on the names of d features."""
    yield f"feature_names must be None or {d} strings", names is None or (len(names) == d and are_strings(names))


def are_strings(names: Iterable[object]) -> bool:
    """Whether all of them are strings."""
    return all(isinstance(name, str) for name in names)


def good_names(labels: Sequence[object], count: int) -> bool:
    """Whether labels are `count` distinct strings or distinct numbers."""
    numbers = all(isinstance(label, (int, float)) and np.isfinite(label) for label in labels)
    return len(labels) == count == len(set(labels)) and (are_strings(labels) or numbers)


def current_versions() -> dict[str, str]:
    """The current versions, for a new model."""
    from importlib.metadata import version

    return {name: version(name) for name in ("fenchel", "numpy")}


def plain_entries(entries: Iterable[Any] | None) -> tuple[Any, ...] | None:
    """Labels or names as a tuple of plain Python objects.

    >>> plain_entries(np.array([0.5, 2.0])), plain_entries(["a", np.int64(1)]), plain_entries(None)
    ((0.5, 2.0), ('a', 1), None)
    """
    if entries is None:
        return None
    return tuple(entry.item() if isinstance(entry, np.generic) else entry for entry in entries)


def labels_shown(labels: Sequence[Any] | None) -> str | None:
    """The labels; if there are many, the first ones."""
    if labels is None:
        return None
    return ", ".join(str(label) for label in labels[:8]) + (f", … ({len(labels)})" if len(labels) > 8 else "")


def feature_names_of(estimator: object) -> tuple[str, ...] | None:
    """The feature names of a fitted estimator."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)
