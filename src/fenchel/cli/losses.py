"""fenchel losses [NAME]"""

from __future__ import annotations

import inspect
import math
from argparse import ArgumentParser, Namespace
from dataclasses import MISSING, fields
from typing import Any

EPILOG = """\
z is the raw score <x, w> + b of a row, y its target, u the dual variable; w the coefficients.

exit status: 0 done, 1 unknown name, 2 wrong usage
"""


def configure(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.add_argument("name", nargs="?", metavar="NAME", help="a loss or penalty, for its conjugate and more")


def run(arguments: Namespace) -> int:
    """Print the table, or one entry."""
    print(_details(arguments.name) if arguments.name else _table())
    return 0


def _table() -> str:
    from fenchel.losses import LOSSES
    from fenchel.regularizers import REGULARIZERS

    losses = {_signature(name, kind): _formula(kind) for name, kind in LOSSES.items()}
    penalties = {_signature(name, kind): kind.formula for name, kind in REGULARIZERS.items()}
    width = max(map(len, [*losses, *penalties])) + 2
    lines = ["losses: loss(z, y)", *(f"  {name:<{width}}{formula}" for name, formula in losses.items())]
    lines += ["", "penalties: R(w)", *(f"  {name:<{width}}{formula}" for name, formula in penalties.items())]
    return "\n".join(lines)


def _formula(kind: Any) -> str:
    return inspect.getdoc(kind).split("\n")[0]  # type: ignore[union-attr]


def _signature(name: str, kind: Any) -> str:
    if hasattr(kind, "_fields"):
        defaults = kind._field_defaults
        words = [f"{field}={defaults[field]}" if field in defaults else field for field in kind._fields]
    else:
        words = [f.name if f.default is MISSING else f"{f.name}={f.default}" for f in fields(kind)]
    return f"{name}({', '.join(words)})" if words else name


def _details(name: str) -> str:
    from fenchel.errors import UnknownNameError
    from fenchel.losses import LOSSES
    from fenchel.regularizers import REGULARIZERS

    kinds: dict[str, Any] = {**LOSSES, **REGULARIZERS}
    if name not in kinds:
        raise UnknownNameError("loss or penalty", name, kinds)
    kind = kinds[name]
    text = (inspect.getdoc(kind) or "").partition(">>>")[0].rstrip()
    lines = [_signature(name, kind), *(f"  {line}".rstrip() for line in text.split("\n"))]
    if hasattr(kind, "target_rule"):
        lines += ["", f"  targets: {kind.target_rule}"]
        if name != "moreau":
            lines.append(f"  slope: {_slope(kind())}")
    return "\n".join(lines)


def _slope(loss: Any) -> str:
    from fenchel.losses import smoothness

    constant = smoothness(loss)
    if constant is None:
        return "jumps"
    return "continuous" if math.isinf(constant) else f"Lipschitz continuous with constant {constant:g}"
