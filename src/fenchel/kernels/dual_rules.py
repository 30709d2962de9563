"""Step rules of dual coordinate ascent: how far to move one dual variable.

Changing u_i by t changes v by -t p_i x_i / strength. With c the curvature of h along x_i, the row's score then decreases by
about t q, q = p_i (c / strength + 1 / bias_strength), and `dual_step(u, z, q)` is optimal for that model.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import helper, method
from fenchel.compile.kernel import kernel
from fenchel.losses.derived import MAX_HALVINGS, MAX_SCORE_EXPONENT, middle
from fenchel.losses.protocol import curvature, dual_domain, dual_step, slope
from fenchel.mirror_maps.coordinatewise import row_score_at, steepening
from fenchel.mirror_maps.entropic import unit_shares

LINE_SEARCH_TOL = 1e-3  # a line search ends when its last correction is at most this fraction of the whole step
MAX_EXPONENT_STEP = 4.0  # the most that one trial of a line search may add to an exponent
MAX_TRIALS = 40
# The default learning rate as a fraction of Newton's: section 6.2 of Zhang (2002) says "ten or even a hundred times" smaller.
NEWTON_FRACTION = 0.1
# The curvature of the loss is taken at this fraction of the way from loss*'(u) to the score: before the next nonsmooth point.
CURVATURE_FRACTION = 1e-2
PROBE_DISTANCE = 1e-6  # the distance at which ends of the domain and linear pieces of the loss are detected


class Ascent(NamedTuple):
    """A transfer function, a step rule, and the fraction of each step that is taken."""

    transfer: Any
    rule: Any
    damping: float = 1.0


class Place(NamedTuple):
    """The data of a row's step: z is the full score with offset and intercept, `score` only <x_i, w>.

    rate is p_i / strength, bias is p_i / bias_strength; curvature is that of h along the row at v, `bound` an upper bound of it
    everywhere.
    """

    i: int
    u: float
    score: float
    z: float
    y: float
    rate: float
    bias: float
    curvature: float
    bound: float


@method()
def new_dual(rule, loss, transfer, rows, v, at):
    """The new u_i."""


@helper
def model_step(loss, u, z, q, y):
    """The optimal u if the score decreases by q per unit of u."""
    return dual_step(loss, u, z, q, y) if q > 0.0 else slope(loss, z, y)


@helper
def within(x, centre, reach):
    """x clipped to [centre - reach, centre + reach]."""
    return min(max(x, centre - reach), centre + reach)


@helper
def majorised_step(loss, transfer, at):
    """A step that cannot decrease D, because the model's curvature bounds the true one along the whole step."""
    new = model_step(loss, at.u, at.z, at.curvature * at.rate + at.bias, at.y)
    steep = steepening(transfer, at.i) * at.rate
    if steep <= 0.0 or new == at.u:
        return new
    # Within one unit of steepness. The step with the larger curvature is shorter, so the bound holds along all of it.
    steeper = at.curvature * math.exp(min(abs(new - at.u) * steep, 1.0))
    if steeper >= at.bound:
        return model_step(loss, at.u, at.z, at.bound * at.rate + at.bias, at.y)
    new = model_step(loss, at.u, at.z, steeper * at.rate + at.bias, at.y)
    return within(new, at.u, 1.0 / steep)


class Majorised(NamedTuple):
    """The maximiser of a quadratic minorant of D."""

    def new_dual(self, loss, transfer, rows, v, at):
        return majorised_step(loss, transfer, at)


@helper
def row_curvature(at):
    """The curvature of h along the row: its global bound if that is finite (|x|^2 for L2, max |x|^2 for entropies)."""
    return at.bound if at.bound < math.inf else at.curvature


@kernel
def slope_point(loss, u, z, y):
    """The x nearest to z at which u is a slope of the loss, infinite if there is none: loss*'(u), where that exists."""
    here = slope(loss, z, y)
    if here == u:
        return z
    side = -1.0 if here > u else 1.0  # slopes are nondecreasing
    reach, near, far, found = 1.0, z, z + side, False
    for _ in range(MAX_SCORE_EXPONENT):
        found = side * (slope(loss, far, y) - u) >= 0.0
        if found:
            break
        reach *= 2.0
        near, far = far, z + side * reach
    if not found:
        return side * math.inf
    for _ in range(MAX_HALVINGS):
        x = middle(min(near, far), max(near, far))
        if x == near or x == far:
            break
        if side * (slope(loss, x, y) - u) >= 0.0:
            far = x
        else:
            near = x
    return far


@kernel
def is_steep_end(loss, u, x, z, y, low, high):
    """Whether u is an end of the domain of loss* at which loss*' is infinite; x is the `slope_point` of u."""
    if u != low and u != high:
        return False
    inside = u + (PROBE_DISTANCE if u == low else -PROBE_DISTANCE) * min(1.0, high - low)
    return not abs(slope_point(loss, inside, z, y) - x) <= 1.0


