"""The HTML page: its numbers are the Result's, and nothing in it comes from data as markup or reaches the network."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import fenchel
from fenchel.report import write_page
from fenchel.report.chart import MOST_POINTS, Curve, chart
from fenchel.result import Certificate, TracePoint

VOID = {"meta", "input", "br"}


class Page(HTMLParser):
    """Elements, attributes and text; an element left open or closed twice is an error."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.setdefault(self.open[-1] if self.open else "", []).append(data)

    def numbers(self) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for tag, attributes in self.elements:
            if tag == "data":
                found.setdefault(str(attributes["class"]), []).append(float(str(attributes["value"])))
        return found

    @property
    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    X[13] = 0.123456789123456  # a canary
    y = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=60)
    y[13] = 0.987654321987654
    return fenchel.solve(fenchel.Problem(X, y, loss="huber", alpha=0.1, fit_intercept=True))


def written(path, results, **options) -> str:
    write_page(path, results, **options)
    return path.read_text(encoding="utf-8")


def test_the_numbers_are_those_of_the_result(result, tmp_path):
    page = Page(written(tmp_path / "p.html", result))
    c = result.certificate
    expected = {"primal": c.primal, "dual": c.dual, "gap": c.gap, "relative-gap": c.relative_gap}
    expected |= {"seconds": result.seconds, "iterations": result.n_iter, "passes": result.passes}
    assert page.numbers() == {name: [value] for name, value in expected.items()}
    words = " ".join(word for part in page.words.values() for word in part)
    assert result.status.name in words
    assert result.digest in words
    assert f"{c.dual:.10g}" in words
    assert "60 rows, 4 features" in words


def test_several_results_are_on_one_page(result, tmp_path):
    page = Page(written(tmp_path / "p.html", [result, result]))
    assert page.numbers()["primal"] == [result.certificate.primal] * 2
    names = [attributes["id"] for tag, attributes in page.elements if tag == "input"]
    assert len(set(names)) == 6
    assert [tag for tag, _ in page.elements].count("svg") == 12


def test_nothing_is_fetched_and_nothing_runs(result, tmp_path):
    text = written(tmp_path / "p.html", result)
    assert not re.search(r"https?:|//|url\(|@import|javascript:", text)
    page = Page(text)
    assert not page.tags & {"script", "link", "img", "iframe", "object", "embed", "form", "base", "a"}
    assert not [
        name for _, attributes in page.elements for name in attributes if name.startswith("on") or name == "src"
    ]
    policy = [a["content"] for tag, a in page.elements if tag == "meta" and a.get("http-equiv")]
    assert "default-src 'none'" in str(policy)
    assert "script-src" not in str(policy)


def test_rows_of_the_data_are_not_in_it(result, tmp_path):
    text = written(tmp_path / "p.html", result)
    assert "0.1234567" not in text
    assert "0.9876543" not in text


PAYLOADS = [
    "<script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=x>",
    "</style><script>x</script>",
    "<!--",
    "-->",
    "]]>",
    "&lt;script&gt;",
    "javascript:alert(1)",
    "<svg/onload=alert(1)>",
    "<a href='http://x'>",
    "<base href=x>",
    "<meta http-equiv=refresh>",
    "\x00<b>",
    "\u202eevil",
    "\x1b[31m",
    "<iframe>",
    "{{7*7}}",
    "${x}",
    "<math><mi//xlink:href='x'>",
    "<details open ontoggle=x>",
    "\ud800",
    "<template><b>",
    "<plaintext>",
    "</textarea><b>",
    "<textarea>",
    "<xmp>",
    '">\n<b onclick=x>',
    "<IMG SRC=x>",
]


def test_no_element_or_attribute_comes_from_a_string(result, tmp_path):
    plain = Page(written(tmp_path / "p.html", result, title="x"))
    for payload in PAYLOADS:
        hostile = replace(
            result,
            solver=payload,
            reason=payload,
            certificate=Certificate(result.certificate.primal, result.certificate.dual, payload, 1e-16),
        )
        page = Page(written(tmp_path / "q.html", hostile, title=payload))
        assert page.elements == plain.elements, payload


def test_a_hostile_loss_name_is_text(tmp_path):
    class Odd(fenchel.losses.Squared):
        """<img src=x onerror=alert(1)>"""

        def __repr__(self):
            return "<b>bold</b>" * 100

    result = fenchel.solve(fenchel.Problem([[1.0], [2.0]], [1.0, 2.0], loss=fenchel.losses.Squared(), alpha=0.1))
    problem = fenchel.Problem([[1.0], [2.0]], [1.0, 2.0], loss=Odd(), alpha=0.1)
    text = written(tmp_path / "p.html", replace(result, problem=problem))
    assert not Page(text).tags & {"img", "b"}
    assert "&lt;img src=x" in text


def test_strange_traces_still_give_a_page(result, tmp_path):
    nan, inf = math.nan, math.inf
    rows = [(nan, nan), (1.0, -inf), (1.0, nan), (inf, 0.0), (0.5, 0.5), (0.5, 0.6), (1e-300, -1e300)]
    odd = tuple(TracePoint(k, float(k), 0.1 * k, primal, dual) for k, (primal, dual) in enumerate(rows))
    long = tuple(TracePoint(k, float(k), 0.1 * k, 1.0 + 1.0 / (k + 1), 1.0 - 1.0 / (k + 1)) for k in range(50_000))
    for trace in ((), odd[:1], odd, long):
        for certificate in (
            result.certificate,
            Certificate(0.0, -inf, "derived", inf),
            Certificate(0.0, 0.0, "derived"),
        ):
            text = written(tmp_path / "p.html", replace(result, trace=trace, certificate=certificate))
            Page(text)
            assert len(text) < 200_000
            coordinates = re.findall(r'(?:points|cx|cy|x1|y1|x|y)="([^"]*)"', text)
            assert not [c for c in coordinates if "nan" in c or "inf" in c]


class Drawn(NamedTuple):
    points: np.ndarray
    ticks: list[str]


def drawn(svg: str) -> Drawn:
    lines = re.findall(r'points="([^"]*)"', svg)
    return Drawn(
        np.array([[float(v) for v in p.split(",")] for p in lines[0].split()]), re.findall(r">([^<]*)</text>", svg)
    )


def test_a_log_scale_is_one_and_every_curve_keeps_its_last_point():
    """Equal ratios are equal distances; the first and last points of a long curve are drawn."""
    points = [(float(k), 10.0**-k) for k in range(9)]
    places = drawn(chart([Curve("gap", "gap", points)], "iterations", "gap", log=True)).points
    steps = np.diff(places[:, 1])
    assert np.allclose(steps, steps[0], atol=0.11)
    assert steps[0] > 0  # smaller is lower on the page
    long = [(float(k), 1.0 + k) for k in range(10 * MOST_POINTS)]
    places = drawn(chart([Curve("gap", "gap", long)], "iterations", "gap")).points
    assert len(places) <= MOST_POINTS
    assert places[-1, 0] == places[:, 0].max()


def test_the_demo_leaves_a_model_and_a_page(tmp_path):
    demo = Path(__file__).parent.parent / "examples" / "demo.py"
    run = subprocess.run([sys.executable, demo], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "CERTIFIED" in run.stdout
    assert "LinearSVC" in run.stdout
    assert str(tmp_path / "demo.html") in run.stdout
    model = fenchel.load(tmp_path / "demo.fenchel")
    numbers = Page((tmp_path / "demo.html").read_text()).numbers()
    assert numbers["primal"] == [model.certificate.primal]
    assert model.certificate.relative_gap <= 1e-6
