"""The options that say which problem is solved; train, path and compare share them."""

from __future__ import annotations

import math
from argparse import SUPPRESS, Namespace
from typing import TYPE_CHECKING, Any

from fenchel.cli.liblinear import class_weights, row_weights, squares, type_of
from fenchel.cli.options import COMMON, loss_of, matrix, measure_of, numbers, pairs, penalty_of, tree
from fenchel.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from argparse import _ArgumentGroup

    import numpy as np
    import scipy.sparse as sp

    from fenchel.cli.tasks import Task


def add_loss(group: _ArgumentGroup, types: bool = True) -> None:
    """Declare which loss or measure."""
    what = group.add_mutually_exclusive_group()
    what.add_argument("--loss", metavar="NAME", help="see fenchel losses (default: hinge)")
    what.add_argument("--measure", metavar="NAME", help="instead of a loss: f1, roc_area, ndcg, ...")
    if types:
        what.add_argument(
            "-s", dest="type", type=int, metavar="N", help="liblinear's type: 0-7 or 11-13 (with -c 1 unless given)"
        )


def add_loss_parameters(group: _ArgumentGroup) -> None:
    """Declare the parameters of losses and penalties."""
    for name in COMMON:
        flags = ["-p", "--epsilon"] if name == "epsilon" else [f"--{name}"]  # -p in liblinear
        group.add_argument(*flags, dest=name, type=float, metavar="X", help=f"parameter {name} of the loss")
    group.add_argument("--k", type=int, metavar="K", help="parameter k of the loss or measure")
    group.add_argument("--rho", metavar="X,X,...", help="weights of ranks, not increasing, as in 3,2,1")
    group.add_argument("--cost", metavar="FILE", help="matrix of costs: a text file, a row per label that is true")
    group.add_argument("--tree", metavar="FILE", help="a label path per line, in the order of the labels; or parents")
    group.add_argument("--loss-param", action="append", default=[], metavar="NAME=X", help="any parameter of the loss")
    group.add_argument("--smooth", type=float, metavar="GAMMA", help="use the loss's Moreau envelope")
    group.add_argument("--penalty-param", action="append", default=[], metavar="NAME=X", help="such as l1_ratio=0.5")


def add_constraints(group: Any) -> None:
    """Declare bounds on the coefficients, groups and weights of features."""
    lower = group.add_mutually_exclusive_group()
    lower.add_argument("--nonnegative", action="store_true", help="coefficients >= 0 (with l2, l1, elastic_net)")
    lower.add_argument("--lower", type=float, metavar="X", help="coefficients >= X")
    group.add_argument("--upper", type=float, metavar="X", help="coefficients <= X")
    group.add_argument("--groups", metavar="FILE", help="group_lasso: the group number of every feature, 0, 1, ...")
    group.add_argument(
        "--penalty-weight", action="append", default=[], metavar="COLUMN=X",
        help="how much a feature is penalised; 0: not at all (l2, l1, elastic_net)",
    )  # fmt: skip


def add_strength(group: Any) -> None:
    """Declare how strong the penalty is."""
    strength = group.add_mutually_exclusive_group()
    strength.add_argument("--alpha", type=float, metavar="A", help="strength of the penalty (default: 1e-4)")
    strength.add_argument("-c", "--C", dest="C", type=float, metavar="C", help="alpha = 1 / (C n), as in liblinear")


def add_intercept(group: _ArgumentGroup) -> None:
    """Declare the intercept, liblinear's constant feature, and weights of labels."""
    intercept = group.add_mutually_exclusive_group()
    intercept.add_argument("--intercept", action="store_true", help="fit a free intercept")
    intercept.add_argument("--no-intercept", dest="intercept", action="store_false", help=SUPPRESS)
    intercept.add_argument(
        "-B", dest="constant", type=float, metavar="B", help="append a constant feature B >= 0, penalised (liblinear)"
    )
    add_class_weight(group)


def add_class_weight(group: Any) -> None:
    """Declare weights of labels."""
    group.add_argument(
        "-wLABEL", "--class-weight", dest="class_weight", action="append", default=[], metavar="X",
        help="rows with that label count X times, as in -w1 5 (liblinear)",
    )  # fmt: skip


def asked_loss(arguments: Namespace) -> Any:
    """The loss or measure that the options ask for."""
    given = {name: getattr(arguments, name) for name in (*COMMON, "k") if getattr(arguments, name) is not None}
    words = [*arguments.loss_param, *(f"{name}={value!r}" for name, value in given.items())]
    parameters: dict[str, Any] = dict(pairs(words, "--loss-param"))
    if arguments.rho is not None:
        parameters["rho"] = numbers(arguments.rho, "--rho")
    for name, parse in (("cost", matrix), ("tree", tree)):
        if getattr(arguments, name) is not None:
            parameters[name] = parse(getattr(arguments, name))
    if arguments.measure is not None:
        return measure_of(arguments.measure, parameters, arguments.smooth)
    if getattr(arguments, "type", None) is not None:
        name, _, own = type_of(arguments.type)
        return loss_of(name, own | parameters, arguments.smooth)
    return loss_of(arguments.loss or "hinge", parameters, arguments.smooth)


