"""Gaussian-process sequence labelling against its definition: kernel on pairs of neighbours, primal and dual by enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

import fenchel
from fenchel.errors import InputError
from fenchel.kernel_methods import SequenceProcess

M = 3
RNG = np.random.default_rng(12)
X = [RNG.normal(size=(T, 2)) for T in (4, 3, 4)]
Y = [RNG.integers(0, M, len(x)) for x in X]


def kernel(A, B):
    return np.exp(-0.4 * ((A[:, None] - B[None]) ** 2).sum(axis=2)) + A @ B.T


CLIQUES = [(i, t, s, r) for i, x in enumerate(X) for t in range(len(x) - 1) for s in range(M) for r in range(M)]


def owned(clique, pairs):
    i, t, s, r = clique
    return [(X[i][t], s)] + ([(X[i][t + 1], r)] if pairs == "both" or t == len(X[i]) - 2 else [])


def gram(pairs):
    """K from its definition, entry by entry."""
    K = np.zeros((len(CLIQUES), len(CLIQUES)))
    for a, one in enumerate(CLIQUES):
        for b, two in enumerate(CLIQUES):
            same = sum(
                kernel(x[None], z[None])[0, 0] for x, s in owned(one, pairs) for z, r in owned(two, pairs) if s == r
            )
            K[a, b] = (one[2:] == two[2:]) + same
    return K


def counts(i, y):
    """How often each clique occurs in labels y of sequence i."""
    return np.array([float(j == i and y[t] == s and y[t + 1] == r) for j, t, s, r in CLIQUES])


def distributions(u):
    """For each sequence: (log partition, marginals of cliques, entropy) at scores u of cliques."""
    for i, x in enumerate(X):
        rows = np.array([counts(i, y) for y in product(range(M), repeat=len(x))])
        scores = rows @ u
        p = np.exp(scores - logsumexp(scores))
        yield logsumexp(scores), p @ rows, -np.sum(p * np.log(p))


@pytest.mark.parametrize(("factor", "pairs"), [(0.5, "own"), (1.0, "own"), (1.0, "both")])
def test_the_optimum_is_that_of_the_definition(factor, pairs):
    """ "both" is the stationary kernel of appendix E.2: delta of pairs + k of all positions of both pairs with equal labels."""
    process = SequenceProcess(X, Y, kernel=kernel, factor=factor, classes=M, pairs=pairs)
    result = fenchel.solve(process.problem, tol=1e-8)
    assert result.status.name == "CERTIFIED"
    K, gold = gram(pairs), sum(counts(i, y) for i, y in enumerate(Y))
    expected = np.zeros(len(CLIQUES))
    for i, x in enumerate(X):
        nodes, pairs = process.marginals(result.coef, x)
        np.testing.assert_allclose(nodes[:-1], pairs.sum(axis=2), atol=1e-12)
        expected[[c for c, clique in enumerate(CLIQUES) if clique[0] == i]] = pairs.ravel()
    a = (gold - expected) / (2.0 * factor)  # the stationary point of the objective, from the model's own marginals
    u = K @ a
    found = list(distributions(u))
    primal = factor * a @ u + sum(value for value, _, _ in found) - gold @ u
    r = gold - sum(marginals for _, marginals, _ in found)
    dual = sum(entropy for _, _, entropy in found) - r @ K @ r / (4.0 * factor)
    assert primal == pytest.approx(len(X) * result.certificate.primal, rel=1e-6)
    assert dual == pytest.approx(len(X) * result.certificate.dual, rel=1e-4)
    assert dual <= primal * (1 + 1e-9)
    assert result.coef @ result.coef == pytest.approx(a @ u, rel=1e-3)


def test_new_positions_are_scored_through_the_kernel():
    process = SequenceProcess(X, Y, kernel=kernel, classes=M)
    new = np.random.default_rng(0).normal(size=(5, 2))
    rows = np.concatenate(X)
    trained = np.concatenate([process.features(x) for x in X])
    np.testing.assert_allclose(trained @ trained.T, kernel(rows, rows), atol=1e-8)
    np.testing.assert_allclose(process.features(new) @ trained.T, kernel(new, rows), atol=1e-6)
    w = fenchel.solve(process.problem, tol=1e-4).coef
    assert process.predict(w, new).shape == (5,)


def test_repeated_positions_have_one_feature():
    process = SequenceProcess([X[0], X[0]], [Y[0], Y[0]], kernel=kernel, classes=M)
    assert process.problem.d == M * 4 + M * M


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"factor": 0.0}, "factor must be"),
        ({"pairs": "all"}, "pairs must be one of 'own', 'both'"),
        ({"kernel": "precomputed"}, "needs a kernel"),
        ({"kernel": lambda A, B: -A @ B.T}, "not positive semi-definite"),
        ({"kernel": lambda A, B: A @ B.T - 3.0 * np.eye(len(A), len(B))}, "not positive semi-definite"),
        ({"kernel": lambda A, B: A @ B.T + A[:, :1]}, "not symmetric"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(InputError, match=message):
        SequenceProcess(X, Y, **options)


def test_bad_examples():
    with pytest.raises(InputError, match="no examples"):
        SequenceProcess([], [])
    with pytest.raises(InputError, match="same number of features"):
        SequenceProcess([X[0], X[1][:, :1]], Y[:2])
