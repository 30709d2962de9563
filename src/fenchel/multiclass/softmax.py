"""The softmax loss: multinomial logistic regression."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from fenchel.compile.dispatch import helper
from fenchel.losses.special import entropy_term, wright_omega
from fenchel.multiclass.classes import class_count
from fenchel.multiclass.parameters import ByContent
from fenchel.multiclass.protocol import value_and_slopes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ROUNDING = 16 * 2.0**-52  # times m: the tolerance for a sum of m dual variables


@helper
def share(a, g, log_g):
    """The root p > 0 of log p + g p = a."""
    x = a + log_g
    if x < -37.0:  # g p < 1e-16: below the rounding of log p
        return math.exp(a) if a > -745.0 else 0.0
    return wright_omega(x) / g


@helper
def complement(nu, g, log_g):
    """The root q in [0, 1) of g q - log(1 - q) = nu, for nu >= 0, accurate also where it is small."""
    q = nu / (1.0 + g)  # not below the root, so Newton's steps decrease to it: the left side is convex
    if q >= 0.5:  # then the root is above 0.36, and 1 - q loses no accuracy
        return 1.0 - share(g - nu, g, log_g)
    for _ in range(60):
        step = (g * q - math.log1p(-q) - nu) / (g + 1.0 / (1.0 - q))
        q -= step
        if abs(step) <= 4e-16 * q:
            break
    return q


@helper
def shares_at(t, nu, g, log_g, y, out):
    """out_j = the root p_j of log p_j + g p_j = t_j - t_y - nu for j != y; (sum of all p - 1, minus its derivative)."""
    rest, slope = 0.0, 0.0
    for j in range(t.size):
        if j != y:
            p = share(t[j] - t[y] - nu, g, log_g)
            out[j] = p
            rest += p
            slope += p / (1.0 + g * p)
    q = complement(nu, g, log_g)
    return rest - q, slope + (1.0 - q) / (1.0 + g * (1.0 - q))


@helper
def into_simplex(u, y):
    """u <- a point with u + e_y in the simplex; a point that satisfies this does not change."""
    rest = 0.0
    for j in range(u.size):
        if j != y:
            u[j] = u[j] if u[j] > 0.0 else 0.0
            rest += u[j]
    if rest > 1.0:
        shrink, rest = 1.0 / rest, 0.0
        for j in range(u.size):
            if j != y:
                u[j] *= shrink
                rest += u[j]
    u[y] = -rest


class _NoFields(NamedTuple):
    pass


class Softmax(ByContent, _NoFields):
    """log sum_j exp(z_j) - z_y, y a class

    Conjugate: sum_j p_j log p_j with p = u + e_y in the simplex. P(j | z) = exp(z_j) / sum_k exp(z_k).

    >>> import numpy as np
    >>> loss, u = Softmax(), np.empty(2)
    >>> loss.slopes(np.zeros(2), 0, u)
    >>> round(float(loss.value(np.zeros(2), 0)), 6), u
    (0.693147, array([-0.5,  0.5]))
    """

    __slots__ = ()
    tex = r"\log \sum_j \exp(z_j) - z_y"
    tex_where = "y a class"
    nonnegative = True
    task = "classes"
    response = "softmax"
    free_intercepts = True  # every t (e_j - e_y), t <= 1, is in the domain of loss*

    def outputs(self, y: ArrayLike) -> int:
        return class_count(y)

    def value(self, z, y):
        k = 0
        for j in range(1, z.size):
            if z[j] > z[k]:
                k = j
        total = 0.0
        for j in range(z.size):
            if j != k:
                total += math.exp(z[j] - z[k])
        return (z[k] - z[y]) + math.log1p(total)

    def slopes(self, z, y, out):
        value_and_slopes(self, z, y, out)

    def value_and_slopes(self, z, y, out):
        k = 0
        for j in range(1, z.size):
            if z[j] > z[k]:
                k = j
        others = 0.0
        for j in range(z.size):
            out[j] = math.exp(z[j] - z[k])
            if j != k:
                others += out[j]
        total, rest = 1.0 + others, 0.0
        for j in range(z.size):
            if j != y:
                out[j] /= total
                rest += out[j]
        out[y] = -rest  # p_y - 1 would cancel
        return (z[k] - z[y]) + math.log1p(others)

    def conjugate(self, u, y):
        slack = ROUNDING * u.size
        total, entropy = 0.0, 0.0
        for j in range(u.size):
            total += u[j]
            if j != y:
                if not u[j] >= -slack:
                    return math.inf
                entropy += entropy_term(u[j])
        if not (abs(total) <= slack and u[y] >= -1.0 - slack):
            return math.inf
        # log1p, because near u_y = 0 this term is as large as the others together
        return entropy + ((1.0 + u[y]) * math.log1p(u[y]) if u[y] > -1.0 else 0.0)

    def into_domain(self, u, y):
        into_simplex(u, y)

    def dual_prox(self, t, g, y, out):
        # With nu = t_y + the multiplier of sum p = 1 and q = 1 - p_y the conditions are
        #   log p_j + g p_j = t_j - t_y - nu (j != y),   log(1 - q) - g q = -nu,   sum of the p_j = q.
        # The sum of all p decreases in nu and is convex; no p exceeds 1 and the largest is at least 1/m, which brackets nu.
        # Newton's step for the logarithm of the sum is exact where all p are exponentials; otherwise it is safeguarded.
        log_g, top = math.log(g), -math.inf
        for j in range(t.size):
            if j != y:
                top = max(top, t[j] - t[y])
        low, high = max(0.0, top - g), max(g, top) + (math.log(t.size) - g / t.size)
        nu, step = low, 0.0
        for _ in range(200):
            excess, slope = shares_at(t, nu, g, log_g, y, out)
            if excess > 0.0:
                low = nu
            else:
                high = nu
            step = (1.0 + excess) * math.log1p(excess) / slope
            if abs(step) <= max(1e-8, 4e-16 * nu):  # the remaining error is below its square: |p''| <= |p'| <= p
                break
            if not low < nu + step < high:
                step = excess / slope
            if not low < nu + step < high:
                step = 0.5 * (low + high) - nu
            nu += step
        for j in range(t.size):
            if j != y:
                out[j] -= step * (out[j] / (1.0 + g * out[j]))
        into_simplex(out, y)

    def largest_slope(self):
        return math.sqrt(2.0)

    def smoothness(self):
        return 0.5

    def probability(self, z):
        """P(class | z) of every row of z, on arrays."""
        from scipy.special import softmax

        return softmax(z, axis=-1)
