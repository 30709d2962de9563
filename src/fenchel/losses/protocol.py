"""The interface of a loss: a NamedTuple of floats with methods of the raw score z and the target y.

=====================  ===============================================================  ==========================
method                 meaning                                                          when absent
=====================  ===============================================================  ==========================
value(z, y)            loss(z, y), convex in z                                          required
slope(z, y)            an element of the subdifferential in z                           required
value_and_slope(z, y)  both at once, where they share work                              value and slope are called
conjugate(u, y)        loss*(u) = sup over z of u z - loss(z, y); inf outside           derived.conjugate
dual_step(u, z, q, y)  the u' with u' in the subdifferential at z - q (u' - u)          derived.dual_step
quick_dual_step(...)   an approximate dual step, where it is faster                     dual_step
dual_domain(y)         (low, high): the closure of {u: loss*(u) < inf}                  derived.dual_domain
curvature(z, y)        second derivative, where the loss has one                        derived.curvature
local_model(z, y)      (value, slope, curvature), where they share work                 each is called
in_runs()              whether evaluating several rows at a time is faster              False
in_kernels()           an equivalent, simpler loss (Fenchel's own losses only)          the loss itself
smoothness()           Lipschitz constant of the slope; inf: none; None: it jumps       derived.is_differentiable
valid_target(y)        which targets are allowed (on arrays)                            every finite number is
task                   "binary", "regression" or "novelty" (fenchel.losses.task)        by valid_target
response               what a score predicts: "identity", "exp", "sigmoid", "softmax"   "identity"
tex, tex_where         the formula for reports, and the meaning of its letters          the docstring's first line
=====================  ===============================================================  ==========================

`dual_step` is the exact maximisation of the dual over one row: z is the row's current score, u its current dual variable,
and q > 0 the rate at which the score decreases as u increases. It is the proximal operator of q loss at z + q u.
`quick_dual_step` must achieve at least half of its gain, and all of it in the limit of short steps; dual coordinate ascent
makes many of them.

The certificate of a custom loss uses `value` and `slope` alone: its `conjugate` and `dual_step` make solvers faster, and an
error in them cannot make a bound false.

Kernels call the functions below: `value(loss, z, y)` is `loss.value(z, y)` in Python and the compiled method
inside a kernel (see `fenchel.compile.dispatch`).
"""

from __future__ import annotations

from typing import Protocol

from fenchel.compile.dispatch import method
from fenchel.losses import derived
from fenchel.losses.required import slope, value


class Loss(Protocol):
    """A loss of one score per row, for annotations: the two required methods of the table above."""

    def value(self, z: float, y: float) -> float:
        """loss(z, y)."""

    def slope(self, z: float, y: float) -> float:
        """An element of the subdifferential in z."""


class FullLoss(Loss, Protocol):
    """A loss with the optional methods, for annotations where they are called only if the loss has them."""

    def value_and_slope(self, z: float, y: float) -> tuple[float, float]:
        """(value, slope)."""

    def conjugate(self, u: float, y: float) -> float:
        """loss*(u)."""

    def dual_step(self, u: float, z: float, q: float, y: float) -> float:
        """The root u' of u' in subdifferential(z - q (u' - u))."""

    def quick_dual_step(self, u: float, z: float, q: float, y: float) -> float:
        """An approximation of `dual_step`."""

    def dual_domain(self, y: float) -> tuple[float, float]:
        """(low, high)."""

    def curvature(self, z: float, y: float) -> float:
        """The second derivative."""

    def local_model(self, z: float, y: float) -> tuple[float, float, float]:
        """(value, slope, curvature)."""


def _value_and_slope(loss, z, y):
    return value(loss, z, y), slope(loss, z, y)


@method(_value_and_slope)
def value_and_slope(loss, z, y):
    """(value, slope), with shared work done once."""


@method(derived.conjugate)
def conjugate(loss, u, y):
    """sup over z of u z - loss(z, y)."""


@method(derived.dual_step)
def dual_step(loss, u, z, q, y):
    """The root u' of u' in subdifferential(z - q (u' - u))."""


def _quick_dual_step(loss, u, z, q, y):
    return dual_step(loss, u, z, q, y)


@method(_quick_dual_step)
def quick_dual_step(loss, u, z, q, y):
    """The dual step, or one that gains nearly as much."""


@method(derived.dual_domain)
def dual_domain(loss, y):
    """(low, high), the closure of the domain of the conjugate."""


@method(derived.curvature)
def curvature(loss, z, y):
    """Second derivative of the loss at z."""


def _local_model(loss, z, y):
    f, u = value_and_slope(loss, z, y)
    return f, u, curvature(loss, z, y)


@method(_local_model)
def local_model(loss, z, y):
    """(value, slope, curvature), with shared work done once."""


def _in_runs(loss):
    return False


@method(_in_runs)
def in_runs(loss):
    """Whether the loss is so expensive that rows are processed in runs of several: their losses are then evaluated in a
    separate loop, which is vectorised."""
