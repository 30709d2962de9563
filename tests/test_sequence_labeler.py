"""SequenceLabeler: against enumeration of all labellings and CVXPY; three kinds of input; scikit-learn's habits; bad input."""

import itertools
import pickle
import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import fenchel
from fenchel import SequenceLabeler
from fenchel.errors import FenchelError, InputError
from fenchel.estimators.sequence_input import SequenceEncoder
from fenchel.regularizers import L2

LABELS = ["D", "N", "V"]
FEATURES = 3


def data(n=6, seed=0):
    rng = np.random.default_rng(seed)
    X = [rng.integers(-2, 3, (T, FEATURES)).astype(float) for T in rng.integers(1, 4, n)]
    y = [[LABELS[k] for k in (x + rng.normal(size=x.shape)).argmax(axis=1)] for x in X]
    y[0][0], y[1][0], y[2][0] = LABELS
    return X, y


def named(X):
    return [[{f"f{j}": value for j, value in enumerate(row)} for row in x.tolist()] for x in X]


def labellings(T):
    return list(itertools.product(range(len(LABELS)), repeat=T))


def features(x, path):
    """phi(x, y) in the order of `Chain`: emissions, bias, transitions, start, end."""
    m = len(LABELS)
    W, bias, pairs, start, end = np.zeros((FEATURES, m)), np.zeros(m), np.zeros((m, m)), np.zeros(m), np.zeros(m)
    for row, label in zip(x, path, strict=True):
        W[:, label] += row
        bias[label] += 1
    for a, b in itertools.pairwise(path):
        pairs[a, b] += 1
    start[path[0]] += 1
    end[path[-1]] += 1
    return np.concatenate([W.ravel(), bias, pairs.ravel(), start, end])


def planes(x, y):
    """(phi(path) - phi(gold), wrong tokens) of all labellings."""
    gold = [LABELS.index(label) for label in y]
    own = features(x, gold)
    table = np.array([features(x, path) - own for path in labellings(len(x))])
    return table, np.array([np.sum(np.array(path) != gold) for path in labellings(len(x))], dtype=float)


def enumerated(loss, psi, errors, margins):
    """The loss of a sequence by its definition; margins are psi w, as numbers or as a CVXPY expression."""
    return {
        "log": lambda: cp.log_sum_exp(margins),
        "hinge": lambda: cp.max(errors + margins),
        "slack": lambda: cp.max(errors + cp.multiply(errors, margins)),
    }[loss]()


def optimum(X, y, loss, alpha, weights):
    w = cp.Variable(planes(X[0], y[0])[0].shape[1])
    terms = [
        s * enumerated(loss, *planes(x, labels), planes(x, labels)[0] @ w)
        for x, labels, s in zip(X, y, weights, strict=True)
    ]
    problem = cp.Problem(cp.Minimize(sum(terms) / sum(weights) + alpha / 2 * cp.sum_squares(w)))
    problem.solve(solver=cp.CLARABEL)
    return problem.value


@pytest.mark.parametrize("loss", ["log", "hinge", "slack"])
@pytest.mark.parametrize("weighted", [False, True])
def test_objective_is_the_optimum_of_the_enumerated_problem(loss, weighted):
    X, y = data()
    weights = np.array([1, 2, 1, 3, 1, 2]) if weighted else np.ones(6)
    options = {"loss": "log"} if loss == "log" else {"rescaling": "slack" if loss == "slack" else "margin"}
    model = SequenceLabeler(alpha=0.1, tol=1e-5, **options).fit(X, y, sample_weight=weights if weighted else None)
    assert model.status_.name == "CERTIFIED"
    assert model.converged_
    best = optimum(X, y, loss, 0.1, weights)
    assert model.dual_objective_ - 1e-6 <= best <= model.objective_ + 1e-6
    assert model.objective_ <= best * (1 + 2e-5)


def test_weights_count_as_repetitions():
    X, y = data()
    times = [1, 2, 1, 3, 1, 2]
    repeated = [[thing for thing, k in zip(things, times, strict=True) for _ in range(k)] for things in (X, y)]
    one = SequenceLabeler("log", C=0.3, tol=1e-9).fit(X, y, sample_weight=times)
    two = SequenceLabeler("log", C=0.3, tol=1e-9).fit(*repeated)
    assert one.regularizer_.alpha == pytest.approx(1 / (0.3 * 10)) == two.regularizer_.alpha
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-8)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-4)


