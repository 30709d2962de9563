"""Class losses that are maxima over a polytope: against all their affine pieces, linear and quadratic programs."""

import functools
import itertools
import math
import pickle

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

from fenchel.compile.kernel import kernel
from fenchel.errors import InputError
from fenchel.losses import Hinge
from fenchel.multiclass.cost_hinge import CostHinge
from fenchel.multiclass.max_hinge import MaxHinge
from fenchel.multiclass.moreau import MoreauVector
from fenchel.multiclass.protocol import conjugate, dual_prox, into_domain, slopes, value
from fenchel.multiclass.top_k import TopK
from fenchel.multiclass.usunier import Usunier
from fenchel.multiclass.weighted_top_k import WeightedTopK
from fenchel.multiclass.weighted_usunier import WeightedUsunier

INF = math.inf
COSTS = np.array([[0, 1, 4, 2, 0.5], [1, 0, 2, 2, 1], [3, 1, 0, 0.25, 1], [2, 2, 2, 0, 2], [1, 0.1, 7, 1, 0]])
FREE = np.array([[0, 0, 3, 1, 0], [0, 0, 1, 1, 0], [2, 2, 0, 2, 2], [0, 0, 0, 0, 0], [1, 0, 1, 0, 0]])
FIVE = [  # losses of five classes
    MaxHinge(),
    CostHinge(COSTS),
    CostHinge(FREE),
    CostHinge(COSTS, 0.4),
    CostHinge(COSTS, 1.0),
    TopK(1),
    TopK(2),
    TopK(3),
    TopK(4),
    Usunier(1),
    Usunier(3),
    Usunier(4),
    WeightedTopK([1.0, 0.7, 0.1]),
    WeightedTopK([0.5, 0.5, 0.3, 0.3]),
    WeightedTopK([2.0, 0.0]),
    WeightedUsunier([1.0, 0.7, 0.1]),
    WeightedUsunier([4.0, 2.0, 2.0, 1e-3]),
    WeightedUsunier([0.25, 0.0, 0.0, 0.0]),
]
SMOOTHED = [MoreauVector(FIVE[i], gamma) for i, gamma in [(0, 0.3), (3, 1.0), (7, 2.0), (13, 0.1), (16, 0.5)]]


def shown(loss):
    return repr(loss)


every = pytest.mark.parametrize("loss", FIVE, ids=shown)
every_and_smoothed = pytest.mark.parametrize("loss", FIVE + SMOOTHED, ids=shown)


@kernel
def run_all(loss, t, g, y, u, at, step, numbers):
    """Every method for each row: at = slopes, step = dual_prox(t_i, g_i), u is moved into the domain, and

    numbers_i = (value, conjugate before and after that move, loss*(step), loss(x) + loss*(step) - <x, step>) with
    x = t_i - g_i step: the last is zero if the step is optimal. Loops for one place of each call: they are inlined.
    """
    for i in range(t.shape[0]):
        slopes(loss, t[i], y[i], at[i])
        dual_prox(loss, t[i], g[i], y[i], step[i])
        for k in range(3):
            if k == 1:
                into_domain(loss, u[i], y[i])
            numbers[i, 1 + k] = conjugate(loss, step[i] if k == 2 else u[i], y[i])
        x, product = np.empty(t.shape[1]), 0.0
        for j in range(x.size):  # sum u = 0: counted from class y the product is the same, with fewer digits lost
            x[j] = t[i, j] - t[i, y[i]] - g[i] * (step[i, j] - step[i, y[i]])
            product += x[j] * step[i, j]
        for k in range(2):
            numbers[i, 4 * k] = value(loss, x if k else t[i], y[i])
        numbers[i, 4] += numbers[i, 3] - product


@kernel
def value_and_step(loss, t, g, y, out):
    """The value; out = the dual step."""
    dual_prox(loss, t, g, y, out)
    return value(loss, t, y)


def weights(loss, m):
    rho = np.full(loss.k, 1.0 / loss.k) if hasattr(loss, "k") else loss.rho
    return np.append(rho, np.zeros(m - len(rho)))


