"""Costs that rescale the margin (beta > 0): oracles equal enumeration, problems equal CVXPY over all labels."""

import itertools
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import brute
import fenchel
from fenchel.errors import FenchelError, InputError
from fenchel.oracles.structured import StructuredOracle
from fenchel.structured import Chain, Matching, PairwiseLabels, Tree
from fenchel.structured.matching_rescaled import best_rescaled_matching
from fenchel.structured.pairwise_rescaled import best_rescaled_set
from structured_problems import ordering
from test_structured_models import cost, labels_of, phi, rng_of, set_examples, tree_examples

BETAS = (0.4, 1.0, 2.0)


def matching_examples(partial):
    rng, examples, labels = rng_of(1), [], []
    for r, c in [(1, 3), (3, 1), (3, 3), (3, 2)]:
        options = list(brute.matchings(r, c, partial))
        examples.append(rng.standard_normal((r, c, 3)))
        labels.append(options[rng.integers(len(options))])
    return examples, labels


CASES = {
    "tree": (Tree(beta=1.0), *tree_examples(3)),
    "tree, shares": (Tree(normalise=True, beta=0.5), *tree_examples(3)),
    "label sets": (PairwiseLabels(beta=1.0), *set_examples(4)),
    "label sets, shares": (PairwiseLabels(normalise=True, beta=0.5), *set_examples(4)),
    "matching": (Matching(beta=1.0), *matching_examples(False)),
    "partial matching": (
        Matching(partial=True, false_positive=2.0, false_negative=0.5, beta=0.5), *matching_examples(True),
    ),
}  # fmt: skip


@pytest.fixture(params=CASES)
def case(request):
    model, examples, labels = CASES[request.param]
    return fenchel.Problem(examples, labels, loss=model, alpha=0.3), list(examples), [np.asarray(y) for y in labels]


def planes(problem, x, gold, i):
    """(labels, L, L^beta (phi(y) - phi(gold))) of an example, from the definition."""
    options = labels_of(problem.loss, problem.model, i)
    costs = np.array([float(cost(problem.loss, gold, y)) for y in options])
    slopes = np.array([phi(problem.loss, problem.model, x, y) for y in options])
    return options, costs, costs[:, None] ** problem.loss.beta * (slopes - phi(problem.loss, problem.model, x, gold))


def test_oracles_find_the_largest_plane(case):
    problem, examples, labels = case
    for size in (0.0, 0.3, 1.0, 4.0, 20.0):
        w = size * rng_of(int(10 * size)).standard_normal(problem.d)
        value, gradient, flat = StructuredOracle(problem).labels_at(w)
        total, slope = 0.0, np.zeros(problem.d)
        for i, (x, gold) in enumerate(zip(examples, labels, strict=True)):
            options, costs, slopes = planes(problem, x, gold, i)
            found = flat[problem.first[i] : problem.first[i + 1]]
            (k,) = (k for k, y in enumerate(options) if np.array_equal(y, found))
            assert costs[k] + slopes[k] @ w == pytest.approx((costs + slopes @ w).max(), abs=1e-9)
            total += problem.weights[i] * (costs + slopes @ w).max()
            slope += problem.weights[i] * slopes[k]
        assert value == pytest.approx(total, abs=1e-9)
        np.testing.assert_allclose(gradient, slope, atol=1e-9)


@pytest.mark.parametrize("solver", ["bundle", "block_frank_wolfe", "cutting_plane"])
def test_solutions_agree_with_cvxpy(case, solver):
    problem, examples, labels = case
    w, terms = cp.Variable(problem.d), []
    for i, (x, gold) in enumerate(zip(examples, labels, strict=True)):
        _, costs, slopes = planes(problem, x, gold, i)
        terms.append(cp.max(costs + slopes @ w))
    objective = cp.Problem(cp.Minimize(sum(terms) / len(terms) + 0.15 * cp.sum_squares(w)))
    best = objective.solve(solver=cp.CLARABEL)
    result = fenchel.solve(problem, solver=solver, tol=1e-4)
    assert result.status.name == "CERTIFIED"
    assert result.certificate.basis == "exact max-oracle"
    assert best - 1e-6 <= result.certificate.primal <= best * (1.0 + 1.1e-4) + 1e-6
    assert result.certificate.dual <= best + 1e-6
    assert fenchel.check_proof(problem, result.coef, result.intercept, result.dual_point).holds(1e-4)
    plain = fenchel.Problem(examples, labels, loss=replace(problem.loss, beta=0.0), alpha=0.3)
    assert fenchel.certify(plain, result.coef).primal != pytest.approx(result.certificate.primal, rel=1e-6)


