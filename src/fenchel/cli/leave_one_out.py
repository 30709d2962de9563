"""fenchel evaluate --loo MODEL DATA"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from fenchel.cli.terminal import as_json, clean
from fenchel.cli.verify import refitted_from, require_weights
from fenchel.errors import InputError


def run(model: Any, arguments: Namespace) -> int:
    """Print the leave-one-out error of the rows that the model was fitted to."""
    from fenchel.proofs import leave_one_out

    if not hasattr(model, "tol") or model.is_structured:
        raise InputError(
            f"{arguments.model} holds {model.content}: rows are left out of models with a score per row or label"
        )
    require_weights(model, arguments)
    results = refitted_from(model, arguments)
    if len(results) > 1:
        raise InputError(
            f"{arguments.model} has one problem per label, whose errors do not add up to that of all; train with a loss of "
            "several scores, such as --loss softmax"
        )
    if model.digests[0] is not None and results[0].problem.digest != model.digests[0]:
        raise InputError(
            f"{arguments.data} does not have the rows that {arguments.model} was fitted to, in their order"
        )
    found = leave_one_out(results[0])
    n, decided = len(found.decided), int(found.decided.sum())
    if arguments.json:
        counts = {
            "count": n,
            "decided": decided,
            "at_once": found.at_once,
            "predicted": found.predicted,
            "refits": found.refits,
        }
        print(as_json({**counts, "error": found.error._asdict()}))
        return 0
    what = "fraction of wrong labels" if model.labels is not None else "mean loss"
    low, high = found.error
    value = f"{low:.6g}" if high - low <= 1e-9 * abs(high) else f"{low:.6g} to {high:.6g}"
    print(clean(f"leave-one-out error ({what}): {value}"))
    print(
        f"rows decided: {decided} of {n}; by bounds alone: {found.at_once}; by predictions: {found.predicted}; "
        f"refits: {found.refits}"
    )
    return 0