@functools.cache
def pieces(loss, y, m=5):
    """(A, d) with loss(z, y) = max over rows of A z + d: written out from the definition."""
    found = {(0.0,) * (m + 1)}
    others = [j for j in range(m) if j != y]

    def add(b, d):
        row = np.zeros(m + 1)
        for j, share in b.items():
            row[j] += share
            row[y] -= share
        row[m] = d
        found.add(tuple(row))

    if isinstance(loss, MaxHinge | CostHinge):
        cost = loss.cost[y] if isinstance(loss, CostHinge) else np.ones(m)
        beta = loss.beta if isinstance(loss, CostHinge) else 0.0
        for j in others:
            add({j: cost[j] ** beta}, cost[j])
    elif isinstance(loss, TopK | WeightedTopK):
        rho = weights(loss, m)
        for ranks in itertools.permutations(range(m)):
            b = {j: rho[ranks[j]] for j in others}
            add(b, sum(b.values()))
    else:
        rho = weights(loss, m)
        for ranks in itertools.permutations(range(m - 1)):
            for kept in itertools.product([0.0, 1.0], repeat=m - 1):
                b = {j: keep * rho[r] for j, r, keep in zip(others, ranks, kept, strict=True)}
                add(b, sum(b.values()))
    table = np.array(sorted(found))
    return table[:, :m], table[:, m]


def largest_piece(loss, z, y):
    a, d = pieces(loss, y)
    return np.max(a @ (z - z[y]) + d)  # the rows of A sum to 0


def linear_program(loss, u, y):
    """loss*(u) = min of -<d, p> over the mixtures p of pieces whose slope is u."""
    a, d = pieces(loss, y)
    found = linprog(-d, A_eq=np.vstack([a.T, np.ones(len(d))]), b_eq=np.append(u, 1.0), bounds=(0, None))
    return found.fun if found.status == 0 else INF


