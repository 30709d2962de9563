"""The section on reproducibility: the call, the solver with its parameters, versions, the digest of the data."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import fenchel
from fenchel.report.markup import Markup, code, element, facts, inside, shown
from fenchel.report.subject import Run, Solve

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")
NOT_GIVEN = {"Threads": "all cores (results are bit-identical for any number)"}
HOMES = ("losses", "multiclass", "measures", "structured", "regularizers")


def section(runs: Sequence[Run], given: Mapping[str, Any] | None) -> Markup:
    """The call and the settings of every run, then the versions."""
    parts = []
    for run in runs:
        solve = run.solves[0]
        parts.append(element("h3", run.name) if len(runs) > 1 else None)
        parts.append(element("pre", code(call(run)), tabindex=0))
        parts.append(facts(_of_run(run, solve)))
    own = {str(name): str(value) for name, value in (given or {}).items()}
    parts.append(element("h3", "Made with"))
    parts.append(facts(own | versions()))
    return inside(parts)


def call(run: Run) -> str:
    """Python code that defines and solves the problem again, given the same X and y."""
    rest = ", fit_intercept=True" if run.intercept else ""
    rest += ", groups=groups" if run.facts.get("Queries") else ""
    rest += ", sample_weight=sample_weight" if run.facts.get("Row weights") else ""
    rest += ", offset=offset" if run.facts.get("Offset") else ""
    return POSED.get(run.family, _posed)(run, rest)


def _posed(run: Run, rest: str) -> str:
    solve = run.solves[0]
    asked = (solve.reason or "").endswith(": requested") and solve.settings.get("solvers")
    wanted = f", solver=fenchel.solvers.{solve.settings['solvers'][0]!r}" if asked else ""
    return (
        f"problem = fenchel.Problem(\n    X, y, loss={_qualified(run.loss)},\n"
        f"    regularizer={_qualified(run.regularizer)}{rest},\n)\n"
        f"result = fenchel.solve(problem{wanted}, tol={run.worst.tol!r})"
    )


def _posed_with_kernel(run: Run, rest: str) -> str:
    kernel = f"loss={_qualified(run.loss)}, alpha={run.regularizer.alpha!r}, kernel=..., kernel_params=...{rest}"
    first = f"problem = fenchel.kernel_methods.KernelProblem(X, y, {kernel})"
    return f"{first}\nresult = fenchel.solve(problem, tol={run.worst.tol!r})"


POSED = {"kernel": _posed_with_kernel}  # the other families are defined by a Problem


def _qualified(thing: object) -> str:
    """repr with the module in which a user finds the class."""
    home = next((h for h in HOMES if type(thing).__module__.startswith(f"fenchel.{h}")), None)
    return f"fenchel.{home}.{thing!r}" if home else repr(thing)


def _of_run(run: Run, solve: Solve) -> dict[str, Any]:
    settings = dict(solve.settings)
    used = settings.pop("solvers", ())
    limits = {name.replace("_", " ").capitalize(): value for name, value in settings.items()}
    digests = {one.digest for one in run.solves if one.digest}
    known: dict[str, Any] = {
        "Solver": " / ".join(sorted({one.solver for one in run.solves})),
        "Reason for the solver": solve.reason,
        "Solver settings": code(" then ".join(repr(one) for one in used)) if used else None,
        "Tolerance (relative gap)": shown(solve.tol, 6),
        **{name: NOT_GIVEN.get(name, "no limit") if value is None else str(value) for name, value in limits.items()},
        "Digest of data and problem": code(", ".join(sorted(digests)[:4])) if digests else None,
    }
    known |= {f"{name} of the model file": value for name, value in run.versions.items()}
    return known


def versions() -> dict[str, str]:
    """The versions of Python and of the packages, and the platform."""
    found = {
        "fenchel": fenchel.__version__,
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
    }
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | {"System": f"{platform.system()} {platform.machine()}"}
