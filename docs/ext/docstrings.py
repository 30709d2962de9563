"""Docstrings hold formulas in plain text: what reStructuredText would take for markup is written literally."""

from __future__ import annotations

import re
from typing import Any

MARKUP = re.compile(r"(`+[^`]+`+|^\s*\* )|([*|\\])|(?<=\w)(_)(?!\w)")  # a star before a blank begins a list


SECTIONS = ("Parameters", "Attributes")
ENTRY = re.compile(r"(\w[\w, *]*) : (.+)")
TYPE = re.compile(r"float|int|str|bool|Certificate|Status|(ndarray|tuple) of [^.;]*")


def literal(line: str) -> str:
    """The line with stars, bars and trailing underscores escaped, except between backticks and before an item of a list.

    >>> literal("R*(v) of coef_, |w| and `a*b`")
    'R\\\\*(v) of coef\\\\_, \\\\|w\\\\| and `a*b`'
    """
    return MARKUP.sub(lambda found: found[1] or "\\" + (found[2] or found[3]), line)


def described(lines: list[str]) -> list[str]:
    """Where a section has "name : what it is" instead of a type, the text goes below the name, as numpydoc has it.

    >>> described(["Parameters", "----------", "tol : the gap, as in", "    solve", "n : int"])
    ['Parameters', '----------', 'tol', '    the gap, as in', '    solve', 'n : int']
    """
    found: list[str] = []
    inside = False
    for line in lines:
        if line and set(line) == {"-"}:
            inside = found[-1] in SECTIONS
        entry = ENTRY.fullmatch(line) if inside else None
        found += [entry[1], f"    {entry[2]}"] if entry and not TYPE.fullmatch(entry[2]) else [line]
    return found


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape the lines that are prose: neither examples nor indented blocks after a double colon."""
    lines[:] = described(lines)
    example = block = False
    for at, line in enumerate(lines):
        example = line.lstrip().startswith((">>>", "...")) or (example and bool(line.strip()))
        block = line.strip() != "" and line.startswith(" ") if block and line.strip() else block
        if not (example or block or line.lstrip().startswith("..")):
            lines[at] = literal(line)
        block = block or line.endswith("::")


def skip(app: Any, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out the methods that scikit-learn writes into every estimator."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Any) -> dict[str, bool]:
    """Before numpydoc reads them."""
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", process, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
