"""The certificate of a kernel problem, recomputed from the definitions: trusted code.

The kernel is evaluated again for the rows with nonzero coefficients; nothing that a solver cached is used. The certificate
rests on K being positive semidefinite, and an error is raised if c'Kc or (p u)'K(p u) is negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from fenchel import deadline
from fenchel.certificates.assemble import Share, assemble
from fenchel.certificates.passes import conjugate_pass, slopes_pass
from fenchel.certificates.scalar import Certifier, accept_duals, certified_loss, feasible, require_subgradients
from fenchel.compile.kernel import kernel
from fenchel.data.sums import add
from fenchel.errors import InputError
from fenchel.losses.protocol import value
from fenchel.result import Certificate

if TYPE_CHECKING:
    from fenchel.kernel_methods.problem import KernelProblem

BLOCK = 1024  # rows of K in memory at once


@kernel
def loss_pass(loss, y, p, z):
    """(sum p loss, sum p |loss|) at scores z: a number or a row of them for each row of the data."""
    total, correction, magnitude = 0.0, 0.0, 0.0
    for i in range(p.size):
        if p[i] > 0.0:
            term = p[i] * value(loss, z[i], y[i])
            magnitude += abs(term)
            total, correction = add(total, correction, term)
    return total + correction, magnitude


def products(gram: Any, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(K V, |K| |V|) for a few vectors as columns of V, block by block over the rows of K."""
    used = np.flatnonzero(vectors.any(axis=1))
    out, size = np.zeros((gram.n, vectors.shape[1])), np.zeros((gram.n, vectors.shape[1]))
    if used.size:
        for start in range(0, gram.n, BLOCK):
            deadline.check()
            rows = gram.rows(start, min(start + BLOCK, gram.n), used)
            out[start : start + BLOCK] = rows @ vectors[used]
            size[start : start + BLOCK] = np.abs(rows) @ np.abs(vectors[used])
    return out, size


def refuse_indefinite(why: str, name: str = "") -> NoReturn:
    """Raise InputError, because there is no certificate for this kernel."""
    what = f"the Gram matrix {name}" if name else "the kernel"
    raise InputError(
        f"{what} is not positive semi-definite: {why}. Use a kernel that is, or add a constant to the diagonal."
    )


def square(gram_vector: np.ndarray, vector: np.ndarray, size: np.ndarray) -> tuple[float, float]:
    """(a'Ka, the magnitude of its rounding error); an error if it is negative by more than that."""
    found, magnitude = float(vector @ gram_vector), float(np.abs(vector) @ size)
    if found < -1e-10 * magnitude:
        refuse_indefinite(f"c'Kc is {found:.3g} for a vector c")
    return max(found, 0.0), magnitude


class SquaredNorm(NamedTuple):
    """R = alpha/2 |f|^2 and its conjugate, each at the one function that the certificate needs."""

    primal: float
    dual: float

    def value(self, w: np.ndarray) -> float:
        return self.primal

    def conjugate(self, v: np.ndarray) -> float:
        return self.dual

    def dual_scale(self, v: np.ndarray) -> float:
        return 1.0

    def perturbed(self, v: np.ndarray, error: float) -> tuple[np.ndarray, ...]:
        return (v,)  # The rounding of both squares is among the magnitudes of the share.


def kernel_certificate(
    problem: KernelProblem, coef: np.ndarray, b: float, u: np.ndarray
) -> tuple[Certificate, np.ndarray]:
    """(certificate, feasible dual point) for f = sum_j c_j k(x_j, .), intercept b and a dual point."""
    p, alpha = problem.weights, problem.alpha
    u = feasible(problem, u)
    a = p * u
    both, sizes = products(problem.gram, np.column_stack([coef, a]))
    norm, norm_size = square(both[:, 0], coef, sizes[:, 0])
    dual_norm, dual_size = square(both[:, 1], a, sizes[:, 1])
    loss, z = certified_loss(problem), both[:, 0] + b
    require_subgradients(problem, slice(0, problem.n), z)
    risk, magnitude = loss_pass(loss, problem.y, p, z)
    conjugates, dual_magnitude, imbalance = conjugate_pass(loss, problem.y, p, problem.offset, u)
    share = Share(
        a, (-conjugates,), (dual_magnitude + 0.5 * dual_size / alpha,), balance=np.array([imbalance]), risk=(risk,),
        risk_size=(magnitude + 0.5 * alpha * norm_size,), score_size=(float(np.abs(a) @ (sizes[:, 0] + abs(b))),),
    )  # fmt: skip
    squares = SquaredNorm(0.5 * alpha * norm, 0.5 * dual_norm / alpha)
    return assemble(problem, coef, share, intercept=abs(b), penalty=squares)[0], u


def kernel_slopes_at(problem: KernelProblem, coef: np.ndarray, b: float) -> np.ndarray:
    """The slopes of all losses at f."""
    u = np.empty(problem.n)
    slopes_pass(problem.compiled_loss, problem.y, products(problem.gram, coef[:, None])[0][:, 0] + b, u)
    return u


def best_kernel_dual(problem: KernelProblem, coef: np.ndarray, b: float) -> np.ndarray:
    """The dual point that belongs to c, or the slopes at the scores if they are better."""
    candidates = (own_dual(problem, coef), kernel_slopes_at(problem, coef, b))
    return max(candidates, key=lambda u: kernel_certificate(problem, coef, b, u)[0].dual)


def own_dual(problem: KernelProblem, coef: np.ndarray) -> np.ndarray:
    """u = -alpha c / p: the dual point whose function is f."""
    p = problem.weights
    return np.divide(-problem.alpha * coef, p, out=np.zeros(problem.n), where=p > 0.0)


CERTIFIER = Certifier(kernel_certificate, kernel_slopes_at, best_kernel_dual, accept_duals)
