"""The options that define the problem, shared by train, path and compare."""

from __future__ import annotations

import math
from argparse import SUPPRESS, Namespace
from functools import partial
from typing import TYPE_CHECKING, Any

from fenchel.cli.liblinear import balanced, class_weights, row_weights, squares, type_of
from fenchel.cli.options import COMMON, loss_of, matrix, measure_of, numbers, pairs, penalty_of, tree
from fenchel.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from argparse import _ActionsContainer, _ArgumentGroup
    from collections.abc import Sequence

    import numpy as np

    from fenchel.cli.reading import Rows
    from fenchel.cli.tasks import Task
    from fenchel.regularizers.base import Regularizer


def add_loss(group: _ArgumentGroup, types: bool = True) -> None:
    """Add the options for the loss or measure."""
    what = group.add_mutually_exclusive_group()
    what.add_argument("--loss", metavar="NAME", help="see fenchel losses (default: hinge)")
    what.add_argument("--measure", metavar="NAME", help="a measure instead of a loss: f1, roc_area, ndcg, ...")
    if types:
        what.add_argument(
            "-s", dest="type", type=int, metavar="N", help="liblinear's type: 0-7 or 11-13 (with -c 1 unless given)"
        )


def add_loss_parameters(group: _ArgumentGroup) -> None:
    """Add the options for parameters of losses and penalties."""
    for name in COMMON:
        flags = ["-p", "--epsilon"] if name == "epsilon" else [f"--{name}"]  # -p in liblinear
        group.add_argument(*flags, dest=name, type=float, metavar="X", help=f"parameter {name} of the loss")
    group.add_argument("--k", type=int, metavar="K", help="parameter k of the loss or measure")
    group.add_argument("--rho", metavar="X,X,...", help="nonincreasing weights of ranks, as in 3,2,1")
    group.add_argument("--cost", metavar="FILE", help="cost matrix: a text file with a row per true label")
    group.add_argument(
        "--tree", metavar="FILE", help="class tree: a text file with a path per label, or parent numbers"
    )
    group.add_argument("--loss-param", action="append", default=[], metavar="NAME=X", help="any parameter of the loss")
    group.add_argument("--smooth", type=float, metavar="GAMMA", help="smooth the loss: its Moreau envelope")
    group.add_argument(
        "--penalty-param",
        action="append",
        default=[],
        metavar="NAME=X",
        help="a parameter of the penalty, as in l1_ratio=0.5",
    )


def add_constraints(group: _ArgumentGroup) -> None:
    """Add the options for bounds, groups and penalty weights of coefficients."""
    lower = group.add_mutually_exclusive_group()
    lower.add_argument("--nonnegative", action="store_true", help="coefficients >= 0 (with l2, l1, elastic_net)")
    lower.add_argument("--lower", type=float, metavar="X", help="coefficients >= X")
    group.add_argument("--upper", type=float, metavar="X", help="coefficients <= X")
    group.add_argument(
        "--constraint", action="append", default=[], metavar="TEXT",
        help='linear constraint: "a <= b <= c", "a + b = 1", "2*[my column] >= 0.5"',
    )  # fmt: skip
    group.add_argument("--groups", metavar="FILE", help="group_lasso: a text file with a group number per feature")
    group.add_argument(
        "--penalty-weight", action="append", default=[], metavar="COLUMN=X",
        help="penalty weight of a feature; 0: unpenalised (l2, l1, elastic_net)",
    )  # fmt: skip
    group.add_argument("--standardize", action="store_true", help="penalise as if every column had variance 1")


def add_strength(group: _ActionsContainer) -> None:
    """Add the options for the strength of the penalty."""
    strength = group.add_mutually_exclusive_group()
    strength.add_argument("--alpha", type=float, metavar="A", help="strength of the penalty (default: 1e-4; 0: none)")
    strength.add_argument("-c", "--C", dest="C", type=float, metavar="C", help="alpha = 1 / (C n), as in liblinear")


def add_intercept(group: _ArgumentGroup) -> None:
    """Add the options for the intercept, liblinear's constant feature and class weights."""
    intercept = group.add_mutually_exclusive_group()
    intercept.add_argument("--intercept", action="store_true", help="fit a free intercept")
    intercept.add_argument("--no-intercept", dest="intercept", action="store_false", help=SUPPRESS)
    intercept.add_argument(
        "-B", dest="constant", type=float, metavar="B", help="append a constant feature B, penalised (liblinear)"
    )
    add_class_weight(group)


def add_class_weight(group: _ActionsContainer) -> None:
    """Add the option for class weights."""
    group.add_argument(
        "-wLABEL", "--class-weight", dest="class_weight", action="append", default=[], metavar="X",
        help="class weight: rows with this label count X times (liblinear), or --class-weight balanced",
    )  # fmt: skip


