"""Tokens of sequences in the space of a kernel, as explicit features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.estimators.incomplete_cholesky import IncompleteCholesky
from fenchel.models.kernel_features import cholesky_features

TOLERANCE = 1e-9  # of the trace of the kernel matrix that the features of all training tokens may miss


class Pivots(NamedTuple):
    """Chosen training tokens, the factor of their kernel matrix and the kernel's parameters: phi(x) = L^-1 k(pivots, x)."""

    params: dict[str, Any]
    vectors: Any
    factor: np.ndarray


def pivots_of(estimator: Any, rows: list[Any], edges: bool) -> Pivots:
    """The pivots among all tokens of the training sequences; `estimator` has the parameters of the kernel."""
    features = IncompleteCholesky(
        kernel=estimator.kernel, gamma=estimator.gamma, degree=estimator.degree, coef0=estimator.coef0,
        kernel_params=estimator.kernel_params, tolerance=TOLERANCE, max_rank=estimator.max_rank,
    ).fit(stacked(rows, edges))  # fmt: skip
    return Pivots(features.kernel_params_, features.components_, features.factor_)


def kernel_rows(kernel: Any, pivots: Pivots, rows: list[Any], edges: bool) -> list[Any]:
    """The sequences with phi of every token instead of its features; links are not changed."""
    if not rows:
        return rows
    tokens = [x[0] if edges else x for x in rows]
    phi = cholesky_features(kernel, pivots.params, stacked(rows, edges), pivots.vectors, pivots.factor)
    parts = np.split(phi, np.cumsum([x.shape[0] for x in tokens])[:-1])
    return [(part, x[1]) for part, x in zip(parts, rows, strict=True)] if edges else parts


def stacked(rows: list[Any], edges: bool) -> Any:
    """All tokens below each other."""
    tokens = [x[0] if edges else x for x in rows]
    return sp.csr_matrix(sp.vstack(tokens)) if any(map(sp.issparse, tokens)) else np.vstack(tokens)
