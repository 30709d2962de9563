"""fenchel losses [NAME]"""

from __future__ import annotations

import inspect
import math
from argparse import ArgumentParser, Namespace
from dataclasses import MISSING, fields
from typing import Any

EPILOG = """\
z is the raw score <x, w> + b of a row, y its target, u the dual variable; w the coefficients. A loss of several scores
has a z and a u for each of them, a measure for each row.

exit status: 0 done, 1 unknown name, 2 wrong usage
"""


def configure(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="a loss, measure or penalty, for its conjugate and more"
    )


def run(arguments: Namespace) -> int:
    """Print the table, or one entry."""
    print(_details(arguments.name) if arguments.name else _table())
    return 0


def _parts() -> dict[str, dict[str, Any]]:
    from fenchel.losses import LOSSES
    from fenchel.measures import MEASURES
    from fenchel.multiclass import LOSSES as JOINT
    from fenchel.regularizers import REGULARIZERS

    return {
        "losses: loss(z, y)": dict(LOSSES),
        "losses of several scores, one problem for all classes: loss(z, y)": dict(JOINT),
        "measures, losses of all rows together or of each query": dict(MEASURES),
        "penalties: R(w)": dict(REGULARIZERS),
    }


def _table() -> str:
    rows = {
        title: {
            _signature(name, kind): getattr(kind, "formula", None) or _formula(kind) for name, kind in kinds.items()
        }
        for title, kinds in _parts().items()
    }
    width = max(len(name) for part in rows.values() for name in part) + 2
    blocks = ["\n".join([title, *(f"  {n:<{width}}{f}" for n, f in part.items())]) for title, part in rows.items()]
    return "\n\n".join(blocks)


def _formula(kind: Any) -> str:
    return inspect.getdoc(kind).split("\n")[0]  # type: ignore[union-attr]


def _signature(name: str, kind: Any) -> str:
    if hasattr(kind, "outputs"):  # its fields hold more than what it is made of
        words = [str(parameter) for parameter in _made_of(kind)]
    elif hasattr(kind, "_fields"):
        defaults = kind._field_defaults
        words = [f"{field}={defaults[field]}" if field in defaults else field for field in kind._fields]
    else:
        words = [f.name if f.default is MISSING else f"{f.name}={f.default}" for f in fields(kind)]
    return f"{name}({', '.join(words)})" if words else name


def _made_of(kind: Any) -> list[Any]:
    """The parameters of a constructor, without their types."""
    if "__new__" not in vars(kind):
        return []
    found = list(inspect.signature(kind.__new__).parameters.values())[1:]
    return [parameter.replace(annotation=inspect.Parameter.empty) for parameter in found]


def _details(name: str) -> str:
    from fenchel.errors import UnknownNameError

    kinds = {key: kind for part in _parts().values() for key, kind in part.items()}
    if name not in kinds:
        raise UnknownNameError("loss, measure or penalty", name, kinds)
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
