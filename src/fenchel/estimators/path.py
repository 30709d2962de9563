"""Solutions for many strengths, each started from the one before and each with its own certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from fenchel.errors import InputError
from fenchel.estimators.budget import Budget
from fenchel.models.parts import regularizer_of
from fenchel.problems.scalar import Problem
from fenchel.result import Certificate, Result
from fenchel.solving.solve import solve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.solvers.base import Solver


@dataclass(frozen=True, eq=False)
class Path(Sequence[Result]):
    """The results for a list of strengths, in the order asked; behaves as a list of `Result`.

    Attributes
    ----------
    alphas : ndarray of shape (k,)
    results : tuple of k Results
    coefs : ndarray of shape (k, d), or (k, m, d) with m scores per row
    intercepts : ndarray of shape (k,) or (k, m)
    certificates : tuple of k Certificates
    converged : True if every one is certified.
    """

    alphas: np.ndarray
    results: tuple[Result, ...]

    @property
    def coefs(self) -> np.ndarray:
        """The coefficients of all strengths, (k, d) or (k, m, d)."""
        return np.array([result.coef for result in self.results])

    @property
    def intercepts(self) -> np.ndarray:
        """The intercepts of all strengths."""
        return np.array([result.intercept for result in self.results])

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """The certificate of each strength."""
        return tuple(result.certificate for result in self.results)

    @property
    def converged(self) -> bool:
        """True if every strength is certified at tol."""
        return all(result.converged for result in self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> Path: ...
    def __getitem__(self, index: int | slice) -> Result | Path:
        if isinstance(index, slice):
            return Path(self.alphas[index], self.results[index])
        return self.results[index]

    def __repr__(self) -> str:
        solved = sum(result.converged for result in self.results)
        ends = f"{self.alphas.min():.3g} to {self.alphas.max():.3g}" if len(self) else "none"
        return f"Path({len(self)} strengths, alpha {ends}; {solved} certified)"


def path(
    problem: Problem | Callable[[float], Problem],
    alphas: ArrayLike,
    solver: Solver | str = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_time: float | None = None,
    callback: Callable[[Any], Any] | None = None,
    engine: Any = None,
) -> Path:
    """min over w, b of (1/S) sum_i s_i loss(z_i, y_i) + R_alpha(w) for every alpha in `alphas`.

    Solved from the largest strength to the smallest, each from the solution of the one before; returned in the order
    asked. Every point has its own certificate, so a warm start can save time but cannot spoil an answer.

    Parameters
    ----------
    problem : a Problem, whose regularizer is taken with other strengths, or a function alpha -> Problem.
    alphas : strengths, all > 0, in any order.
    solver, tol, max_iter, callback, engine : as in `fenchel.solve`, for each strength.
    max_time : seconds for the whole path.

    Returns
    -------
    Path

    Examples
    --------
    >>> import fenchel
    >>> problem = fenchel.Problem([[0.0], [1.0], [2.0]], [-1, -1, 1], loss="logistic", fit_intercept=True)
    >>> found = fenchel.path(problem, [0.01, 0.1, 1.0])
    >>> found
    Path(3 strengths, alpha 0.01 to 1; 3 certified)
    >>> bool(abs(found.coefs[0, 0]) > abs(found.coefs[2, 0]))
    True
    """
    strengths = accept_alphas(alphas)
    make = _rescaled(problem) if isinstance(problem, Problem) else problem
    if not callable(make):
        raise InputError(f"problem must be a Problem or a function alpha -> Problem, got {problem!r}")
    budget = Budget(strengths.size, max_iter, max_time)
    results: dict[int, Result] = {}
    start: Result | None = None
    for k in np.argsort(-strengths, kind="stable"):
        start = solve(
            make(float(strengths[k])), solver=solver, tol=tol, callback=callback, start=start, engine=engine,
            **budget.next(),
        )  # fmt: skip
        results[int(k)] = budget.note(start)
    return Path(strengths, tuple(results[k] for k in range(strengths.size)))


def accept_alphas(alphas: ArrayLike) -> np.ndarray:
    """A non-empty vector of finite strengths > 0."""
    try:
        array = np.array(alphas, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"alphas must be a list of numbers: {error}") from None
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"alphas must be a list of at least one number, got shape {array.shape}")
    good = np.isfinite(array) & (array > 0.0)
    if not good.all():
        place = int(np.argmin(good))
        raise InputError(f"alphas[{place}] is {float(array[place])!r}: every strength must be > 0 and finite")
    return array


def _rescaled(problem: Problem) -> Callable[[float], Problem]:
    given = regularizer_of(problem)
    rest: dict[str, Any] = {"fit_intercept": problem.has_intercept, "sample_weight": problem.weights}
    if problem.is_measure:
        rest = {"groups": problem.groups}  # type: ignore[attr-defined]
    elif problem.has_offset:
        rest["offset"] = problem.offset

    def make(alpha: float) -> Problem:
        return Problem(problem.X, problem.y, loss=problem.loss, regularizer=given.scaled(alpha), **rest)

    return make
