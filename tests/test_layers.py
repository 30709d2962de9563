"""The house plan, enforced: who may import whom, registries that forget nobody, docstrings, no traces of a machine."""

import ast
import importlib
import inspect
import re
import subprocess
from pathlib import Path

import pytest
from layers import LAYER, LAYERS, WITHIN_A_LAYER, allowed, imported, part_of

import fenchel
from fenchel import losses, regularizers, solvers

ROOT = Path(fenchel.__file__).parent
REPOSITORY = ROOT.parent.parent
SHELLS = set(LAYERS[-1][1])  # they may use the package as a user does
FILES = sorted(ROOT.rglob("*.py"))
MODULES = [".".join(file.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__") for file in FILES]
TOP = {"fenchel", "fenchel.__main__"}
IMPORTABLE = [module for module in MODULES if module != "fenchel.__main__"]  # importing that runs the command line
GRAPH = {module: set(imported(file)) for file, module in zip(FILES, MODULES, strict=True)}


def test_every_part_has_a_layer():
    assert {part_of(module) for module in MODULES if module not in TOP} == set(LAYER)
    assert sum(1 for file in ROOT.glob("*.py") if not file.name.startswith("__")) <= 10


@pytest.mark.parametrize("module", [m for m in MODULES if m not in TOP])
def test_imports_point_to_a_lower_layer(module):
    own = part_of(module)
    for target in GRAPH[module]:
        other = part_of(target)
        if other in LAYER:
            assert allowed(own, other), f"{module} (layer {LAYER[own]}) imports {target} (layer {LAYER[other]})"
        else:
            assert own in SHELLS, f"{module} imports the top of the package ({target}): name the module instead"


def test_imports_within_a_layer_are_still_needed_and_make_no_cycle():
    used = {(part_of(module), part_of(target)) for module in MODULES for target in GRAPH[module]}
    assert used >= WITHIN_A_LAYER
    assert all(LAYER[who] == LAYER[whom] for who, whom in WITHIN_A_LAYER)
    left = set(WITHIN_A_LAYER)
    while left:
        first = {pair for pair in left if not any(other[0] == pair[1] for other in left)}
        assert first, f"parts that import each other in a cycle: {sorted(left)}"
        left -= first


def test_only_the_top_and_the_command_line_know_the_cluster():
    knowing = {part_of(m) for m in MODULES if any(part_of(target) == "cluster" for target in GRAPH[m])}
    assert knowing <= {"", "cli", "cluster"}


def test_imports_by_string_and_within_functions_are_seen(tmp_path):
    file = tmp_path / "one.py"
    file.write_text(
        "from typing import TYPE_CHECKING\nfrom importlib import import_module\n"
        "if TYPE_CHECKING:\n    from fenchel.cluster import Dask\n"
        "def f():\n    from fenchel.solvers import bundle\n    return import_module('fenchel.cluster.problem')\n"
        "def g(name):\n    return import_module(f'fenchel.oracles.{name}')\n"
    )
    assert set(imported(file)) == {"fenchel.solvers.bundle", "fenchel.cluster.problem", "fenchel.oracles"}


def test_the_certificate_owes_nothing_to_kernels_engines_and_solvers():
    seen, todo = set(), {"certificates"}
    while todo:
        current = todo.pop()
        seen.add(current)
        todo |= {part_of(target) for m in MODULES if part_of(m) == current for target in GRAPH[m]} - seen
    assert seen.isdisjoint({"kernels", "engines", "oracles", "solvers", "selection", "solving", "cluster"})
    assert all(LAYER[part] <= 2 or part == "certificates" for part in seen if part)


@pytest.mark.parametrize(
    ("package", "registry"),
    [
        (losses, losses.LOSSES),
        (regularizers, regularizers.REGULARIZERS),
        (solvers, solvers.SOLVERS),
    ],
    ids=["losses", "regularizers", "solvers"],
)
def test_every_public_class_is_registered_and_exported(package, registry):
    marks = {losses: "value", regularizers: "conjugate", solvers: "iterates"}
    abstract = {
        "Regularizer",
        "ConstraintSet",
        "Ball",
        "FeatureWeighted",
        "Nonconvex",
        "Envelope",
        "Solver",
        "Loss",
        "FullLoss",
    }  # bases, and a convex envelope for bounds; the last two are protocols, for annotations
    found = {}
    for module in (importlib.import_module(name) for name in MODULES if f"{name}.".startswith(f"{package.__name__}.")):
        for name, cls in inspect.getmembers(module, inspect.isclass):
            own = cls.__module__ == module.__name__ and not name.startswith("_") and name not in abstract
            if own and callable(getattr(cls, marks[package], None)):
                found[name] = cls
    assert found
    assert set(found.values()) == set(registry.values())
    assert set(found) <= set(package.__all__)
    for key, cls in registry.items():
        assert key.replace("_", "") == cls.__name__.lower()


def exporting():
    return [module for module in IMPORTABLE if hasattr(importlib.import_module(module), "__all__")]


@pytest.mark.parametrize("module", exporting())
def test_all_is_true_complete_and_sorted(module):
    loaded = importlib.import_module(module)
    names = loaded.__all__

    def order(name):  # constants, then classes, then functions, as ruff's isort-style rule has it
        return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2, name)

    assert names == sorted(names, key=order)
    assert len(set(names)) == len(names)
    for name in names:
        assert hasattr(loaded, name)


@pytest.mark.parametrize("module", IMPORTABLE)
def test_every_public_name_has_a_docstring(module):
    tree = ast.parse(FILES[MODULES.index(module)].read_text())
    assert ast.get_docstring(tree), f"{module} has no docstring"
    exported = getattr(importlib.import_module(module), "__all__", None)
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            assert exported is None or node.name in exported, f"{module}.{node.name} is public, but not in __all__"


def public():
    for module in exporting():
        for name in importlib.import_module(module).__all__:
            yield module, name


@pytest.mark.parametrize(("module", "name"), list(public()))
def test_every_exported_name_has_a_docstring_of_its_own(module, name):
    thing = getattr(importlib.import_module(module), name)
    if inspect.isclass(thing) or inspect.isfunction(thing) or inspect.ismodule(thing):
        text = (thing.__doc__ or "").strip()
        assert text, f"{module}.{name} has no docstring"
        assert not text.startswith(f"{name}("), f"{module}.{name} has only a generated docstring"


@pytest.mark.parametrize(
    "file", [file for file in FILES if file.name == "settings.py" and file.parent.name != "report"]
)
def test_every_tuning_number_is_documented_and_cannot_change(file):
    lines = file.read_text().splitlines()
    fields = [number for number, line in enumerate(lines) if re.match(r" {4}[a-z]\w* = ", line)]
    assert fields
    for number in fields:  # of numbers that belong together the first one has the comment
        assert lines[number - 1].startswith("    # ") or number - 1 in fields, f"{file}: {lines[number].strip()}"
    settings = importlib.import_module(".".join(file.relative_to(ROOT.parent).with_suffix("").parts)).SETTINGS
    name, other = lines[fields[0]].split()[0], type(settings)
    with pytest.raises(AttributeError, match="do not change"):
        setattr(settings, name, 0)
    assert getattr(other(**{name: "other"}), name) == "other" != getattr(settings, name)
    with pytest.raises(TypeError, match="no tuning number 'nonsense'"):
        other(nonsense=1)


def test_no_tracked_file_mentions_a_machine():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    places = re.compile("/" + r"(?:home|Users|root|work)/\w|" + "/" + r"tmp/(?!\W)|[A-Z]:" + r"\\Users")
    for name in filter(None, listed.stdout.split("\0")):
        file = REPOSITORY / name
        if file.is_file() and file.suffix in {
            ".py",
            ".md",
            ".toml",
            ".cfg",
            ".yml",
            ".yaml",
            ".txt",
            ".html",
            ".css",
            ".js",
            "",
        }:
            found = places.search(file.read_text(errors="replace"))
            assert not found, f"{name} mentions {found.group()}"
