"""The report in a real browser: hovering, light and dark, narrow and printed, no error and no request."""

from __future__ import annotations

import io
import re
import shutil
import zlib

import numpy as np
import pytest

import fenchel
from fenchel.report import Fit, PathChoice, write_page
from pages import PAYLOADS, Page

pytestmark = pytest.mark.xdist_group("browser")
playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VISIBLE_GAP = "svg[data-chart^='gap-']:visible"


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("the browser tests need Chromium (on Debian: the package chromium)")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def solved():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(150, 4))
    y = np.where(X @ [1.0, -2.0, 0.0, 0.5] + rng.normal(size=150) > 0, 1.0, -1.0)
    problem = fenchel.Problem(X, y, loss="logistic", alpha=0.02, fit_intercept=True)
    return X, y, problem, fenchel.solve(problem, solver="lbfgs")


@pytest.fixture(scope="module")
def pages(solved, tmp_path_factory):
    """One run with evaluation; several runs with a path; a page full of strings that try to become markup."""
    X, y, problem, result = solved
    folder = tmp_path_factory.mktemp("pages")
    names = ["width", "height", "a feature with quite a long name, as data frames have them", "x"]
    write_page(folder / "one.html", result, "One run", data=(X, y), feature_names=names)
    path = fenchel.path(problem, [0.01, 0.1, 1.0], tol=1e-3)
    runs = [result, fenchel.solve(problem), fenchel.solve(problem, solver="lbfgs", max_iter=2)]
    choice = PathChoice(path, 0.1, scores=[0.7, 0.8, 0.75], errors=[0.02] * 3, score_name="accuracy")
    write_page(
        folder / "several.html", runs, "Several runs", names=["L-BFGS", "auto", "two steps"], data=(X, y),
        regularization_path=choice, feature_names=names,
    )  # fmt: skip
    evil = [*PAYLOADS, " ".join(PAYLOADS)]
    models = [
        Fit(fenchel.Model.from_result(result, labels=(text, "zz"), feature_names=[text] * 4), [result])
        for text in evil[:6]
    ]
    write_page(
        folder / "evil.html", models, evil[-1], names=evil[:6], settings={text: text for text in evil},
        regularization_path=PathChoice(path, 0.1, scores=[1.0, 2.0, 3.0], score_name=evil[0]),
    )  # fmt: skip
    target = np.random.default_rng(1).normal(size=150) + X[:, 0]
    regression = fenchel.solve(fenchel.Problem(X, target, loss="squared", alpha=0.1), tol=1e-4)
    write_page(folder / "numbers.html", regression, "Regression", data=(X, target))
    return folder


class Opened:
    """A page in the browser that remembers what went wrong and what it asked for."""

    def __init__(self, browser, file, width=1000, **options):
        self.context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: self.errors.append("a dialog"))
        self.address = file.as_uri()
        self.page.goto(self.address)

    def _note(self, message) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def pixels(self) -> np.ndarray:
        image = pytest.importorskip("PIL.Image", reason="comparing pixels needs Pillow")
        return np.asarray(image.open(io.BytesIO(self.page.screenshot())).convert("L"), dtype=float)


@pytest.mark.parametrize("name", ["one", "several", "evil", "numbers"])
def test_no_error_and_no_request(browser, pages, name):
    with Opened(browser, pages / f"{name}.html", offline=True) as opened:
        charts = opened.page.locator("svg[data-chart]:visible")
        assert charts.count() >= 2
        for k in range(charts.count()):
            charts.nth(k).hover()
            assert opened.page.locator("#tip").is_visible()
        opened.page.click("#theme")
        opened.page.click("label[for=axis-passes]")
        opened.page.pdf()
        assert opened.errors == []
        assert opened.requests == [opened.address]


