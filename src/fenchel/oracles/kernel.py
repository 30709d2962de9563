"""The oracle of kernel problems."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.certificates.kernel import products
from fenchel.kernels.intercept import score_size
from fenchel.oracles.scalar import Oracle
from fenchel.oracles.slope_sums import SlopeSums


class KernelOracle(Oracle):
    """The oracle of a kernel problem; a pass reads all n^2 values of K once, and the rows are not divided into blocks."""

    def __init__(self, problem: Any, engine: Any = None):
        self.problem = problem
        self.passes = 0.0

    def scores(self, w: np.ndarray) -> np.ndarray:
        """K c."""
        self.count_rows(int(np.count_nonzero(w)))
        return products(self.problem.gram, w[:, None])[0][:, 0]

    def slope_sums(self, z: np.ndarray) -> Any:
        return SlopeSums(self.problem.compiled_loss, self.problem.y, self.problem.weights, z).at

    def score_size(self, z: np.ndarray) -> float:
        return score_size(self.problem.weights, z)
