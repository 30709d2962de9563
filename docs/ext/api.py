"""The API reference: one page for every public name, listed on a page for every public module.

`modules` reads the names from the package itself, so that a new name cannot be forgotten.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

PROTOCOLS = [
    "fenchel.losses.protocol", "fenchel.multiclass.protocol", "fenchel.measures.protocol",
    "fenchel.structured.protocol", "fenchel.regularizers.base", "fenchel.solvers.base",
]  # fmt: skip
OTHERS = ["fenchel.selection.requirements", "fenchel.report"]


def public(module: ModuleType) -> list[str]:
    """The names that a module offers: its `__all__`, or else what is defined in it."""
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
    return [
        name for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", "") == module.__name__
    ]  # fmt: skip


def modules() -> dict[str, list[str]]:
    """The public modules with their public names, `fenchel` first."""
    fenchel = importlib.import_module("fenchel")
    below = [f"fenchel.{name}" for name in fenchel.__all__ if inspect.ismodule(getattr(fenchel, name))]
    names = ["fenchel", *below, *PROTOCOLS, *OTHERS]
    return {name: public(importlib.import_module(name)) for name in names}


def page(module: str, names: list[str]) -> str:
    """A module: what it says of itself, and a line for each name."""
    lines = [module, "=" * len(module), "", f".. automodule:: {module}", "   :no-members:", ""]
    lines += [".. autosummary::", "   :toctree: names", "   :nosignatures:", ""]
    return "\n".join([*lines, *(f"   {name}" for name in names), ""])


def write(app: Any, config: Any) -> None:
    """Put the pages where Sphinx finds them; a file that is right already keeps its date."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    wanted = {folder / f"{module}.rst": page(module, names) for module, names in modules().items()}
    for file in set(folder.glob("fenchel*.rst")) - set(wanted):
        file.unlink()
    for file, text in wanted.items():
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Before Sphinx looks for files."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
