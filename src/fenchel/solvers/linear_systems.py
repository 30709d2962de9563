"""Linear systems of Newton steps: conjugate gradients, and Cholesky factors with as much ridge as they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeAlias

import numpy as np

from fenchel.kernels.gram import symmetric

Apply: TypeAlias = Callable[[np.ndarray], np.ndarray]


def conjugate_gradients(
    product: Apply,
    precondition: Apply,
    b: np.ndarray,
    enough: Callable[[np.ndarray], bool],
    max_steps: int,
    inner: Callable[[np.ndarray, np.ndarray], float] = np.dot,
) -> tuple[np.ndarray, int]:
    """(x with enough(b - product(x)), or the last x if that takes more than `max_steps` or there is no curvature; the steps).

    `product` and `precondition` are self-adjoint and positive in the inner product.

    >>> H, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([3.0, 4.0])
    >>> x, steps = conjugate_gradients(lambda v: H @ v, lambda r: r, b, lambda r: float(np.abs(r).max()) < 1e-12, 10)
    >>> x.round(12), steps
    (array([1., 1.]), 2)
    """
    x, r = np.zeros(b.size), b.copy()
    z = precondition(r)
    direction, rz, steps = z.copy(), inner(r, z), 0  # A copy, because the preconditioner may return r itself.
    while steps < max_steps and rz > 0.0 and not enough(r):
        steps += 1
        changed = product(direction)
        curvature = inner(direction, changed)
        if not curvature > 0.0:
            break
        x += (rz / curvature) * direction
        r -= (rz / curvature) * changed
        z = precondition(r)
        before, rz = rz, inner(r, z)
        direction = z + (rz / before) * direction
    return x, steps


def factors(
    matrix: np.ndarray, diagonals: Iterable[np.ndarray], again: Callable[[], np.ndarray] | None = None
) -> Iterator[Apply]:
    """b -> matrix^-1 b, for each of these diagonals with which the symmetric matrix has a Cholesky factor.

    The upper triangle is read. The matrix is overwritten, and a solver is valid until the next one is asked for. `again`
    computes the matrix once more for another diagonal; else its lower triangle is used to keep it.

    >>> H = np.array([[1.0, 1.0], [1.0, 1.0]])
    >>> solve = next(factors(H, (np.full(2, 1.0 + ridge) for ridge in (0.0, 0.5))))
    >>> solve(np.array([5.0, 5.0]))
    array([2., 2.])
    """
    from scipy.linalg.lapack import dpotrf, dpotrs

    matrix = np.ascontiguousarray(matrix)
    if again is None:
        symmetric(matrix)
    for diagonal in diagonals:
        matrix.flat[:: diagonal.size + 1] = diagonal
        root, failed = dpotrf(
            matrix.T, lower=1, clean=0, overwrite_a=1
        )  # In LAPACK's order this is the upper triangle.
        if not failed:
            yield partial(_back, dpotrs, root)
        if again is None:
            symmetric(matrix.T)
        else:
            matrix = np.ascontiguousarray(again())


def _back(dpotrs: Callable[..., tuple[np.ndarray, int]], root: np.ndarray, b: np.ndarray) -> np.ndarray:
    return dpotrs(root, b, lower=1)[0]
