"""The dual value of marginals, recomputed from the definitions: trusted code, a part of `structured_certify`.

D(mu) = sum_i p_i <c_i, mu_i> - R*(-g),  g = sum_i p_i (F_i mu_i - phi_i(gold)),  mu_i marginals of a distribution over labels.
The mu_i of a solver are first converted to exact marginals, by conditionals along the model's structure; nothing else is
trusted.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.data.sums import add
from fenchel.errors import InputError
from fenchel.problems.structured import StructuredProblem
from fenchel.structured.marginals import part_starts, parts_of
from fenchel.structured.parts import add_cliques, label_reach, recover_cliques
from fenchel.structured.pool import Marginals


@kernel
def structured_marginal_pass(parts, p, room, start, values, out):
    """(sum p <c, mu>, sum p |terms of F mu - phi(gold)|); out += sum p (F mu - phi(gold)); values: mu as exact marginals."""
    total, correction, spread, S = 0.0, 0.0, 0.0, np.empty(room)
    for i in range(p.size):
        mu = values[start[i] : start[i + 1]]
        recover_cliques(parts, i, mu)
        if p[i] > 0.0:
            total, correction = add(total, correction, p[i] * add_cliques(parts, i, mu, p[i], S, out))
            spread += p[i] * label_reach(parts, i)
    return total + correction, spread


def weigh_marginals(problem: StructuredProblem, point: Marginals) -> tuple[Marginals, float, float, np.ndarray]:
    """(exact marginals from the point, sum p <c, mu>, the rounding magnitude of g, g)."""
    parts, values, g = parts_of(problem.model), np.array(point.values, dtype=np.float64), np.zeros(problem.d)
    values = np.clip(np.nan_to_num(values), 0.0, 1.0)  # probabilities: their sums cannot overflow
    gain, spread = structured_marginal_pass(parts, problem.weights, parts.workspace_size, point.start, values, g)
    scale = min(max(float(point.scale), 0.0), 1.0)
    return Marginals(point.start, values, scale), scale * gain, scale * spread, scale * g


def accept_marginals(problem: StructuredProblem, point: Marginals) -> Marginals:
    """A user's marginals, checked."""
    parts = parts_of(problem.model)
    if parts is None:
        raise InputError(f"{type(problem.loss).__name__} has no marginals here: pass a fenchel.structured.Pool")
    start = part_starts(parts)
    values = np.ascontiguousarray(point.values, dtype=np.float64)
    if not np.array_equal(start, point.start) or values.shape != (int(start[-1]),) or not np.isfinite(values).all():
        raise InputError(
            f"marginals must be {int(start[-1])} finite numbers that start where the parts of each example do"
        )
    if not 0.0 <= point.scale <= 1.0:
        raise InputError(f"the scale of marginals must lie between 0 and 1, got {point.scale!r}")
    return Marginals(start, values, float(point.scale))
