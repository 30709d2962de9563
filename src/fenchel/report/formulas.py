"""The formulas of losses, measures, structured models and regularizers, as the page shows them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from fenchel.report.markup import Markup, clean, element, shown
from fenchel.report.mathml import NAMES, math

_PLANES = r"\max_{y'} \; 1 - \name{%s}(y') + s \sum_i (y'_i - %s_i) z_i"
_RANKING = r"\max_\pi \sum_i c_i z_{\pi(i)} - \sum_j \name{c̄}_j z_j + 1 - %s"
_TREE = r"\quad \score_c = \sum_{v \in \text{path to } c} z_v"

# The text after the formula is plain: where its letters come from.
FORMULAS: dict[str, tuple[str, str]] = {
    "Absolute": (r"\lvert z - y \rvert", ""),
    "EpsilonInsensitive": (r"\frac{1}{p} \max(0,\, \lvert z - y \rvert - \epsilon)^p", ""),
    "Exponential": (r"\exp(-y z)", "y = ±1"),
    "Hinge": (r"\max(0,\, \rho - y z)", "y = ±1, ρ the margin"),
    "Huber": (r"\min_x \frac{1}{2}(z - y - x)^2 + \delta \lvert x \rvert", ""),
    "Logistic": (r"\log(1 + \exp(-y z))", "y = ±1"),
    "Moreau": (r"\min_x \ell(x, y) + \frac{1}{2\gamma}(x - z)^2", "ℓ the loss inside"),
    "Novelty": (r"\max(0,\, 1 - z)", ""),
    "Poisson": (r"\exp(z) - y z + y \log(y) - y", "half the deviance"),
    "PowerHinge": (r"\frac{1}{p} \max(0,\, 1 - y z)^p", "y = ±1"),
    "Quantile": (r"\max(\tau (y - z),\, (1 - \tau)(z - y))", "the τ-quantile"),
    "SmoothedHinge": (r"\min_x \max(0,\, 1 - y x) + \frac{1}{2\gamma}(x - z)^2", "y = ±1"),
    "Squared": (r"\frac{1}{2}(z - y)^2", ""),
    "SquaredHinge": (r"\frac{1}{2} \max(0,\, \rho - y z)^2", "y = ±1, ρ the margin"),
    "CostHinge": (r"\max(0,\, \max_{j \ne y} D_j^\beta (z_j - z_y) + D_j)", "Dⱼ what it costs to say j for y"),
    "HierarchicalHinge": (r"\max_c \cost(y, c) + \score_c - \score_y" + _TREE, ""),
    "HierarchicalSoftmax": (r"\log \sum_c \exp(\score_c) - \score_y" + _TREE, ""),
    "MaxHinge": (r"\max(0,\, \max_{j \ne y} 1 + z_j - z_y)", "y a class"),
    "MoreauVector": (r"\min_x \ell(x, y) + \frac{1}{2\gamma}\lVert x - z \rVert^2", "ℓ the loss inside"),
    "MultivariateSquared": (r"\frac{1}{2}(z - y)' M (z - y)", "y a vector"),
    "Softmax": (r"\log \sum_j \exp(z_j) - z_y", "y a class"),
    "TopK": (r"\max(0,\, \frac{1}{k} \sum_{j \le k} c_{[j]})", "c₍₁₎ ≥ c₍₂₎ ≥ … the sorted 1 + zⱼ − z_y, and 0 for y itself"),
    "Usunier": (r"\frac{1}{k} \sum_{j \le k} \max(0,\, c_{[j]})", "c₍₁₎ ≥ c₍₂₎ ≥ … the sorted 1 + zⱼ − z_y, j ≠ y"),
    "WeightedTopK": (r"\max(0,\, \sum_j \rho_j c_{[j]})", "c₍₁₎ ≥ c₍₂₎ ≥ … the sorted 1 + zⱼ − z_y, and 0 for y itself"),
    "WeightedUsunier": (r"\sum_j \rho_j \max(0,\, c_{[j]})", "c₍₁₎ ≥ c₍₂₎ ≥ … the sorted 1 + zⱼ − z_y, j ≠ y"),
    "BreakEven": (_PLANES % ("precision", "y"), "y′ with as many positives as y, s the scale"),
    "FBeta": (_PLANES % ("F", "y"), "y′ any labels of the rows, F the F-measure of y′, s the scale"),
    "PrecisionAtK": (_PLANES % ("precision", r"\name{ȳ}"), "y′ with k positives, ȳ the mean of the best of them, s the scale"),
    "RecallAtK": (_PLANES % ("recall", r"\name{ȳ}"), "y′ with k positives, ȳ the mean of the best of them, s the scale"),
    "ROCArea": (
        r"\frac{1}{n_+ n_-} \sum_{i \text{ positive},\, j \text{ negative}} \max(0,\, \rho - z_i + z_j)", "ρ the margin",
    ),
    "Ordinal": (r"\frac{1}{M} \sum_{y_i < y_j} \cost(y_i, y_j) \max(0,\, 1 - z_j + z_i)", "M the number of such pairs"),
    "NDCG": (_RANKING % r"\name{NDCG}(\pi)", "π an order of the documents of a query; the mean over queries"),
    "ERU": (_RANKING % r"\name{ERU}(\pi)", "π an order of the documents of a query; the mean over queries"),
    "MRR": (_RANKING % r"\frac{1}{\rank(\pi)}", "rank: that of the first relevant document; the mean over queries"),
    "WinnerTakesAll": (_RANKING % r"\name{best}(\pi)", "best: 1 if the first document is one; the mean over queries"),
    "L1": (r"\alpha \sum_j \lvert w_j \rvert", ""),
    "L2": (r"\frac{\alpha}{2} \sum_j w_j^2", ""),
    "ElasticNet": (r"\alpha \sum_j (r \lvert w_j \rvert + \frac{1 - r}{2} w_j^2)", "r the L1 ratio"),
    "Quadratic": (r"\frac{\alpha}{2} w' K w", ""),
    "QNorm": (r"\frac{\alpha}{s} \lVert w \rVert_q^s", "s the power"),
    "Entropy": (r"\alpha \sum_j w_j \log \frac{w_j}{p_j}", "w ≥ 0 with a given sum, p the prior"),
    "UnnormalisedEntropy": (r"\alpha \sum_j (w_j \log \frac{w_j}{p_j} - w_j + p_j)", "w ≥ 0, p the prior"),
    "BalancedEntropy": (
        r"\alpha \sum_j (w_j \asinh \frac{w_j}{2 p_j} - \sqrt{w_j^2 + 4 p_j^2} + 2 p_j)", "p the prior",
    ),
}  # fmt: skip
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
# Of other families the regularizer has a formula.
PENALTIES = {"kernel": r"\frac{\alpha}{2} \lVert f \rVert^2, \quad f = \sum_j c_j \, k(x_j, \cdot)"}
SYMBOLS = {"set": "The loss is of all scores together"}  # of other families: their weights


def objective(family: str, intercept: bool) -> Markup:
    """What is minimised, over what."""
    tex = OBJECTIVES[family]
    return math(tex % ((", b", ", b", " + b") if intercept else ("", "", "")) if "%s" in tex else tex, block=True)


def penalty(family: str, regularizer: Any) -> Markup:
    """R, of what is minimised."""
    return math(PENALTIES[family], block=True) if family in PENALTIES else formula(regularizer)


def formula(thing: Any) -> Markup:
    """The formula of a loss or regularizer with its parameters; of one that is not ours, what its docstring says first."""
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


def _given(thing: Any) -> Markup | None:
    """The parameters, such as α = 0.01."""
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
