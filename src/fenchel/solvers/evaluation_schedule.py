"""The schedule on which solvers that step row by row evaluate P and D."""

from __future__ import annotations

from collections.abc import Iterator


def checks() -> Iterator[bool]:
    """For each epoch, whether P and D are evaluated after it: at growing intervals, so that evaluations stay inexpensive.

    >>> from itertools import islice
    >>> [int(due) for due in islice(checks(), 9)]
    [1, 0, 1, 0, 1, 0, 1, 0, 1]
    """
    epoch, due = 0, 1
    while True:
        epoch += 1
        yield epoch >= due
        if epoch >= due:
            due = epoch + max(2, epoch // 6)
