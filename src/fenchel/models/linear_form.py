"""A model as weights and constants of linear scores, for export."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.errors import InputError


class LinearForm(NamedTuple):
    """scores = X weights' + constants: one row of weights per score, or a single row for two labels and for regression."""

    weights: np.ndarray  # (k, d)
    always: np.ndarray  # (k,)


def linear_form(model: Any) -> LinearForm:
    """The scores of a model's labels; with two labels, a score above 0 means the second one.

    >>> import fenchel
    >>> problem = fenchel.Problem([[0.0], [1.0], [2.0]], [-1, -1, 1], loss="hinge", alpha=0.1, fit_intercept=True)
    >>> model = fenchel.Model.from_result(fenchel.solve(problem), labels=(3, 7))
    >>> form = linear_form(model)
    >>> X = np.array([[0.5], [1.9]])
    >>> bool(np.allclose(X @ form.weights.T + form.always, model.scores(X)[:, None]))
    True
    """
    from fenchel.models.parts import class_scores

    coef, always = np.atleast_2d(model.coef), np.atleast_1d(np.asarray(model.intercept, dtype=float))
    if model.constant is not None:
        coef, always = coef[:, :-1], always + model.constant * coef[:, -1]
    if model.k > 1:  # the score of a leaf of a tree is the sum over its nodes
        coef, always = class_scores(model.loss, coef.T).T, class_scores(model.loss, always[None])[0]
    if model.thresholds is not None:
        if len(model.thresholds) > 1:
            raise InputError(
                "this format cannot represent several thresholds between ordered labels: use --format json"
            )
        always = always - model.thresholds[0]
    if len(model.labels or ()) == 2 and len(coef) == 2:
        coef, always = coef[1:] - coef[:1], always[1:] - always[:1]
    return LinearForm(np.ascontiguousarray(coef, dtype=float), np.asarray(always, dtype=float))
