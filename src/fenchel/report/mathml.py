"""Formulas in a small subset of TeX as MathML, which browsers render without scripts or fonts."""

from __future__ import annotations

import re
from functools import cache

from fenchel.report.markup import Markup, element

NAMES = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "tau": "τ", "rho": "ρ", "pi": "π", "phi": "φ",
    "ell": "ℓ", "infty": "∞", "ldots": "…", "iota": "ι", "sigma": "σ",
}  # fmt: skip
OPERATORS = {
    "le": "≤", "ge": "≥", "ne": "≠", "in": "∈", "notin": "∉", "cdot": "·", "langle": "⟨", "rangle": "⟩", "lVert": "‖",
    "rVert": "‖", "lvert": "|", "rvert": "|", "lbrace": "{", "rbrace": "}", "to": "→", "prec": "≺",
}  # fmt: skip
LARGE = {"sum": "∑", "max": "max", "min": "min"}  # operators whose limits are set below and above
FUNCTIONS = {"log", "exp", "asinh", "score", "cost", "rank"}
FENCES = frozenset("()[]{}|‖⟨⟩")
WORDS = {"text": "mtext", "name": "mi"}  # the MathML element of the letters between braces
SPACES = {",": "0.17em", ";": "0.28em", "quad": "1em"}
TOKEN = re.compile(r"\\([A-Za-z]+|[,;])|(\d+(?:\.\d+)?)|([A-Za-z])|(\S)|\s+")


def math(tex: str, block: bool = False) -> Markup:
    """A <math> element.

    >>> math("x^2")
    '<math><msup><mi>x</mi><mn>2</mn></msup></math>'
    >>> math(r"\\frac{1}{n}")
    '<math><mfrac><mn>1</mn><mi>n</mi></mfrac></math>'
    """
    return element("math", _parsed(tex), display="block" if block else None)


@cache
def _parsed(tex: str) -> Markup:
    reader = _Reader(tex)
    found = reader.row(end=None)
    return Markup("".join(found))


def _row(parts: list[Markup]) -> Markup:
    return parts[0] if len(parts) == 1 else element("mrow", parts)


def _kept_small(sign: str) -> str | None:
    """A bracket of the height of a line: MathML would stretch it over the limits of an adjacent sum."""
    return "false" if sign in FENCES else None


class _Reader:
    """The parser of one formula, from left to right."""

    def __init__(self, tex: str):
        self.tex, self.place = tex, 0

    def peek(self) -> str | None:
        while self.place < len(self.tex) and self.tex[self.place].isspace():
            self.place += 1
        return self.tex[self.place] if self.place < len(self.tex) else None

    def row(self, end: str | None) -> list[Markup]:
        parts: list[Markup] = []
        while (c := self.peek()) != end:
            if c is None:
                raise ValueError(f"{self.tex!r}: {end!r} is missing")
            parts.append(self.scripts(*self.atom()))
        self.place += 1
        return parts

    def atom(self) -> tuple[Markup, bool]:
        """The next element, and whether its scripts are set below and above it."""
        if self.peek() == "{":
            self.place += 1
            return _row(self.row("}")), False
        token = TOKEN.match(self.tex, self.place)
        assert token is not None
        self.place = token.end()
        command, digits, letter, sign = token.groups()
        if command is not None:
            return self.command(command)
        if digits is not None:
            return element("mn", digits), False
        if letter is not None:
            return element("mi", letter), False
        return element(
            "mo", {"-": "\N{MINUS SIGN}", "'": "\N{PRIME}"}.get(sign, sign), stretchy=_kept_small(sign)
        ), False

    def command(self, name: str) -> tuple[Markup, bool]:
        if name == "frac":
            return element("mfrac", self.atom()[0], self.atom()[0]), False
        if name == "sqrt":
            return element("msqrt", self.atom()[0]), False
        if name in WORDS:
            return self.words(WORDS[name]), False
        if name in SPACES:
            return element("mspace", width=SPACES[name]), False
        if name in LARGE:
            return element("mo", LARGE[name], movablelimits="false"), True
        if name in NAMES:
            return element("mi", NAMES[name]), False
        if name in FUNCTIONS:
            return element("mi", name), False
        form = {"l": "prefix", "r": "postfix"}.get(name[0]) if name.lower().endswith("vert") else None
        return element("mo", OPERATORS[name], form=form, stretchy=_kept_small(OPERATORS[name])), False

    def words(self, tag: str) -> Markup:
        """The raw text between braces."""
        start, end = self.place + 1, self.tex.index("}", self.place)
        self.place = end + 1
        return element(tag, self.tex[start:end])

    def scripts(self, base: Markup, below: bool) -> Markup:
        low = high = None
        while (c := self.peek()) is not None and c in "_^":
            self.place += 1
            if c == "_":
                low = self.atom()[0]
            else:
                high = self.atom()[0]
        if low is None and high is None:
            return base
        kind = "munder" if below else "msub"
        if high is not None:
            kind = ("munderover" if below else "msubsup") if low is not None else "mover" if below else "msup"
        return element(kind, base, low, high)
