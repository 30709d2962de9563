"""HTML from parts: all text is escaped unless it was made here, so that data can never become markup."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

LONGEST = 600
LONGEST_CODE = 4000
SCROLLS = "Table, scrolls horizontally"
VOID = {"br", "input", "meta"}
VISIBLE = "\n\N{NARROW NO-BREAK SPACE}"


class Markup(str):
    """Text that is markup already. Only this module creates it, from escaped parts and constant strings of the package."""

    __slots__ = ()


def clean(value: object, longest: int = LONGEST) -> str:
    """A value as text: truncated, and without characters that are invisible or change the direction of text.

    >>> clean("a\\x1b[31mb"), clean("abcdef", longest=3)
    ('a�[31mb', 'abc ...')
    """
    text = str(value)
    text = text if len(text) <= longest else text[:longest] + " ..."
    return "".join(c if c.isprintable() or c in VISIBLE else "\N{REPLACEMENT CHARACTER}" for c in text)


def inside(parts: Iterable[Any] | Any) -> Markup:
    """The concatenated parts: markup is unchanged, everything else is cleaned and escaped; None is empty.

    >>> inside(["a < b", Markup("<br>"), None])
    'a &lt; b<br>'
    """
    if isinstance(parts, Markup):
        return parts
    if parts is None:
        return Markup("")
    if isinstance(parts, (list, tuple)):
        return Markup("".join(inside(part) for part in parts))
    return Markup(escape(clean(parts), quote=True))


def code(value: object) -> Markup:
    """A <code> element, which may be longer than other text."""
    return element("code", Markup(escape(clean(value, LONGEST_CODE), quote=True)))


def element(tag: str, *parts: Any, **attributes: Any) -> Markup:
    """<tag attributes>parts</tag>; attributes that are None or False are left out, `class_` is class, a_b is a-b.

    >>> element("p", "1 < 2", class_="note", hidden=True)
    '<p class="note" hidden>1 &lt; 2</p>'
    """
    words = [tag]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_").replace("_", "-")
        text = value if isinstance(value, Markup) else escape(clean(value), quote=True)
        words.append(name if value is True else f'{name}="{text}"')
    opening = f"<{' '.join(words)}>"
    return Markup(opening) if tag in VOID else Markup(f"{opening}{inside(list(parts))}</{tag}>")


def shape(tag: str, **attributes: Any) -> Markup:
    """An empty SVG element, with numbers rounded to a tenth of a unit.

    >>> shape("circle", cx=1.0, cy=2.25, r=3)
    '<circle cx="1" cy="2.2" r="3"/>'
    """
    rounded = {k: f"{v:.1f}".removesuffix(".0") if isinstance(v, float) else v for k, v in attributes.items()}
    return Markup(element(tag, **rounded).removesuffix(f"></{tag}>") + "/>")


def number(value: float, digits: int = 6, name: str | None = None) -> Markup:
    """A number as <data>: exact in its value, rounded in the text.

    >>> number(1 / 3, 3, "gap")
    '<data class="gap" value="0.3333333333333333">0.333</data>'
    """
    exact = int(value) if isinstance(value, int) else float(value)
    return element("data", shown(exact, digits), class_=name, value=repr(exact))


def shown(value: float, digits: int = 6) -> str:
    """A number as readable text: integers with thin spaces, and a minus sign instead of a hyphen.

    >>> shown(-0.000012, 3), shown(1234567), shown(float("nan"))
    ('−1.2e−5', '1\\u202f234\\u202f567', 'not known')
    """
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", "\N{MINUS SIGN}")
    if math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "\N{INFINITY}" if value > 0 else "\N{MINUS SIGN}\N{INFINITY}"
    text = f"{value:.{digits}g}"
    body, e, power = text.partition("e")
    return (body + (f"e{int(power)}" if e else "")).replace("-", "\N{MINUS SIGN}")


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]], caption: str, class_: str | None = None) -> Markup:
    """A table in a horizontally scrolling box; the first cell of each row is its heading."""
    names = element("tr", [element("th", name, scope="col") for name in head])
    body = [
        element("tr", element("th", row[0], scope="row"), [element("td", cell) for cell in row[1:]]) for row in rows
    ]
    inner = element("table", element("caption", caption), element("thead", names), element("tbody", body))
    return element("div", inner, class_=" ".join(filter(None, ["scroll", class_])), tabindex=0, role="group",
                   aria_label=SCROLLS)  # fmt: skip


def facts(pairs: Mapping[str, Any], class_: str = "facts") -> Markup:
    """A definition list of names and values; those that are None are omitted."""
    kept = [(name, value) for name, value in pairs.items() if value is not None]
    return element("dl", [element("div", element("dt", k), element("dd", v)) for k, v in kept], class_=class_)


def more(summary: Any, *parts: Any) -> Markup:
    """Parts that are hidden until the reader expands them."""
    return element("details", element("summary", summary), *parts)


def data_block(name: str, value: object) -> Markup:
    """JSON embedded in the page, escaped so that it cannot close or open an element.

    >>> data_block("numbers", {"a": "</script>", "b": float("inf")})
    '<script type="application/json" id="numbers">{"a":"\\\\u003c/script\\\\u003e","b":null}</script>'
    """
    text = json.dumps(_finite(value), allow_nan=False, separators=(",", ":"))
    for c in "<>&":
        text = text.replace(c, f"\\u{ord(c):04x}")
    return Markup(f'<script type="application/json" id="{escape(name, quote=True)}">{text}</script>')


def _finite(value: object) -> Any:
    """The data with infinities and NaN replaced by null, since JSON has neither."""
    if isinstance(value, Mapping):
        return {clean(key): _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    if isinstance(value, str):
        return clean(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
