"""Feature templates in the format of CRF++ and Wapiti, and the attributes of tokens that they generate.

    # a comment
    U05:%x[-1,0]/%x[0,0]      the word before and the word: row relative to the token, column of the file
    U30:%m[0,0,".?.?.?$"]     the part of the word that matches (here: its last three letters), as in Wapiti
    U31:%t[0,0,"^[A-Z]"]      "true" or "false": whether it matches
    B                         weights of label pairs (transitions)

An upper-case macro (%X, %M, %T) gives lower-case text. Rows outside the sentence read "_B-1", "_B-2", ..., "_B+1", ....
Patterns are Python's regular expressions. An attribute is the line with its macros replaced.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from fenchel.errors import InputError, ReadError

_MACRO = re.compile(r'%([xXmMtT])\[\s*([+-]?\d+)\s*,\s*(\d+)\s*(?:,\s*"((?:[^"\\]|\\.)*)"\s*)?\]')


class Macro(NamedTuple):
    """A cell of the columns near a token: kind "x" (the cell), "m" (its match of a pattern), "t" (whether it matches)."""

    kind: str
    row: int
    column: int
    pattern: str = ""
    lower: bool = False


class Template(NamedTuple):
    """texts[0] macros[0] texts[1] macros[1] ... texts[-1]; `edge`: an attribute of two neighbouring labels."""

    texts: tuple[str, ...]
    macros: tuple[Macro, ...]
    edge: bool


@dataclass(frozen=True)
class Templates:
    """Lines of templates.

    >>> templates = Templates.parse("U00:%x[-1,0]\\nU01:%x[0,0]/%x[0,1]\\nB")
    >>> templates.apply([["the", "DT"], ["dog", "NN"]])
    [['U00:_B-1', 'U01:the/DT'], ['U00:the', 'U01:dog/NN']]
    >>> templates.transitions
    True
    """

    lines: tuple[str, ...]

    def __post_init__(self) -> None:
        self.items  # noqa: B018  (a wrong line is refused here, not at the first use)

    @classmethod
    def parse(cls, text: str, name: str = "template") -> Templates:
        """Parse a text of templates; error messages begin with `name`."""
        lines = []
        for number, raw in enumerate(text.splitlines(), start=1):
            line = raw.strip()
            if line and not line.startswith("#"):
                _parsed(line, f"{name}:{number}")
                lines.append(line)
        if not lines:
            raise ReadError(f"{name}:1: there are no templates; expected lines such as U00:%x[0,0]")
        return cls(tuple(lines))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Templates:
        """The templates of a file."""
        with open(path, encoding="utf-8") as file:
            try:
                return cls.parse(file.read(), os.fspath(path))
            except UnicodeDecodeError as error:
                raise ReadError(f"{os.fspath(path)}:1: this is not UTF-8 text: {error}") from None

    @cached_property
    def items(self) -> tuple[Template, ...]:
        return tuple(_parsed(line, f"template {line!r}") for line in self.lines)

    @property
    def transitions(self) -> bool:
        """Whether a line "B" asks for weights of label pairs."""
        return any(item.edge and not item.macros for item in self.items)

    @property
    def edges(self) -> bool:
        """Whether label pairs have attributes of tokens ("B01:%x[0,0]")."""
        return any(item.edge and item.macros for item in self.items)

    def require(self, width: int, label_column: int | None = None) -> None:
        """Raise if a template needs a column that does not exist, or the label column."""
        for line, item in zip(self.lines, self.items, strict=True):
            for macro in item.macros:
                if macro.column >= width:
                    raise InputError(f"template {line!r} needs column {macro.column}: columns are 0 to {width - 1}")
                if macro.column == label_column:
                    raise InputError(f"template {line!r} uses column {macro.column}, which is the label")

    def apply(self, sentence: Sequence[Sequence[str]]) -> list[list[str]]:
        """The attributes of every token."""
        return self._apply([item for item in self.items if not item.edge], sentence)

    def apply_edges(self, sentence: Sequence[Sequence[str]]) -> list[list[str]]:
        """The attributes of every pair of neighbouring tokens; rows in macros are relative to the second token."""
        return self._apply([item for item in self.items if item.edge and item.macros], sentence)[1:]

    def _apply(self, items: list[Template], sentence: Sequence[Sequence[str]]) -> list[list[str]]:
        cells = {macro: _cells(macro, sentence) for macro in {macro for item in items for macro in item.macros}}
        lines = [_filled(item, [cells[macro] for macro in item.macros], len(sentence)) for item in items]
        return [list(token) for token in zip(*lines, strict=True)] if lines else [[] for _ in sentence]


def default_templates(width: int, spelling: bool | None = None) -> Templates:
    """Words at -2 .. 2 with pairs of neighbours; the same and triples for each further column; transitions.

    For two columns (word and part of speech) these are the templates that CRF++ ships for chunking. `spelling` adds the word's
    beginnings and ends of up to four letters, its digits, hyphens and capitals; None: only where there is no second column.
    `width` is the number of columns without the label.

    >>> [line for line in default_templates(2).lines if "/" in line][:3]
    ['U005:%x[-1,0]/%x[0,0]', 'U006:%x[0,0]/%x[1,0]', 'U105:%x[-2,1]/%x[-1,1]']
    """
    if width < 1:
        raise InputError(f"templates need at least one column in addition to the label, got {width}")
    lines = [line for column in range(width) for line in _windows(column)]
    if spelling or (spelling is None and width == 1):
        lines += _spelling("Uw")
    return Templates((*lines, "B"))


def _windows(column: int) -> list[str]:
    spans = [[row] for row in range(-2, 3)]
    spans += [[-1, 0], [0, 1]] if column == 0 else [[row, row + 1] for row in range(-2, 2)]
    spans += [] if column == 0 else [[row, row + 1, row + 2] for row in range(-2, 1)]
    return [f"U{column}{k:02d}:" + "/".join(f"%x[{row},{column}]" for row in span) for k, span in enumerate(spans)]


def _spelling(name: str) -> list[str]:
    lines = [f'{name}p{k}:%m[0,0,"^{"." * k}"]' for k in range(1, 5)]
    lines += [f'{name}s{k}:%m[0,0,"{"." * k}$"]' for k in range(1, 5)]
    kinds = {"digit": "[0-9]", "number": "^[0-9.,]+$", "hyphen": "-", "capital": "^[A-Z]", "capitals": "^[A-Z]+$"}
    lines += [f'{name}{kind}:%t[0,0,"{pattern}"]' for kind, pattern in kinds.items()]
    return [*lines, f"{name}lower:%X[0,0]"]


def _parsed(line: str, where: str) -> Template:
    if line[0] not in "UB":
        raise ReadError(f"{where}: a template begins with U (a label) or B (a pair of labels), got {line!r}")
    texts, macros, at = [], [], 0
    for found in _MACRO.finditer(line):
        texts.append(line[at : found.start()])
        macros.append(_macro(found, where))
        at = found.end()
    texts.append(line[at:])
    strange = next((text for text in texts if "%" in text), None)
    if strange is not None:
        place = strange[strange.index("%") :]
        raise ReadError(
            f'{where}: {place!r} is not a macro; expected %x[row,column], %m[row,column,"pattern"] or %t[...]'
        )
    return Template(tuple(texts), tuple(macros), line[0] == "B")


def _macro(found: re.Match[str], where: str) -> Macro:
    kind, row, column, pattern = found.groups()
    if (pattern is None) != (kind.lower() == "x"):
        raise ReadError(f"{where}: {found[0]!r}: %x takes a row and a column, %m and %t a pattern in quotes as well")
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise ReadError(f"{where}: the pattern of {found[0]!r} is not a regular expression: {error}") from None
    return Macro(kind.lower(), int(row), int(column), pattern or "", kind.isupper())


def _cells(macro: Macro, sentence: Sequence[Sequence[str]]) -> list[str]:
    """The values of a macro at every token."""
    size, row = len(sentence), macro.row
    own = [token[macro.column] for token in sentence]
    before = [f"_B{t + row}" for t in range(min(-row, size))]  # _B-1 is the place before the first token
    after = [f"_B+{k}" for k in range(row - min(row, size) + 1, row + 1)] if row > 0 else []
    inside = own[max(row, 0) : max(size + min(row, 0), 0)]
    read = _READERS[macro.kind](macro)
    if read is not None:
        inside = list(map(read, inside))
    return before + inside + after


def _cell(macro: Macro) -> Callable[[str], str] | None:
    return str.lower if macro.lower else None


def _test(macro: Macro) -> Callable[[str], str]:
    search = re.compile(macro.pattern).search
    return lambda cell: "true" if search(cell) else "false"


def _match(macro: Macro) -> Callable[[str], str]:
    search = re.compile(macro.pattern).search

    def matched(cell: str) -> str:
        found: Any = search(cell)
        text = found[0] if found else ""
        return text.lower() if macro.lower else text

    return matched


# For each kind of macro, the function that is applied to a cell; None for the cell itself.
_READERS: dict[str, Callable[[Macro], Callable[[str], str] | None]] = {"x": _cell, "t": _test, "m": _match}


def _filled(item: Template, cells: list[list[str]], size: int) -> list[str]:
    """The attribute of every token."""
    if not cells:
        return [item.texts[0]] * size
    if len(cells) == 1:
        (head, tail), (own,) = item.texts, cells
        return [head + cell + tail for cell in own]
    form = "%s".join(text.replace("%", "%%") for text in item.texts)
    return [form % row for row in zip(*cells, strict=True)]
