"""Solving a kernel problem: the one loop of `fenchel.solve`, with the kernel's certificate."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from fenchel.choose import Choice
from fenchel.data.accept import accept_vector
from fenchel.errors import InputError
from fenchel.kernel_methods.ascent import KernelAscent, KernelOracle
from fenchel.kernel_methods.certificate import kernel_certificate
from fenchel.kernel_methods.problem import KernelProblem
from fenchel.result import Certificate, Result, Status
from fenchel.solve import Run, _validate, one_blas_thread
from fenchel.solvers.base import Start


class KernelRun(Run):
    """A run whose certificates evaluate the kernel."""

    def certify_best(self) -> bool:
        """Recompute the certificate of the best iterate; True if it holds at tol."""
        began = time.perf_counter()
        best, u = self.best, self.dual_point()
        assert best is not None
        found, point = kernel_certificate(self.problem, best.coef, best.intercept, u)
        self.certified_gap = self.gap()
        old = self.certified
        if old is not None and old[0].dual > found.dual:
            found = Certificate(found.primal, old[0].dual, found.basis, max(found.floor, old[0].floor))
            point = old[2]
        self.certified = (found, best, point)
        self.certify_seconds = max(0.7 * self.certify_seconds, time.perf_counter() - began)
        self.certified_at = self.seconds
        return found.holds(self.tol)


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
    run = KernelRun(problem, tol, max_iter, max_time, callback, KernelOracle(problem))
    u = start.dual_point if isinstance(start, Result) else start
    b = float(start.intercept) if isinstance(start, Result) and problem.fit_intercept else 0.0
    begin = Start(np.zeros(problem.n), b, None if u is None else accept_vector(u, problem.n, "start"))
    choice = Choice(solver or KernelAscent(), "the only solver for kernels")
    with one_blas_thread():
        status = run.with_solver(choice, begin)
        try:
            return run.result(status)
        except KeyboardInterrupt:
            return run.result(Status.INTERRUPTED)
