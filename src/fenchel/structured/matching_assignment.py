"""The assignment problem: the matching of largest benefit, by shortest augmenting paths (Jonker and Volgenant 1987)."""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel


@kernel
def assign(benefit, rows, columns, out):
    """out[r] = c for the matching of min(rows, columns) edges with the largest sum of benefit[r columns + c], else -1.

    Returns False, and out is undefined, if a benefit is not finite or sums of them overflow. O(min^2 max) operations.

    >>> import numpy as np
    >>> out = np.zeros(2, dtype=np.int32)
    >>> assign(np.array([3.0, 2.0, 0.0, 3.0, 0.0, 0.0]), 2, 3, out), out
    (True, array([1, 0], dtype=int32))
    """
    wide = rows <= columns
    few, many = (rows, columns) if wide else (columns, rows)
    along, across = (columns, 1) if wide else (1, columns)
    u, v, shortest = np.zeros(few), np.zeros(many), np.empty(many)
    path, mate, owner = np.empty(many, np.int64), np.full(few, -1, np.int64), np.full(many, -1, np.int64)
    order = np.arange(many)  # columns that the search has not reached yet come first, those that it has reached last
    for row in range(few):
        shortest[:] = np.inf
        left, lowest, i, sink = many, 0.0, row, -1
        while sink < 0:  # left falls, or this returns
            best, at = np.inf, -1
            for k in range(left):
                j = order[k]
                length = lowest - benefit[i * along + j * across] - u[i] - v[j]
                if length < shortest[j]:
                    shortest[j], path[j] = length, i
                if shortest[j] < best or (shortest[j] == best and owner[j] < 0):
                    best, at = shortest[j], k
            if at < 0 or not best < np.inf:
                return False
            left -= 1
            j, order[at] = order[at], order[left]
            order[left], lowest = j, best
            sink, i = (j, i) if owner[j] < 0 else (-1, owner[j])
        u[row] += lowest
        for k in range(left, many):
            j = order[k]
            v[j] -= lowest - shortest[j]
            if owner[j] >= 0:
                u[owner[j]] += lowest - shortest[j]
        flip(path, mate, owner, row, sink)
    for r in range(rows):
        out[r] = mate[r] if wide else owner[r]
    return True


@kernel
def flip(path, mate, owner, row, sink):
    """Flip the edges along the augmenting path from row to sink."""
    i = -1
    while i != row:  # up the tree of shortest paths, whose root is row
        i = path[sink]
        owner[sink] = i
        sink, mate[i] = mate[i], sink


@kernel
def heaviest(benefit, rows, columns, partial, out):
    """`assign` with benefits that may be negative; if partial, only edges of positive benefit are kept, in any number."""
    if not partial:
        return assign(benefit, rows, columns, out)
    kept = np.empty(rows * columns)
    for e in range(rows * columns):
        kept[e] = max(benefit[e], 0.0)
    if not assign(kept, rows, columns, out):
        return False
    for r in range(rows):
        if out[r] >= 0 and not benefit[r * columns + out[r]] > 0.0:
            out[r] = -1
    return True


@kernel
def diagonal(rows, columns, edge, out):
    """The full matching along the (wrapped) diagonal through an edge."""
    shift = edge % columns - edge // columns
    out[:] = -1
    for k in range(min(rows, columns)):
        if rows <= columns:
            out[k] = (k + shift) % columns
        else:
            out[(k - shift) % rows] = k


@kernel
def are_matchings(rows, columns, partial, start, offsets, labels):
    """Whether every label of a pool is a matching of its example."""
    taken = np.full(np.max(columns), -1, np.int64)
    for i in range(rows.size):
        for k in range(start[i], start[i + 1]):
            edges = 0
            for r in range(offsets[k], offsets[k + 1]):
                c = labels[r]
                if c < -1 or c >= columns[i]:
                    return False
                if c >= 0:
                    if taken[c] == k:
                        return False
                    taken[c] = k
                    edges += 1
            if not partial and edges != min(rows[i], columns[i]):
                return False
    return True
