"""Variants of `fenchel.solve` and `fenchel.certify` for kernel problems."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fenchel.certificates.scalar import certify
from fenchel.data.accept import accept_vector
from fenchel.errors import InputError
from fenchel.kernel_methods.ascent import KernelAscent
from fenchel.kernel_methods.problem import KernelProblem
from fenchel.result import Certificate, Result
from fenchel.solving.solve import solve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def solve_kernel(
    problem: KernelProblem,
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_time: float | None = None,
    callback: Callable[[Any], Any] | None = None,
    start: ArrayLike | Result | tuple | None = None,
    solver: KernelAscent | None = None,
) -> Result:
    """Solve a kernel problem to a certified relative gap; arguments and Result as in `fenchel.solve`.

    The same as `fenchel.solve(problem)`, but `start` may also be dual variables alone. Result.coef is c of
    f = sum_j c_j k(x_j, .).

    >>> from fenchel.kernel_methods import KernelProblem, solve_kernel
    >>> problem = KernelProblem([[0.0], [1.0], [2.0]], [1, -1, 1], loss="hinge", alpha=0.1, fit_intercept=True)
    >>> result = solve_kernel(problem)
    >>> result.status.name, result.certificate.relative_gap <= 1e-6
    ('CERTIFIED', True)
    """
    if not isinstance(problem, KernelProblem):
        raise InputError(f"solve_kernel takes a KernelProblem, got {type(problem).__name__}: use fenchel.solve for it")
    if start is not None and not isinstance(start, (Result, tuple)):
        u = accept_vector(start, problem.n, "start")
        start = (-problem.weights * u / problem.alpha, 0.0, u)
    return solve(problem, "auto" if solver is None else solver, tol, max_iter, max_time, callback, start)


def certify_kernel(
    problem: KernelProblem, coef: ArrayLike, intercept: float = 0.0, dual_point: Any = None
) -> Certificate:
    """How far f = sum_j coef_j k(x_j, .) + intercept is from the optimum, at most: `fenchel.certify`.

    Without a dual point, u = -alpha c / p is used, the dual point that belongs to c, clipped into its domain, or the slopes at
    the scores if they are better.

    >>> from fenchel.kernel_methods import KernelProblem, certify_kernel, solve_kernel
    >>> problem = KernelProblem([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0], loss="squared", alpha=0.1)
    >>> certify_kernel(problem, solve_kernel(problem, tol=1e-8).coef).relative_gap <= 1e-8
    True
    """
    return certify(problem, coef, intercept, dual_point)
