"""Private linkage: the compiled code of a kernel calls its own copies of other functions.

numba links other functions into a kernel under names that all kernels share, and the loader uses the first copy of a name that
it meets. In the process that compiles, that is the function's own code; in a process that reads the kernel from disk it is the
kernel's copy, which was optimised once more. The two may round differently. The last bits of a solve would then differ the
first time that it is run on a machine, and on every worker of a cluster that had to compile.
"""

from __future__ import annotations

from llvmlite.binding import Linkage
from numba.core.codegen import JITCodeLibrary


class OwnCopies(JITCodeLibrary):
    """A library in which functions from other libraries are internal, so that their names cannot refer to anything else."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
        super()._optimize_final_module()
