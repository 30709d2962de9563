"""Kernels that come with the package: entries of the cache that were compiled when the wheel was built.

They lie beside this file, in a folder named by the versions that they were compiled with, under the names that they have in a
cache folder: a digest of the sources, the types and the processor compiled for (`compile/target.py`), so that none of another
version, of edited sources or for another processor is ever found. Reading one runs code, as importing a module of the package
does, and whoever may write one could replace a module as well: an entry is read only if folder and file belong to the owner
of this file, and only users who may write this file may write them.
"""

from __future__ import annotations

import os
import stat
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent


def is_like(info: os.stat_result, own: Path) -> bool:
    """Whether a file has the owner of `own`, and nobody may write it who may not write `own`."""
    if not hasattr(os, "getuid"):  # on Windows, files have the access control list of the folder of the package
        return True
    ours = os.stat(own)
    return info.st_uid == ours.st_uid and not info.st_mode & ~ours.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def is_like_the_code(info: os.stat_result) -> bool:
    """The rule for an entry: as this module."""
    return is_like(info, Path(__file__))


@cache
def prebuilt_folder(stamp: str) -> Path | None:
    """The folder of the kernels that were compiled with these versions, if there is one and it is like the package's own."""
    folder = HERE / "prebuilt" / f"kernels-{stamp}"
    for place in (folder.parent, folder):
        try:
            info = os.lstat(place)
        except OSError:
            return None
        if not stat.S_ISDIR(info.st_mode) or not is_like(info, HERE):
            return None
    return folder
