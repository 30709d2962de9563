"""Isotonic regression by pooling: the nonincreasing sequence nearest to value_i - scale weight_i, entry after entry.

A block of pooled entries is kept as (first value, sum of the others' distances from it, sum of the weights, count). Pooled
values lie close together, and only their differences matter: those keep all their digits however large the values are.
"""

from __future__ import annotations

from fenchel.compile.dispatch import helper

FIRST, DISTANCE, WEIGHT, COUNT = 0, 1, 2, 3


@helper
def pool(blocks, n, value, weight, scale):
    """Append an entry to the n blocks, pool while the means rise -> the number of blocks."""
    distance, count = 0.0, 1.0
    while n > 0:  # n falls
        last = n - 1
        rise = value - blocks[FIRST, last] + (distance - scale * weight) / count
        if rise <= (blocks[DISTANCE, last] - scale * blocks[WEIGHT, last]) / blocks[COUNT, last]:
            break
        distance += blocks[DISTANCE, last] + count * (value - blocks[FIRST, last])
        value = blocks[FIRST, last]
        weight += blocks[WEIGHT, last]
        count += blocks[COUNT, last]
        n = last
    blocks[FIRST, n], blocks[DISTANCE, n], blocks[WEIGHT, n], blocks[COUNT, n] = value, distance, weight, count
    return n + 1


@helper
def block_value(blocks, b, scale):
    """The mean of value - scale weight over a block: what the fitted sequence is there."""
    return blocks[FIRST, b] + (blocks[DISTANCE, b] - scale * blocks[WEIGHT, b]) / blocks[COUNT, b]


@helper
def above_block(blocks, b, scale, value):
    """How far a value of the block lies above the fitted sequence."""
    return value - blocks[FIRST, b] - (blocks[DISTANCE, b] - scale * blocks[WEIGHT, b]) / blocks[COUNT, b]
