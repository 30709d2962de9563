"""What all models share: what they are, the one check that their parts fit together, and the versions that made them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from fenchel.errors import InputError

Rules = Iterator[tuple[str, bool]]


class HasModel(Protocol):
    """A fitted estimator: what can say its model."""

    def to_model(self) -> Any:
        """The model."""


class BaseModel:
    """A fitted model without the data: a frozen dataclass whose `rules` must hold and whose fields a file can hold.

    A subclass adds `predict` (or `transform`), and its class, or its loss, says what differs from the others.
    """

    kind: ClassVar[str | None] = None  # how a file names the class; linear models are the ones without a name
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
        """What must be true of the parts, one after the other: a sentence, and whether it holds.

        They come in an order in which each may rely on those before it.
        """
        raise NotImplementedError("abstract: a model says which of its parts fit together")


def score_rules(coef: np.ndarray, intercept: np.ndarray | float, k: int, width: str = "d") -> Rules:
    """Coefficients and intercept of k scores."""
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
    """What a model says of the solves of so many problems."""
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
    """The relative gap that was asked for."""
    return "tol must be a number greater than 0", 0.0 < tol < np.inf


def name_rules(names: Sequence[str] | None, d: int) -> Rules:
    """Names of d features."""
    yield f"feature_names must be None or {d} strings", names is None or (len(names) == d and are_strings(names))


def are_strings(names: Iterable[object]) -> bool:
    """Whether all of them are strings."""
    return all(isinstance(name, str) for name in names)


def good_names(labels: Sequence[object], count: int) -> bool:
    """Whether labels are `count` different strings, or so many different numbers."""
    numbers = all(isinstance(label, (int, float)) and np.isfinite(label) for label in labels)
    return len(labels) == count == len(set(labels)) and (are_strings(labels) or numbers)


def current_versions() -> dict[str, str]:
    """The versions that a model made now is made with."""
    from importlib.metadata import version

    return {name: version(name) for name in ("fenchel", "numpy")}


def plain_entries(entries: Iterable[Any] | None) -> tuple[Any, ...] | None:
    """Labels or names as a tuple of what plain Python has.

    >>> plain_entries(np.array([0.5, 2.0])), plain_entries(["a", np.int64(1)]), plain_entries(None)
    ((0.5, 2.0), ('a', 1), None)
    """
    if entries is None:
        return None
    return tuple(entry.item() if isinstance(entry, np.generic) else entry for entry in entries)


def labels_shown(labels: Sequence[Any] | None) -> str | None:
    """The labels, of many the first ones."""
    if labels is None:
        return None
    return ", ".join(str(label) for label in labels[:8]) + (f", … ({len(labels)})" if len(labels) > 8 else "")


def feature_names_of(estimator: object) -> tuple[str, ...] | None:
    """The names of the features that a fitted estimator has seen."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)