def test_sets_of_many_labels_are_searched_exactly_and_limits_are_honest():
    rng, m = rng_of(5), 9
    Y = np.array(list(brute.strings(2, m)), dtype=np.int32)
    for k in range(90):
        Q = np.triu(rng.standard_normal((m, m)) * (0.05, 0.3, 2.0)[k % 3], 1)
        Q, u, gold = Q + Q.T, rng.standard_normal(m), rng.integers(0, 2, m).astype(np.int32)
        beta, unit = BETAS[k % 4 % 3], (1.0, 1.0 / m)[k % 2]
        scores = Y @ u + 0.5 * np.einsum("si,ij,sj->s", Y, Q, Y)
        costs = unit * (gold != Y).sum(axis=1)
        found = costs + costs**beta * (scores - scores[(gold == Y).all(axis=1)])
        out = np.empty(m, dtype=np.int32)
        value, ceiling = best_rescaled_set(u, Q, gold, unit, beta, 0, out)
        assert value == ceiling == pytest.approx(found.max(), abs=1e-10)
        assert found[(out == Y).all(axis=1)][0] == pytest.approx(value, abs=1e-10)
        value, ceiling = best_rescaled_set(u, Q, gold, unit, beta, 1 + k % 4, out)
        assert value - 1e-10 <= found.max() <= ceiling + 1e-10
        assert found[(out == Y).all(axis=1)][0] == pytest.approx(value, abs=1e-10)


