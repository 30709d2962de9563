"""The interface of a loss of several scores: a NamedTuple with methods of the m raw scores z of a row and its target y.

A custom loss needs two of them:

=============================  ====================================================================================
method                         meaning
=============================  ====================================================================================
value(z, y)                    loss(z, y), convex in z
slopes(z, y, out)              out = an element of the subdifferential in z
=============================  ====================================================================================

Its lower bounds consist of tangents: the certificate uses these two methods alone, and compares tangents with values at all
scores that it evaluates. `fenchel.multiclass.check` tests the inequalities; a `Problem` calls it once per loss. The other
methods, which the losses of this package have:

=============================  ====================================================================================
outputs(y)                     m for these targets (Python only; raises InputError for invalid targets). By default the number
                               of classes in y, or of its columns
value_and_slopes(z, y, out)    both at once, where they share work; by default they are called one after the other
conjugate(u, y)                loss*(u) = sup over z of <u, z> - loss(z, y); inf outside its domain, up to rounding
into_domain(u, y)              move u into the domain of loss*, in place; points of the domain do not change
dual_prox(t, g, y, out)        out = argmin over u of loss*(u) - <t, u> + g/2 |u|^2, g > 0; optional
vertex_margins(z, y, c, s)     where u is a mixture of s_j (e_j - e_y) and 0: s, and c_j = the gain of the j-th; optional
largest_slope()                the maximum of |u|_2 over the domain of loss* (inf: unbounded; Python only)
even_transfer(m)               the largest t for which t (mean of e_j over j != y - e_y) is in the domain of loss* for every y,
                               for free intercepts; None: even t (e_j - e_y), t <= 1, is, for every j (optional; Python only)
hessians(y, U)                 the second derivatives of all rows where their slopes are U, on arrays (optional; Python only)
smoothness()                   Lipschitz constant of the slopes; None: they jump. By default tested numerically
=============================  ====================================================================================

`task` is "classes" or "regression" (see `fenchel.losses.task`). A model file stores the parameters of the constructor, or what
a method `saved` returns. A loss with required parameters has `example()`, for three classes.

`free_intercepts = True` declares that dual points can be balanced in one of the two ways of `even_transfer`.

`sparse_duals = True` declares that most entries of a `dual_prox` are zero; with many scores, solvers then store no zeros.

y is a class 0 .. m - 1 (an integer), or for regression on several targets a vector. `dual_prox` is the exact maximisation
of the dual over one row: with z the row's current scores, u its dual variables and q the rate at which the scores decrease as
u increases, the new u is dual_prox(z + q u, q). It is also the slope of the Moreau envelope.

`value` and `conjugate` are the functions of `fenchel.losses.protocol`, which dispatch on the class of the loss.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from fenchel.compile.dispatch import method
from fenchel.losses.protocol import conjugate, value

__all__ = [
    "VectorLoss",
    "conjugate",
    "dual_prox",
    "into_domain",
    "slopes",
    "value",
    "value_and_slopes",
    "vertex_margins",
]


class VectorLoss(Protocol):
    """A loss of the m scores of a row, for annotations: the two required methods. y is a class, or a vector of targets."""

    def value(self, z: np.ndarray, y: Any) -> float:
        """loss(z, y)."""

    def slopes(self, z: np.ndarray, y: Any, out: np.ndarray) -> None:
        """out = an element of the subdifferential in z."""


@method(inline=False)
def slopes(loss, z, y, out):
    """out = a subgradient in z."""


def _value_and_slopes(loss, z, y, out):
    slopes(loss, z, y, out)
    return value(loss, z, y)


@method(_value_and_slopes, inline=False)
def value_and_slopes(loss, z, y, out):
    """The value; out = a subgradient in z."""


@method(inline=False)
def into_domain(loss, u, y):
    """Move u into the domain of the conjugate."""


@method(inline=False)
def dual_prox(loss, t, g, y, out):
    """out = argmin over u of loss*(u) - <t, u> + g/2 |u|^2."""


@method(inline=False)
def vertex_margins(loss, z, y, margins, sizes):
    """Margins and sizes of the vertices of the domain of loss*; those of y are not set."""
