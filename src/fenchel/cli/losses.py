"""fenchel losses [NAME]"""

from __future__ import annotations

import inspect
import math
from argparse import Namespace
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from fenchel.cli.terminal import CleanParser, as_json

if TYPE_CHECKING:
    from fenchel.losses.protocol import Loss

WIDEST = 48  # the maximum width of a name with its parameters in the table
KINDS = ("loss", "multiclass", "measure", "structured", "penalty")
EPILOG = """\
z is the raw score <x, w> + b of a row, y its target, u the dual variable; w are the coefficients. A loss of
several scores has a z and a u for each of them, a measure for each row. Structured models are for
`fenchel train --columns` (chain) and for Python.
JSON: {name: {kind, signature, formula}}, kind being loss, multiclass, measure, structured or penalty; with NAME
this entry and its text.

exit status: 0 done, 1 unknown name, 2 wrong usage

example: fenchel losses huber
"""


def configure(parser: CleanParser) -> None:
    """Add the options."""
    parser.epilog = EPILOG
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="describe this loss, measure, structured model or penalty"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Namespace) -> int:
    """Print the table or one entry."""
    if arguments.json:
        print(as_json(_entries(arguments.name)))
    else:
        print(_details(arguments.name) if arguments.name else _table())
    return 0


def _parts() -> dict[str, dict[str, Any]]:
    from fenchel.losses import LOSSES
    from fenchel.measures import MEASURES
    from fenchel.multiclass import LOSSES as JOINT
    from fenchel.regularizers import REGULARIZERS
    from fenchel.structured import MODELS

    return {
        "losses: loss(z, y)": dict(LOSSES),
        "losses of several scores, one problem for all classes: loss(z, y)": dict(JOINT),
        "measures, losses of the scores of all rows or of each query": dict(MEASURES),
        "structured models, losses of structured outputs": _structured(MODELS, LOSSES, JOINT, MEASURES, REGULARIZERS),
        "penalties: R(w)": dict(REGULARIZERS),
    }


def _structured(models: Any, *others: Any) -> dict[str, Any]:
    """The structured models; a model whose name is also that of a loss is called structured_<name>."""
    taken = {name for other in others for name in other}
    return {f"structured_{name}" if name in taken else name: kind for name, kind in models.items()}


def _entries(name: str | None) -> dict[str, Any]:
    found = {}
    for word, kinds in zip(KINDS, _parts().values(), strict=True):
        for key, kind in kinds.items():
            found[key] = {"kind": word, "signature": _signature(key, kind), "formula": _formula(kind)}
    if name is None:
        return found
    text = _details(name)
    return {"name": name, **found[name], "text": text}


def _table() -> str:
    rows = {
        title: {_signature(name, kind): _formula(kind) for name, kind in kinds.items()}
        for title, kinds in _parts().items()
    }
    return "\n\n".join("\n".join([title, *_aligned(part)]) for title, part in rows.items())


def _aligned(part: dict[str, str]) -> list[str]:
    """Names and formulas side by side; a formula after a long name is on the next line."""
    width = max((len(name) for name in part if len(name) <= WIDEST), default=0) + 2
    return [
        f"  {name:<{width}}{formula}" if len(name) <= WIDEST else f"  {name}\n  {'':<{width}}{formula}"
        for name, formula in part.items()
    ]


def _formula(kind: type) -> str:
    return getattr(kind, "formula", None) or (inspect.getdoc(kind) or "").split("\n")[0]


def _signature(name: str, kind: Any) -> str:
    if hasattr(kind, "outputs"):  # its fields are not only the parameters of the constructor
        words = [str(parameter) for parameter in _made_of(kind)]
    elif hasattr(kind, "_fields"):
        defaults = kind._field_defaults
        words = [f"{field}={defaults[field]}" if field in defaults else field for field in kind._fields]
    else:
        words = [f.name if f.default is MISSING else f"{f.name}={f.default}" for f in fields(kind)]
    return f"{name}({', '.join(words)})" if words else name


def _made_of(kind: type) -> list[Any]:
    """The parameters of a constructor, without their types."""
    if "__new__" not in vars(kind):
        return []
    found = list(inspect.signature(kind.__new__).parameters.values())[1:]
    return [parameter.replace(annotation=inspect.Parameter.empty) for parameter in found]


def _details(name: str) -> str:
    from fenchel.errors import UnknownNameError

    kinds = {key: kind for part in _parts().values() for key, kind in part.items()}
    if name not in kinds:
        raise UnknownNameError("loss, measure, structured model or penalty", name, kinds)
    kind = kinds[name]
    text = (inspect.getdoc(kind) or "").partition(">>>")[0].rstrip()
    lines = [_signature(name, kind), *(f"  {line}".rstrip() for line in text.split("\n"))]
    if hasattr(kind, "target_rule"):
        lines += ["", f"  targets: {kind.target_rule}"]
        if name != "moreau":
            lines.append(f"  slope: {_slope(kind())}")
    return "\n".join(lines)


def _slope(loss: Loss) -> str:
    from fenchel.losses import smoothness

    constant = smoothness(loss)
    if constant is None:
        return "jumps"
    return "continuous" if math.isinf(constant) else f"Lipschitz continuous with constant {constant:g}"
