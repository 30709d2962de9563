"""What solvers may ask of the data: risks, gradients, Hessian products, dual epochs, most violated constraints."""

from importlib import import_module
from typing import Any

_ORACLES = {
    "scalar": ("scalar", "Oracle"),
    "vector": ("vector", "VectorOracle"),
    "set": ("measure", "SetOracle"),
    "structured": ("structured", "StructuredOracle"),
    "kernel": ("kernel", "KernelOracle"),
}


def oracle_of(problem: Any, engine: Any = None) -> Any:
    """The oracle of the problem's family, whose module is imported when it is met; `engine` says where the rows are."""
    module, name = _ORACLES[problem.family]
    return getattr(import_module(f"{__name__}.{module}"), name)(problem, engine)
