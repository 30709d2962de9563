"""The layers of the package: which part may import which. Tests enforce this table, and the documentation prints it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

# What the parts of a layer are about, and the parts: folders and modules of the package. An import points to a lower layer.
LAYERS: list[tuple[str, list[str]]] = [
    (
        "errors, results, compilation, files",
        ["compile", "deadline", "errors", "extension_points", "files", "registry", "result", "result_html"],
    ),
    (
        "losses, regularizers, projections, data and its readers",
        [
            "data", "losses", "measures", "metrics", "mirror_maps", "multiclass", "projections", "readers", "regularizers",
            "sequences", "structured", "tables",
        ],
    ),
    ("problems, compiled loops", ["kernels", "problems"]),
    ("certificates; engines, where rows are stored", ["certificates", "engines"]),
    ("oracles: how solvers access the data", ["oracles"]),
    ("solvers, and the selection of solvers", ["selection", "solvers"]),
    (
        "the loop; kernel methods; the cluster; what certificates prove",
        ["cluster", "instances", "kernel_methods", "proofs", "solving"],
    ),
    ("models and scikit-learn estimators", ["estimators", "models"]),
    ("command line and report", ["cli", "report"]),
]  # fmt: skip

# Imports within a layer, (importing part, imported part): no others.
WITHIN_A_LAYER = {
    ("cli", "report"), ("compile", "deadline"), ("estimators", "models"),
    ("files", "errors"), ("kernel_methods", "solving"),
    ("measures", "data"), ("metrics", "data"), ("metrics", "sequences"), ("mirror_maps", "data"), ("multiclass", "data"),
    ("multiclass", "losses"), ("proofs", "solving"), ("readers", "data"), ("readers", "tables"), ("registry", "errors"),
    ("regularizers", "projections"), ("result", "extension_points"), ("result", "result_html"), ("selection", "solvers"),
    ("sequences", "data"), ("structured", "data"), ("structured", "projections"),
}  # fmt: skip

LAYER = {part: number for number, (_, parts) in enumerate(LAYERS) for part in parts}


def part_of(module: str) -> str:
    """The folder or top module that a module belongs to.

    >>> part_of("fenchel.losses.hinge"), part_of("fenchel")
    ('losses', '')
    """
    return [*module.split("."), ""][1]


def allowed(part: str, target: str) -> bool:
    """Whether `part` may import `target`.

    >>> allowed("solvers", "losses"), allowed("losses", "solvers"), allowed("multiclass", "losses")
    (True, False, True)
    """
    return part == target or LAYER[target] < LAYER[part] or (part, target) in WITHIN_A_LAYER


def imported(file: Path) -> Iterator[str]:
    """Every module of the package that a file names in an import or in a string, anywhere but for type checking."""
    for node in _running(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "fenchel")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "fenchel":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"\A(fenchel(?:\.\w+)+)\.?\Z", node.value)


def _running(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)):
            yield child
            yield from _running(child)


def rows() -> list[list[str]]:
    """The table of the documentation."""
    table = [["layer", "what", "where"]]
    return table + [[str(k), what, " ".join(f"``{part}``" for part in parts)] for k, (what, parts) in enumerate(LAYERS)]
