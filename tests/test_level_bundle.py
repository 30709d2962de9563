"""Level steps of Bundle: the bound is one, few iterations are needed at a small alpha, and a run can be resumed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import fenchel
from fenchel import solvers
from fenchel.oracles.measure import SetOracle
from fenchel.oracles.scalar import Oracle
from fenchel.regularizers import GroupLasso
from fenchel.solvers.base import Start
from fenchel.solvers.bundle.level import LevelMaster
from fenchel.solvers.bundle.model import QuadraticModel
from fenchel.solvers.bundle.planes import Planes
from fenchel.solvers.bundle.settings import SETTINGS


def problem(alpha, loss="roc_area", n=600, d=20):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d))
    y = np.where(X @ rng.standard_normal(d) + 3.0 * rng.standard_normal(n) > 2.0, 1.0, -1.0)
    return fenchel.Problem(X, y, loss=loss, alpha=alpha)


@pytest.mark.parametrize("loss", ["roc_area", "f_beta", "break_even", "hinge", "logistic"])
@pytest.mark.parametrize("alpha", [1e-2, 1e-5])
def test_every_claim_is_a_lower_bound_and_never_falls(loss, alpha):
    p = problem(alpha, loss)
    oracle = SetOracle(p) if p.is_measure else Oracle(p)
    best = fenchel.solve(p, tol=1e-5, max_time=60).certificate.primal
    claims = [iterate.dual for iterate in itertools.islice(solvers.Bundle().iterates(oracle, Start(np.zeros(p.d))), 60)]
    assert max(claims) <= best * (1.0 + 1e-9)
    assert (np.diff(claims) >= 0.0).all()


@pytest.mark.parametrize("loss", ["roc_area", "f_beta", "break_even", "hinge"])
def test_levels_save_most_iterations_at_a_small_alpha(loss):
    p = problem(1e-5, loss)
    level = fenchel.solve(p, solver=solvers.Bundle(), tol=1e-3, max_time=60)
    plain = fenchel.solve(p, solver=solvers.Bundle(level=False), tol=1e-3, max_iter=2 * level.n_iter)
    assert level.status is fenchel.Status.CERTIFIED
    assert plain.status is fenchel.Status.MAX_ITER
    assert plain.certificate.dual <= level.certificate.primal  # both are bounds of the same optimum


@pytest.mark.parametrize("loss", ["logistic", "exponential", "hinge", "roc_area", "squared_hinge"])
@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_levels_do_not_slow_down_what_minima_of_the_model_solve_quickly(loss, alpha):
    level, plain = (
        fenchel.solve(problem(alpha, loss), solver=solvers.Bundle(level=level), tol=1e-6) for level in (True, False)
    )
    assert level.status is plain.status is fenchel.Status.CERTIFIED
    assert level.n_iter <= 1.3 * plain.n_iter + 2


def test_both_agree_where_both_end():
    found = [fenchel.solve(problem(1e-2), solver=solvers.Bundle(level=level), tol=1e-6) for level in (True, False)]
    assert all(result.status is fenchel.Status.CERTIFIED for result in found)
    assert found[0].certificate.primal == pytest.approx(found[1].certificate.primal, rel=2e-6)


def test_the_step_ends_at_the_level():
    """From planes of |w|^2: the model's height above the bound lies within the settings' fractions of the gap."""
    rng = np.random.default_rng(0)
    planes = Planes(4, 0.0)
    for _ in range(6):
        w = rng.standard_normal(4)
        a = 2.0 * w  # planes of |w|^2
        planes._append(a, -float(w @ w), (0,))
    penalty = fenchel.regularizers.L2(1e-3)
    master = LevelMaster(penalty, QuadraticModel(penalty))
    centre = 3.0 * rng.standard_normal(4)
    value = float(centre @ centre) + 0.5e-3 * float(centre @ centre)
    planes._append(2.0 * centre, -float(centre @ centre), (0,))
    for _ in range(8):  # minima of the model come first, and the weight of the distance is far from right
        point, weights, bound = master.next(planes, centre, value, value)
    model = max(0.0, float(np.max(planes.A.T @ point + planes.c))) + 0.5e-3 * float(point @ point)
    assert SETTINGS.min_level <= (model - bound) / (value - bound) <= SETTINGS.max_level
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0)
    v = -planes.A @ weights
    assert bound == pytest.approx(float(planes.c @ weights) - float(v @ v) / 2e-3)


@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net", "group_lasso"])
def test_a_run_goes_on_from_its_memory(penalty):
    p = problem(1e-3)
    groups = GroupLasso(1e-3, np.arange(20) // 4)
    regularizer = groups if penalty == "group_lasso" else fenchel.regularizers.make(penalty, 1e-3)
    oracle = SetOracle(fenchel.Problem(p.X, p.y, loss="roc_area", regularizer=regularizer))
    start = Start(np.zeros(20))
    iterates = list(itertools.islice(solvers.Bundle().iterates(oracle, start), 20))
    memory = iterates[9].memory()
    for _ in range(2):  # what a run that was resumed adds to the planes does not change what it was resumed from
        resumed = solvers.Bundle().iterates(oracle, start._replace(coef=iterates[9].coef, memory=memory))
        for expected, found in zip(iterates[9:], resumed, strict=False):
            np.testing.assert_array_equal(found.coef, expected.coef)
            assert found.dual == expected.dual


def test_planes_without_weight_are_dropped_after_a_while():
    def counts(patience):
        iterates = solvers.Bundle(patience=patience).iterates(SetOracle(problem(1e-4)), Start(np.zeros(20)))
        return [iterate.memory()["model"][0]["c"].size for iterate in itertools.islice(iterates, 80)]

    few, many = counts(1), counts(None)
    early = SETTINGS.level_patience  # until then none is old enough
    assert many[:early] == list(range(many[0], many[0] + early))
    assert max(few) < max(many) < 80
