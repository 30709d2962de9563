"""The independent checker as the judge of results: called for every result of the grids that are compared with CVXPY."""

from __future__ import annotations

import fenchel


def judge(result):
    """Assert that plain Python finds the same P and D as the compiled certificate, up to rounding."""
    ours = result.certificate
    theirs = fenchel.check_proof(result.problem, result.coef, result.intercept, result.dual_point)
    slack = ours.floor + theirs.floor + 1e-13 * (1.0 + abs(ours.primal))
    assert abs(theirs.primal - ours.primal) <= slack, (result, theirs)
    assert abs(theirs.dual - ours.dual) <= slack, (result, theirs)
