"""Structured models of a user's own: wrong oracles, costs and features are caught, and never falsely certified."""

import numpy as np
import pytest

import fenchel
from fenchel import Status, structured
from fenchel.errors import FenchelError, InputError

ORACLES = {
    "always gold": 1, "the first label": 2, "the second best": 3, "the worst": 4, "without the cost": 5,
    "without the weights": 6, "random": 7, "of half the labels": 8, "of the negated weights": 9, "twice the cost": 10,
    "half the weights": 11, "one feature forgotten": 12, "a local search": 13, "of rounded weights": 14,
    "wrong for one label": 15, "stale": 16, "of the features of label 0 only": 17, "claims more": 18, "claims less": 19,
    "only the margin's sign": 20,
}  # fmt: skip
COSTS = {"of the own label": 31, "negative": 32, "NaN": 33, "random": 34, "infinite": 35}
FEATURES = {"random": 41, "NaN": 42, "of another length": 43, "not those of the oracle": 44, "shifted by the call": 45}
LABELS = 4
CHANGING = np.random.default_rng(6)


class Planted:
    """Labels 0 .. 3, phi(x, y) = x in block y and one shared feature, cost |y - yhat| / 3, with a fault."""

    def __init__(self, fault=0):
        self.fault, self.calls = fault, 0
        self.dim = 3 * LABELS + 1

    def phi(self, x, y):
        out = np.zeros(self.dim)
        out[3 * y : 3 * y + 3] = x
        out[-1] = (y - 1.5) * x[0]
        return out

    def features(self, x, y):
        self.calls += 1
        k, found = self.fault, self.phi(x, y)
        if k == 41:
            found = found + 0.1 * CHANGING.standard_normal(self.dim)
        elif k == 42 and y == 2:
            found[0] = np.nan
        elif k == 43 and y == 2:
            found = found[:-1]
        elif k == 44:
            found = found[::-1].copy()
        elif k == 45:
            found = found * (1.0 + 0.01 * self.calls)
        return found

    def true_cost(self, y, yhat):
        return abs(y - yhat) / 3.0

    def cost(self, y, yhat):
        k, found = self.fault, self.true_cost(y, yhat)
        if k == 31:
            return found + 0.1
        if k == 32:
            return -found
        if k == 33:
            return np.nan if yhat == 2 and y != 2 else found
        if k == 34:
            return found * (1.0 + 0.1 * CHANGING.random())
        if k == 35:
            return np.inf if yhat == 2 and y != 2 else found
        return found

    def max_oracle(self, w, x, y):
        k = self.fault
        self.calls += 1
        scores = np.array([w @ self.phi(x, j) for j in range(LABELS)])
        costs = np.array([self.true_cost(y, j) for j in range(LABELS)])
        order = np.argsort(-(scores + costs), kind="stable")
        if k == 1:
            return y
        if k == 2:
            return 0
        if k == 3:
            return int(order[1])
        if k == 4:
            return int(order[-1])
        if k == 7:
            return int(CHANGING.integers(LABELS))
        if k == 8:
            return int(np.argmax((scores + costs)[:2]))
        if k == 13:
            near = [j for j in (y - 1, y, y + 1) if 0 <= j < LABELS]
            return max(near, key=lambda j: scores[j] + costs[j])
        if k == 15:
            return int(order[1]) if order[0] == 2 and y != 2 else int(order[0])
        if k == 16:
            return int(order[0]) if self.calls % 7 else 3 - int(order[0])
        if k in (18, 19):
            return int(order[0]), float((scores + costs)[order[0]] + (1.0 if k == 18 else -1.0))
        if k == 12:
            scores = scores - w[-1] * np.array([self.phi(x, j)[-1] for j in range(LABELS)])
        totals = {
            5: scores, 6: costs, 9: costs - scores, 10: scores + 2 * costs, 11: 0.5 * scores + costs,
            14: np.round(scores) + costs, 17: scores[0] + costs, 20: np.sign(scores) + costs,
        }.get(k, scores + costs)  # fmt: skip
        return int(np.argmax(totals))

    def predict(self, w, x):
        return int(np.argmax([w @ self.phi(x, j) for j in range(LABELS)]))


RNG = np.random.default_rng(7)
X = [RNG.normal(size=3) for _ in range(10)]
Y = [int(np.argmax([x @ t for t in np.eye(3)])) for x in X[:7]] + [3, 3, 1]
ALL = [
    pytest.param(fault, id=f"{part} {name}")
    for part, faults in (("oracle", ORACLES), ("cost", COSTS), ("features", FEATURES))
    for name, fault in faults.items()
]


