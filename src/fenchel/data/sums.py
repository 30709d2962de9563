"""Compensated summation, which does not lose small terms beside large ones."""

from __future__ import annotations

from fenchel.compile.dispatch import helper


@helper
def add(total, correction, term):
    """(total + term, correction + the rounding error): the sum is total + correction (Neumaier). Not valid under fastmath.

    >>> total, correction = 0.0, 0.0
    >>> for term in (1.0, 1e100, 1.0, -1e100):
    ...     total, correction = add(total, correction, term)
    >>> total + correction
    2.0
    """
    new = total + term
    lost = (total - new) + term if abs(total) >= abs(term) else (term - new) + total
    return new, correction + lost
