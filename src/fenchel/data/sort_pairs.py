"""Sort one sparse row by index inside a kernel, in place."""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper

ONE, THREE = np.uint64(1), np.uint64(3)


@helper
def sort_pairs(indices, bits, first, last):
    """Shell sort of indices[first:last], with `bits` permuted alike; returns whether all indices are distinct.

    With the gaps 1, 4, 13, ... even a long row in reverse order takes far less than quadratic time.
    """
    gap = ONE
    while gap < last - first:  # gap triples
        gap = gap * THREE + ONE
    while gap >= ONE:  # gap falls to a third, rounded down
        for i in range(first + gap, last):
            index, word, j = indices[i], bits[i], np.uint64(i)
            while j >= first + gap and indices[j - gap] > index:  # j falls
                indices[j], bits[j] = indices[j - gap], bits[j - gap]
                j -= gap
            indices[j], bits[j] = index, word
        gap //= THREE
    distinct = True
    for i in range(first + ONE, last):
        if indices[i] == indices[i - ONE]:
            distinct = False
    return distinct
