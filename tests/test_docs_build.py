"""The documentation builds without warnings and without network, and says what the code says."""

from __future__ import annotations

import doctest
import html
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import api
import pytest
import registry
import tiny_problems as tiny

import fenchel
from fenchel.errors import IncompatibleError
from fenchel.selection import requirements
from test_pages_fit import WIDTHS, opens_well
from test_report_browser import browser  # noqa: F401

ROOT = Path(__file__).parent.parent
NEEDED = ("sphinx", "pydata_sphinx_theme", "myst_parser", "numpydoc", "sphinx_gallery", "matplotlib")
PARTS = ["docs", "examples", "benchmarks/README.md", "experiments/README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
EXAMPLES = sorted(p.stem for p in (ROOT / "examples").glob("*.py") if p.stem not in ("demo", "ordering"))
MODULES = api.modules()
pytestmark = pytest.mark.xdist_group("docs")  # they are built once


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built pages; the gallery's examples are run on the way, and an error in one of them ends the build."""
    for package in NEEDED:
        pytest.importorskip(package)
    place = tmp_path_factory.mktemp("docs")
    for part in PARTS:
        (place / part).parent.mkdir(exist_ok=True)
        if (ROOT / part).is_dir():
            built = shutil.ignore_patterns("_build", "gallery", "names", "fenchel*.rst", "__pycache__")
            shutil.copytree(ROOT / part, place / part, ignore=built)
        else:
            shutil.copy(ROOT / part, place / part)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", place / "docs", place / "html"]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, text=True, capture_output=True, timeout=800
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return place / "html"


PAGES_TO_LOOK_AT = [
    "index.html", "quickstart.html", "messy-table.html", "guide.html", "terminal.html", "theory.html", "benchmarks.html",
    "architecture.html", "howto/proofs.html", "howto/migrate.html", "howto/own-loss.html", "howto/scale-out.html",
    "howto/troubleshooting.html",
]  # fmt: skip


@pytest.mark.parametrize("name", PAGES_TO_LOOK_AT)
def test_pages_fit_wide_and_narrow_windows(name, site, browser):  # noqa: F811
    for width in WIDTHS:
        opens_well(browser, site / name, width)


def text_of(page: Path) -> str:
    """What a reader sees, markup removed."""
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_a_page_and_a_docstring(module, site):
    assert inspect.getdoc(importlib.import_module(module)), f"{module} does not say what it is"
    listing = text_of(site / "api" / f"{module}.html")
    for name in MODULES[module]:
        thing = getattr(importlib.import_module(module), name)
        page = "fenchel.path_function" if (module, name) == ("fenchel", "path") else f"{module}.{name}"
        assert name in listing and (site / "api" / "names" / f"{page}.html").exists(), f"{module}.{name} has no page"
        if callable(thing):
            assert inspect.getdoc(thing), f"{module}.{name} has no docstring"


def test_all_public_packages_are_in_the_reference():
    packages = {p.parent.name for p in (ROOT / "src" / "fenchel").glob("*/__init__.py")}
    # Their public names are listed under `fenchel`, or they have none.
    internal = {"certificates", "cli", "cluster", "compile", "data", "estimators", "files", "kernels", "mirror_maps"}
    internal |= {"models", "oracles", "problems", "readers", "selection", "sequences", "solving", "tables"}
    assert {f"fenchel.{name}" for name in packages - internal} <= set(MODULES)
    estimators = importlib.import_module("fenchel.estimators").__all__
    assert set(estimators) <= set(MODULES["fenchel"])


def test_public_methods_have_docstrings():
    protocol = {name for module in api.PROTOCOLS for name in api.public(importlib.import_module(module))}
    protocol |= set(re.findall(r"\b([a-z_]+)\(", " ".join(importlib.import_module(m).__doc__ for m in api.PROTOCOLS)))
    lacking = []
    for module, names in MODULES.items():
        for name in names:
            cls = getattr(importlib.import_module(module), name)
            for key, member in vars(cls).items() if inspect.isclass(cls) else ():
                called = inspect.isfunction(member) or isinstance(member, (property, classmethod, staticmethod))
                known = key.startswith(("_", "set_")) or key in protocol | LOSS_METHODS
                if called and not known and not inspect.getdoc(getattr(cls, key)):
                    lacking.append(f"{module}.{name}.{key}")
    assert not lacking


# Methods of losses that the protocols describe in words, or that are the same for all of them
LOSS_METHODS = {"valid_target", "parameters_ok", "smoothness", "nonnegative", "largest_slope", "free_intercepts"}


@pytest.mark.parametrize("step", ["docstrings", "tables"])
def test_the_steps_of_the_build_do_what_their_examples_say(step):
    pytest.importorskip("docutils")
    assert doctest.testmod(importlib.import_module(step)) == (0, 1 if step == "tables" else 2)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_ran_and_drew_a_picture(example, site):
    page = text_of(site / "gallery" / f"{example}.html")
    assert list((site / "_images").glob(f"sphx_glr_{example}_*.png")), "no picture"
    assert "certified" in page.lower() or example == "online_learning"
    assert not re.search(r"\w+Warning:|Traceback", page)
    assert len((ROOT / "examples" / f"{example}.py").read_text().splitlines()) <= 45


def test_pages_need_no_network(site):
    loads = re.compile(
        r"<(?:script|img|iframe|source)[^>]+src=\"(?:https?:)?//|<link[^>]+href=\"(?:https?:)?//(?![^>]*canonical)"
    )
    for page in [*site.glob("*.html"), *site.glob("howto/*.html"), site / "gallery" / "top_k.html"]:
        assert not loads.search(page.read_text(encoding="utf-8")), page.name
    assert "<math" in (site / "theory.html").read_text(encoding="utf-8"), "formulas are drawn by the browser"


def test_included_pages_are_whole(site):
    for page, file in (("experiments", "experiments/README.md"), ("benchmarks", "benchmarks/README.md")):
        cells = re.findall(r"\| (\w[\w+-]*-[\w+-]+) \|", (ROOT / file).read_text(encoding="utf-8"))
        shown = text_of(site / f"{page}.html")
        assert len(cells) > 5 and all(cell in shown for cell in cells)
    assert "The certified core." in text_of(site / "changelog.html")
    assert "A loss of several scores" in text_of(site / "contributing.html")


def table(site, first: str, words: tuple[str, ...]) -> dict[str, list[str]]:
    """The rows of the table of the guide whose header begins with `first` and contains the words."""
    source = (site / "guide.html").read_text(encoding="utf-8")
    for body in re.findall(r"<table.*?</table>", source, re.DOTALL):
        rows = [
            [
                html.unescape(re.sub(r"<[^>]+>", "", cell)).strip()
                for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)
            ]
            for row in re.findall(r"<tr.*?</tr>", body, re.DOTALL)
        ]
        if rows[0][0] == first and all(word in rows[0] for word in words):
            yield {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows[1:]}


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (("slope",), lambda: fenchel.losses.LOSSES),
        (("exact dual step",), lambda: fenchel.multiclass.LOSSES),
        (("needs queries (groups)",), lambda: fenchel.measures.MEASURES),
        (("R(w)",), lambda: fenchel.regularizers.REGULARIZERS),
    ],
)
def test_the_guide_lists_what_is_registered(site, words, known):
    (rows,) = table(site, "name", words)
    assert list(rows) == list(known())


