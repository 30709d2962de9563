"""Static dispatch: a free function that numba resolves to the method of its first argument's class.

In Python, `value(loss, z, y)` is just `loss.value(z, y)`. Inside a compiled kernel the same call is replaced by the compiled
method of the loss's class. One kernel source thus serves every loss and every storage format, parameters stay run-time
values, and `kernel.py_func` is the same algorithm in plain Python.

Losses and data blocks are NamedTuples because numba supports those. Two pitfalls are handled here:

* numba distinguishes NamedTuple types by class *name* and field types only, so a user's own `Hinge` would silently run
  Fenchel's. `compilable` gives every class that is not Fenchel's a unique name.
* `import fenchel` must not import numba; `install` registers the functions when the first kernel is needed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

_FUNCTIONS: dict[str, tuple[Callable, Callable | None, bool]] = {}
_HELPERS: list[Callable] = []
_REGISTRATIONS: list[Callable[[], None]] = []
_TWINS: dict[type, type] = {}
_WITHOUT: dict[tuple[type, tuple[str, ...]], Any] = {}
_COUNT = itertools.count()


def method(default: Callable | None = None, inline: bool = True) -> Callable[[Callable], Callable]:
    """Decorator that turns a stub into a dispatching function; classes without the method use `default(self, ...)`.

    `inline=False` is for long methods, where a call costs little beside their work: kernels that call them compile faster.
    """

    def wrap(stub: Callable) -> Callable:
        name = stub.__name__

        def call(self: object, *args: Any) -> Any:
            own = getattr(type(self), name, None)
            return own(self, *args) if own is not None else default(self, *args)  # type: ignore[misc]

        call.__name__ = call.__qualname__ = name
        call.__doc__ = stub.__doc__
        call.__module__ = stub.__module__
        call.__wrapped__ = stub  # type: ignore[attr-defined]
        _FUNCTIONS[name] = (call, default, inline)
        return call

    return wrap


def helper(function: Callable) -> Callable:
    """Decorator for a plain function that kernels and compiled methods may call; in Python it stays a plain function."""
    _HELPERS.append(function)
    return function


def when_installed(register: Callable[[], None]) -> Callable[[], None]:
    """Decorator for a function that registers something with numba; it is called once, before the first kernel is compiled."""
    _REGISTRATIONS.append(register)
    return register


def is_ours(cls: type) -> bool:
    return cls.__module__.split(".")[0] == "fenchel"


def is_builtin(value: object) -> bool:
    """True if every NamedTuple class inside `value` is Fenchel's own, so that its kernels may be cached on disk."""
    if isinstance(value, tuple):
        return (not hasattr(value, "_fields") or is_ours(type(value))) and all(map(is_builtin, value))
    return True


def compilable(value: Any) -> Any:
    """The same value with every foreign NamedTuple class replaced by a subclass with a unique name.

    A class of Fenchel's own may return an equivalent, simpler object that compiles to faster code: `in_kernels()`. A foreign
    class may not, because the certificate must hold for the loss that the user wrote.
    """
    if not (isinstance(value, tuple) and hasattr(value, "_fields")):
        return value
    if is_ours(type(value)) and hasattr(value, "in_kernels"):
        value = value.in_kernels()
    fields = [compilable(v) for v in value]
    cls: Any = type(value)
    if is_ours(cls) or cls in _TWINS.values():
        return cls._make(fields)
    if cls not in _TWINS:
        _TWINS[cls] = type(f"{cls.__name__}_{next(_COUNT)}", (cls,), {"__module__": cls.__module__})
    return _TWINS[cls]._make(fields)  # type: ignore[attr-defined]


def without(value: Any, methods: tuple[str, ...]) -> Any:
    """The same value with these methods of every foreign class inside it hidden, so that the derived defaults are used.

    >>> from fenchel.losses import Hinge
    >>> without(Hinge(), ("conjugate",))  # a class of Fenchel's own keeps them
    Hinge(margin=1.0)
    """
    if is_builtin(value) or not hasattr(value, "_fields"):
        return value
    cls: Any = type(value)
    hidden = () if is_ours(cls) else tuple(name for name in methods if getattr(cls, name, None) is not None)
    if hidden:
        if (cls, hidden) not in _WITHOUT:
            parts = {"__module__": cls.__module__, **dict.fromkeys(hidden)}
            _WITHOUT[cls, hidden] = type(f"{cls.__name__}_{next(_COUNT)}", (cls,), parts)
        cls = _WITHOUT[cls, hidden]
    return cls._make(without(v, methods) for v in value)