def objective(w, alpha, examples=X, labels=Y):
    """By going through all labels."""
    model, total = Planted(), 0.0
    for x, y in zip(examples, labels, strict=True):
        gold = w @ model.phi(x, y)
        total += max(w @ model.phi(x, j) - gold + model.true_cost(y, j) for j in range(LABELS))
    return total / len(examples) + alpha / 2 * w @ w


def test_there_are_many_of_them():
    assert len(ALL) >= 30


@pytest.mark.parametrize("fault", ALL)
def test_a_problem_refuses_what_is_planted(fault):
    with pytest.raises(InputError):
        fenchel.Problem(X, Y, loss=Planted(fault), alpha=0.1)


@pytest.mark.parametrize("alpha", [0.3, 0.02])
@pytest.mark.parametrize("fault", [p for p in ALL if p.values[0] <= 20])
def test_an_oracle_that_slipped_through_is_never_falsely_certified(monkeypatch, fault, alpha):
    monkeypatch.setattr("fenchel.structured.soundness.check", lambda model, examples, labels: None)
    for solver in ("block_frank_wolfe", "bundle"):
        try:
            problem = fenchel.Problem(X, Y, loss=Planted(fault), alpha=alpha)
            result = fenchel.solve(problem, solver=solver, tol=1e-3, max_iter=60)
        except FenchelError:
            continue
        if result.status is Status.CERTIFIED:  # then the value of the weights is what they are said to have, at most
            exact = objective(result.coef, alpha)
            assert exact <= result.certificate.primal + 1e-6
            assert result.certificate.dual <= exact + 1e-9


@pytest.mark.parametrize("solver", ["block_frank_wolfe", "cutting_plane", "bundle"])
def test_what_has_no_fault_is_certified_and_says_what_it_assumes(solver):
    problem = fenchel.Problem(X, Y, loss=Planted(), alpha=0.1)
    result = fenchel.solve(problem, solver=solver, tol=1e-3)
    assert result.status is Status.CERTIFIED
    assert result.certificate.basis == "exact max-oracle assumed"
    assert result.certificate.primal == pytest.approx(objective(result.coef, 0.1), rel=1e-9)
    structured.check(Planted(), X, Y)


def test_the_optimum_is_that_of_a_compiled_model():
    own = fenchel.solve(fenchel.Problem(X, Y, loss=Planted(), alpha=0.1), tol=1e-6)
    import cvxpy as cp

    w, model = cp.Variable(own.coef.size), Planted()
    terms = [
        cp.max(cp.hstack([w @ (model.phi(x, j) - model.phi(x, y)) + model.true_cost(y, j) for j in range(LABELS)]))
        for x, y in zip(X, Y, strict=True)
    ]
    best = cp.Problem(cp.Minimize(sum(terms) / len(X) + 0.05 * cp.sum_squares(w))).solve(solver="CLARABEL")
    assert own.certificate.primal == pytest.approx(best, rel=2e-6)
    assert own.certificate.dual <= best + 1e-7


def test_an_oracle_that_says_it_may_miss_the_maximum_is_held_to_the_labels_known():
    class Near(Planted):
        exact = False

    problem = fenchel.Problem(X, Y, loss=Near(13), alpha=0.05)
    result = fenchel.solve(problem, solver="bundle", tol=1e-3, max_iter=40)
    assert result.certificate.basis == "approximate max-oracle"
    assert result.certificate.primal <= objective(result.coef, 0.05) + 1e-9
    assert result.certificate.dual <= objective(result.coef, 0.05)


def test_labels_are_gone_through_if_the_model_lists_them():
    class Lists(Planted):
        def max_oracle(self, w, x, y):
            others = [j for j in range(LABELS) if j != 1 or y == 1]
            return max(others, key=lambda j: w @ self.phi(x, j) + self.true_cost(y, j))

        def predict(self, w, x):
            return max((0, 2, 3), key=lambda j: w @ self.phi(x, j))

    with pytest.raises(InputError, match="not the maximum"):
        structured.check(type("All", (Lists,), {"labels": lambda self, x: range(LABELS)})(), X, Y)
    structured.check(Lists(), X, Y)  # nobody could know


@pytest.mark.parametrize("loss", ["log"])
def test_a_log_loss_without_log_partition_is_refused_by_name(loss):
    model = Planted()
    model.loss = loss
    with pytest.raises(InputError, match="log_partition"):
        fenchel.Problem(X, Y, loss=model, alpha=0.1)


