"""The pages that people read, and how to run what they show."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from fenchel.cli import main

ROOT = Path(__file__).parent.parent
BUILT = {"api/fenchel", "api/names", "gallery", "_build"}  # made by the build, not written
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")
NEAR = 2e-6  # what numbers of a page may differ by: the gap that the pages ask for, and a little


class Block(NamedTuple):
    """A fenced block: its language, its text, and the line it begins at."""

    kind: str
    text: str
    line: int


def written(folder: Path = ROOT / "docs") -> list[Path]:
    """README and the pages of the documentation, without what the build makes."""
    found = [page for page in sorted(folder.rglob("*.md")) if not _is_built(page.relative_to(folder))]
    return [ROOT / "README.md", *found]


def _is_built(page: Path) -> bool:
    return any(page.as_posix().startswith(start) for start in BUILT)


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in BLOCK.finditer(text)]


def same(shown: str, printed: str) -> bool:
    """Equal but for the last digits of numbers; "..." in what is shown stands for anything.

    >>> same("gap 1e-9, ... done", "gap 3e-9, 12 steps, done"), same("CERTIFIED 1.0", "CERTIFIED 1.1")
    (True, False)
    """
    pattern = re.escape(NUMBER.sub("0", _plain(shown))).replace(re.escape("..."), ".*")
    if "..." in shown:
        return re.fullmatch(pattern, NUMBER.sub("0", _plain(printed)), re.DOTALL) is not None
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=False)
    close = all(abs(float(a) - float(b)) <= NEAR * max(1.0, abs(float(a))) for a, b in pairs)
    return close and NUMBER.sub("0", _plain(shown)) == NUMBER.sub("0", _plain(printed))


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def run_page(page: Path) -> None:
    """Run its Python blocks in one namespace, its commands, and compare with what it says they print."""
    space: dict[str, object] = {"__name__": "page"}
    out = None
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        if block.kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile("\n" * block.line + block.text, where, "exec", dont_inherit=True), space)
        elif block.kind == "text":
            assert out is not None, f"{where}: an output without the code that prints it"
            assert same(block.text, out.getvalue()), (
                f"{where} shows\n{block.text}\nbut this was printed:\n{out.getvalue()}"
            )
        elif block.kind == "console":
            run_console(block.text, where)


def run_console(text: str, where: str) -> None:
    """Every `$ fenchel ...`, with what it prints to standard output."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        words = shlex.split(line)
        assert words[0] == "fenchel", f"{where}: only fenchel is run here, not {words[0]}"
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = main(words[1:])
        assert status == 0, f"{where}: {line} ended with {status}"
        assert same(shown, out.getvalue()), f"{where}: {line} shows\n{shown}\nbut this was printed:\n{out.getvalue()}"
