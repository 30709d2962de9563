"""Compiled kernels: `@kernel` on a plain Python function, compiled by numba at its first call and cached on disk.

`kernel.py_func` is the same source in pure Python. A kernel is single-threaded and releases the GIL; the engine runs the
threads. numba is imported at the first call of a kernel, not by `import fenchel`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from typing import Any

from fenchel import deadline
from fenchel.compile import dispatch
from fenchel.compile.clock import CLOCK

# Not `True`, which would let the compiler drop tests for NaN and infinity: bounds of dual domains are infinite.
FAST = {"contract", "reassoc", "nsz", "arcp"}
_LOCK = threading.RLock()


class _Here(threading.local):
    """Whether kernels that the current thread calls run as plain Python."""

    interpreted = False


_HERE = _Here()


@contextmanager
def interpreted() -> Iterator[None]:
    """Kernels that this thread calls inside run as plain Python: nothing is compiled, and no cache is read.

    >>> add = kernel(lambda a, b: a + b)
    >>> with interpreted():
    ...     add("no", " types")
    'no types'
    """
    before = _HERE.interpreted
    _HERE.interpreted = True
    try:
        yield
    finally:
        _HERE.interpreted = before


class Kernel:
    """A function that is compiled when first called, or when first used inside another kernel."""

    def __init__(self, py_func: Callable, fastmath: bool):
        self.py_func = py_func
        self.fastmath = fastmath
        self.__name__ = py_func.__name__
        self.__doc__ = py_func.__doc__
        self.__wrapped__ = py_func

    @cached_property
    def dispatcher(self) -> Any:
        with _LOCK, CLOCK:
            from numba import njit

            from fenchel.compile.disk_cache import DiskCache
            from fenchel.compile.pipeline import KernelCompiler

            dispatch.install()
            fast = set(FAST) if self.fastmath else False
            compiled = njit(fastmath=fast, pipeline_class=KernelCompiler, **dispatch.JIT)(self.py_func)
            compiled._cache = DiskCache(self.py_func)
            compiled.compile = _timed(compiled)
            return compiled

    @property
    def _numba_type_(self) -> Any:
        # numba reads this attribute when a kernel is called inside another one.
        from numba import types

        return types.Dispatcher(self.dispatcher)

    def __call__(self, *args: Any) -> Any:
        if _HERE.interpreted:
            return self.py_func(*args)
        if dispatch.waiting():  # a module imported since then may define the methods of these arguments
            with _LOCK, CLOCK:
                dispatch.install()
        limit = deadline.current()
        if limit is None:
            return self.dispatcher(*args)
        limit.check()
        result = self.dispatcher(*args)
        limit.check()
        return result

    def in_steps(self, *args: Any) -> Any:
        """The same, run by Python: only the kernels that it calls are compiled, so it can be interrupted between them."""
        return self.py_func(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name, like a function; a kernel that cannot be found by its name is pickled with its function."""
        module, name = self.py_func.__module__, self.__name__
        if getattr(sys.modules.get(module), name, None) is self:
            return _named, (module, name)
        return Kernel, (self.py_func, self.fastmath)

    def __repr__(self) -> str:
        return f"<kernel {self.py_func.__module__}.{self.__name__}>"


def _timed(dispatcher: Any) -> Callable[[Any], Any]:
    """The dispatcher's `compile`, which numba calls for every new signature, with its time counted by CLOCK.

    A kernel that calls another one with a constant does not get a version of its own for it.
    """
    from numba.types import unliteral

    whole, cache = dispatcher.compile, dispatcher._cache

    def compile(signature: Any) -> Any:
        with CLOCK:
            before = cache.missed
            found = whole(tuple(map(unliteral, signature)))
        if cache.missed > before:
            CLOCK.count()
        return found

    return compile


def _named(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def kernel(function: Callable | None = None, *, fastmath: bool = False) -> Any:
    """Decorator: `@kernel`, or `@kernel(fastmath=True)` where sums may be reordered and contracted.

    >>> from fenchel.compile.kernel import kernel
    >>> @kernel
    ... def add(a, b):
    ...     return a + b
    >>> add(1.0, 2.0), add.py_func(1.0, 2.0)
    (3.0, 3.0)
    """
    if function is None:
        return lambda f: Kernel(f, fastmath)
    return Kernel(function, fastmath)
