"""The formulas of losses, measures, structured models and regularizers in the report."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel import losses, measures, multiclass, regularizers
from fenchel.report.markup import Markup, clean, element, shown
from fenchel.report.mathml import NAMES, math

if TYPE_CHECKING:
    from fenchel.regularizers import Regularizer

_CLASSES: list[Any] = [
    cls
    for known in (losses.LOSSES, multiclass.LOSSES, measures.MEASURES, regularizers.REGULARIZERS)
    for cls in known.values()
]
# A formula, and a plain text that explains its symbols.
FORMULAS: dict[str, tuple[str, str]] = {cls.__name__: (cls.tex, vars(cls).get("tex_where", "")) for cls in _CLASSES}
_PHI = "φ the features of x with y"
STRUCTURED = {
    "hinge": (r"\max_{y} \cost(y_i, y) + \langle w, \phi(x_i, y) - \phi(x_i, y_i) \rangle", _PHI),
    "log": (r"\log \sum_y \exp \langle w, \phi(x_i, y) \rangle - \langle w, \phi(x_i, y_i) \rangle", _PHI),
}  # fmt: skip
OBJECTIVES = {
    "scalar": r"\min_{w%s} \; P(w%s) = \frac{1}{S} \sum_i s_i \, \ell(z_i, y_i) + R(w), \quad z_i = \langle x_i, w \rangle%s",
    "vector": r"\min_{W%s} \; P(W%s) = \frac{1}{S} \sum_i s_i \, \ell(z_i, y_i) + R(W), \quad z_i = W x_i%s",
    "set": r"\min_w \; P(w) = \ell(z, y) + R(w), \quad z_i = \langle x_i, w \rangle",
    "structured": r"\min_w \; P(w) = \frac{1}{S} \sum_i s_i \, \ell(w; x_i, y_i) + R(w)",
    "kernel": r"\min_{f%s} \; P(f%s) = \frac{1}{S} \sum_i s_i \, \ell(z_i, y_i) + R(f), \quad z_i = f(x_i)%s",
}
# The other families use the regularizer's own formula.
PENALTIES = {"kernel": r"\frac{\alpha}{2} \lVert f \rVert^2, \quad f = \sum_j c_j \, k(x_j, \cdot)"}
SYMBOLS = {"set": "The loss is of all scores together"}  # the other families have weights per row


def objective(family: str, intercept: bool) -> Markup:
    """The objective and its variables."""
    tex = OBJECTIVES[family]
    return math(tex % ((", b", ", b", " + b") if intercept else ("", "", "")) if "%s" in tex else tex, block=True)


def penalty(family: str, regularizer: Regularizer) -> Markup:
    """The formula of R."""
    return math(PENALTIES[family], block=True) if family in PENALTIES else formula(regularizer)


def formula(thing: object) -> Markup:
    """The formula of a loss or regularizer with its parameters; for a custom one, the first line of its docstring."""
    name = type(thing).__name__
    own = type(thing).__module__.startswith("fenchel.")
    known = (
        STRUCTURED.get(getattr(thing, "loss", "")) if ".structured." in type(thing).__module__ else FORMULAS.get(name)
    )
    if known is None or not own:
        first = (inspect.getdoc(type(thing)) or "").split("\n")[0]
        return element("span", element("code", name), " ", first)
    tex, where = known
    notes = [element("strong", name), *([", ", where] if where else []), _given(thing)]
    inner = getattr(thing, "loss", None)
    parts = [math(tex, block=True), element("p", notes, class_="note")]
    return element("div", parts, formula(inner) if name.startswith("Moreau") else None)


def _given(thing: object) -> Markup | None:
    """The parameters, as in α = 0.01."""
    parts: list[Any] = []
    for name, value in parameters(thing).items():
        if name == "loss" or value is None or np.ndim(value) > 0 or isinstance(value, str):
            continue
        text = shown(value, 12) if isinstance(value, (int, float)) and not isinstance(value, bool) else clean(value)
        parts += [", " if parts else " — ", element("i", NAMES.get(name, name.replace("_", " "))), f" = {text}"]
    return element("span", parts) if parts else None


def parameters(thing: Any) -> Mapping[str, Any]:
    """The fields of a loss or regularizer."""
    if hasattr(thing, "_fields"):
        return dict(zip(thing._fields, thing, strict=True))
    return {field.name: getattr(thing, field.name) for field in fields(thing)} if is_dataclass(thing) else {}
