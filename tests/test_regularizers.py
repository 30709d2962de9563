"""Every regularizer keeps its defining inequalities and agrees with CVXPY, mpmath and finite differences."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
from dataclasses import FrozenInstanceError, fields

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from mpmath import mp, mpf

import fenchel.regularizers as regularizers
from fenchel.errors import InputError, UnknownNameError
from fenchel.regularizers import (
    L1,
    L2,
    REGULARIZERS,
    BalancedEntropy,
    ElasticNet,
    Entropy,
    QNorm,
    Quadratic,
    Regularizer,
    UnnormalisedEntropy,
    check,
    from_parameters,
    make,
)
from test_penalties import CASES as PENALTIES


def spd(dim, seed=1):
    B = np.random.default_rng(seed).standard_normal((dim, dim + 2))
    K = B @ B.T + 0.1 * np.eye(dim)
    return (K + K.T) / 2


def tridiagonal(dim):
    off = np.full(dim - 1, -1.0)
    return sp.diags_array([off, np.full(dim, 2.5), off], offsets=[-1, 0, 1], format="csr")


def settings(dim):
    prior = np.linspace(0.2, 2.0, dim)
    return [
        L2(0.7),
        L1(0.7),
        ElasticNet(0.7),
        ElasticNet(1e-3, l1_ratio=0.0),
        ElasticNet(3.0, l1_ratio=0.95),
        Quadratic(0.7, np.linspace(0.5, 3.0, dim)),
        Quadratic(2.0, spd(dim)),
        Quadratic(0.3, tridiagonal(dim)),
        Entropy(0.7),
        Entropy(2.0, prior=prior, total=3.0),
        Entropy(0.2, prior=0.4, total=5.0),
        UnnormalisedEntropy(0.7),
        UnnormalisedEntropy(0.4, prior=prior),
        UnnormalisedEntropy(2.0, prior=1.5),
        QNorm(0.7, q=1.5),
        QNorm(0.7, q=2.0),
        QNorm(2.0, q=1.2, power=3.0),
        QNorm(0.5, q=3.0),
        QNorm(1.3, q=4.0, power=1.5),
        BalancedEntropy(0.7),
        BalancedEntropy(0.4, prior=prior),
        BalancedEntropy(0.7, total=2.0),
        BalancedEntropy(0.2, prior=prior, total=5.0),
    ]


TRIED = {type(reg) for reg in settings(3)}  # here; the others are tried in test_penalties.py
CASES = [
    pytest.param(reg, dim, id=f"{i}-{type(reg).__name__}-{dim}")
    for dim in (1, 5)
    for i, reg in enumerate(settings(dim))
]
each = pytest.mark.parametrize(("reg", "dim"), CASES)


def having(method):
    cases = [case for case in CASES if hasattr(case.values[0], method)]
    return pytest.mark.parametrize(("reg", "dim"), cases)


def duals(reg, dim, seed=0):
    rng = np.random.default_rng(seed)
    return [reg.alpha * scale * rng.standard_normal(dim) for scale in (0.1, 1.0, 2.5)]


def dense(K):
    return K.toarray() if sp.issparse(K) else np.diag(K) if K.ndim == 1 else K


def in_cvxpy(reg, w, dim):
    """R written from its definition for CVXPY: (expression, constraints)."""
    match reg:
        case L2():
            return reg.alpha / 2 * cp.sum_squares(w), []
        case Quadratic():
            return reg.alpha / 2 * cp.quad_form(w, dense(reg.K)), []
        case L1():
            return reg.alpha * cp.norm1(w), []
        case ElasticNet(alpha, r):
            return alpha * (r * cp.norm1(w) + (1 - r) / 2 * cp.sum_squares(w)), []
        case Entropy(alpha, prior, total):
            prior = np.broadcast_to(total / dim if prior is None else prior, dim)
            return alpha * (cp.sum(-cp.entr(w)) - np.log(prior) @ w), [cp.sum(w) == total]
        case UnnormalisedEntropy(alpha, prior):
            prior = np.broadcast_to(1 / dim if prior is None else prior, dim)
            return alpha * cp.sum(cp.kl_div(w, prior)), []
        case QNorm(alpha, q, power):
            return alpha / power * cp.power(cp.pnorm(w, q), power), []
        case BalancedEntropy(alpha, prior, total):
            prior = np.broadcast_to((total or 1) / (2 * dim) if prior is None else prior, dim)
            a, b = cp.Variable(dim), cp.Variable(dim)
            if total is None:
                return alpha * cp.sum(cp.kl_div(a, prior) + cp.kl_div(b, prior)), [a - b == w]
            entropy = cp.sum(-cp.entr(a) - cp.entr(b)) - np.log(prior) @ (a + b)
            return alpha * entropy, [a - b == w, cp.sum(a + b) == total]
    raise AssertionError(reg)


def test_registry_and_names():
    convex = {kind for kind in REGULARIZERS.values() if kind.convex}
    assert {type(reg) for reg in [*settings(3), *PENALTIES.values()]} == convex
    assert {kind.__name__ for kind in set(REGULARIZERS.values()) - convex} == {"L0", "MCP", "SCAD"}  # test_nonconvex.py
    assert "l1_ball" in REGULARIZERS and "sparse_group_lasso" in REGULARIZERS
    assert all(hasattr(regularizers, name) for name in regularizers.__all__)
    for kind in REGULARIZERS.values():
        assert fields(kind)[0].name == "alpha"
        assert kind.formula
        assert "\n" not in kind.formula


def test_optional_methods_exist_where_they_should():
    def have(method):
        return {name for name, kind in REGULARIZERS.items() if kind in TRIED and hasattr(kind, method)}

    assert (
        have("primal_from_dual")
        == have("conjugate_hessian")
        == {name for name, kind in REGULARIZERS.items() if kind in TRIED} - {"l1"}
    )
    assert have("gradient") == {"l2", "quadratic", "q_norm"}
    assert all(hasattr(kind, "prox") for kind in REGULARIZERS.values())


def test_flags():
    assert {name for name, kind in REGULARIZERS.items() if kind.smooth} == {"l2", "no_penalty", "quadratic"}
    assert all(kind.strongly_convex for kind in (L2, Quadratic, ElasticNet, Entropy))
    assert not any(kind.strongly_convex for kind in (L1, UnnormalisedEntropy))
    assert [QNorm(1.0, q, p).strongly_convex for q, p in ((1.5, 2.0), (2, 2), (2.5, 2.0), (1.5, 3.0))] == [
        True,
        True,
        False,
        False,
    ]


@each
def test_check_passes(reg, dim):
    for seed in range(3):
        check(reg, dim, rng_seed=seed)


@each
def test_value_equals_cvxpy(reg, dim):
    w = reg.start(dim) if isinstance(reg, Entropy) else np.abs(np.random.default_rng(3).standard_normal(dim))
    if isinstance(reg, Entropy):
        w = reg.primal_from_dual(duals(reg, dim)[1])
    variable = cp.Variable(dim)
    expression, constraints = in_cvxpy(reg, variable, dim)
    if isinstance(reg, BalancedEntropy):  # a minimum over the two parts of w, not a formula
        w = reg.primal_from_dual(duals(reg, dim)[1])
        best = cp.Problem(cp.Minimize(expression), [*constraints, variable == w]).solve(solver=cp.CLARABEL)
        assert reg.value(w) == pytest.approx(best, rel=1e-6, abs=1e-7)
        return
    variable.value = w
    assert reg.value(w) == pytest.approx(float(expression.value), rel=1e-10, abs=1e-12)


@each
def test_conjugate_equals_cvxpy(reg, dim):
    w = cp.Variable(dim)
    expression, constraints = in_cvxpy(reg, w, dim)
    for v in duals(reg, dim)[1:]:
        v = reg.dual_scale(v) * v * (0.999 if isinstance(reg, L1) else 1.0)
        best = cp.Problem(cp.Maximize(v @ w - expression), constraints).solve(solver=cp.CLARABEL)
        assert reg.conjugate(v) == pytest.approx(best, rel=1e-5, abs=1e-6 * (1 + reg.alpha))


@having("prox")
def test_prox_equals_cvxpy(reg, dim):
    x = cp.Variable(dim)
    expression, constraints = in_cvxpy(reg, x, dim)
    for seed, step in enumerate((0.3, 4.0)):
        w = 2 * np.random.default_rng(seed).standard_normal(dim)
        cp.Problem(cp.Minimize(step * expression + cp.sum_squares(x - w) / 2), constraints).solve(solver=cp.CLARABEL)
        np.testing.assert_allclose(reg.prox(w, step), x.value, rtol=1e-3, atol=2e-4)


@having("prox")
@pytest.mark.parametrize("step", [1e-12, 1e-3, 1.0, 1e3, 1e12])
def test_prox_is_the_resolvent_of_the_conjugate(reg, dim, step):
    """x = prox(w) iff R(x) + R*(g) = g'x at g = (w - x) / step: exact, unlike a numerical minimiser."""
    w = np.random.default_rng(4).standard_normal(dim)
    x = reg.prox(w, step)
    g = (w - x) / step
    c = reg.dual_scale(g)
    assert c >= 1 - 1e-3 * (step < 1e-9) - 1e-9
    value, bound = reg.value(x), reg.conjugate(c * g)
    noise = 1e-15 * (np.abs(w).max() / step * (1 + np.abs(x).sum()) + np.abs(g) @ np.abs(x))
    assert abs(value + bound - c * g @ x) <= 1e-9 * (abs(value) + abs(bound)) + 10 * noise


