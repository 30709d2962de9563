"""How far to move one dual variable: the rules that a dual epoch can follow.

Changing u_i by t changes v by -t p_i x_i / strength. With c the curvature of h along x_i, the row's score then falls by
about t q, q = p_i (c / strength + 1 / bias_strength), and `dual_step(u, z, q)` is the best t for that model.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import helper, method
from fenchel.compile.kernel import kernel
from fenchel.losses.derived import FARTHEST, MOST_HALVINGS, middle
from fenchel.losses.protocol import curvature, dual_domain, dual_step, slope
from fenchel.mirror_maps.coordinatewise import row_score_at, steepening
from fenchel.mirror_maps.entropic import unit_shares

ENOUGH = 1e-3  # a line search ends when its last correction is this share of the whole step
LONGEST = 4.0  # exponents that one trial of a line search may add
MOST_TRIALS = 40
SMALLER = 0.1  # than Newton's, the default learning rate: "ten or even a hundred times", section 6.2 of Zhang (2002)
ON_THE_WAY = (
    1e-2  # from loss*'(u) to the score, the share at which the curvature of the loss is taken: on this side of a kink
)
INSIDE = 1e-6  # how far from an end or a kink it is looked whether there is one


class Ascent(NamedTuple):
    """A transfer function, the rule of the steps, and the share of each step that is taken."""

    transfer: Any
    rule: Any
    damping: float = 1.0


class Place(NamedTuple):
    """What a step needs to know of a row: z is its whole score, with offset and intercept, `score` only <x_i, w>.

    rate is p_i / strength, bias p_i / bias_strength; curvature is that of h along the row here, bound that anywhere.
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
    """The best u if the score falls by q per unit of u."""
    return dual_step(loss, u, z, q, y) if q > 0.0 else slope(loss, z, y)


@helper
def within(x, centre, reach):
    """x, moved to within reach of the centre."""
    return min(max(x, centre - reach), centre + reach)


@helper
def majorised_step(loss, transfer, at):
    """A step that cannot lower D: the model's curvature bounds the true one all along it."""
    new = model_step(loss, at.u, at.z, at.curvature * at.rate + at.bias, at.y)
    steep = steepening(transfer, at.i) * at.rate
    if steep <= 0.0 or new == at.u:
        return new
    # Within one unit of steepness; the step with the larger curvature is shorter, so the bound holds all along it.
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
    """The curvature of h along the row: its bound where there is one (of |x|^2 for L2, of max |x|^2 for entropies)."""
    return at.bound if at.bound < math.inf else at.curvature


@kernel
def slope_point(loss, u, z, y):
    """The x nearest to z at which u is a slope of the loss, infinite if there is none: loss*'(u), where that is one number."""
    here = slope(loss, z, y)
    if here == u:
        return z
    side = -1.0 if here > u else 1.0  # slopes do not fall
    reach, near, far, found = 1.0, z, z + side, False
    for _ in range(FARTHEST):
        found = side * (slope(loss, far, y) - u) >= 0.0
        if found:
            break
        reach *= 2.0
        near, far = far, z + side * reach
    if not found:
        return side * math.inf
    for _ in range(MOST_HALVINGS):
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
    """Whether u is an end of the domain of loss* at which loss*' is infinite; x is `slope_point` there."""
    if u != low and u != high:
        return False
    inside = u + (INSIDE if u == low else -INSIDE) * min(1.0, high - low)
    return not abs(slope_point(loss, inside, z, y) - x) <= 1.0


@helper
def is_flat(loss, z, y):
    """Whether the loss is straight around z: its slope there is a kink of loss*."""
    width = INSIDE * (1.0 + abs(z))
    return slope(loss, z - width, y) == slope(loss, z + width, y)


class Explicit(NamedTuple):
    """Rule (11) of the paper, u <- u + eta strength / p (z - loss*'(u)), moved into the domain of loss*.

    eta = 0 is the rate of section 6.2: a tenth of Newton's. As the paper says of (19) and (20), u does not pass a kink of loss*
    at which it should end. Where loss*' is infinite, as that of the logistic loss at 0, the step is implicit.
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
            bend = curvature(loss, x + ON_THE_WAY * (at.z - x), at.y)
            q = (row_curvature(at) * at.rate + at.bias + (1.0 / bend if bend > 0.0 else 0.0)) / SMALLER
        if not q > 0.0:
            return target
        new = min(max(at.u + (at.z - x) / q, low), high)
        return target if (new - target) * (target - at.u) > 0.0 and is_flat(loss, at.z, at.y) else new


@helper
def implicit_step(loss, eta, at):
    """The maximiser of D with h along the row bent as if the rate were Newton's; eta = 0: ten times as much."""
    bend = at.rate / eta if eta > 0.0 else row_curvature(at) * at.rate / SMALLER
    return model_step(loss, at.u, at.z, bend + at.bias, at.y)


class Implicit(NamedTuple):
    """The proximal form of rule (11), u' <- u + eta strength / p (z - loss*'(u')): the same where loss* is straight."""

    eta: float

    def new_dual(self, loss, transfer, rows, v, at):
        return implicit_step(loss, self.eta, at)


class Exact(NamedTuple):
    """The maximiser of D along the row, by secants between brackets: the slope of the score's fall is the model's q."""

    def new_dual(self, loss, transfer, rows, v, at):
        steep = steepening(transfer, at.i) * at.rate
        reach = LONGEST / steep if steep > 0.0 else math.inf
        new = within(model_step(loss, at.u, at.z, at.curvature * at.rate + at.bias, at.y), at.u, reach)
        u, z, low, high = at.u, at.z, -math.inf, math.inf
        for _ in range(MOST_TRIALS):
            if new > u:
                low = u
            elif new < u:
                high = u
            if abs(new - u) <= ENOUGH * abs(new - at.u) or new == u:
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
        return low if low >= at.u else high  # between the start and the optimum: D is concave, so it has not fallen


class Closed(NamedTuple):
    """The exact step in closed form where a row's entries are -s, 0 and s: entropies and the hinge; else majorised.

    scale holds s, 0 for other rows. With e = exp(a s), the score s (e G - S / e) is to equal `target`; normalised, s total
    (e G - S / e) / (W + e G + S / e). G and S are the weights that grow and shrink, W = total - G - S the others.
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
