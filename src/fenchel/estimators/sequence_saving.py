"""Saving and loading of SequenceLabeler."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.errors import InputError
from fenchel.estimators.sequence_input import SequenceEncoder
from fenchel.estimators.sequence_kernel import Pivots
from fenchel.estimators.structured import StructuredEstimator
from fenchel.models.structured import StructuredModel
from fenchel.sequences.attributes import Attributes
from fenchel.structured.chain import Chain

RESCALINGS = {"margin": 0.0, "slack": 1.0}


class SequenceSaving(StructuredEstimator):
    """The parts of a SequenceLabeler in a model: classes and attributes."""

    _saved_as = Chain
    _labels: list[Any]
    _encoder: SequenceEncoder
    _pivots: Pivots | None

    def _to_model(self) -> StructuredModel:
        if self._pivots is not None:
            raise InputError(
                "a SequenceLabeler with a kernel has no model file: pickle it, or save an IncompleteCholesky of the tokens and "
                "a SequenceLabeler on its features"
            )
        return super()._to_model()

    def _about(self) -> dict[str, Any]:
        names = {"attributes": self._encoder.tokens.names, "link_attributes": self._encoder.links.names}
        return {"labels": self._labels, **names}

    @classmethod
    def _parameters_of(cls, model: StructuredModel) -> dict[str, Any]:
        chain = model.loss
        rescaling = next((name for name, beta in RESCALINGS.items() if beta == chain.beta), None)
        if rescaling is None:
            raise InputError(f"a chain with beta={chain.beta!r} cannot be a SequenceLabeler: use fenchel.load")
        names = ("loss", "bias", "ends", "normalise", "observed_only", "edge_features")
        own = {"rescaling": rescaling} | {name: getattr(chain, name) for name in names}
        return own | {"regularizer": model.regularizer, "tol": model.tol}

    def _restore(self, model: StructuredModel) -> None:
        super()._restore(model)
        shape = model.shape
        self._labels = list(range(shape.classes) if model.labels is None else model.labels)
        self.classes_ = array_of(self._labels)
        self._full_coef, self._pivots = model.full_coef.copy(), None
        self._encoder = SequenceEncoder(model.loss.edge_features)
        for part, width, names in (
            (self._encoder.tokens, shape.features, model.attributes),
            (self._encoder.links, shape.links, model.link_attributes),
        ):
            part.width, part.attributes = width, None if names is None else Attributes(names)


def array_of(classes: list) -> np.ndarray:
    """Labels as an array; tuples and other containers are not converted."""
    if all(isinstance(label, (str, int, float, bool, np.generic)) for label in classes):
        return np.array(classes)
    found = np.empty(len(classes), dtype=object)
    found[:] = classes
    return found
