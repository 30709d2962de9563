"""The assembly of certificates: shares of parts of the rows, put together, certify as one of all rows does."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel.certificates import scalar, vector
from fenchel.certificates.assemble import Share, assemble, blur, lower_bound, none_like
from fenchel.certificates.scalar import certifier_of
from fenchel.problems.measure import Mixture
from fenchel.regularizers import L1, L2
from fenchel.structured import Gibbs

CUT = (0, 7, 8, 30, 40)
rng = np.random.default_rng(0)
X, CLASSES = rng.standard_normal((40, 5)), rng.integers(0, 3, 40)
SIGNS = np.where(X[:, 0] + rng.standard_normal(40) > 0, 1.0, -1.0)


def added(shares):
    """As sums over blocks are: tuples are put together, arrays are added."""
    return Share(*(sum(terms[1:], start=terms[0]) for terms in zip(*shares, strict=True)))


def part(problem, a, b):
    """Rows a .. b - 1, with the weights that they have among all."""
    new = problem.part(a, b)
    new.settle()
    return new


@pytest.mark.parametrize("regularizer", ["l2", "l1"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
def test_shares_of_blocks_make_the_certificate_of_all_rows(loss, storage, regularizer):
    problem = fenchel.Problem(storage(X), SIGNS, loss=loss, regularizer=regularizer, alpha=0.03)
    w, u = rng.standard_normal(5), -SIGNS * rng.random(40)
    parts = [(part(problem, a, b), u[a:b]) for a, b in pairwise(CUT)]

    def shares(scale):
        return added([scalar.share_of(block, w, 0.0, scale * duals) for block, duals in parts])

    first = shares(1.0)
    found, scale = assemble(problem, w, first, lambda scale: shares(scale)._replace(v=scale * first.v))
    expected, point = scalar.certificate(problem, w, 0.0, u)
    assert abs(found.primal - expected.primal) <= found.floor
    assert abs(found.dual - expected.dual) <= found.floor
    assert found.floor == pytest.approx(expected.floor, rel=0.1)
    np.testing.assert_allclose(point, scale * u, rtol=1e-12)
    assert scale < 1.0 if regularizer == "l1" else scale == 1.0
    assert np.max(np.abs(problem.weights * point @ X)) <= 0.03 * (1.0 + 1e-12) or regularizer == "l2"


@pytest.mark.parametrize("regularizer", ["l2", "l1"])
@pytest.mark.parametrize("loss", ["max_hinge", "softmax"])
def test_shares_of_blocks_make_the_certificate_of_several_scores(loss, regularizer):
    problem = fenchel.Problem(X, CLASSES, loss=loss, regularizer=regularizer, alpha=0.03)
    w = rng.standard_normal(15)
    U = vector.vector_slopes_at(problem, w)
    found = added([vector.share_of(part(problem, a, b), w, U[a:b])[0] for a, b in pairwise(CUT)])
    whole = vector.share_of(problem, w, U)[0]
    np.testing.assert_allclose(found.v, whole.v, rtol=1e-12, atol=1e-15)
    for name in ("risk", "gain", "risk_size", "gain_size", "score_size", "spread"):
        assert sum(getattr(found, name)) == pytest.approx(sum(getattr(whole, name)), rel=1e-12), name


SOUND = Share(np.array([0.1, -0.2]), (1.0,), (2.0,), (3.0,), risk=(4.0,), risk_size=(5.0,), score_size=(6.0,))


@pytest.mark.parametrize(
    "change",
    [{"v": np.array([0.1, np.nan])}, {"v": np.array([np.inf, 0.0])}, {"gain": (np.nan,)}, {"gain": (1.0, -np.inf)}],
)
def test_a_share_that_is_not_finite_bounds_nothing(change):
    problem, w = fenchel.Problem(X[:, :2], SIGNS, alpha=0.5), np.ones(2)
    found, _ = assemble(problem, w, SOUND._replace(**change))
    assert found.dual == -np.inf and found.primal == 4.0 + 0.5
    assert found.floor == assemble(problem, w, none_like(SOUND))[0].floor < assemble(problem, w, SOUND)[0].floor
    assert assemble(problem, w, SOUND._replace(risk=(np.nan,)))[0].primal == np.inf
    assert assemble(problem, w, SOUND._replace(risk_size=(np.nan,)))[0].floor == np.inf


def test_no_size_and_no_balance_is_left_out_of_the_floor():
    problem, w = fenchel.Problem(X[:, :2], SIGNS, alpha=0.5, fit_intercept=True), np.ones(2)
    sound = assemble(problem, w, SOUND)[0]
    floor = sound.floor
    for name in ("risk_size", "gain_size", "score_size", "spread"):
        assert assemble(problem, w, SOUND._replace(**{name: (100.0,)}))[0].floor > 2.0 * floor, name
    off = assemble(problem, w, SOUND._replace(balance=np.array([1e-3])), intercept=50.0)[0]
    assert off.floor == pytest.approx(floor + 0.05, rel=1e-12)
    one = assemble(problem, w, SOUND.with_one_size())[0]
    assert one.floor == pytest.approx(floor, rel=1e-12) and (one.primal, one.dual) == (sound.primal, sound.dual)


def test_the_bound_holds_at_the_scale_that_the_domain_allows():
    share = Share(np.array([0.4, -1.0]), (3.0,))
    found = lower_bound(L1(0.5), share)
    assert found.scale == pytest.approx(0.5) and found.dual == pytest.approx(1.5) and found.conjugate == 0.0
    assert lower_bound(L2(0.5), share).dual == pytest.approx(3.0 - 1.16)
    assert lower_bound(L1(0.5), share, lambda scale: share.scaled(0.1)).dual == pytest.approx(0.3)
    assert blur(L1(0.5), np.array([0.5, 0.0]), 1e-6, 7.0, here=0.0) == pytest.approx(7.0 * 1e-6 / 0.5, rel=1e-3)


class Squares(NamedTuple):
    """|z - y|^2 / 2 of several targets: not one of Fenchel's, so that its dual points are mixtures of planes."""

    def value(self, z, y):
        return 0.5 * np.sum((z - y) ** 2)

    def slopes(self, z, y, out):
        out[:] = z - y


