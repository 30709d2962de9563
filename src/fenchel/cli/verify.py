"""fenchel verify MODEL DATA [--tol T]"""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from fenchel.cli.problem_options import add_class_weight, with_constant
from fenchel.cli.reading import add_reading, add_text, read_for
from fenchel.cli.sample_weights import add_sample_weights, weights_of
from fenchel.cli.tasks import arrange
from fenchel.cli.terminal import CleanParser, as_json, clean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from fenchel.data.types import Matrix
    from fenchel.models.scored import Certified
    from fenchel.problems.scalar import Problem
    from fenchel.result import Certificate, Result

HOLDS, GAP_LEFT, MISMATCH = 0, 3, 4
SLACK = 2.0  # two computations of a value may differ by so many rounding floors
EPILOG = """\
Recomputes P and D from the definitions, for the coefficients and the dual point in MODEL on the rows of
DATA. The certificate holds if (P - D) / |P| is at most tol and P and D agree with those that the model
states. Edited coefficients or other data give another P. The digest shows whether problem and data are
bit-identical to those of the fit. Repeat -wi for a model that was trained with class weights; --weights has
the sample weights, or the weights of queries, of a model that was fitted in Python.
--independent recomputes P and D in plain Python with exact sums, without compiled code (about a second
for a million stored values); if MODEL has no dual point, compiled code proposes one.
--rigorous computes both in exact arithmetic: D is then a lower bound without any allowance for rounding
(losses of one score with L2, L1 or L1 + L2; some twenty seconds for a million stored values).
JSON: holds, tol, fits: one per problem with holds, same_digest (null: the model has none), primal,
dual, relative_gap, stated_primal, stated_dual.

exit status: 0 the certificate holds, 3 the gap is above tol, 4 P or D differs from the stated value,
1 error, 2 wrong usage

example: fenchel verify a9a.fenchel a9a
"""


class Check(NamedTuple):
    """One score of the model, recomputed."""

    stated: Any
    found: Any
    same_digest: bool | None  # None: the model has no digest
    rebuilt: bool  # the dual point was built from the coefficients
    status: int


def configure(parser: CleanParser) -> None:
    """Add the options."""
    parser.epilog, parser.usage = EPILOG, "%(prog)s MODEL DATA [options]"
    parser.add_argument("model", metavar="MODEL", help="a file written by fenchel train")
    parser.add_argument("data", metavar="DATA", help="the file or folder that it was trained on; -: stdin")
    add_reading(parser)
    add_class_weight(parser)
    add_sample_weights(parser)
    parser.add_argument("-e", "--tol", type=float, help="default: the tol that the model was trained with")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--independent", action="store_true", help="recompute in plain Python, without compiled code")
    how.add_argument("--rigorous", action="store_true", help="recompute in exact arithmetic, without rounding errors")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    add_text(parser)


def run(arguments: Namespace) -> int:
    """Recompute the certificate, compare it with the stated one and print both."""
    from fenchel.cli.columns_use import recheck
    from fenchel.errors import InputError
    from fenchel.models.file import load

    model: Any = load(arguments.model)
    if not hasattr(model, "tol"):
        raise InputError(
            f"{arguments.model} holds {model.content}, which do not minimise an objective: there is no certificate to verify"
        )
    tol = model.tol if arguments.tol is None else arguments.tol
    if not 0.0 < tol < math.inf:
        raise InputError(f"--tol must be a number greater than 0, got {tol!r}")
    sequences = model.is_structured
    require_weights(model, arguments)
    recompute = rigorously if arguments.rigorous else independently if arguments.independent else by_compiled_code
    checks = [recheck(model, arguments, tol, recompute)] if sequences else _checks(model, arguments, tol, recompute)
    status = max(check.status for check in checks)
    print(as_json(_outcome(checks, tol, status)) if arguments.json else _as_text(model, checks, tol, status))
    return status


def require_weights(model: Any, arguments: Namespace) -> None:
    """Raise InputError if the model was fitted with weights or an offset that were not given."""
    from fenchel.errors import InputError

    roles = getattr(model, "roles", None) or {}
    given = arguments.class_weight or arguments.weights or "weight" in roles or "class_weight" in roles
    of_rows = not model.is_structured
    if (model.weighted and not (of_rows and given)) or (of_rows and model.offset and "offset" not in roles):
        what = "sample weights" if model.weighted else "an offset"
        raise InputError(
            f"the model was fitted with {what}, which DATA does not contain: "
            "give class weights with -wi or sample weights with --weights FILE, or use fenchel.certify from Python"
        )


def refitted_from(model: Certified, arguments: Namespace) -> list[Result]:
    """The results that a model was made from, with recomputed certificates, from the rows that it was fitted to."""
    from fenchel.certificates.scalar import certifier_of
    from fenchel.result import Result

    found = []
    for j, problem in enumerate(_problems(model, arguments)):
        coef, intercept, point = _fit(model, j)
        certifier = certifier_of(problem)
        w, b = (coef, float(intercept)) if problem.is_kernel else problem.variables(coef, intercept)
        if point is None or _shape(point) != problem.dual_shape:
            point = certifier.best_dual_point(problem, w, b)
        certificate, point = certifier.certificate(problem, w, b, point)
        status = model.statuses[j]
        found.append(Result(coef, intercept, point, certificate, status, model.tol, 0, 0.0, 0.0, (), "", "", problem))
    return found


