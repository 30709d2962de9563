"""Check the contract of a custom structured model on some examples and weights: for its author, and for every `Problem`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from fenchel.errors import refuse_first
from fenchel.structured.python_model import PythonModel, label_key, rounding

MAX_EXAMPLES = 4
MAX_LABELS = 2000  # labels of an example that are compared, if the model can list them
SIZES = (0.0, 0.1, 1.0, 1.0, 10.0, 100.0)  # magnitudes of the weights, relative to the gold features


def check(model: Any, examples: Any, labels: Any) -> None:
    """Raise InputError naming what is wrong with a structured model on these examples; return None if nothing is.

    The checks: `features` and `cost` return the same numbers each time; the cost is 0 for the gold label and never negative; at
    several w, the label of `max_oracle` has at least the value of the gold label, of the label that `predict` finds, and of all
    labels that the oracle found before (all of `labels(x)`, if the model has that method); a value that the oracle returns is
    that of its label; a log-loss lies above its tangents. A model with `exact = False` may miss the maximum; then only the
    values are compared.

    >>> class Sign:
    ...     dim = 1
    ...     def features(self, x, y): return [x * y]
    ...     def cost(self, y, yhat): return float(y != yhat)
    ...     def max_oracle(self, w, x, y): return y
    ...     def predict(self, w, x): return 1 if w[0] * x > 0 else -1
    >>> check(Sign(), [1.0, -2.0], [1, -1])
    Traceback (most recent call last):
    fenchel.errors.InputError: Sign is not a sound structured model: for example 0 max_oracle returns ...
    """
    encoded = model if isinstance(model, PythonModel) else PythonModel(model, list(examples), list(labels))
    refuse_first(_faults(encoded), encoded.model, "a sound structured model")


def _some(encoded: PythonModel) -> list[int]:
    """A few examples: the first, the last, some between, and some with other gold labels."""
    chosen = [int(i) for i in np.unique(np.linspace(0, encoded.n - 1, MAX_EXAMPLES).astype(int))]
    seen = {label_key(encoded.golden[i]) for i in chosen}
    for i in range(encoded.n):
        if len(chosen) < 2 * MAX_EXAMPLES and label_key(encoded.golden[i]) not in seen:
            seen.add(label_key(encoded.golden[i]))
            chosen.append(i)
    return chosen


def _faults(encoded: PythonModel) -> Iterator[str]:
    rng, out = np.random.default_rng(0), np.zeros(1, dtype=np.int32)
    chosen = _some(encoded)
    scale = max(float(np.abs(np.array([encoded.gold_features[i] for i in chosen])).max()), 1e-300)
    weights = [size / scale * rng.standard_normal(encoded.d) for size in SIZES]
    for i in chosen:
        if hasattr(encoded.model, "labels") and encoded.exact:
            for y in islice(encoded.model.labels(encoded.examples[i]), MAX_LABELS):
                encoded.number(i, y)
        found = []
        for w in weights:
            encoded.best_label(w, None, i, out)
            first = encoded.plane(w, i, int(out[0]))
            found.append((w, int(out[0])))
            encoded.best_label(w, None, i, out)
            again = encoded.plane(w, i, int(out[0]))
            if abs(again - first) > rounding(w, first, again):
                yield f"for example {i} max_oracle returns labels of values {first:.6g} and {again:.6g} for the same weights"
            encoded.predicted(w, i)
        if encoded.log:
            yield from encoded.nonconvex(i, weights)
        for k in encoded.of[i]:
            yield from encoded.changed(k)
        for w, k in found:
            yield from encoded.better(w, i, k)