@having("primal_from_dual")
def test_primal_from_dual_is_the_gradient_of_the_conjugate(reg, dim):
    for v in duals(reg, dim)[1:]:
        w, h = reg.primal_from_dual(v), 1e-6 * reg.alpha
        slope = [(reg.conjugate(v + h * e) - reg.conjugate(v - h * e)) / (2 * h) for e in np.eye(dim)]
        np.testing.assert_allclose(w, slope, rtol=1e-5, atol=1e-7 * (1 + np.abs(w).max()))
        assert reg.value(w) + reg.conjugate(v) == pytest.approx(v @ w, rel=1e-11, abs=1e-12)


@having("gradient")
def test_gradient(reg, dim):
    w = np.random.default_rng(5).standard_normal(dim)
    slope = [(reg.value(w + 1e-6 * e) - reg.value(w - 1e-6 * e)) / 2e-6 for e in np.eye(dim)]
    np.testing.assert_allclose(reg.gradient(w), slope, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(reg.primal_from_dual(reg.gradient(w)), w, rtol=1e-9)
    assert np.array_equal(reg.gradient(np.zeros(dim)), np.zeros(dim))


@having("conjugate_hessian")
def test_conjugate_hessian(reg, dim):
    A = np.random.default_rng(6).standard_normal((dim, 3))
    for v in duals(reg, dim):
        h = 1e-6 * reg.alpha
        ahead = np.column_stack([reg.primal_from_dual(v + h * a) for a in A.T])
        behind = np.column_stack([reg.primal_from_dual(v - h * a) for a in A.T])
        H, slope = reg.conjugate_hessian(v, A), A.T @ (ahead - behind) / (2 * h)
        np.testing.assert_allclose(H, slope, rtol=1e-4, atol=1e-5 * (np.abs(slope).max() + 1 / reg.alpha))
        assert np.array_equal(H, H.T)
        assert np.linalg.eigvalsh(H)[0] >= -1e-13 * np.abs(H).max()


@pytest.mark.parametrize(
    "reg", [QNorm(0.5, q=3.0), QNorm(0.5, q=1.5), QNorm(0.5, 3.0, 3.0), QNorm(0.5, 1.5, 1.2), QNorm(2.0, 2.0)]
)
def test_singular_hessian_is_a_finite_choice(reg):
    A = np.random.default_rng(6).standard_normal((4, 3))
    for v in (np.zeros(4), np.array([1.0, 0.0, -2.0, 0.0])):
        H = reg.conjugate_hessian(v, A)
        assert np.isfinite(H).all()
        assert np.linalg.eigvalsh(H)[0] >= -1e-12
    if reg.q == 2.0:
        np.testing.assert_allclose(
            reg.conjugate_hessian(np.zeros(4), A), L2(reg.alpha).conjugate_hessian(np.zeros(4), A)
        )


def test_equivalent_regularizers_agree():
    rng = np.random.default_rng(7)
    w, A = rng.standard_normal(5), rng.standard_normal((5, 2))
    same = [L2(0.3), ElasticNet(0.3, 0.0), Quadratic(0.3, np.ones(5)), Quadratic(0.3, np.eye(5)), QNorm(0.3, 2.0)]
    same.append(Quadratic(0.3, sp.eye_array(5)))
    for reg in same:
        assert reg.value(w) == pytest.approx(same[0].value(w), rel=1e-14)
        assert reg.conjugate(w) == pytest.approx(same[0].conjugate(w), rel=1e-14)
        np.testing.assert_allclose(reg.primal_from_dual(w), w / 0.3, rtol=1e-14)
        np.testing.assert_allclose(reg.conjugate_hessian(w, A), A.T @ A / 0.3, rtol=1e-12)
        if hasattr(reg, "prox"):
            np.testing.assert_allclose(reg.prox(w, 2.0), w / 1.6, rtol=1e-14)


@pytest.mark.parametrize("dim", [1, 5, 40])
def test_storages_of_K_agree(dim):
    K = tridiagonal(dim)
    a, b = Quadratic(0.7, K), Quadratic(0.7, K.toarray())
    w, A = np.random.default_rng(8).standard_normal(dim), np.random.default_rng(9).standard_normal((dim, 3))
    for step in (0.0, 1e-9, 0.3, 1.0, 50.0, 1e12, 0.3, 7.0, 8.0):
        np.testing.assert_allclose(a.prox(w, step), b.prox(w, step), rtol=1e-9, atol=1e-12 * min(1, 1 / max(step, 1)))
    np.testing.assert_allclose(a.conjugate_hessian(w, A), b.conjugate_hessian(w, A), rtol=1e-10, atol=1e-12)
    assert a.value(w) == pytest.approx(b.value(w), rel=1e-13)
    assert a.conjugate(w) == pytest.approx(b.conjugate(w), rel=1e-12)


# --- dual_scale -------------------------------------------------------------------------------------------------------


@each
def test_dual_scale_is_one_or_on_the_boundary(reg, dim):
    for v in duals(reg, dim):
        c = reg.dual_scale(v)
        assert (
            c == 1.0 if not isinstance(reg, L1) else c == pytest.approx(min(1, reg.alpha / np.abs(v).max()), rel=1e-15)
        )
        assert math.isfinite(reg.conjugate(c * v))


def test_l1_scaled_point_is_inside_bit_for_bit():
    rng = np.random.default_rng(10)
    for _ in range(3000):
        reg, v = L1(10.0 ** rng.uniform(-300, 300)), 10.0 ** rng.uniform(-300, 300) * rng.standard_normal(4)
        c = reg.dual_scale(v)
        assert reg.conjugate(c * v) == 0.0
        if c < 1.0:
            assert reg.conjugate((c * (1 + 1e-15) + 1e-320) * v) == math.inf
    assert L1(0.1).conjugate([0.1, -0.1]) == 0.0
    assert L1(0.1).conjugate([math.nextafter(0.1, 1)]) == math.inf
    assert L1(0.1).dual_scale([math.inf]) == 0.0


# --- domains ----------------------------------------------------------------------------------------------------------


def test_values_outside_the_domain_are_infinite():
    assert Entropy(1.0).value([0.5, 0.4]) == math.inf
    assert Entropy(1.0).value([1.5, -0.5]) == math.inf
    assert Entropy(1.0, total=2.0).value([2.0, 0.0]) == pytest.approx(2 * math.log(2))
    assert UnnormalisedEntropy(1.0).value([1.0, -1e-300]) == math.inf
    assert UnnormalisedEntropy(3.0, prior=2.0).value([0.0, 2.0]) == pytest.approx(6.0)


@each
def test_start_and_validate(reg, dim):
    start = reg.start(dim)
    assert start.shape == (dim,)
    assert math.isfinite(reg.value(start))
    reg.validate(dim)
    sized = [
        value
        for value in (getattr(reg, "K", None), getattr(reg, "prior", None))
        if np.ndim(value) or sp.issparse(value)
    ]
    if sized:
        with pytest.raises(InputError, match=f"{dim + 1}"):
            reg.validate(dim + 1)
    else:
        reg.validate(dim + 1)
    with pytest.raises(InputError, match="at least one feature"):
        reg.validate(0)


# --- objects: equality, copies, files ---------------------------------------------------------------------------------


@each
def test_copies_are_equal_and_work(reg, dim):
    w = reg.start(dim)
    if hasattr(reg, "prox"):
        reg.prox(w, 0.5)  # fills the caches
    copies = [pickle.loads(pickle.dumps(reg)), copy.deepcopy(reg), copy.copy(reg), reg.scaled(reg.alpha)]
    name = next(key for key, kind in REGULARIZERS.items() if kind is type(reg))
    copies.append(from_parameters(name, json.loads(json.dumps(reg.parameters()))))
    for other in copies:
        assert other == reg
        assert hash(other) == hash(reg)
        assert other.fingerprint() == reg.fingerprint()
        assert other.value(w) == reg.value(w)
        assert other.strongly_convex == reg.strongly_convex
    with pytest.raises(FrozenInstanceError):
        reg.alpha = 2.0


@each
def test_fingerprint_sees_one_ulp(reg, dim):
    seen = {reg.fingerprint()}
    params = reg.parameters()
    name = next(key for key, kind in REGULARIZERS.items() if kind is type(reg))

    def nudge(value):
        if isinstance(value, dict):
            return value | {"data": [*value["data"][:-1], math.nextafter(value["data"][-1], 9)]}
        if isinstance(value, list):
            return [*value[:-1], nudge(value[-1])]
        return math.nextafter(value, 9)

    for key in params:
        if params[key] is not None:
            seen.add(from_parameters(name, params | {key: nudge(params[key])}).fingerprint())
    assert len(seen) == 1 + sum(value is not None for value in params.values())


def test_fingerprints_differ_between_kinds_and_shapes():
    regs = [
        L2(1.0),
        L1(1.0),
        Entropy(1.0),
        UnnormalisedEntropy(1.0),
        UnnormalisedEntropy(1.0, 1.0),
        Quadratic(1.0, [1.0]),
    ]
    regs += [UnnormalisedEntropy(1.0, [1.0]), Quadratic(1.0, [[1.0]]), Quadratic(1.0, sp.eye_array(1)), L2(2)]
    assert len({reg.fingerprint() for reg in regs}) == len(set(regs)) == len(regs)
    assert L2(1) == L2(1.0) == L2(np.float32(1))
    assert ElasticNet(1.0, -0.0) == ElasticNet(1.0, 0.0)
    assert L2(1.0) != "l2"


def test_arrays_are_owned():
    K, prior = np.ones(3), np.ones(3)
    quadratic, entropy = Quadratic(1.0, K), Entropy(1.0, prior)
    K[0], prior[0] = 5.0, 5.0
    assert quadratic == Quadratic(1.0, np.ones(3))
    assert entropy == Entropy(1.0, np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        quadratic.K[0] = 2.0


@each
def test_scaled_multiplies(reg, dim):
    w = reg.start(dim)
    assert reg.scaled(4 * reg.alpha).value(w) == pytest.approx(4 * reg.value(w), abs=1e-12)
    v = duals(reg, dim)[0]
    assert reg.scaled(4 * reg.alpha).conjugate(4 * v) == pytest.approx(4 * reg.conjugate(v), rel=1e-12)
    with pytest.raises(InputError, match="alpha must be > 0"):
        reg.scaled(-1.0)


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0, -1.0, math.nan, math.inf, "1", None, True, np.array([1.0])])
@pytest.mark.parametrize("build", [L2, L1, ElasticNet, Entropy, lambda a: QNorm(a, 1.5), lambda a: Quadratic(a, [1.0])])
def test_alpha_must_be_positive(build, alpha):
    with pytest.raises(InputError, match="alpha must be > 0 and finite, got"):
        build(alpha)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ElasticNet(1.0, 1.0), r"use L1\(alpha\)"),
        (lambda: ElasticNet(1.0, 1.5), r"l1_ratio must be in \[0, 1\)"),
        (lambda: ElasticNet(1.0, math.nan), "l1_ratio must be a finite number"),
        (lambda: QNorm(1.0, 1.0), "q must be > 1"),
        (lambda: QNorm(1.0, 2.0, 1.0), "power must be > 1"),
        (lambda: QNorm(1.0, math.inf), "q must be a finite number"),
        (lambda: Entropy(1.0, total=0.0), "total must be > 0"),
        (lambda: Entropy(1.0, prior=[1.0, 0.0]), r"prior\[1\] is 0.0"),
        (lambda: Entropy(1.0, prior=[[1.0]]), "1-D"),
        (lambda: UnnormalisedEntropy(1.0, prior=-1.0), "prior must be > 0"),
        (lambda: UnnormalisedEntropy(1.0, prior=["a"]), "prior must be None"),
        (lambda: Quadratic(1.0, [1.0, -2.0]), r"K\[1\] = -2.0 is not > 0"),
        (lambda: Quadratic(1.0, [[1.0, 2.0], [2.0, 1.0]]), "smallest eigenvalue is -1"),
        (lambda: Quadratic(1.0, [[1.0, 0.5], [0.4, 1.0]]), r"K\[0, 1\] = 0.5 but K\[1, 0\] = 0.4"),
        (lambda: Quadratic(1.0, sp.csr_array([[1.0, 0.5], [0.0, 1.0]])), "K must be symmetric"),
        (lambda: Quadratic(1.0, sp.csr_array([[1.0, 2.0], [2.0, 1.0]])), "positive definite"),
        (lambda: Quadratic(1.0, sp.csr_array([[0.0, 1.0], [1.0, 0.0]])), "positive definite"),
        (lambda: Quadratic(1.0, sp.csr_array((2, 2))), "positive definite"),
        (lambda: Quadratic(1.0, sp.csr_array([[1.0, 1.0], [1.0, 1.0]])), "positive definite"),
        (lambda: Quadratic(1.0, [[1.0, 1.0], [1.0, 1.0]]), "positive definite"),
        (lambda: Quadratic(1.0, np.ones((2, 3))), "square"),
        (lambda: Quadratic(1.0, sp.csr_array((2, 3))), "square"),
        (lambda: Quadratic(1.0, []), "not empty"),
        (lambda: Quadratic(1.0, [1.0, math.nan]), "finite"),
        (lambda: Quadratic(1.0, "K"), "real array"),
        (lambda: make("ridge"), "unknown regularizer 'ridge'"),
        (lambda: make(L2(1.0), 0.5), "alpha lives inside"),
        (lambda: make(L2), r"call it: L2\(alpha\)"),
        (lambda: make(None), "must be a name or a Regularizer"),
        (lambda: make("q_norm", 1.0), r"needs q: pass fenchel\.regularizers\.QNorm\(alpha, q\)"),
        (lambda: make("quadratic", 1.0), r"needs K: pass fenchel\.regularizers\.Quadratic\(alpha, K\)"),
        (lambda: make("l2", -1.0), "alpha must be > 0"),
        (lambda: from_parameters("l2", {"alpha": 1.0, "beta": 2.0}), "parameters"),
        (lambda: from_parameters("l3", {"alpha": 1.0}), "unknown regularizer 'l3'"),
        (lambda: from_parameters("quadratic", {"alpha": 1.0, "K": {"shape": [2, 2]}}), "sparse K needs"),
        (
            lambda: from_parameters(
                "quadratic", {"alpha": 1.0, "K": {"shape": [1, 1], "indptr": [0, 1], "indices": [7], "data": [1.0]}}
            ),
            "sparse K needs",
        ),
    ],
)
def test_errors(build, message):
    with pytest.raises(InputError, match=message):
        build()