def waiting() -> bool:
    """Whether there are functions that are not registered with numba yet."""
    return bool(_HELPERS or _FUNCTIONS or _REGISTRATIONS)


def install() -> None:
    """Register the functions with numba (idempotent). Called at the first use of a kernel."""
    from numba.core.typing.templates import infer_global

    while _REGISTRATIONS:
        _REGISTRATIONS.pop()()
    while _HELPERS:
        function = _HELPERS.pop()
        infer_global(function, _callable(function, lambda first, function=function: function, INLINE))
    while _FUNCTIONS:
        name, (call, default, inline) = _FUNCTIONS.popitem()
        infer_global(call, _callable(call, _finder(name, default), INLINE if inline else CALLED))


JIT: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# Functions that are called by compiled code only need no Python wrapper.
CALLED: dict[str, Any] = {**JIT, "no_cpython_wrapper": True}
# Methods and helpers are inlined into the kernel: a call per row would cost about 45 ns, several times its work.
INLINE: dict[str, Any] = {**CALLED, "forceinline": True}


def _reordering() -> frozenset:
    """The fastmath flags of the kernel that is being compiled."""
    from numba.core.targetconfig import ConfigStack

    flags = ConfigStack().top_or_none()
    return frozenset(flags.fastmath.flags) if flags is not None and flags.fastmath else frozenset()


def _finder(name: str, default: Callable | None) -> Callable[[Any], Callable | None]:
    """A function that finds the method of that name by the numba type of the first argument."""
    from numba import types

    def find(first: object) -> Callable | None:
        if not isinstance(first, (types.NamedTuple, types.NamedUniTuple)):
            return None
        return getattr(first.instance_class, name, None) or default

    return find


@cache
def _callable_type() -> type:
    """The class of numba types of functions that dispatch on their first argument.

    numba's own `overload` would compile a wrapper around every method, and all of them again for every set of options of their
    callers. Here a method is compiled once for each set of fastmath flags of its callers, and the right version is looked up
    again when the call is lowered. numba would reuse a single version, so that the order of additions in a certificate would
    depend on which kernel was compiled first.
    """
    from numba import njit
    from numba.core import types
    from numba.core.datamodel import models, register_default
    from numba.types import unliteral

    from fenchel.compile.pipeline import MethodCompiler

    class Found(types.Callable, types.Dummy):
        def __init__(self, function: Callable, find: Callable[[Any], Callable | None], options: dict[str, Any]):
            self.function, self.find, self.options = function, find, options
            self.compiled: dict[tuple[Callable, frozenset], Any] = {}
            super().__init__(f"found({function.__module__}.{function.__qualname__})")

        @property
        def key(self) -> Callable:
            """numba compares types by their key: two functions of the same name are different types."""
            return self.function

        def dispatcher(self, first: object) -> Any:
            source = self.find(first)
            if source is None or hasattr(source, "py_func"):  # a user's own compiled function
                return source
            key = source, _reordering()
            if key not in self.compiled:
                fast = set(key[1]) or False
                self.compiled[key] = njit(fastmath=fast, pipeline_class=MethodCompiler, **self.options)(source)
            return self.compiled[key]

        def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
            found = self.dispatcher(args[0]) if args else None
            general = tuple(map(unliteral, args))  # one version, not one for every constant
            return None if found is None else types.Dispatcher(found).get_call_type(context, general, kws)

        def get_call_signatures(self) -> tuple[list, bool]:
            return [], True

        def get_impl_key(self, sig: Any) -> Any:
            return types.Dispatcher(self.dispatcher(sig.args[0])).get_impl_key(sig)

    register_default(Found)(models.OpaqueModel)
    return Found


def _callable(function: Callable, find: Callable, options: dict[str, Any]) -> Any:
    return _callable_type()(function, find, options)
