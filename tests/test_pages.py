"""README and documentation: what they show happens, what they link to is there, what they claim is in the tables."""

from __future__ import annotations

import math
import re

import pytest

import fenchel
from documentation import ROOT, blocks, run_page, same, written
from fenchel.cli import COMMANDS

PAGES = written()
RUNNABLE = [page for page in PAGES if any(block.kind in ("python", "console") for block in blocks(page))]
LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)")


def name(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", RUNNABLE, ids=name)
def test_what_a_page_shows_is_what_happens(page, tmp_path, monkeypatch):
    if page.name in ("quickstart.md", "messy-table.md"):
        pytest.importorskip("pyarrow")  # they read CSV files
    monkeypatch.chdir(tmp_path)
    run_page(page)


def test_the_comparison_can_fail():
    assert same("gap 6.81e-09 (relative 1e-07)", "gap 7e-9 (relative 2.5e-8)\n")
    assert not same("CERTIFIED 0.06607", "CERTIFIED 0.06617")
    assert not same("CERTIFIED 1", "STALLED 1") and not same("one", "one\ntwo") and not same("1 1", "1")
    assert same("a\n...\nHOLDS", "a\nb 17\nHOLDS") and not same("a\n...\nHOLDS", "a\nb\nFAILS")


def test_every_command_on_a_page_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        text = page.read_text(encoding="utf-8")
        quoted = [*re.findall(r"`([^`\n]+)`", text), *(b.text for b in blocks(page) if b.kind in ("sh", "console"))]
        for command in "\n".join(quoted).splitlines():
            if found := re.match(r"(?:\$ )?make ([a-z-]+)", command):
                assert found[1] in targets, f"{name(page)}: {command}"
            if found := re.match(r"(?:\$ )?fenchel ([a-z-]+)", command):
                assert found[1] in COMMANDS, f"{name(page)}: {command}"


@pytest.mark.parametrize(
    "page", [*PAGES, *(ROOT / n for n in ("CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md", "experiments/README.md"))],
    ids=name,
)  # fmt: skip
def test_links_within_the_repository_resolve(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        path = target.partition("#")[0]
        if re.match(r"[a-z]+:", target) or not path or path.startswith(("gallery/", "../gallery/", "api/")):
            continue  # elsewhere, or made by the build, which checks them
        assert (page.parent / path).exists(), f"{name(page)} links to {target}"


def test_files_that_the_theory_names_exist():
    text = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    known = {path.name for folder in ("src/fenchel", "experiments") for path in (ROOT / folder).rglob("*.py")}
    named = re.findall(r"`((?:\w+/)*\w+\.py)`", text)
    assert len(named) > 30
    for file in named:
        assert file.rpartition("/")[2] in known, file
        if "/" in file:
            assert (ROOT / "src" / "fenchel" / file).exists() or (ROOT / file).exists(), file
    for folder in re.findall(r"`(\w+)/`", text):
        assert (ROOT / "src" / "fenchel" / folder).is_dir(), folder


def test_the_ratios_of_the_readme_are_those_of_the_tables():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tables = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8").split("## Other strengths")
    assert len(tables) == 2
    for table in tables:
        rows = [line.split("|")[1:-1] for line in table.splitlines()]
        tasks = [
            row for row in rows if len(row) == 8 and "-" in row[0] and re.fullmatch(r"[\d.]+e?-?\d* *", row[1].strip())
        ]
        assert len(tasks) > 50
        for column in (4, 7):
            ratios = [float(row[column]) for row in tasks if row[column].strip() != "-"]
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            assert re.search(rf"\| ?[^|]*{mean:.2f} \({len(ratios)} tasks", readme), (mean, len(ratios))
        behind = {row[0].strip().removesuffix("+b") for row in tasks if "1." in row[4] + row[7]}
        for task in behind:
            assert task in readme, f"the README does not say that {task} is slower than a peer"


def test_the_readme_counts_solvers_rightly_and_names_the_test_command():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"| solvers | {len(fenchel.solvers.SOLVERS)}, " in readme
    assert "make test" in readme and (ROOT / ".ci" / "run").read_text().rstrip().endswith("make test")


def test_the_terminal_page_has_the_help_of_every_command():
    text = (ROOT / "docs" / "terminal.md").read_text(encoding="utf-8")
    assert re.findall(r"^```{program-help} *(.*)$", text, re.MULTILINE) == ["", *COMMANDS]
    assert re.findall(r"^## fenchel (.+)$", text, re.MULTILINE) == list(COMMANDS)


def test_the_readme_names_every_command():
    row = next(
        line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("| terminal")
    )
    for command in COMMANDS:
        assert f"`{command}`" in row.replace("fenchel ", ""), command
