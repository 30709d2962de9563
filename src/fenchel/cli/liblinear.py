"""What liblinear's options mean here.

-s TYPE  loss and penalty of that number: liblinear's types 1, 2 and 5 have squares without the half that ours have
-c C     the sum of the losses times C plus |w|^2 / 2 (or |w|_1): our mean of losses has alpha = 1 / (C n), and 1 / (2 C n)
         where ours has half a square; with weights of labels the number of rows n becomes the sum of the weights
-B b     one more feature that is b in every row; its weight is penalised as all others (--intercept is not)
-wi X    rows with label i count X times; where labels are fitted one against the rest, only when i is that label
-v K     K-fold cross-validation instead of a model
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from fenchel.errors import InputError

if TYPE_CHECKING:
    from fenchel.problems.kinds_of_loss import AnyLoss

EPSILON = 0.1  # liblinear's default for support vector regression
TYPES: dict[int, tuple[str, str, dict[str, float]]] = {
    0: ("logistic", "l2", {}),
    1: ("squared_hinge", "l2", {}),
    2: ("squared_hinge", "l2", {}),
    3: ("hinge", "l2", {}),
    4: ("max_hinge", "l2", {}),
    5: ("squared_hinge", "l1", {}),
    6: ("logistic", "l1", {}),
    7: ("logistic", "l2", {}),
    11: ("epsilon_insensitive", "l2", {"p": 2.0, "epsilon": EPSILON}),
    12: ("epsilon_insensitive", "l2", {"p": 2.0, "epsilon": EPSILON}),
    13: ("epsilon_insensitive", "l2", {"p": 1.0, "epsilon": EPSILON}),
}
WEIGHT = re.compile(r"-w(.+)", re.DOTALL)


def translate(words: Sequence[str]) -> list[str]:
    """liblinear's `-w1 2.5` as `--class-weight=1=2.5`; all other words as they are.

    >>> translate(["train", "a9a", "-w-1", "2", "-c", "1"])
    ['train', 'a9a', '--class-weight=-1=2', '-c', '1']
    """
    found: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*found, word, *rest]
        match = WEIGHT.fullmatch(word)
        if match and rest:
            word = f"--class-weight={match[1]}={rest.pop(0)}"
        found.append(word)
    return found


def type_of(number: int) -> tuple[str, str, dict[str, float]]:
    """(loss, penalty, parameters of the loss) of liblinear's -s.

    >>> type_of(3)
    ('hinge', 'l2', {})
    """
    if number not in TYPES:
        known = ", ".join(map(str, TYPES))
        raise InputError(
            f"-s {number} has no equivalent here (known: {known}); for one-class models see --loss novelty"
        )
    return TYPES[number]


def squares(loss: AnyLoss) -> float:
    """2 if the loss is half a square, which liblinear writes without the half; else 1.

    >>> from fenchel.losses import Hinge, SquaredHinge
    >>> squares(Hinge()), squares(SquaredHinge())
    (1.0, 2.0)
    """
    from fenchel.losses import EpsilonInsensitive, Squared, SquaredHinge

    half = isinstance(loss, (Squared, SquaredHinge)) or (isinstance(loss, EpsilonInsensitive) and loss.p == 2.0)
    return 2.0 if half else 1.0


def class_weights(words: Iterable[str]) -> dict[str, float]:
    """LABEL=X words as a dict.

    >>> class_weights(["1=2.5", "a=b=3"])
    {'1': 2.5, 'a=b': 3.0}
    """
    found: dict[str, float] = {}
    for word in words:
        label, equals, value = word.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not equals or not 0.0 < number < math.inf:
            raise InputError(f"--class-weight {word!r}: expected LABEL=X with X > 0, or -wLABEL X")
        if label in found:
            raise InputError(f"the weight of label {label} is given twice")
        found[label] = number
    return found


def row_weights(task: Any, given: dict[str, float], path: str) -> list[Any]:
    """The weights of all rows, for each problem of a task; None where all rows count alike."""
    import numpy as np

    if not given:
        return [None] * len(task.targets)
    if task.labels is None:
        raise InputError("weights of labels (-wi) are for classification: this loss has no labels")
    known = {_named(str(label), task.labels): 1.0 for label in task.labels}
    for name, weight in given.items():
        if _named(name, task.labels) not in known:
            shown = ", ".join(str(label) for label in task.labels[:10])
            raise InputError(f"-w{name}: {path} has no such label; it has {shown}")
        known[_named(name, task.labels)] = weight
    factor = list(known.values())
    if len(task.targets) > 1:  # one label against the rest
        return [np.where(y > 0, x, 1.0) for y, x in zip(task.targets, factor, strict=True)]
    y = task.targets[0]
    place = (y > 0).astype(int) if len(task.labels) == 2 else y.astype(int)
    return [np.array(factor)[place]]


def _named(name: str, labels: Sequence[Any]) -> Any:
    """A label as it is written on the command line: a number if labels are, so that +1 is 1."""
    if isinstance(labels[0], str):
        return name
    try:
        return float(name)
    except ValueError:
        return name
