"""The squared loss of several targets, in a metric M."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.data.dtypes import is_number
from fenchel.errors import InputError
from fenchel.multiclass.parameters import ByContent
from fenchel.multiclass.softmax import ROUNDING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@helper
def coordinate(vectors, k, x):
    """The coordinate of x along eigenvector k."""
    total = 0.0
    for j in range(x.size):
        total += vectors[j, k] * x[j]
    return total


@helper
def residual(vectors, k, z, y):
    """The coordinate of z - y along eigenvector k."""
    total = 0.0
    for j in range(z.size):
        total += vectors[j, k] * (z[j] - y[j])
    return total


@helper
def metric_prox(loss, t, g, y, out):
    """out = (M^+ + g I)^-1 (t - y) on the range of M, 0 on its complement; for g = 0 these are the slopes at t."""
    if loss.values.size == 0:
        for j in range(t.size):
            out[j] = (t[j] - y[j]) / (1.0 + g)
        return
    out[:] = 0.0
    for k in range(loss.values.size):
        if loss.values[k] > 0.0:
            c = residual(loss.vectors, k, t, y) * (loss.values[k] / (1.0 + g * loss.values[k]))
            for j in range(t.size):
                out[j] += c * loss.vectors[j, k]


def _metric(M: ArrayLike) -> np.ndarray:
    """(M + M') / 2 as an array; InputError if M is not a finite square matrix."""
    try:
        array = np.array(M, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("M must be a square matrix of real numbers, or None for the identity") from None
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise InputError(f"M must be a square matrix, or None for the identity; got shape {array.shape}")
    if not np.isfinite(array).all():
        i, j = np.argwhere(~np.isfinite(array))[0]
        raise InputError(f"M must be finite, but M[{i}, {j}] = {array[i, j]}")
    return 0.5 * array + 0.5 * array.T


class _Fields(NamedTuple):
    M: np.ndarray  # 0 x 0: the identity, of any size
    values: np.ndarray
    vectors: np.ndarray


class MultivariateSquared(ByContent, _Fields):
    """1/2 (z - y)' M (z - y), y a vector per row, M symmetric and positive semidefinite

    Conjugate: <u, y> + 1/2 u' M^+ u for u in the range of M. `M=None` is the identity; a matrix that is not symmetric is
    replaced by (M + M') / 2, which gives the same loss. Eigenvalues below the rounding of the largest count as 0.

    >>> import numpy as np
    >>> loss, u = MultivariateSquared([[2.0, 0.0], [0.0, 1.0]]), np.empty(2)
    >>> loss.slopes(np.array([1.0, 3.0]), np.array([0.0, 1.0]), u)
    >>> float(loss.value(np.array([1.0, 3.0]), np.array([0.0, 1.0]))), u
    (3.0, array([2., 2.]))
    """

    __slots__ = ()
    tex = r"\frac{1}{2}(z - y)' M (z - y)"
    tex_where = "y a vector"
    nonnegative = True
    task = "regression"
    several_targets = True
    free_intercepts = True

    def __new__(cls, M: ArrayLike | None = None) -> MultivariateSquared:
        if M is None:
            return cls._make([np.empty((0, 0)), np.empty(0), np.empty((0, 0))])
        symmetric = _metric(M)
        values, vectors = np.linalg.eigh(symmetric)
        floor = ROUNDING * values.size * np.abs(values).max()
        if values[0] < -floor:
            raise InputError(
                f"M must be positive semidefinite, but its smallest eigenvalue is {values[0]:.6g}: "
                "no convex loss has this M"
            )
        values[values <= floor] = 0.0
        return cls._make([symmetric, values, np.ascontiguousarray(vectors)])

    def saved(self) -> dict[str, Any]:
        """What a file keeps: M alone."""
        return {"M": self.M if self.M.size else None}

    def __reduce__(self):
        return type(self)._make, (tuple(self),)

    def __repr__(self):
        return f"MultivariateSquared(M={'None' if self.M.size == 0 else self.M.tolist()})"

    def outputs(self, y: ArrayLike) -> int:
        y = np.asarray(y)
        if y.ndim != 2 or y.size == 0 or not is_number(y):
            raise InputError(
                f"y must be a matrix of numbers with a row per row of X, got {y.dtype} of shape {y.shape}; "
                "for one target use fenchel.losses.Squared"
            )
        if self.M.size and y.shape[1] != self.M.shape[0]:
            m = self.M.shape[0]
            raise InputError(f"y has {y.shape[1]} columns, but M is {m} x {m}: they must agree")
        return int(y.shape[1])

    def value(self, z, y):
        total = 0.0
        if self.values.size == 0:
            for j in range(z.size):
                total += (z[j] - y[j]) * (z[j] - y[j])
            return 0.5 * total
        # Through the eigenvectors, like all methods here: so value and conjugate agree on what the range of M is.
        for k in range(self.values.size):
            c = residual(self.vectors, k, z, y)
            total += self.values[k] * (c * c)
        return 0.5 * total

    def slopes(self, z, y, out):
        metric_prox(self, z, 0.0, y, out)

    def conjugate(self, u, y):
        square, linear, metric, outside = 0.0, 0.0, 0.0, 0.0
        for j in range(u.size):
            square += u[j] * u[j]
            linear += u[j] * y[j]
        if self.values.size == 0:
            return linear + 0.5 * square
        for k in range(u.size):
            c = coordinate(self.vectors, k, u)
            if self.values[k] > 0.0:
                metric += c * c / self.values[k]
            else:
                outside = max(outside, abs(c))
        return linear + 0.5 * metric if outside <= ROUNDING * u.size * math.sqrt(square) else math.inf

    def into_domain(self, u, y):
        if self.values.size == 0 or self.values[0] > 0.0:
            return
        # A sum over eigenvectors of the range; u minus its other part would leave that part's rounding behind.
        old = u.copy()
        u[:] = 0.0
        for k in range(u.size):
            if self.values[k] > 0.0:
                c = coordinate(self.vectors, k, old)
                for j in range(u.size):
                    u[j] += c * self.vectors[j, k]

    def dual_prox(self, t, g, y, out):
        metric_prox(self, t, g, y, out)

    def largest_slope(self):
        return math.inf if self.values.size == 0 or self.values[-1] > 0.0 else 0.0

    def smoothness(self):
        return float(self.values[-1]) if self.values.size else 1.0
