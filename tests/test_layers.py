"""The house plan, enforced: who may import whom, registries that forget nobody, docstrings, no traces of a machine."""

import ast
import importlib
import inspect
import re
import subprocess
from pathlib import Path

import pytest

import fenchel
from fenchel import losses, regularizers, solvers

ROOT = Path(fenchel.__file__).parent
REPOSITORY = ROOT.parent.parent
LAYERS = [
    {
        "deadline",
        "errors",
        "result",
        "result_html",
        "typed",
        "compile_clock",
        "jit",
        "jit_cache",
        "jit_library",
        "kernel_sources",
        "whole_file",
        "model_format",
    },
    {
        "projections",
        "losses",
        "multiclass",
        "measures",
        "structured",
        "regularizers",
        "data",
        "metrics",
        "sequence_metrics",
    },
    {"problem", "vector_problem", "set_problem", "structured_problem", "kernels", "intercepts"},
    {
        "certify",
        "certify_passes",
        "dual_point",
        "vector_certify",
        "tangent_certify",
        "set_certify",
        "structured_certify",
        "marginal_certify",
    }
    | {"engines"},
    {"oracle", "local_dual", "vector_oracle", "set_oracle", "structured_oracle"},
    {"solvers", "choose", "compat", "pace"},
    {"solve", "run", "run_state", "checkpoint", "checkpoint_format", "cluster", "instances", "kernel_methods"},
    {"estimators", "model", "model_check", "model_file", "model_parts"}
    | {"structured_model", "structured_check", "structured_file", "model_plain", "online_model"}
    | {"kernel_model", "kernel_features", "kernel_file"},
    {"report", "cli"},
]
LAYER = {part: number for number, parts in enumerate(LAYERS) for part in parts}
FREE = {"__init__", "__main__"}
SHELLS = LAYERS[-1]  # they may use the package as a user does
FILES = sorted(ROOT.rglob("*.py"))
MODULES = [".".join(file.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__") for file in FILES]


def part(module):
    """The room of the house: fenchel.losses.hinge -> losses."""
    pieces = module.split(".")
    return pieces[1] if len(pieces) > 1 else "__init__"


def exists(module):
    return module in MODULES


def for_types_only(node):
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def walk(node):
    """Every node that can run."""
    for child in ast.iter_child_nodes(node):
        if not for_types_only(child):
            yield child
            yield from walk(child)


def imports(file, module):
    """Every fenchel module that the file imports, anywhere in it."""
    for node in walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".") if file.stem == "__init__" else module.split(".")[:-1]
                base = ".".join(package[: len(package) - node.level + 1] + ([base] if base else []))
            deeper = [f"{base}.{alias.name}" for alias in node.names]
            names = [name if exists(name) else base for name in deeper]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "fenchel")


GRAPH = {module: set(imports(file, module)) for file, module in zip(FILES, MODULES, strict=True)}


def test_every_part_has_a_layer():
    assert {part(module) for module in MODULES} - FREE <= set(LAYER)


@pytest.mark.parametrize("module", [m for m in MODULES if part(m) not in FREE])
def test_imports_point_to_the_same_or_a_lower_layer(module):
    own = part(module)
    for target in GRAPH[module]:
        other = part(target)
        if own in SHELLS and other in FREE:
            continue
        assert other not in FREE, f"{module} imports the top of the package: name the module instead"
        assert LAYER[other] <= LAYER[own], f"{module} (layer {LAYER[own]}) imports {target} (layer {LAYER[other]})"


def test_no_cycles_between_parts():
    # certify asks dual_point for a candidate, which it then judges; Problem makes the kind of problem that a loss asks for,
    # and certify calls the judge of that kind: each is one part
    certify = dict.fromkeys(
        ("dual_point", "vector_certify", "tangent_certify", "set_certify", "structured_certify"), "certify"
    )
    together = certify | dict.fromkeys(("vector_problem", "set_problem", "structured_problem"), "problem")
    above = {p: set() for p in LAYER}
    for module in MODULES:
        own = together.get(part(module), part(module))
        above.setdefault(own, set()).update(together.get(part(t), part(t)) for t in GRAPH[module])
        above[own] -= {own} | FREE
    done = set()
    while len(done) < len(above):
        ready = {p for p in above if p not in done and above[p] <= done}
        assert ready, f"parts that import each other in a circle: {sorted(set(above) - done)}"
        done |= ready


@pytest.mark.parametrize(
    "module",
    [
        "fenchel.certificates.scalar",
        "fenchel.certificates.best_dual_point",
        "fenchel.certificates.vector",
        "fenchel.certificates.tangents",
        "fenchel.certificates.measure",
        "fenchel.certificates.structured",
    ],
)
def test_the_certificate_owes_nothing_to_kernels_engines_and_solvers(module):
    seen, todo = set(), {module}
    while todo:
        current = todo.pop()
        seen.add(current)
        todo |= GRAPH.get(current, set()) - seen
    assert {part(name) for name in seen}.isdisjoint({"kernels", "engines", "oracle", "solvers", "choose", "solve"})


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
    abstract = {"Regularizer", "Solver"}
    found = {}
    for file in sorted(Path(package.__file__).parent.glob("*.py")):
        module = importlib.import_module(
            f"{package.__name__}.{file.stem}" if file.stem != "__init__" else package.__name__
        )
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
    return [module for module in MODULES if hasattr(importlib.import_module(module), "__all__")]


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


@pytest.mark.parametrize("module", MODULES)
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
