"""The same losses with a kernel: problem, certificate and dual solver in the space that the kernel spans."""

from fenchel.kernel_methods.gp_sequences import SequenceProcess
from fenchel.kernel_methods.problem import KernelProblem
from fenchel.kernel_methods.solve import certify_kernel, solve_kernel

__all__ = ["KernelProblem", "SequenceProcess", "certify_kernel", "solve_kernel"]
