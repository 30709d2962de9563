"""Tables of numbers made into the marginals of a chain."""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel


@kernel
def recover_chain(E, m, a):
    """a = the distribution of a chain: that of the first node, then the conditionals of each table. Any numbers will do."""
    share = np.zeros(m)
    for t in range(E):
        for i in range(m):
            at, row = (t * m + i) * m, 0.0
            for j in range(m):
                a[at + j] = a[at + j] if a[at + j] > 0.0 else 0.0
                row += a[at + j]
            if t == 0:
                share[i] = row
        total = np.sum(share)  # 1 but for rounding, after the first
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
