"""The HTML page: its numbers are the Result's, and nothing in it comes from data as markup or reaches the network."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fenchel
from fenchel.errors import InputError
from fenchel.report import Fit, PathChoice, write_page
from fenchel.report.chart import Axes, Curve, chart
from fenchel.report.markup import clean, shown
from fenchel.report.scale import linear, logarithmic
from fenchel.report.subject import solve_of
from fenchel.report.trace import MOST_POINTS, columns_of, thinned
from fenchel.result import Certificate, Status, TracePoint
from pages import PAYLOADS, Page

CANARIES = (0.123456789012345, 0.987654321098765)


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    X[13] = CANARIES[0]
    y = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=60)
    y[13] = CANARIES[1]
    return fenchel.solve(fenchel.Problem(X, y, loss="huber", alpha=0.1, fit_intercept=True))


@pytest.fixture(scope="module")
def binary():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 3))
    y = np.where(X @ [1.0, -2.0, 0.0] + rng.normal(size=120) > 0, 1.0, -1.0)
    problem = fenchel.Problem(X, y, loss="logistic", alpha=0.1, fit_intercept=True)
    return X, y, fenchel.solve(problem)


def written(path, results, *args, **options) -> Page:
    write_page(path, results, *args, **options)
    return Page(path.read_text(encoding="utf-8"))


# ---- the numbers


def test_the_numbers_are_those_of_the_result(result, tmp_path):
    page = written(tmp_path / "p.html", result)
    c = result.certificate
    expected = {"primal": c.primal, "dual": c.dual, "gap": c.gap, "relative-gap": c.relative_gap}
    expected |= {"seconds": result.seconds, "iterations": result.n_iter, "passes": result.passes}
    assert {name: page.numbers(name) for name in expected} == {name: [value] for name, value in expected.items()}
    (solve,) = page.data["runs"][0]["solves"]
    assert solve == {
        "name": "", "status": result.status.name, "primal": c.primal, "dual": c.dual, "gap": c.gap,
        "relative_gap": c.relative_gap, "floor": c.floor, "basis": c.basis, "tol": result.tol, "solver": result.solver,
        "iterations": result.n_iter, "passes": result.passes, "seconds": result.seconds, "digest": result.digest,
    }  # fmt: skip
    for words in (result.status.name, result.digest, shown(c.dual, 10), shown(c.primal, 10), shown(c.floor, 2)):
        assert words in page.text
    assert "nothing about new data" in page.text
    weights = dict(zip(range(4), result.coef.tolist(), strict=True))
    assert page.numbers("weight") == sorted(weights.values(), key=lambda w: -abs(w))
    assert page.numbers("intercept") == [result.intercept]


def test_the_history_is_the_trace_and_ends_at_the_certificate(result, tmp_path):
    columns = written(tmp_path / "p.html", result).data["tables"]["trace0"]
    assert columns["iterations"][:-1] == [point.iteration for point in result.trace]
    assert columns["seconds"][:-1] == [point.seconds for point in result.trace]
    best = np.minimum.accumulate([point.primal for point in result.trace])
    assert columns["primal"][:-1] == best.tolist()
    last = {name: values[-1] for name, values in columns.items()}
    c = result.certificate
    assert (last["primal"], last["dual"], last["gap"]) == (c.primal, c.dual, c.relative_gap)
    assert (last["iterations"], last["passes"], last["seconds"]) == (result.n_iter, result.passes, result.seconds)


def test_claims_that_the_certificate_refutes_are_not_drawn(result):
    """No dual value is above P: a solver that says so is wrong; and no primal value below D."""
    c = result.certificate
    lies = (TracePoint(0, 0.0, 0.0, c.dual - 1.0, c.primal + 1.0), TracePoint(1, 1.0, 0.1, c.primal + 1, c.dual - 1))
    columns = columns_of(solve_of(replace(result, trace=lies)))
    assert columns["dual"] == [-math.inf, c.dual - 1, c.dual]
    assert columns["primal"] == [math.inf, c.primal + 1, c.primal]


def test_several_results_are_on_one_page(binary, tmp_path):
    *_, first = binary
    other = fenchel.solve(first.problem, solver="lbfgs", max_iter=1)
    page = written(tmp_path / "p.html", [first, other], names=["auto", "one step"], feature_names=["a", "b", "c"])
    assert page.numbers("primal") == [first.certificate.primal, other.certificate.primal]
    assert [run["name"] for run in page.data["runs"]] == ["auto", "one step"]
    assert "1 of 2 runs are certified" in page.text
    assert "Raise max_iter" in page.text  # what to do about the second
    for chart_about in page.data["charts"].values():
        assert {curve["table"] for curve in chart_about["curves"]} == {"trace0", "trace1"}
    assert page.text.count("solver=fenchel.solvers.LBFGS(") == 1


def test_what_is_needed_to_repeat_it_is_there_and_repeats_it(binary, tmp_path):
    X, y, result = binary
    page = written(tmp_path / "p.html", result, settings={"command": "fenchel train x"})
    for name in ("Python", "numpy", "numba", "scikit-learn", "command", "fenchel train x", result.reason):
        assert name in page.text
    lines = re.search(r"problem = fenchel\.Problem\(.*?tol=[^)]*\)", page.text, re.DOTALL)
    space = {"fenchel": fenchel, "X": X, "y": y}
    exec(lines.group(), space)
    assert space["result"].digest == result.digest
    np.testing.assert_array_equal(space["result"].coef, result.coef)


def test_a_model_from_a_file_has_a_page_without_history(binary, tmp_path):
    X, y, result = binary
    model = fenchel.Model.from_result(result, labels=("no", "yes"), feature_names=("a", "b", "c"))
    fenchel.save(tmp_path / "m", model)
    page = written(tmp_path / "p.html", fenchel.load(tmp_path / "m"), data=(X, np.where(y > 0, "yes", "no")))
    assert page.numbers("gap") == [result.certificate.gap]
    assert "do not contain the history" in page.text
    fit = written(tmp_path / "q.html", Fit(model, [result]), data=(X, np.where(y > 0, "yes", "no")))
    assert "trace0" in fit.data["tables"]
    assert fit.data["evaluation"] == page.data["evaluation"]


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_estimators_have_pages(loss, tmp_path):
    from sklearn.datasets import load_iris

    frame = load_iris(as_frame=True)
    labels = frame.target_names[frame.target]
    model = fenchel.Classifier(loss, alpha=0.1, tol=1e-3).fit(frame.data, labels)
    page = written(tmp_path / "p.html", model, data=(frame.data, labels))
    certificates = model.certificate_ if isinstance(model.certificate_, list) else [model.certificate_]
    assert sorted(page.numbers("primal")) == sorted(c.primal for c in certificates)
    assert "petal length (cm)" in page.text
    assert page.data["evaluation"][0]["Accuracy"][0] == pytest.approx(model.score(frame.data, labels), rel=1e-12)


def test_every_kind_of_run_has_a_page(tmp_path):
    chain = fenchel.Problem([[[1.0], [-1.0]], [[-1.0]]], [[1, 0], [0]], loss=fenchel.structured.Chain(), alpha=0.1)
    solved = fenchel.solve(chain, tol=1e-3)
    model = fenchel.StructuredModel.from_result(solved, labels=["no", "yes"])
    page = written(tmp_path / "p.html", Fit(model, [solved]), data=([[[2.0], [-2.0]]], [["yes", "yes"]]))
    assert page.data["evaluation"][0]["Labels right"][0] == 0.5
    kernel = fenchel.kernel_methods.KernelProblem([[0.0], [1.0], [2.0]], [1, -1, 1], alpha=0.1, kernel="rbf")
    page = written(tmp_path / "q.html", fenchel.kernel_methods.solve_kernel(kernel))
    assert "rbf" in page.text
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [-1, -1, 1, 1]
    ranked = fenchel.solve(fenchel.Problem(X, y, loss="roc_area", alpha=0.1))
    page = written(tmp_path / "r.html", ranked, data=(X, y))
    assert page.data["evaluation"][0] == {"Area under the ROC curve": [1.0]}


def test_the_path_is_shown_with_its_chosen_point(binary, tmp_path):
    _, _, result = binary
    path = fenchel.path(result.problem, [0.01, 1.0, 0.1], tol=1e-3)
    choice = PathChoice(path, chosen=0.1, scores=[0.7, 0.6, 0.8], errors=[0.1, 0.1, 0.1], score_name="accuracy")
    page = written(tmp_path / "p.html", result, regularization_path=choice)
    columns = page.data["tables"]["path"]
    assert columns["alpha"] == [0.01, 0.1, 1.0]
    assert columns["score"] == [0.7, 0.8, 0.6]
    assert columns["weight0"] == path.coefs[[0, 2, 1], 1].tolist()  # the second feature has the largest weight
    assert page.numbers("alpha") == [0.01, 0.1, 1.0]
    assert "chosen: alpha = 0.1" in page.text
    assert "0.1 ◀ chosen" in page.text
    bare = written(tmp_path / "q.html", result, regularization_path=path)
    assert "◀ chosen" not in bare.text


# ---- what is wrong is said


def test_wrong_arguments_are_named(binary, tmp_path):
    X, y, result = binary
    path = fenchel.path(result.problem, [1.0], tol=1e-2)
    wrong = [
        (lambda: write_page(tmp_path / "p", []), "at least one"),
        (lambda: write_page(tmp_path / "p", [3]), "expected a Result"),
        (lambda: write_page(tmp_path / "p", result, names=["a", "b"]), "names has 2 entries"),
        (lambda: write_page(tmp_path / "p", result, feature_names=["a"]), "feature_names has 1 names"),
        (lambda: write_page(tmp_path / "p", result, data=X), "pair"),
        (lambda: write_page(tmp_path / "p", result, data=(X, y[:-1])), "120 rows"),
        (lambda: write_page(tmp_path / "p", result, data=(X, np.where(y > 0, 3, 4))), "label"),
        (lambda: PathChoice(path, chosen=2.0), "not one of the strengths"),
        (lambda: PathChoice(path, scores=[1.0, 2.0]), "one entry per strength"),
        (lambda: write_page(tmp_path / "p", Fit(fenchel.Model.from_result(result, labels=(0, 1)), [])), "certificates"),
    ]
    for call, message in wrong:
        with pytest.raises(InputError, match=message):
            call()
    assert not (tmp_path / "p").exists()


# ---- nothing from elsewhere


def test_nothing_is_fetched_and_only_our_script_runs(binary, tmp_path):
    X, y, result = binary
    write_page(tmp_path / "p.html", result, data=(X, y))
    text = (tmp_path / "p.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not re.search(r"https?:|://|url\(|@import|javascript:|\beval\b|innerHTML|localStorage", text)
    assert not page.tags & {"link", "img", "iframe", "object", "embed", "form", "base", "image", "use", "foreignobject"}
    names = {name for _, attributes in page.elements for name in attributes}
    assert not [name for name in names if name.startswith("on")]
    assert not names & {"src", "style", "srcset", "action", "formaction", "xlink:href"}
    assert all(str(a["href"]).startswith("#") for tag, a in page.elements if "href" in a)
    (policy,) = [a["content"] for tag, a in page.elements if tag == "meta" and a.get("http-equiv")]
    digests = [
        base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        for part in (page.raw["style"][0], page.raw["script"][1])
    ]
    rules = [rule.strip() for rule in str(policy).split(";")]
    assert rules == [
        "default-src 'none'", f"style-src 'sha256-{digests[0]}'", f"script-src 'sha256-{digests[1]}'", "base-uri 'none'",
        "form-action 'none'",
    ]  # fmt: skip
    types = [a.get("type") for tag, a in page.elements if tag == "script"]
    assert types == ["application/json", None]


def test_it_can_be_read_without_sight(binary, tmp_path):
    X, y, result = binary
    page = written(tmp_path / "p.html", result, data=(X, y))
    assert {"header", "nav", "main", "footer", "h1", "h2"} <= page.tags
    pictures = [k for k, (tag, a) in enumerate(page.elements) if tag == "svg" and a.get("role") == "img"]
    assert pictures
    assert all(page.elements[k + 1][0] == "title" for k in pictures)
    assert all("role" in a or a.get("aria-hidden") == "true" for tag, a in page.elements if tag == "svg")
    identifiers = [a["id"] for _, a in page.elements if "id" in a]
    assert len(set(identifiers)) == len(identifiers)
    named = {a["for"] for tag, a in page.elements if tag == "label"}
    assert named == {a["id"] for tag, a in page.elements if tag == "input"}


def test_rows_of_the_data_are_not_in_a_report_or_a_model(result, tmp_path):
    X, y = result.problem.X, result.problem.y
    write_page(tmp_path / "p.html", result, data=(np.asarray(X), np.asarray(y)))
    text = (tmp_path / "p.html").read_text(encoding="utf-8")
    fenchel.save(tmp_path / "m", fenchel.Model.from_result(result))
    model = (tmp_path / "m").read_bytes()
    for canary in CANARIES:
        assert repr(canary)[:9] not in text
        assert repr(canary)[:9].encode() not in model
        assert np.float64(canary).tobytes() not in model
        assert np.float32(canary).tobytes() not in model


def test_no_element_or_attribute_comes_from_a_string(binary, tmp_path):
    """Every place that takes a string, and more than sixty strings that try: the elements are those of harmless ones."""
    X, y, result = binary
    path = fenchel.path(result.problem, [0.1, 1.0], tol=1e-2)

    def elements(text: str, harmless: str):
        said = text.replace("\ud800", "?")  # neither a docstring nor a digest can have that one

        class Own(fenchel.losses.Logistic):
            __doc__ = said

            def __repr__(self):
                return said

        model = fenchel.Model.from_result(result, labels=(text, harmless), feature_names=[text, "b", text])
        hostile = replace(
            result, solver=text, reason=text, settings={text: text, "solvers": (text,)},
            certificate=replace(result.certificate, basis=text),
        )  # fmt: skip
        own = replace(hostile, problem=fenchel.Problem(X, y, loss=Own(), alpha=0.1, fit_intercept=True))
        write_page(
            tmp_path / "q.html", [hostile, Fit(model, [hostile])], title=text, names=[text, text], feature_names=[text] * 3,
            regularization_path=PathChoice(path, 0.1, scores=[1.0, 2.0], score_name=text), settings={text: text},
        )  # fmt: skip
        pages = [(tmp_path / "q.html").read_text(encoding="utf-8")]
        write_page(tmp_path / "q.html", model, title=text, data=(X, np.where(y > 0, harmless, text)))
        pages.append((tmp_path / "q.html").read_text(encoding="utf-8"))
        write_page(tmp_path / "q.html", own, title=text)
        pages.append((tmp_path / "q.html").read_text(encoding="utf-8"))
        return [Page(one) for one in pages]

    shape = [page.skeleton() for page in elements("x", "zz")]
    assert len(set(PAYLOADS)) >= 60
    for payload in PAYLOADS:
        pages = elements(payload, "zz")
        for page, wanted in zip(pages, shape, strict=True):
            found = page.skeleton()
            assert [tag for tag, _ in found] == [tag for tag, _ in wanted], payload
            strange = [(a, b) for a, b in zip(found, wanted, strict=True) if a != b]
            assert not strange, (payload, strange[:1])
        assert clean(payload) in pages[0].text
        assert pages[0].data["runs"][0]["name"] == clean(payload)


def test_strange_traces_still_give_a_page(result, tmp_path):
    nan, inf = math.nan, math.inf
    rows = [(nan, nan), (1.0, -inf), (1.0, nan), (inf, 0.0), (0.5, 0.5), (0.5, 0.6), (1e-300, -1e300)]
    odd = tuple(TracePoint(k, float(k), 0.1 * k, primal, dual) for k, (primal, dual) in enumerate(rows))
    for trace in ((), odd[:1], odd):
        for certificate in (
            result.certificate,
            Certificate(0.0, -inf, "derived", inf),
            Certificate(0.0, 0.0, "derived"),
            Certificate(-1e-300, -2e300, "approximate max-oracle", 1e-3),
            Certificate(1.0, 1.0 + 1e-16, "conjugate", 1e-15),
        ):
            for status in (result.status, Status.NONFINITE):
                changed = replace(result, trace=trace, certificate=certificate, status=status)
                page = written(tmp_path / "p.html", changed)
                places = [v for tag, a in page.elements for k, v in a.items() if k in COORDINATES]
                assert not [v for v in places if "nan" in str(v) or "inf" in str(v)]


COORDINATES = {"points", "cx", "cy", "x1", "x2", "y1", "y2", "x", "y", "width", "height"}


def test_a_page_stays_small(result, tmp_path):
    long = tuple(TracePoint(k, float(k), 0.1 * k, 90.0 + 1.0 / (k + 1), -1.0 / (k + 1)) for k in range(50_000))
    runs = [replace(result, trace=long) for _ in range(12)]
    write_page(tmp_path / "p.html", runs)
    assert (tmp_path / "p.html").stat().st_size < 1_000_000
    page = Page((tmp_path / "p.html").read_text())
    assert len(page.numbers("primal")) == 12
    for number in range(8):
        steps = page.data["tables"][f"trace{number}"]["iterations"]
        assert steps[0] == 0
        assert steps[-2:] == [49_999, result.n_iter]


# ---- drawing


def test_thinning_keeps_both_ends():
    for count in (1, 2, 7, 240, 241, 100_000):
        kept = thinned(count, MOST_POINTS)
        assert kept[0] == 0
        assert kept[-1] == count - 1
        assert len(kept) == len(set(kept)) <= MOST_POINTS


def places(svg: str) -> np.ndarray:
    line = re.search(r'<polyline points="([^"]*)"', svg).group(1)
    return np.array([[float(v) for v in pair.split(",")] for pair in line.split()])


def test_a_log_scale_is_one():
    """Equal ratios are equal distances, and smaller is lower on the page."""
    tables = {"t": {"x": [float(k) for k in range(9)], "y": [10.0**-k for k in range(9)]}}
    picture = chart("c", [Curve("gap", 0, "t", "x", "y")], tables, Axes("x", "y", y_log=True))
    steps = np.diff(places(picture.svg)[:, 1])
    assert np.allclose(steps, steps[0], atol=0.11)
    assert steps[0] > 0
    tables["t"]["y"][4] = 0.0  # has no place on it
    assert len(places(chart("c", [Curve("gap", 0, "t", "x", "y")], tables, Axes("x", "y", y_log=True)).svg)) == 8


@pytest.mark.parametrize(
    "values",
    [[0.0, 1.0], [1e-9, 3e-9], [0.30026503, 0.30026504], [-5e7, 2e8], [7.0, 7.0], [0.0, 0.0], [1e-300, 1e300]],
    ids=str,
)
def test_ticks_are_where_they_say(values):
    scale = linear(values, 0.0, 400.0)
    marks = [(place, re.sub("<[^>]*>", "", text)) for place, text in scale.ticks()]
    assert len(marks) >= 2
    read = [float(text.replace("−", "-")) for _, text in marks]
    assert len(set(read)) == len(read)
    for (place, _), value in zip(marks, read, strict=True):
        assert abs(scale.place(value) - place) < 0.5
        assert -0.5 < place < 400.5
    if min(values) > 0.0:
        assert len(logarithmic(values, 0.0, 400.0).ticks()) >= 2


def test_the_demo_leaves_a_model_and_a_page(tmp_path):
    demo = Path(__file__).parent.parent / "examples" / "demo.py"
    run = subprocess.run([sys.executable, demo], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "CERTIFIED" in run.stdout
    assert "LinearSVC" in run.stdout
    assert str(tmp_path / "demo.html") in run.stdout
    model = fenchel.load(tmp_path / "demo.fenchel")
    assert Page((tmp_path / "demo.html").read_text()).numbers("primal") == [model.certificate.primal]
    assert model.certificate.relative_gap <= 1e-6


def test_it_says_which_signs_are_proven(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    problem = fenchel.Problem(X, X[:, 0] - X[:, 1], loss="squared", regularizer="elastic_net", alpha=0.3)
    text = written(tmp_path / "p.html", fenchel.solve(problem, tol=1e-9)).text
    best = fenchel.solve(problem, tol=1e-13).coef
    positive, negative, zero = (int(np.sum(part)) for part in (best > 0, best < 0, best == 0))
    assert f"{positive} weights are positive, {negative} negative and {zero} zero; 0 are open." in text
