"""The package as it is published: what is in it, what installing and importing it do (promise: nothing)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BUILD = "import sys, hatchling.build as b; print(b.build_wheel(sys.argv[1])); print(b.build_sdist(sys.argv[1]))"
TINY = """
import fenchel, pathlib, sys
assert str(pathlib.Path(fenchel.__file__)).startswith(sys.argv[1]), fenchel.__file__
result = fenchel.solve(fenchel.Problem([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1, -1, 1], loss="hinge", alpha=0.1))
fenchel.save("small.fenchel", result)
assert fenchel.load("small.fenchel").versions["fenchel"] == fenchel.__version__
print(result.status.name)
"""
WATCH = """
import sys
sys.dont_write_bytecode = True
seen = []
WATCHED = ("socket.", "subprocess.", "os.fork", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.remove",
           "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "shutil.", "tempfile.", "urllib.")
def hook(event, arguments):
    if event == "open":
        name, mode, flags = arguments
        if isinstance(mode, str) and set(mode) & set("wax+") or isinstance(flags, int) and flags & 3:
            seen.append((event, str(name)))
    elif event.startswith(WATCHED):
        seen.append((event, str(arguments)[:200]))
sys.addaudithook(hook)
"""


def run(code, *arguments, cwd, **more):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | more
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)], cwd=cwd, env=environment, text=True,
        capture_output=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(wheel, sdist), built by the backend alone."""
    folder = tmp_path_factory.mktemp("dist")
    return [folder / name for name in run(BUILD, folder, cwd=ROOT).split()]


def test_the_wheel_holds_the_package_and_nothing_else(built):
    names = zipfile.ZipFile(built[0]).namelist()
    source = {p.relative_to(ROOT / "src").as_posix() for p in (ROOT / "src" / "fenchel").rglob("*") if p.is_file()}
    package = {name for name in names if ".dist-info/" not in name}
    assert package == {name for name in source if "__pycache__" not in name}
    assert "fenchel/py.typed" in package
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {Path(name).suffix for name in package} <= {".py", ".typed", ".css", ".js"}


def test_the_source_archive_is_whole_and_builds_the_same_wheel(built, tmp_path):
    with tarfile.open(built[1]) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
        archive.extractall(tmp_path, filter="data")
    for needed in ("LICENSE", "README.md", "pyproject.toml", "constraints.txt", "tests/conftest.py", "docs/conf.py"):
        assert needed in names
    assert not [
        name for name in names if re.search(r"__pycache__|/out/|\.venv|\.git/|docs/(gallery|_build|api/names)", name)
    ]
    assert not [name for name in names if re.search(r"\.(csv|svm|xz|gz|bz2|npz|parquet|arff|html)$", name)], "data"
    assert max(p.stat().st_size for p in tmp_path.rglob("*") if p.is_file()) < 300_000
    (folder,) = tmp_path.iterdir()
    again = tmp_path / run(BUILD, tmp_path, cwd=folder).split()[0]
    first, second = (zipfile.ZipFile(wheel) for wheel in (built[0], again))
    assert {i.filename: i.CRC for i in first.infolist()} == {i.filename: i.CRC for i in second.infolist()}


def test_installing_runs_nothing(built):
    assert PROJECT["build-system"] == {
        "requires": PROJECT["build-system"]["requires"],
        "build-backend": "hatchling.build",
    }
    assert [Requirement(text).name for text in PROJECT["build-system"]["requires"]] == ["hatchling"]
    assert not [part for part in ("hooks", "force-include") if part in str(PROJECT["tool"]["hatch"])]
    assert not list(ROOT.glob("setup.*")) and not list(ROOT.glob("hatch_build.py"))
    assert not [name for name in zipfile.ZipFile(built[0]).namelist() if name.endswith(".pth") or ".data/" in name]


def test_the_installed_wheel_solves_a_problem(built, tmp_path):
    place = tmp_path / "site"
    options = ["--quiet", "--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check", "--target", place]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, built[0]], check=True, timeout=300)
    assert list(place.glob("bin/fenchel*"))
    assert run(TINY, place, cwd=tmp_path, PYTHONPATH=str(place)) == "CERTIFIED\n"


@pytest.mark.parametrize(
    "what", ["fenchel", "fenchel.cli", "fenchel.solving.solve, fenchel.estimators, fenchel.report"]
)
def test_importing_opens_no_socket_writes_no_file_and_starts_no_process(what, tmp_path):
    code = f"{WATCH}import {what}\nprint(seen)"
    assert run(code, cwd=tmp_path, PYTHONPATH=str(ROOT / "src")) == "[]\n"
    assert not list(tmp_path.iterdir())


def test_the_watcher_of_imports_sees_what_it_is_to_see(tmp_path):
    deeds = "import socket, subprocess\nopen('x', 'w').close()\nsocket.socket().close()\nsubprocess.run(['true'])\n"
    seen = run(f"{WATCH}{deeds}print(seen)", cwd=tmp_path)
    assert "'open'" in seen and "socket.__new__" in seen and "subprocess.Popen" in seen


def pins():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    found = [re.fullmatch(r"([a-z0-9-]+)==([\w.!+]+)", line) for line in lines]
    assert all(found), "every line is an exact pin"
    return {match[1]: match[2] for match in found}


def test_every_dependency_has_a_lower_bound_and_a_pin_that_meets_it():
    extras = PROJECT["project"]["optional-dependencies"]
    texts = [*PROJECT["build-system"]["requires"], *PROJECT["project"]["dependencies"]]
    texts += [text for name, more in extras.items() if name != "bench" for text in more]
    pinned = pins()
    for requirement in map(Requirement, texts):
        assert any(part.operator in (">=", "~=") for part in requirement.specifier), f"{requirement} has no lower bound"
        version = pinned.get(canonicalize_name(requirement.name))
        assert version is not None, f"constraints.txt does not pin {requirement.name}: make pin"
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement} is pinned to {version}"
    assert all(Requirement(text).specifier for text in extras["bench"])


def test_pins_meet_what_pinned_packages_ask_of_each_other():
    from importlib.metadata import PackageNotFoundError, distribution

    pinned = pins()
    for name, version in pinned.items():
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue  # of an extra that is not installed here
        if package.version != version:
            continue
        for requirement in map(Requirement, package.requires or []):
            needed = canonicalize_name(requirement.name)
            if needed in pinned and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
                assert requirement.specifier.contains(pinned[needed], prereleases=True), (
                    f"{name} {version}: {requirement}"
                )