@pytest.mark.parametrize("seed", range(30))
def test_sparse_definiteness_agrees_with_eigenvalues(seed):
    rng = np.random.default_rng(seed)
    B = np.where(rng.random((7, 7)) < 0.35, rng.standard_normal((7, 7)), 0.0)
    K = B + B.T + np.diag(rng.uniform(0, 3, 7))
    try:
        Quadratic(1.0, sp.coo_array(K))
        accepted = True
    except InputError:
        accepted = False
    assert accepted == (np.linalg.eigvalsh(K)[0] > 0)


def test_make():
    assert make("l2") == L2(1e-4)
    assert make("elastic_net", 0.5) == ElasticNet(0.5)
    reg = Entropy(1.0)
    assert make(reg) is reg
    with pytest.raises(UnknownNameError, match="It is called 'elastic_net' here"):
        make("elasticnet")


# --- check finds planted faults ---------------------------------------------------------------------------------------


class Concave(L2):
    def value(self, w):
        return -super().value(w)


class SmallConjugate(L2):
    def conjugate(self, v):
        return 0.9 * super().conjugate(v)


class LargeConjugate(L2):
    def conjugate(self, v):
        return 1.1 * super().conjugate(v)


class LargeL1Conjugate(L1):
    def conjugate(self, v):
        return super().conjugate(v) + 1e-3


