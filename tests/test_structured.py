"""Structured problems: certificates, solvers, and models of one's own."""

import os
import pickle
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import fenchel
from fenchel import regularizers, solvers, structured
from fenchel.certificates.scalar import certifier_of
from fenchel.errors import FenchelError, InputError
from fenchel.oracles.structured import StructuredOracle
from fenchel.selection import requirements
from fenchel.structured import Gibbs, Pool
from fenchel.structured.pool import pool_of
from structured_problems import LOG, MAKERS, optimum, ordering, planes, problem

REGULARIZERS = {
    "l2": "l2",
    "l1": "l1",
    "elastic_net": regularizers.ElasticNet(0.05, 0.5),
    "q_norm": regularizers.QNorm(0.1, 1.5),
}
KINDS = [(name, {}) for name in MAKERS] + [(name, {"loss": "log"}) for name in LOG]


def known(name, options, regularizer, weighted, cache={}):  # noqa: B006
    key = (name, str(options), regularizer, weighted)
    if key not in cache:
        made = problem(name, REGULARIZERS[regularizer], weighted=weighted, **options)
        cache[key] = made, optimum(made)
    return cache[key]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize(("name", "options"), KINDS, ids=str)
def test_every_solver_that_fits_agrees_with_cvxpy(name, options, regularizer, weighted):
    made, best = known(name, options, regularizer, weighted)
    fitting = [cls for cls in solvers.SOLVERS.values() if requirements.fits(cls, made)]
    assert fitting
    for cls in fitting:
        tol = 1e-2 if cls.slow and cls is not solvers.BlockFrankWolfe else 1e-4
        result = fenchel.solve(made, solver=cls(), tol=tol)
        assert result.status.name == "CERTIFIED", (cls, result)
        assert best - 1e-6 * abs(best) <= result.certificate.primal <= best + (tol + 1e-6) * abs(best), cls
        assert result.certificate.dual <= best + 1e-6 * abs(best), cls


@pytest.mark.parametrize("steps", ["plain", "away", "pairwise"])
@pytest.mark.parametrize("sampling", ["uniform", "gap"])
@pytest.mark.parametrize("cache", [False, True])
def test_every_kind_of_block_step_gets_there_and_never_loses_ground(steps, sampling, cache):
    made, best = known("multiclass", {}, "l2", False)
    solver = solvers.BlockFrankWolfe(steps, sampling=sampling, cache=cache, average=steps == "plain")
    result = fenchel.solve(made, solver=solver, tol=1e-3)
    assert result.status.name == "CERTIFIED"
    assert abs(result.certificate.primal - best) <= 1.1e-3 * best
    duals = [point.dual for point in result.trace]
    assert all(b >= a - 1e-12 for a, b in pairwise(duals))


def test_cutting_planes_need_few_oracle_calls():
    made = known("multiclass", {}, "l2", False)[0]
    few = fenchel.solve(made, solver="cutting_plane", tol=1e-4)
    assert few.n_iter <= 20


def test_averages_are_what_their_definition_says():
    """wbar_k = k/(k+2) wbar + 2/(k+2) w, here from steps one at a time."""
    from fenchel.kernels.structured_epoch import PLAIN
    from fenchel.oracles.structured import StructuredOracle
    from fenchel.solvers.base import Start
    from fenchel.solvers.block_frank_wolfe.label_state import LabelState

    made = known("multiclass", {}, "l2", False)[0]
    order = np.random.default_rng(0).integers(0, made.n, 40)
    lazy, plain = (LabelState(StructuredOracle(made), Start(np.zeros(made.d))) for _ in range(2))
    lazy.average = np.zeros(made.d)
    lazy.epoch(order, PLAIN)
    mean = np.zeros(made.d)
    for k, i in enumerate(order):
        plain.epoch(np.array([i]), PLAIN)
        mean = k / (k + 2.0) * mean + 2.0 / (k + 2.0) * plain.w
    np.testing.assert_allclose(lazy.averaged(), mean, atol=1e-12)


