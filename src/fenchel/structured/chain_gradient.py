"""Add feature vectors of chains to arrays shaped like w: those of one label, and expected ones."""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.data.rows import row_column, row_entry, row_span
from fenchel.structured.chain_layout import column_add, column_place


@helper
def pair_place(model, a, b):
    """The index in w of the transition from a to b; -1 if it has no weight."""
    code, low, high = a * model.m + b, 0, model.pairs.size
    while low < high:  # pairs are sorted
        middle = (low + high) // 2
        if model.pairs[middle] < code:
            low = middle + 1
        else:
            high = middle
    return model.at.pairs + low if low < model.pairs.size and model.pairs[low] == code else -1


@helper
def add_position(model, i, t, c, a, out):
    """out += a (features of label c at position t)."""
    at, row = model.at, model.first[i] + t
    start, stop = row_span(model.rows, row)
    for k in range(start, stop):
        place = column_place(model.layout, row_column(model.rows, k), c)
        if place >= 0:
            out[place] += a * row_entry(model.rows, row, k)
    if at.bias >= 0:
        out[at.bias + c] += a
    if at.start >= 0 and t == 0:
        out[at.start + c] += a
    if at.start >= 0 and row == model.first[i + 1] - 1:
        out[at.end + c] += a


@helper
def add_pair(model, i, t, c, b, a, out):
    """out += a (features of c at position t followed by b)."""
    place = pair_place(model, c, b)
    if place >= 0:
        out[place] += a
    if model.edge_features > 0:
        row, m = model.first[i] - i + t, model.m
        start, stop = row_span(model.edges, row)
        for k in range(start, stop):
            column = np.int64(row_column(model.edges, k))
            out[model.at.edges + (column * m + c) * m + b] += a * row_entry(model.edges, row, k)


@helper
def pop_square(out, place):
    """Set out[place] to 0; returns its square."""
    if place < 0:
        return 0.0
    square = out[place] * out[place]
    out[place] = 0.0
    return square


@helper
def pop_position(model, i, t, c, out):
    """Set out to 0 where `add_position` adds; returns the sum of squares."""
    at, row, total = model.at, model.first[i] + t, 0.0
    start, stop = row_span(model.rows, row)
    for k in range(start, stop):
        total += pop_square(out, column_place(model.layout, row_column(model.rows, k), c))
    if at.bias >= 0:
        total += pop_square(out, at.bias + c)
    if at.start >= 0 and t == 0:
        total += pop_square(out, at.start + c)
    if at.start >= 0 and row == model.first[i + 1] - 1:
        total += pop_square(out, at.end + c)
    return total


@helper
def pop_pair(model, i, t, c, b, out):
    """Set out to 0 where `add_pair` adds; returns the sum of squares."""
    total = pop_square(out, pair_place(model, c, b))
    if model.edge_features > 0:
        row, m = model.first[i] - i + t, model.m
        start, stop = row_span(model.edges, row)
        for k in range(start, stop):
            column = np.int64(row_column(model.edges, k))
            total += pop_square(out, model.at.edges + (column * m + c) * m + b)
    return total


@helper
def add_marginals(model, i, U, Q, step, a, out):
    """out += a (expected - gold features): U are marginals of labels, Q of pairs; both are overwritten."""
    m, at, first = model.m, model.at, model.first[i]
    T = model.first[i + 1] - first
    for t in range(T):
        own = U[t * m : (t + 1) * m]
        own[model.y[first + t]] -= 1.0
        for c in range(m):
            own[c] *= a
        start, stop = row_span(model.rows, first + t)
        for k in range(start, stop):
            column_add(model.layout, row_column(model.rows, k), row_entry(model.rows, first + t, k), own, out)
        if at.bias >= 0:
            for c in range(m):
                out[at.bias + c] += own[c]
    if at.start >= 0:
        for c in range(m):
            out[at.start + c] += U[c]
            out[at.end + c] += U[(T - 1) * m + c]
    for t in range(T - 1):
        Q[t * step + np.int64(model.y[first + t]) * m + model.y[first + t + 1]] -= 1.0
    if T > 1:
        for t in range(T - 1 if step > 0 else 1):
            add_table(model, first - i + t, Q[t * m * m : (t + 1) * m * m], a, out)


@helper
def add_table(model, row, Q, a, out):
    """out += a (a table of pair marginals), for the transitions and the features of that pair of positions."""
    m, at = model.m, model.at
    for k in range(model.pairs.size):
        out[at.pairs + k] += a * Q[model.pairs[k]]
    if model.edge_features > 0:
        start, stop = row_span(model.edges, row)
        for k in range(start, stop):
            x, place = a * row_entry(model.edges, row, k), at.edges + np.int64(row_column(model.edges, k)) * m * m
            for q in range(m * m):
                out[place + q] += x * Q[q]
