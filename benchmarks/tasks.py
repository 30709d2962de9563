"""What is solved: data, a loss, a penalty and its strength, with or without a free intercept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data_sets import STAND_IN, read

L1_RATIO = {"l2": 0.0, "l1": 1.0, "elastic_net": 0.5, "nonnegative": 1.0}
GROUP_SIZE = 5  # neighbouring columns make a group
PARAMETERS = {"quantile": {"tau": 0.9}, "epsilon_insensitive": {"epsilon": 0.1}, "huber": {"delta": 1.0}}


@dataclass(frozen=True)
class Spec:
    """A task by name, before its data are read."""

    data: str
    loss: str
    alpha: float
    fit_intercept: bool = False
    penalty: str = "l2"

    @property
    def name(self) -> str:
        penalty = "" if self.penalty == "l2" else f"{self.penalty}-"
        return f"{penalty}{self.loss}-{self.data}{'+b' if self.fit_intercept else ''}"

    def load(self) -> Task:
        X, y, name, weights = read(self.data)
        title = self.name + (STAND_IN if name.endswith(STAND_IN) else "")
        return Task(title, X, y, self.loss, self.alpha, self.fit_intercept, self.penalty, weights)


class Task(NamedTuple):
    """min over w, b of (1/S) sum_i s_i loss(<x_i, w> + b, y_i) + alpha (r |w|_1 + (1 - r)/2 <w, w>)

    b = 0 unless `fit_intercept`; s = 1 without weights; r is the penalty's share of L1. "nonnegative" is L1 with w >= 0;
    "group_lasso" is alpha sum_g |w_g| for groups of GROUP_SIZE neighbouring columns.
    """

    name: str
    X: Any
    y: np.ndarray
    loss: str
    alpha: float
    fit_intercept: bool
    penalty: str = "l2"
    weights: np.ndarray | None = None

    @property
    def C(self) -> float:
        """The same strength as some peers write it: <w, w>/2 + C sum_i loss."""
        return 1.0 / (self.alpha * self.X.shape[0])

    @property
    def groups(self) -> np.ndarray:
        """The number of every column's group."""
        return np.arange(self.X.shape[1]) // GROUP_SIZE

    @property
    def l1_ratio(self) -> float:
        return L1_RATIO[self.penalty]

    @property
    def parameters(self) -> dict[str, float]:
        """Of the loss."""
        return PARAMETERS.get(self.loss, {})

    @property
    def is_plain(self) -> bool:
        """Neither weights nor L1."""
        return self.weights is None and self.penalty == "l2"


MARGIN = {"a9a": 1e-4, "w8a": 1e-5, "ijcnn1": 1e-5, "news": 1e-5, "reuters": 1e-5, "covtype": 1e-6, "kdd99": 1e-6}
REGRESSION = {"fried": 1e-4, "mv": 1e-4, "cal_housing": 1e-4, "pol": 1e-4}
SPECS = [Spec(data, loss, a) for loss in ("hinge", "squared_hinge", "logistic") for data, a in MARGIN.items()]
SPECS += [Spec(data, loss, a, True) for loss in ("squared_hinge", "logistic") for data, a in MARGIN.items()]
SPECS += [Spec(data, "logistic", 1e-4, b, "l1") for data in ("a9a", "news") for b in (False, True)]
SPECS += [Spec(data, "squared", a, True, "elastic_net") for data, a in (("cal_housing", 1e-3), ("arcene", 1e-1))]
SPECS += [
    Spec(data, loss, a) for loss in ("quantile", "epsilon_insensitive", "huber") for data, a in REGRESSION.items()
]
SPECS += [
    Spec(data, loss, a, penalty="l1") for loss in ("hinge", "squared_hinge")
    for data, a in (("a9a", 1e-4), ("w8a", 1e-4), ("news", 1e-4))
]  # fmt: skip
SPECS += [Spec("w8a", "logistic", 1e-4, penalty="l1")]
SPECS += [Spec(data, "quantile", 1e-3, True, "l1") for data in ("fried", "cal_housing", "pol")]
SPARSE = {"l1": (("arcene", 1e-1), ("pol", 1e-3)), "group_lasso": (("arcene", 1e-1), ("pol", 1e-2))}
SPARSE["nonnegative"] = (("arcene", 1e-2), ("pol", 1e-3))
SPECS += [Spec(data, "squared", a, True, penalty) for penalty, sets in SPARSE.items() for data, a in sets]
SPECS += [Spec("claims", "poisson", 1e-4, True)]
TASKS = {spec.name: spec for spec in SPECS}


def select(patterns: list[str] | None, factors: tuple[float, ...] = (1.0,)) -> Iterator[Spec]:
    """The tasks whose name contains one of the patterns (all when there are none), with alpha times each factor."""
    for name, spec in TASKS.items():
        if not patterns or any(p in name for p in patterns):
            for factor in factors:
                yield replace(spec, alpha=spec.alpha * factor)
