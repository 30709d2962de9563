"""The task of a loss, and what its scores predict; a loss declares both.

`task` is "binary" (targets -1 and +1), "regression" or "novelty" for losses of one score, "classes" or "regression" for
losses of several, and "ranking", "binary" or "ordinal" for measures. `response` names the function that turns a score, or
all scores of a row, into the prediction: "identity", "exp", or, for probabilities, "sigmoid" or "softmax".
"""

from __future__ import annotations

from typing import Any

import numpy as np

PROBES = np.array([-1.0, 1.0, 0.0, 0.5, 2.0])  # targets that distinguish a loss for signs from one for numbers
SIGNS_ALONE = np.array([True, True, False, False, False])


def innermost(loss: Any) -> Any:
    """The loss inside any number of Moreau envelopes."""
    while hasattr(loss, "loss"):
        loss = loss.loss
    return loss


def task_of(loss: Any) -> str:
    """The task of a loss, or of the loss inside Moreau envelopes. For a custom loss that does not declare it, the task follows
    from its interface: several scores mean classes, and targets that can only be -1 or +1 mean two classes.

    >>> from fenchel.losses import Hinge, Moreau, Novelty, Squared
    >>> task_of(Moreau(Hinge(), 0.1)), task_of(Squared()), task_of(Novelty())
    ('binary', 'regression', 'novelty')
    """
    inner = innermost(loss)
    said = getattr(inner, "task", None)
    if isinstance(said, str):  # a user's loss may have a parameter of that name
        return said
    if hasattr(inner, "slopes"):
        return "classes"
    allowed = np.broadcast_to(getattr(inner, "valid_target", np.isfinite)(PROBES), PROBES.shape)
    return "binary" if np.array_equal(allowed, SIGNS_ALONE) else "regression"


def response_of(loss: object) -> str:
    """What a score predicts. The scores of a Moreau envelope are not probabilities, so its response is "identity".

    >>> from fenchel.losses import Hinge, Logistic, Poisson
    >>> response_of(Poisson()), response_of(Logistic()), response_of(Hinge())
    ('exp', 'sigmoid', 'identity')
    """
    said = getattr(loss, "response", None)
    return said if isinstance(said, str) else "identity"
