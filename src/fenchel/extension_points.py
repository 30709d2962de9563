"""What a higher layer gives to a lower one, by name, so that no import points upwards.

The top of the package (`fenchel/__init__.py`) says once which module serves a name; it is imported when first asked for.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

_MODULES: dict[str, str] = {}


def provide(name: str, module: str) -> None:
    """Let `module` serve the extension point `name`; it is not imported yet."""
    _MODULES[name] = module


def provider(name: str) -> ModuleType:
    """The module that serves the extension point.

    >>> provide("fractions", "fractions")
    >>> provider("fractions").Fraction(1, 2)
    Fraction(1, 2)
    """
    return import_module(_MODULES[name])