def asked_penalty(arguments: Namespace) -> Any:
    """The penalty that the options ask for, of strength 1."""
    from fenchel.regularizers.constraint_set import ConstraintSet

    name = arguments.penalty
    if getattr(arguments, "type", None) is not None:
        if name is not None:
            raise InputError(f"-s {arguments.type} says which penalty: leave --penalty out")
        name = type_of(arguments.type)[1]
    parameters: dict[str, Any] = dict(pairs(arguments.penalty_param, "--penalty-param"))
    if arguments.groups is not None:
        parameters["groups"] = group_numbers(arguments.groups)
    penalty = penalty_of(name or "l2", parameters, 1.0)
    if isinstance(penalty, ConstraintSet):
        if hasattr(arguments, "alphas"):
            raise InputError(f"penalty {name} is a constraint: there is no strength to make a path of")
        if arguments.alpha is not None or arguments.C is not None:
            raise InputError(f"penalty {name} is a constraint and has no strength: leave --alpha and -c out")
    lower = 0.0 if arguments.nonnegative else arguments.lower
    if lower is None and arguments.upper is None:
        return penalty
    from fenchel.regularizers import Bounded

    return Bounded(penalty, lower, arguments.upper)


def group_numbers(path: str) -> list[float]:
    """The group number of every feature, from a text file."""
    return [float(number) for number in matrix(path).ravel()]


def with_weights(penalty: Any, arguments: Namespace, data: Any) -> Any:
    """The penalty with the weights of --penalty-weight, by the names of columns, or by their numbers in svmlight text."""
    if not arguments.penalty_weight:
        return penalty
    from dataclasses import replace

    import numpy as np

    from fenchel.regularizers import Bounded

    inner = penalty.regularizer if isinstance(penalty, Bounded) else penalty
    if not hasattr(inner, "weights") or not inner.separable:
        raise InputError("--penalty-weight is for the penalties l2, l1 and elastic_net")
    d = data.X.shape[1]
    weights = np.ones(d + (asked_constant(arguments) is not None))
    for word in arguments.penalty_weight:
        name, _, value = word.rpartition("=")
        try:
            weights[column_number(name, data, d)] = float(value)
        except ValueError:
            raise InputError(f"--penalty-weight {word} must be COLUMN=X with a number X") from None
    inner = replace(inner, weights=weights)
    return replace(penalty, regularizer=inner) if isinstance(penalty, Bounded) else inner


def column_number(name: str, data: Any, d: int) -> int:
    """The place of a column among the features."""
    if data.features is not None:
        if name not in data.features:
            raise UnknownNameError("column", name, data.features)
        return int(data.features.index(name))
    base = data.index_base or 0
    if not name.isdecimal() or not base <= int(name) < d + base:
        raise InputError(f"--penalty-weight: there is no feature {name!r}; they are numbered {base} to {d + base - 1}")
    return int(name) - base


def asked_constant(arguments: Namespace) -> float | None:
    """liblinear's -B: None where it is negative, which means no such feature."""
    constant = arguments.constant
    if constant is None or constant < 0.0:
        return None
    if not math.isfinite(constant):
        raise InputError(f"-B must be a finite number, got {constant!r}")
    return constant


def with_constant(X: np.ndarray | sp.csr_matrix, constant: float | None) -> Any:
    """The rows with one more feature at their end."""
    if constant is None:
        return X
    import numpy as np
    import scipy.sparse as sp

    if hasattr(X, "folder"):
        raise InputError("-B needs the rows in memory, but DATA is a folder of rows on disk: use --intercept")
    column = np.full((X.shape[0], 1), constant)
    return sp.hstack([X, sp.csr_matrix(column)], format="csr") if sp.issparse(X) else np.hstack([X, column])


def asked_weights(arguments: Namespace, task: Task) -> list[Any]:
    """The weights of all rows, for each problem of a task."""
    return row_weights(task, class_weights(arguments.class_weight), arguments.data)


def alpha_of(arguments: Namespace, n: int, loss: Any = None, weights: Any = (None,)) -> float:
    """The strength that the options ask for, for n rows."""
    from fenchel.regularizers import DEFAULT_ALPHA

    C = arguments.C
    if C is None and (getattr(arguments, "type", None) is None or arguments.alpha is not None):
        return DEFAULT_ALPHA if arguments.alpha is None else arguments.alpha
    C = 1.0 if C is None else C
    if not 0.0 < C < math.inf:
        raise InputError(f"-c must be a number greater than 0, got {C!r}")
    if len(weights) > 1 and any(w is not None for w in weights):
        raise InputError(
            "-c with weights of more than two labels would need another strength for each label: use --alpha, "
            "or a loss of all labels such as max_hinge (-s 4)"
        )
    total = float(n if weights[0] is None else weights[0].sum())
    return 1.0 / (squares(loss) * C * total)