def asked_loss(arguments: Namespace) -> Any:
    """The loss or measure given by the options."""
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
    """The penalty given by the options, with strength 1."""
    from fenchel.regularizers.constraint_set import ConstraintSet

    name = arguments.penalty
    if getattr(arguments, "type", None) is not None:
        if name is not None:
            raise InputError(f"-s {arguments.type} determines the penalty: remove --penalty")
        name = type_of(arguments.type)[1]
    parameters: dict[str, Any] = dict(pairs(arguments.penalty_param, "--penalty-param"))
    if arguments.groups is not None:
        parameters["groups"] = group_numbers(arguments.groups)
    penalty = penalty_of(name or "l2", parameters, 1.0)
    if isinstance(penalty, ConstraintSet):
        if hasattr(arguments, "alphas"):
            raise InputError(f"penalty {name} is a constraint without a strength: there is no path")
        if arguments.alpha is not None or arguments.C is not None:
            raise InputError(f"penalty {name} is a constraint and has no strength: remove --alpha and -c")
    lower = 0.0 if arguments.nonnegative else arguments.lower
    if lower is None and arguments.upper is None:
        return penalty
    from fenchel.regularizers import Bounded

    return Bounded(penalty, lower, arguments.upper)


def of_strength(penalty: Any, alpha: float) -> Any:
    """The penalty with this alpha; none at 0, if nothing else is left of it."""
    if alpha != 0.0:
        return penalty.scaled(alpha)
    from fenchel import regularizers

    name = regularizers.REGULARIZERS.written_name(penalty)
    if name in ("bounded", "linearly_constrained"):
        what = "bounds" if name == "bounded" else "constraints"
        raise InputError(
            f"--alpha 0 with {what} needs a penalty of some strength: give a small one, such as --alpha 1e-9"
        )
    return regularizers.make(name, 0.0)


def group_numbers(path: str) -> list[float]:
    """The group number of every feature, from a text file."""
    return [float(number) for number in matrix(path).ravel()]


def on_columns(penalty: Regularizer, arguments: Namespace, data: Rows) -> Any:
    """The penalty with what --penalty-weight and --constraint say about columns."""
    from fenchel.cli.constraints import with_constraints

    column = partial(column_number, data=data, d=data.X.shape[1])
    extra = int(asked_constant(arguments) is not None)
    return with_constraints(with_weights(penalty, arguments, data), arguments, column, data, extra)


def with_weights(penalty: Regularizer, arguments: Namespace, data: Rows) -> Any:
    """The penalty with the weights of --penalty-weight, given by column name, or by index for svmlight text."""
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
            weight = float(value)
        except ValueError:
            raise InputError(f"--penalty-weight {word} must be COLUMN=X with a number X") from None
        weights[column_number(name, data, d)] = weight
    inner = replace(inner, weights=weights)
    return replace(penalty, regularizer=inner) if isinstance(penalty, Bounded) else inner


def column_number(name: str, data: Rows, d: int) -> int:
    """The index of a column among the features."""
    if data.features is not None:
        if name not in data.features:
            raise UnknownNameError("column", name, data.features)
        return int(data.features.index(name))
    base = data.index_base or 0
    if not name.isdecimal() or not base <= int(name) < d + base:
        raise InputError(f"there is no feature {name!r}; features are numbered {base} to {d + base - 1}")
    return int(name) - base


def asked_constant(arguments: Namespace) -> float | None:
    """liblinear's -B; None if it is negative, which means no constant feature."""
    constant = arguments.constant
    if constant is None or constant < 0.0:
        return None
    if not math.isfinite(constant):
        raise InputError(f"-B must be a finite number, got {constant!r}")
    return constant


def with_constant(X: Any, constant: float | None) -> Any:
    """The rows with a constant feature appended."""
    if constant is None:
        return X
    from fenchel.models.roles import OffsetRows

    if isinstance(X, OffsetRows):
        return OffsetRows(with_constant(X.X, constant), X.offset)
    import numpy as np
    import scipy.sparse as sp

    if hasattr(X, "folder"):
        raise InputError("-B needs the rows in memory, but DATA is a folder of rows on disk: use --intercept instead")
    column = np.full((X.shape[0], 1), constant)
    return sp.hstack([X, sp.csr_matrix(column)], format="csr") if sp.issparse(X) else np.hstack([X, column])


def asked_weights(arguments: Namespace, task: Task, own: np.ndarray | None = None) -> list[Any]:
    """The weights of all rows, for each problem of a task: class weights times their own weights."""
    words = arguments.class_weight
    of_classes = (
        balanced(task, own) if words == ["balanced"] else row_weights(task, class_weights(words), arguments.data)
    )
    return of_classes if own is None else [own if weight is None else own * weight for weight in of_classes]


def alpha_of(arguments: Namespace, n: int, loss: Any = None, weights: Sequence[np.ndarray | None] = (None,)) -> float:
    """The strength given by the options, for n rows."""
    from fenchel.regularizers import DEFAULT_ALPHA

    C = arguments.C
    if C is None and (getattr(arguments, "type", None) is None or arguments.alpha is not None):
        return DEFAULT_ALPHA if arguments.alpha is None else arguments.alpha
    C = 1.0 if C is None else C
    if not 0.0 < C < math.inf:
        raise InputError(f"-c must be a number greater than 0, got {C!r}")
    if len(weights) > 1 and any(w is not None for w in weights):
        raise InputError(
            "-c with class weights and more than two labels would mean a different strength for each label: use --alpha, "
            "or a loss of all labels such as max_hinge (-s 4)"
        )
    (first, *_) = weights
    total = float(n if first is None else first.sum())
    return 1.0 / (squares(loss) * C * total)
