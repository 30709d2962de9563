"""What the regularizers with a weight per feature have in common."""

from __future__ import annotations

import scipy.sparse as sp

from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.feature_weights import Weights, fit_weights, unpenalised_axes


class FeatureWeighted(Regularizer):
    """The base of sums over features whose terms may have weights; a feature of weight 0 is not penalised."""

    weights: Weights

    def validate(self, dim: int) -> None:
        """Raise InputError when there is not one weight per feature."""
        super().validate(dim)
        fit_weights(self.weights, dim)

    def unpenalised(self, dim: int) -> sp.csc_array | None:
        """The axes of the features of weight 0."""
        return unpenalised_axes(self.weights, dim)
