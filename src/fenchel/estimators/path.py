"""Regularization paths: solutions for many strengths, each started from the previous one and each certified."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import scipy.sparse as sp

from fenchel.errors import InputError
from fenchel.estimators.budget import Budget
from fenchel.models.parts import regularizer_of
from fenchel.problems.scalar import Problem
from fenchel.result import Certificate, Result
from fenchel.result_html import path_html
from fenchel.solving.solve import solve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.solvers.base import Solver

FARTHEST = 2.0  # steps ahead for which the line through the last two solutions is a start


@dataclass(frozen=True, eq=False)
class Path(Sequence[Result]):
    """The results for a list of strengths, in the given order; a sequence of `Result`.

    Attributes
    ----------
    alphas : ndarray of shape (k,)
    results : tuple of k Results
    coefs : ndarray of shape (k, d), or (k, m, d) with m scores per row
    intercepts : ndarray of shape (k,) or (k, m)
    certificates : tuple of k Certificates
    converged : True if all of them are certified.
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

    def _repr_html_(self) -> str:
        return path_html(self.alphas, self.results)


def path(
    problem: Problem | Callable[[float], Problem],
    alphas: ArrayLike,
    solver: Solver | str = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_time: float | None = None,
    callback: Callable[[Any], Any] | None = None,
    engine: Any = None,
    eps: float | None = None,
) -> Path:
    """min over w, b of (1/S) sum_i s_i loss(z_i, y_i) + R_alpha(w) for every alpha in `alphas`.

    Solved from the largest strength to the smallest, each from the solution of the previous one; returned in the given
    order. Every point has its own certificate, so that a warm start saves time but cannot make a result wrong.

    With `eps`, `alphas` is a range (low, high): as few strengths as needed are solved, so that for *every* alpha in between
    one of the results is within eps of the optimum, relative to its objective. `bound(alpha)` of the result is the gap proven
    at alpha, `at(alpha)` the Result there with its own certificate.

    Parameters
    ----------
    problem : a Problem, whose regularizer is used with other strengths, or a function alpha -> Problem.
    alphas : strengths, all > 0, in any order.
    eps : relative gap for every alpha in the range; each solve then has tol = eps / 20 and `tol` is not used.
    solver, tol, max_iter, callback, engine : as in `fenchel.solve`, for each strength.
    max_time : seconds for the whole path.

    Returns
    -------
    Path, or CertifiedPath with `eps`.

    Examples
    --------
    >>> import fenchel
    >>> problem = fenchel.Problem([[0.0], [1.0], [2.0]], [-1, -1, 1], loss="logistic", fit_intercept=True)
    >>> found = fenchel.path(problem, [0.01, 0.1, 1.0])
    >>> found
    Path(3 strengths, alpha 0.01 to 1; 3 certified)
    >>> bool(abs(found.coefs[0, 0]) > abs(found.coefs[2, 0]))
    True
    >>> everywhere = fenchel.path(problem, (0.01, 1.0), eps=1e-2)
    >>> everywhere.converged, everywhere.bound(0.05) <= 1e-2, everywhere.at(0.05).certificate.holds(1e-2)
    (True, True, True)
    """
    strengths = accept_alphas(alphas)
    make = rescaled(problem) if isinstance(problem, Problem) else problem
    if not callable(make):
        raise InputError(f"problem must be a Problem or a function alpha -> Problem, got {problem!r}")
    if eps is not None:
        from fenchel.estimators.strength_range import certified_range

        low, high = accept_range(strengths, eps)
        return certified_range(
            make, low, high, eps, solver=solver, max_iter=max_iter, max_time=max_time, callback=callback, engine=engine
        )
    budget = Budget(strengths.size, max_iter, max_time)
    results: dict[int, Result] = {}
    for k in np.argsort(-strengths, kind="stable"):
        alpha = float(strengths[k])
        problem = make(alpha)
        start = _start(problem, list(results.values())[-2:], alpha)
        found = solve(problem, solver=solver, tol=tol, callback=callback, start=start, engine=engine, **budget.next())
        results[int(k)] = budget.note(found)
    return Path(strengths, tuple(results[k] for k in range(strengths.size)))


def _start(problem: Problem, before: Sequence[Result], alpha: float) -> object:
    """The last result, or, where the path is smooth, the line in log alpha through the last two, which saves half of Newton's
    iterations."""
    if len(before) < 2:
        return before[-1] if before else None
    if problem.remote or not (problem.is_scalar or problem.is_vector):
        return before[-1]
    given = regularizer_of(problem)
    ends = [np.log(regularizer_of(result.problem).alpha) for result in before]
    if getattr(problem, "own", False) or not problem.smooth_loss or not given.smooth:
        return before[-1]
    shapes = {np.shape(result.dual_point) for result in before}
    if (
        any(sp.issparse(result.dual_point) for result in before)
        or shapes != {problem.dual_shape}
        or not ends[1] < ends[0]
    ):
        return before[-1]
    share = (np.log(alpha) - ends[1]) / (ends[1] - ends[0])
    if share > FARTHEST:
        return before[-1]
    pairs = zip(*((found.coef, found.intercept, found.dual_point) for found in before), strict=True)
    return tuple(b + share * (b - a) for a, b in pairs)


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


def accept_range(alphas: np.ndarray, eps: float) -> tuple[float, float]:
    """(low, high) of a range to certify to within eps."""
    if alphas.size != 2 or not alphas[0] < alphas[1]:
        raise InputError(f"with eps, alphas must be a range (low, high) with low < high, got {alphas.tolist()}")
    if not 0.0 < eps < 1.0:
        raise InputError(f"eps must be a relative gap between 0 and 1, got {eps!r}")
    return float(alphas[0]), float(alphas[1])


def rescaled(problem: Problem) -> Callable[[float], Problem]:
    """A function alpha -> the problem with its regularizer at that strength."""
    given = regularizer_of(problem)
    rest: dict[str, Any] = {"fit_intercept": problem.has_intercept, "sample_weight": problem.weights}
    if problem.is_measure:
        rest = {"groups": problem.groups}  # type: ignore[attr-defined]
    elif problem.has_offset:
        rest["offset"] = problem.offset
    return at_strengths(
        problem, given, lambda penalty: Problem(problem.X, problem.y, loss=problem.loss, regularizer=penalty, **rest)
    )


def at_strengths(problem: Problem, given: Any, make: Callable[[Any], Problem]) -> Callable[[float], Problem]:
    """A function alpha -> Problem with the regularizer `given` of that strength: `problem` with another regularizer, or, in
    families where that is not known, `make(regularizer)`."""
    if not problem.remote and (problem.is_scalar or problem.is_vector or problem.is_kernel):
        return lambda alpha: problem.with_regularizer(given.scaled(alpha))
    return lambda alpha: make(given.scaled(alpha))