class TimidScale(L1):
    def dual_scale(self, v):
        return 0.5 * super().dual_scale(v)


class BoldScale(L1):
    def dual_scale(self, v):
        return min(1.0, 1.01 * super().dual_scale(v))


class NegativeScale(L2):
    def dual_scale(self, v):
        return -1.0


class IdentityProx(ElasticNet):
    def prox(self, w, step):
        return np.array(w)


class HalfProx(Entropy):
    def prox(self, w, step):
        return super().prox(w, 0.5 * step)


class WrongGradient(QNorm):
    def gradient(self, w):
        return 1.01 * super().gradient(w)


class WrongTransfer(UnnormalisedEntropy):
    def primal_from_dual(self, v):
        return 1.01 * super().primal_from_dual(v)


class WrongHessian(ElasticNet):
    def conjugate_hessian(self, v, A):
        return A.T @ A / (self.alpha * (1 - self.l1_ratio))


class WrongStart(Entropy):
    def start(self, dim):
        return np.zeros(dim)


class WrongScaled(L2):
    def scaled(self, alpha):
        return self


@pytest.mark.parametrize(
    ("reg", "message"),
    [
        (Concave(1.0), "convex"),
        (SmallConjugate(1.0), "Fenchel-Young"),
        (LargeConjugate(1.0), "attain the sup"),
        (LargeL1Conjugate(1.0), "conjugate must be the sup"),
        (TimidScale(1.0), "maximal"),
        (BoldScale(1.0), "feasible"),
        (NegativeScale(1.0), r"\[0, 1\]"),
        (IdentityProx(1.0), "prox"),
        (HalfProx(1.0), "prox"),
        (WrongGradient(1.0, 1.5), "gradient"),
        (WrongTransfer(1.0), "attain the sup"),
        (WrongHessian(1.0), "conjugate_hessian"),
        (WrongStart(1.0), "start"),
        (WrongScaled(1.0), "scaled"),
    ],
)
def test_check_finds_planted_faults(reg, message):
    with pytest.raises(InputError, match=message):
        check(reg, 5)


