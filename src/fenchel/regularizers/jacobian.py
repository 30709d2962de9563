"""An element of the generalised Jacobian of a prox: a diagonal plus few outer products.

J = diag(a) + sum_k c_k q_k q_k',    0 <= J <= I, symmetric.

Separable regularizers have a diagonal alone. Groups, sorted or fused entries and balls add one sparse vector q_k for each
group of entries that move together, so that products with J cost as much as reading it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from fenchel.regularizers.numerics import Vector


@dataclass(frozen=True, eq=False)
class ProxJacobian:
    """J = diag(diagonal) + Q diag(scales) Q', with Q = `vectors` sparse, d x k; k = 0 for a separable regularizer.

    >>> J = ProxJacobian(np.array([1.0, 0.0]))
    >>> J @ np.array([2.0, 3.0]), J.columns(), J.restricted(J.columns())
    (array([2., 0.]), array([0]), array([[1.]]))
    """

    diagonal: Vector
    vectors: sp.csc_array | None = None
    scales: Vector | None = None

    @property
    def is_diagonal(self) -> bool:
        """Whether there is no outer product."""
        return self.vectors is None or self.vectors.shape[1] == 0

    def __matmul__(self, x: Vector) -> Vector:
        """J x, for a vector or a matrix of columns."""
        shape = (-1,) + (1,) * (np.ndim(x) - 1)
        out = self.diagonal.reshape(shape) * x
        if self.vectors is not None and self.scales is not None and not self.is_diagonal:
            out = out + self.vectors @ (self.scales.reshape(shape) * (self.vectors.T @ x))
        return out

    def columns(self) -> np.ndarray:
        """The indices of the columns of J that are not zero by structure."""
        used = self.diagonal != 0.0
        if self.vectors is not None:
            used[self.vectors.indices] = True
        return np.flatnonzero(used)

    def restricted(self, columns: np.ndarray) -> Vector:
        """J[columns][:, columns], dense."""
        out = np.diag(self.diagonal[columns])
        if self.vectors is not None and not self.is_diagonal:
            part = self.vectors.tocsr()[columns].toarray()
            out = out + (part * self.scales) @ part.T
        return out

    def toarray(self) -> Vector:
        """J, dense."""
        return self.restricted(np.arange(self.diagonal.size))

    def entries(self) -> Vector:
        """The diagonal of J, with what the outer products add to it."""
        if self.vectors is None or self.scales is None or self.is_diagonal:
            return self.diagonal
        return self.diagonal + self.vectors.power(2) @ self.scales

    def outer_products(self) -> tuple[Vector, Vector]:
        """(the q_k as columns of a dense matrix, c)."""
        if self.vectors is None or self.scales is None:
            return np.zeros((self.diagonal.size, 0)), np.zeros(0)
        return self.vectors.toarray(), self.scales

    def factor(self) -> sp.csc_array | None:
        """B with J = B B' and a column for all entries that move together; None if there is none with fewer columns than J."""
        return None

    def root(self) -> ProxJacobian | None:
        """The symmetric root of J; None if it has no simple form.

        >>> ProxJacobian(np.array([4.0, 9.0])).root() @ np.ones(2)
        array([2., 3.])
        """
        return ProxJacobian(np.sqrt(self.diagonal)) if self.is_diagonal else None