def test_matchings_are_searched_exactly():
    rng = rng_of(6)
    for k in range(120):
        rows, columns = (int(size) for size in rng.integers(1, 5, 2))
        partial, beta = bool(k % 2), BETAS[k % 3]
        positive, negative = ((1.0, 1.0), (0.5, 2.0), (2.0, 0.0))[k // 2 % 3]
        options = [np.array(y, dtype=np.int32) for y in brute.matchings(rows, columns, partial)]
        gold, S = options[rng.integers(len(options))], rng.standard_normal((rows, columns)) * (0.3, 1.0, 5.0)[k % 3]

        def plane(y, gold=gold, S=S, beta=beta, rows=rows, positive=positive, negative=negative):
            edges = [{(r, int(c)) for r, c in enumerate(label) if c >= 0} for label in (y, gold)]
            found = positive * len(edges[0] - edges[1]) + negative * len(edges[1] - edges[0])
            margin = sum(S[e] for e in edges[0]) - sum(S[e] for e in edges[1])
            return found + found**beta * margin if found > 0.0 else 0.0

        out = np.empty(rows, dtype=np.int32)
        assert best_rescaled_matching(S.ravel(), rows, columns, gold, partial, positive, negative, beta, out)
        assert any(np.array_equal(out, y) for y in options)
        assert plane(out) == pytest.approx(max(map(plane, options)), abs=1e-10)


def test_trees_that_are_chains_agree_with_chains():
    rng = rng_of(7)
    X = [rng.standard_normal((t, 2)) for t in (1, 4, 6)]
    y = [rng.integers(0, 3, len(x)) for x in X]
    chain = fenchel.Problem(X, y, loss=Chain(3, ends=False, beta=1.0), alpha=0.1)
    tree = fenchel.Problem([(x, np.arange(len(x)) - 1) for x in X], y, loss=Tree(3, beta=1.0), alpha=0.1)
    for size in (0.1, 1.0, 10.0):
        w = size * rng.standard_normal(chain.d)
        assert StructuredOracle(tree).labels_at(w)[0] == pytest.approx(StructuredOracle(chain).labels_at(w)[0])


class Slack(ordering.Ordering):
    """The example model with slack rescaling: max over orders of cost (1 + score - score of the gold order)."""

    beta = 1.0
    returns_value = True

    def max_oracle(self, w, x, y):
        gold = w @ self.features(x, y)
        best, top = y, 0.0
        for z in itertools.permutations(range(3)):
            L = float(self.cost(y, z))
            if L + L * (w @ self.features(x, z) - gold) > top:
                best, top = z, L + L * (w @ self.features(x, z) - gold)
        return (best, float(top)) if self.returns_value else best


def own_problem(model):
    rng = rng_of(8)
    x = [rng.standard_normal((3, 4)) for _ in range(6)]
    y = [tuple(int(k) for k in np.argsort(rng.standard_normal(3) - z[:, 0])) for z in x]
    return fenchel.Problem(x, y, loss=model, alpha=0.1), x, y


def test_a_model_of_ones_own_rescales():
    model = Slack()
    problem, x, y = own_problem(model)
    w, terms = cp.Variable(problem.d), []
    for features, gold in zip(x, y, strict=True):
        options = list(itertools.permutations(range(3)))
        L = np.array([float(model.cost(gold, z)) for z in options])
        psi = np.array([model.features(features, z) - model.features(features, gold) for z in options])
        terms.append(cp.max(L + (L[:, None] * psi) @ w))
    best = cp.Problem(cp.Minimize(sum(terms) / len(terms) + 0.05 * cp.sum_squares(w))).solve(solver=cp.CLARABEL)
    result = fenchel.solve(problem, tol=1e-4)
    assert result.status.name == "CERTIFIED"
    assert best - 1e-6 <= result.certificate.primal <= best * (1.0 + 1.1e-4) + 1e-6
    assert result.certificate.dual <= best + 1e-6


def test_an_oracle_that_ignores_the_rescaling_is_refused():
    class Forgets(Slack):
        max_oracle = ordering.Ordering.max_oracle

    with pytest.raises(InputError, match="max_oracle"):
        own_problem(Forgets())
    Forgets.beta = -1.0
    with pytest.raises(InputError, match="beta must be"):
        own_problem(Forgets())


@pytest.mark.parametrize("model", [Tree, PairwiseLabels, Matching])
def test_betas_that_mean_nothing_are_refused(model):
    for beta in (-0.5, np.inf, np.nan, "1"):
        with pytest.raises(InputError, match="beta must be"):
            model(beta=beta)
    if model is not Matching:
        with pytest.raises(InputError, match="no cost to rescale"):
            model(loss="log", beta=1.0)


def test_marginals_need_costs_that_add_up(case):
    for solver in ("pragam", "extragradient"):
        with pytest.raises(FenchelError, match="do not decompose into parts"):
            fenchel.solve(case[0], solver=solver)


def test_estimators_pass_beta_on(tmp_path):
    rng = rng_of(9)
    X, Y = rng.standard_normal((12, 3)), rng.integers(0, 2, (12, 3))
    sets = fenchel.MultiLabelClassifier(beta=1.0, alpha=0.1).fit(X, Y)
    alone = fenchel.solve(fenchel.Problem(X, Y, loss=PairwiseLabels(beta=1.0), alpha=0.1), tol=1e-3)
    np.testing.assert_array_equal(sets.coef_, alone.coef)
    sets.save(tmp_path / "sets")
    assert fenchel.MultiLabelClassifier.load(tmp_path / "sets").beta == 1.0
    x = [rng.standard_normal((2, 3, 2)) for _ in range(4)]
    y = [rng.permutation(3)[:2] for _ in x]
    matched = fenchel.MatchingModel(beta=0.5, alpha=0.1).fit(x, y)
    assert matched.status_.name == "CERTIFIED"
    assert matched.to_model().loss == Matching(beta=0.5)
