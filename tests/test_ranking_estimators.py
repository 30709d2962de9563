"""Estimators that optimise a measure: their problem, their thresholds by brute force, and what they refuse."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score, balanced_accuracy_score, fbeta_score, ndcg_score, roc_auc_score
from sklearn.utils.validation import has_fit_parameter

import fenchel
from fenchel import MeasureClassifier, OrdinalClassifier, Problem, Ranker, certify, metrics, solve
from fenchel.errors import InputError, UnknownNameError
from fenchel.estimators.cuts import best_threshold, best_thresholds, places
from fenchel.measures import (
    ERU,
    MRR,
    NDCG,
    BreakEven,
    FBeta,
    MAPPairs,
    Measure,
    NDCGPairs,
    Ordinal,
    PrecisionAtK,
    RecallAtK,
    ROCArea,
)
from fenchel.regularizers import L2
from fenchel.result import Status

RNG = np.random.default_rng(5)
X = RNG.normal(size=(90, 4)) + 1.0
Z = X @ [1.0, -1.0, 0.5, 0.0] + 0.7 * RNG.normal(size=90)
TWO = np.where(Z > 1.2, "yes", "no")
SIGNS = np.where(TWO == "yes", 1.0, -1.0)
LEVELS = np.digitize(Z, [-0.5, 0.5, 1.5])
QID = np.repeat(np.arange(15), 6)
GRADES = np.digitize(Z, [0.8, 1.8])


# ---- thresholds, against all that are possible


def tied_scores(rng, n):
    return rng.integers(-3, 4, n).astype(float)


@pytest.mark.parametrize("seed", range(6))
def test_best_threshold_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    z, positive = tied_scores(rng, 14), rng.random(14) < 0.4
    positive[:2] = [True, False]
    tried = [places(z)[0][0], *(a + 0.5 for a in np.unique(z))]
    for beta in (0.5, 1.0, 2.0):
        found = fbeta_score(positive, z > best_threshold(FBeta(beta), z, positive), beta=beta, zero_division=0.0)
        best = max(fbeta_score(positive, z > t, beta=beta, zero_division=0.0) for t in tried)
        assert found == pytest.approx(best)
    found = balanced_accuracy_score(positive, z > best_threshold(ROCArea(), z, positive))
    assert found == pytest.approx(max(balanced_accuracy_score(positive, z > t) for t in tried))
    for measure, wanted in ((PrecisionAtK(5), 5), (RecallAtK(3), 3), (BreakEven(), positive.sum())):
        called = (z > best_threshold(measure, z, positive)).sum()
        assert abs(called - wanted) == min(abs((z > t).sum() - wanted) for t in tried)


@pytest.mark.parametrize("seed", range(6))
def test_best_thresholds_are_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    z, level = tied_scores(rng, 12), rng.integers(0, 4, 12)
    cost = rng.integers(1, 9, (4, 4)) * (1.0 - np.eye(4))
    cuts = best_thresholds(z, level, cost)
    assert (np.diff(cuts) >= 0.0).all()
    said = (z[:, None] > cuts).sum(axis=1)
    all_cuts = itertools.combinations_with_replacement(places(z)[0], 3)
    best = min(cost[level, (z[:, None] > np.array(c)).sum(axis=1)].sum() for c in all_cuts)
    assert cost[level, said].sum() == best


def test_equal_scores_and_one_row_still_have_thresholds():
    z = np.zeros(3)
    assert np.isfinite(best_threshold(FBeta(), z, np.array([True, True, False])))
    assert (z > best_threshold(FBeta(), z, np.array([True, True, False]))).all()
    assert best_thresholds(z, np.array([1, 1, 0]), 1.0 - np.eye(2)).size == 1


# ---- MeasureClassifier


MEASURES = ["roc_area", "f_beta", "f1", "break_even", FBeta(2.0), PrecisionAtK(20), RecallAtK(40), ROCArea(2.0)]


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_measure_classifier_is_the_stated_problem(measure):
    model = MeasureClassifier(measure, alpha=0.01, tol=1e-5).fit(X, TWO)
    loss = "f_beta" if measure == "f1" else measure
    problem = Problem(X, SIGNS, loss, L2(0.01))
    found = certify(problem, model.coef_[0], 0.0, model.dual_point_)
    assert found.primal == model.objective_
    assert found.dual == pytest.approx(model.dual_objective_, rel=1e-9)
    assert found.holds(1e-5)
    assert model.status_ is Status.CERTIFIED
    assert model.converged_ is True
    scores = X @ model.coef_[0]
    np.testing.assert_allclose(model.decision_function(X), scores - model.threshold_)
    assert np.array_equal(model.predict(X), np.where(scores > model.threshold_, "yes", "no"))
    assert model.intercept_.tolist() == [-model.threshold_]
    assert (model.coef_.shape, model.classes_.tolist()) == ((1, 4), ["no", "yes"])


def test_roc_area_is_the_hinge_of_all_pairs():
    up, down = X[SIGNS > 0], X[SIGNS < 0]
    pairs = (up[:, None, :] - down[None, :, :]).reshape(-1, 4)
    expected = solve(Problem(pairs, np.ones(len(pairs)), "hinge", alpha=0.1), tol=1e-8)
    model = MeasureClassifier(alpha=0.1, tol=1e-8).fit(X, TWO)
    assert model.objective_ == pytest.approx(expected.certificate.primal, rel=1e-7)
    np.testing.assert_allclose(model.coef_[0], expected.coef, atol=1e-3)
    assert 1.0 - roc_auc_score(TWO, model.decision_function(X)) <= model.objective_
    assert average_precision_score(TWO == "yes", model.decision_function(X)) > 0.5


def test_c_warm_start_limits_sparse_and_copies():
    model = MeasureClassifier(C=1.0, warm_start=True).fit(X, TWO)
    assert model.regularizer_.alpha == pytest.approx(1.0 / 90)
    first = model.objective_
    assert model.fit(sp.csr_array(X), TWO).objective_ == pytest.approx(first, rel=1e-5)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert clone(model).C == 1.0
    with pytest.warns(ConvergenceWarning, match="MeasureClassifier did not reach its tolerance.*MAX_ITER"):
        MeasureClassifier("f1", max_iter=1).fit(X, TWO)
    with pytest.warns(ConvergenceWarning, match="MAX_TIME"):
        MeasureClassifier("f1", max_time=1e-9, tol=1e-12).fit(X, TWO)


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (MeasureClassifier("roc"), TWO, "unknown measure for classification 'roc'.*roc_area"),
        (MeasureClassifier("ndcg"), TWO, "unknown measure for classification 'ndcg'"),
        (MeasureClassifier(NDCG()), TWO, "'ndcg' is not for classification"),
        (MeasureClassifier("precision_at_k"), TWO, "'precision_at_k' needs k"),
        (MeasureClassifier(PrecisionAtK(91)), TWO, "at most the number of rows"),
        (MeasureClassifier(ROCArea), TWO, "call it"),
        (MeasureClassifier(), np.ones(90), "only one class is present"),
        (MeasureClassifier(), LEVELS, "Only binary classification"),
        (MeasureClassifier(alpha=1.0, C=1.0), TWO, "not both"),
        (OrdinalClassifier(), np.ones(90), "only one class is present"),
        (OrdinalClassifier(cost=1.0 - np.eye(3)), LEVELS, "cost is for 3 levels, but y has 4"),
        (OrdinalClassifier(cost=np.ones((4, 4))), LEVELS, "must cost 0"),
        (OrdinalClassifier(), Z, "Unknown label type"),
    ],
)
def test_bad_classifiers(model, y, message):
    with pytest.raises((InputError, UnknownNameError, ValueError), match=message):
        model.fit(X, y)


# ---- OrdinalClassifier


COST = np.array([[0, 1, 3, 6], [1, 0, 1, 3], [3, 1, 0, 1], [9, 3, 1, 0]], dtype=float)


@pytest.mark.parametrize("cost", [None, COST])
def test_ordinal_classifier_is_the_stated_problem(cost):
    names = np.array(["1 bad", "2 poor", "3 fair", "4 good"])
    model = OrdinalClassifier(cost, levels=names, alpha=0.01).fit(X, names[LEVELS])
    problem = Problem(X, LEVELS, Ordinal(cost), L2(0.01))
    found = certify(problem, model.coef_, 0.0, model.dual_point_)
    assert found.primal == model.objective_
    assert found.holds(1e-6)
    scores = model.latent_scores(X)
    np.testing.assert_allclose(scores, X @ model.coef_)
    said = (scores[:, None] > model.thresholds_).sum(axis=1)
    assert np.array_equal(model.predict(X), names[said])
    steps = np.arange(4)
    table = np.abs(steps[:, None] - steps) if cost is None else cost
    paid = table[LEVELS, said].mean()
    for shift in RNG.normal(0.0, 0.3, (200, 3)):  # no other thresholds are cheaper
        other = (scores[:, None] > np.sort(model.thresholds_ + shift)).sum(axis=1)
        assert paid <= table[LEVELS, other].mean() + 1e-12
    assert paid < table[LEVELS, 1].mean()


def test_two_levels_are_the_roc_area():
    ordinal = OrdinalClassifier(levels=["no", "yes"], alpha=0.1, tol=1e-8).fit(X, TWO)
    area = MeasureClassifier("roc_area", alpha=0.1, tol=1e-8).fit(X, TWO)
    assert ordinal.objective_ == pytest.approx(area.objective_, rel=1e-7)
    np.testing.assert_allclose(ordinal.coef_, area.coef_[0], atol=1e-3)


# ---- weights of rows


@pytest.mark.parametrize("model", [MeasureClassifier(), OrdinalClassifier(), Ranker()], ids=lambda m: type(m).__name__)
def test_measures_have_no_weights_of_rows_and_say_so(model):
    assert not has_fit_parameter(model, "sample_weight")
    assert "There is no sample_weight" in type(model).__doc__


def test_a_repeated_row_counts_twice_in_all_of_its_pairs():
    times = np.arange(len(LEVELS)) % 3 + 1
    rows = np.repeat(np.arange(len(LEVELS)), times)
    model = OrdinalClassifier(alpha=0.1).fit(X[rows], LEVELS[rows])
    i, j = np.nonzero(LEVELS[:, None] < LEVELS)
    weight = (times[i] * times[j]).astype(float)
    pairs = Problem(X[j] - X[i], np.ones(i.size), "hinge", L2(0.1), sample_weight=weight)
    assert model.objective_ == pytest.approx(solve(pairs, tol=1e-8).certificate.primal, rel=2e-6)


# ---- Ranker


RANKINGS = [
    "ndcg", "mrr", "winner_takes_all", "roc_area", "break_even", NDCG(3), PrecisionAtK(2), RecallAtK(2), ERU(0.5, 3.0)
]  # fmt: skip


@pytest.mark.parametrize("measure", RANKINGS, ids=str)
def test_ranker_is_the_stated_problem_and_bounds_its_score(measure):
    model = Ranker(measure, alpha=0.01, tol=1e-5).fit(X, GRADES, qid=QID)
    y = np.where(GRADES > 0, 1.0, -1.0) if measure == "roc_area" else GRADES
    problem = Problem(X, y, measure, L2(0.01), groups=QID)
    found = certify(problem, model.coef_, 0.0, model.dual_point_)
    assert found.primal == model.objective_
    assert found.holds(1e-5)
    assert model.converged_ is True
    np.testing.assert_allclose(model.predict(X), X @ model.coef_)
    assert 1.0 - model.objective_ <= model.score(X, GRADES, qid=QID) + 1e-9 <= 1.0 + 1e-9
    order = np.random.default_rng(0).permutation(90)  # queries need not be sorted
    mixed = Ranker(measure, alpha=0.01, tol=1e-5).fit(X[order], GRADES[order], qid=QID[order])
    assert mixed.objective_ == pytest.approx(model.objective_, rel=1e-4)
    assert mixed.score(X[order], GRADES[order], qid=QID[order]) > 0.5


def by_query(one):
    found = [one(GRADES[q == QID], q == QID) for q in range(15)]
    return np.mean([value for value in found if value is not None])


def test_scores_are_the_measures_themselves():
    model = Ranker("ndcg", alpha=0.01).fit(X, GRADES, qid=QID)
    z = model.predict(X)

    def found(measure):
        model.measure = measure  # the same scores, judged by another measure
        return model.score(X, GRADES, qid=QID)

    def of(rank):
        return by_query(lambda y, rows: rank(y[np.argsort(-z[rows], kind="stable")]))

    def reciprocal(y):
        return None if not y.any() else 1.0 / (1 + np.argmax(y > 0))

    expected = by_query(lambda y, rows: ndcg_score([2.0**y - 1.0], [z[rows]]) if y.any() else None)
    assert found("ndcg") == pytest.approx(expected)
    assert found("mrr") == pytest.approx(of(reciprocal))
    assert found("winner_takes_all") == pytest.approx(of(lambda y: float(y[0] == y.max())))
    assert found(PrecisionAtK(2)) == pytest.approx(
        of(lambda y: (y[:2] > 0).sum() / min(2, (y > 0).sum()) if y.any() else None)
    )
    assert found(RecallAtK(2)) == pytest.approx(of(lambda y: (y[:2] > 0).sum() / (y > 0).sum() if y.any() else None))
    assert found("break_even") == pytest.approx(of(lambda y: (y[: (y > 0).sum()] > 0).mean() if y.any() else None))
    area = by_query(lambda y, rows: roc_auc_score(y > 0, z[rows]) if 0 < (y > 0).sum() < y.size else None)
    assert found("roc_area") == pytest.approx(area)


PAIRS = ["ndcg_pairs", "map_pairs", "mrr_pairs", "area_pairs", NDCGPairs(2, "logistic", (1.0, 0.5)), MAPPairs("hinge")]


@pytest.mark.parametrize("measure", PAIRS, ids=str)
def test_rankings_by_pairs_are_the_stated_problem(measure):
    weight = np.array([1.0, 2.0, 0.0])[QID % 3]
    model = Ranker(measure, alpha=0.01, tol=1e-5).fit(X, GRADES, qid=QID, query_weight=weight)
    y = np.where(GRADES > 0, 1.0, -1.0) if measure == "area_pairs" else GRADES
    problem = Problem(X, y, measure, L2(0.01), groups=QID, sample_weight=weight)
    found = certify(problem, model.coef_, 0.0, model.dual_point_)
    assert found.primal == model.objective_
    assert found.holds(1e-5)
    kept = weight > 0.0  # a query of weight 0 is as if it were not there
    fewer = Ranker(measure, alpha=0.01, tol=1e-5).fit(X[kept], GRADES[kept], qid=QID[kept], query_weight=weight[kept])
    assert fewer.objective_ == pytest.approx(model.objective_, rel=2e-5)
    assert problem.digest != Problem(X, y, measure, L2(0.01), groups=QID).digest


def test_scores_of_rankings_by_pairs_are_the_measures_they_stand_for():
    model = Ranker(alpha=0.01).fit(X, GRADES, qid=QID)
    z = model.predict(X)
    assert model.score(X, GRADES, qid=QID) == metrics.ndcg(GRADES, z, QID)
    for measure, expected in (
        (NDCGPairs(3), metrics.ndcg(GRADES, z, QID, 3)),
        ("map_pairs", metrics.mean_average_precision(GRADES, z, QID)),
        ("mrr_pairs", metrics.mrr(GRADES, z, QID)),
    ):
        assert model.set_params(measure=measure).score(X, GRADES, qid=QID) == expected
    area = model.set_params(measure="area_pairs").score(X, GRADES, qid=QID)
    assert area == model.set_params(measure="roc_area").score(X, GRADES, qid=QID)


def test_measures_that_take_no_weights_of_queries_say_so():
    with pytest.raises(InputError, match="NDCG is one loss of all scores"):
        Ranker("ndcg").fit(X, GRADES, qid=QID, query_weight=1.0 + (QID == 1))


def test_tied_scores_count_as_the_mean_of_their_orders():
    model = Ranker("winner_takes_all", alpha=0.1).fit(X, GRADES, qid=QID)
    model.coef_ = np.zeros(4)
    expected = by_query(lambda y, rows: (y == y.max()).mean())
    assert model.score(X, GRADES, qid=QID) == pytest.approx(expected)


def test_a_measure_of_your_own():
    class Spread(Measure):
        nonnegative = True

        def prepare(self, y, groups=None, weights=None):
            return np.asarray(y, dtype=float)

        def value_and_slope(self, z, prepared, out):
            margin = 1.0 - prepared * z
            out[:] = np.where(margin > 0.0, -prepared, 0.0) / z.size
            return float(np.maximum(margin, 0.0).mean())

    hinge = solve(Problem(X, SIGNS, "hinge", alpha=0.1))
    model = MeasureClassifier(Spread(), alpha=0.1).fit(X, TWO)
    assert model.objective_ == pytest.approx(hinge.certificate.primal, rel=1e-5)


@pytest.mark.parametrize(
    ("model", "y", "qid", "message"),
    [
        (Ranker(), GRADES, None, "qid is missing"),
        (Ranker(), GRADES, QID[:5], "one entry per row"),
        (Ranker("ndgc"), GRADES, QID, "Did you mean 'ndcg'"),
        (Ranker("f_beta"), GRADES, QID, "unknown measure for ranking"),
        (Ranker(FBeta()), GRADES, QID, "'f_beta' is not for ranking"),
        (Ranker("eru"), GRADES, QID, "neutral"),
        (Ranker(), -GRADES, QID, "NDCG needs every relevance"),
        (Ranker(MRR()), np.zeros(90), QID, "nothing to rank"),
        (Ranker(max_iter=-1), GRADES, QID, "max_iter"),
    ],
)
def test_bad_rankings(model, y, qid, message):
    with pytest.raises((InputError, UnknownNameError), match=message):
        model.fit(X, y, qid=qid)


@pytest.mark.parametrize("measure", ["ndcg", "mrr", "winner_takes_all"])
def test_rows_of_queries_may_come_in_any_order(measure):
    order = np.random.default_rng(1).permutation(QID.size)
    sorted_rows = Ranker(measure, alpha=0.1, tol=1e-5).fit(X, GRADES, qid=QID)
    shuffled = Ranker(measure, alpha=0.1, tol=1e-5).fit(X[order], GRADES[order], qid=QID[order])
    assert shuffled.objective_ == pytest.approx(sorted_rows.objective_, rel=1e-4)
    assert shuffled.score(X[order], GRADES[order], qid=QID[order]) == pytest.approx(
        shuffled.score(X, GRADES, qid=QID), abs=1e-12
    )


def test_score_needs_queries_too():
    model = Ranker(alpha=0.1).fit(X, GRADES, qid=QID)
    with pytest.raises(InputError, match="qid is missing"):
        model.score(X, GRADES)


# ---- paths and model files


def test_path_keeps_the_queries():
    problem = Problem(X, GRADES, "ndcg", alpha=1.0, groups=QID)
    (found,) = fenchel.path(problem, [0.1])
    expected = solve(Problem(X, GRADES, "ndcg", alpha=0.1, groups=QID))
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-5)


@pytest.mark.parametrize("measure", [*RANKINGS[4:], *PAIRS[4:], Ordinal(COST), FBeta(2.0)], ids=str)
def test_models_are_saved_and_loaded_bit_for_bit(measure, tmp_path):
    groups = None if isinstance(measure, Ordinal | FBeta) else QID
    y = SIGNS if isinstance(measure, FBeta) else LEVELS if groups is None else GRADES
    problem = Problem(X, y, measure, "l2", alpha=0.1, groups=groups)
    result = solve(problem, tol=1e-3)
    fenchel.save(tmp_path / "a", result)
    model = fenchel.load(tmp_path / "a")
    fenchel.save(tmp_path / "b", model)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert model.loss == problem.loss
    points = model.dual_points
    assert certify(problem, model.coef, 0.0, (points[:, 0], points[:, 1:])) == result.certificate
    assert np.array_equal(model.predict(X), X @ result.coef)


def test_thresholds_are_kept_in_the_file(tmp_path):
    result = solve(Problem(X, LEVELS, Ordinal(), alpha=0.1))
    about = {"labels": ["a", "b", "c", "d"], "thresholds": [0.0, 0.5, 0.5]}
    model = fenchel.Model.from_result(result, **about)
    fenchel.save(tmp_path / "m", model)
    back = fenchel.load(tmp_path / "m")
    assert back.thresholds == (0.0, 0.5, 0.5)
    z = X @ result.coef
    assert np.array_equal(back.predict(X), np.select([z <= 0.0, z <= 0.5], ["a", "b"], "d"))
    for wrong in ([0.0, 0.5], [0.5, 0.0, 1.0], [0.0, 1.0, np.inf], None):
        with pytest.raises(InputError, match="labels must be|thresholds must be"):
            fenchel.Model.from_result(result, labels=["a", "b", "c", "d"], thresholds=wrong)
    hinge = solve(Problem(X, SIGNS, alpha=0.1))
    with pytest.raises(InputError, match="for measures and novelty only"):
        fenchel.Model.from_result(hinge, labels=["a", "b"], thresholds=[0.0])