def test_three_line_regularizer_of_a_user():
    class Tilt(Regularizer):
        def value(self, w):
            return self.alpha / 2 * float((w - 1) @ (w - 1))

        def conjugate(self, v):
            return float(v @ v) / (2 * self.alpha) + float(v.sum())

    check(Tilt(0.3), 4)
    assert make(Tilt(0.3)).scaled(2.0) == Tilt(2.0)


# --- extreme scales ---------------------------------------------------------------------------------------------------

SCALES = [1e-300, 1e-170, 1e-20, 1.0, 1e20, 1e170, 1e300]


@each
def test_extreme_scales_never_give_nan(reg, dim):
    rng = np.random.default_rng(11)
    signs, A = rng.standard_normal(dim), rng.standard_normal((dim, 2))
    mixed = signs * 10.0 ** rng.uniform(-300, 300, dim)
    for alpha in (1e-300, 1e-4, 1.0, 1e300):
        scaled = reg.scaled(alpha)
        for x in [
            np.zeros(dim),
            mixed,
            np.abs(mixed),
            *(s * signs for s in SCALES),
            *(s * np.ones(dim) for s in SCALES),
        ]:
            results = [scaled.value(x), scaled.conjugate(x), scaled.dual_scale(x)]
            for method in ("primal_from_dual", "gradient"):
                if hasattr(scaled, method):
                    results.append(getattr(scaled, method)(x))
            if hasattr(scaled, "prox"):
                results += [scaled.prox(x, step) for step in (1e-300, 1e-8, 1.0, 1e300)]
            if hasattr(scaled, "conjugate_hessian"):
                results.append(scaled.conjugate_hessian(x, A))
            assert not any(np.isnan(result).any() for result in results), (alpha, x)


