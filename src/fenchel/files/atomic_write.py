"""Write files atomically: at every moment either the complete old file or the complete new one exists."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from fenchel.errors import InputError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A temporary file that replaces `path` if the `with` block succeeds, and is deleted if it raises.

    The temporary file is in the same folder. It is flushed to disk and then renamed to `path`; the folder is flushed as well.
    A file that is replaced keeps its permissions. A symbolic link at `path` is replaced itself, not its target, so that a
    planted link cannot redirect the data. A device, pipe or folder at `path` is refused.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "note"
    >>> with replacing(path) as file:
    ...     _ = file.write(b"all of it")
    >>> path.read_bytes()
    b'all of it'
    """
    name = os.fsdecode(path)
    mode = _replaceable(name)
    folder, base = os.path.split(name)
    # Truncated, so that the temporary name is valid even if `path` has the longest name that the file system allows.
    temporary = os.path.join(folder, f".{base[:40]}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            if mode is not None:
                os.chmod(temporary, mode)
            yield file
            file.flush()
            force_to_disk(file.fileno())
        os.replace(temporary, name)
    except BaseException:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        raise
    _force_folder(folder or ".")


def force_to_disk(descriptor: int) -> None:
    """Flush a file, through the cache of the disk too: on macOS fsync leaves the data there, and a loss of power loses them."""
    if sys.platform == "darwin":
        import fcntl

        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
        except OSError:  # network and other foreign file systems do not know the request
            pass
    os.fsync(descriptor)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise InputError or OSError if `replacing(path)` would fail, to find out before hours of work.

    >>> check_writable("no/such/folder/file")
    Traceback (most recent call last):
    ...
    fenchel.errors.InputError: path: the folder 'no/such/folder' of 'no/such/folder/file' does not exist; create it first
    """
    name = os.fsdecode(path)
    _replaceable(name)
    folder = os.path.dirname(name) or "."
    if not os.path.isdir(folder):
        raise InputError(f"path: the folder {folder!r} of {name!r} does not exist; create it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"path: no file can be written in the folder {folder!r}; choose another folder")


def _replaceable(name: str) -> int | None:
    """The permissions of an existing file, None if there is none; InputError if it is not a plain file."""
    try:
        found = os.lstat(name)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(found.st_mode):
        return stat.S_IMODE(found.st_mode)
    if stat.S_ISLNK(found.st_mode):
        return None
    raise InputError(
        f"path: {name!r} is a folder, device or pipe, and only a plain file can be replaced; choose another path"
    )


def _force_folder(folder: str) -> None:
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            force_to_disk(descriptor)
        finally:
            os.close(descriptor)
