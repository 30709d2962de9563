"""Measures of a user's own: wrong ones are refused, and never falsely certified."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import fenchel
from fenchel import Status, measures
from fenchel.errors import InputError, SolveError
from fenchel.measures import Measure
from fenchel.measures.queries import NothingToRank

SLOPES = {
    "half": 1, "twice": 2, "sign": 3, "shifted": 4, "0": 5, "one row forgotten": 6, "NaN": 7, "reversed": 8, "clipped": 9,
    "random": 10, "not set": 11, "wrong far away": 12, "wrong on one side": 13,
}  # fmt: skip
VALUES = {
    "capped": 30, "a wave on it": 31, "falls far away": 32, "concave": 33, "a step down": 34, "random": 35, "NaN far away": 36,
    "minus a constant, nonnegative": 37, "two wells": 38, "a list": 39,
}  # fmt: skip
CHANGING = np.random.default_rng(8)


@dataclass(frozen=True)
class Planted(Measure):
    """|z - y|_2, |z - y|^2 / (2 n) or max |z - y| (shape 0, 1, 2) with a fault."""

    fault: int = 0
    shape: int = 0

    nonnegative = True

    def prepare(self, y, groups=None, weights=None):
        return np.asarray(y, dtype=float)

    def value_and_slope(self, z, y, out):
        r, k = z - y, self.fault
        size = float(np.max(np.abs(r)))
        if self.shape == 0:
            value = float(np.linalg.norm(r))
            g = r / value if value > 0 else 0 * r
        elif self.shape == 1:
            value, g = float(r @ r) / (2 * r.size), r / r.size
        else:
            j = int(np.argmax(np.abs(r)))
            value, g = size, np.eye(r.size)[j] * np.sign(r[j])
        g = {
            1: 0.5 * g, 2: 2.0 * g, 3: -g, 4: g + 0.05, 5: 0 * g, 6: g * (np.abs(g) < np.max(np.abs(g))), 7: math.nan * g,
            8: g[::-1], 9: np.clip(g, -0.01, 0.01), 10: g + 0.1 * CHANGING.standard_normal(g.size),
            12: 3.0 * g if size > 3.0 else g, 13: np.where(r > 0, 0.5 * g, g),
        }.get(k, g)  # fmt: skip
        value = {
            30: min(value, 0.2), 31: value + math.sin(3.0 * z[0]), 32: value if size < 3.0 else -size, 33: -value,
            34: value if size < 2.0 else value - 1.0, 35: value + 0.1 * CHANGING.random(),
            36: value if size < 3.0 else math.nan, 37: value - 5.0, 38: min(value, abs(z[0] + 2.0) - 0.5), 39: [value],
        }.get(k, value)  # fmt: skip
        if k != 11:
            out[:] = g
        return value


RNG = np.random.default_rng(4)
X = RNG.normal(size=(12, 2))
Y = X @ [1.0, -0.5] + 0.3 * RNG.normal(size=12)


def lowest(measure):
    best, out = math.inf, np.empty(12)
    for a in np.linspace(-4, 4, 41):
        for b in np.linspace(-4, 4, 41):
            value = measure.value_and_slope(X @ [a, b], Y, out)
            best = min(best, (math.inf if value != value else value) + 0.05 * (a * a + b * b))
    return best


ALL = [
    pytest.param(Planted(fault, shape), id=f"{name}-{shape}")
    for shape in (0, 1, 2)
    for name, fault in {**{f"slope {k}": v for k, v in SLOPES.items()}, **VALUES}.items()
]


def test_there_are_many_of_them():
    assert len(ALL) >= 60


@pytest.mark.parametrize("measure", ALL)
def test_a_problem_refuses_what_is_planted(measure):
    with pytest.raises(InputError, match="Planted is not a valid measure"):
        fenchel.Problem(X, Y, loss=measure, alpha=0.1)


@pytest.mark.parametrize("measure", [p for p in ALL if p.values[0].fault != 39])
def test_what_slipped_through_is_never_falsely_certified(monkeypatch, measure):
    monkeypatch.setattr(measures, "check_foreign", lambda measure, y, groups: None)
    problem, best = fenchel.Problem(X, Y, loss=measure, alpha=0.1), lowest(measure)
    for w in ([0.0, 0.0], [1.0, -0.5], [-2.0, 2.0]):
        try:
            found = fenchel.certify(problem, w)
        except InputError:
            continue
        assert found.dual <= best + found.floor + 1e-9 * (1 + abs(best))
    try:
        result = fenchel.solve(problem, tol=1e-3, max_iter=60)
    except (InputError, SolveError):
        return
    assert result.status is not Status.CERTIFIED or result.certificate.dual <= best + 1e-6 * (1 + abs(best))


@pytest.mark.parametrize("shape", [0, 1, 2])
@pytest.mark.parametrize("regularizer", ["l2", "l1"])
def test_what_has_no_fault_is_certified(shape, regularizer):
    import cvxpy as cp

    result = fenchel.solve(fenchel.Problem(X, Y, loss=Planted(0, shape), regularizer=regularizer, alpha=0.1), tol=1e-6)
    w = cp.Variable(2)
    r = X @ w - Y
    risk = [cp.norm(r), cp.sum_squares(r) / 24, cp.norm(r, "inf")][shape]
    penalty = 0.05 * cp.sum_squares(w) if regularizer == "l2" else 0.1 * cp.norm1(w)
    best = cp.Problem(cp.Minimize(risk + penalty)).solve(solver="CLARABEL")
    assert result.status is Status.CERTIFIED
    assert result.certificate.basis == "tangents"
    assert result.certificate.primal == pytest.approx(best, rel=2e-6)
    assert result.certificate.dual <= best * (1 + 1e-7)


def test_claims_are_checked():
    class Shifts(Planted):
        shift_invariant = True

    with pytest.raises(InputError, match="shift_invariant is set"):
        measures.check(Shifts())


@pytest.mark.parametrize("name", sorted(measures.MEASURES))
def test_the_measures_of_the_package_pass_the_check(name):
    y = np.array([2.0, 0.0, 1.0, 0.0, 3.0, 0.0, 1.0, 2.0])
    graded = name in ("ndcg", "eru", "mrr", "winner_takes_all", "ordinal") or name.endswith("_pairs")
    special = {
        "precision_at_k": measures.PrecisionAtK(2),
        "recall_at_k": measures.RecallAtK(2),
        "eru": measures.ERU(0.0, 3.0),
    }
    measure = special.get(name) or measures.make(name)
    if name in ("mrr", "winner_takes_all"):
        y = (y > 1).astype(float)
    measures.check(measure, y if graded else None, groups=np.arange(8) // 4 if measure.needs_groups else None)


def test_a_measure_is_tried_once_and_on_some_rows_of_many():
    sizes = []

    class Counting(Planted):
        def value_and_slope(self, z, y, out):
            sizes.append(z.size)
            return super().value_and_slope(z, y, out)

    y = RNG.normal(size=5000)
    measures.check_foreign(Counting(), y, None)
    first = len(sizes)
    measures.check_foreign(Counting(), y, None)
    assert len(sizes) == first > 0
    assert max(sizes) <= 500


@dataclass(frozen=True)
class ByQuery(Measure):
    """The mean over queries with a positive target of max |z - y|, with a fault in `mass` or in a claim."""

    fault: str = ""

    needs_groups = True

    @property
    def nonnegative(self):
        return self.fault != "below 0"

    @property
    def shift_invariant(self):
        return self.fault == "shifts"

    def prepare(self, y, groups=None, weights=None):
        y, groups = np.asarray(y, dtype=float), np.asarray(groups)
        queries = [np.flatnonzero(groups == g) for g in np.unique(groups)]
        queries = [rows for rows in queries if y[rows].max() > 0.0]
        if not queries:
            raise NothingToRank("no query has a positive target")
        return y, queries

    def value_and_slope(self, z, prepared, out):
        y, queries = prepared
        sizes = [rows.size for rows in queries]
        parts = {"rows": [size / sum(sizes) for size in sizes], "a sum": [1.0] * len(sizes)}
        weights = parts.get(self.fault, [1.0 / len(sizes)] * len(sizes))
        if self.fault != "left as they were":
            out[:] = 0.0
        total = -1.0 if self.fault == "minus a constant" else 0.0
        for rows, weight in zip(queries, weights, strict=True):
            r = z[rows] - y[rows]
            j = int(np.argmax(np.abs(r)))
            total += weight * abs(r[j])
            out[rows[j]] = weight * np.sign(r[j])
        if self.fault == "the largest":
            total = max(float(np.abs(z[rows] - y[rows]).max()) for rows in queries)
            out[:] = 0.0
            j = max(np.concatenate(queries), key=lambda i: abs(z[i] - y[i]))
            out[j] = np.sign(z[j] - y[j])
        return total

    def mass(self, prepared):
        y, queries = prepared
        return {
            "1": 1.0, "counts rows": float(sum(rows.size for rows in queries)), "all queries": float(y.size) / 4.0,
            "negative": -1.0, "NaN": math.nan, "infinite": math.inf, "text": "2", "0": 0.0, "squared": len(queries) ** 2,
            "one less": len(queries) - 1.0, "unknown": None,
        }.get(self.fault, float(len(queries)))  # fmt: skip


QUERIES = np.repeat([3, 1, 2, 0], [3, 4, 6, 2])
RELEVANT = np.array([1, 0, 0, 0, 0, 1, 2, 0, 0, 1, 0, 0, 3, -1, -2], dtype=float)
MASSES = [
    "1", "counts rows", "all queries", "negative", "NaN", "infinite", "text", "0", "squared", "one less", "rows", "a sum",
    "the largest",
]  # fmt: skip
CLAIMS = {
    "shifts": "shift_invariant is set", "minus a constant": "nonnegative is set", "left as they were": "every entry of out",
}  # fmt: skip


@pytest.mark.parametrize("fault", ["", "below 0", "unknown"])
def test_queries_without_a_fault_pass(fault):
    measures.check(ByQuery(fault), RELEVANT, QUERIES)
    measures.check(ByQuery(fault))


@pytest.mark.parametrize("fault", MASSES)
def test_a_mass_that_is_not_that_of_the_mean_is_refused(fault):
    for check in (
        lambda: measures.check(ByQuery(fault), RELEVANT, QUERIES),
        lambda: fenchel.Problem(np.ones((15, 1)), RELEVANT, loss=ByQuery(fault), alpha=0.1, groups=QUERIES),
    ):
        with pytest.raises(
            InputError, match="ByQuery is not a valid measure: (mass|the value is no mean over queries)"
        ):
            check()


@pytest.mark.parametrize("fault", CLAIMS)
def test_check_names_the_claim_that_is_false(fault):
    with pytest.raises(InputError, match=CLAIMS[fault]):
        measures.check(ByQuery(fault), RELEVANT, QUERIES)
