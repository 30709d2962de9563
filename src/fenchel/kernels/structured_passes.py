"""Passes over structured examples. Every kernel takes the encoded model first."""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.compile.kernel import kernel
from fenchel.structured.protocol import (
    add_label,
    begin_pass,
    best_label,
    label_cost,
    label_margin,
    label_size,
    log_partition,
    part_scores,
    plane_factor,
)

ROUNDING = (
    1e-9  # relative tolerance for a best plane below 0, which in exact arithmetic is at least that of the gold label
)


@helper
def plane_at(model, w, S, i, y):
    """The plane of label y at w; S are the part scores at w."""
    cost = label_cost(model, i, y)
    return cost + plane_factor(model, cost) * label_margin(model, w, S, i, y)


@kernel
def hinge_pass(model, p, start, w, workspace_size, first, labels, gradient):
    """gradient += sum p (slope of the best label); labels = the best label of each example, flat from example `start` on.

    A best label that ties with the gold one counts with its plane, so that value, gradient and labels are one plane.
    Returns (sum p loss, the first example whose best plane is below 0 or not a number, else -1).
    """
    total, S = 0.0, np.empty(workspace_size)
    for k in range(p.size):
        i = start + k
        at = first[i] - first[start]
        y = labels[at : at + label_size(model, i)]
        part_scores(model, w, i, S)
        best_label(model, w, S, i, y)
        value = plane_at(model, w, S, i, y)
        cost = label_cost(model, i, y)
        if not value >= -ROUNDING * (cost + abs(value - cost)):
            return total, i
        if p[k] > 0.0 and (value != 0.0 or cost > 0.0):  # the plane of the gold label is 0
            total += p[k] * value
            add_label(model, i, y, p[k] * plane_factor(model, cost), gradient)
    return total, -1


@kernel
def log_pass(model, p, start, w, workspace_size, gradient):
    """gradient += sum p (expected - gold features); returns (sum p loss, first example that is not finite, else -1)."""
    total, S = 0.0, np.empty(workspace_size)
    begin_pass(model, w, S)
    for k in range(p.size):
        if p[k] > 0.0:
            part_scores(model, w, start + k, S)
            value = log_partition(model, w, S, start + k, p[k], gradient)
            if not np.isfinite(value):
                return total, start + k
            total += p[k] * value
    return total, -1


@kernel
def pool_pass(model, p, starts, weights, offsets, labels, out):
    """out += sum_i p_i sum_k a_k f_k (phi_i(y_k) - phi_i(gold)); returns sum_i p_i sum_k a_k L_k."""
    total = 0.0
    for i in range(p.size):
        for k in range(starts[i], starts[i + 1]):
            if p[i] > 0.0 and weights[k] > 0.0:
                y = labels[offsets[k] : offsets[k + 1]]
                cost = label_cost(model, i, y)
                total += p[i] * weights[k] * cost
                add_label(model, i, y, p[i] * weights[k] * plane_factor(model, cost), out)
    return total