def test_hovering_a_curve_tells_the_numbers_of_the_trace(browser, pages, solved):
    result = solved[-1]
    with Opened(browser, pages / "one.html") as opened:
        opened.page.locator(VISIBLE_GAP).scroll_into_view_if_needed()
        box = opened.page.locator(VISIBLE_GAP).bounding_box()
        told = {}
        for share in np.linspace(0.17, 0.96, 15):
            opened.page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.5 * box["height"])
            head, *rest = opened.page.locator("#tip").inner_text().replace("−", "-").split("\n")
            values = {line.rpartition(": ")[0]: float(line.rpartition(": ")[2]) for line in rest}
            told[int(head.removeprefix("iterations: "))] = values
        opened.page.mouse.move(2, 2)
        assert opened.page.locator("#tip").is_hidden()
    assert len(told) >= 5
    c, primal, dual = result.certificate, np.inf, -np.inf
    for point in result.trace:
        primal, dual = min(primal, point.primal), max(dual, point.dual)
        if point.iteration in told and point.iteration < result.n_iter:
            values = told[point.iteration]
            assert values["gap"] == pytest.approx((primal - dual) / abs(primal), rel=1e-8)
            assert values["primal, above the final dual"] == pytest.approx((primal - c.dual) / abs(c.primal), rel=1e-8)


def test_the_keyboard_walks_along_a_curve(browser, pages):
    with Opened(browser, pages / "one.html") as opened:
        opened.page.locator(VISIBLE_GAP).focus()
        texts = []
        for _ in range(3):
            opened.page.keyboard.press("ArrowRight")
            texts.append(opened.page.locator("#tip").inner_text())
        assert len(set(texts)) == 3
        opened.page.keyboard.press("Escape")
        assert opened.page.locator("#tip").is_hidden()


def test_the_axis_can_be_chosen(browser, pages):
    with Opened(browser, pages / "several.html") as opened:
        shown = lambda: opened.page.locator(VISIBLE_GAP).get_attribute("data-chart")  # noqa: E731
        assert shown() == "gap-seconds-linear"
        opened.page.click("label[for=axis-iterations]")
        assert shown() == "gap-iterations-linear"
        opened.page.check("#log-x")
        assert shown() == "gap-iterations-log"
        opened.page.click("label[for=axis-passes]")
        assert shown() == "gap-passes-log"
        assert (
            opened.page.locator("svg[data-chart^='gap-']:visible .s0, svg[data-chart^='gap-']:visible .s2").count() == 2
        )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(browser, pages, scheme):
    """The system's choice at first; the button really changes the pixels, and changes them back."""
    with Opened(browser, pages / "one.html", color_scheme=scheme) as opened:
        first = opened.pixels()
        opened.page.click("#theme")
        opened.page.mouse.move(2, 2)
        second = opened.pixels()
        opened.page.click("#theme")
        opened.page.mouse.move(2, 2)
        third = opened.pixels()
        opened.page.reload()
        fourth = opened.pixels()
    bright, dark = (first, second) if scheme == "light" else (second, first)
    assert np.median(bright) > 220
    assert np.median(dark) < 50
    assert np.mean(np.abs(first - second) > 60) > 0.8
    assert np.mean(np.abs(first - third) > 8) < 0.01  # but for the ring around a button that has the focus
    assert np.mean(np.abs(first - fourth) > 8) < 0.01  # a switch is forgotten with the page


@pytest.mark.parametrize("width", [320, 360, 400, 768])
@pytest.mark.parametrize("name", ["one", "several", "evil", "numbers"])
def test_nothing_sticks_out_on_a_phone(browser, pages, name, width):
    with Opened(browser, pages / f"{name}.html", width) as opened:
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        opened.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        small = opened.page.evaluate(
            "[...document.querySelectorAll('svg[data-chart] text')].filter((t) => t.getBoundingClientRect().height > 0)"
            ".map((t) => parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getScreenCTM().a)"
        )
        assert min(small) >= 9.0  # pixels


