"""The transfer functions of the entropies: w = c e^v (Winnow) and w = c (e^v - e^-v) (balanced Winnow).

The terms up_j = prior_j e^(v_j - shift) (and down_j = prior_j e^(-v_j - shift)) and their sum Z are cached, so that the cost of
a step is proportional to the nonzeros of its row although every weight changes with Z: w_j = total up_j / Z. Unnormalised
entropies have no total: w_j = up_j, shift = 0. Z is updated by additions and would lose its accuracy when it falls by many
orders of magnitude. Everything is therefore recomputed when Z falls below 1e-3 of its largest value since the last time, when a
term exceeds e^30, and between epochs.

Along a row, |h'''| <= s h'' with s the range of its entries, so within |a| the curvature grows by at most e^(s |a|).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fenchel.compile.dispatch import helper, method
from fenchel.data.rows import row_column, row_entry, row_span
from fenchel.mirror_maps.coordinatewise import renew

Z, LARGEST_Z, SHIFT = 0, 1, 2  # places in `sums`
HIGHEST_TERM = math.exp(30.0)
LOWEST_SHARE = 1e-3
MIN_TERM = (
    1e-290  # smaller terms are raised to this: denormal numbers are very slow, and so small a weight has no effect
)


@method()
def unit_shares(transfer, rows, i):
    """(sum of the terms that grow, sum of those that shrink) along a row of entries -1, 0 and +1 (times one number)."""


@helper
def short_growth(t):
    """e^t - 1 for |t| <= 1/32, by its series."""
    return t * (1.0 + t * (0.5 + t * (1 / 6 + t * (1 / 24 + t * (1 / 120 + t * (1 / 720 + t / 5040))))))


@helper
def growth(t):
    """e^t - 1. For |t| <= 1, the usual case, a series and five doublings cost a third of an exponential."""
    if abs(t) <= 0.03125:
        return short_growth(t)
    if abs(t) > 1.0:
        return math.exp(t) - 1.0
    g = short_growth(0.03125 * t)
    for _ in range(5):
        g *= 2.0 + g
    return g


@helper
def term_at(exponent):
    """e^exponent, but at least MIN_TERM."""
    return max(math.exp(exponent), MIN_TERM) if exponent > -700.0 else MIN_TERM


@helper
def grown(term, t, exponent):
    """The term after its exponent has increased by t to `exponent`; by a multiplication where that is accurate enough."""
    return max(term + term * growth(t), MIN_TERM) if term > 1e10 * MIN_TERM else term_at(exponent)


@helper
def weight_factor(sums, total):
    """The factor from a cached term to its weight."""
    return total / sums[Z] if total > 0.0 else 1.0


@helper
def note_change(sums, total, change, highest):
    """Add a change to Z; True if the terms must be recomputed."""
    sums[Z] += change
    sums[LARGEST_Z] = max(sums[LARGEST_Z], sums[Z])
    return total > 0.0 and (sums[Z] < LOWEST_SHARE * sums[LARGEST_Z] or highest > HIGHEST_TERM)


class Winnow(NamedTuple):
    """w = prior e^v, divided by its sum and multiplied by the total unless that is 0."""

    up: np.ndarray
    log_prior: np.ndarray
    sums: np.ndarray
    spread: np.ndarray
    total: float

    def row_score(self, rows, i, v, bound):
        first, second = 0.0, 0.0
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            x = row_entry(rows, i, k)
            term = x * self.up[row_column(rows, k)]
            first += term
            second += x * term
        factor = weight_factor(self.sums, self.total)
        score = factor * first
        # The curvature must not be underestimated by cancellation: a majoriser may be larger, but never smaller.
        square = score * score / self.total if self.total > 0.0 else 0.0
        return score, max(factor * second - square, 1e-15 * factor * second)

    def row_magnitude(self, rows, i, v):
        total = 0.0
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            total += abs(row_entry(rows, i, k)) * self.up[row_column(rows, k)]
        return weight_factor(self.sums, self.total) * total

    def row_score_at(self, rows, i, a, v):
        first, change = 0.0, 0.0
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            x = row_entry(rows, i, k)
            old = self.up[row_column(rows, k)]
            step = old * growth(a * x)
            change += step
            first += x * (old + step)
        return first * (self.total / (self.sums[Z] + change) if self.total > 0.0 else 1.0)

    def row_update(self, rows, i, a, v):
        change, highest = 0.0, 0.0
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            j, t = row_column(rows, k), a * row_entry(rows, i, k)
            old = self.up[j]
            v[j] += t
            self.up[j] = grown(old, t, v[j] + self.log_prior[j] - self.sums[SHIFT])
            change += self.up[j] - old
            highest = max(highest, self.up[j])
        if note_change(self.sums, self.total, change, highest):
            renew(self, v)

    def renew(self, v):
        shift = 0.0
        if self.total > 0.0:
            shift = -np.inf
            for j in range(v.size):
                shift = max(shift, v[j] + self.log_prior[j])
        total = 0.0
        for j in range(v.size):
            self.up[j] = term_at(v[j] + self.log_prior[j] - shift)
            total += self.up[j]
        self.sums[Z] = self.sums[LARGEST_Z] = total
        self.sums[SHIFT] = shift

    def add_weights(self, v, a, out):
        factor = a * weight_factor(self.sums, self.total)
        for j in range(v.size):
            out[j] += factor * self.up[j]

    def steepening(self, i):
        return self.spread[i]

    def unit_shares(self, rows, i):
        grow, shrink = 0.0, 0.0
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            x, term = row_entry(rows, i, k), self.up[row_column(rows, k)]
            if x > 0.0:
                grow += term
            elif x < 0.0:
                shrink += term
        factor = weight_factor(self.sums, self.total)
        return factor * grow, factor * shrink


class BalancedWinnow(NamedTuple):
    """w = prior (e^v - e^-v), divided by the sum of prior (e^v + e^-v) and multiplied by the total unless that is 0."""

    up: np.ndarray
    down: np.ndarray
    log_prior: np.ndarray
    sums: np.ndarray
    spread: np.ndarray
    total: float

    def row_score(self, rows, i, v, bound):
        first, second = 0.0, 0.0
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            j, x = row_column(rows, k), row_entry(rows, i, k)
            first += x * (self.up[j] - self.down[j])
            second += x * x * (self.up[j] + self.down[j])
        factor = weight_factor(self.sums, self.total)
        score = factor * first
        square = score * score / self.total if self.total > 0.0 else 0.0
        return score, max(factor * second - square, 1e-15 * factor * second)

    def row_magnitude(self, rows, i, v):
        total = 0.0
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            j = row_column(rows, k)
            total += abs(row_entry(rows, i, k)) * (self.up[j] + self.down[j])
        return weight_factor(self.sums, self.total) * total

    def row_score_at(self, rows, i, a, v):
        first, change = 0.0, 0.0
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            j, x = row_column(rows, k), row_entry(rows, i, k)
            rise, fall = self.up[j] * growth(a * x), self.down[j] * growth(-a * x)
            change += rise + fall
            first += x * (self.up[j] - self.down[j] + (rise - fall))
        return first * (self.total / (self.sums[Z] + change) if self.total > 0.0 else 1.0)

    def row_update(self, rows, i, a, v):
        change, highest = 0.0, 0.0
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            j, t = row_column(rows, k), a * row_entry(rows, i, k)
            old, constant = self.up[j] + self.down[j], self.log_prior[j] - self.sums[SHIFT]
            v[j] += t
            self.up[j] = grown(self.up[j], t, v[j] + constant)
            self.down[j] = grown(self.down[j], -t, constant - v[j])
            change += self.up[j] + self.down[j] - old
            highest = max(highest, self.up[j], self.down[j])
        if note_change(self.sums, self.total, change, highest):
            renew(self, v)

    def renew(self, v):
        shift = 0.0
        if self.total > 0.0:
            shift = -np.inf
            for j in range(v.size):
                shift = max(shift, abs(v[j]) + self.log_prior[j])
        total = 0.0
        for j in range(v.size):
            self.up[j] = term_at(v[j] + self.log_prior[j] - shift)
            self.down[j] = term_at(-v[j] + self.log_prior[j] - shift)
            total += self.up[j] + self.down[j]
        self.sums[Z] = self.sums[LARGEST_Z] = total
        self.sums[SHIFT] = shift

    def add_weights(self, v, a, out):
        factor = a * weight_factor(self.sums, self.total)
        for j in range(v.size):
            out[j] += factor * (self.up[j] - self.down[j])

    def steepening(self, i):
        return self.spread[i]

    def unit_shares(self, rows, i):
        grow, shrink = 0.0, 0.0
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            j, x = row_column(rows, k), row_entry(rows, i, k)
            if x > 0.0:
                grow += self.up[j]
                shrink += self.down[j]
            elif x < 0.0:
                grow += self.down[j]
                shrink += self.up[j]
        factor = weight_factor(self.sums, self.total)
        return factor * grow, factor * shrink
