"""What a measure is: a convex loss of all the scores of a set at once, or of each query's scores, averaged over queries.

=======================================  ==========================================================================
member                                   meaning
=======================================  ==========================================================================
prepare(y, groups, weights)              everything that depends on the targets only; raises InputError
value_and_slope(z, prepared, out)        the loss of the scores z; out = a subgradient in z, all of it overwritten
needs_groups                             the measure is defined within queries: groups must be given
shift_invariant                          adding a constant to all scores changes nothing (so an intercept is idle)
nonnegative                              the loss is never negative (all built-in ones are not)
differentiable                           the loss has a derivative: `value_and_slope` gives it. Newton's method then uses
                                         hessian_product(z, prepared), which returns d -> (second derivative) d
task                                     what the scores are for: "ranking", "binary" (two kinds of rows) or "ordinal"
signs_only                               targets are -1 or +1 also where groups are given
mass(prepared)                           with groups: the number, or the weight, of the queries whose mean the loss is
=======================================  ==========================================================================

Every measure is convex, most are the greatest of finitely many affine functions: value = <slope, z> + constant, and the
constant depends on the slope only. So a value and its slope are a cutting plane that touches the loss at z.

Rules that all built-in measures follow:

* `groups` (the query of each row) need not be sorted: rows of equal group belong together. Where groups are optional and
  given, the loss is that of each query, averaged. Queries to which a measure does not apply (nothing relevant in them, or
  one class missing) are left out of the average.
* Rows have no weights: a whole-set loss is no sum over rows. Constant weights are accepted, others are refused, but for the
  sums over pairs within queries (`PairMeasure`), which take weights of queries.
* Scores are centred before they are added up wherever the measure allows it: a common offset of the scores costs no digits.
* Sorts are stable, so equal scores are treated in the order of the rows and results can be repeated.
* A score that is not finite (or scores too large to be added) gives nan, in the slope too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.data.accept import read_only
from fenchel.errors import InputError

Vector = NDArray[np.float64]


class Measure(ABC):
    """A convex loss of all scores of a set, an upper bound of (1 - measure); subclass it to add your own.

    >>> class Range(Measure):
    ...     def prepare(self, y, groups=None, weights=None): return None
    ...     def value_and_slope(self, z, prepared, out):
    ...         out[:] = 0.0
    ...         out[np.argmax(z)] += 1.0
    ...         out[np.argmin(z)] -= 1.0
    ...         return float(out @ z)
    >>> Range().evaluate([3.0, 1.0, 2.0], [1, 1, -1])
    (2.0, array([ 1., -1.,  0.]))
    """

    needs_groups: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = False
    nonnegative: ClassVar[bool] = False
    differentiable: ClassVar[bool] = False
    task: ClassVar[str] = "ranking"
    signs_only: ClassVar[bool] = False

    @abstractmethod
    def prepare(self, y: ArrayLike, groups: ArrayLike | None = None, weights: ArrayLike | None = None) -> Any:
        """All that depends on the targets only, computed once; raises InputError where the measure is not defined."""

    def mass(self, prepared: Any) -> float | None:
        """The number, or the sum of the weights, of the queries whose mean the loss is. Values and slopes are then computed
        where the rows of each query are, and added. None: not known; one thread sees the scores of all rows. A measure of your
        own defines it itself: that of a class it inherits from is not used."""
        return None

    @abstractmethod
    def value_and_slope(self, z: Vector, prepared: Any, out: Vector) -> float:
        """The loss of the scores z (n,); out (n,) becomes a subgradient."""

    def evaluate(self, z: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> tuple[float, Vector]:
        """(value, slope) without keeping what was prepared: for a look at small sets."""
        prepared = self.prepare(y, groups)
        z = np.asarray(z, dtype=np.float64)
        if z.shape != np.shape(y):
            raise InputError(f"z has the shape {z.shape}, y has {np.shape(y)}: one score per target")
        out = np.empty_like(z)
        return self.value_and_slope(z, prepared, out), out


def as_scores(z: np.ndarray, out: np.ndarray) -> Vector:
    """z as kernels take it: contiguous, float64 and, so that one compiled kernel serves all, read-only."""
    z = np.ascontiguousarray(z, dtype=np.float64)
    if z.shape != out.shape:
        raise InputError(f"z has the shape {z.shape}, but out has {out.shape}: both must be ({out.size},)")
    return read_only(z)
