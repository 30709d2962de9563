"""Sums in a fixed order: a binary tree over the blocks.

Floating-point sums depend on their order. This one depends on the number of blocks only, never on who holds which of them:
a worker adds up the parts of the tree that lie within its own blocks, and whoever collects completes the tree. So the
answer is the same bit for bit on one thread, on many, and on any number of machines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Node = tuple[int, int]  # the blocks a .. b - 1


def added(parts: Sequence[tuple]) -> tuple:
    """The sum of the parts, term by term; arrays of the first parts are written over.

    >>> added([(1.0, 2), (10.0, 20), (100.0, 200)])
    (111.0, 222)
    """
    if len(parts) == 1:
        return tuple(parts[0])
    return _total(0, len(parts), {(k, k + 1): part for k, part in enumerate(parts)}, keep=False)


def largest_nodes(count: int, parts: Mapping[int, tuple]) -> dict[Node, tuple]:
    """The sums of the largest parts of the tree over `count` blocks that lie within these blocks, which stay as they are.

    >>> largest_nodes(4, {0: (1.0,), 1: (2.0,), 3: (8.0,)})
    {(0, 2): (3.0,), (3, 4): (8.0,)}
    """
    found: dict[Node, tuple] = {}

    def visit(a: int, b: int) -> None:
        if all(k in parts for k in range(a, b)):
            found[a, b] = _total(a, b, {(k, k + 1): parts[k] for k in range(a, b)}, keep=True)
        elif b - a > 1:
            middle = (a + b) // 2
            visit(a, middle)
            visit(middle, b)

    visit(0, count)
    return found


def completed(count: int, nodes: Mapping[Node, tuple]) -> tuple:
    """The sum over all blocks, from the sums of parts of the tree, which are kept as they are."""
    return _total(0, count, nodes, keep=True)


def missing(count: int, nodes: Mapping[Node, Any]) -> list[int]:
    """The blocks that are in none of the nodes.

    >>> missing(4, {(0, 2): 3.0})
    [2, 3]
    """
    there = {k for a, b in nodes for k in range(a, b)}
    return [k for k in range(count) if k not in there]


def _total(a: int, b: int, nodes: Mapping[Node, tuple], keep: bool) -> tuple:
    """`keep`: arrays of the nodes may be those that a block has in store, and must not be written over."""
    if (a, b) in nodes:
        return tuple(nodes[a, b])
    middle = (a + b) // 2
    left, right = list(_total(a, middle, nodes, keep)), _total(middle, b, nodes, keep)
    for k, part in enumerate(right):
        if keep and (a, middle) in nodes:
            left[k] = left[k] + part
        else:
            left[k] += part  # in place for arrays
    return tuple(left)
