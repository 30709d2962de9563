"""Problem instances on which solvers attain their known rates of convergence.

`lower_bound` is a problem on which a bundle method has a gap of at least 1 / (2 alpha t) after t planes;
`hinge_rate` is a support vector machine with the constants of Pragam's bound 4 L D2 / ((k + 1)(k + 2)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fenchel.errors import InputError
from fenchel.oracles.scalar import Oracle, Plane, PlaneRecipe
from fenchel.problems.scalar import Problem
from fenchel.regularizers import L2
from fenchel.solvers.base import Solver, Start
from fenchel.solvers.bundle.solver import Bundle

__all__ = ["HingeRate", "LowerBound", "hinge_rate", "lower_bound"]

BASES = ("identity", "hadamard")


class _Nonnegative(NamedTuple):
    """The loss of the instance: bundle methods only ask whether the risk is nonnegative."""

    nonnegative: bool = True


@dataclass(frozen=True, eq=False)
class LowerBound:
    """min over w of max(0, 1/alpha + max_i <a_i, w>) + alpha/2 |w|^2 for orthonormal columns a_i of A.

    The structured hinge of a single example, whose oracle returns one maximal i at a time. The object is both the problem and
    its oracle, with only those methods that cutting-plane solvers use.

    value(w) is the objective, dual_value(u) = sum u / alpha - |A u|^2 / (2 alpha) for u >= 0 with sum u <= 1 a lower
    bound of it, and `optimum` = 1/alpha - 1 / (2 alpha d) the minimum.
    """

    A: np.ndarray
    alpha: float

    @property
    def problem(self) -> LowerBound:
        """The instance itself, which is both problem and oracle."""
        return self

    @property
    def n(self) -> int:
        """The number of dual variables."""
        return self.A.shape[1]

    @property
    def d(self) -> int:
        """The number of coefficients."""
        return self.A.shape[0]

    @property
    def remote(self) -> bool:
        """False: the data are in this process."""
        return False

    @property
    def dual_shape(self) -> tuple[int]:
        """The shape of a dual point."""
        return (self.n,)

    @property
    def loss(self) -> Any:
        """A loss that only states that the risk is nonnegative."""
        return _Nonnegative()

    @property
    def regularizer(self) -> L2:
        """alpha/2 |w|^2."""
        return L2(self.alpha)

    @property
    def optimum(self) -> float:
        """The minimum of the objective, in closed form."""
        return (1.0 - 0.5 / self.d) / self.alpha

    def value(self, w: np.ndarray) -> float:
        """The objective at w."""
        return max(0.0, 1.0 / self.alpha + float(np.max(w @ self.A))) + 0.5 * self.alpha * float(w @ w)

    def dual_value(self, u: np.ndarray) -> float:
        """The lower bound at u; -inf if u is not in its domain."""
        if u.min() < 0.0 or u.sum() > 1.0 + 1e-12:
            return -np.inf
        combined = self.A @ u
        return float(u.sum()) / self.alpha - 0.5 * float(combined @ combined) / self.alpha

    def plane(self, w: np.ndarray, b: float, centre: Any, reach: float) -> Plane:
        """The cutting plane of the risk at w, from one maximal column."""
        scores = w @ self.A
        i = int(np.argmax(scores))
        value = max(0.0, 1.0 / self.alpha + float(scores[i]))
        active = float(value > 0.0)
        gradient = active * self.A[:, i]
        recipe = PlaneRecipe(np.array(w), 0.0, 0.0, 0.0, None, np.inf)
        return Plane(value, gradient, value - float(gradient @ w), 0.0, recipe)

    def plane_dual(self, recipe: PlaneRecipe) -> np.ndarray:
        """The dual point of a plane: the unit vector of its column."""
        scores = recipe.coef @ self.A
        u = np.zeros(self.n)
        u[int(np.argmax(scores))] = float(1.0 / self.alpha + scores.max() > 0.0)
        return u

    mix = Oracle.mix

    def gaps(self, planes: int, solver: Solver | None = None) -> np.ndarray:
        """The gap after 1, 2, ..., `planes` planes, recomputed with `value` and `dual_value` from the iterates.

        >>> import fenchel
        >>> instance = fenchel.instances.lower_bound(8, alpha=0.1)
        >>> bool(np.allclose(instance.gaps(4), [5.0, 2.5, 5 / 3, 1.25]))  # 1 / (2 alpha t)
        True
        """
        oracle: Any = self  # the part of the oracle interface that bundle methods use
        iterates = (solver or Bundle(level=False)).iterates(oracle, Start(np.zeros(self.d)))
        best, bound, gaps = np.inf, -np.inf, []
        for _ in range(planes + 1):
            iterate = next(iterates)
            best = min(best, self.value(iterate.coef))
            if iterate.dual_point is not None:
                u = iterate.dual_point() if callable(iterate.dual_point) else iterate.dual_point
                bound = max(bound, self.dual_value(u))
            gaps.append(best - bound)
        return np.array(gaps[1:])


def lower_bound(d: int, alpha: float, basis: str = "identity") -> LowerBound:
    """A problem on which the gap of a bundle method after t < d planes is exactly 1 / (2 alpha t).

    basis : "identity", or "hadamard" (d a power of 2) for columns without zeros.

    >>> lower_bound(64, alpha=0.1).optimum
    9.921875
    """
    if not (isinstance(d, int) and d >= 1):
        raise InputError(f"d must be an integer of at least 1, got {d!r}")
    if not 0.0 < alpha < np.inf:
        raise InputError(f"alpha must be a finite number greater than 0, got {alpha!r}")
    if basis not in BASES:
        raise InputError(f"basis must be one of {', '.join(map(repr, BASES))}, got {basis!r}")
    if basis == "identity":
        return LowerBound(np.eye(d), float(alpha))
    if d & (d - 1):
        raise InputError(f"d must be a power of 2 for basis 'hadamard', got {d}; the next one is {1 << d.bit_length()}")
    A = np.ones((1, 1))
    while A.shape[0] < d:
        A = np.block([[A, A], [A, -A]])
    return LowerBound(A / np.sqrt(d), float(alpha))


@dataclass(frozen=True, eq=False)
class HingeRate:
    """A support vector machine `problem`, L = sigma_max(X)^2 / alpha and D2 = max of 1/2 |p u|^2 over dual points u."""

    problem: Problem
    L: float
    D2: float

    def bound(self, k: int | np.ndarray) -> Any:
        """The upper bound 4 L D2 / ((k + 1)(k + 2)) of the gap of Pragam(L) after iteration k."""
        return 4.0 * self.L * self.D2 / ((k + 1.0) * (k + 2.0))


def hinge_rate(n: int = 200, d: int = 10, alpha: float = 1e-2, fit_intercept: bool = False, seed: int = 0) -> HingeRate:
    """Linearly separable rows with noise, and the constants of Pragam's rate; a free intercept makes D2 smaller.

    >>> import fenchel
    >>> case = hinge_rate(alpha=0.1)
    >>> result = fenchel.solve(case.problem, solver=fenchel.solvers.Pragam(case.L), tol=1e-3)
    >>> all(point.gap <= case.bound(point.iteration) for point in result.trace)
    True
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) > 0.0, 1.0, -1.0)
    problem = Problem(X, y, loss="hinge", alpha=alpha, fit_intercept=fit_intercept)
    positive = int((y > 0.0).sum())
    D2 = min(positive, n - positive) / n**2 if fit_intercept else 0.5 / n
    return HingeRate(problem, float(np.linalg.norm(X, 2) ** 2 / alpha), D2)
