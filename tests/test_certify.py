"""The certificate is what it says: P and D by the formulas, D never above P, gaps of other people's solutions true."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import exact
import fenchel
from fenchel.certificates.scalar import balancing, certificate
from fenchel.errors import InputError
from problems import LOSSES, REGULARIZERS, data, optimum, problem

ROUNDS = 20  # problems per loss; 20 losses make 400
STORAGE = {
    "dense": lambda X: X,
    "csr": lambda X: sp.csr_matrix(np.where(np.abs(X) > 0.3, X, 0.0)),
    "float32": lambda X: X.astype(np.float32),
}


def by_loss(losses=LOSSES):
    return pytest.mark.parametrize("loss", [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in losses])


def reference(p):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CVXPY's own remarks on its compilation
        return optimum(p)


def random_problem(loss, rng):
    """(problem, weights as given): any regularizer, storage, scale, with and without weights, intercept, offset."""
    name = rng.choice(list(REGULARIZERS))
    X, y = data(LOSSES[loss], n=int(rng.integers(1, 25)), seed=int(rng.integers(1 << 30)))
    scale = 10.0 ** rng.uniform(-3, 1 if loss in ("exponential", "poisson") else 3)
    weights = rng.uniform(0.0, 2.0, y.size) ** 3 if rng.random() < 0.5 else None
    p = fenchel.Problem(
        STORAGE[rng.choice(list(STORAGE))](scale * X), y, loss=LOSSES[loss], regularizer=REGULARIZERS[name],
        fit_intercept=bool(rng.random() < 0.5) and y.size > 2 and len(set(np.sign(y))) > 1,
        sample_weight=weights, offset=0.1 * rng.standard_normal(y.size) if rng.random() < 0.5 else None,
    )  # fmt: skip
    return p, weights, scale


def random_point(p, scale, rng):
    """(w, b, u), u near the slopes of another point or anywhere."""
    spread = 10.0 ** rng.uniform(-2, 0.5) / max(scale, 1e-3)
    w, other = spread * rng.standard_normal((2, p.d))
    if "Entropy" in type(p.regularizer).__name__:
        total = getattr(p.regularizer, "total", None)
        w = np.abs(w) * (1.0 if total is None else total / np.abs(w).sum())
    if type(p.regularizer).__name__ == "BalancedEntropy":
        w *= rng.choice([-0.9, 0.9], p.d)
    b = float(rng.standard_normal()) if p.fit_intercept else 0.0
    z = p.X @ other + p.offset
    slopes = np.array([p.loss.slope(float(a), float(t)) for a, t in zip(z, p.y, strict=True)])
    return w, b, slopes if rng.random() < 0.5 else slopes + 0.5 * rng.standard_normal(p.n)


@by_loss()
def test_primal_and_dual_are_the_formulas_in_fifty_digits(loss):
    rng = np.random.default_rng(list(loss.encode()))
    for _ in range(ROUNDS):
        p, weights, scale = random_problem(loss, rng)
        w, b, u = random_point(p, scale, rng)
        found, point = certificate(p, w, b, u)
        P, (D, imbalance) = exact.primal(p, w, b, weights), exact.dual(p, point, weights)
        # The floor is for points that belong together; elsewhere the error is a tiny part of a large gap.
        allowed = found.floor + 1e-11 * (P - D) + 1e-300
        assert abs(found.primal - P) <= allowed, (p, found, P)
        assert abs(found.dual - D) <= allowed, (p, found, D)
        assert not p.fit_intercept or abs(imbalance) <= 1e-12 * np.abs(p.weights @ np.abs(point)) + 1e-300
        assert found.dual <= found.primal + found.floor
        assert P + abs(imbalance) * (1 + abs(b)) + 1e-40 >= D
        assert fenchel.certify(p, w, b, u) == found
        assert fenchel.certify(p, w, b).dual <= P + found.floor  # the point certify builds itself


@by_loss()
def test_gap_is_at_least_the_distance_to_the_optimum(loss):
    rng = np.random.default_rng(list(loss.encode()))
    for reg in rng.choice(list(REGULARIZERS), 3, replace=False):
        p = problem(LOSSES[loss], REGULARIZERS[reg], intercept=True, weighted=True, offset=True)
        best = reference(p)
        for _ in range(5):
            w, b, u = random_point(p, 1.0, rng)
            for found in (fenchel.certify(p, w, b), fenchel.certify(p, w, b, u)):
                assert found.gap >= found.primal - best - 1e-7 * (1 + abs(best))
                assert found.dual <= best + 1e-7 * (1 + abs(best))


def peer_data(n=300, d=20):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, d)) * np.exp(0.5 * rng.standard_normal(d))
    return X, np.where(X @ rng.standard_normal(d) + 2.0 * rng.standard_normal(n) > 0, 1.0, -1.0)


def sklearn_peers(X, y, alpha):
    linear_model = pytest.importorskip("sklearn.linear_model")
    svm = pytest.importorskip("sklearn.svm")
    n = y.size
    quick = {"fit_intercept": False, "max_iter": 1_000_000}
    return {
        "hinge": lambda tol: svm.LinearSVC(C=1 / (alpha * n), loss="hinge", tol=tol, **quick).fit(X, y).coef_,
        "squared_hinge": lambda tol: svm.LinearSVC(C=0.5 / (alpha * n), tol=tol, **quick).fit(X, y).coef_,
        "logistic": lambda tol: (
            linear_model.LogisticRegression(C=1 / (alpha * n), solver="newton-cholesky", tol=tol, **quick)
            .fit(X, y)
            .coef_
        ),
        "squared": lambda tol: linear_model.Ridge(alpha=alpha * n, fit_intercept=False, tol=tol).fit(X, y).coef_,
    }


def liblinear_peers(X, y, alpha):
    train = pytest.importorskip("liblinear.liblinearutil").train
    solver = {"hinge": 3, "squared_hinge": 1, "logistic": 7}

    def fit(loss, tol):
        C = (0.5 if loss == "squared_hinge" else 1.0) / (alpha * y.size)
        model = train(list(y), sp.csr_matrix(X), f"-s {solver[loss]} -c {C} -e {tol} -B -1 -q")
        return np.array(model.get_decfun()[0]) * model.get_labels()[0]

    return {loss: (lambda tol, loss=loss: fit(loss, tol)) for loss in solver}


def cyanure_peers(X, y, alpha):
    cyanure = pytest.importorskip("cyanure.estimators")
    names = {"logistic": "logistic", "squared_hinge": "sqhinge"}

    def fit(loss, tol):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = cyanure.Classifier(
                loss=names[loss],
                penalty="l2",
                lambda_1=alpha,
                fit_intercept=False,
                tol=tol,
                max_iter=5000,
                verbose=False,
            )
            return np.ravel(model.fit(X, y).coef_)

    return {loss: (lambda tol, loss=loss: fit(loss, tol)) for loss in names}


@pytest.mark.parametrize("peers", [sklearn_peers, liblinear_peers, cyanure_peers])
@pytest.mark.parametrize("alpha", [1e-1, 1e-3])
def test_other_tools_solutions_get_their_true_gap(peers, alpha):
    X, y = peer_data()
    tight = 0
    for loss, fit in peers(X, y, alpha).items():
        p = fenchel.Problem(X, y, loss=loss, alpha=alpha)
        best = reference(p)
        for tol in (1e-1, 1e-9):
            found = fenchel.certify(p, fit(tol))
            truth = found.primal - best
            assert truth >= -1e-8, "the peer solves the same problem"
            assert found.gap >= truth - 1e-8 * (1 + abs(best))
            if tol == 1e-9 and truth <= 1e-7 * best:  # liblinear stops after 1,000 iterations, solved or not
                tight += 1
                assert found.relative_gap <= 1e-6, (peers.__name__, loss, found)
    assert tight >= 2


def test_digest_and_gap_follow_every_change_of_the_data():
    X, y = data(LOSSES["logistic"])
    s = np.linspace(0.5, 1.5, y.size)

    def make(X=X, y=y, s=s, **more):
        return fenchel.Problem(X, y, **{"loss": "logistic", "alpha": 0.1, "sample_weight": s, **more})

    def changed(array, place, new):
        array = array.copy()
        array[place] = new
        return array

    swap = np.array([1, 0, *range(2, y.size)])
    first = make()
    others = [
        make(y=changed(y, 3, -y[3])),
        make(s=changed(s, 3, np.nextafter(s[3], 2.0))),
        make(X=changed(X, (3, 1), np.nextafter(X[3, 1], np.inf))),
        make(X=X[swap], y=y[swap], s=s[swap]),
        make(X=sp.csr_matrix(X)),
        make(alpha=0.1 + 1e-16),
        make(offset=np.full(y.size, 1e-300)),
        make(fit_intercept=True),
        make(loss=fenchel.losses.Moreau(fenchel.losses.Logistic(), 0.1)),
    ]
    digests = {first.digest, *(p.digest for p in others)}
    assert len(digests) == 1 + len(others)
    assert make().digest == first.digest
    w = fenchel.solve(first, tol=1e-10).coef
    assert fenchel.certify(first, w).relative_gap <= 1e-9
    assert fenchel.certify(others[0], w).relative_gap > 1e-4  # another label: another optimum


def user_loss(shift):
    from typing import NamedTuple

    if shift == 1.0:

        class Mine(NamedTuple):
            def value(self, z, y):
                return 0.5 * (z - y - 1.0) ** 2

            def slope(self, z, y):
                return z - y - 1.0
    else:

        class Mine(NamedTuple):  # type: ignore[no-redef]
            def value(self, z, y):
                return 0.5 * (z - y - 3.0) ** 2

            def slope(self, z, y):
                return z - y - 3.0

    return Mine()


def test_digest_tells_user_losses_apart_by_their_numbers():
    X, y = data(LOSSES["squared"])
    for wrap in (lambda loss: loss, lambda loss: fenchel.losses.Moreau(loss, 0.5)):
        a, b, c = (fenchel.Problem(X, y, loss=wrap(user_loss(k)), alpha=0.1) for k in (1.0, 3.0, 1.0))
        assert a.digest != b.digest
        assert a.digest == c.digest


@pytest.mark.xdist_group("hinge")
def test_dual_points_that_are_no_dual_points():
    p = problem(LOSSES["hinge"], REGULARIZERS["l2"], intercept=True)
    result = fenchel.solve(p, tol=1e-8)
    w, b, u = result.coef, result.intercept, result.dual_point
    best = reference(p)
    outside = np.where(u == -p.y, np.nextafter(u, 2 * u), u)  # one ulp outside, where it is at the end of its domain
    assert (outside != u).any()
    foreign = np.random.default_rng(0).standard_normal(p.n) * 1e3
    for point in (outside, foreign, -u, np.full(p.n, 1e308), np.zeros(p.n), u[::-1]):
        found = fenchel.certify(p, w, b, point)
        assert found.dual <= best + 1e-8  # a valid bound whatever was passed
    assert fenchel.certify(p, w, b, outside).relative_gap <= 1e-7
    for bad, words in [
        (np.where(np.arange(p.n) == 3, np.nan, u), r"dual_point contains NaN at row 3"),
        (u[:-1], r"dual_point must be .* one entry per row of X \(24\)"),
        (np.append(u, 0.0), "dual_point must be"),
        ("u", "dual_point"),
    ]:
        with pytest.raises(InputError, match=words):
            fenchel.certify(p, w, b, bad)


@pytest.mark.parametrize("loss", ["exponential", "poisson"])
def test_a_row_without_weight_may_overflow(loss):
    """Its loss and its slope are infinite at the solution; neither P nor D nor the floor asks for them."""
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((40, 3)), np.array([1.0, -2.0, 0.5])
    y = np.where(X @ w > 0.3, 1.0, -1.0) if loss == "exponential" else rng.poisson(np.exp(X @ (0.3 * w))).astype(float)
    without = fenchel.solve(fenchel.Problem(X, y, loss=loss, alpha=0.1))
    far = np.vstack([X, (-1e6 if loss == "exponential" else 1e6) * w])
    weights = np.append(np.ones(40), 0.0)
    found = fenchel.solve(fenchel.Problem(far, np.append(y, 1.0), loss=loss, alpha=0.1, sample_weight=weights))
    assert found.converged and found.certificate.floor < 1e-9 * found.certificate.primal
    assert found.certificate.primal == pytest.approx(without.certificate.primal, rel=1e-6)


@pytest.mark.parametrize("keep_ends", [True, False])
def test_a_dual_point_is_balanced_by_the_shift_that_bisection_finds(monkeypatch, keep_ends):
    rng, tried, certifier = np.random.default_rng(0), [], sys.modules[balancing.__module__]
    sums = certifier.shift_pass
    monkeypatch.setattr(certifier, "shift_pass", lambda *arguments: tried.append(1) or sums(*arguments))
    for n in (2, 5, 17, 40, 1000):
        low, high = -rng.uniform(0.5, 2.0, n), rng.uniform(0.5, 2.0, n)
        low[rng.random(n) < 0.2], high[rng.random(n) < 0.2] = -np.inf, np.inf
        u, p = np.clip(2.0 * rng.standard_normal(n), low, high), rng.random(n) * (rng.random(n) < 0.8)
        p[0], u[0], low[0], high[0] = 1.0, 0.0, -1e6, 1e6  # one that can take it all
        stays = keep_ends & ((u <= low) | (u >= high))
        lower, upper = np.where(stays, u, low), np.where(stays, u, high)
        moved = lambda shift: p @ np.clip(u + shift, lower, upper)  # noqa: B023, E731
        a, b = -1e7, 1e7
        for _ in range(200):
            a, b = (0.5 * (a + b), b) if moved(0.5 * (a + b)) < 0.0 else (a, 0.5 * (a + b))
        tried.clear()
        shift = balancing(u, low, high, p, keep_ends)
        assert len(tried) <= 12  # it is Newton's method
        assert abs(moved(shift)) <= 1e-14 * (p @ np.abs(u)) and shift == pytest.approx(b, rel=1e-9, abs=1e-12)
    assert balancing(np.ones(3), np.full(3, 0.5), np.full(3, 2.0), np.ones(3), keep_ends) is None
    assert balancing(np.ones(3), np.full(3, -0.5), np.ones(3), np.ones(3), keep_ends) == (None if keep_ends else -1.0)


@pytest.mark.parametrize("n", [1, 5, 8, 16, 31, 40])
def test_the_balance_does_not_depend_on_where_numbers_lie_in_memory(n):
    rng = np.random.default_rng(n)
    values, found = (rng.uniform(-1.0, 1.0, n), np.full(n, -1.5), np.full(n, 1.5), rng.random(n)), set()
    values[0][0], values[3][0] = 0.0, 1.0
    for _ in range(50):
        room, places = np.zeros(8 * n), rng.permutation(8)[:4]  # some beside each other
        arrays = [room[k * n : (k + 1) * n] for k in places]
        for array, value in zip(arrays, values, strict=True):
            array[:] = value
        found.add(balancing(*arrays, True))
    assert len(found) == 1
