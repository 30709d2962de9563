"""fenchel verify MODEL DATA [--tol T]"""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from fenchel.cli.problem_options import add_class_weight, asked_weights, with_constant
from fenchel.cli.reading import add_reading, read_for
from fenchel.cli.tasks import arrange
from fenchel.cli.terminal import CleanParser, as_json, clean

if TYPE_CHECKING:
    from fenchel.models.scored import Certified
    from fenchel.result import Certificate

HOLDS, GAP_LEFT, MISMATCH = 0, 3, 4
SLACK = 2.0  # rounding floors by which two computations of one number may differ
EPILOG = """\
P and D are recomputed from the definitions, for the coefficients and the dual point in MODEL on the
rows of DATA. The certificate holds if (P - D) / |P| is at most tol and P and D are those that the model
states. Coefficients that were edited, or other data, give another P. The digest tells whether problem
and data are the same to the last bit. A model trained with weights of labels (-wi) needs them again.
--independent recomputes P and D in plain Python with exact sums, without any compiled code (about a
second for a million stored values); a dual point that has to be built is still proposed by compiled code.
JSON: holds, tol, fits: one per problem with holds, same_digest (null: the model states none), primal,
dual, relative_gap, stated_primal, stated_dual.

exit status: 0 the certificate holds, 3 the gap is above tol, 4 P or D is not what the model states,
1 error, 2 wrong usage

example: fenchel verify a9a.fenchel a9a
"""


class Check(NamedTuple):
    """One score of the model, recomputed."""

    stated: Any
    found: Any
    same_digest: bool | None  # None: the model states none
    rebuilt: bool  # the dual point was built from the coefficients
    status: int


def configure(parser: CleanParser) -> None:
    """Declare the options."""
    parser.epilog, parser.usage = EPILOG, "%(prog)s MODEL DATA [options]"
    parser.add_argument("model", metavar="MODEL", help="a file written by fenchel train")
    parser.add_argument("data", metavar="DATA", help="the file or folder that it was trained on; - is stdin")
    add_reading(parser)
    add_class_weight(parser)
    parser.add_argument("-e", "--tol", type=float, help="default: the relative gap that the model was trained to")
    parser.add_argument("--independent", action="store_true", help="recompute in plain Python, without compiled code")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(arguments: Namespace) -> int:
    """Recompute, compare, report."""
    from fenchel.cli.columns_use import recheck
    from fenchel.errors import InputError
    from fenchel.models.file import load

    model: Any = load(arguments.model)
    if not hasattr(model, "tol"):
        raise InputError(
            f"{arguments.model} holds {model.content}: they minimise nothing, so there is no certificate to verify"
        )
    tol = model.tol if arguments.tol is None else arguments.tol
    if not 0.0 < tol < math.inf:
        raise InputError(f"--tol must be a number greater than 0, got {tol!r}")
    sequences = model.is_structured
    if (model.weighted and (sequences or not arguments.class_weight)) or (not sequences and model.offset):
        what = "sample weights" if model.weighted else "an offset"
        raise InputError(
            f"the model was fitted with {what}, which DATA does not hold: "
            "name weights of labels with -wi, or use fenchel.certify from Python"
        )
    judge = independently if arguments.independent else by_compiled_code
    checks = [recheck(model, arguments, tol, judge)] if sequences else _checks(model, arguments, tol, judge)
    status = max(check.status for check in checks)
    print(as_json(_outcome(checks, tol, status)) if arguments.json else _as_text(model, checks, tol, status))
    return status


def by_compiled_code(problem: Any, coef: Any, intercept: Any, point: Any = None) -> Any:
    """The certificate by the code that every result gets it from."""
    from fenchel.certificates.scalar import certify

    return certify(problem, coef, intercept, point)


def independently(problem: Any, coef: Any, intercept: Any, point: Any = None) -> Any:
    """The certificate by the second checker; only a missing dual point comes from compiled code, which may propose any."""
    from fenchel.certificates.independent import check_proof
    from fenchel.certificates.scalar import certifier_of

    if point is None and not problem.is_kernel:
        point = certifier_of(problem).best_dual_point(problem, *problem.variables(coef, intercept))
    return check_proof(problem, coef, intercept, point)


def _checks(model: Certified, arguments: Namespace, tol: float, judge: Callable[..., Certificate]) -> list[Check]:
    data = read_for(model, arguments, qid=model.is_ranking)
    task = arrange(data, model.loss, arguments.data, model.labels, model.is_ranking)
    _require_all_labels(model, task, arguments.data)
    X, weights = with_constant(data.X, model.constant), asked_weights(arguments, task)
    return [_check(model, X, y, task.groups, weights[j], j, tol, judge) for j, y in enumerate(task.targets)]


def _require_all_labels(model: Any, task: Any, path: str) -> None:
    """A joint loss has a score for every label up to the last that it meets: without that one it is another problem."""
    from fenchel.errors import InputError

    if model.is_vector and int(task.targets[0].max()) + 1 < len(model.labels):
        raise InputError(f"{path} has no row with the label {model.labels[-1]!r}: these are not the rows of the model")