@dataclass(frozen=True, eq=False)
class ClusterJacobian(ProxJacobian):
    """J = diag(diagonal) + sum_k scales_k q_k q_k', where entry j is in no q_k but that of labels_j (-1: none), with values_j.

    >>> J = ClusterJacobian(np.zeros(3), None, np.array([0.5]), np.array([0, 0, -1]), np.ones(3))
    >>> J @ np.array([2.0, 4.0, 6.0]), J.columns()
    (array([3., 3., 0.]), array([0, 1]))
    """

    labels: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    values: Vector = field(default_factory=lambda: np.empty(0))

    @property
    def is_diagonal(self) -> bool:
        """Whether there is no outer product."""
        return self.scales is None or self.scales.size == 0

    def __matmul__(self, x: Vector) -> Vector:
        """J x, for a vector or a matrix of columns."""
        shape = (-1,) + (1,) * (np.ndim(x) - 1)
        out = self.diagonal.reshape(shape) * x
        if self.scales is not None and self.scales.size:
            at = np.flatnonzero(self.labels >= 0)
            labels, values = self.labels[at], self.values[at].reshape(shape)
            sums = np.zeros((self.scales.size, *np.shape(x)[1:]))
            np.add.at(sums, labels, values * x[at])
            out[at] += values * (self.scales.reshape(shape) * sums)[labels]
        return out

    def columns(self) -> np.ndarray:
        """The indices of the columns of J that are not zero by structure."""
        return np.flatnonzero((self.diagonal != 0.0) | (self.labels >= 0))

    def entries(self) -> Vector:
        """The diagonal of J, with what the outer products add to it."""
        if self.scales is None or self.is_diagonal:
            return self.diagonal
        return self.diagonal + np.where(self.labels >= 0, self.scales[self.labels] * self.values**2, 0.0)

    def outer_products(self) -> tuple[Vector, Vector]:
        """(the q_k as columns of a dense matrix, c)."""
        if self.scales is None:
            return np.zeros((self.diagonal.size, 0)), np.zeros(0)
        return np.where(self.labels[:, None] == np.arange(self.scales.size), self.values[:, None], 0.0), self.scales

    def factor(self) -> sp.csc_array | None:
        """B with J = B B' and a column for all entries that move together; None if there is none with fewer columns than J.

        >>> J = with_clusters(np.array([0.0, 0.0, 1.0]), np.array([0, 0, -1]), np.ones(3), np.array([0.25]))
        >>> J.factor().toarray()
        array([[0. , 0.5],
               [0. , 0.5],
               [1. , 0. ]])
        """
        inside = self.labels >= 0
        if self.scales is None or self.is_diagonal or (self.diagonal[inside] != 0.0).any() or (self.scales < 0.0).any():
            return None
        alone, together = np.flatnonzero(self.diagonal != 0.0), np.flatnonzero(inside)
        labels = self.labels[together]
        values = np.append(np.sqrt(self.diagonal[alone]), np.sqrt(self.scales)[labels] * self.values[together])
        places = np.append(np.arange(alone.size), alone.size + labels)
        shape = (self.diagonal.size, alone.size + self.scales.size)
        return sp.csc_array((values, (np.append(alone, together), places)), shape=shape)

    def root(self) -> ProxJacobian | None:
        """The symmetric root of J, where the diagonal is constant on each q_k: these are then eigenvectors.

        >>> J = with_clusters(np.full(2, 0.25), np.zeros(2, dtype=np.intp), np.ones(2), np.array([0.375]))
        >>> J.root().restricted(np.arange(2))
        array([[0.75, 0.25],
               [0.25, 0.75]])
        """
        if self.scales is None or self.is_diagonal:
            return super().root()
        inside = self.labels >= 0
        labels, squares = self.labels[inside], self.values[inside] ** 2
        own = np.zeros(self.scales.size)
        own[labels] = self.diagonal[inside]
        if not np.array_equal(own[labels], self.diagonal[inside]):
            return None
        length = np.bincount(labels, squares, minlength=self.scales.size)
        rise = np.sqrt(np.maximum(own + self.scales * length, 0.0)) - np.sqrt(own)
        scales = np.where(length > 0.0, rise / np.where(length > 0.0, length, 1.0), 0.0)
        return with_clusters(np.sqrt(self.diagonal), self.labels, self.values, scales)

    def restricted(self, columns: np.ndarray) -> Vector:
        """J[columns][:, columns], dense."""
        out = np.diag(self.diagonal[columns])
        if self.scales is not None and self.scales.size:
            labels, values = self.labels[columns], self.values[columns]
            together = (labels[:, None] == labels) & (labels >= 0)
            out += np.where(together, np.outer(values * self.scales[labels], values), 0.0)
        return out


def with_clusters(diagonal: Vector, labels: np.ndarray, values: Vector, scales: Vector) -> ClusterJacobian:
    """diag(diagonal) + sum_k scales_k q_k q_k', where q_k has the entries `values` at the indices labelled k (-1: none).

    >>> with_clusters(np.zeros(3), np.array([0, 0, -1]), np.ones(3), np.array([0.5])).toarray()
    array([[0.5, 0.5, 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 0. ]])
    """
    return ClusterJacobian(diagonal, None, scales, labels, values)
