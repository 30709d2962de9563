"""Extension points: modules of higher layers that lower layers find by name, so that no import points upwards.

The top of the package (`fenchel/__init__.py`) registers the module for each name; it is imported at the first use.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

_MODULES: dict[str, str] = {}


def provide(name: str, module: str) -> None:
    """Register the module of an extension point, without importing it."""
    _MODULES[name] = module


def provider(name: str) -> ModuleType:
    """The module of an extension point, imported if necessary.

    >>> provide("fractions", "fractions")
    >>> provider("fractions").Fraction(1, 2)
    Fraction(1, 2)
    """
    return import_module(_MODULES[name])
