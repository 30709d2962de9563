"""Oracles, through which solvers access the data: risk and gradient, scores, Hessian-vector products, epochs of dual steps.

One class for each family of losses. May import kernels, engines, certificates (for feasible dual points) and problems, but no
solver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fenchel.problems.scalar import Problem

_ORACLES = {
    "scalar": ("scalar", "Oracle"),
    "vector": ("vector", "VectorOracle"),
    "set": ("measure", "SetOracle"),
    "structured": ("structured", "StructuredOracle"),
    "kernel": ("kernel", "KernelOracle"),
}


def oracle_of(problem: Problem, engine: Any = None) -> Any:
    """The oracle of the problem's family, whose module is imported when it is met; `engine` says where the rows are."""
    module, name = _ORACLES[problem.family]
    return getattr(import_module(f"{__name__}.{module}"), name)(problem, engine)
