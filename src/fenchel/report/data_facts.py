"""Facts about task and data, without the values of any row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.losses import task
from fenchel.models.base import labels_shown
from fenchel.structured import is_structured

if TYPE_CHECKING:
    from fenchel.problems.scalar import Problem


def task_of(loss: Any, labels: Sequence[Any] | None) -> str:
    """The task in words."""
    if is_structured(loss):
        return "structured"
    said = task.task_of(loss)
    if said == "classes" or (labels is not None and len(labels) > 2):
        return "classes"
    if labels is not None and said != "novelty":
        return "two classes"
    return {"binary": "two classes", "ordinal": "ranking"}.get(said, said)


def data_facts(problem: Any, labels: Sequence[Any] | None = None) -> dict[str, Any]:
    """Rows, features, storage, weights and rows per label, without the values of any row."""
    structured = problem.is_structured
    facts: dict[str, Any] = {"Examples" if structured else "Rows": int(problem.n)}
    if hasattr(problem, "gram"):
        facts["Kernel"] = f"{problem.kernel!r} {problem.kernel_params or ''}".strip()
    else:
        facts["Coefficients" if structured else "Features"] = int(problem.d)
    X = getattr(problem, "X", None)
    if X is not None and hasattr(X, "shape") and not structured:
        sparse = hasattr(X, "nnz")
        facts["Features"] = int(X.shape[1])
        facts["Stored values"] = int(X.nnz if sparse else np.prod(X.shape))
        facts["Storage"] = f"{'sparse (CSR)' if sparse else 'dense'}, {X.dtype}"
    if hasattr(problem, "weights") and bool((problem.weights != problem.weights[0]).any()):
        facts["Row weights"] = f"yes, summing to {problem.total_weight:.6g}"
    if getattr(problem, "has_offset", False):
        facts["Offset"] = "yes"
    if getattr(problem, "groups", None) is not None:
        facts["Queries"] = int(np.unique(problem.groups).size)
    return facts | _class_counts(problem, labels)


def _class_counts(problem: Problem, labels: Sequence[Any] | None) -> dict[str, Any]:
    """Rows per label; with one-vs-rest the rows are not counted, only the labels are listed."""
    if problem.is_structured or np.ndim(problem.y) != 1:
        return {}
    predicted = task_of(problem.loss, labels)
    if predicted not in ("two classes", "classes") or (
        predicted == "classes" and not (problem.is_vector or problem.is_measure)
    ):
        return {"Labels": labels_shown(labels)}
    values, counts = np.unique(problem.y, return_counts=True)
    places = [int(value > 0) if predicted == "two classes" else int(value) for value in values]
    names = [f"{value:g}" if labels is None else str(labels[k]) for value, k in zip(values, places, strict=True)]
    pairs = [f"{name}: {count:,}" for name, count in zip(names[:12], counts[:12], strict=True)]
    return {"Rows per label": "; ".join(pairs) + (f"; … ({len(names)} labels)" if len(names) > 12 else "")}
