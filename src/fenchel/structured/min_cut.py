"""The best 0/1 labels of a graph by a minimum cut: max over y of sum a_v y_v - sum over edges of t_uv [y_u != y_v], t >= 0.

By a maximum flow (Dinic): node v gets max(a_v, 0) from the source and gives max(-a_v, 0) to the sink, an edge carries up to t_e
both ways, and the nodes that cannot reach the sink any more get label 1. scipy.sparse.csgraph.maximum_flow has capacities of 32
bits, which would round the weights to nine digits, and cannot be called by kernels.

Capacities are integers, so the flow is exact: they are rounded to multiples of 1 / scale, with 2^59 < scale (sum |a| + sum t)
<= 2^60. That changes no value by more than (V + E) / (2 scale), a share (V + E) 2^-60 of the sum, which is less than the
rounding errors of the value itself.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.compile.poll import poll

BITS = 60  # of the sum of all capacities: integers of 64 bits, with a sign, hold it twice
MAX_EXPONENT = 1000  # of the scale, for sums so small that 2^BITS / sum overflows
AUGMENTATIONS_PER_POLL = 1 << 14


@kernel
def best_cut(a, t, tails, heads, start, arcs, out):
    """out = the best labels. Node v's arcs are arcs[start[v] - start[0]] and following ones, as in `Graphs`."""
    total = 0.0
    for x in a:
        total += abs(x)
    for x in t:
        total += x
    if (
        not total < np.inf
    ):  # Nothing is known about such scores; their value is NaN or infinite, which is an error later.
        out[:] = 0
        return
    scale = math.ldexp(1.0, min(BITS - math.frexp(total)[1], MAX_EXPONENT))
    inflow, residual = np.empty(a.size, np.int64), np.empty(2 * t.size, np.int64)
    for v in range(a.size):
        inflow[v] = np.int64(np.rint(a[v] * scale))
    for e in range(t.size):
        residual[2 * e] = residual[2 * e + 1] = np.int64(np.rint(t[e] * scale))
    reach = push_all(inflow, residual, tails, heads, start, arcs)
    for v in range(a.size):
        out[v] = 1 if reach[v] == 0 else 0


@kernel
def push_all(inflow, residual, tails, heads, start, arcs):
    """Push the largest flow from nodes with inflow > 0 to those with inflow < 0; returns the distances to the latter, 0: none.

    Every round pushes along shortest paths until none of that length is left, so that there are at most as many rounds as
    nodes.
    """
    n = inflow.size
    reach, queue, pointer, path = (
        np.zeros(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
    )
    for _ in range(n + 1):
        poll()
        distances(inflow, residual, tails, heads, start, arcs, reach, queue)
        found, pushed = False, 0
        for v in range(n):
            pointer[v] = start[v]
        for source in range(n):
            while inflow[source] > 0 and reach[source] > 0:
                found = True
                if not augment(source, inflow, residual, tails, heads, start, arcs, reach, pointer, path):
                    break
                pushed += 1
                if pushed % AUGMENTATIONS_PER_POLL == 0:
                    poll()
        if not found:
            return reach
    return reach


@kernel
def head_of(arc, tails, heads):
    """The node to which an arc goes."""
    return heads[arc // 2] if arc % 2 == 0 else tails[arc // 2]


@kernel
def distances(inflow, residual, tails, heads, start, arcs, reach, queue):
    """reach[v] = 1 + arcs on the shortest path with room from v to a node with inflow < 0; 0 if there is none."""
    last = 0
    for v in range(reach.size):
        reach[v] = 0
        if inflow[v] < 0:
            reach[v] = 1
            queue[last] = v
            last += 1
    here = 0
    while here < last:  # every node enters the queue once
        v = queue[here]
        here += 1
        for k in range(start[v], start[v + 1]):
            arc = arcs[k - start[0]]
            u = head_of(arc, tails, heads)
            if reach[u] == 0 and residual[arc ^ 1] > 0:
                reach[u] = reach[v] + 1
                queue[last] = u
                last += 1


@kernel
def augment(source, inflow, residual, tails, heads, start, arcs, reach, pointer, path):
    """Push along one shortest path from the source; False if there is none. pointer[v]: the arcs before it are of no use."""
    v, depth = source, 0
    while (
        reach[v] != 1 or inflow[v] >= 0
    ):  # every round moves a pointer or makes the path longer, which has reach[source] arcs
        k = pointer[v]
        if k < start[v + 1]:
            arc = arcs[k - start[0]]
            u = head_of(arc, tails, heads)
            if residual[arc] > 0 and reach[u] > 0 and reach[u] == reach[v] - 1:
                path[depth] = arc
                depth += 1
                v = u
            else:
                pointer[v] += 1
        elif depth == 0:
            return False
        else:
            depth -= 1
            v = head_of(path[depth] ^ 1, tails, heads)
            pointer[v] += 1
    room = min(inflow[source], -inflow[v])
    for k in range(depth):
        room = min(room, residual[path[k]])
    inflow[source] -= room
    inflow[v] += room
    for k in range(depth):
        residual[path[k]] -= room
        residual[path[k] ^ 1] += room
    return True
