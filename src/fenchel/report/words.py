"""The certificate in words: what is guaranteed, by which numbers, and what is not."""

from __future__ import annotations

import math
from typing import Any

from fenchel.report.markup import Markup, element, facts, inside, number, shape, shown
from fenchel.report.subject import Run, Solve
from fenchel.result import Status

BASES = {
    "conjugate": "the conjugate of the loss in closed form",
    "derived": "a bound computed from values of the loss, which is valid if the loss is convex",
    "planes": "cutting planes of the measure, recomputed from their scores",
    "exact max-oracle": "the exact maximum over all labels of every example",
    "bounded max-oracle": "an upper bound on the maximum over the labels of every example, so that the gap is a bound too",
    "approximate max-oracle": "labels found by a search that can miss the best one",
    "log partition": "the exact sum over all labels of every example",
    "tangents": "tangents of a custom loss, which are valid if it is convex and its slopes are correct",
    "exact max-oracle assumed": "the maximum over all labels of every example, as computed by a custom model",
    "bounded max-oracle assumed": "an upper bound on the maximum over the labels of every example, from a custom model",
    "log partition assumed": "the sum over all labels of every example, as computed by a custom model",
    "R* as given": "the conjugate of a custom regularizer",
    "R* from prox": "a conjugate derived from the prox of a custom regularizer",
}
MINIMISERS = {"kernel": "this model's function"}  # the other families have coefficients
PROOF = " This is a proof, not an estimate, and does not depend on the solver."
WEAKER = {
    "derived": " This is a proof if the loss is convex, which was tested on a grid and at the scores of all rows.",
    "tangents": " This is a proof if the loss is convex and its slopes are correct, which was tested at many scores.",
    "exact max-oracle assumed": " This is a proof if the model's oracle finds the maximum, which was tested against all "
    "labels known.",
    "bounded max-oracle assumed": " This is a proof if the model's bound on the maximum holds.",
    "log partition assumed": " This is a proof if the model's sum over all labels is correct.",
    "R* as given": " It rests on the conjugate of the regularizer, which was tested against its values at many points.",
    "R* from prox": " It rests on the prox of the regularizer, which was tested against its values at many points.",
    "approximate max-oracle": " The search for the worst label is approximate: the objective may be higher than shown, and the "
    "excess is an estimate, not a proof.",
}
ICONS = {True: "\N{CHECK MARK}", False: "!"}
NEXT_STEPS = {
    Status.CERTIFIED: "",
    Status.MAX_ITER: "Raise max_iter, or report the gap above, which is proved.",
    Status.MAX_TIME: "Raise max_time, or report the gap above, which is proved.",
    Status.STALLED: "If the rounding floor is above tol, no smaller gap can be certified in double precision: "
    "raise tol. Otherwise scale the features, raise alpha or choose another solver.",
    Status.DECIDED: "The classes of the rows in question are those of the exact optimum; the gap above is proved.",
    Status.BOUNDED: "The penalty is not convex: the gap bounds the distance from the global optimum and need not close.",
    Status.NONFINITE: "Look for very large values, scale the features, or choose another solver. Do not use these weights.",
    Status.INTERRUPTED: "Run it again, or continue from these weights; the gap above is proved.",
    Status.STOPPED_BY_CALLBACK: "The callback stopped the solve; the gap above is proved.",
}


def status_pill(status: Status) -> Markup:
    """The status with a symbol, not shown by colour alone."""
    good = status is Status.CERTIFIED
    icon = element("span", ICONS[good], class_="icon", aria_hidden="true")
    return element("span", icon, status.name.replace("_", " "), class_="status good" if good else "status")


def certificate(run: Run, solve: Solve, several: bool) -> Markup:
    """One solve: the statement, the numbers, and the scale from 1 down to the rounding floor."""
    name = " ".join(filter(None, [run.name if several else "", solve.name]))
    heading = element("h3", name, " ", status_pill(solve.status)) if name else None
    return element(
        "article",
        heading,
        statement(solve, run),
        cards(solve),
        gap_line(solve),
        _small_print(solve),
        class_="certificate",
    )


def statement(solve: Solve, run: Run) -> Markup:
    """The guarantee, in one paragraph."""
    c = solve.certificate
    what = MINIMISERS.get(run.family, "these coefficients")
    value = ["The regularised objective at ", what, " is ", _strong(c.primal, 10), ". "]
    if not (math.isfinite(c.dual) and math.isfinite(c.primal)):
        open_end = "No finite lower bound is known, so that there is no guarantee about the distance to the optimum."
        return element("p", value, element("strong", open_end), class_="words")
    bound = [
        "No other choice of coefficients", " and intercept" if run.intercept else "", " has an objective below ",
        _strong(c.dual, 10), ". The objective is therefore at most ", _strong(c.gap, 3),
        " above the optimum, in relative terms at most ",
        _strong(c.relative_gap, 3), "; ", shown(solve.tol, 3), " was requested.",
    ]  # fmt: skip
    return element("p", value, bound, _strength(c.basis), class_="words")