def test_arrays_sparse_matrices_and_dictionaries_are_the_same_data():
    X, y = data()
    kinds = {
        "arrays": X,
        "lists": [x.tolist() for x in X],
        "sparse": [sp.csr_matrix(x) for x in X],
        "csc": [sp.csc_array(x) for x in X],
        "names": named(X),
    }
    fitted = {kind: SequenceLabeler("log", alpha=0.1, tol=1e-9).fit(xs, y) for kind, xs in kinds.items()}
    first = fitted["arrays"]
    for kind, model in fitted.items():
        assert model.objective_ == pytest.approx(first.objective_, rel=1e-8)
        assert model.predict(kinds[kind]) == first.predict(X)
        assert model.n_features_in_ == FEATURES
        assert (model.attributes_ is None) == (kind != "names")
    assert sorted(fitted["names"].attributes_) == [f"f{j}" for j in range(FEATURES)]
    by_name, by_number = fitted["names"].state_features_, first.state_features_
    assert by_name.keys() == {(f"f{j}", label) for j, label in by_number}
    for j, label in by_number:
        assert by_name[f"f{j}", label] == pytest.approx(by_number[j, label], abs=1e-4)


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_predictions_are_the_best_of_all_labellings(loss):
    X, y = data(20)
    model = SequenceLabeler(loss, alpha=0.05).fit(X[:10], y[:10])
    for x, path in zip(X, model.predict(X), strict=True):
        scores = [features(x, path) @ model.coef_ for path in labellings(len(x))]
        assert features(x, [LABELS.index(label) for label in path]) @ model.coef_ == pytest.approx(max(scores))
        assert model.predict_single(x) == path
    hits = [a == b for true, path in zip(y, model.predict(X), strict=True) for a, b in zip(true, path, strict=True)]
    assert model.score(X, y) == pytest.approx(np.mean(hits))


def test_marginals_are_sums_over_all_labellings():
    X, y = data(20)
    model = SequenceLabeler("log", alpha=0.05).fit(X[:10], y[:10])
    found, named_ones = model.predict_proba(X), model.predict_marginals(X)
    for x, p, tokens in zip(X, found, named_ones, strict=True):
        scores = np.array([features(x, path) @ model.coef_ for path in labellings(len(x))])
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        want = [
            [sum(chances[k] for k, path in enumerate(labellings(len(x))) if path[t] == c) for c in range(3)]
            for t in range(len(x))
        ]
        np.testing.assert_allclose(p, want, atol=1e-12)
        assert tokens == [dict(zip(LABELS, row, strict=True)) for row in p.tolist()]
        assert model.predict_marginals_single(x) == tokens


def test_dictionaries_of_weights_explain_the_score():
    X, y = data()
    model = SequenceLabeler("log", alpha=0.05, bias=False, ends=False).fit(named(X), y)
    state, transition = model.state_features_, model.transition_features_
    assert model.weights_.bias is model.weights_.start is model.weights_.end is None

    def score(tokens, path):
        own = sum(
            value * state.get((name, label), 0.0)
            for token, label in zip(tokens, path, strict=True)
            for name, value in token.items()
        )
        return own + sum(transition[pair] for pair in itertools.pairwise(path))

    for tokens, path in zip(named(X), model.predict(named(X)), strict=True):
        assert score(tokens, path) == pytest.approx(
            max(score(tokens, p) for p in itertools.product(LABELS, repeat=len(tokens)))
        )


def test_observed_only_has_no_weights_for_what_was_not_seen():
    X, y = [[["the"], ["dog"]], [["a"], ["dog"], ["barks"]]], [["D", "N"], ["D", "N", "V"]]
    model = SequenceLabeler("log", alpha=0.01, observed_only=True).fit(X, y)
    seen = {(name, label) for xs, ys in zip(X, y, strict=True) for (name,), label in zip(xs, ys, strict=True)}
    assert model.state_features_.keys() <= seen
    assert {pair for pair, weight in model.transition_features_.items() if weight} <= {("D", "N"), ("N", "V")}
    assert model.coef_.size == len(seen) + 2 + 3 * 3
    assert model.predict(X) == y
    again = clone(model).set_params(warm_start=True).fit(X, y).fit(X, y)
    assert again.objective_ == pytest.approx(model.objective_, rel=1e-2)


