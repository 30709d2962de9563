"""BLAS on one thread: the cores are used for blocks of rows, and results do not depend on how BLAS divides its work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  SciPy may load its own BLAS, which must be loaded to be found

    return ThreadpoolController()


class _Limit:
    """The limit, which holds for the whole process: set by the first who asks for it, lifted by the last."""

    def __init__(self) -> None:
        self.lock, self.users = threading.Lock(), 0
        self.set: Any = None

    def enter(self) -> None:
        with self.lock:
            if self.users == 0:
                self.set = _controller().limit(limits=1, user_api="blas")
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.set.restore_original_limits()


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within the `with` block, BLAS has one thread: small matrices gain nothing from more, and blocks of rows use the cores.

    Blocks may be nested, and overlap in several threads: the limit ends with the last of them.
    """
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
