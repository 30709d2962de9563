"""Softmax and the multivariate squared loss: definitions, conjugates and dual steps against independent answers."""

import math
import pickle

import cvxpy as cp
import mpmath as mp
import numpy as np
import pytest
from scipy.special import logsumexp

from fenchel.compile.kernel import kernel
from fenchel.errors import InputError
from fenchel.multiclass.max_hinge import MaxHinge
from fenchel.multiclass.multivariate_squared import MultivariateSquared
from fenchel.multiclass.protocol import conjugate, dual_prox, into_domain, slopes, value
from fenchel.multiclass.softmax import Softmax

EPS = 2.0**-52
FULL = [[2.0, 0.5, 0.0], [0.5, 1.0, -0.25], [0.0, -0.25, 0.75]]
FLAT = np.outer([1.0, -2.0, 0.5], [1.0, -2.0, 0.5]) + np.outer([0.0, 1.0, 1.0], [0.0, 1.0, 1.0])  # rank 2
METRICS = {"identity": None, "definite": FULL, "rank 2": FLAT, "lopsided": [[1.0, 3.0, 0], [0, 4.0, 0], [0, 0, 1.0]]}
SQUARED = {name: MultivariateSquared(M) for name, M in METRICS.items()}
every_metric = pytest.mark.parametrize("name", METRICS)


@kernel
def all_methods(loss, z, u, t, g, y, slope, prox):
    slopes(loss, z, y, slope)
    into_domain(loss, u, y)
    dual_prox(loss, t, g, y, prox)
    return value(loss, z, y), conjugate(loss, u, y)


def matrix_of(name):
    return np.eye(3) if METRICS[name] is None else (np.array(METRICS[name]) + np.array(METRICS[name]).T) / 2


def slopes_of(loss, z, y):
    out = np.full(z.size, np.nan)
    loss.slopes(z, y, out)
    return out


def prox_of(loss, t, g, y):
    out = np.full(t.size, np.nan)
    loss.dual_prox(t, g, y, out)
    return out


