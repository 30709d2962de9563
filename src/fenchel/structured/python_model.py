"""An adapter from a user's model in plain Python to the methods that kernels call: labels are indices into a table.

The source of the kernels runs on it as plain Python (`kernel.py_func`), so the algorithms are the same as for compiled models.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel import deadline
from fenchel.errors import InputError
from fenchel.structured.parameters import accept_beta
from fenchel.structured.parts_labels import LabelParts, label_parts

if TYPE_CHECKING:
    from fenchel.structured.pool import Pool

REQUIRED = ("dim", "features", "cost", "max_oracle", "predict")
ROUNDING = 1e-8  # relative tolerance for the value that an oracle returns


class PythonModel:
    """Encoded examples of a user's model."""

    compiled = False
    workspace_size = 1

    def __init__(self, model: Any, examples: list, labels: list):
        lacking = [name for name in REQUIRED if not hasattr(model, name)]
        if lacking:
            raise InputError(
                f"a structured model needs {', '.join(REQUIRED)}; {type(model).__name__} lacks {lacking[0]}"
            )
        self.model, self.examples, self.golden = model, examples, labels
        self.d, self.n = int(model.dim), len(examples)
        self.exact = bool(getattr(model, "exact", True))
        self.log = getattr(model, "loss", "hinge") == "log"
        self.beta = getattr(model, "beta", 0.0)
        accept_beta(self.beta)
        self.sizes = np.ones(self.n, dtype=np.int64)
        self.work = self.n * self.d
        self.of: list[list[int]] = [[] for _ in range(self.n)]
        self.table: list[tuple[int, Any, float, tuple[np.ndarray, np.ndarray]]] = []
        self.known: dict[Any, int] = {}
        self.gold_features = [self._features(i, y) for i, y in enumerate(labels)]
        for i, y in enumerate(labels):
            cost = float(model.cost(y, y))
            if cost != 0.0:
                raise InputError(f"the cost of example {i}'s own label is {cost!r}: cost(y, y) must be 0")

    @cached_property
    def label_parts(self) -> LabelParts | None:
        """The labels of every example, if the model lists them and they are not too many (`parts_labels`)."""
        return label_parts(self)

    def _features(self, i: int, y: Any) -> np.ndarray:
        found = self.model.features(self.examples[i], y)
        if isinstance(found, dict):
            vector = np.zeros(self.d)
            for key, value in found.items():
                if not 0 <= key < self.d:
                    raise InputError(f"feature {key!r} of example {i} is outside 0 .. {self.d - 1} (dim is {self.d})")
                vector[key] = value
        else:
            vector = np.asarray(found.toarray() if sp.issparse(found) else found, dtype=np.float64).ravel()
        if vector.shape != (self.d,):
            raise InputError(
                f"features of example {i} have shape {vector.shape}, expected ({self.d},): dim is {self.d}"
            )
        if not np.isfinite(vector).all():
            raise InputError(
                f"features of example {i} contain NaN or infinity at {int(np.argmin(np.isfinite(vector)))}"
            )
        return vector

    def number(self, i: int, y: Any) -> int:
        """The index of a label in the table."""
        key = (i, label_key(y))
        if key not in self.known:
            psi = self._features(i, y) - self.gold_features[i]
            index = np.flatnonzero(psi)
            cost = float(self.model.cost(self.golden[i], y))
            if not (np.isfinite(cost) and cost >= 0.0):
                raise InputError(f"the cost of a label of example {i} is {cost!r}: it must be finite and at least 0")
            self.known[key] = len(self.table)
            self.of[i].append(len(self.table))
            self.table.append((i, y, cost, (index, psi[index])))
        return self.known[key]

    def plane(self, w: np.ndarray, i: int, k: int) -> float:
        """cost + cost^beta <w, phi(y) - phi(gold)> of label k of the table."""
        _, _, cost, (index, values) = self.table[k]
        return cost + self.plane_factor(cost) * float(w[index] @ values)

    def predicted(self, w: np.ndarray, i: int) -> int:
        """The index of the label that `predict` finds."""
        return self.number(i, self.model.predict(w, self.examples[i]))

    def better(self, w: np.ndarray, i: int, k: int) -> Iterator[str]:
        """A fault if a known label of example i has a larger plane at w than label k, which the oracle returned for it."""
        self.number(i, self.golden[i])
        mine = self.plane(w, i, k)
        best = max(self.of[i], key=lambda other: self.plane(w, i, other))
        most = self.plane(w, i, best)
        if self.exact and most > mine + rounding(w, mine, most):
            yield (
                f"for example {i} max_oracle returns {self.table[k][1]!r}, worth {mine:.6g} more than the gold label, but "
                f"{self.table[best][1]!r} is worth {most:.6g}: it is not the maximum (set exact = False if it may miss it)"
            )

    def changed(self, k: int) -> Iterator[str]:
        """A fault if the features or the cost of label k have changed since the first call."""
        i, y, cost, (index, values) = self.table[k]
        psi = self._features(i, y) - self._features(i, self.golden[i])
        psi[index] -= values
        if psi.any():
            yield f"the features of {y!r} of example {i} change from call to call"
        if float(self.model.cost(self.golden[i], y)) != cost:
            yield f"the cost of {y!r} of example {i} changes from call to call"

    def require_sound(self, w: np.ndarray, labels: np.ndarray, used: np.ndarray) -> None:
        """Raise InputError if `labels`, the oracle's at w, are not the best known, or those that are used have changed."""
        for i in range(self.n):
            self.predicted(w, i)
            for fault in self.better(w, i, int(labels[i])):
                raise InputError(f"{fault}. No certificate can be given")
        for k in np.unique(used):
            for fault in self.changed(int(k)):
                raise InputError(f"{fault}. No certificate can be given")

    def best_known(self, w: np.ndarray, p: np.ndarray) -> float:
        """sum p max over the known labels of each example: a lower bound of the risk if the oracle may miss the maximum."""
        return float(sum(p[i] * max(self.plane(w, i, k) for k in self.of[i]) for i in range(self.n) if p[i] > 0.0))

    def gold(self, i: int) -> np.ndarray:
        return np.array([self.number(i, self.golden[i])], dtype=np.int32)

    def decode(self, i: int, y: np.ndarray) -> Any:
        return self._entry(i, y)[1]

    def _entry(self, i: int, y: np.ndarray) -> tuple[int, Any, float, tuple[np.ndarray, np.ndarray]]:
        k = int(y[0])
        if not 0 <= k < len(self.table) or self.table[k][0] != i:
            raise InputError(f"label number {k} is not one of example {i}")
        return self.table[k]

    def valid_labels(self, pool: Pool) -> bool:
        owner = np.repeat(np.arange(self.n), np.diff(pool.start))
        known = (pool.labels >= 0) & (pool.labels < len(self.table))
        return bool(known.all()) and all(self.table[k][0] == i for k, i in zip(pool.labels, owner, strict=True))

    def label_size(self, i):
        return 1

    def part_scores(self, w, i, S):
        """The magnitude of scores, for the log-loss; nothing else is shared."""
        S[0] = float(np.abs(w) @ np.abs(self.gold_features[i])) if self.log else 0.0

    def best_label(self, w, S, i, out):
        deadline.check()  # its kernels run as plain Python
        found = self.model.max_oracle(w, self.examples[i], self.golden[i])
        y, claimed = found if _is_pair(found) else (found, None)
        out[0] = self.number(i, y)
        if claimed is None:
            return
        value = self.plane(w, i, int(out[0]))
        base = 0.0 if self.beta > 0.0 else float(w @ self.gold_features[i])
        size = 1.0 + abs(base) + abs(value)
        if not abs(float(claimed) - base - value) <= ROUNDING * size:
            what = "cost + cost^beta <w, features - gold features>" if self.beta > 0.0 else "<w, features> + cost"
            raise InputError(
                f"max_oracle of example {i} says {float(claimed)!r} for its label, but {what} is "
                f"{base + value!r}: the oracle, `features` and `cost` must agree"
            )

    def label_cost(self, i, y):
        return self._entry(i, y)[2]

    def label_margin(self, w, S, i, y):
        index, values = self._entry(i, y)[3]
        return float(w[index] @ values)

    def log_partition(self, w, S, i, a, out):
        """The model's own, or the sum over the labels that it lists."""
        deadline.check()
        gold = self.gold_features[i]
        if hasattr(self.model, "log_partition"):
            value, expected = self.model.log_partition(w, self.examples[i])
            expected = np.asarray(expected, dtype=np.float64)
            if expected.shape != (self.d,):
                raise InputError(
                    f"the expected features that log_partition returns for example {i} have shape {expected.shape}, expected "
                    f"({self.d},)"
                )
            out += a * (expected - gold)
            return float(value) - float(w @ gold)
        parts = self.label_parts
        assert parts is not None  # `encode` has checked it.
        numbers = parts.numbers[i]
        margins = np.array([self.label_margin(w, S, i, (k,)) for k in numbers])
        shares = np.exp(margins - margins.max())
        for k, share in zip(numbers, shares / shares.sum(), strict=True):
            self.add_label(i, (k,), a * share, out)
        return float(margins.max() + np.log(shares.sum()))

    def nonconvex(self, i: int, weights: list[np.ndarray]) -> Iterator[str]:
        """A fault if the log-loss of example i lies below one of its tangents: the certificate rests on them."""
        S, found = np.zeros(1), []
        for w in weights:
            slope = np.zeros(self.d)
            self.part_scores(w, i, S)
            found.append((self.log_partition(w, S, i, 1.0, slope), slope))
        for w, (value, slope) in zip(weights, found, strict=True):
            for other, (there, _) in zip(weights, found, strict=True):
                tangent = value + float(slope @ (other - w))
                size = 1.0 + abs(value) + abs(there) + float(np.abs(slope) @ np.abs(other - w))
                if not there >= tangent - ROUNDING * size:
                    yield (
                        f"for example {i} log_partition is {there:.6g} more than the gold score, below its tangent "
                        f"{tangent:.6g} from other weights: the expected features are not its gradient, or it is not convex"
                    )

    def plane_factor(self, cost):
        return 1.0 if self.beta == 0.0 else cost**self.beta

    def add_label(self, i, y, a, out):
        index, values = self._entry(i, y)[3]
        out[index] += a * values

    def pop_square_norm(self, i, y, out):
        index, _ = self._entry(i, y)[3]
        total = float(out[index] @ out[index])
        out[index] = 0.0
        return total


def rounding(w: np.ndarray, *values: float) -> float:
    """The tolerance for rounding errors of values of labels at w."""
    return ROUNDING * (1e-3 + max(map(abs, values)))


def _is_pair(found: Any) -> bool:
    """(label, number): a label that is itself a pair must come with its value."""
    return isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], (float, np.floating))


def label_key(y: object) -> Any:
    """A hashable key that is the same for equal labels."""
    if isinstance(y, np.ndarray):
        return (y.shape, y.dtype.str, y.tobytes())
    if isinstance(y, (list, tuple)):
        return tuple(map(label_key, y))
    if isinstance(y, dict):
        return tuple(sorted((key, label_key(value)) for key, value in y.items()))
    if isinstance(y, (set, frozenset)):
        return frozenset(map(label_key, y))
    return y