def scores(seed, n=12, m=5):
    """Scores of many sizes, some with ties."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, m)) * 10.0 ** rng.uniform(-1.5, 1.5, size=(n, 1))
    z[: n // 3] = np.round(z[: n // 3])
    z[0] = 0.0
    return z, rng.integers(m, size=n)


def slopes_at(loss, z, y):
    out = np.full(len(z), np.nan)
    loss.slopes(z, y, out)
    return out


def step_at(loss, t, g, y):
    out = np.full(len(t), np.nan)
    loss.dual_prox(t, g, y, out)
    return out


def inside(loss, rng, y):
    """A random mixture of the vertices of the domain."""
    a, d = pieces(loss, y)
    p = rng.dirichlet(np.full(len(d), rng.choice([0.05, 0.3, 1.0])))
    return p @ a


@every
def test_value_is_the_largest_piece(loss):
    for z, y in zip(*scores(1, 40), strict=True):
        assert loss.value(z, y) == pytest.approx(largest_piece(loss, z, y), rel=1e-12, abs=1e-13)


@every_and_smoothed
def test_slopes_are_subgradients_and_fenchel_young_is_tight(loss):
    z, y = scores(2)
    for i, j in itertools.product(range(len(z)), repeat=2):
        u = slopes_at(loss, z[i], y[i])
        here, there = loss.value(z[i], y[i]), loss.value(z[j], y[i])
        size = 1.0 + abs(here) + abs(there)
        assert there >= here + u @ (z[j] - z[i]) - 1e-12 * size
        assert here + loss.conjugate(u, y[i]) == pytest.approx(u @ z[i], abs=1e-12 * size)
        assert there + loss.conjugate(u, y[i]) >= u @ z[j] - 1e-12 * size


@every
def test_conjugate_is_the_linear_program(loss):
    rng = np.random.default_rng(3)
    for y in (0, 2, 4):
        a, d = pieces(loss, y)
        for _ in range(6):
            u = inside(loss, rng, y)
            assert loss.conjugate(u, y) == pytest.approx(linear_program(loss, u, y), abs=1e-7)
        for vertex, constant in zip(a[:40], d[:40], strict=True):  # vertices that are no slope may earn less elsewhere
            assert loss.conjugate(vertex, y) <= -constant + 1e-12


@every
def test_membership(loss):
    rng = np.random.default_rng(4)
    outside = 0
    for trial in range(40):
        y = int(rng.integers(5))
        u = inside(loss, rng, y)
        while np.abs(u).max() < 0.02:  # the linear program forgives 1e-7
            u = inside(loss, rng, y)
        others = np.arange(5) != y
        u[others] += 0.4 * np.abs(u).max() * rng.normal(size=4) * (rng.random(4) < 0.6)
        u[others] = np.maximum(u[others], 0.0) if trial % 2 else u[others]
        u[y] -= u.sum()
        expected = linear_program(loss, u, y)
        outside += expected == INF
        assert (loss.conjugate(u, y) == INF) == (expected == INF), (trial, u)
        off_balance = u.copy()
        off_balance[y] += 1e-6
        assert loss.conjugate(off_balance, y) == INF
    assert outside > 5
    assert loss.conjugate(np.zeros(5), 1) == 0.0
    assert loss.conjugate(np.array([0.0, 1e-6, -1e-6, 0.0, 0.0]), 1) == INF  # the true class may only give


@every
def test_the_domain_ends_where_it_should(loss):
    for y in range(5):
        a, _ = pieces(loss, y)
        longest = a[np.argmax(np.sum(a * a, axis=1))]
        assert loss.conjugate(longest, y) < INF
        assert loss.conjugate(longest * (1.0 + 1e-10), y) == INF
    reach = max(np.linalg.norm(row) for y in range(5) for row in pieces(loss, y)[0])
    assert loss.largest_slope() == pytest.approx(reach, rel=1e-12)


@every
def test_into_domain(loss):
    rng = np.random.default_rng(5)
    for _ in range(30):
        y = int(rng.integers(5))
        u = inside(loss, rng, y)
        moved = u.copy()
        loss.into_domain(moved, y)
        np.testing.assert_allclose(moved, u, rtol=0, atol=1e-14 * np.abs(u).max())
        u = rng.normal(size=5) * 10.0 ** rng.uniform(-9, 3)
        loss.into_domain(u, y)
        assert loss.conjugate(u, y) < INF
        assert np.abs(u).max() < 1e-4 or linear_program(loss, u, y) < INF  # it knows only sizes near 1
        again = u.copy()
        loss.into_domain(again, y)
        np.testing.assert_allclose(again, u, rtol=1e-14)
        for z in scores(6, 5)[0]:
            assert loss.value(z, y) + loss.conjugate(u, y) >= u @ (z - z[y]) - 1e-12 * (1.0 + np.abs(z).max())


def test_the_mixing_of_top_k_is_no_more_than_needed():
    loss = TopK(3)  # b_j <= S/2 beside b_j <= 1/3
    u = np.array([-0.3, 0.3, 0.0, 0.0, 0.0])
    loss.into_domain(u, 0)
    np.testing.assert_allclose(u, [-0.3, 0.15, 0.05, 0.05, 0.05], atol=1e-15)


@pytest.mark.parametrize("g", [0.02, 0.5, 10.0])
@every
def test_dual_step_is_the_quadratic_program(loss, g):
    for t, y in zip(*scores(7, 3), strict=True):
        a, d = pieces(loss, y)
        p = cp.Variable(len(d), nonneg=True)
        goal = d @ p + (a @ t) @ p - 0.5 * g * cp.sum_squares(a.T @ p)
        cp.Problem(cp.Maximize(goal), [cp.sum(p) == 1]).solve(solver=cp.CLARABEL)
        u = step_at(loss, t, g, y)
        ours = -loss.conjugate(u, y) + u @ t - 0.5 * g * (u @ u)
        assert ours == pytest.approx(goal.value, rel=1e-7, abs=1e-7)
        np.testing.assert_allclose(u, a.T @ p.value, atol=2e-3)


def losses_of(m, rng):
    cost = rng.uniform(0.1, 3.0, size=(m, m))
    np.fill_diagonal(cost, 0.0)
    rho = np.sort(rng.exponential(size=m - 1))[::-1]
    steps = np.maximum(0.0, 6.0 - np.arange(1, m))[: m - 1] / 15.0
    few = max(1, m // 3)
    yield from [MaxHinge(), CostHinge(cost), CostHinge(cost, 0.5), CostHinge(cost, 1.0)]
    for k in (few, m - 1):  # TopK and Usunier by their weights: two classes less to compile
        yield from [WeightedTopK(np.full(k, 1.0 / k)), WeightedUsunier(np.full(k, 1.0 / k))]
    yield from [WeightedTopK(rho), WeightedTopK(steps), WeightedUsunier(rho), WeightedUsunier(steps)]


@pytest.mark.parametrize("m", [2, 3, 6, 40])
def test_dual_step_is_optimal_at_all_scales(m):
    rng = np.random.default_rng(m)
    n = 400
    t = rng.normal(size=(n, m)) * 10.0 ** rng.uniform(-2.0, 2.0, size=(n, 1))
    t[: n // 3] = np.round(t[: n // 3])  # ties
    t[:5] = 3.0
    y = rng.integers(m, size=n)
    t[n // 2 :, 0] += 1.0 * (rng.random(n - n // 2) < 0.5)
    g = 10.0 ** rng.uniform(-4.0, 2.0, size=n)
    for loss in losses_of(m, rng):
        u, numbers = np.empty((n, m)), np.empty((n, 5))
        run_all(loss, t, g, y, np.zeros((n, m)), np.empty((n, m)), u, numbers)
        gap = numbers[:, 4]
        assert np.isfinite(gap).all(), loss
        size = 1.0 + np.abs(t).max(axis=1) + g
        assert np.all(np.abs(gap) <= 1e-12 * size), (loss, np.max(np.abs(gap) / size))
        assert np.abs(u).sum(axis=1).max() > 0.5


def test_dual_step_keeps_its_digits_when_the_curvature_is_tiny():
    """Scores 1e9 times as far apart as g: the step still ends in the domain, and at a vertex to the last digits."""
    t, y = np.array([0.0, 1000.0, 500.0, 2.0, 2.0]), 0
    rho = np.array([0.5, 0.3, 0.2])
    expected = np.array([-1.0, 0.5, 0.3, 0.1, 0.1])
    for loss in (WeightedUsunier(rho), WeightedTopK(rho)):
        np.testing.assert_allclose(step_at(loss, t, 1e-6, y), expected, rtol=4e-16 * 4)
    for shift in (0.0, 1e4):
        u = step_at(MaxHinge(), np.array([0.0, 7.0, 7.0, 3.0]) + shift, 1e-9, 0)
        np.testing.assert_allclose(u, [-1.0, 0.5, 0.5, 0.0], rtol=1e-15)


@pytest.mark.parametrize("smoothed", SMOOTHED, ids=shown)
def test_moreau_value_is_the_true_minimum(smoothed):
    loss, gamma = smoothed
    for z, y in zip(*scores(8, 6), strict=True):
        a, d = pieces(loss, y)
        x, top = cp.Variable(5), cp.Variable()
        goal = top + cp.sum_squares(x - z) / (2.0 * gamma)
        cp.Problem(cp.Minimize(goal), [a @ x + d <= top]).solve(solver=cp.CLARABEL)
        got = smoothed.value(z, y)
        assert got == pytest.approx(goal.value, rel=1e-6, abs=1e-6)
        u = slopes_at(smoothed, z, y)
        np.testing.assert_allclose(u, (z - x.value) / gamma, atol=2e-3)
        # the other form of the same number
        assert got == pytest.approx(u @ (z - z[y]) - loss.conjugate(u, y) - 0.5 * gamma * u @ u, rel=1e-12, abs=1e-12)
        below = loss.value(z, y) - got
        assert -1e-12 <= below <= 0.5 * gamma * loss.largest_slope() ** 2 + 1e-12
        for g in (0.01, 3.0):
            step, at = step_at(smoothed, z, g, y), z - g * step_at(smoothed, z, g, y)
            np.testing.assert_allclose(slopes_at(smoothed, at, y), step, atol=1e-12 * (1.0 + 1.0 / gamma))


def test_moreau_slopes_are_derivatives_and_lipschitz():
    rng = np.random.default_rng(9)
    for smoothed in SMOOTHED:
        assert smoothed.smoothness() == 1.0 / smoothed.gamma
        assert smoothed.largest_slope() == smoothed.loss.largest_slope()
        for z, y in zip(*scores(10, 8), strict=True):
            z = z + 0.1 * rng.normal(size=5)
            direction = rng.normal(size=5)
            u = slopes_at(smoothed, z, y)
            rise = smoothed.value(z + 1e-6 * direction, y) - smoothed.value(z - 1e-6 * direction, y)
            assert rise / 2e-6 == pytest.approx(u @ direction, abs=1e-4 / min(1.0, smoothed.gamma))
            other = slopes_at(smoothed, z + direction, y)
            assert np.linalg.norm(other - u) <= np.linalg.norm(direction) / smoothed.gamma * (1.0 + 1e-12)


@pytest.mark.parametrize("loss", [FIVE[i] for i in (0, 2, 3, 13, 16)] + SMOOTHED[:1], ids=shown)
def test_python_and_compiled_agree(loss):
    rng = np.random.default_rng(11)
    z, y = scores(12, 24)
    g, u = 10.0 ** rng.uniform(-3, 2, size=24), rng.normal(size=(24, 5))
    plain, fast = ([u.copy(), np.ones((24, 5)), np.ones((24, 5)), np.ones((24, 5))] for _ in range(2))
    run_all.py_func(loss, z, g, y, *plain)
    run_all(loss, z, g, y, *fast)
    for a, b in zip(plain, fast, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("loss", [TopK(3), Usunier(3)], ids=shown)
def test_python_and_compiled_agree_on_equal_weights(loss):
    for i, (t, y) in enumerate(zip(*scores(14, 24), strict=True)):
        plain, fast, g = np.ones(5), np.ones(5), 10.0 ** (i % 6 - 3)
        a, b = value_and_step.py_func(loss, t, g, y, plain), value_and_step(loss, t, g, y, fast)
        assert a == pytest.approx(b, rel=1e-13)
        np.testing.assert_allclose(plain, fast, rtol=1e-12, atol=1e-13)


def test_two_classes_are_the_hinge():
    hinge = Hinge()
    for loss in (
        MaxHinge(),
        CostHinge([[0, 1], [1, 0]], 0.7),
        TopK(1),
        Usunier(1),
        WeightedTopK([1]),
        WeightedUsunier([1]),
    ):
        assert loss.outputs([0, 1, 1]) == 2
        for y, sign in ((0, -1.0), (1, 1.0)):
            for a, b in scores(13, 20, 2)[0]:
                z = np.array([a, b])
                assert loss.value(z, y) == pytest.approx(hinge.value(b - a, sign), abs=1e-14)
                u = slopes_at(loss, z, y)
                assert u[1] == -u[0] == hinge.slope(b - a, sign)
                # the score z_1 - z_0 falls by 2 q when both classes move
                step = step_at(loss, z, 0.3, y)
                assert step[1] == pytest.approx(hinge.dual_step(0.0, b - a, 0.6, sign), abs=1e-14)


@every
def test_scores_that_are_all_equal(loss):
    for shift in (0.0, -7.0, 1e9):
        z = np.full(5, shift)
        assert loss.value(z, 2) == pytest.approx(largest_piece(loss, np.zeros(5), 2), rel=1e-15)
        u = step_at(loss, z, 0.5, 2)
        np.testing.assert_allclose(u, step_at(loss, np.zeros(5), 0.5, 2), rtol=1e-14, atol=1e-16)
        if not isinstance(loss, CostHinge):
            others = np.delete(u, 2)
            np.testing.assert_allclose(others, others[0], rtol=1e-14)


@every_and_smoothed
def test_huge_and_tiny_scores(loss):
    base = np.array([3.0, -1.0, 0.5, 2.0, -2.0])
    plain = loss.loss if isinstance(loss, MoreauVector) else loss
    for size, y in itertools.product([1e-300, 1e-30, 1e-8, 1e8, 1e15, 1e150, 1e300], [0, 1]):
        z = size * base
        got = loss.value(z, y)
        bias = 0.5 * loss.gamma * plain.largest_slope() ** 2 if plain is not loss else 0.0
        assert -1e-12 * got <= largest_piece(plain, z, y) - got <= bias + 1e-12 * got
        for u in (slopes_at(loss, z, y), step_at(loss, z, 1.0, y)):
            assert np.isfinite(u).all()
            assert loss.conjugate(u, y) < INF
    far = np.array([1e12, 0.0, -3.0, 2.0, 1.0])
    assert loss.value(far, 0) == 0.0
    assert not slopes_at(loss, far, 0).any()
    assert not step_at(loss, far, 1.0, 0).any()


@every_and_smoothed
def test_scores_that_are_not_numbers_do_no_harm(loss):
    """A solver that has diverged must come to its end: no index outside the arrays, no endless search."""
    for count, y in itertools.product([1, 3, 5], [0, 4]):
        z = np.array([0.5, 1.0, -1.0, 2.0, 0.0])
        z[:count] = math.nan
        u = z.copy()
        loss.into_domain(u, y)
        assert isinstance(loss.value(z, y) + loss.conjugate(z, y), float)
        assert len(slopes_at(loss, z, y)) == len(step_at(loss, z, 0.5, y)) == 5


def test_known_values_of_the_corrected_definitions():
    wide = np.array([0.0, 4.0, -6.0])  # margins 5 and -5, and 0 of the true class, which must stay in the list
    assert TopK(2).value(wide, 0) == 2.5
    z = np.array([0.0, 2.0, -2.0, -5.0])  # margins 3, -1, -4
    assert TopK(3).value(z, 0) == pytest.approx(2.0 / 3.0)
    assert Usunier(3).value(z, 0) == 1.0
    assert WeightedTopK([2 / 3, 1 / 3]).value(np.array([0.0, 2.0, 0.5]), 0) == pytest.approx(2.5)


@every_and_smoothed
def test_pickle_equality_and_repr(loss):
    again = pickle.loads(pickle.dumps(loss))
    assert again == loss and hash(again) == hash(loss) and type(again) is type(loss)
    assert len(repr(loss)) < 90
    assert repr(loss).startswith(type(loss).__name__)
    assert loss != MoreauVector(loss, 9.0)
    assert sum(loss == other for other in FIVE + SMOOTHED) == 1
    assert loss.nonnegative
    assert (loss.smoothness() is None) == (loss in FIVE)


def test_parameters_cannot_be_changed_from_outside():
    rho = np.array([2.0, 1.0])
    loss = WeightedUsunier(rho)
    rho[0] = 9.0
    assert loss == WeightedUsunier([2.0, 1.0])
    with pytest.raises(ValueError, match="read-only"):
        loss.rho[0] = 9.0
    assert repr(loss) == "WeightedUsunier(rho=[2., 1.])"


def test_an_envelope_of_an_envelope_is_one():
    assert MoreauVector(MoreauVector(TopK(2), 0.5), 0.25) == MoreauVector(TopK(2), 0.75)


def test_outputs():
    y = np.array([0, 3, 1])  # class 2 is missing, and has a score all the same
    for loss in (MaxHinge(), TopK(3), Usunier(3), WeightedTopK([1, 1, 0]), WeightedUsunier([1.0]), SMOOTHED[0]):
        assert loss.outputs(y) == 4
    assert CostHinge(COSTS).outputs(y) == 5
    assert MaxHinge().outputs(np.array([0.0, 2.0])) == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TopK(0), "k must be at least 1, got 0"),
        (lambda: Usunier(-2), "k must be at least 1, got -2"),
        (lambda: TopK(1.5), "k must be an integer, got 1.5"),
        (lambda: Usunier(True), "k must be an integer"),
        (lambda: WeightedTopK([0.5, 0.7]), r"rho\[0\] = 0.5 < rho\[1\] = 0.7: sort it"),
        (lambda: WeightedUsunier([1.0, 0.5, -0.5]), r"rho\[2\] = -0.5"),
        (lambda: WeightedUsunier([0.0, 0.0]), r"rho\[0\].*must be positive"),
        (lambda: WeightedUsunier([]), "1-dimensional"),
        (lambda: WeightedTopK([[1.0]]), "1-dimensional"),
        (lambda: WeightedTopK(["a"]), "rho must be an array of numbers"),
        (lambda: WeightedTopK([1.0, math.nan]), r"rho must be finite, but rho\[1\] = nan"),
        (lambda: CostHinge([[0, 1], [-2, 0]]), r"not be negative, but cost\[1, 0\] = -2"),
        (lambda: CostHinge([[0, 1], [2, 3]]), r"0 on the diagonal.*cost\[1, 1\] = 3"),
        (lambda: CostHinge([[0, 1, 2], [1, 0, 2]]), r"square matrix.*\(2, 3\)"),
        (lambda: CostHinge([[0]]), "at least 2 x 2"),
        (lambda: CostHinge([0, 1]), "2-dimensional"),
        (lambda: CostHinge([[0, math.inf], [1, 0]]), r"cost\[0, 1\] = inf"),
        (lambda: CostHinge([[0, 1], [0, 0]], 0.5), r"positive off the diagonal if beta > 0, but cost\[1, 0\] = 0"),
        (lambda: CostHinge([[0, 1], [1, 0]], 1.5), "beta must be from 0"),
        (lambda: CostHinge([[0, 1], [1, 0]], math.nan), "beta must be from 0"),
        (lambda: MoreauVector(MaxHinge(), 0.0), "gamma must be greater than 0"),
        (lambda: MoreauVector(MaxHinge(), math.inf), "gamma must be greater than 0 and finite"),
        (lambda: MoreauVector(Hinge(), 1.0), "dual_prox"),
        (lambda: TopK(3).outputs([0, 1, 2]), "k must be less than the number of classes, 3, got 3"),
        (lambda: Usunier(9).outputs([0, 1, 2]), "k must be less than the number of classes, 3, got 9"),
        (lambda: WeightedUsunier([1, 1, 0]).outputs([0, 1, 2]), "the length of rho must be less than.*3, got 3"),
        (lambda: WeightedTopK([1, 1, 1]).outputs([0, 1, 2]), "the length of rho"),
        (lambda: MoreauVector(TopK(3), 1.0).outputs([0, 1, 2]), "k must be less"),
        (lambda: CostHinge([[0, 1], [1, 0]]).outputs([0, 1, 2]), r"y\[2\] = 2, but there are only 2 classes"),
        (lambda: MaxHinge().outputs([0, 0]), "at least two classes"),
        (lambda: MaxHinge().outputs([]), "one class per row"),
        (lambda: MaxHinge().outputs([[0], [1]]), r"one class per row.*\(2, 1\)"),
        (lambda: MaxHinge().outputs([0, -1]), r"y\[1\] = -1"),
        (lambda: MaxHinge().outputs([0.5, 1.0]), r"y\[0\] = 0.5"),
        (lambda: MaxHinge().outputs([0.0, math.nan]), r"y\[1\] = nan"),
        (lambda: MaxHinge().outputs(["a", "b"]), "number the classes"),
    ],
)
def test_errors(make, message):
    with pytest.raises(InputError, match=message):
        make()