def test_links_between_tokens_can_have_features():
    X, y = data(8)
    rng = np.random.default_rng(3)
    links = [rng.integers(0, 2, (len(x) - 1, 2)).astype(float) for x in X]
    names = [[{"a": u, "b": v} for u, v in link.tolist()] for link in links]
    options = {"alpha": 0.05, "edge_features": True, "tol": 1e-8}
    pairs = list(zip(X, links, strict=True))
    one = SequenceLabeler("log", **options).fit(pairs, y)
    assert one.weights_.edges.shape == (2, 3, 3)
    assert one.objective_ < SequenceLabeler("log", alpha=0.05, tol=1e-8).fit(X, y).objective_
    for (x, link), path in zip(pairs, one.predict(pairs), strict=True):
        extra = [
            sum(link[t] @ one.weights_.edges[:, p[t], p[t + 1]] for t in range(len(x) - 1)) for p in labellings(len(x))
        ]
        scores = [features(x, p) @ one.coef_[:27] + e for p, e in zip(labellings(len(x)), extra, strict=True)]
        assert [LABELS[k] for k in labellings(len(x))[int(np.argmax(scores))]] == path
    encoded = SequenceEncoder(edges=True).fit_transform(list(zip(named(X), names, strict=True)))
    for (x, link), (rows, edges) in zip(pairs, encoded, strict=True):
        assert rows.toarray().sum() == x.sum()
        assert edges.shape == link.shape
    with pytest.raises(InputError, match="sequence 0 of X must be a pair"):
        one.predict(X[:1])
    with pytest.raises(InputError, match="sequence 1 has . tokens and 7 links"):
        SequenceLabeler(**options).fit([(X[0], links[0]), (X[1], np.zeros((7, 2)))], y[:2])


@pytest.mark.parametrize("labels", [[0, 1, 2], [True, False], ["x", "y"], [("a", 1), ("b", 2)], [1, "a", (2, 3)]])
def test_labels_are_anything_hashable(labels):
    X = [np.eye(len(labels)), np.eye(len(labels))[::-1].copy()]
    y = [list(labels), list(labels)[::-1]]
    model = SequenceLabeler("log", alpha=1e-3).fit(X, y)
    assert model.predict(X) == y
    assert set(model.classes_.tolist()) == set(labels)
    assert all(type(a) is type(b) for a, b in zip(model.predict(X)[0], y[0], strict=True))
    arrays = SequenceLabeler("log", alpha=1e-3).fit(X, [np.array([*labels, None], dtype=object)[:-1]] * 2)
    assert set(arrays.classes_.tolist()) == set(labels)


def test_a_word_is_a_sequence_of_letters():
    X = [np.eye(3), np.eye(3)[::-1].copy()]
    assert SequenceLabeler(alpha=1e-2).fit(X, ["cat", "tac"]).predict(X) == [list("cat"), list("tac")]


def test_one_token_and_one_class_are_enough():
    model = SequenceLabeler("log", alpha=0.1).fit([[[1.0]]], [["a"]])
    assert (model.predict([[[5.0], [6.0]]]), model.status_.name) == ([["a", "a"]], "CERTIFIED")


