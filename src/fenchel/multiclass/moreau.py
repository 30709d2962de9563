"""The Moreau envelope of a loss of several scores with a `dual_prox`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.errors import InputError
from fenchel.multiclass.parameters import ByContent
from fenchel.multiclass.protocol import conjugate, dual_prox, into_domain, value

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.multiclass.protocol import VectorLoss


@helper
def half_square(u, gamma):
    """gamma/2 |u|^2."""
    total = 0.0
    for j in range(u.size):
        total += u[j] * u[j]
    return 0.5 * gamma * total


class _Fields(NamedTuple):
    loss: Any
    gamma: float


class MoreauVector(ByContent, _Fields):
    """min over x of loss(x, y) + |x - z|^2 / (2 gamma)

    Conjugate: loss*(u) + gamma/2 |u|^2. The envelope is 1/gamma-smooth and lies below the loss by at most gamma L^2 / 2,
    where L bounds the slopes. The envelope of an envelope is one, with the sum of the gammas.

    >>> import numpy as np
    >>> from fenchel.multiclass.max_hinge import MaxHinge
    >>> float(MoreauVector(MaxHinge(), 0.5).value(np.array([0.0, -0.5]), 0))
    0.125
    """

    __slots__ = ()
    tex = r"\min_x \ell(x, y) + \frac{1}{2\gamma}\lVert x - z \rVert^2"
    tex_where = "ℓ the loss inside"

    def __new__(cls, loss: VectorLoss, gamma: float = 1.0) -> MoreauVector:
        if not hasattr(loss, "dual_prox"):
            raise InputError(f"loss must be a vector loss with a method dual_prox(t, g, y, out), got {loss!r}")
        if not 0.0 < gamma < math.inf:
            raise InputError(f"gamma must be greater than 0 and finite, got {gamma!r}")
        if isinstance(loss, MoreauVector):
            return super().__new__(cls, loss.loss, loss.gamma + float(gamma))
        return super().__new__(cls, loss, float(gamma))

    @property
    def nonnegative(self) -> bool:
        return getattr(self.loss, "nonnegative", False)

    @property
    def sparse_duals(self) -> bool:
        """Whether most dual variables of a row are zero, like those of the loss itself."""
        return getattr(self.loss, "sparse_duals", False)

    @property
    def several_targets(self) -> bool:
        """Whether the target of a row is a vector, as for the loss itself."""
        return getattr(self.loss, "several_targets", False)

    @property
    def free_intercepts(self) -> bool:
        return getattr(self.loss, "free_intercepts", False)

    def even_transfer(self, m: int) -> float | None:
        return self.loss.even_transfer(m) if hasattr(self.loss, "even_transfer") else None

    def outputs(self, y: ArrayLike) -> int:
        return self.loss.outputs(y)

    def value(self, z, y):
        # The objective at the minimiser equals <z, u> - loss*(u) - gamma/2 |u|^2, but it does not cancel, and it is an upper
        # bound even if the dual step of the loss is not exact.
        u, x = np.empty(z.size), np.empty(z.size)
        dual_prox(self.loss, z, self.gamma, y, u)
        for j in range(z.size):
            x[j] = z[j] - self.gamma * u[j]
        return value(self.loss, x, y) + half_square(u, self.gamma)

    def slopes(self, z, y, out):
        dual_prox(self.loss, z, self.gamma, y, out)

    def conjugate(self, u, y):
        return conjugate(self.loss, u, y) + half_square(u, self.gamma)

    def into_domain(self, u, y):
        into_domain(self.loss, u, y)

    def dual_prox(self, t, g, y, out):
        dual_prox(self.loss, t, g + self.gamma, y, out)

    def largest_slope(self) -> float:
        return self.loss.largest_slope()

    def smoothness(self) -> float:
        inner = self.loss.smoothness()
        return 1.0 / self.gamma if inner is None else 1.0 / (self.gamma + 1.0 / inner)
