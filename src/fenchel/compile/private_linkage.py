"""The compiled code of a kernel calls its own copies of what it calls.

numba links other functions into a kernel under names that all kernels share, and the loader takes whichever copy of a name came
first. In the process that compiles, that is the one that the function was given by itself; in a process that reads the kernel
from disk it is the kernel's, which was optimised once more. The two may round differently, and then a solve would have other
last bits the first time that it is run on a machine, and on a cluster on every worker that had to compile.
"""

from __future__ import annotations

from llvmlite.binding import Linkage
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class OwnCopies(JITCodeLibrary):
    """What other libraries bring is private to this one, so that no name in it can mean anything else."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
        super()._optimize_final_module()


class KernelCompiler(Compiler):
    """numba's own, into such a library."""

    def _compile_core(self) -> object:
        library = OwnCopies(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        library.enable_object_caching()
        self.state.library = library
        return super()._compile_core()
