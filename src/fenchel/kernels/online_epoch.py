"""Mistake-driven updates over a list of rows."""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.mirror_maps.coordinatewise import add_weights, renew, row_magnitude, row_score, row_update

TIE = 1e-9  # a score counts as 0 up to this, relative to the sum of its absolute terms: far above their rounding errors


@kernel
def online_epoch(rows, y, transfer, order, threshold, eta, average, v, weight_sum):
    """For every row of `order` with y_i (<x_i, w> - threshold) <= 0: v += eta y_i x_i. Returns the number of such mistakes.

    A score that equals the threshold up to rounding is a mistake for either y_i, like one that equals it exactly. The mistakes
    then do not depend on rounding, which differs between normalised and unnormalised weights. If `average`, the weights w after
    each row are added to weight_sum, which costs O(d) for every mistake.
    """
    renew(transfer, v)
    mistakes, unchanged = 0, 0
    for k in range(np.uint64(order.size)):
        i = order[k]
        score, _ = row_score(transfer, rows, i, v, 0.0)
        if not y[i] * (score - threshold) > TIE * (row_magnitude(transfer, rows, i, v) + abs(threshold)):
            if average and unchanged > 0:
                add_weights(transfer, v, unchanged, weight_sum)
                unchanged = 0
            row_update(transfer, rows, i, eta * y[i], v)
            mistakes += 1
        unchanged += 1
    if average and unchanged > 0:
        add_weights(transfer, v, unchanged, weight_sum)
    return mistakes


@kernel
def weights_of(transfer, v, out):
    """out += w."""
    renew(transfer, v)
    add_weights(transfer, v, 1.0, out)
