"""Sample weights from a file: those of the rows that a model was fitted to."""

from __future__ import annotations

from argparse import Namespace, _ActionsContainer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from fenchel.cli.tasks import Task


def add_sample_weights(group: _ActionsContainer) -> None:
    """Add the option for a file of weights."""
    group.add_argument(
        "--weights", metavar="FILE", help="sample weights of the fit: a number per row of DATA, one per line (rankings: "
        "equal within a query)",
    )  # fmt: skip


def weights_of(arguments: Namespace, task: Task, own: np.ndarray | None = None) -> list[Any]:
    """The weights of all rows, for each problem of a task: class weights times the column of weights, or those of the file."""
    from fenchel.cli.problem_options import asked_weights
    from fenchel.errors import InputError

    if arguments.weights is None:
        return asked_weights(arguments, task, own)
    if arguments.class_weight:
        raise InputError("--weights goes without class weights (-wi): multiply them into the numbers of the file")
    return [read_weights(arguments.weights)] * len(task.targets)


def read_weights(path: str) -> np.ndarray:
    """The numbers of a file, one per line."""
    import numpy as np

    from fenchel.errors import InputError, ReadError

    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    found = np.empty(len(lines))
    for number, line in enumerate(lines):
        try:
            found[number] = float(line)
        except ValueError:
            raise ReadError(
                f"{path}, line {number + 1}: expected a number (a sample weight), got {line[:40]!r}"
            ) from None
    if found.size == 0:
        raise InputError(f"{path} is empty: --weights needs a number per row of DATA")
    return found