@pytest.mark.parametrize("step", [1e-300, 1e-20, 1e-3, 1.0, 1e20, 1e300])
def test_entropy_prox_stays_on_the_simplex(step):
    rng = np.random.default_rng(12)
    for scale, total, d in itertools.product((1e-300, 1e-3, 1.0, 1e5, 1e300), (1e-3, 1.0, 1e6), (1, 2, 50)):
        reg = Entropy(1.0, prior=np.exp(3 * rng.standard_normal(d)), total=total)
        assert math.isfinite(reg.value(reg.prox(scale * rng.standard_normal(d), step)))


def test_prox_limits():
    w, prior = np.array([0.9, -0.3, 0.5]), np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(Entropy(1.0, prior).prox(w, 1e18), prior / 6, rtol=1e-12)
    np.testing.assert_allclose(Entropy(1.0, prior).prox(w, 1e-18), [0.7, 0.0, 0.3], atol=1e-14)
    np.testing.assert_allclose(UnnormalisedEntropy(1.0, prior).prox(w, 1e18), prior, rtol=1e-12)
    np.testing.assert_allclose(UnnormalisedEntropy(1.0, prior).prox(w, 1e-18), [0.9, 0.0, 0.5], atol=1e-14)
    np.testing.assert_allclose(UnnormalisedEntropy(1.0, prior).prox(w, 0.0), [0.9, 0.0, 0.5])


