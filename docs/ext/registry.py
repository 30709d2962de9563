"""What the guide's tables say, as rows of text, read from the registries and from `fenchel.selection.requirements`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import layers
import tiny_problems as tiny

from fenchel import losses, measures, multiclass, regularizers, solvers, structured
from fenchel.selection import requirements
from fenchel.solvers.base import Solver

Rows = list[list[str]]
KINDS = {
    "scalar": "one score",
    "vector": "several scores",
    "free vector": "several scores, free intercepts",
    "own vector": "several scores, a custom loss",
    "set": "measures",
    "structured": "structured hinge",
    "structured log": "structured log-loss",
}


def formula(thing: Any) -> str:
    """What the first paragraph of a docstring is here."""
    return code(" ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split()))


def code(text: str) -> str:
    """Set in type."""
    return f"``{text}``"


def link(thing: type, module: str) -> str:
    """To its page in the reference."""
    return f":py:obj:`{thing.__name__} <{module}.{thing.__name__}>`"


def yes(condition: bool) -> str:
    """A word for a table."""
    return "yes" if condition else "no"


def slope(loss: Any) -> str:
    """How smooth a loss is."""
    constant = losses.smoothness(loss)
    if constant is None:
        return "jumps"
    return "continuous" if math.isinf(constant) else f"Lipschitz continuous with constant {constant:g}"


def scalar_losses() -> Rows:
    """Name, class, formula, targets, slope."""
    rows = [["name", "class", "loss(z, y)", "targets", "slope"]]
    for name, cls in losses.LOSSES.items():
        smooth = "Lipschitz continuous with constant 1/gamma" if name == "moreau" else slope(cls())
        rows.append([code(name), link(cls, "fenchel.losses"), formula(cls), cls.target_rule, smooth])
    return rows


def vector_losses() -> Rows:
    """Name, class, formula, which of the fast methods apply, free intercepts."""
    rows = [["name", "class", "loss(z, y)", "differentiable", "exact dual step", "free intercepts"]]
    for name, cls in multiclass.LOSSES.items():
        problem = tiny.vector(name, "l2")
        facts = [problem.smooth_loss, hasattr(problem.loss, "dual_prox"), _free(name)]
        rows.append([code(name), link(cls, "fenchel.multiclass"), formula(cls), *map(yes, facts)])
    return rows


def _free(name: str) -> bool:
    try:
        return bool(requirements.who_can(tiny.vector(name, "l2", free=True)))
    except ValueError:
        return False


def measure_rows() -> Rows:
    """Name, class, formula, whether queries are needed."""
    rows = [["name", "class", "what it bounds", "needs queries (groups)"]]
    for name, cls in measures.MEASURES.items():
        rows.append([code(name), link(cls, "fenchel.measures"), formula(cls), yes(cls.needs_groups)])
    return rows


def structure_rows() -> Rows:
    """Name, score, which losses there are."""
    rows = [["class", "score of a labelling", "hinge", "log-loss"]]
    for name, cls in structured.MODELS.items():
        log = tiny.structure(name, "l2", "log") is not None
        rows.append([link(cls, "fenchel.structured"), formula(cls), "yes", yes(log)])
    return rows


def regularizer_rows() -> Rows:
    """Name, formula and what solvers look for in it."""
    rows = [["name", "class", "R(w)", "strongly convex", "gradient", "prox", "w from the dual"]]
    for name, cls in regularizers.REGULARIZERS.items():
        made = tiny.regularizer(name)
        has = [made.strongly_convex, *(hasattr(made, what) for what in ("gradient", "prox", "primal_from_dual"))]
        rows.append([code(name), link(cls, "fenchel.regularizers"), formula(cls), *map(yes, has)])
    return rows


def cost_rows() -> Rows:
    """Solver, cost of an iteration, rate."""
    rows = [["solver", "cost of one iteration", "rate"]]
    return rows + [[link(cls, "fenchel.solvers"), cls.cost, cls.convergence] for cls in solvers.SOLVERS.values()]


def solver_rows() -> Rows:
    """Solver, kinds of problems, those of them whose rows may be on a cluster, what it asks, the reference."""
    rows = [["solver", "for", "rows on a cluster", "asks of the loss", "asks of the regularizer", "reference"]]
    for cls in solvers.SOLVERS.values():
        kinds = ", ".join(KINDS[kind] for kind in cls.kinds)
        asks = [", ".join(needs).replace("_", " ") or "nothing" for needs in (cls.needs.loss, cls.needs.regularizer)]
        away = "all of these" if cls.remote == cls.kinds else ", ".join(KINDS[kind] for kind in cls.remote) or "no"
        rows.append([link(cls, "fenchel.solvers"), kinds, away, *asks, reference(cls)])
    return rows


def reference(cls: type[Solver]) -> str:
    """The last part of the solver's file's docstring."""
    text = inspect.getdoc(inspect.getmodule(cls)) or ""
    return " ".join(text.partition("Reference ")[2].split("\n\n")[0].split())


def requirement_rows() -> Rows:
    """What the words of the solvers mean: the sentence one reads when it is not so."""
    rows = [["word", "otherwise the error says"]]
    for table, example in (
        (requirements.LOSS, "Loss"),
        (requirements.REGULARIZER, "Regularizer"),
        (requirements.PROBLEM, ""),
    ):
        for word, requirement in table.items():
            rows.append([word.replace("_", " "), requirement.missing.format(name=example).replace("`", "``")])
    return rows


def _matrix(names: list[str], make: Callable[[str, str], Any | None], groups: dict[str, set[str]]) -> Rows:
    """Solver x regularizer: which of the losses fit, by the name of a group where there is one.

    Regularizers with the same cells share a column.
    """
    penalties = list(regularizers.REGULARIZERS)
    problems = {(name, penalty): make(name, penalty) for name in names for penalty in penalties}
    there = {name for name in names if problems[name, "l2"] is not None}
    columns: dict[tuple[str, ...], list[str]] = {}
    for penalty in penalties:
        known = {name for name in there if problems[name, penalty] is not None}
        fits = [
            {name for name in known if requirements.fits(cls, problems[name, penalty])}
            for cls in solvers.SOLVERS.values()
        ]
        if known:
            columns.setdefault(tuple(_words(fit, there, groups) for fit in fits), []).append(penalty)
    rows = [["solver", *(", ".join(map(code, same)) for same in columns.values())]]
    for number, cls in enumerate(solvers.SOLVERS.values()):
        cells = [column[number] for column in columns]
        if set(cells) != {"none"}:
            rows.append([link(cls, "fenchel.solvers"), *cells])
    return rows


def _words(fit: set[str], there: set[str], groups: dict[str, set[str]]) -> str:
    named = {"none": set(), "all": there, **groups}
    word = next((word for word, group in named.items() if fit == group), None)
    if word is None and len(there - fit) <= 2:
        return "all but " + ", ".join(map(code, sorted(there - fit)))
    return word or ", ".join(map(code, sorted(fit)))


def scalar_fits() -> Rows:
    """One score per row."""
    problems = {name: tiny.scalar(name, "l2") for name in losses.LOSSES}
    smooth = {name for name, problem in problems.items() if problem.smooth_loss}
    bounded = {name for name, problem in problems.items() if requirements.LOSS["bounded_slopes"].met(problem)}
    groups = {"differentiable": smooth, "nonsmooth": set(problems) - smooth, "bounded slopes": bounded}
    return _matrix(list(losses.LOSSES), tiny.scalar, groups)


def vector_fits() -> Rows:
    """Several scores per row."""
    problems = {name: tiny.vector(name, "l2") for name in multiclass.LOSSES}
    smooth = {name for name, problem in problems.items() if problem.smooth_loss}
    return _matrix(list(multiclass.LOSSES), tiny.vector, {"differentiable": smooth})


def measure_fits() -> Rows:
    """Measures of all rows."""
    return _matrix(list(measures.MEASURES), tiny.whole_set, {})


def structure_fits() -> Rows:
    """Structured hinge losses."""
    return _matrix(list(structured.MODELS), tiny.structure, {})


def log_fits() -> Rows:
    """Structured log-losses."""
    return _matrix(list(structured.MODELS), lambda name, penalty: tiny.structure(name, penalty, "log"), {})


TABLES: dict[str, Callable[[], Rows]] = {
    "layers": layers.rows,
    "losses": scalar_losses,
    "multiclass": vector_losses,
    "measures": measure_rows,
    "structured": structure_rows,
    "regularizers": regularizer_rows,
    "costs": cost_rows,
    "solvers": solver_rows,
    "requirements": requirement_rows,
    "fits-scalar": scalar_fits,
    "fits-vector": vector_fits,
    "fits-set": measure_fits,
    "fits-structured": structure_fits,
    "fits-log": log_fits,
}