@helper
def is_flat(loss, z, y):
    """Whether the loss is linear around z, so that loss* is not differentiable at its slope there."""
    width = PROBE_DISTANCE * (1.0 + abs(z))
    return slope(loss, z - width, y) == slope(loss, z + width, y)


class Explicit(NamedTuple):
    """Rule (11) of the paper, u <- u + eta strength / p (z - loss*'(u)), moved into the domain of loss*.

    eta = 0 is the rate of section 6.2: a tenth of Newton's. As the paper says of (19) and (20), u does not step beyond a
    nonsmooth point of loss* that is optimal. Where loss*' is infinite, as for the logistic loss at 0, the step is implicit.
    """

    eta: float

    def new_dual(self, loss, transfer, rows, v, at):
        low, high = dual_domain(loss, at.y)
        x, target = slope_point(loss, at.u, at.z, at.y), slope(loss, at.z, at.y)
        if x == at.z:
            return at.u
        if not abs(x) < math.inf or is_steep_end(loss, at.u, x, at.z, at.y, low, high):
            return implicit_step(loss, self.eta, at)
        if self.eta > 0.0:
            q = at.rate / self.eta + at.bias
        else:
            c = curvature(loss, x + CURVATURE_FRACTION * (at.z - x), at.y)
            q = (row_curvature(at) * at.rate + at.bias + (1.0 / c if c > 0.0 else 0.0)) / NEWTON_FRACTION
        if not q > 0.0:
            return target
        new = min(max(at.u + (at.z - x) / q, low), high)
        return target if (new - target) * (target - at.u) > 0.0 and is_flat(loss, at.z, at.y) else new


@helper
def implicit_step(loss, eta, at):
    """The maximiser of D if h had the curvature along the row for which eta is Newton's rate; eta = 0: ten times its own."""
    q = at.rate / eta if eta > 0.0 else row_curvature(at) * at.rate / NEWTON_FRACTION
    return model_step(loss, at.u, at.z, q + at.bias, at.y)


class Implicit(NamedTuple):
    """The proximal form of rule (11), u' <- u + eta strength / p (z - loss*'(u')): the same where loss* is linear."""

    eta: float

    def new_dual(self, loss, transfer, rows, v, at):
        return implicit_step(loss, self.eta, at)


class Exact(NamedTuple):
    """The maximiser of D along the row, by safeguarded secants: the rate at which the score decreases is the model's q."""

    def new_dual(self, loss, transfer, rows, v, at):
        steep = steepening(transfer, at.i) * at.rate
        reach = MAX_EXPONENT_STEP / steep if steep > 0.0 else math.inf
        new = within(model_step(loss, at.u, at.z, at.curvature * at.rate + at.bias, at.y), at.u, reach)
        u, z, low, high = at.u, at.z, -math.inf, math.inf
        for _ in range(MAX_TRIALS):
            if new > u:
                low = u
            elif new < u:
                high = u
            if abs(new - u) <= LINE_SEARCH_TOL * abs(new - at.u) or new == u:
                return new
            if not low < new < high:
                new = 0.5 * (low + high)
                if new == low or new == high:
                    break
            change = new - at.u
            score = row_score_at(transfer, rows, at.i, -change * at.rate, v) + (at.z - at.score) - change * at.bias
            q = max((z - score) / (new - u), 0.0)
            u, z = new, score
            new = within(model_step(loss, u, z, q, at.y), u, reach)
        return (
            low if low >= at.u else high
        )  # between start and optimum, where the concave D is no less than at the start


class Closed(NamedTuple):
    """The exact step in closed form for rows with entries -s, 0 and s, entropies and the hinge; majorised for other rows.

    scale holds s, or 0 for other rows. With e = exp(a s), the equation is s (e G - S / e) = `target`; for normalised weights,
    s total (e G - S / e) / (W + e G + S / e) = `target`. G and S are the sums of the weights that grow and that shrink,
    W = total - G - S that of the others.
    """

    margin: float
    total: float
    scale: np.ndarray

    def new_dual(self, loss, transfer, rows, v, at):
        s = self.scale[at.i]
        if s <= 0.0:
            return majorised_step(loss, transfer, at)
        low, high = dual_domain(loss, at.y)
        grow, shrink = unit_shares(transfer, rows, at.i)
        target = (at.y * self.margin - (at.z - at.score)) / s
        exponent = unit_exponent(grow, shrink, target, self.total)
        return min(max(at.u - exponent / (s * at.rate), low), high)


@helper
def unit_exponent(grow, shrink, target, total):
    """The a at which the score of a row of entries -1, 0, 1 reaches the target; infinite if it never does."""
    if total > 0.0:
        if target >= total:
            return math.inf
        if target <= -total:
            return -math.inf
        a, b, c = (total - target) * grow, target * (total - grow - shrink), (total + target) * shrink
    else:
        a, b, c = grow, target, shrink
    root = math.sqrt(b * b + 4.0 * a * c)
    top, bottom = (b + root, 2.0 * a) if b > 0.0 else (2.0 * c, root - b)
    if not top > 0.0:
        return -math.inf
    return math.log(top / bottom) if bottom > 0.0 else math.inf