def exact(reg, x, dual):
    """R(x) or R*(x) from the formulas in 60 digits."""
    x, a = [mpf(float(t)) for t in x], mpf(reg.alpha)
    match reg:
        case L2():
            return sum(t * t for t in x) / 2 * (1 / a if dual else a)
        case Quadratic():
            return (
                sum((t * t / mpf(float(k)) if dual else t * t * mpf(float(k))) for t, k in zip(x, reg.K, strict=True))
                / 2
                * (1 / a if dual else a)
            )
        case ElasticNet():
            r = mpf(reg.l1_ratio)
            if dual:
                return sum(max(abs(t) - a * r, 0) ** 2 for t in x) / (2 * a * (1 - r))
            return a * (r * sum(abs(t) for t in x) + (1 - r) / 2 * sum(t * t for t in x))
        case QNorm():
            q, s = mpf(reg.q), mpf(reg.power)
            q, s, x, f = (q / (q - 1), s / (s - 1), [t / a for t in x], a) if dual else (q, s, x, a)
            return f / s * sum(abs(t) ** q for t in x) ** (s / q)
        case Entropy():
            return a * mp.log(sum(mp.exp(t / a) for t in x) / len(x))
        case UnnormalisedEntropy():
            p = mpf(1) / len(x)
            return a * sum(p * mp.expm1(t / a) if dual else t * mp.log(t / p) - t + p for t in map(abs, x))
    raise AssertionError(reg)


