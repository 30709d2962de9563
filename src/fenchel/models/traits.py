"""What the classes of models say of themselves, so that nobody asks for their names."""

from __future__ import annotations

from typing import Any


class Traits:
    """What a model is; its class, or its loss, says what differs."""

    is_linear: Any = False  # scores are X coef' + intercept
    is_vector: Any = False  # a loss of several scores per row
    is_measure: Any = False  # a measure of all scores together
    is_ranking: Any = False  # a measure whose scores are for ranking, without labels
    is_structured: Any = False  # examples with structured outputs
    is_kernel: Any = False  # scores in the space of a kernel
