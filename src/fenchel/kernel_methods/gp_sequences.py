"""Gaussian-process sequence labelling: a conditional random field whose scores of positions come from a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from fenchel.data.accept import accept_matrix
from fenchel.errors import InputError
from fenchel.kernel_methods.gram import refuse_indefinite
from fenchel.kernel_methods.kernel_function import KernelFunction
from fenchel.problems.scalar import Problem
from fenchel.structured import Chain

if TYPE_CHECKING:
    from collections.abc import Sequence

PAIRS = ("own", "both")
RANK = 1e-12  # pivots below this fraction of the largest k(x, x) count as rounding errors


class SequenceProcess:
    """min over a of factor a'Ka + sum_i [log sum_y exp u_i(y) - u_i(gold)],  u = Ka, u_i(y) the sum of u over the pairs of y.

    a has an entry for every pair of neighbours t, t + 1 of a training sequence and every pair of labels s, r for them, and

        K((i, t, s, r), (j, v, p, q)) = 1[s = p, r = q] + sum of k(x, x') 1[same label] over the positions that the pairs own

    (with pairs="own" a pair owns its first position, the last pair of a sequence both; with pairs="both" every pair owns both:
    the stationary kernel of Saha, Zhang and Vishwanathan, appendix E.2). With Phi Phi' = k over all positions, K is made of
    the feature vectors of a chain on the rows of Phi, times the number of pairs that own them: for w = sum a (feature vectors),
    u = <w, feature vectors> and |w|^2 = a'Ka. So the process is `Chain(loss="log")` on those rows with alpha = 2 factor / n,
    exactly: its objective is n times that of `problem`, and every solver and the certificate apply. factor 1/2 is the prior
    N(0, K); the paper has 1.

    Parameters
    ----------
    examples, labels : matrices (T, features), and T labels 0 .. m - 1 for each.
    kernel, kernel_params : as in `KernelProblem`, of positions (not "precomputed"). The matrix of all positions is made.
    factor : of a'Ka.
    classes : m; default one more than the largest label.
    pairs : "own" or "both".

    >>> import fenchel, numpy as np
    >>> x = [np.array([[0.0], [1.0], [2.0]]), np.array([[1.1], [0.1]])]
    >>> process = SequenceProcess(x, [[0, 1, 0], [1, 0]], kernel="rbf", kernel_params={"gamma": 2.0}, factor=0.05)
    >>> result = fenchel.solve(process.problem)
    >>> result.status.name, process.predict(result.coef, x[0])
    ('CERTIFIED', array([0, 1, 0], dtype=int32))
    """

    def __init__(
        self, examples: Sequence[Any], labels: Sequence[Any], kernel: Any = "rbf",
        kernel_params: Mapping[str, Any] | None = None,
        factor: float = 1.0, classes: int | None = None, pairs: str = "own",
    ):  # fmt: skip
        if pairs not in PAIRS:
            raise InputError(f"pairs must be one of {', '.join(map(repr, PAIRS))}, got {pairs!r}")
        self.pairs = pairs
        if not 0.0 < factor < np.inf:
            raise InputError(f"factor must be a finite number greater than 0, got {factor!r}")
        if isinstance(kernel, str) and kernel == "precomputed":
            raise InputError("SequenceProcess needs a kernel, not a Gram matrix, because it also scores new positions")
        self.function, self.factor = KernelFunction(kernel, kernel_params), float(factor)
        blocks = [_positions(x, i) for i, x in enumerate(examples)]
        if not blocks:
            raise InputError("there are no examples: pass at least one")
        if len({x.shape[1] for x in blocks}) > 1:
            raise InputError("all examples must have the same number of features per position")
        rows = np.concatenate(blocks)
        self.pivots, self.root, phi = _factor(self.function(rows, rows))
        self.pivots = rows[self.pivots]
        ends = np.cumsum([len(x) for x in blocks])[:-1]
        self.model = Chain(classes=classes, loss="log", bias=False, ends=False)
        rows_of = [self._owned(part) for part in np.split(phi, ends)]
        self.problem = Problem(rows_of, labels, loss=self.model, alpha=2.0 * self.factor / len(blocks))

    def features(self, x: Sequence[Any]) -> np.ndarray:
        """Rows phi(x_t) with <phi(x), phi(x')> = k(x, x'), for x' among the training positions."""
        k = self.function(self.pivots, _positions(x, 0))
        return np.ascontiguousarray(solve_triangular(self.root, k, lower=True).T)

    def predict(self, w: np.ndarray, x: Sequence[Any]) -> np.ndarray:
        """The most probable labels of a sequence."""
        return self.model.predict(w, self._owned(self.features(x)))

    def marginals(self, w: np.ndarray, x: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """(T, m) probabilities of labels, and (T - 1, m, m) of pairs of neighbours."""
        return self.model.marginals(w, self._owned(self.features(x)))

    def _owned(self, phi: np.ndarray) -> np.ndarray:
        """Rows of a sequence, times the number of pairs that own the position."""
        if self.pairs == "own" or len(phi) <= 2:
            return phi
        return np.concatenate([phi[:1], 2.0 * phi[1:-1], phi[-1:]])


def _positions(x: Sequence[Any], i: int) -> np.ndarray:
    matrix = accept_matrix(x, f"examples[{i}]")[0]
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64)


def _factor(K: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(pivots, L, Phi) with Phi Phi' = K and Phi[pivots] = L, lower triangular: as many columns as K has rank."""
    largest = float(np.max(np.diagonal(K), initial=0.0))
    if not largest > 0.0:
        refuse_indefinite(f"the largest k(x, x) is {largest:.3g}")
    if np.max(np.abs(K - K.T)) > 1e-8 * largest:
        raise InputError("kernel is not symmetric: k(x, x') must equal k(x', x)")
    root, order, rank, _ = dpstrf(K, lower=1, tol=RANK * largest)
    phi, order = np.zeros((K.shape[0], rank)), order - 1
    phi[order] = np.tril(root)[:, :rank]
    miss = float(np.max(np.abs(phi @ phi.T - K)))
    if miss > 1e-8 * largest:
        refuse_indefinite(f"it differs by {miss:.3g} from the square of its factor")
    return order[:rank], np.ascontiguousarray(phi[order[:rank]]), phi
