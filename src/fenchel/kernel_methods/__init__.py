"""Kernel machines: the losses of one score in the feature space of a kernel, solved in the dual.

May import solvers and `solving`, whose loop it uses.
"""

from fenchel.kernel_methods.gp_sequences import SequenceProcess
from fenchel.kernel_methods.problem import KernelProblem
from fenchel.kernel_methods.solve import certify_kernel, solve_kernel

__all__ = ["KernelProblem", "SequenceProcess", "certify_kernel", "solve_kernel"]
