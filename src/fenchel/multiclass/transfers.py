"""Dual variables of a row with true class y: mass b_j = u_j >= 0 is transferred from the true class to the others.

u_y = -(sum of the b_j) in all class losses. Domains are closed; points that are outside by rounding errors count as inside.
"""

from __future__ import annotations

from fenchel.compile.dispatch import helper

SLACK = 2.0**-42


@helper
def is_transfer(u, y, size):
    """Whether u_j >= 0 for j != y and sum u = 0, up to rounding errors of numbers of magnitude `size`."""
    total, lowest = 0.0, 0.0
    for j in range(u.size):
        total += u[j]
        if j != y:
            lowest = min(lowest, u[j])
    return abs(total) <= SLACK * size and lowest >= -SLACK * size


@helper
def taken(u, y):
    """The sum of the b_j."""
    total = 0.0
    for j in range(u.size):
        if j != y:
            total += max(u[j], 0.0)
    return total


@helper
def scale_transfer(u, y, factor):
    """b <- factor max(b, 0), u_y = -(sum of b); in place."""
    total = 0.0
    for j in range(u.size):
        if j != y:
            u[j] = factor * max(u[j], 0.0)
            total += u[j]
    u[y] = -total


@helper
def clear(out):
    """out = 0."""
    for j in range(out.size):
        out[j] = 0.0


@helper
def best_other(z, y):
    """The first class other than y with the largest score."""
    best = 1 if y == 0 else 0
    for j in range(best + 1, z.size):
        if j != y and z[j] > z[best]:
            best = j
    return best