class Listed(Planted):
    """The same with all labels listed, and optionally a log-loss, perhaps with its own sum."""

    def __init__(self, loss="hinge", leave=0):
        super().__init__()
        self.loss, self.leave = loss, leave

    def labels(self, x):
        return list(range(LABELS - self.leave))


class Summed(Planted):
    """A log-loss from `log_partition`; fault 1: the expected features of half the weights, 2: the value is concave."""

    loss = "log"

    def log_partition(self, w, x):
        scores = np.array([w @ self.phi(x, y) for y in range(LABELS)])
        shares = np.exp((0.5 if self.wrong == 1 else 1.0) * (scores - scores.max()))
        expected = (shares / shares.sum()) @ np.array([self.phi(x, y) for y in range(LABELS)])
        value = scores.max() + np.log(np.exp(scores - scores.max()).sum())
        return (-value, -expected) if self.wrong == 2 else (value, expected)

    def __init__(self, wrong=0):
        super().__init__()
        self.wrong = wrong


def rows(n=12):
    rng = np.random.default_rng(3)
    x = [rng.standard_normal(3) for _ in range(n)]
    return x, [int(abs(z[0] + rng.standard_normal()) * 1.5) % LABELS for z in x]


@pytest.mark.parametrize(
    "solver", [fenchel.solvers.Extragradient(), fenchel.solvers.Extragradient("entropic"), "pragam"]
)
def test_models_that_list_their_labels_have_parts(solver):
    x, y = rows()
    made = fenchel.Problem(x, y, loss=Listed(), alpha=0.1)
    best = fenchel.solve(made, solver="bundle", tol=1e-7).certificate
    result = fenchel.solve(made, solver=solver, tol=1e-3)
    assert result.status is Status.CERTIFIED
    assert best.dual * (1 - 1e-9) <= result.certificate.primal <= best.primal * (1 + 1.1e-3)
    assert result.certificate.dual <= best.primal * (1 + 1e-9)
    assert fenchel.certify(made, result.coef, dual_point=result.dual_point).holds(1e-3)
    assert fenchel.check_proof(made, result.coef, dual_point=result.dual_point).holds(1.1e-3)
    marginals = fenchel.structured.Marginals(LABELS * np.arange(13), np.full(12 * LABELS, 0.9))
    assert fenchel.certify(made, result.coef, dual_point=marginals).dual <= best.primal  # sums above 1 are scaled


def test_labels_that_are_not_listed_leave_a_lower_bound():
    x, y = rows()
    y = [label % 3 for label in y]
    best = fenchel.solve(fenchel.Problem(x, y, loss=Listed(), alpha=0.1), solver="bundle", tol=1e-6).certificate
    some = fenchel.solve(
        fenchel.Problem(x, y, loss=Listed(leave=1), alpha=0.1), solver="pragam", tol=1e-3, max_iter=200
    )
    assert some.certificate.dual <= best.primal
    assert some.certificate.primal >= best.dual


@pytest.mark.parametrize("solver", ["lbfgs", "bundle"])
def test_log_losses_of_own_models_are_the_softmax(solver):
    """Against the compiled softmax: the shared feature is tied to the labels' blocks, so that features are the same."""
    x, y = rows()
    features = [np.array([Planted().phi(z, label) for label in range(LABELS)]) for z in x]

    def objective(w):
        losses = [np.log(np.exp(F @ w).sum()) - F[label] @ w for F, label in zip(features, y, strict=True)]
        return np.mean(losses) + 0.05 * w @ w

    for model in (Listed("log"), Summed()):
        made = fenchel.Problem(x, y, loss=model, alpha=0.1)
        result = fenchel.solve(made, solver=solver, tol=1e-5)
        assert result.status is Status.CERTIFIED
        assert result.certificate.basis == "log partition assumed"
        assert result.certificate.primal == pytest.approx(objective(result.coef), rel=1e-12)
        near = np.random.default_rng(0).standard_normal((50, made.d))
        assert all(objective(result.coef + 0.1 * step) >= result.certificate.dual for step in near)


@pytest.mark.parametrize("wrong", [1, 2])
def test_sums_that_are_not_convex_or_have_other_slopes_are_caught(wrong):
    x, y = rows()
    with pytest.raises(InputError, match="below its tangent"):
        fenchel.Problem(x, y, loss=Summed(wrong), alpha=0.1)