@pytest.mark.parametrize("name", MAKERS)
def test_a_pool_holds_its_promise_and_no_pool_promises_too_much(name):
    made, best = known(name, {}, "l2", False)
    result = fenchel.solve(made, tol=1e-4)
    pool = result.dual_point
    gain, g = 0.0, np.zeros(made.d)
    for i in range(made.n):
        costs, slopes = planes(made, i)
        labels = {str(made.model.decode(i, y)): k for k, y in enumerate(all_labels(made, i))}
        weights = made.weights_of(pool, i)
        assert sum(weight for _, weight in weights) <= 1.0 + 1e-9
        for label, weight in weights:
            gain += made.weights[i] * weight * costs[labels[str(label)]]
            g += made.weights[i] * weight * slopes[labels[str(label)]]
    np.testing.assert_allclose(result.certificate.dual, gain - made.regularizer.conjugate(-g), rtol=1e-12)
    for factor in (1.02, 1.1, 1.5):  # sums above 1: the value that these would have lies above the optimum
        more = pool._replace(weights=factor * pool.weights)
        assert factor * gain - made.regularizer.conjugate(-factor * g) > result.certificate.dual
        assert fenchel.certify(made, result.coef, dual_point=more).dual <= best * (1.0 + 1e-9)
    rng = np.random.default_rng(0)
    for scale in (0.3, 1.0, 5.0, 100.0):
        wrong = pool._replace(weights=rng.normal(size=pool.weights.size) * scale)
        assert fenchel.certify(made, result.coef, dual_point=wrong).dual <= best * (1.0 + 1e-9)


def all_labels(made, i):
    from structured_problems import labels_of

    return [np.array(y, dtype=np.int32) for y in labels_of(made, i)]


def test_pools_that_do_not_fit_are_no_start():
    made = known("chain", {}, "l2", False)[0]
    good = fenchel.solve(made, tol=1e-2).dual_point
    assert made.dual_like(good) is good
    for bad in (
        good._replace(labels=good.labels + 100), good._replace(labels=good.labels[:-1]), good._replace(start=good.start[:-1]),
        good._replace(offsets=good.offsets * 2), good._replace(weights=good.weights * np.nan),
        good._replace(labels=good.labels.astype(np.int64)),
    ):  # fmt: skip
        assert made.dual_like(bad) is None


def test_any_mixture_of_log_models_is_a_bound():
    made, best = known("multiclass", {"loss": "log"}, "l2", False)
    result = fenchel.solve(made, tol=1e-8)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 0.1, 1.0, 10.0):
        coefs = result.coef + scale * rng.normal(size=(3, made.d))
        found = fenchel.certify(made, result.coef, dual_point=Gibbs(rng.random(3), coefs))
        assert found.dual <= best * (1.0 + 1e-7)
    assert fenchel.certify(made, result.coef).holds(1e-7)


def test_coefficients_alone_get_a_good_certificate():
    made, _ = known("multiclass", {}, "l2", False)
    result = fenchel.solve(made, tol=1e-6)
    assert fenchel.certify(made, result.coef).relative_gap <= 0.05
    assert fenchel.certify(made, np.zeros(made.d)).gap > 0.0


def test_the_structured_form_of_many_classes_is_the_max_hinge():
    made, _ = known("multiclass", {}, "l2", False)
    X, y, _ = MAKERS["multiclass"](np.random.default_rng(7))
    same = fenchel.solve(fenchel.Problem(X, y, loss="max_hinge", alpha=0.05), tol=1e-8)
    np.testing.assert_allclose(fenchel.solve(made, tol=1e-5).certificate.primal, same.certificate.primal, rtol=2e-5)


def test_a_solve_goes_on_from_a_result():
    made = known("multiclass", {}, "l2", False)[0]
    first = fenchel.solve(made, solver="block_frank_wolfe", tol=1e-2)
    again = fenchel.solve(made, solver="block_frank_wolfe", tol=1e-2, start=first)
    assert again.n_iter == 0 and again.status.name == "CERTIFIED"


def test_digests_tell_problems_apart():
    digests = {problem(name, alpha=alpha).digest for name in MAKERS for alpha in (0.1, 0.2)}
    assert len(digests) == 2 * len(MAKERS)
    assert problem("multiclass").digest == problem("multiclass").digest


def test_dual_points_survive_a_pickle():
    made = known("multiclass", {}, "l2", False)[0]
    pool = fenchel.solve(made, tol=1e-2).dual_point
    copy = pickle.loads(pickle.dumps(pool))
    assert isinstance(copy, Pool)
    assert fenchel.certify(made, np.zeros(made.d), dual_point=copy) == fenchel.certify(
        made, np.zeros(made.d), dual_point=pool
    )


