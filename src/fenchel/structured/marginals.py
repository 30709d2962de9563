"""Dual points of structured hinge losses as marginals, and which models have them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.structured.chain_encoded import EncodedChain
from fenchel.structured.multiclass import EncodedClasses
from fenchel.structured.parts_chain import ChainParts
from fenchel.structured.parts_multiclass import ClassParts


class Marginals(NamedTuple):
    """Probabilities of the parts of every example: values[start[i]:start[i+1]] are those of example i (see `parts`).

    They are one dual point of a structured hinge loss, `Pool` is the other. Only the share `scale` of the distribution is
    theirs; the rest lies on the gold label, whose plane is 0. Whoever judges them first makes marginals of them.
    """

    start: np.ndarray
    values: np.ndarray
    scale: float = 1.0


def parts_of(model: Any) -> Any:
    """The parts of an encoded model; None if its marginals have no simple description, or its cost is rescaled."""
    if isinstance(model, EncodedClasses):
        return ClassParts(model)
    if isinstance(model, EncodedChain) and model.beta == 0.0:
        return ChainParts(model)
    return None


def part_starts(parts: Any) -> np.ndarray:
    """Where the parts of each example begin."""
    return np.concatenate([[0], np.cumsum(parts.sizes)]).astype(np.int64)
