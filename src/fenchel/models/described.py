"""What a linear model predicts, and its coefficients in the units of its columns, in words and numbers for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fenchel.losses.task import innermost, response_of, task_of

if TYPE_CHECKING:
    from fenchel.models.model import Model


def in_units(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(coefficients (k, d), intercepts (k,), standard deviation of each feature), in the units of the columns."""
    coef, intercept = np.atleast_2d(model.coef), np.atleast_1d(np.asarray(model.intercept, dtype=float))
    if model.preparation is None:
        return coef, intercept, np.ones(coef.shape[1])
    scales = [scale for rule in model.preparation.rules for _, scale in rule.units()]
    own, always = model.preparation.original(coef, intercept)
    return own, always, np.array(scales + [1.0] * (coef.shape[1] - len(scales)))


def favoured(model: Model, value: float) -> str:
    """What a positive or negative coefficient speaks for."""
    if value == 0.0:
        return ""
    if model.labels is not None:
        return str(model.labels[-1 if value > 0.0 else 0])
    return "larger" if value > 0.0 else "smaller"


def predicts(model: Model) -> str:
    """What the model predicts, in words.

    >>> import fenchel
    >>> problem = fenchel.Problem([[0.0], [1.0]], [-1, 1], loss="hinge", alpha=0.1)
    >>> predicts(fenchel.Model.from_result(fenchel.solve(problem), labels=("no", "yes"), target="smokes"))
    'smokes: no or yes (positive scores: yes)'
    """
    name = model.target or "the target"
    if model.labels is not None:
        some = [str(label) for label in model.labels[:8]] + (["..."] if len(model.labels) > 8 else [])
        positive = f" (positive scores: {model.labels[-1]})" if len(model.labels) == 2 and model.k == 1 else ""
        return f"{name}: {' or '.join(some) if len(some) == 2 else ', '.join(some)}{positive}"
    if model.is_ranking:
        return f"{name}: the order of the rows of a query"
    if task_of(model.loss) == "novelty":
        return "whether a row is novel"
    return f"{name}: exp(score)" if response_of(innermost(model.loss)) == "exp" else f"{name}: a number"
