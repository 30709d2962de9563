"""Every kind of report in a real browser, wide and narrow: nothing is cut off, no error, no request."""

from __future__ import annotations

import pytest

from fitted_estimators import CASES, COUNT, LEVEL, QID, REAL, SIGN, TOKEN_TAGS, TOKENS, WORDS, X
from test_report_browser import Opened, browser, playwright  # noqa: F401

pytestmark = pytest.mark.xdist_group("browser")
WIDTHS = (1300, 390)
UNCERTIFIED = {"features of a kernel", "Perceptron", "Winnow", "averaged p-norm"}  # a report is about a certificate
WITH_ROWS = {
    "two labels": (X, SIGN),
    "one against the rest": (X, WORDS),
    "squared": (X, REAL),
    "quantile, L1": (X, REAL),
    "Poisson": (X, COUNT),
    "ordinal numbers": (X, LEVEL),
    "F1": (X, SIGN),
    "NDCG": (X, LEVEL, QID),
    "tokens": (TOKENS, TOKEN_TAGS),
}

# Elements whose text is cut off: wider inside than outside without a way to scroll, or beside the window. What only
# screen readers see, an element of one pixel or left of the window, does not count.
CUT_OFF = """() => {
    const scrolls = (e) => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX);
    const inside = (e) => { for (; e; e = e.parentElement) if (scrolls(e)) return true; return false; };
    const found = [];
    for (const e of document.body.querySelectorAll('*')) {
        const box = e.getBoundingClientRect();
        const ends = [...e.childNodes].filter((n) => n.nodeType === 3 && n.textContent.trim()).map((n) => {
            const range = document.createRange();
            range.selectNodeContents(n);
            return range.getBoundingClientRect();
        });
        if (box.width <= 1 || box.height <= 1) continue;
        if (!e.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
        const hidden = ['hidden', 'clip'].includes(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth + 1;
        const beside = ends.some((r) => r.right > innerWidth + 1 || (r.left < -1 && r.right > 0)) && !inside(e);
        if ((hidden && e.textContent.trim() && e.clientWidth > 0) || beside)
            found.push(`${e.localName}.${e.className.baseVal ?? e.className}: ${e.textContent.trim().slice(0, 60)}`);
    }
    return found;
}"""


def opens_well(browser, file, width):  # noqa: F811
    """Open a page and check it as a reader would see it."""
    with Opened(browser, file, width, offline=True) as opened:
        opened.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        assert opened.page.evaluate(CUT_OFF) == []
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.errors == []
        assert not [request for request in opened.requests if not request.startswith(("file:", "data:"))]


def test_what_is_cut_off_is_found(browser, tmp_path):  # noqa: F811
    page = tmp_path / "cut.html"
    long = "a" * 400
    page.write_text(
        f"<body><pre id=a style='overflow:hidden;width:200px'>{long}</pre><p id=b>{long}</p>"
        f"<pre style='overflow:auto'>{long}</pre><p>short</p>"
    )
    with Opened(browser, page, 390) as opened:
        assert [entry[:3] for entry in opened.page.evaluate(CUT_OFF)] == ["pre", "p.:"]


@pytest.mark.parametrize("name", [name for name in CASES if name not in UNCERTIFIED])
def test_every_kind_of_report_fits(browser, tmp_path, name):  # noqa: F811
    model = CASES[name].make()
    model.report(tmp_path / "page.html", *WITH_ROWS.get(name, ()))
    for width in WIDTHS:
        opens_well(browser, tmp_path / "page.html", width)