GOALS = np.random.default_rng(1).standard_normal((40, 3))
RANDOM_SIGNS = np.where(GOALS[:, 0] > 0.0, 1.0, -1.0)  # unrelated to X: w = 0 is nearly optimal
# A problem, and points whose planes, the first one counted more than once and the second one less than never, lie too high.
TOO_HIGH = {
    "measure": lambda: (
        fenchel.Problem(X, RANDOM_SIGNS, loss="roc_area", alpha=5.0),
        lambda weights: Mixture(weights, np.array([np.zeros(40), 10.0 * RANDOM_SIGNS])),
    ),
    "own loss": lambda: (
        fenchel.Problem(X, GOALS, loss=Squares(), alpha=50.0),
        lambda weights: Mixture(weights, np.array([np.zeros((40, 3)), GOALS])),
    ),
    "log-loss": lambda: (
        fenchel.Problem(X, CLASSES, loss=fenchel.structured.Multiclass(3, loss="log"), alpha=50.0),
        lambda weights: Gibbs(weights, np.outer([0.0, 5.0], np.ones(15))),
    ),
}


@pytest.mark.parametrize("weights", [(2.0, -1.0), (1.5, -0.5), (np.nan, 1.0), (np.inf, 1.0)])
@pytest.mark.parametrize("family", TOO_HIGH)
def test_planes_with_weights_that_are_none_bound_nothing(family, weights):
    problem, point = TOO_HIGH[family]()
    best = fenchel.solve(problem, tol=1e-6).certificate.primal
    with np.errstate(all="ignore"):
        found, kept = certifier_of(problem).certificate(problem, np.zeros(problem.d), 0.0, point(np.array(weights)))
    assert found.dual <= best + found.floor
    assert np.min(kept.weights) >= 0.0 and np.sum(kept.weights) <= 1.0 + 1e-12
