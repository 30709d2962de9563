"""Models as the text files of liblinear.

    solver_type NAME / nr_class K / label ... / nr_feature D / bias B / w / one line of weights per feature

With two labels, positive scores mean the first one. A bias that is not negative is one more feature, whose weights are in the
last line. Regression models have no label line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.errors import InputError
from fenchel.losses import Logistic, Novelty, Poisson, SquaredHinge
from fenchel.models.linear_form import linear_form
from fenchel.multiclass import MaxHinge
from fenchel.regularizers import L1

if TYPE_CHECKING:
    from fenchel.models.model import Model


def liblinear_text(model: Model) -> str:
    """The model file."""
    if isinstance(model.loss, (Poisson, Novelty)):
        name = type(model.loss).__name__
        raise InputError(f"liblinear has no model that predicts as {name} does: use --format json")
    form = linear_form(model)
    lines = [f"solver_type {_solver_type(model)}", f"nr_class {max(2, len(model.labels or ()))}"]
    if model.labels is not None:
        lines.append("label " + " ".join(str(label) for label in _labels(model.labels)))
    weights = form.weights
    bias = -1.0
    if form.always.any():
        bias = 1.0 if model.constant is None or model.fit_intercept or model.thresholds else model.constant
        weights = np.column_stack([weights, form.always / bias])
    lines += [f"nr_feature {model.d}", f"bias {bias!r}", "w"]
    lines += [" ".join(repr(value) for value in row) + " " for row in weights.T.tolist()]
    return "\n".join(lines) + "\n"


def _labels(labels: Sequence[Any]) -> list[int]:
    if not all(isinstance(label, int) for label in labels):
        raise InputError(
            f"liblinear's labels are integers, those of the model are {list(labels)[:5]}: use --format json"
        )
    return list(labels[::-1]) if len(labels) == 2 else list(labels)


def _solver_type(model: Model) -> str:
    """liblinear's solver type for that loss; only the logistic ones give probabilities."""
    if model.labels is None:
        return "L2R_L2LOSS_SVR"
    if isinstance(model.loss, Logistic):
        return "L1R_LR" if isinstance(model.regularizer, L1) else "L2R_LR"
    if isinstance(model.loss, MaxHinge) and len(model.labels) > 2:
        return "MCSVM_CS"
    return "L2R_L2LOSS_SVC" if isinstance(model.loss, SquaredHinge) else "L2R_L1LOSS_SVC_DUAL"
