"""Held-out scores and errors are those of n refits, on small sets of every kind; single bounds hold at gaps of every size."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import scale

import fenchel
from fenchel import regularizers as R
from fenchel.errors import InputError
from fenchel.kernel_methods import KernelProblem
from fenchel.proofs import breakpoint_steps, curvature, removal
from fenchel.proofs.settings import Settings

N, D = 16, 3
REGULARIZERS = {
    "l2": R.L2(0.05),
    "weights": R.L2(0.05, weights=[0.1, 1.0, 3.0]),
    "elastic_net": R.ElasticNet(0.05),
    "dense": R.Quadratic(0.02, np.diag([1.0, 2.0, 3.0]) + 0.5),
    "shifted": R.Shifted(R.L2(0.05), center=[1.0, 0.0, -1.0]),
}
SIGNS = ("logistic", "hinge", "squared_hinge")
CASES = [  # loss, regularizer, intercept, weights
    ("logistic", "l2", False, False),
    ("logistic", "l2", True, True),
    ("logistic", "weights", True, False),
    ("logistic", "elastic_net", False, True),
    ("logistic", "dense", True, False),
    ("logistic", "shifted", False, False),
    ("hinge", "l2", False, True),
    ("hinge", "l2", True, False),
    ("hinge", "weights", True, True),
    ("hinge", "elastic_net", True, False),
    ("absolute", "l2", True, True),
    ("absolute", "weights", False, False),
    ("quantile", "l2", True, False),
    ("squared_hinge", "l2", True, False),
    ("squared_hinge", "dense", False, True),
    ("squared", "l2", True, True),
    ("squared", "weights", False, False),
    ("squared", "elastic_net", True, False),
    ("squared", "shifted", True, True),
    ("huber", "l2", False, False),
    ("huber", "dense", True, True),
]


def data(loss, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D)) * [1.0, 3.0, 0.3] + [1.0, 0.0, 0.0]
    target = X @ [1.0, 0.1, -1.0] + rng.standard_normal(N) - 0.7
    return X, np.sign(target) if loss in SIGNS else target


def make(loss, regularizer, intercept, weighted, seed=0, storage=np.asarray):
    X, y = data(loss, seed)
    s = np.random.default_rng(2).random(N) + 0.2 if weighted else np.ones(N)
    options = {"offset": 0.1 * np.sin(np.arange(N))} if weighted else {}
    return fenchel.Problem(
        storage(X), y, loss, REGULARIZERS[regularizer], fit_intercept=intercept, sample_weight=s, **options
    )


def refitted(problem, rows, renormalise=True):
    """The score of some rows at the optimum without them, from a problem of the other rows alone."""
    keep = np.ones(problem.n, dtype=bool)
    keep[rows] = False
    share = 1.0 if renormalise else float(problem.weights[keep].sum())
    given = getattr(problem, "given", problem.regularizer)
    options = {"offset": problem.offset[keep]} if problem.has_offset else {}
    rest = fenchel.Problem(
        problem.X[keep], problem.y[keep], problem.loss, given.scaled(given.alpha / share),
        fit_intercept=problem.has_intercept, sample_weight=problem.weights[keep], **options,
    )  # fmt: skip
    found = fenchel.solve(rest, tol=1e-13, max_time=20.0)
    return np.asarray(problem.X[rows] @ found.coef.T) + found.intercept + (
        problem.offset[rows] if options else 0.0
    ), found


@pytest.mark.parametrize("renormalise", [True, False])
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_it_equals_n_refits(case, renormalise):
    problem = make(*case)
    found = fenchel.leave_one_out(fenchel.solve(problem, tol=1e-7), renormalise=renormalise)
    refits = [refitted(problem, [i], renormalise) for i in range(N)]
    z = np.array([scores[0] for scores, _ in refits])
    slack = 1e-10 + np.array([4.0 * np.sqrt(abs(r.certificate.gap) + r.certificate.floor) for _, r in refits])
    assert np.all((found.lower <= z + slack) & (z - slack <= found.upper))
    p = problem.weights
    if case[0] in SIGNS:
        assert found.decided.mean() > 0.8
        right = np.abs(z) > slack
        assert np.array_equal((found.lower > 0.0)[found.decided & right], (z > 0.0)[found.decided & right])
        wrong = float(p @ ((z > 0.0) != (problem.y > 0.0)))
        assert found.error.low - 1e-12 <= wrong <= found.error.high + 1e-12
        assert found.error.high - found.error.low <= float(p[~found.decided].sum()) + 1e-12
    else:
        loss = problem.loss
        mean = float(p @ [loss.value(a, b) for a, b in zip(z, problem.y, strict=True)])
        doubt = float(p @ ((1.0 + np.abs(z - problem.y)) * slack))
        assert found.error.low - doubt <= mean <= found.error.high + doubt
        assert found.error.high - found.error.low < 0.05 * mean


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("case", [0, 1, 3, 6, 7, 9, 11, 16])
def test_each_bound_holds_at_every_gap(case, tol):
    problem = make(*CASES[case])
    result = fenchel.solve(problem, tol=tol)
    kept = 1.0 - problem.weights
    z = np.array([refitted(problem, [i])[0][0] for i in range(N)])
    pair, tuning = removal.Pair(result, kept), Settings()
    bounds = [
        curvature.curvature_intervals(result, kept, lambda _: False, tuning),
        removal.probed_intervals(pair, tuning),
    ]
    if not problem.has_intercept:
        region = removal.ball_regions(pair)
        bounds.append(curvature.Ends(region.scores - region.width, region.scores + region.width))
    for found in bounds:
        if found is not None:
            assert np.all((found.low <= z + 1e-6) & (z - 1e-6 <= found.high))


def test_curvature_gives_the_closed_form_of_least_squares():
    X, y = data("squared", 5)
    problem = fenchel.Problem(X, y, "squared", alpha=0.1)
    found = fenchel.leave_one_out(fenchel.solve(problem, tol=1e-10), width=1e-6)
    hat = X @ np.linalg.solve(X.T @ X + (N - 1) * 0.1 * np.eye(D), X.T)  # alpha is relative to the mean of n - 1 losses
    z = y - (y - hat @ y) / (1.0 - np.diag(hat))
    assert found.refits == 0 and np.allclose(found.lower, z, atol=1e-6) and np.allclose(found.upper, z, atol=1e-6)


@pytest.mark.parametrize("loss", ["softmax", "max_hinge"])
def test_classes_of_several_scores(loss):
    X, y = load_iris(return_X_y=True)
    X, y = (X - X.mean(axis=0))[::7], y[::7]
    problem = fenchel.Problem(X, y, loss, alpha=0.02)
    found = fenchel.leave_one_out(fenchel.solve(problem, tol=1e-6))
    z = np.array([refitted(problem, [i])[0][0] for i in range(len(y))])
    assert np.all((found.lower <= z + 1e-6) & (z - 1e-6 <= found.upper))
    wrong = float(np.mean(z.argmax(axis=1) != y))
    assert found.decided.all() and found.error.low == pytest.approx(wrong, abs=1e-12) == found.error.high


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_kernel_machines(loss, intercept):
    X, y = data(loss, 3)
    make_rest = lambda keep: KernelProblem(  # noqa: E731
        X[keep], y[keep], loss, alpha=0.05, fit_intercept=intercept, kernel="rbf", kernel_params={"gamma": 0.3}
    )
    found = fenchel.leave_one_out(fenchel.solve(make_rest(np.ones(N, dtype=bool)), tol=1e-7))
    for i in range(N):
        keep = np.arange(N) != i
        rest = fenchel.solve(make_rest(keep), tol=1e-12, max_time=10.0)
        z = float((rest.problem.gram.function(X[i : i + 1], X[keep]) @ rest.coef)[0] + rest.intercept)
        assert found.lower[i] - 1e-5 <= z <= found.upper[i] + 1e-5
    assert found.decided.mean() > 0.8


@pytest.mark.parametrize("renormalise", [True, False])
@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared"])
def test_whole_folds(loss, renormalise):
    problem = make(loss, "l2", True, True)
    folds = np.array(list("abcd"))[np.arange(N) % 4]
    found = fenchel.leave_one_out(fenchel.solve(problem, tol=1e-7), folds=folds, renormalise=renormalise)
    for label in "abcd":
        rows = np.flatnonzero(folds == label)
        z, _ = refitted(problem, rows, renormalise)
        assert np.all((found.lower[rows] <= z + 1e-5) & (z - 1e-5 <= found.upper[rows]))
    assert found.decided.mean() > 0.8 and found.refits <= 4


def test_few_refits_on_real_data():
    X, y = load_breast_cancer(return_X_y=True)
    problem = fenchel.Problem(scale(X), 2.0 * y - 1.0, "logistic", alpha=0.01, fit_intercept=True)
    found = fenchel.leave_one_out(fenchel.solve(problem))
    assert found.decided.all() and found.refits <= 0.02 * len(y) and found.error.low == found.error.high
    none = fenchel.leave_one_out(fenchel.solve(problem), max_refits=0)
    assert none.refits == 0 and none.error.low <= found.error.low <= none.error.high
    assert np.array_equal(none.decided.sum() + found.refits, len(y))


def test_storage_and_precision_do_not_matter():
    dense = fenchel.leave_one_out(fenchel.solve(make(*CASES[1]), tol=1e-8))
    for storage in (sp.csr_matrix, lambda X: X.astype(np.float32), lambda X: sp.csr_matrix(X.astype(np.float32))):
        other = fenchel.leave_one_out(fenchel.solve(make(*CASES[1], storage=storage), tol=1e-8))
        assert np.allclose(other.lower, dense.lower, atol=1e-4) and np.allclose(other.upper, dense.upper, atol=1e-4)


def test_what_cannot_be_left_out_is_refused_or_left_open():
    X, y = data("logistic", 1)
    l1 = fenchel.solve(fenchel.Problem(X, y, "logistic", "l1", alpha=0.1))
    with pytest.raises(InputError, match="not strongly convex"):
        fenchel.leave_one_out(l1)
    measure = fenchel.solve(fenchel.Problem(X, y, fenchel.measures.FBeta(), alpha=0.1), tol=1e-2)
    with pytest.raises(InputError, match="sums of losses"):
        fenchel.leave_one_out(measure)
    free = fenchel.solve(fenchel.Problem(X, np.arange(N) % 3, "softmax", fit_intercept=True, alpha=0.1))
    with pytest.raises(InputError, match="free intercepts"):
        fenchel.leave_one_out(free)
    binary = fenchel.solve(fenchel.Problem(X, y, "logistic", alpha=0.1))
    with pytest.raises(InputError, match="one label per row"):
        fenchel.leave_one_out(binary, folds=[1, 2])
    alone = np.where(np.arange(N) == 0, 1.0, -1.0)  # without row 0 there is one label, and no best intercept
    found = fenchel.leave_one_out(fenchel.solve(fenchel.Problem(X, alone, "logistic", alpha=0.1, fit_intercept=True)))
    assert found.lower[0] == -np.inf and found.error.high >= 1.0 / N and (found.upper[0] <= 0.0 or not found.decided[0])


@pytest.mark.parametrize(
    ("loss", "real"), [("hinge", "cancer"), ("hinge", "diabetes"), ("absolute", "diabetes"), ("quantile", "diabetes")]
)
def test_losses_of_two_linear_pieces_need_no_refits(loss, real):
    """Predictions along the weight of a row that falls to 0: every solution without a row, certified without a refit."""
    X, y = (load_breast_cancer if real == "cancer" else load_diabetes)(return_X_y=True)
    X, y = scale(X), np.sign(y - np.median(y) - 0.25) if loss == "hinge" else scale(y)
    if real == "cancer":
        y = 2.0 * load_breast_cancer().target - 1.0
    for storage in (np.asarray, sp.csr_matrix) if loss == "hinge" else (np.asarray,):
        result = fenchel.solve(fenchel.Problem(storage(X), y, loss, alpha=0.1, fit_intercept=True), tol=1e-7)
        found = fenchel.leave_one_out(result)
        assert found.decided.all() and found.refits <= 0.02 * len(y) and found.predicted > 0
        for i in (3, 77, 200):
            z, refit = refitted(result.problem, [i])
            slack = 1e-10 + 10.0 * np.sqrt(abs(refit.certificate.gap) + refit.certificate.floor)
            assert found.lower[i] - slack <= z[0] <= found.upper[i] + slack


@pytest.mark.parametrize("wrong", [0.5, 0.0, np.nan])
def test_a_wrong_prediction_proves_nothing_false(wrong, monkeypatch):
    problem = make("hinge", "l2", True, False)
    honest = breakpoint_steps.BreakpointSteps.predict

    def lie(self, reduced):
        found = honest(self, reduced)
        return (
            None
            if found is None
            else breakpoint_steps.Predicted(wrong * found.coef + 1.0, found.intercept - 1.0, wrong * found.u)
        )

    monkeypatch.setattr(breakpoint_steps.BreakpointSteps, "predict", lie)
    found = fenchel.leave_one_out(fenchel.solve(problem, tol=1e-7))
    z = np.array([refitted(problem, [i])[0][0] for i in range(N)])
    assert np.all((found.lower <= z + 1e-5) & (z - 1e-5 <= found.upper))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_refits": -1}, "max_refits must be"),
        ({"max_refits": 1.5}, "max_refits must be"),
        ({"width": -1.0}, "width must be"),
        ({"width": np.nan}, "width must be"),
        ({"width": "wide"}, "width must be"),
        ({"folds": np.where(np.arange(N) == 3, np.nan, 1.0)}, "NaN in row 3"),
    ],
)
def test_wrong_arguments_are_refused(options, words):
    X, y = data("logistic", 1)
    result = fenchel.solve(fenchel.Problem(X, y, "logistic", alpha=0.1))
    with pytest.raises(InputError, match=words):
        fenchel.leave_one_out(result, **options)


@pytest.mark.parametrize("given", [3, None, "result"])
def test_what_is_no_result_is_refused(given):
    with pytest.raises(InputError, match="takes a Result"):
        fenchel.leave_one_out(given)