def test_crfsuite_strengths_are_said_by_C():
    X, y = data()
    c1, c2 = 0.3, 0.2
    model = SequenceLabeler("log", C=1 / (2 * c2), tol=1e-6).fit(X, y)
    w = model.coef_
    losses = [np.log(np.exp(planes(x, labels)[0] @ w).sum()) for x, labels in zip(X, y, strict=True)]
    assert len(X) * model.objective_ == pytest.approx(sum(losses) + c2 * w @ w)
    both = SequenceLabeler("log", "elastic_net", C=1 / (c1 + 2 * c2), l1_ratio=c1 / (c1 + 2 * c2), max_iter=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        penalty = both.fit(X, y).regularizer_
    v = np.array([1.0, -2.0, 0.5])
    assert len(X) * penalty.value(v) == pytest.approx(c1 * np.abs(v).sum() + c2 * v @ v)


def test_scikit_learn_habits():
    X, y = data(12)
    model = SequenceLabeler("log", alpha=0.1, max_iter=500)
    assert clone(model).get_params() == model.get_params()
    assert SequenceLabeler().set_params(loss="log", alpha=0.1, max_iter=500).get_params() == model.get_params()
    assert cross_val_score(model, named(X), y, cv=2).shape == (2,)
    search = GridSearchCV(model, {"alpha": [0.01, 1.0]}, cv=2).fit(X, y)
    assert search.best_params_["alpha"] in (0.01, 1.0)
    with pytest.raises(NotFittedError):
        model.predict(X)
    for xs in (X, named(X)):
        model.fit(xs, y)
        copy = pickle.loads(pickle.dumps(model))
        assert copy.predict(xs) == model.predict(xs)
        assert copy.certificate_ == model.certificate_
        np.testing.assert_array_equal(copy.coef_, model.coef_)
    assert fenchel.SequenceLabeler is fenchel.estimators.SequenceLabeler is SequenceLabeler


@pytest.mark.parametrize(("loss", "solver"), [("log", "lbfgs"), ("hinge", "block_frank_wolfe")])
def test_warm_start_goes_on_where_the_last_fit_ended(loss, solver):
    X, y = data(10)
    model = SequenceLabeler(loss, alpha=0.05, tol=1e-4, solver=solver, warm_start=True, random_state=0).fit(X, y)
    n_iter, objective = model.n_iter_, model.objective_
    model.fit(X, y)
    assert model.n_iter_ < n_iter
    assert model.objective_ == pytest.approx(objective, rel=2e-4)
    others = X[::-1], y[::-1]  # as many sequences of other lengths: the dual point is not one of theirs
    assert model.fit(*others).objective_ == pytest.approx(objective, rel=2e-4)
    assert model.fit(named(X), y).status_.name == "CERTIFIED"
    assert model.fit(named(X)[:5], y[:5]).status_.name == "CERTIFIED"


def test_rare_attributes_are_left_out():
    X, y = [[["a", "x"], ["b"]], [["a"], ["b", "z"]]], [[0, 1], [0, 1]]
    model = SequenceLabeler("log", alpha=0.1, min_count=2).fit(X, y)
    assert sorted(model.attributes_) == ["a", "b"]


def test_an_unfinished_fit_warns_and_has_a_certificate():
    X, y = data()
    model = SequenceLabeler("log", alpha=1e-3, tol=1e-9, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="SequenceLabeler did not reach its tolerance"):
        model.fit(X, y)
    assert model.status_.name == "MAX_ITER"
    assert model.dual_gap_ == model.certificate_.gap > 0


def test_only_the_log_loss_has_probabilities():
    X, y = data()
    model = SequenceLabeler(alpha=0.1).fit(X, y)
    for name in ("predict_proba", "predict_marginals", "predict_marginals_single"):
        assert not hasattr(model, name)
        assert hasattr(SequenceLabeler("log"), name)


EMPTY, NAN = np.zeros((0, FEATURES)), np.array([[1.0, 0.0, 2.0], [0.0, np.nan, 1.0]])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([], [], "no sequences"),
        ([np.ones((1, 3)), EMPTY], [["D"], []], "sequence 1 of X is empty"),
        ([[{"a": 1.0}], []], [["D"], []], "sequence 1 of X is empty"),
        ([np.ones((1, 3))] * 2, [["D"]], "X has 2 sequences, but y has 1"),
        ([np.ones((1, 3)), np.ones((2, 3))], [["D"], ["D"]], "sequence 1 has 2 tokens in X, but 1 labels in y"),
        (
            [np.ones((1, 3)), np.ones((2, 4))],
            [["D"], ["D", "N"]],
            "sequence 1 of X has 4 features per token, expected 3",
        ),
        ([np.ones((1, 3)), NAN], [["D"], ["D", "N"]], "sequence 1 of X contains NaN or infinity at token 1"),
        (
            [sp.eye(3), sp.csr_matrix(NAN)],
            [["D"] * 3, ["D", "N"]],
            "sequence 1 of X contains NaN or infinity at token 1",
        ),
        ([[{"a": 1.0}], [{"a": np.nan}]], [["D"], ["N"]], "attribute 'a' of sequence 1, token 0 is nan"),
        ([np.ones((1, 3)), np.ones(3)], [["D"], ["D"] * 3], "sequence 1 of X has 1 dimension"),
        ([np.ones((1, 3)), [[1.0], [1.0, 2.0]]], [["D"], ["D", "N"]], "sequence 1 of X is not a matrix of numbers"),
        ([[{"a": 1.0}], np.ones((1, 3))], [["D"], ["D"]], "sequence 1 of X is an array"),
        ([np.ones((1, 3)), "words"], [["D"], ["D"]], "sequence 1 of X is 'words'"),
        ([np.ones((1, 3)), 7], [["D"], ["D"]], "sequence 1 of X is 7"),
        (sp.eye(3), [["D"]], "X must be a list of sequences"),
        ({"a": 1}, [["D"]], "X must be a list of sequences"),
        ([np.ones((1, 3))], "D", "y must be a list of label sequences"),
        ([np.ones((1, 3))], [3], "wrap the labels of each sequence"),
        ([np.ones((1, 3))] * 2, [["D"], [None]], "a label of sequence 1 is None"),
        ([np.ones((1, 3))] * 2, [["D"], [np.nan]], "a label of sequence 1 is nan"),
        ([np.ones((1, 3))] * 2, [["D"], [["N"]]], "labels of sequence 1 must be hashable"),
        ([[{}], [{}]], [["D"], ["N"]], "no attributes"),
    ],
)
def test_bad_sequences_are_refused_by_name(X, y, message):
    with pytest.raises(InputError, match=message):
        SequenceLabeler("log").fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "square"}, "loss of a structured model"),
        ({"rescaling": "none"}, 'rescaling must be "margin" or "slack"'),
        ({"rescaling": 1.0}, 'rescaling must be "margin" or "slack"'),
        ({"min_count": 0}, "min_count"),
        ({"alpha": 1.0, "C": 1.0}, "give alpha or C, not both"),
        ({"regularizer": L2(0.1), "C": 1.0}, "has its own alpha"),
        ({"C": -1.0}, "C must be > 0"),
        ({"tol": 0.0}, "tol must be"),
        ({"solver": "simplex"}, "unknown solver"),
        ({"solver": "pegasos"}, "Pegasos cannot solve"),
    ],
)
def test_bad_parameters_are_refused_by_name(options, message):
    with pytest.raises(FenchelError, match=message):
        SequenceLabeler(**options).fit(*data())


