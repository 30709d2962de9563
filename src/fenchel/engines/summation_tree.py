"""Sums in a fixed order: a binary tree over the blocks.

Floating-point sums depend on their order. Here the order depends on the number of blocks only, never on where they are stored:
a worker adds the parts of the tree that lie within its own blocks, and the client completes the tree. Results are therefore
bit-identical on one thread, on many, and on any number of machines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Node = tuple[int, int]  # the blocks a .. b - 1


def added(parts: Sequence[tuple]) -> tuple:
    """The sum of the parts, term by term; arrays of the first parts are overwritten.

    >>> added([(1.0, 2), (10.0, 20), (100.0, 200)])
    (111.0, 222)
    """
    if len(parts) == 1:
        return tuple(parts[0])
    return _total(0, len(parts), {(k, k + 1): part for k, part in enumerate(parts)}, keep=False)


def largest_nodes(count: int, parts: Mapping[int, tuple]) -> dict[Node, tuple]:
    """The sums over the largest subtrees of the tree over `count` blocks that these blocks form; they are not modified.

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
    """The sum over all blocks, from the sums of subtrees, which are not modified."""
    return _total(0, count, nodes, keep=True)


def missing(count: int, nodes: Mapping[Node, Any]) -> list[int]:
    """The blocks that no node contains.

    >>> missing(4, {(0, 2): 3.0})
    [2, 3]
    """
    there = {k for a, b in nodes for k in range(a, b)}
    return [k for k in range(count) if k not in there]


def _total(a: int, b: int, nodes: Mapping[Node, tuple], keep: bool) -> tuple:
    """The sum of the blocks a .. b - 1; with `keep`, arrays of the nodes may belong to a block and must not be overwritten."""
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
