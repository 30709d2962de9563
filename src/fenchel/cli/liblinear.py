"""liblinear's options and their equivalents.

-s TYPE  loss and penalty of that number; the squared losses of liblinear's types 1, 2 and 5 lack our factor 1/2
-c C     liblinear minimises C sum of losses + |w|^2 / 2 (or |w|_1). With the mean of the losses, alpha = 1 / (C n), and
         1 / (2 C n) for losses with our factor 1/2; with class weights, n is the sum of the weights
-B b     a further feature that is b in every row; its weight is penalised like all others (--intercept is not)
-wi X    rows with label i count X times; with one-vs-rest, only in the problem of label i
-v K     K-fold cross-validation instead of a model
-R       (train) the feature of -B 1 is not penalised: --intercept
-M 0     (train) one problem per label against the rest, which is what the losses of one score do here; -M 1 has no equivalent
-C       (train) search for C by cross-validation: fenchel path
-b 1     (predict) probabilities: --proba
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
    """The arguments with liblinear's `-w1 2.5` replaced by `--class-weight=1=2.5`.

    >>> translate(["train", "a9a", "-w-1", "2", "-c", "1"])
    ['train', 'a9a', '--class-weight=-1=2', '-c', '1']
    """
    found: list[str] = []
    rest = list(words)
    own = {"train": _train_option, "predict": _predict_option}.get(next(iter(words), ""), lambda word, rest: None)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*found, word, *rest]
        match = WEIGHT.fullmatch(word)
        if match and rest:
            word = f"--class-weight={match[1]}={rest.pop(0)}"
        instead = own(word, rest)
        found += [word] if instead is None else instead
    return _without_penalty(found) if "-R" in words and words[0] == "train" else found


def _train_option(word: str, rest: list[str]) -> list[str] | None:
    """What stands for -R and -M, whose value is taken from `rest`; None for other words."""
    if word == "-R":
        return []
    if word == "-C":
        raise UsageError("-C has no equivalent here: fenchel path DATA selects the strength by cross-validation")
    if word == "-M" and rest:
        if rest.pop(0) != "0":
            raise UsageError(
                "-M 1 (one problem per pair of labels) has no equivalent: use -M 0, or a loss such as softmax"
            )
        return []
    return None


def _predict_option(word: str, rest: list[str]) -> list[str] | None:
    """What stands for -b 0 and -b 1; None for other words."""
    if word != "-b" or not rest or rest[0] not in ("0", "1"):
        return None
    return ["--proba"] if rest.pop(0) == "1" else []


def _without_penalty(words: list[str]) -> list[str]:
    """-R: the constant feature of -B 1 becomes a free intercept."""
    place = words.index("-B") if "-B" in words[:-1] else -1
    if place < 0 or words[place + 1] not in ("1", "1.0"):
        raise UsageError("-R needs -B 1: the constant feature 1 that is not to be penalised (the same as --intercept)")
    return [*words[:place], "--intercept", *words[place + 2 :]]


class UsageError(Exception):
    """An option of liblinear that is used wrongly or has no equivalent; the command ends with status 2."""


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
    """2 if the loss is half a square, which liblinear defines without the factor 1/2; else 1.

    >>> from fenchel.losses import Hinge, SquaredHinge
    >>> squares(Hinge()), squares(SquaredHinge())
    (1.0, 2.0)
    """
    from fenchel.losses import EpsilonInsensitive, Squared, SquaredHinge

    half = isinstance(loss, (Squared, SquaredHinge)) or (isinstance(loss, EpsilonInsensitive) and loss.p == 2.0)
    return 2.0 if half else 1.0


def class_weights(words: Iterable[str]) -> dict[str, float]:
    """LABEL=X arguments as a dict.

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
    """The weights of all rows, for each problem of a task; None if all weights are equal."""
    import numpy as np

    if not given:
        return [None] * len(task.targets)
    if task.labels is None:
        raise InputError("class weights (-wi) are for classification: this loss has no labels")
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


def balanced(task: Any, own: Any = None) -> list[Any]:
    """Weights with the same sum for each label: n / (number of labels * rows of the label), rows counted by their own weights.

    >>> import numpy as np
    >>> from fenchel.cli.tasks import Task
    >>> balanced(Task(["no", "yes"], [np.array([1.0, -1.0, -1.0, -1.0])]))[0].tolist()
    [2.0, 0.6666666666666666, 0.6666666666666666, 0.6666666666666666]
    """
    import numpy as np

    if task.labels is None:
        raise InputError("--class-weight balanced is for classification: this loss has no labels")
    k, y = len(task.labels), task.targets[0]
    if len(task.targets) > 1:  # one label against the rest
        places = [np.asarray(target) > 0 for target in task.targets]
        return [np.where(place, _inverse_share(place, own, k), 1.0) for place in places]
    place = (y > 0).astype(int) if k == 2 else y.astype(int)
    return [np.array([_inverse_share(place == label, own, k) for label in range(k)])[place]]


def _inverse_share(rows: Any, own: Any, k: int) -> float:
    total, part = (float(rows.size), float(rows.sum())) if own is None else (float(own.sum()), float(own[rows].sum()))
    return total / (k * part) if part > 0.0 else 1.0


def _named(name: str, labels: Sequence[Any]) -> Any:
    """A label from the command line: a number if the labels are numbers, so that +1 is 1."""
    if isinstance(labels[0], str):
        return name
    try:
        return float(name)
    except ValueError:
        return name
