"""The one trick: a free function that numba resolves to the method of its first argument's class.

In Python `value(loss, z, y)` is just `loss.value(z, y)`. Inside a compiled kernel the same call is replaced by the
compiled method of the loss's class, so one kernel source serves every loss and every storage format, its parameters
stay run-time values, and `kernel.py_func` is the same algorithm in plain Python.

A loss or a data block is a NamedTuple, because numba knows those. Two traps are handled here:

* numba tells NamedTuple types apart by class *name* and field types only, so a user's own `Hinge` would silently run
  ours. `compilable` renames every class that is not Fenchel's to something unique.
* numba must not be imported by `import fenchel`; `install` registers the overloads when the first kernel is needed.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable
from typing import Any

_FUNCTIONS: dict[str, tuple[Callable, Callable | None, bool]] = {}
_HELPERS: list[Callable] = []
_TWINS: dict[type, type] = {}
_COUNT = itertools.count()


def method(arguments: str, default: Callable | None = None, inline: bool = True) -> Callable[[Callable], Callable]:
    """Make a stub into a typed free function. `default(self, ...)` is used by classes without the method.

    Long methods, beside whose work a call is nothing, are not inlined: kernels that call them compile faster.
    """

    def wrap(stub: Callable) -> Callable:
        name = stub.__name__

        def call(self, *args):
            own = getattr(type(self), name, None)
            return own(self, *args) if own is not None else default(self, *args)  # type: ignore[misc]

        call.__name__ = call.__qualname__ = name
        call.__doc__ = stub.__doc__
        call.__module__ = stub.__module__
        call.__wrapped__ = stub  # type: ignore[attr-defined]
        call.arguments = arguments  # type: ignore[attr-defined]
        _FUNCTIONS[name] = (call, default, inline)
        return call

    return wrap


def helper(function: Callable) -> Callable:
    """A plain function that kernels and compiled methods may call; it stays a plain function in Python."""
    _HELPERS.append(function)
    return function


def is_ours(cls: type) -> bool:
    return cls.__module__.split(".")[0] == "fenchel"


def is_builtin(value: Any) -> bool:
    """True if every NamedTuple class inside `value` is Fenchel's own (its kernels may be cached on disk)."""
    if isinstance(value, tuple):
        return (not hasattr(value, "_fields") or is_ours(type(value))) and all(map(is_builtin, value))
    return True


def compilable(value: Any) -> Any:
    """The same value with every foreign NamedTuple class replaced by a twin of unique name."""
    if not (isinstance(value, tuple) and hasattr(value, "_fields")):
        return value
    fields = [compilable(v) for v in value]
    cls: Any = type(value)
    if is_ours(cls) or cls in _TWINS.values():
        return cls._make(fields)
    if cls not in _TWINS:
        _TWINS[cls] = type(f"{cls.__name__}_{next(_COUNT)}", (cls,), {"__module__": cls.__module__})
    return _TWINS[cls]._make(fields)  # type: ignore[attr-defined]


def waiting() -> bool:
    """Whether there are functions that numba does not know yet."""
    return bool(_HELPERS or _FUNCTIONS)


def install() -> None:
    """Register the overloads with numba (idempotent). Called by the first import of a kernel."""
    from numba import types
    from numba.extending import overload

    while _HELPERS:
        function = _HELPERS.pop()
        overload(function, jit_options=INLINE)(_same(function))
    while _FUNCTIONS:
        name, (call, default, inline) = _FUNCTIONS.popitem()
        options = INLINE if inline else JIT
        overload(call, jit_options=options)(_overload(name, call.arguments, default, types, options))  # type: ignore[attr-defined]


def _same(function: Callable) -> Callable:
    names = ", ".join(inspect.signature(function).parameters)
    scope: dict[str, Any] = {"function": function, "__name__": __name__}
    exec(f"def resolve({names}):\n    return function", scope)
    return scope["resolve"]


JIT: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# Methods and helpers are inlined into the kernel: a call per row would cost about 45 ns, several times its work.
INLINE: dict[str, Any] = {**JIT, "forceinline": True}


def _reordering() -> frozenset:
    """What the kernel that is being compiled allows with its sums. A method is compiled once for each: numba would keep the
    first, and whether a certificate's sums are in order would depend on who had come before it."""
    from numba.core.targetconfig import ConfigStack

    flags = ConfigStack().top_or_none()
    return frozenset(flags.fastmath.flags) if flags is not None and flags.fastmath else frozenset()


def _calling(target: Callable, name: str, arguments: str, source: Callable) -> Callable:
    """A function that calls the target, and is called by what it does.

    Kernels are kept on disk with the functions they call, under names that numba makes of a function's own name, the types of
    its arguments and a number that is unique in one process only. Two methods of the same types, wrapped in functions of the
    same name, could so be taken for each other by kernels that two processes had compiled.
    """
    own = re.sub(r"\W", "_", f"{name}_of_{source.__module__}_{source.__qualname__}")
    scope: dict[str, Any] = {"target": target, "__name__": __name__}
    exec(f"def {own}({arguments}):\n    return target({arguments})", scope)
    return scope[own]


def _overload(name: str, arguments: str, default: Callable | None, types: Any, options: dict[str, Any]) -> Callable:
    from numba import njit

    compiled: dict[tuple[Callable, frozenset], Callable] = {}

    def lookup(first: Any) -> Callable | None:
        if not isinstance(first, (types.NamedTuple, types.NamedUniTuple)):
            return None
        source = getattr(first.instance_class, name, None) or default
        if source is None:
            return None
        allowed = _reordering()
        if (source, allowed) not in compiled:
            made = source if hasattr(source, "py_func") else njit(fastmath=set(allowed) or False, **options)(source)
            compiled[source, allowed] = made
        return _calling(compiled[source, allowed], name, arguments, source)

    scope: dict[str, Any] = {"lookup": lookup, "__name__": __name__}
    exec(f"def resolve({arguments}):\n    return lookup({arguments.split(',')[0]})", scope)
    return scope["resolve"]
