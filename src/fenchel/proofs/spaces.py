"""Where the coefficients of a family of problems live: scores of rows there, and how far they can be off.

A space has the metric in which the regularizer is strongly convex, the coefficients grad R*(v) that belong to a dual point,
and, for rows, <x, w> with its largest change per unit of distance in that metric.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.certificates import scalar, vector
from fenchel.certificates.assemble import SAFETY
from fenchel.certificates.unpenalised import split
from fenchel.compile.dispatch import is_ours
from fenchel.errors import InputError
from fenchel.regularizers.metric import Metric

EPS = float(np.finfo(np.float64).eps)
BLOCK = 4096  # rows whose scores are computed at a time


class Dual(NamedTuple):
    """Coefficients grad R*(v), and the distance by which rounding of v may have moved them."""

    coef: np.ndarray
    error: float


class Reach(NamedTuple):
    """Scores at some coefficients, how far a score moves per unit of distance, and its rounding error."""

    scores: np.ndarray
    per_distance: np.ndarray
    rounding: np.ndarray


class LinearSpace:
    """Scores X w: one per row, or, with W of shape (m, d), m per row."""

    def __init__(self, problem: Any):
        self.problem = problem
        given = problem.given if problem.is_vector else problem.regularizer
        features = problem.features if problem.is_vector else problem.d
        self.metric: Metric | None = given.metric(features) if is_ours(type(given)) else None

    def norm(self, coef: np.ndarray) -> float:
        """The length of a vector of coefficients, from below."""
        assert self.metric is not None
        return float(np.sqrt(sum(self.metric.norm(row) ** 2 for row in np.atleast_2d(coef))))

    def half_widths(self) -> np.ndarray:
        """How far each coefficient moves per unit of distance."""
        assert self.metric is not None
        return self.metric.half_widths()

    def dual(self, u: Any) -> Dual | None:
        """grad R*(v) at v = -sum p u x; None if it is not known."""
        problem = self.problem
        regularizer = problem.penalty if problem.is_vector else problem.regularizer
        families = problem.is_scalar or (problem.is_vector and not problem.own)
        if u is None or problem.remote or not families or not regularizer.strongly_convex:
            return None
        if problem.is_vector:
            v, spread = vector.combined(problem, u)
        else:
            v, spread = scalar.combined(problem, problem.weights, u)
            v = split(problem, v, spread).v
        coef = regularizer.primal_from_dual(v.ravel())
        if problem.is_vector:
            coef = np.ascontiguousarray(coef.reshape(v.shape).T)
        widths = self.half_widths()
        scores = 1 if coef.ndim == 1 else coef.shape[0]
        return Dual(coef, SAFETY * EPS * spread * float(np.sqrt(scores * np.sum(widths**2))))

    def reach(self, X: Any, coef: np.ndarray) -> Reach:
        """Of the rows of X."""
        columns = coef.shape[-1]
        X = X if sp.issparse(X) else np.asarray(X)
        if X.ndim != 2 or X.shape[1] != columns:
            raise InputError(f"X must have {columns} columns, one per coefficient, got shape {X.shape}")
        assert self.metric is not None
        parts = [self._reach(part, coef) for part in _blocks(X)]
        return Reach(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _reach(self, X: Any, coef: np.ndarray) -> Reach:
        assert self.metric is not None
        squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
        lengths = np.sqrt(np.asarray(squares, dtype=np.float64).ravel())
        size = lengths * float(np.linalg.norm(coef)) * (X.shape[1] + 2) * EPS
        return Reach(np.asarray(X @ coef.T), self.metric.dual_norms(X), size)

    def training_rows(self) -> Any:
        """The rows of the problem."""
        return self.problem.X


class KernelSpace:
    """Functions f = sum_j c_j k(x_j, .) with |f|^2 = c'Kc."""

    metric = True  # the norm of the space, times sqrt(alpha)

    def __init__(self, problem: Any):
        self.problem = problem

    def norm(self, coef: np.ndarray) -> float:
        """sqrt(alpha c'Kc), from below."""
        used = np.flatnonzero(coef)
        if used.size == 0:
            return 0.0
        K = np.concatenate([self.problem.gram.rows(int(i), int(i) + 1, used) for i in used])
        size = float(np.abs(coef[used]) @ np.abs(K) @ np.abs(coef[used]))
        square = float(coef[used] @ K @ coef[used]) - (used.size + 8) * EPS * size
        return float(np.sqrt(self.problem.alpha * max(square, 0.0)))

    def half_widths(self) -> np.ndarray:
        """None: coefficients of a kernel are not unique."""
        raise InputError("coefficients of a kernel machine are not unique: only its scores are bounded; use `scores`")

    def dual(self, u: Any) -> Dual | None:
        """c = -(p u) / alpha."""
        return None if u is None else Dual(-(self.problem.weights * np.asarray(u)) / self.problem.alpha, 0.0)

    def reach(self, X: Any, coef: np.ndarray) -> Reach:
        """Of the rows of X; with kernel="precomputed" only of the training rows, as `training_rows` gives them."""
        gram, used, n = self.problem.gram, np.flatnonzero(coef), self.problem.n
        rows, parts, squares = X, list[np.ndarray](), list[np.ndarray]()
        for a in range(0, rows.shape[0], BLOCK // 8):
            part = rows[a : a + BLOCK // 8]
            if isinstance(X, _TrainingRows):
                parts.append(gram.rows(a, min(a + BLOCK // 8, n), used))
                squares.append(gram.diagonal[a : a + BLOCK // 8])
            elif hasattr(gram, "function"):
                parts.append(gram.function(part, gram.X[used]))
                squares.append(
                    np.array([gram.function(part[k : k + 1], part[k : k + 1])[0, 0] for k in range(part.shape[0])])
                )
            else:
                raise InputError('with kernel="precomputed" only the scores of the training rows are bounded')
        K = np.concatenate(parts) if parts else np.zeros((0, used.size))
        lengths = np.sqrt(np.maximum(np.concatenate(squares), 0.0) / self.problem.alpha) if squares else np.zeros(0)
        rounding = (used.size + 8) * EPS * (np.abs(K) @ np.abs(coef[used]))
        return Reach(K @ coef[used], lengths * (1.0 + 1e-9), rounding)

    def training_rows(self) -> Any:
        """The rows of the problem."""
        return _TrainingRows(self.problem.n)


class _TrainingRows:
    """The rows of a kernel problem, by number."""

    def __init__(self, n: int):
        self.shape = (n, n)

    def __getitem__(self, span: slice) -> None:
        return None


def space_of(problem: Any) -> LinearSpace | KernelSpace:
    """That of the problem's family."""
    if problem.is_kernel and (problem.is_vector or problem.is_measure):
        raise InputError(
            "with a kernel, the region of the optimum is known for losses of one score only, not for "
            f"{type(problem.loss).__name__}"
        )
    return KernelSpace(problem) if problem.is_kernel else LinearSpace(problem)


def _blocks(X: Any) -> Iterator[Any]:
    """Some rows at a time, as float64."""
    for a in range(0, max(X.shape[0], 1), BLOCK):
        yield X[a : a + BLOCK].astype(np.float64)
