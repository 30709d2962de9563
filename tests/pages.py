"""Reading a report page as a browser would, and strings that try to become markup."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "input", "br"}


class Page(HTMLParser):
    """Elements, attributes and text; an element left open or closed twice is an error."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice in {tag}"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in self.raw:
            self.raw[self.open[-1]].append(data)
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)

    @property
    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}

    @property
    def data(self) -> dict[str, Any]:
        """The numbers that the page carries."""
        return json.loads(self.raw["script"][0])

    def numbers(self, name: str) -> list[float]:
        """The exact values of the numbers of one kind, in the order of the page."""
        found = [a for tag, a in self.elements if tag == "data" and a.get("class") == name]
        return [float(str(a["value"])) for a in found]

    def skeleton(self) -> list[tuple[str, list[tuple[str, str | None]]]]:
        """Elements and attributes without what numbers make different: places on drawings and exact values."""
        return [(tag, sorted((k, v) for k, v in a.items())) for tag, a in self.elements]


PAYLOADS = [
    "<script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<SCRIPT SRC=x></SCRIPT>",
    "</style><script>x</script>",
    "</svg><script>x</script>",
    "</math><script>x</script>",
    "<svg><script>alert(1)</script></svg>",
    '"><img src=x onerror=alert(1)>',
    "'><img src=x onerror=alert(1)>",
    "<img src=x onerror=alert(1)//",
    "<IMG SRC=x>",
    '<img src="x" srcset="y 2x">',
    "<image href=x>",
    "'><svg onload=x>",
    "<svg/onload=alert(1)>",
    "<svg><use href='data:x'/></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x>",
    "<svg><foreignObject><body onload=x>",
    "<math><mi//xlink:href='x'>",
    "<math><maction actiontype=statusline xlink:href=x>",
    "<a href='http://x'>",
    "<a href=javascript:alert(1)>x</a>",
    "javascript:alert(1)",
    "data:text/html,<script>x</script>",
    "<base href=x>",
    "<link rel=stylesheet href=x>",
    "<style>*{display:none}</style>",
    "<style>@import 'x';</style>",
    "<meta http-equiv=refresh content=0>",
    "<meta http-equiv=Content-Security-Policy content=x>",
    "<iframe srcdoc='<script>x</script>'>",
    "<iframe>",
    "<object data=x>",
    "<embed src=x>",
    "<applet code=x>",
    "<form action=x><button>",
    "<input autofocus onfocus=x>",
    "<select autofocus onfocus=x>",
    "<body onload=x>",
    "<html manifest=x>",
    "<video><source onerror=x>",
    "<audio src=x onerror=x>",
    "<details open ontoggle=x>",
    "<marquee onstart=x>",
    "<template><b>",
    "<noscript><b>",
    "<plaintext>",
    "<xmp>",
    "<textarea>",
    "</textarea><b>",
    "<!--",
    "-->",
    "<!--><script>x</script>-->",
    "<![CDATA[<b>]]>",
    "]]>",
    "<?xml version='1.0'?>",
    "&lt;script&gt;",
    "&#60;script&#62;",
    "&colon;&lpar;",
    '" onmouseover="x',
    "' onmouseover='x",
    "` onmouseover=x",
    "\x00<b>",
    '">\n<b onclick=x>',
    "\ud800<b>",
    "\u202eevil<b>",
    "\u2028<b>\u2029",
    "\x1b[31m<b>",
    "{{7*7}}<b>",
    "${alert(1)}",
    "\uff1cscript\uff1e",
]