def _strength(basis: str) -> str:
    """The strength of the guarantee, for each basis."""
    return "".join(WEAKER[part] for part in basis.split("; ") if part in WEAKER) or PROOF


def _strong(value: float, digits: int) -> Markup:
    return element("strong", shown(float(value), digits))


def cards(solve: Solve) -> Markup:
    """The numbers, rounded in the text and exact in the markup."""
    c = solve.certificate
    cells: list[tuple[str, str, Any]] = [
        ("primal", "Primal value P", number(c.primal, 10, "primal")),
        ("dual", "Dual value D", number(c.dual, 10, "dual")),
        ("gap", "Gap P − D", number(c.gap, 4, "gap")),
        ("gap", "Relative gap", number(c.relative_gap, 4, "relative-gap")),
    ]
    if solve.seconds is not None:
        cells.append(("work", "Time", inside([number(solve.seconds, 3, "seconds"), " s"])))
    if solve.n_iter is not None:
        cells.append(("work", "Iterations", number(solve.n_iter, 9, "iterations")))
    if solve.passes is not None:
        cells.append(("work", "Data passes", number(solve.passes, 6, "passes")))
    items = [element("div", element("dt", k), element("dd", v), class_=style) for style, k, v in cells]
    return element("dl", items, class_="numbers")


def gap_line(solve: Solve) -> Markup | None:
    """A scale from 1 to 1e-16 with the gap, tol and the rounding floor."""
    c = solve.certificate
    if not (math.isfinite(c.relative_gap) and c.primal != 0.0):
        return None
    places = {"gap": c.relative_gap, "asked": solve.tol, "floor": c.floor / abs(c.primal)}
    parts = [shape("line", class_="axis", x1=20, x2=620, y1=40, y2=40)]
    for e in range(0, -17, -4):
        x = _along(10.0**e)
        parts.append(shape("line", class_="axis", x1=x, x2=x, y1=36, y2=44))
        power = element("tspan", f"−{-e}", class_="raised", dy="-0.45em") if e else None
        parts.append(
            element("text", element("tspan", "10" if e else "1"), power, x=f"{x:.1f}", y=68, text_anchor="middle")
        )
    asked, gap, floor = (_along(max(v, 1e-16)) for v in (places["asked"], places["gap"], places["floor"]))
    parts.append(shape("line", class_="goal", x1=asked, x2=asked, y1=20, y2=54))
    parts.append(shape("rect", class_="floor", x=min(floor, 619.0), y=32.0, width=max(1.0, 620.0 - floor), height=16.0))
    parts.append(shape("polygon", class_="gap-mark", points=f"{gap:.1f},40 {gap - 7:.1f},24 {gap + 7:.1f},24"))
    label = f"relative gap {shown(places['gap'], 3)}; tol {shown(solve.tol, 3)}"
    label += f"; rounding floor {shown(places['floor'], 2)}"
    keys = [
        element("span", "▼ certified gap", class_="key-gap"), element("span", "┆ tol", class_="key-goal"),
        element("span", "▒ below the rounding floor", class_="key-floor"),
    ]  # fmt: skip
    svg = element("svg", element("title", label), parts, viewBox="0 0 640 76", role="img", aria_label=label)
    return element("div", svg, element("p", keys, class_="keys"), class_="gap-line")


def _along(value: float) -> float:
    """The coordinate of a gap: 1 at the left end, 1e-16 at the right."""
    return 20.0 + 600.0 * min(1.0, max(0.0, -math.log10(value) / 16.0)) if value > 0.0 else 620.0


def _small_print(solve: Solve) -> Markup:
    c = solve.certificate
    basis = " and ".join(BASES.get(part, part) for part in c.basis.split("; "))
    rests = f"{basis}. Both values were recomputed from the definitions after the solve."
    rounding = f"Rounding errors alone can contribute {shown(c.floor, 2)} to the gap; no smaller gap can be certified."
    if c.gap < 0.0:
        rounding += " The gap is negative because of rounding errors, and is shown unchanged."
    scope = (
        "The optimum of the problem below on the training rows. The certificate says nothing about new data: whether the "
        "model generalises, is well specified or is causal needs other evidence, such as held-out rows."
    )
    next_step = NEXT_STEPS[solve.status]
    return facts(
        {
            "Status": f"{solve.status.name}. {solve.status.advice}",
            "What to do": next_step or None,
            "Rests on": rests,
            "Rounding": rounding,
            "Covers": scope,
        }
    )