def by_compiled_code(problem: Problem, coef: ArrayLike, intercept: ArrayLike, point: Any = None) -> Any:
    """The certificate, computed by the same code as for every result."""
    from fenchel.certificates.scalar import certify

    return certify(problem, coef, intercept, point)


def independently(problem: Problem, coef: ArrayLike, intercept: ArrayLike, point: Any = None) -> Any:
    """The certificate by the independent checker; only a missing dual point is proposed by compiled code."""
    from fenchel.certificates.independent import check_proof
    from fenchel.certificates.scalar import certifier_of

    if point is None and not problem.is_kernel:
        point = certifier_of(problem).best_dual_point(problem, *problem.variables(coef, intercept))
    return check_proof(problem, coef, intercept, point)


def rigorously(problem: Problem, coef: ArrayLike, intercept: ArrayLike, point: Any = None) -> Any:
    """The bounds in exact arithmetic."""
    from fenchel.certificates.independent import check_proof

    return check_proof(problem, coef, intercept, point, rigorous=True)


def _checks(model: Certified, arguments: Namespace, tol: float, recompute: Callable[..., Certificate]) -> list[Check]:
    return [_check(model, problem, j, tol, recompute) for j, problem in enumerate(_problems(model, arguments))]


def _problems(model: Certified, arguments: Namespace) -> Iterator[Problem]:
    """The problems that the model solves, with the rows of DATA."""
    roles = getattr(model, "roles", None) or {}
    if not (arguments.class_weight or arguments.weights):
        arguments.class_weight = roles.get("class_weight", [])
    data = read_for(model, arguments, qid=model.is_ranking, fitted=True)
    task = arrange(data, model.loss, arguments.data, model.labels, model.is_ranking)
    _require_all_labels(model, task, arguments.data)
    X, weights = with_constant(data.X, model.constant), weights_of(arguments, task, data.weight)
    for j, y in enumerate(task.targets):
        yield _problem(model, X, y, task.groups, weights[j])


def _require_all_labels(model: Any, task: Any, path: str) -> None:
    """A joint loss has a score for every label up to the last that occurs, so that the last label of the model must occur."""
    from fenchel.errors import InputError

    if model.is_vector and int(task.targets[0].max()) + 1 < len(model.labels):
        raise InputError(f"{path} has no row with the label {model.labels[-1]!r}: the model was fitted to other rows")


def _check(model: Certified, problem: Problem, j: int, tol: float, recompute: Callable[..., Certificate]) -> Check:
    stated = model.certificates[j]
    coef, intercept, point = _fit(model, j)
    usable = point is not None and _shape(point) == problem.dual_shape
    found = recompute(problem, coef, intercept, point if usable else None)
    # Bounds in exact arithmetic have no rounding floor, up to which the stated values, which were rounded, could agree.
    rounded = independently(problem, coef, intercept, point if usable else None) if recompute is rigorously else found
    same = agrees(stated, rounded, usable)
    rebuilt = not usable
    if usable and not found.holds(tol):
        other = recompute(problem, coef, intercept)
        if other.dual > found.dual:
            found, rebuilt = other, True
    status = MISMATCH if not same else HOLDS if found.holds(tol) else GAP_LEFT
    digest = model.digests[j]
    return Check(stated, found, None if digest is None else problem.digest == digest, rebuilt, status)


def _problem(
    model: Any, X: Matrix, y: np.ndarray | None, groups: np.ndarray | None, weight: np.ndarray | None
) -> Problem:
    from fenchel.errors import InputError

    if not model.is_kernel:
        from fenchel.models.roles import without_offset
        from fenchel.problems.scalar import Problem

        X, offset = without_offset(X)
        return Problem(
            X, y, loss=model.loss, regularizer=model.regularizer, fit_intercept=model.fit_intercept, groups=groups,
            sample_weight=weight, offset=offset,
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
    """The shape of a dual point; for a mixture without the number of its score vectors."""
    return point[1].shape[1:] if isinstance(point, tuple) else point.shape


def agrees(stated: Certificate, found: Certificate, same_point: bool) -> bool:
    """Whether the values agree with the stated ones up to rounding."""
    # The floor is the recomputed one, because the stated one could have been edited.
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
        gap = f"gap      {check.found.gap:.3g}, relative {check.found.relative_gap:.3g}, tol {tol:g}"
        lines.append(f"{gap}, rounding floor {check.found.floor:.1g}, basis {check.found.basis}")
    failed = [check.found for check in checks if check.status == status]
    rounding = status == GAP_LEFT and all(abs(found.gap) <= found.floor for found in failed)
    return "\n".join(clean(line) for line in [*lines, BELOW_ROUNDING if rounding else VERDICT[status]])


DIGEST = {
    True: "data and problem are those of the model",
    False: "DIFFERENT: data or problem are not bit-identical to those of the fit (other rows, order, precision or storage)",
    None: "none in the model: it was saved from an estimator, which does not store its training rows",
}
VERDICT = {
    HOLDS: "HOLDS    the coefficients are within the stated gap of the optimum",
    GAP_LEFT: "FAILS    the gap is above the tolerance",
    MISMATCH: "FAILS    P or D differs from what the model states: the model or the data were changed",
}


BELOW_ROUNDING = "FAILS    tol is below the rounding floor: no smaller gap can be certified"


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
