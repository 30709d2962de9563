"""The matching with the largest rescaled plane, exactly, by branch and bound over assignment problems.

The plane of a matching is L + L^beta m: L = a false_positive + b false_negative for its a wrong edges and the b gold edges
that it lacks, m = its score minus that of the gold matching. For fixed s, the maximum of m + s L is an assignment problem.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.copy import copy
from fenchel.compile.kernel import kernel
from fenchel.compile.poll import poll
from fenchel.structured.matching_assignment import heaviest
from fenchel.structured.rescaled import plane_bound, touching_slope

ROOT_SLOPES = 8  # at the root; the slopes of its children are theirs and those that touch the best plane


@kernel
def best_rescaled_matching(S, rows, columns, gold, partial, positive, negative, beta, out):
    """out = the matching with the largest plane, `gold` if none is above 0; False if scores are not finite.

    A node has the first `depth` rows matched (columns, if they are fewer), and its planes are bounded from the assignment of
    the others. Each assignment is also a matching that may be the best one. The open nodes are those on the path to the
    present one; choice[k] is the next column to try at depth k.
    """
    turned = rows > columns
    few, many = (columns, rows) if turned else (rows, columns)
    score, own = np.empty((few, many)), np.full(few, -1, np.int64)
    for r in range(rows):
        for c in range(columns):
            score[c if turned else r, r if turned else c] = S[r * columns + c]
        if gold[r] >= 0:
            own[gold[r] if turned else r] = r if turned else gold[r]
    gold_score = 0.0
    for k in range(few):
        if own[k] >= 0:
            gold_score += score[k, own[k]]
    fixed, found, best_found = np.full(few, -1, np.int64), np.empty(few, np.int64), own.copy()
    taken, choice = np.zeros(many, np.bool_), np.full(few + 1, -2, np.int64)
    slopes, best, depth = np.zeros(few + 1), 0.0, 0
    costs = (positive, negative, beta)
    ceiling, plane, fine = np.inf, 0.0, True
    for k in range(ROOT_SLOPES):
        cost = (positive + negative) * (1.0 + (few - 1.0) * (k // 2) / max(ROOT_SLOPES // 2 - 1, 1))
        s = touching_slope(cost, beta, best) if cost > 0.0 else 0.0
        here, plane, fine = node_ceiling(score, own, gold_score, fixed, taken, 0, partial, costs, s, found)
        if not fine:
            return False
        if here < ceiling:
            ceiling, slopes[0] = here, s
        if plane > best:
            best = plane
            copy(found, best_found)
    choice[0] = many if not ceiling > best else -2
    while depth >= 0:  # choices rise, and there are finitely many
        k = choice[depth]
        if k >= 0 and k < many and fixed[depth] == k:  # undo the last one
            taken[k] = False
        fixed[depth] = -1
        k += 1
        if k == -1 and not partial:
            k = 0
        while 0 <= k < many and taken[k]:
            k += 1
        if k >= many:
            depth -= 1
            continue
        choice[depth], fixed[depth] = k, k
        if k >= 0:
            taken[k] = True
        poll()
        ceiling, depth = np.inf, depth + 1
        for trial in range(3):
            lowest, highest = cost_range(own, fixed, depth, partial, positive, negative)
            at = highest if trial == 2 else max(lowest, min(positive + negative, highest))
            s = touching_slope(at, beta, best) if trial > 0 and at > 0.0 else slopes[depth - 1]
            here, plane, fine = node_ceiling(score, own, gold_score, fixed, taken, depth, partial, costs, s, found)
            if here < ceiling:
                ceiling, slopes[depth] = here, s
            if plane > best:
                best = plane
                copy(found, best_found)
            if not ceiling > best:
                break
        if depth == few or not ceiling > best:
            depth -= 1
        else:
            choice[depth] = -2
    out[:] = -1
    for k in range(few):
        if best_found[k] >= 0:
            out[best_found[k] if turned else k] = k if turned else best_found[k]
    return True


@kernel
def cost_range(own, fixed, depth, partial, positive, negative):
    """(the least, the largest cost of the matchings of a node)."""
    lowest = highest = 0.0
    for k in range(own.size):
        if k < depth:
            cost = 0.0
            if fixed[k] != own[k]:
                cost = (positive if fixed[k] >= 0 else 0.0) + (negative if own[k] >= 0 else 0.0)
            lowest, highest = lowest + cost, highest + cost
        else:
            highest += positive + (negative if own[k] >= 0 else 0.0)
    return lowest, highest


@kernel
def node_ceiling(score, own, gold_score, fixed, taken, depth, partial, costs, s, found):
    """(an upper bound of the planes of a node, the plane of the matching `found`, whether scores are finite)."""
    positive, negative, beta = costs
    few, many = score.shape
    margin, wrong, missed = -gold_score, 0, 0
    for k in range(depth):
        found[k] = fixed[k]
        margin += score[k, fixed[k]] if fixed[k] >= 0 else 0.0
        wrong += fixed[k] != own[k] and fixed[k] >= 0
        missed += fixed[k] != own[k] and own[k] >= 0
    left, places = few - depth, np.empty(many, np.int64)
    width, known = 0, 0
    for c in range(many):
        if not taken[c]:
            places[width] = c
            width += 1
    benefit, chosen = np.empty(left * width), np.empty(left, np.int32)
    for k in range(left):
        known += own[depth + k] >= 0
        for c in range(width):
            right = places[c] == own[depth + k]
            benefit[k * width + c] = score[depth + k, places[c]] + s * (-negative if right else positive)
    if left > 0 and not heaviest(benefit, left, width, partial, chosen):
        return np.inf, 0.0, False
    most = margin + s * (wrong * positive + (missed + known) * negative)
    plain, a, b = margin, wrong, missed
    for k in range(left):
        c = chosen[k]
        found[depth + k] = places[c] if c >= 0 else -1
        if c >= 0:
            most += benefit[k * width + c]
            plain += score[depth + k, places[c]]
        a += found[depth + k] != own[depth + k] and c >= 0
        b += found[depth + k] != own[depth + k] and own[depth + k] >= 0
    plane = plane_bound(a * positive + b * negative, beta, plain, 0.0)
    if left == 0:
        return plane, plane, True
    ceiling = 0.0
    for more in range(left + 1):
        for lost in range(known + 1):
            if partial or more == lost:
                cost = (wrong + more) * positive + (missed + lost) * negative
                ceiling = max(ceiling, plane_bound(cost, beta, most, s))
    return ceiling, plane, True
