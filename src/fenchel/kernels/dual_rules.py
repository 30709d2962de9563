"""How far to move one dual variable: the rules that a dual epoch can follow.

Changing u_i by t changes v by -t p_i x_i / strength. With c the curvature of h along x_i, the row's score then falls by
about t q, q = p_i (c / strength + 1 / bias_strength), and `dual_step(u, z, q)` is the best t for that model.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fenchel.data.exponential import unit_shares
from fenchel.data.transfer import row_score_at, steepening
from fenchel.losses.protocol import dual_domain, dual_step, slope
from fenchel.typed import helper, method

ENOUGH = 1e-3  # a line search ends when its last correction is this share of the whole step
LONGEST = 4.0  # exponents that one trial of a line search may add
MOST_TRIALS = 40


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


class Gradient(NamedTuple):
    """Rule (11) of the paper: a fixed learning rate in the place of 1 / curvature. Nothing keeps it from diverging."""

    eta: float

    def new_dual(self, loss, transfer, rows, v, at):
        return dual_step(loss, at.u, at.z, at.rate / self.eta + at.bias, at.y)


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