def _check(
    model: Certified, X: Any, y: Any, groups: Any, weight: Any, j: int, tol: float, judge: Callable[..., Certificate]
) -> Check:
    problem = _problem(model, X, y, groups, weight)
    stated = model.certificates[j]
    coef, intercept, point = _fit(model, j)
    usable = point is not None and _shape(point) == problem.dual_shape
    found = judge(problem, coef, intercept, point if usable else None)
    same = agrees(stated, found, usable)
    rebuilt = not usable
    if usable and not found.holds(tol):
        other = judge(problem, coef, intercept)
        if other.dual > found.dual:
            found, rebuilt = other, True
    status = MISMATCH if not same else HOLDS if found.holds(tol) else GAP_LEFT
    digest = model.digests[j]
    return Check(stated, found, None if digest is None else problem.digest == digest, rebuilt, status)


def _problem(model: Any, X: Any, y: Any, groups: Any, weight: Any) -> Any:
    from fenchel.errors import InputError

    if not model.is_kernel:
        from fenchel.problems.scalar import Problem

        return Problem(
            X, y, loss=model.loss, regularizer=model.regularizer, fit_intercept=model.fit_intercept, groups=groups,
            sample_weight=weight,
        )  # fmt: skip
    from fenchel.kernel_methods import KernelProblem

    if X.shape[0] != model.n:
        raise InputError(
            f"DATA has {X.shape[0]} rows, but the model was fitted to {model.n}: a kernel's coefficients belong to those rows"
        )
    return KernelProblem(
        X, y, loss=model.loss, alpha=model.regularizer.alpha, fit_intercept=model.fit_intercept, sample_weight=weight,
        kernel=model.kernel, kernel_params=model.kernel_params,
    )  # fmt: skip


def _fit(model: Any, j: int) -> tuple[Any, Any, Any]:
    """(coefficients, intercept, dual point) of problem j."""
    point = model.dual_points
    if model.is_measure and point is not None:
        point = (point[:, 0], point[:, 1:])
    coef = model.full_coef if model.is_kernel else model.coef
    if model.k == 1 or model.is_vector:
        return coef, model.intercept, point
    return coef[j], float(model.intercept[j]), None if point is None else point[j]


def _shape(point: Any) -> tuple[int, ...]:
    """Of a dual point; of the scores of a mixture without their number."""
    return point[1].shape[1:] if isinstance(point, tuple) else point.shape


def agrees(stated: Any, found: Any, same_point: bool) -> bool:
    """Whether the numbers are those that the model states, up to rounding."""
    # The floor that was just computed: the stated one could have been edited to allow anything.
    slack = SLACK * found.floor if math.isfinite(found.floor) else 0.0
    primal = stated.primal == found.primal or abs(stated.primal - found.primal) <= slack
    dual = not same_point or stated.dual == found.dual or abs(stated.dual - found.dual) <= slack
    return primal and dual


def _as_text(model: Any, checks: list[Check], tol: float, status: int) -> str:
    size = "sequences, {} weights" if model.is_structured else "rows, {} features"
    lines = [f"model    {model.n} {size.format(model.d)}: {model.loss!r} + {model.regularizer!r}"]
    for j, check in enumerate(checks):
        if len(checks) > 1:
            lines.append(f"label    {model.labels[j]} against the rest")
        lines.append("digest   " + DIGEST[check.same_digest])
        lines.append(f"primal   {check.found.primal:.12g} (stated: {check.stated.primal:.12g})")
        point = "for a dual point built from the coefficients" if check.rebuilt else "for the stored dual point"
        lines.append(f"dual     {check.found.dual:.12g} (stated: {check.stated.dual:.12g}) {point}")
        gap = f"gap      {check.found.gap:.3g}, relative {check.found.relative_gap:.3g}, allowed {tol:g}"
        lines.append(f"{gap}, rounding floor {check.found.floor:.1g}, basis {check.found.basis}")
    failed = [check.found for check in checks if check.status == status]
    rounding = status == GAP_LEFT and all(abs(found.gap) <= found.floor for found in failed)
    return "\n".join(clean(line) for line in [*lines, BELOW_ROUNDING if rounding else VERDICT[status]])


DIGEST = {
    True: "data and problem are those of the model",
    False: "DIFFERENT: not the data of the model to the last bit (other rows, order, precision or storage)",
    None: "none in the model: it was saved from an estimator, which does not keep its rows",
}
VERDICT = {
    HOLDS: "HOLDS    the coefficients are within the stated gap of the optimum",
    GAP_LEFT: "FAILS    the gap is above the tolerance",
    MISMATCH: "FAILS    these coefficients on these data do not give what the model states: one of them was changed",
}


BELOW_ROUNDING = "FAILS    the tolerance is below what rounding allows: no smaller gap than the floor can be promised"


def _outcome(checks: list[Check], tol: float, status: int) -> dict[str, Any]:
    fits = [
        {
            "holds": check.status == HOLDS,
            "same_digest": check.same_digest,
            "primal": check.found.primal,
            "dual": check.found.dual,
            "relative_gap": check.found.relative_gap,
            "stated_primal": check.stated.primal,
            "stated_dual": check.stated.dual,
        }
        for check in checks
    ]
    return {"holds": status == HOLDS, "tol": tol, "fits": fits}
