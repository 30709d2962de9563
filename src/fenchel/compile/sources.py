"""The source files that can end up in a compiled kernel: its module, the modules of its arguments' classes, and everything
that these import, directly or through others.

Imports are read from the source text, including those inside functions. `from package import name` counts as all files of the
package unless `name` is a module of it, because a package may look names up lazily. A file too many costs a compilation; a
file too few would run old code.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
IMPORT = re.compile(r"^[ \t]*from (fenchel[\w.]*) import (\([^)]*\)|[^\n(]*)", re.MULTILINE)
TYPES_ONLY = re.compile(
    r"^if TYPE_CHECKING:\n(?:(?:[ \t]+[^\n]*)?\n)+", re.MULTILINE
)  # imports that are never executed


def digest(modules: Iterable[str]) -> str:
    """A digest of all sources that code in these modules can call."""
    total = hashlib.sha256()
    for module in sorted(set().union(*(reachable(m) for m in modules))):
        total.update(f"{module}\0{_read(module)[0]}\0".encode())
    return total.hexdigest()


@cache
def reachable(module: str) -> frozenset[str]:
    """The module and every module of the package that it imports, directly or through others."""
    seen: set[str] = set()
    todo = [module]
    while todo:
        here = todo.pop()
        if here not in seen:
            seen.add(here)
            todo += _read(here)[1]
    return frozenset(seen)


@cache
def _read(module: str) -> tuple[str, list[str]]:
    """(digest of the file, modules that it imports); empty for a module without a file."""
    file = _file(module)
    if file is None:
        return "", []
    text = file.read_bytes()
    found: list[str] = []
    for source, names in IMPORT.findall(TYPES_ONLY.sub("", text.decode())):
        found += _imported(source, re.findall(r"(\w+)(?:\s+as\s+\w+)?", names))
    return hashlib.sha256(text).hexdigest(), found


def _imported(source: str, names: list[str]) -> list[str]:
    """The modules meant by `from source import names`."""
    place = ROOT.joinpath(*source.split(".")[1:])
    if not place.is_dir():
        return [source]
    inner = [f"{source}.{name}" for name in names]
    if source == "fenchel" or all(map(_file, inner)):
        return [name for name in inner if _file(name)]
    return [source, *(f"{source}.{file.stem}" for file in place.glob("*.py") if file.stem != "__init__")]


def _file(module: str) -> Path | None:
    place = ROOT.joinpath(*module.split(".")[1:])
    for file in (place / "__init__.py", place.with_suffix(".py")):
        if file.is_file():
            return file
    return None
