"""The on-disk cache of compiled kernels, and why its entries can be trusted.

numba's own cache checks only the file of the kernel: after an edit of a loss it would still run the old code. Here the key of
an entry contains a digest of every source file that can be compiled into it (`compile/sources.py`), so any edit is a cache
miss. An entry is read only if folder and file belong to the user and nobody else may write to them, and only after its sha256
has been verified; otherwise the kernel is compiled again, with one warning. Kernels specialised to a user's own class are not
cached, because a change of that class could not be detected.

The folder is $FENCHEL_CACHE_DIR, else the user's cache folder: $XDG_CACHE_HOME/fenchel or ~/.cache/fenchel, and what macOS and
Windows have in place of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import shutil
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import compiler, config, serialize
from numba.core.caching import _Cache
from numba.core.types import BaseTuple, Dispatcher, NamedTuple, NamedUniTuple  # type: ignore[attr-defined]
from platformdirs import user_cache_path

from fenchel.compile.clock import CLOCK
from fenchel.compile.dispatch import is_ours
from fenchel.compile.prebuilt import is_like_the_code, prebuilt_folder
from fenchel.compile.sources import digest
from fenchel.compile.target import for_baseline

MAGIC = b"FENCHEL-KERNEL-1"
MAX_OTHER_FOLDERS = 3  # the most recent cache folders of other compiler versions are kept
MAX_UNUSED_SECONDS = 60 * 86400.0  # entries that have not been read for so long are removed


@cache
def tools_stamp() -> str:
    """A digest of the compiler versions, and of the settings of numba that change the code that it makes."""
    versions = (numba.__version__, llvmlite.__version__, sys.version_info[:2], sys.platform)
    settings = (str(config.OPT), config.LOOP_VECTORIZE, config.SLP_VECTORIZE, config.USING_SVML, config.BOUNDSCHECK)
    return hashlib.sha256(repr((versions, settings)).encode()).hexdigest()[:24]


def cache_root() -> Path | None:
    named = os.environ.get("FENCHEL_CACHE_DIR")
    if named:
        return Path(named)
    home = Path(os.path.expanduser("~"))
    if not os.environ.get("XDG_CACHE_HOME") and not (home.is_absolute() and home.is_dir()):
        return None
    return user_cache_path("fenchel", appauthor=False)


def is_private(info: os.stat_result) -> bool:
    """Whether the file is owned by this user and writable by nobody else."""
    if not hasattr(os, "getuid"):  # on Windows, the access control list of the profile folder protects it
        return True
    return info.st_uid == os.getuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache
def cache_folder() -> Path | None:
    """The cache folder of these compiler versions, created if necessary; None, with one warning, if it cannot be trusted."""
    root = cache_root()
    if root is None:
        return _refuse("there is no home directory")
    folder = root / f"kernels-{tools_stamp()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for place in (root, folder):
            info = os.lstat(place)
            if not stat.S_ISDIR(info.st_mode):
                return _refuse(f"{place} is a link or not a directory")
            if not is_private(info):
                return _refuse(f"{place} is owned or writable by someone else")
        _prune(root, folder)
    except OSError as error:
        return _refuse(str(error))
    return folder


def _refuse(why: str) -> Path | None:
    warnings.warn(f"compiled kernels are not cached on disk: {why}. Set FENCHEL_CACHE_DIR.", stacklevel=2)
    return None


def _prune(root: Path, current: Path) -> None:
    """Remove old folders of other compiler versions, and entries that have not been read for a long time."""
    others = [p for p in root.glob("kernels-*") if p != current and not p.is_symlink()]
    for old in sorted(others, key=lambda p: p.stat().st_mtime, reverse=True)[MAX_OTHER_FOLDERS:]:
        shutil.rmtree(old, ignore_errors=True)
    with os.scandir(current) as entries:
        for entry in entries:
            if time.time() - entry.stat(follow_symlinks=False).st_mtime > MAX_UNUSED_SECONDS:
                os.unlink(entry)


class DiskCache(_Cache):
    """numba's cache interface for one kernel."""

    def __init__(self, py_func: Callable):
        self._module = py_func.__module__
        self._name = f"{py_func.__module__}.{py_func.__qualname__}"
        self._ours = py_func.__module__.split(".")[0] == "fenchel"
        self._enabled = True
        self._warned = False
        self.missed = 0  # cache misses: signatures that had to be compiled

    @property
    def cache_path(self) -> str:
        return str(cache_folder())

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        self.disable()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        entry = self._entry(sig, target_context)
        payload = None if entry is None else self._find(entry)
        if payload is None:
            self.missed += 1
            CLOCK.announce(self._name)
            return None
        return compiler.CompileResult._rebuild(for_baseline(target_context), *pickle.loads(payload))

    def _find(self, entry: str) -> bytes | None:
        """The content of an entry that comes with the package, else of one in the cache folder."""
        shipped = prebuilt_folder(tools_stamp())
        if shipped is not None and (shipped / entry).exists():
            payload = self._read(shipped / entry, is_like_the_code)
            if payload is not None:
                return payload
        folder = cache_folder()
        path = None if folder is None else folder / entry
        return None if path is None or not path.exists() else self._read(path, is_private)

    def save_overload(self, sig: Any, data: Any) -> None:
        entry, folder = self._entry(sig, data.target_context), cache_folder()
        if entry is None or folder is None:
            return
        path = folder / entry
        payload = serialize.dumps(data._reduce())
        content = MAGIC + hashlib.sha256(payload).digest() + payload
        try:
            handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
            try:
                with os.fdopen(handle, "wb") as out:
                    out.write(content)
                os.replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError as error:
            self._warn(f"cannot be cached in {path.parent}: {error}")

    def _entry(self, sig: Any, target_context: Any) -> str | None:
        """The name of the file of a compiled signature; None if it is not to be stored."""
        if not (self._enabled and self._ours and all(map(_cacheable, sig))):
            return None
        sources = digest([self._module, *_modules(sig)])
        key = repr((self._name, sources, [str(t) for t in sig], for_baseline(target_context).codegen().magic_tuple()))
        return f"{self._name.rsplit('.', 1)[-1]}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.nbk"

    def _read(self, path: Path, is_trusted: Callable[[os.stat_result], bool]) -> bytes | None:
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
            with os.fdopen(handle, "rb") as source:
                if not is_trusted(os.fstat(source.fileno())):
                    return self._warn(f"in {path} is owned or writable by someone else")
                content = source.read()
                _touch(source.fileno())
        except OSError as error:
            return self._warn(f"cannot be read from {path}: {error}")
        body = content[len(MAGIC) + 32 :]
        if content[: len(MAGIC) + 32] != MAGIC + hashlib.sha256(body).digest():
            return self._warn(f"in {path} is damaged")
        return body

    def _warn(self, what: str) -> bytes | None:
        if not self._warned:
            self._warned = True
            warnings.warn(f"the compiled form of {self._name} {what}; it is compiled again", stacklevel=2)
        return None


def _cacheable(numba_type: Any) -> bool:
    """False if the type contains a class that is not part of Fenchel."""
    if isinstance(numba_type, (NamedTuple, NamedUniTuple)) and not is_ours(numba_type.instance_class):
        return False
    return all(map(_cacheable, numba_type)) if isinstance(numba_type, BaseTuple) else True


def _modules(types: Any) -> Iterator[str]:
    """The modules of the classes and functions among the types."""
    for numba_type in types:
        if isinstance(numba_type, (NamedTuple, NamedUniTuple)):
            yield numba_type.instance_class.__module__
        if isinstance(numba_type, Dispatcher):
            yield numba_type.dispatcher.py_func.__module__
        if isinstance(numba_type, BaseTuple):
            yield from _modules(numba_type)


def _touch(handle: int) -> None:
    """Mark an entry as recently used, so that it is not removed; in a read-only folder this does nothing."""
    if os.utime in os.supports_fd:  # not on Windows
        with contextlib.suppress(OSError):
            os.utime(handle)
