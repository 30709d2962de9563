"""Convert tables of numbers to exact marginals of a chain."""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel


@kernel
def recover_chain(E, m, a):
    """a = the marginals of a chain, from those of the first node and the conditionals of each table, whatever a holds."""
    share = np.zeros(m)
    for t in range(E):
        for i in range(m):
            at, row = (t * m + i) * m, 0.0
            for j in range(m):
                a[at + j] = a[at + j] if a[at + j] > 0.0 else 0.0
                row += a[at + j]
            if t == 0:
                share[i] = row
        total = np.sum(share)  # 1 up to rounding errors, except for the first node
        after = np.zeros(m)
        for i in range(m):
            at, row = (t * m + i) * m, 0.0
            p = share[i] / total if total > 0.0 else 1.0 / m
            for j in range(m):
                row += a[at + j]
            for j in range(m):
                a[at + j] = p * (a[at + j] / row if row > 0.0 else 1.0 / m)
                after[j] += a[at + j]
        share = after