def test_the_guide_lists_all_solvers_in_both_tables(site):
    names = {cls.__name__ for cls in fenchel.solvers.SOLVERS.values()}
    by_needs, by_cost = ({n for key in t for n in key.split(", ")} for t in (*table(site, "solver", ("reference",)),
                                                                          *table(site, "solver", ("rate",))))  # fmt: skip
    assert by_needs == by_cost == names


def test_the_guide_says_who_fits_as_the_solvers_do(site):
    """Every cell of the scalar matrix, against what a solve would refuse, with the losses sorted by hand."""
    matrix = {
        row: {penalty: cell for names, cell in cells.items() for penalty in names.split(", ")}
        for row, cells in next(t for t in table(site, "solver", ("l1", "q_norm"))).items()
    }
    losses = [name for name in fenchel.losses.LOSSES if name != "moreau"]
    smooth = {
        "exponential",
        "huber",
        "logistic",
        "poisson",
        "power_hinge",
        "smoothed_hinge",
        "squared",
        "squared_hinge",
    }
    steep = {"exponential", "poisson", "power_hinge", "squared", "squared_hinge"}
    meaning = {
        "all": set(losses),
        "none": set(),
        "differentiable": smooth,
        "nonsmooth": set(losses) - smooth,
        "bounded slopes": set(losses) - steep,
        "hinge": {"hinge"},
    }
    for row, cells in matrix.items():
        for penalty in fenchel.regularizers.REGULARIZERS:
            taken = {name for name in losses if accepts(row, name, penalty)}
            assert taken == meaning[cells[penalty]], (row, penalty, cells[penalty])


def accepts(solver: str, loss: str, penalty: str) -> bool:
    try:
        requirements.require_fit(getattr(fenchel.solvers, solver)(), tiny.scalar(loss, penalty))
    except IncompatibleError:
        return False
    return True


def test_solve_refuses_and_accepts_as_the_guide_says():
    assert fenchel.solve(tiny.scalar("logistic", "l1"), "working_set").converged
    with pytest.raises(IncompatibleError, match="Solvers that can: Bundle"):
        fenchel.solve(tiny.scalar("hinge", "l1"), "working_set")


def test_tables_of_the_other_families_name_only_what_exists():
    for rows in (registry.vector_fits(), registry.measure_fits(), registry.structure_fits(), registry.log_fits()):
        known = {
            *fenchel.multiclass.LOSSES,
            *fenchel.measures.MEASURES,
            *fenchel.structured.MODELS,
            "all",
            "none",
            "all but",
        }
        words = {w for row in rows[1:] for cell in row[1:] for w in re.findall(r"all but|\w+", cell.replace("`", ""))}
        assert words <= known | {"differentiable"}
        assert rows[1:], "no solver at all"
