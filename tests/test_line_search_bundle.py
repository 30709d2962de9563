"""Bundle(line_search=True) does what it says, or says why it cannot."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import fenchel
from fenchel import regularizers
from fenchel.errors import IncompatibleError
from fenchel.regularizers.base import Regularizer
from fenchel.selection import requirements
from fenchel.solvers import Bundle, FrankWolfe
from problems import LOSSES, REGULARIZERS, problem


@dataclass(frozen=True)
class Absolute(Regularizer):
    """alpha |w|_1, written by a user: no map from dual variables to weights."""

    alpha: float

    def value(self, w):
        return self.alpha * float(np.abs(w).sum())

    def conjugate(self, v):
        return 0.0 if np.abs(v).max(initial=0.0) <= self.alpha else np.inf

    def dual_scale(self, v):
        return min(1.0, self.alpha / max(float(np.abs(v).max(initial=0.0)), 1e-300))


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
@pytest.mark.parametrize("regularizer", [regularizers.L1(0.1), Absolute(0.1)])
def test_regularizers_without_a_map_to_weights_are_refused(loss, regularizer):
    p = problem(LOSSES[loss], regularizer)
    with pytest.raises(
        IncompatibleError, match=r"Bundle\(line_search=True, .* cannot solve this problem: .* has no `primal_from_dual`"
    ):
        fenchel.solve(p, solver=Bundle(line_search=True))
    assert not requirements.fits(Bundle(line_search=True), p)
    assert requirements.fits(Bundle, fenchel.Problem(p.X, p.y, p.loss, regularizers.L1(0.1)))


@pytest.mark.parametrize("reg", ["l2", "quadratic", "entropy", "q_norm", "elastic_net"])
def test_with_the_others_it_is_frank_wolfe_with_line_search(reg):
    p = problem(LOSSES["hinge"], REGULARIZERS[reg])
    solver = pickle.loads(pickle.dumps(Bundle(line_search=True)))
    assert solver.needs.regularizer == ("primal_from_dual",)
    found, same = (fenchel.solve(p, solver=s, max_iter=20, tol=1e-12) for s in (solver, FrankWolfe()))
    np.testing.assert_array_equal(found.coef, same.coef)
    assert found.passes > 0.0


def test_a_model_of_many_planes_needs_no_map():
    assert Bundle().needs == Bundle.needs
    p = problem(LOSSES["hinge"], regularizers.L1(0.1))
    assert fenchel.solve(p, solver=Bundle(), tol=1e-4).status is fenchel.Status.CERTIFIED