@pytest.mark.parametrize(
    "reg",
    [
        L2(1.0),
        Quadratic(1.0, [0.5, 2.0, 3.0]),
        ElasticNet(1.0, 0.25),
        QNorm(1.0, 1.5),
        QNorm(1.0, 3.0, 1.75),
        Entropy(1.0),
        UnnormalisedEntropy(1.0),
    ],
    ids=lambda reg: type(reg).__name__,
)
def test_extreme_scales_are_accurate_where_the_answer_is_a_float(reg):
    mp.dps = 60
    x = np.array([0.75, 0.5, 1.25])
    tried = 0
    for alpha, scale, dual in itertools.product((1e-300, 1e-150, 1e-4, 1.0, 1e150, 1e300), SCALES, (False, True)):
        if isinstance(reg, (Entropy, UnnormalisedEntropy)) and (
            (isinstance(reg, Entropy) and not dual) or (dual and scale / alpha > 500)
        ):
            continue
        truth = exact(reg.scaled(alpha), scale * x, dual)
        if mpf("1e-290") < abs(truth) < mpf("1e290"):
            tried += 1
            got = (reg.scaled(alpha).conjugate if dual else reg.scaled(alpha).value)(scale * x)
            assert got == pytest.approx(float(truth), rel=1e-12, abs=0.0), (alpha, scale, dual)
    assert tried >= (4 if isinstance(reg, Entropy) else 8)


@each
def test_no_warning_with_numpy_errors_raised(reg, dim):
    """Even under np.seterr(all="raise") the extreme answers come back as numbers."""
    with np.errstate(all="raise"):
        scaled = reg.scaled(1e-300)
        assert not math.isnan(scaled.value(np.full(dim, 1e300)))
        assert not math.isnan(scaled.conjugate(np.full(dim, 1e300)))


def test_entropies_near_the_prior_lose_only_second_order_digits():
    """With a huge alpha an error of eps in the entropy would be eps alpha in the gap."""
    prior = np.array([0.3, 0.2, 0.1])
    v = np.array([1.0, -0.7, 0.4])
    for reg in (Entropy(1e10), Entropy(1e10, prior=prior, total=0.6), UnnormalisedEntropy(1e10, prior=prior)):
        w = reg.primal_from_dual(v)
        assert abs(reg.value(w) + reg.conjugate(v) - v @ w) <= 1e-14