def test_models_that_are_first_used_late_compile_too(tmp_path):
    """The kernel is there before the methods that it needs for a chain; an empty cache, so that it must be compiled."""
    code = (
        "import fenchel, numpy; from fenchel.structured import Multiclass; "
        "from fenchel.oracles.structured import StructuredOracle; "
        "first = fenchel.Problem([[1.0], [-1.0]], [0, 1], loss=Multiclass()); StructuredOracle(first).risk(numpy.zeros(2)); "
        "from fenchel.structured import Chain; second = fenchel.Problem([[[1.0], [-1.0]]], [[0, 1]], loss=Chain()); "
        "print(StructuredOracle(second).risk(numpy.zeros(second.d))[0])"
    )
    environment = {**os.environ, "FENCHEL_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=environment)
    assert run.stdout == "2.0\n", run.stderr


def test_the_ordering_example_is_short_and_certified():
    file = Path(__file__).parent.parent / "examples" / "ordering.py"
    code = file.read_text().split("class Ordering")[1].split("def main")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 25
    run = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "CERTIFIED by BlockFrankWolfe" in run.stdout


class Worse(ordering.Ordering):
    def max_oracle(self, w, x, y):
        order = (1, 2, 0)
        return order, float(w @ self.features(x, order) + self.cost(y, order))


class Lies(ordering.Ordering):
    def max_oracle(self, w, x, y):
        return super().max_oracle(w, x, y), 1e3


class NaNs(ordering.Ordering):
    def cost(self, y, yhat):
        return 0.0 if y == yhat else np.nan


class WrongLength(ordering.Ordering):
    def features(self, x, y):
        return np.ones(3)


class Costly(ordering.Ordering):
    def cost(self, y, yhat):
        return 1.0


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Worse(), ["example", "not the maximum"]),
        (Lies(), ["example 0", "max_oracle", "must agree"]),
        (NaNs(), ["example", "cost", "finite"]),
        (WrongLength(), ["example 0", "shape (3,)", "dim is 4"]),
        (Costly(), ["example 0", "cost(y, y) must be 0"]),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
@pytest.mark.parametrize("solver", ["block_frank_wolfe", "cutting_plane", "bundle"])
def test_models_that_are_wrong_are_caught(model, words, solver):
    rng = np.random.default_rng(0)
    x = [rng.standard_normal((3, 4)) for _ in range(8)]
    y = [tuple(int(k) for k in np.argsort(-z[:, 0])) for z in x]
    with pytest.raises(FenchelError) as caught:
        fenchel.solve(fenchel.Problem(x, y, loss=model, alpha=0.1), solver=solver)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: fenchel.Problem(np.eye(3), None, loss=m), "y is missing"),
        (lambda m: fenchel.Problem(np.eye(3), [0, 1, 2], loss=m, fit_intercept=True), "intercept"),
        (lambda m: fenchel.Problem(np.eye(3), [0, 1], loss=m), "3 examples"),
        (lambda m: fenchel.Problem(np.eye(3), [0, 1, 9], loss=structured.Multiclass(3)), "example 2"),
        (lambda m: fenchel.Problem([1, 2], [3], loss=ordering.Ordering()), "2 examples but 1 labels"),
        (lambda m: fenchel.Problem([], [], loss=ordering.Ordering()), "no examples"),
        (lambda m: structured.Multiclass(loss="square"), "unknown loss of a structured model"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words):
        call(structured.Multiclass())


def test_pools_of_other_problems_are_refused():
    made = known("multiclass", {}, "l2", False)[0]
    for pool in (
        pool_of(np.ones(3, dtype=int), [np.zeros(3, dtype=np.int32)], np.ones(1)),
        pool_of(made.model.sizes, [np.full(made.n, 99, dtype=np.int32)], np.ones(1)),
        "no pool",
    ):
        with pytest.raises(InputError, match=r"pool|Pool"):
            fenchel.certify(made, np.zeros(made.d), dual_point=pool)


@pytest.mark.parametrize("loss", ["hinge", "log"])
def test_the_plane_zero_alone_is_a_dual_point(loss):
    rng = np.random.default_rng(0)
    x = [rng.standard_normal((5, 3)) for _ in range(4)]
    p = fenchel.Problem(x, [rng.integers(0, 3, 5) for _ in x], loss=fenchel.structured.Chain(3, loss=loss), alpha=0.1)
    point = StructuredOracle(p, None).mix([])
    optimum = fenchel.solve(p, tol=1e-6).certificate.primal
    found, _ = certifier_of(p).certificate(p, np.zeros(p.d), 0.0, point)
    assert 0.0 <= found.dual <= optimum


def test_labels_that_tie_with_the_known_one_make_the_plane_they_are_said_to_make():
    """Scores at which another label has exactly the loss 0: the mixture of these labels is the plane that was found."""
    rows, y = np.array([[1.0], [1.0]]), np.array([1, 0])
    p = fenchel.Problem(rows, y, loss=fenchel.structured.Multiclass(2), alpha=0.1)
    oracle = StructuredOracle(p, None)
    w = np.array([0.0, 1.0])  # the first row's other label has the score 0 + 1 - 1
    plane = oracle.plane(w, 0.0)
    constant, gradient = oracle.pool_sums(oracle.mix([(1.0, plane.recipe)]))
    assert plane.constant == pytest.approx(constant, abs=1e-15)
    assert plane.gradient == pytest.approx(gradient, abs=1e-15)
