"""The interface of a structured model: as users write it, and as kernels use it.

A user's model is any object with

=============================  ====================================================================================
dim                            length of the feature vectors
exact                          optional, default True: whether `max_oracle` always finds the maximum
features(x, y)                 phi(x, y): an array of length dim, a sparse row, or {index: value}
cost(y, yhat)                  L >= 0, 0 for yhat = y
max_oracle(w, x, y)            the label yhat that maximises <w, phi(x, yhat)> + cost(y, yhat), or (yhat, that sum)
beta                           optional, default 0 (margin rescaling): the loss is the largest plane cost(y, yhat)
                               + cost(y, yhat)^beta <w, phi(x, yhat) - phi(x, y)>, 1 being slack rescaling, and for beta > 0
                               `max_oracle` returns the yhat of the largest plane, or (yhat, that plane)
predict(w, x)                  the label that maximises <w, phi(x, y)>
labels(x)                      optional: all labels of x, with which `max_oracle` is compared when a problem is made. Up to
                               4096 are the model's parts: `Extragradient` and `Pragam` work on distributions of them
loss                           optional: "hinge" (default) or "log", which needs `log_partition` or `labels`
log_partition(w, x)            optional: (log sum_y exp <w, phi(x, y)>, the expected phi(x, y) under p(y) ~ exp <w, phi(x, y)>)
=============================  ====================================================================================

A shipped model (`Chain`, `Matching`, ...) is a frozen dataclass whose `encode(examples, labels)` returns a NamedTuple of
arrays, the encoded examples with their gold labels. A label of example i is an array of `label_size` integers there. w is flat.

=====================================  ====================================================================================
label_size(model, i)                   entries of a label of example i
part_scores(model, w, i, S)            S = the scores of the parts of example i at w; at most `workspace_size` numbers
best_label(model, w, S, i, o)          o = the label with the largest plane at w
label_cost(model, i, y)                L_i(y)
label_margin(model, w, S, i, y)        <w, phi_i(y) - phi_i(gold)>
plane_ceiling(model, w, S, i)          an upper bound of all planes of example i at w; optional, for inexact oracles
plane_factor(model, cost)              f: the plane of label y is L + f <w, phi(y) - phi(gold)>; 1 unless slack is rescaled
add_label(model, i, y, a, out)         out += a (phi_i(y) - phi_i(gold))
pop_square_norm(model, i, y, out)      set out to 0 where phi_i(y) or phi_i(gold) may not be 0; the sum of squares there
begin_pass(model, w, S)                called once per w, before `log_partition`: stores in S what all examples share; optional
score_size(model, S, i)                magnitude of the terms of the scores of example i, for rounding errors; optional
log_partition(model, w, S, i, a, out)  log sum_y exp <w, phi_i(y) - phi_i(gold)>; out += a (E phi_i - phi_i(gold)); optional
=====================================  ====================================================================================

and, in Python only, properties `d`, `n`, `workspace_size`, `sizes` (label sizes), `work` (stored numbers that a pass reads),
`exact`, and methods `gold(i)`, `decode(i, y)` (the label as the user writes it). The structured hinge loss of an example is
the largest plane of its labels; the gold label's plane is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from fenchel.compile.dispatch import method


class StructuredModel(Protocol):
    """A shipped model, for annotations; x is an input and y a label as the user writes them."""

    def encode(self, examples: Sequence[Any], labels: Sequence[Any]) -> EncodedModel:
        """The examples with their gold labels, as arrays for kernels."""


class EncodedModel(Protocol):
    """Encoded examples, for annotations: the Python side of the second table above."""

    @property
    def d(self) -> int:
        """The length of w."""

    @property
    def n(self) -> int:
        """The number of examples."""

    @property
    def workspace_size(self) -> int:
        """The largest number of entries that `part_scores` writes for an example."""

    @property
    def sizes(self) -> np.ndarray:
        """The entries of a label, of every example."""

    @property
    def work(self) -> float:
        """The number of stored values that one pass reads."""

    @property
    def exact(self) -> bool:
        """Whether the best label is always found."""

    def gold(self, i: int) -> np.ndarray:
        """The gold label of example i."""

    def decode(self, i: int, y: np.ndarray) -> Any:
        """A label of example i as the user writes it."""


@method(inline=False)
def label_size(model, i):
    """Entries of a label of example i."""


@method(inline=False)
def part_scores(model, w, i, S):
    """Scores of the parts that labels of example i are made of."""


@method(inline=False)
def best_label(model, w, S, i, out):
    """out = the label with the largest plane at w."""


@method(inline=False)
def label_cost(model, i, y):
    """L_i(y)."""


@method(inline=False)
def label_margin(model, w, S, i, y):
    """<w, phi_i(y) - phi_i(gold)>."""


def _one(model, cost):
    return 1.0


@method(_one, inline=False)
def plane_factor(model, cost):
    """The factor f of the slope of the plane of a label with that cost."""


def _no_ceiling(model, w, S, i):
    return -np.inf


@method(_no_ceiling, inline=False)
def plane_ceiling(model, w, S, i):
    """An upper bound of all planes of example i at w, for oracles that may miss the best label; -inf for exact oracles."""


@method(inline=False)
def add_label(model, i, y, a, out):
    """out += a (phi_i(y) - phi_i(gold))."""


@method(inline=False)
def pop_square_norm(model, i, y, out):
    """Set the entries of out to 0 where phi_i(y) or phi_i(gold) may differ from 0; returns the sum of their squares."""


def _nothing(model, w, S):
    pass


@method(_nothing, inline=False)
def begin_pass(model, w, S):
    """Store what all examples share at w in a part of S that `part_scores` and `log_partition` do not overwrite."""


def _largest(model, S, i):
    return np.max(np.abs(S))


@method(_largest, inline=False)
def score_size(model, S, i):
    """The magnitude of the terms whose sums are the scores of example i; S as written by `part_scores`."""


@method(inline=False)
def log_partition(model, w, S, i, a, out):
    """log sum over y of exp <w, phi_i(y) - phi_i(gold)>; out += a times its gradient."""