def test_hostile_strings_make_no_element(browser, pages):
    with Opened(browser, pages / "evil.html") as opened:
        tags = set(opened.page.evaluate("[...document.querySelectorAll('*')].map((e) => e.localName)"))
        names = opened.page.evaluate(
            "[...document.querySelectorAll('*')].flatMap((e) => [...e.attributes]).map((a) => a.name)"
        )
        scripts = opened.page.evaluate("document.scripts.length")
    assert tags == Page((pages / "evil.html").read_text(encoding="utf-8")).tags
    assert not tags & {"img", "iframe", "b", "object", "embed", "form", "link", "base", "textarea", "plaintext", "xmp"}
    assert not [name for name in names if name.startswith(("on", "src", "style"))]
    assert scripts == 2


def test_the_policy_stops_what_an_injection_would_do(browser, pages):
    """Were a string to become markup all the same: no script runs, no style applies, nothing is fetched."""
    text = (pages / "one.html").read_text(encoding="utf-8")
    planted = (
        "<script>window.planted = 1</script><img src='http://127.0.0.1:9/x' onerror='window.planted = 2'>"
        "<style>body { display: none }</style><link rel=stylesheet href='http://127.0.0.1:9/y'>"
    )
    spoiled = pages / "spoiled.html"
    spoiled.write_text(text.replace("<main", f"{planted}<main", 1), encoding="utf-8")
    with Opened(browser, spoiled) as opened:
        assert opened.page.evaluate("window.planted") is None
        assert opened.page.locator("main").is_visible()
        assert all("Content Security Policy" in error for error in opened.errors)
        assert len(opened.errors) >= 4


def test_it_prints(browser, pages):
    """Light whatever the screen is, everything open, no controls."""
    with Opened(browser, pages / "several.html", color_scheme="dark") as opened:
        printed = opened.page.pdf(format="A4", print_background=True)
        opened.page.emulate_media(media="print")
        opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert opened.page.locator("details:not([open])").count() == 0
        assert opened.page.locator("nav").is_hidden()
        assert opened.page.locator("#theme").is_hidden()
        assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert opened.page.locator("details[open]").count() == 0
    assert printed.startswith(b"%PDF-")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", printed + inflated(printed))) <= 40


def inflated(pdf: bytes) -> bytes:
    """The streams of a PDF file, as far as they are deflated."""
    found = []
    for part in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        try:
            found.append(zlib.decompressobj().decompress(part))
        except zlib.error:
            continue
    return b"".join(found)


def luminance(color: str) -> float:
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_curves_differ_by_more_than_colour_and_text_can_be_read(browser, pages, scheme):
    with Opened(browser, pages / "one.html", color_scheme=scheme) as opened:
        style = "(name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()"
        value = lambda name: opened.page.evaluate(style, name)  # noqa: E731
        card, page = luminance(long(value("--card"))), luminance(long(value("--page")))
        lines = [value(f"--s{k}") for k in range(8)]
        dashes = opened.page.evaluate(
            """() => [...Array(8).keys()].map((k) => {
                const line = document.querySelector("svg[data-chart] polyline").cloneNode();
                const group = document.createElementNS(line.namespaceURI, "g");
                group.setAttribute("class", `s${k}`);
                group.append(line);
                document.querySelector("svg[data-chart]").append(group);
                return getComputedStyle(line).strokeDasharray;
            })"""
        )
        words = {name: luminance(long(value(name))) for name in ("--ink", "--soft", "--good", "--bad")}
    assert len(set(lines)) == 8
    assert len(set(dashes)) == 8
    for color in lines:
        assert contrast(luminance(long(color)), card) >= 2.2, color
    for name, light in words.items():
        assert contrast(light, card) >= 4.5, name
        assert contrast(light, page) >= 4.5, name


def long(color: str) -> str:
    return color if len(color) == 7 else "#" + "".join(2 * c for c in color[1:])


def contrast(a: float, b: float) -> float:
    return (max(a, b) + 0.05) / (min(a, b) + 0.05)
