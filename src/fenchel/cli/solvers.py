"""fenchel solvers [NAME] [--loss NAME] [--penalty NAME]"""

from __future__ import annotations

import inspect
import sys
from argparse import Namespace
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from fenchel.cli.terminal import CleanParser, as_json, clean, table
from fenchel.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from fenchel.problems.scalar import Problem
    from fenchel.solvers.base import Solver

EPILOG = """\
Without options: all solvers, the cost of an iteration and the known rate of convergence. NAME: one solver,
with its update rule and its requirements. --loss and --penalty: the compatible solvers, why the others are
not, and those that `--solver auto` selects, in this order, for rows of the given size. Only --loss or only
--penalty: the compatible solvers for every penalty or loss. Compatibility is tested on small random
problems; a chain is `chain` (max-margin) or `chain_log` (a conditional random field).
JSON: solvers: {name: {cost, rate, slow, losses, cluster, needs}}; NAME: that entry with parameters and
description; a pair: fits, auto: [{solver, reason}], misfits: {name: why}; only one of the two: {partner:
[names]}.

exit status: 0 done, 1 unknown name, 2 wrong usage

example: fenchel solvers --loss hinge --penalty l1
"""
KINDS = {
    "scalar": "one score",
    "vector": "several scores",
    "free vector": "several scores with intercepts",
    "own vector": "several scores, custom loss",
    "set": "measures",
    "structured": "structured, max",
    "structured log": "structured, log",
}


def configure(parser: CleanParser) -> None:
    """Add the options."""
    parser.epilog = EPILOG
    parser.add_argument("name", nargs="?", metavar="NAME", help="a solver")
    parser.add_argument("--loss", metavar="NAME", help="a loss or measure")
    parser.add_argument("--penalty", "--regularizer", dest="penalty", metavar="NAME", help="a penalty")
    parser.add_argument("--intercept", action="store_true", help="with a free intercept")
    parser.add_argument("--rows", type=int, default=2000, metavar="N", help="rows of the problem (default: 2000)")
    parser.add_argument("--features", type=int, default=50, metavar="D", help="features of the problem (default: 50)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Namespace) -> int:
    """Print the table, one entry, or the compatible solvers."""
    if arguments.name is not None:
        if arguments.loss or arguments.penalty:
            raise InputError("NAME cannot be combined with --loss and --penalty")
        found, text = _one(arguments.name)
    elif arguments.loss and arguments.penalty:
        found, text = _pair(arguments)
    elif arguments.loss or arguments.penalty:
        found, text = _partners(arguments)
    else:
        found, text = _all()
    print(as_json(found) if arguments.json else text)
    return 0


def _all() -> tuple[dict[str, Any], str]:
    from fenchel.solvers import SOLVERS

    found = {name: _facts(cls) for name, cls in SOLVERS.items()}
    lines = []
    for name, facts in found.items():
        lines.append(f"{name}: {_title(SOLVERS[name])}" + (" (slow to reach small gaps)" if facts["slow"] else ""))
        lines += [f"    losses  {', '.join(facts['losses'])}", f"    cost    {facts['cost']}"]
        lines.append(f"    rate    {facts['rate']}")
    return {"solvers": found}, "\n".join(map(clean, lines))


def _facts(cls: type[Solver]) -> dict[str, Any]:
    return {
        "cost": cls.cost,
        "rate": cls.convergence,
        "slow": cls.slow,
        "losses": [KINDS[kind] for kind in cls.kinds],
        "cluster": [KINDS[kind] for kind in cls.remote],
        "needs": [*cls.needs.loss, *cls.needs.regularizer, *cls.needs.problem],
    }


def _description(cls: type[Solver]) -> str:
    return inspect.cleandoc(sys.modules[cls.__module__].__doc__ or "")


def _title(cls: type[Solver]) -> str:
    return _description(cls).split("\n")[0]


def _one(name: str) -> tuple[dict[str, Any], str]:
    from fenchel.solvers import SOLVERS

    cls = SOLVERS.lookup(name)
    parameters = {field.name: None if field.default is MISSING else field.default for field in fields(cls)}
    shown = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
    found = {"name": name, **_facts(cls), "parameters": {k: str(v) for k, v in parameters.items()}}
    lines = [f"{name}({shown})", "", *_description(cls).split("\n"), "", f"Losses       {', '.join(found['losses'])}"]
    lines += [f"On a cluster {', '.join(found['cluster']) or 'no: ' + cls.local_reason}"]
    lines += [f"Needs        {', '.join(found['needs']) or 'no further requirements'}"]
    lines += [f"Cost         {cls.cost}", f"Rate         {cls.convergence}"]
    return {**found, "description": _description(cls)}, "\n".join(map(clean, lines))


def _pair(arguments: Namespace) -> tuple[dict[str, Any], str]:
    from fenchel.cli.samples import sample
    from fenchel.selection import requirements
    from fenchel.solvers import SOLVERS

    problem = sample(arguments.loss, arguments.penalty, arguments.rows, arguments.features, arguments.intercept)
    fits = [name for name, cls in SOLVERS.items() if requirements.fits(cls, problem)]
    misfits = {name: "; ".join(requirements.missing(cls, problem)) for name, cls in SOLVERS.items() if name not in fits}
    auto = _auto(problem)
    found = {"loss": arguments.loss, "penalty": arguments.penalty, "fits": fits, "auto": auto, "misfits": misfits}
    size = f"{arguments.rows} dense rows and {arguments.features} features"
    text = "fit:\n" + "\n".join(f"  {name}: {SOLVERS[name].cost}; {SOLVERS[name].convergence}" for name in fits)
    text += f"\n\nauto, for {size}, in this order:\n"
    text += "\n".join(f"  {choice['solver']}: {choice['reason']}" for choice in auto) or "  none"
    text += "\n\nincompatible:\n" + "\n".join(clean(f"  {name}: {why}") for name, why in misfits.items())
    return found, text


def _auto(problem: Problem) -> list[dict[str, str]]:
    """The solvers that auto would select, in its order."""
    from fenchel.errors import IncompatibleError
    from fenchel.selection.rules import candidates
    from fenchel.solvers import SOLVERS

    names = {cls: name for name, cls in SOLVERS.items()}
    try:
        return [{"solver": names[type(choice.solver)], "reason": choice.reason} for choice in candidates(problem)]
    except IncompatibleError:
        return []


def _partners(arguments: Namespace) -> tuple[dict[str, Any], str]:
    from fenchel.cli.samples import loss_names, penalty_names, sample
    from fenchel.selection import requirements
    from fenchel.solvers import SOLVERS

    found: dict[str, Any] = {}
    for partner in penalty_names() if arguments.loss else loss_names():
        loss, penalty = (arguments.loss, partner) if arguments.loss else (partner, arguments.penalty)
        try:
            problem = sample(loss, penalty, intercept=arguments.intercept)
        except UnknownNameError:
            raise
        except InputError as error:  # an invalid pair, such as several free intercepts with a hinge
            found[partner] = str(error)
            continue
        found[partner] = [name for name, cls in SOLVERS.items() if requirements.fits(cls, problem)]
    header = ["penalty" if arguments.loss else "loss", "compatible solvers"]
    rows = [[partner, who if isinstance(who, str) else ", ".join(who) or "none"] for partner, who in found.items()]
    lists = {partner: who if isinstance(who, list) else [] for partner, who in found.items()}
    return lists, table(header, rows)