def cases(loss, seed=0, count=12):
    """(z, y) of several sizes."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        scale = [0.1, 1.0, 5.0, 40.0][i % 4]
        if isinstance(loss, Softmax):
            m = [2, 3, 7][i % 3]
            yield scale * rng.normal(size=m), int(rng.integers(m))
        else:
            yield scale * rng.normal(size=3), rng.normal(size=3)


EVERY = [Softmax(), *SQUARED.values()]
every = pytest.mark.parametrize("loss", EVERY, ids=["softmax", *SQUARED])


def test_softmax_is_its_definition():
    for z, y in cases(Softmax()):
        assert Softmax().value(z, y) == pytest.approx(logsumexp(z) - z[y], rel=1e-12, abs=1e-13)
        p = Softmax().probability(z)
        assert Softmax().value(z, y) == pytest.approx(-math.log(p[y]), rel=1e-12, abs=1e-13)
        assert slopes_of(Softmax(), z, y) == pytest.approx(p - np.eye(z.size)[y], rel=1e-12, abs=1e-15)


@every_metric
def test_multivariate_squared_is_its_definition(name):
    for z, y in cases(SQUARED[name]):
        r, M = z - y, matrix_of(name)
        assert SQUARED[name].value(z, y) == pytest.approx(0.5 * r @ M @ r, rel=1e-12, abs=1e-12 * (r @ r))
        assert slopes_of(SQUARED[name], z, y) == pytest.approx(M @ r, rel=1e-12, abs=1e-13 * np.linalg.norm(r))


@every
def test_slopes_are_finite_differences(loss):
    for z, y in cases(loss):
        u, h = slopes_of(loss, z, y), 1e-5
        for j, e in enumerate(np.eye(z.size)):
            difference = (loss.value(z + h * e, y) - loss.value(z - h * e, y)) / (2 * h)
            assert u[j] == pytest.approx(difference, abs=1e-6 * (1 + np.abs(z).max()))


@every
def test_subgradient_inequality_and_fenchel_young(loss):
    for z, y in cases(loss):
        u, f = slopes_of(loss, z, y), loss.value(z, y)
        scale = 1 + abs(f) + np.abs(z).max() * np.abs(u).sum()
        assert loss.conjugate(u, y) == pytest.approx(u @ z - f, abs=1e-12 * scale)
        assert np.linalg.norm(u) <= loss.largest_slope() * (1 + 1e-15)
        for other in [w for w, _ in cases(loss, seed=1, count=24) if w.size == z.size]:
            g = loss.value(other, y)
            room = 1e-12 * (1 + abs(g) + np.abs(other).max() * np.abs(u).sum()) + 1e-12 * scale
            assert g >= f + u @ (other - z) - room
            assert g + loss.conjugate(u, y) >= u @ other - room


@every
def test_smoothness_bounds_the_slopes_and_is_nearly_attained(loss):
    points = list(cases(loss, seed=5, count=60))
    for (a, y), (b, _) in zip(points, points[12:], strict=False):
        if a.size == b.size:
            change = np.linalg.norm(slopes_of(loss, a, y) - slopes_of(loss, b, y))
            assert change <= loss.smoothness() * np.linalg.norm(a - b) * (1 + 1e-9)
    if isinstance(loss, Softmax):  # two classes of probability 1/2, the others far away
        z, e, y = np.array([0.0, 0.0, -60.0]), np.array([1e-4, -1e-4, 0.0]), 0
    else:
        values, vectors = np.linalg.eigh(matrix_of(list(SQUARED)[EVERY.index(loss) - 1]))
        assert loss.smoothness() == pytest.approx(values[-1], rel=1e-12)
        z, e, y = np.zeros(3), vectors[:, -1], np.zeros(3)
    change = np.linalg.norm(slopes_of(loss, z + e, y) - slopes_of(loss, z - e, y)) / np.linalg.norm(2 * e)
    assert change == pytest.approx(loss.smoothness(), rel=1e-6)


def feasible(loss, rng, y):
    if isinstance(loss, Softmax):
        u = rng.dirichlet(np.ones(4))
        u[y] -= 1.0
        return u
    u = rng.normal(size=3)
    loss.into_domain(u, y)
    return u


@every
def test_conjugate_is_the_supremum_that_cvxpy_finds(loss):
    rng = np.random.default_rng(3)
    for k in range(3):
        y = k if isinstance(loss, Softmax) else rng.normal(size=3)
        u = feasible(loss, rng, y)
        z = cp.Variable(u.size)
        if isinstance(loss, Softmax):
            f = cp.log_sum_exp(z) - z[y]
        else:
            f = 0.5 * cp.quad_form(z - y, cp.psd_wrap(matrix_of(list(SQUARED)[EVERY.index(loss) - 1])))
        problem = cp.Problem(cp.Maximize(u @ z - f))
        problem.solve(solver="CLARABEL")
        assert loss.conjugate(u, y) == pytest.approx(problem.value, rel=1e-6, abs=1e-6)


def test_conjugate_is_infinite_outside():
    for u in ([0.5, -0.25, -0.25], [-0.5, 0.5, 0.1], [-1.5, 1.0, 0.5], [0.0, 0.1, -0.1], [-0.5, np.nan, 0.5]):
        assert Softmax().conjugate(np.array(u), 0) == math.inf
    loss, y = SQUARED["rank 2"], np.array([1.0, 2.0, 3.0])
    beside = np.linalg.svd(FLAT)[2][-1]
    inside = np.array([1.0, -2.0, 0.5])
    assert loss.conjugate(inside, y) < math.inf
    for size in (1.0, 1e-6, 1e-10):
        assert loss.conjugate(inside + size * beside, y) == math.inf


def test_conjugate_at_the_corners_and_near_them():
    m = 5
    assert Softmax().conjugate(np.zeros(m), 2) == 0.0
    corner = np.eye(m)[0] - np.eye(m)[2]
    assert Softmax().conjugate(corner, 2) == 0.0
    tiny = np.array([1e-18, 0.0, -1e-18])  # p_y = 1 to the last digit; the conjugate is x log x + (1 - x) log(1 - x)
    assert Softmax().conjugate(tiny, 2) == pytest.approx(1e-18 * math.log(1e-18) - 1e-18, rel=1e-14)


@every
def test_into_domain_is_feasible_and_leaves_feasible_points(loss):
    rng = np.random.default_rng(4)
    for scale in (1e-9, 0.3, 1.0, 50.0):
        y = 1 if isinstance(loss, Softmax) else rng.normal(size=3)
        inside = feasible(loss, rng, y)
        kept = inside.copy()
        loss.into_domain(kept, y)
        assert kept == pytest.approx(inside, rel=1e-14, abs=8 * EPS * np.abs(inside).max())
        u = scale * rng.normal(size=inside.size)
        loss.into_domain(u, y)
        assert loss.conjugate(u, y) < math.inf
        for z, _ in cases(loss, seed=6, count=24):
            if z.size == u.size:
                room = 1e-12 * (1 + abs(loss.value(z, y)) + np.abs(z).max() * np.abs(u).sum())
                assert loss.value(z, y) + loss.conjugate(u, y) >= u @ z - room


def test_into_domain_of_a_vector_beside_the_range():
    loss, y = SQUARED["rank 2"], np.zeros(3)
    u = np.linalg.svd(FLAT)[2][-1].copy()
    loss.into_domain(u, y)
    assert np.linalg.norm(u) < 1e-14 and loss.conjugate(u, y) == pytest.approx(0.0, abs=1e-14)


def exact_share(a, g):
    """The root of log p + g p = a in extended precision."""
    return mp.lambertw(g * mp.exp(a)).real / g


@pytest.mark.parametrize("g", [1e-8, 1e-4, 0.1, 1.0, 30.0, 1e4, 1e8])
@pytest.mark.parametrize("size", [0.0, 1.0, 30.0, 1e3])
def test_softmax_dual_prox_in_extended_precision(g, size):
    rng = np.random.default_rng(int(size) + 7)
    with mp.workdps(40):
        for m, y in [(2, 0), (2, 1), (3, 1), (6, 5)]:
            t = size * rng.uniform(-1, 1, size=m)
            u = prox_of(Softmax(), t, g, y)
            assert abs(u.sum()) <= m * EPS and Softmax().conjugate(u, y) < math.inf
            p = [mp.mpf(float(x)) + (j == y) for j, x in enumerate(u)]
            k = max(range(m), key=lambda j: p[j])
            nu = mp.mpf(float(t[k])) + mp.mpf(g) * (k == y) - mp.log(p[k]) - mp.mpf(g) * p[k]
            exact = [exact_share(mp.mpf(float(t[j])) + mp.mpf(g) * (j == y) - nu, mp.mpf(g)) for j in range(m)]
            # The shares fall in nu, so the true ones differ from these by less than their sum does from 1.
            assert abs(sum(exact) - 1) <= 1e-12
            assert max(abs(a - b) for a, b in zip(p, exact, strict=True)) <= 1e-12


@pytest.mark.parametrize("g", [1e-8, 1.0, 1e8])
def test_softmax_dual_prox_keeps_the_digits_of_small_duals(g):
    t = np.array([60.0, 3.0, -8.0])  # p_y = 1 up to e^-57
    u = prox_of(Softmax(), t, g, 0)
    with mp.workdps(60):
        for j in (1, 2):
            # nu = g q - log(1 - q) is below 1e-16 times the shares' exponents for g <= 1
            q = mp.mpf(float(u[1])) + mp.mpf(float(u[2]))
            nu = mp.mpf(g) * q - mp.log(1 - q)
            assert float(u[j]) == pytest.approx(
                float(exact_share(mp.mpf(float(t[j] - t[0])) - nu, mp.mpf(g))), rel=1e-12
            )


@pytest.mark.parametrize("m", [2, 50, 1000])
def test_softmax_dual_prox_with_ties_and_extremes(m):
    for g in (1e-300, 1e-12, 1.0, 1e12):
        u = prox_of(Softmax(), np.zeros(m), g, 0)  # p_1 = ... = p_m-1 by symmetry
        assert np.ptp(u[1:]) == 0.0 and np.isfinite(u).all()
        p, q = u[1], 1.0 + u[0]
        assert math.log(p) + g * p == pytest.approx(math.log(q) + g * u[0], rel=1e-9, abs=1e-9)
    assert prox_of(Softmax(), np.r_[1e5, np.zeros(m - 1)], 1.0, 0) == pytest.approx(np.zeros(m), abs=0.0)
    far = prox_of(Softmax(), np.r_[-1e5, 1e5, np.zeros(m - 2)], 1.0, 0)
    assert far == pytest.approx(np.r_[-1.0, 1.0, np.zeros(m - 2)], abs=1e-15)


@every
def test_dual_prox_is_what_cvxpy_finds(loss):
    rng = np.random.default_rng(9)
    for g in (0.05, 1.0, 20.0):
        y = 2 if isinstance(loss, Softmax) else rng.normal(size=3)
        t = 2.0 * rng.normal(size=4 if isinstance(loss, Softmax) else 3)
        u = cp.Variable(t.size)
        if isinstance(loss, Softmax):
            p = u + np.eye(4)[y]
            dual, rules = -cp.sum(cp.entr(p)), [cp.sum(p) == 1]
        else:
            M = matrix_of(list(SQUARED)[EVERY.index(loss) - 1])
            a = cp.Variable(3)  # u = M a, u' M^+ u = a' M a
            dual, rules = u @ y + 0.5 * cp.quad_form(a, cp.psd_wrap(M)), [u == M @ a]
        cp.Problem(cp.Minimize(dual - t @ u + g / 2 * cp.sum_squares(u)), rules).solve(solver="CLARABEL")
        assert prox_of(loss, t, g, y) == pytest.approx(u.value, abs=1e-5)


@every
def test_dual_prox_is_a_slope_of_the_moreau_envelope(loss):
    # u = prox(t, g) belongs to the score t - g u: the condition of optimality, without the conjugate
    for g in (1e-3, 1.0, 50.0):
        for t, y in cases(loss, seed=10):
            u = prox_of(loss, t, g, y)
            scale = 1 + np.abs(t).max() + g * np.abs(u).max()
            assert slopes_of(loss, t - g * u, y) == pytest.approx(u, abs=1e-13 * scale * (1 + loss.smoothness()))


def test_softmax_at_scores_of_1e5_does_not_overflow():
    for scale in (1e5, 1e300):
        z = scale * np.array([1.0, -1.0, 0.5])
        for y in range(3):
            f, u = Softmax().value(z, y), slopes_of(Softmax(), z, y)
            assert f == z[0] - z[y]
            assert u == pytest.approx(np.eye(3)[0] - np.eye(3)[y], abs=0.0)
            assert Softmax().conjugate(u, y) == 0.0
    assert Softmax().value(np.array([0.0, -80.0]), 0) == pytest.approx(math.exp(-80), rel=1e-14)


@every
def test_python_and_compiled_agree(loss):
    for g in (1e-6, 1.0, 1e6):
        for z, y in cases(loss, seed=11):
            start = np.linspace(-0.5, 0.9, z.size)
            first = [start.copy(), np.empty(z.size), np.empty(z.size)]
            second = [start.copy(), np.empty(z.size), np.empty(z.size)]
            a = all_methods(loss, z, first[0], 1.5 * z, g, y, *first[1:])
            b = all_methods.py_func(loss, z, second[0], 1.5 * z, g, y, *second[1:])
            assert a == pytest.approx(b, rel=1e-12, abs=1e-12)
            for x, other in zip(first, second, strict=True):
                assert x == pytest.approx(other, rel=1e-10, abs=1e-13)


@every
def test_pickled_compared_and_shown(loss):
    copy = pickle.loads(pickle.dumps(loss))
    assert copy == loss and (copy != loss) is False and hash(copy) == hash(loss) and type(copy) is type(loss)
    assert repr(copy) == repr(loss)
    z, y = next(cases(loss))
    assert copy.value(z, y) == loss.value(z, y)


def test_repr_and_equality():
    assert repr(Softmax()) == "Softmax()"
    assert repr(MultivariateSquared()) == "MultivariateSquared(M=None)"
    assert repr(MultivariateSquared([[2, 0], [0, 1]])) == "MultivariateSquared(M=[[2.0, 0.0], [0.0, 1.0]])"
    assert Softmax() != MaxHinge() and Softmax() != ()
    assert SQUARED["definite"] != SQUARED["rank 2"] and SQUARED["identity"] != MultivariateSquared(np.eye(3))
    assert MultivariateSquared([[1.0, 4.0], [0.0, 9.0]]) == MultivariateSquared([[1.0, 2.0], [2.0, 9.0]])


def test_outputs():
    assert Softmax().outputs(np.array([0, 2, 2])) == 3  # a class without rows still has its score
    assert MultivariateSquared().outputs(np.zeros((4, 2))) == 2
    assert MultivariateSquared(FULL).outputs(np.zeros((4, 3))) == 3


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.array([0.5, 1.0]), r"y\[0\] = 0.5"),
        (np.array([[0, 1]]), "vector"),
        (np.array([], dtype=int), "vector"),
        (np.array(["a", "b"]), "integers"),
        (np.array([1, -1]), r"y\[1\] = -1"),
        (np.array([0, 0]), "at least two"),
    ],
)
def test_softmax_refuses_other_targets(y, words):
    with pytest.raises(InputError, match=words):
        Softmax().outputs(y)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.zeros(3), "matrix.*Squared"),
        (np.zeros((0, 3)), "matrix"),
        (np.array([["a", "b", "c"]]), "numbers"),
        (np.zeros((4, 2)), "2 columns, but M is 3 x 3"),
    ],
)
def test_multivariate_squared_refuses_other_targets(y, words):
    with pytest.raises(InputError, match=words):
        MultivariateSquared(FULL).outputs(y)


@pytest.mark.parametrize(
    ("M", "words"),
    [
        ([1.0, 2.0], "square matrix"),
        (np.zeros((2, 3)), r"shape \(2, 3\)"),
        (np.zeros((0, 0)), "square"),
        ([[1.0, np.nan], [0.0, 1.0]], r"M\[0, 1\] = nan"),
        ([["a"]], "real numbers"),
        ([[1.0, 2.0], [2.0, 1.0]], "smallest eigenvalue is -1"),
    ],
)
def test_multivariate_squared_refuses_other_matrices(M, words):
    with pytest.raises(InputError, match=words):
        MultivariateSquared(M)


def test_a_matrix_of_zeros_is_the_loss_0():
    loss, y = MultivariateSquared(np.zeros((2, 2))), np.array([1.0, 2.0])
    assert loss.value(np.array([5.0, 6.0]), y) == 0.0 and loss.smoothness() == 0.0 and loss.largest_slope() == 0.0
    assert prox_of(loss, np.ones(2), 1.0, y) == pytest.approx(np.zeros(2), abs=0.0)
    assert loss.conjugate(np.zeros(2), y) == 0.0 and loss.conjugate(np.ones(2), y) == math.inf
