"""Faults at the k-th call that writing a file makes of the system: an error, a short write, or kill -9."""

from __future__ import annotations

import errno
import io
import os
import signal
from contextlib import contextmanager

from fenchel.files import atomic_write

NAMES = ("lstat", "open", "close", "chmod", "fsync", "replace", "unlink")
ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EMFILE)


class Faults:
    """Counts calls; `act(name)` happens instead of the k-th (None: nothing does)."""

    def __init__(self, k, act):
        self.k, self.act, self.count, self.happened = k, act, 0, None

    def meet(self, name):
        self.count += 1
        if self.count == self.k:
            self.happened = name
            self.act(name)

    def __getattr__(self, name):  # in the place of the module os
        real = getattr(os, name)
        if name not in NAMES:
            return real

        def call(*arguments, **options):
            self.meet(name)
            return real(*arguments, **options)

        return call

    def open_file(self, path, mode):
        """As the built-in one, but every write, flush and close of the file counts."""
        self.meet("open file")
        return io.BufferedWriter(Raw(path, mode, self), 1 << 12)


class Raw(io.FileIO):
    """A file whose writes can fail, or be short."""

    def __init__(self, path, mode, faults):
        super().__init__(path, mode.replace("b", ""))
        self.faults = faults

    def write(self, data):
        self.faults.meet("write")
        if self.faults.act is short and self.faults.happened == "write" and self.faults.count == self.faults.k:
            return super().write(memoryview(data)[: max(len(data) // 2, 1)])
        return super().write(data)

    def close(self):
        done = self.closed
        super().close()  # as with the real one, the file is closed also if that fails
        if not done:
            self.faults.meet("close file")


def failing(number):
    """Raise the error of this number."""

    def act(name):
        raise OSError(number, os.strerror(number))

    return act


def short(name):
    """A write writes half of what it was given; other calls are as ever."""


def killed(name):
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def at(k, act):
    """Within the block, the k-th call of `whole_file` meets its fate."""
    faults = Faults(k, act)
    atomic_write.os, atomic_write.open = faults, faults.open_file
    try:
        yield faults
    finally:
        atomic_write.os = os
        del atomic_write.open
