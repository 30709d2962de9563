"""`poll()`: the limit of time and Ctrl-C, checked inside a compiled loop.

A kernel is checked before and after every call, which is enough where a call takes milliseconds. A search whose length is not
known beforehand, such as branch and bound, calls `poll` now and then: it takes the GIL for about a microsecond, lets Python
handle the signals that have arrived, and calls `deadline.check`. What that raises ends the kernel. numba does not free the
arrays of a kernel that ends so, some kilobytes once per solve.
"""

from __future__ import annotations

from typing import Any

from fenchel import deadline
from fenchel.compile.dispatch import JIT, when_installed


def poll() -> None:
    """Raise OutOfTime if this thread has a limit that has passed, or KeyboardInterrupt after Ctrl-C, also in kernels."""
    deadline.check()


@when_installed
def _register() -> None:
    """Tell numba what a call of `poll` compiles to."""
    from numba.core import types
    from numba.extending import intrinsic, overload

    @intrinsic
    def checked(context: Any) -> Any:
        return types.void(), _call_check

    @overload(poll, jit_options=JIT)
    def compiled() -> Any:
        return lambda: checked()


def _call_check(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """fenchel.deadline.check() through the interface of Python, looked up by name, so that the code can be cached on disk."""
    from numba.core import cgutils

    python = context.get_python_api(builder)
    gil = python.gil_ensure()
    module = python.import_module(context.insert_const_string(builder.module, deadline.__name__))
    failed = cgutils.alloca_once_value(builder, cgutils.true_bit)
    with builder.if_then(cgutils.is_not_null(builder, module)):
        result = python.call_method(module, deadline.check.__name__)
        python.decref(module)
        with builder.if_then(cgutils.is_not_null(builder, result)):
            python.decref(result)
            builder.store(cgutils.false_bit, failed)
    python.gil_release(gil)
    with builder.if_then(builder.load(failed), likely=False):
        context.call_conv.return_exc(builder)
    return context.get_dummy_value()
