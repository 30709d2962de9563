"""Isotonic regression by pooling: the nonincreasing sequence nearest to value_i - scale weight_i, entry after entry.

A block of pooled entries is stored as (first value, sum of the differences from it, sum of the weights, count). Pooled values
are close together and only their differences matter, which are thus accurate however large the values are.
"""

from __future__ import annotations

from fenchel.compile.dispatch import helper

FIRST, DISTANCE, WEIGHT, COUNT = 0, 1, 2, 3


@helper
def pool(blocks, n, value, weight, scale):
    """Append an entry to the n blocks and pool while the means increase; returns the number of blocks."""
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
    """The mean of value - scale weight over a block, which is the fitted value there."""
    return blocks[FIRST, b] + (blocks[DISTANCE, b] - scale * blocks[WEIGHT, b]) / blocks[COUNT, b]


@helper
def above_block(blocks, b, scale, value):
    """The difference of a value of the block from the fitted sequence."""
    return value - blocks[FIRST, b] - (blocks[DISTANCE, b] - scale * blocks[WEIGHT, b]) / blocks[COUNT, b]
