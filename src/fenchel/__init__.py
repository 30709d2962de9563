"""Fenchel: regularized risk minimization in which every answer carries a duality-gap certificate."""

from fenchel import errors, losses, regularizers
from fenchel.certify import certify
from fenchel.problem import Problem
from fenchel.result import Certificate, Result, Status
from fenchel.solve import solve

__version__ = "0.1.0"
__all__ = ["Certificate", "Problem", "Result", "Status", "certify", "errors", "losses", "regularizers", "solve"]
