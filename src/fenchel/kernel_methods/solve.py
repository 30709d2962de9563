"""Solving a kernel problem: the one loop of `fenchel.solve`, with the kernel's certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fenchel.choose import Choice, Choices
from fenchel.data.accept import accept_vector
from fenchel.errors import InputError
from fenchel.kernel_methods.ascent import KernelAscent, KernelOracle
from fenchel.kernel_methods.problem import KernelProblem
from fenchel.result import Result
from fenchel.run import Run
from fenchel.solve import _validate, one_blas_thread
from fenchel.solvers.base import Start


def solve_kernel(
    problem: KernelProblem,
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_time: float | None = None,
    callback: Callable[[Any], Any] | None = None,
    start: Any = None,
    solver: KernelAscent | None = None,
) -> Result:
    """Solve a kernel problem to a certified relative gap; arguments and Result as in `fenchel.solve`.

    Result.coef is c, f = sum_j c_j k(x_j, .). `start` is a Result of a problem with as many rows, or dual variables.

    >>> from fenchel.kernel_methods import KernelProblem, solve_kernel
    >>> problem = KernelProblem([[0.0], [1.0], [2.0]], [1, -1, 1], loss="hinge", alpha=0.1, fit_intercept=True)
    >>> result = solve_kernel(problem)
    >>> result.status.name, result.certificate.relative_gap <= 1e-6
    ('CERTIFIED', True)
    """
    _validate(tol, max_iter, max_time, callback)
    if not isinstance(problem, KernelProblem):
        raise InputError(f"solve_kernel takes a KernelProblem, got {type(problem).__name__}: use fenchel.solve for it")
    run = Run(problem, tol, max_iter, max_time, callback, KernelOracle(problem))
    u = start.dual_point if isinstance(start, Result) else start
    b = float(start.intercept) if isinstance(start, Result) and problem.fit_intercept else 0.0
    begin = Start(np.zeros(problem.n), b, None if u is None else accept_vector(u, problem.n, "start"))
    choice = Choice(solver or KernelAscent(), "the only solver for kernels")
    with one_blas_thread():
        return run.through(Choices([choice]), begin)
