"""Mistake-driven updates over a list of rows."""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.mirror_maps.coordinatewise import add_weights, renew, row_look, row_move, row_size

TIE = 1e-9  # a score is 0 if it is this close, relative to the sum of its absolute terms: far above their rounding


@kernel
def online_epoch(rows, y, transfer, order, threshold, eta, average, v, weight_sum):
    """For every row of `order` with y_i (<x_i, w> - threshold) <= 0: v += eta y_i x_i. Returns the number of them.

    A score that equals the threshold up to rounding is a mistake whatever y_i is, as it is when it equals it exactly: so the
    mistakes do not depend on how sums are rounded, which differs between weights that are normalised and those that are not.
    If `average`, weight_sum grows by the w that holds after each row; that costs O(d) for every mistake.
    """
    renew(transfer, v)
    mistakes, unchanged = 0, 0
    for k in range(np.uint64(order.size)):
        i = order[k]
        score, _ = row_look(transfer, rows, i, v, 0.0)
        if not y[i] * (score - threshold) > TIE * (row_size(transfer, rows, i, v) + abs(threshold)):
            if average and unchanged > 0:
                add_weights(transfer, v, unchanged, weight_sum)
                unchanged = 0
            row_move(transfer, rows, i, eta * y[i], v)
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
