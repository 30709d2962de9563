"""numba's compiler as it is used here: for the processor of `target`, and without work that nobody needs.

Methods and helpers are only linked into kernels, so they are optimised there alone and get no machine code of their own.
"""

from __future__ import annotations

from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags

from fenchel.compile.private_linkage import OwnCopies
from fenchel.compile.target import for_baseline


class LinkedOnly(JITCodeLibrary):
    """The library of a function that only kernels call: neither optimised nor compiled by itself."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class QuickFlags(Flags):
    """Options of the compiler that are compared quickly.

    numba looks up every function called in a kernel by types and options. Its comparison of two sets of options lists all of
    them with their defaults, which took a fifth of the time of a compilation, and half for some kernels.
    """

    __slots__ = ()
    HASH = hash(Flags())  # of the names of the options, in all sets

    def __hash__(self) -> int:
        return self.HASH

    def __eq__(self, other: object) -> bool:
        return self._values == other._values if isinstance(other, QuickFlags) else super().__eq__(other)


class BaselineCompiler(Compiler):
    """numba's compiler, for the processor of `target`, with another library class."""

    library_class: type[JITCodeLibrary] = JITCodeLibrary

    def __init__(self, typing_context: Any, target_context: Any, *rest: Any):
        target_context.refresh()
        super().__init__(typing_context, for_baseline(target_context), *rest)
        self.state.flags = QuickFlags(self.state.flags)

    def _compile_core(self) -> Any:
        library = self.library_class(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        library.enable_object_caching()
        self.state.library = library
        return super()._compile_core()


class MethodCompiler(BaselineCompiler):
    """The compiler of methods and helpers, which are linked into kernels."""

    library_class = LinkedOnly

    def __init__(self, *rest: Any):
        super().__init__(*rest)
        self.state.targetctx = self.state.targetctx.subtarget(get_executable=_handle)


class KernelCompiler(BaselineCompiler):
    """The compiler of kernels."""

    library_class = OwnCopies

    def _compile_core(self) -> Any:
        codegen = self.state.targetctx.codegen()
        compiled = super()._compile_core()
        # Functions that numba compiled with another code generator have told it, and not this one, of their environments.
        for environment in compiled._find_referenced_environments():
            codegen.set_env(environment.env_name, environment)
        return compiled


def _handle(library: Any, function: Any, environment: Any) -> Any:
    """The object by which numba knows a compiled function; Python cannot call it, since there is no address."""
    name = function.qualname.rpartition(".")[2]
    return _dynfunc.make_function(function.lookup_module(), name, "", 0, environment, (library,))
