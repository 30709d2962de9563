"""What the Newton steps see of R: R itself if it is quadratic, else its smoothed form in a proximal point step of the dual,

    R_tau(w) = max over y of y'w - R*(y) - sum_j tau_j (y - y0)_j^2 / 2,

the Moreau envelope of R at w + tau y0: with m its prox, the gradient is y = (w + tau y0 - m) / tau, a subgradient of R at
m, and (I - J) / tau is an element of the generalised Hessian, J the Jacobian of the prox. R enters as the rows do in
`kernels/envelope.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.solvers.semismooth_newton.settings import SETTINGS


class Along(NamedTuple):
    """The value on a line, and its derivatives."""

    value: float
    slope: float
    curvature: float


class QuadraticPart:
    """R itself."""

    def __init__(self, regularizer: Any, d: int):
        self.regularizer, self.matrix = regularizer, regularizer.hessian(d)

    def evaluate(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """R and its gradient."""
        return self.regularizer.value(w), self.regularizer.gradient(w)

    def exact(self, w: np.ndarray, value: float) -> float:
        """R(w), where `evaluate` found `value`."""
        return value

    def hessian(self, w: np.ndarray) -> np.ndarray:
        return self.matrix

    def residual(self, w: np.ndarray) -> float:
        """What smoothing adds to the gap: nothing."""
        return 0.0

    def recentre(self, w: np.ndarray, gamma: float) -> None:
        """Begin the next proximal step: nothing depends on it."""

    def point(self, w: np.ndarray) -> np.ndarray:
        """The coefficients to report."""
        return w

    def along(self, w: np.ndarray, dw: np.ndarray) -> Any:
        """The values on w + t dw, as a function of t."""
        value, gradient = self.evaluate(w)
        slope, curvature = float(gradient @ dw), float(self.regularizer.gradient(dw) @ dw)
        return lambda t: Along(value + t * (slope + 0.5 * t * curvature), slope + t * curvature, curvature)


class SmoothedPart:
    """The smoothed form of a separable R with a prox; `spread` holds the standard deviation of every column."""

    def __init__(self, regularizer: Any, spread: np.ndarray, y0: np.ndarray, gamma: float):
        self.regularizer, self.spread, self.y0 = regularizer, spread, y0
        self.rescale(gamma)

    def rescale(self, gamma: float) -> None:
        """tau, so that a coefficient leaves a nonsmooth point where scores change by about gamma."""
        self.gamma, self.tau = gamma, gamma / (self.regularizer.alpha * self.spread)

    def prox(self, w: np.ndarray) -> np.ndarray:
        return self.regularizer.prox(w + self.tau * self.y0, self.tau)

    def evaluate(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """R_tau and its gradient."""
        m = self.prox(w)
        y = self.y0 + (w - m) / self.tau
        value = self.regularizer.value(m) + 0.5 * float(self.tau @ (y * y - self.y0 * self.y0))
        return value, y

    def exact(self, w: np.ndarray, value: float) -> float:
        """R(w), where `evaluate` found `value`."""
        return self.regularizer.value(w)

    def hessian(self, w: np.ndarray) -> np.ndarray:
        J = self.regularizer.prox_jacobian(w + self.tau * self.y0, self.tau).diagonal
        return np.diag((1.0 - J) / self.tau + SETTINGS.coefficient_ridge * self.spread**2 / self.gamma)

    def residual(self, w: np.ndarray) -> float:
        """R(w) + R*(y) - w'y, with R*(y) = y'm - R(m)."""
        m = self.prox(w)
        y = self.y0 + (w - m) / self.tau
        return max(self.regularizer.value(w) - self.regularizer.value(m) - float(y @ (w - m)), 0.0)

    def recentre(self, w: np.ndarray, gamma: float) -> None:
        """Begin the next proximal step."""
        self.y0 = self.evaluate(w)[1]
        self.rescale(gamma)

    def point(self, w: np.ndarray) -> np.ndarray:
        """m: it has the zeros that w only tends to."""
        return self.prox(w)

    def along(self, w: np.ndarray, dw: np.ndarray) -> Any:
        """The values on w + t dw, as a function of t."""

        def at(t: float) -> Along:
            x = w + t * dw
            value, gradient = self.evaluate(x)
            J = self.regularizer.prox_jacobian(x + self.tau * self.y0, self.tau).diagonal
            return Along(value, float(gradient @ dw), float(dw @ ((1.0 - J) / self.tau * dw)))

        return at