def test_bad_sequences_are_refused_when_predicting():
    X, y = data()
    model, by_name = SequenceLabeler("log", alpha=0.1).fit(X, y), SequenceLabeler("log", alpha=0.1).fit(named(X), y)
    cases = [
        (model, [X[0], EMPTY], "sequence 1 of X is empty"),
        (model, [X[0], np.ones((2, 5))], "sequence 1 of X has 5 features per token, expected 3"),
        (model, [X[0], NAN], "sequence 1 of X contains NaN or infinity at token 1"),
        (model, [X[0], *named(X[:1])], "sequence 1 of X has named attributes"),
        (by_name, [*named(X[:1]), X[0]], "sequence 1 of X is an array"),
        (by_name, X[0], "sequence 0 of X"),
        (model, [], "no sequences"),
    ]
    for fitted, xs, message in cases:
        for method in (fitted.predict, fitted.predict_marginals):
            with pytest.raises(InputError, match=message):
                method(xs)
    right = sum(a == b for a, b in zip(y[0], model.predict(X[:1])[0], strict=True))
    assert model.score(X[:2], [y[0], ["X"] * len(y[1])]) == right / (
        len(y[0]) + len(y[1])
    )  # an unknown label is a miss
    with pytest.raises(InputError, match="sequence 0 has . tokens in X, but 9 labels"):
        model.score(X[:1], [["D"] * 9])
    assert by_name.predict([[{"unknown": 1.0}]])[0][0] in LABELS
