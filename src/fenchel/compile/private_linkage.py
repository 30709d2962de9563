"""Private linkage: the compiled code of a kernel calls its own copies of other functions.

numba links other functions into a kernel under names that all kernels share, and the loader uses the first copy of a name that
it meets. In the process that compiles, that is the function's own code; in a process that reads the kernel from disk it is the
kernel's copy, which was optimised once more. The two may round differently. The last bits of a solve would then differ the
first time that it is run on a machine, and on every worker of a cluster that had to compile.
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import Linkage
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from fenchel.compile.target import for_baseline


class OwnCopies(JITCodeLibrary):
    """A library in which functions from other libraries are internal, so that their names cannot refer to anything else."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
        super()._optimize_final_module()


class BaselineCompiler(Compiler):
    """numba's compiler, for the processor of `target`: methods and helpers, which are linked into kernels."""

    def __init__(self, typing_context: Any, target_context: Any, *rest: Any):
        target_context.refresh()
        super().__init__(typing_context, for_baseline(target_context), *rest)


class KernelCompiler(BaselineCompiler):
    """The same with `OwnCopies` as its library."""

    def _compile_core(self) -> Any:
        codegen = self.state.targetctx.codegen()
        library = OwnCopies(codegen, self.state.func_id.func_qualname)
        library.enable_object_caching()
        self.state.library = library
        compiled = super()._compile_core()
        # Functions that numba compiled with another code generator have told it, and not this one, of their environments.
        for environment in compiled._find_referenced_environments():
            codegen.set_env(environment.env_name, environment)
        return compiled
