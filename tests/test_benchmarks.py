"""The benchmark harness: its objective is right, and it believes nobody."""

from __future__ import annotations

import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the package lives beside `tests`, it is not installed

from benchmarks import data_sets, latency, table, tasks
from benchmarks.entrants import ENTRANTS, Entrant, Fenchel
from benchmarks.floating import restore
from benchmarks.measure import Cell, Outcome, Reference, measure
from benchmarks.objective import LOSSES, primal
from benchmarks.tasks import Task


@pytest.fixture(autouse=True)
def plain_floats():
    """Some peers switch subnormal numbers off for the whole process when they are loaded."""
    yield
    restore()
    assert np.float64(5e-324) * 1.0 > 0.0


def small(loss="hinge", fit_intercept=False, alpha=0.05, n=60, d=6, seed=0, penalty="l2", weighted=False):
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, density=0.6, random_state=rng, format="csr")
    z = X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n)
    y = np.where(z > 0, 1.0, -1.0) if loss in MARGIN else rng.poisson(np.exp(z)) if loss == "poisson" else z
    weights = rng.random(n) + 0.5 if weighted else None
    X = data_sets.as_csr(X) if loss in MARGIN or loss == "poisson" else X.toarray()
    return Task("small", X, y.astype(float), loss, alpha, fit_intercept, penalty, weights)


MARGIN = ("hinge", "squared_hinge", "logistic")
BY_HAND = {
    "hinge": lambda z, y: max(0.0, 1.0 - y * z),
    "squared_hinge": lambda z, y: max(0.0, 1.0 - y * z) ** 2 / 2.0,
    "logistic": lambda z, y: math.log1p(math.exp(-y * z)),
    "squared": lambda z, y: (z - y) ** 2 / 2.0,
    "quantile": lambda z, y: 0.9 * (y - z) if y > z else 0.1 * (z - y),
    "epsilon_insensitive": lambda z, y: max(0.0, abs(z - y) - 0.1),
    "huber": lambda z, y: (z - y) ** 2 / 2.0 if abs(z - y) <= 1.0 else abs(z - y) - 0.5,
    "poisson": lambda z, y: math.exp(z) - y * z + (y * math.log(y) if y else 0.0) - y,
}


def by_hand(task, w, b):
    """P written out row by row."""
    weights = np.ones(len(task.y)) if task.weights is None else task.weights
    rows = zip(task.X if isinstance(task.X, np.ndarray) else task.X.toarray(), task.y, weights, strict=True)
    terms = [s * BY_HAND[task.loss](math.fsum(x * w) + b, yi) for x, yi, s in rows]
    r = {"l2": 0.0, "l1": 1.0, "elastic_net": 0.5, "nonnegative": 1.0}.get(task.penalty)
    if task.penalty == "group_lasso":
        penalty = math.hypot(*w[:5]) + abs(w[5])
    else:
        penalty = r * math.fsum(abs(w)) + (1.0 - r) * math.fsum(w * w) / 2.0
    return math.fsum(terms) / math.fsum(weights) + task.alpha * penalty


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("b", [0.0, -0.7])
@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net", "nonnegative", "group_lasso"])
def test_objective_equals_the_formula(loss, b, penalty):
    task = small(loss, fit_intercept=True, penalty=penalty, weighted=b != 0.0)
    w = np.random.default_rng(1).standard_normal(6)
    if penalty == "nonnegative":
        assert primal(task, w, b) == math.inf
        w = np.abs(w)
    assert primal(task, w, b) == pytest.approx(by_hand(task, w, b), rel=1e-13)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_objective_equals_cvxpy_and_is_least_at_its_optimum(loss, fit_intercept):
    cp = pytest.importorskip("cvxpy")
    task = small(loss, fit_intercept)
    w, b = cp.Variable(6), cp.Variable() if fit_intercept else cp.Constant(0.0)
    margins = cp.multiply(task.y, task.X.toarray() @ w + b)
    losses = cp.pos(1 - margins) if loss == "hinge" else cp.logistic(-margins)
    problem = cp.Problem(cp.Minimize(cp.sum(losses) / 60 + task.alpha / 2 * cp.sum_squares(w)))
    problem.solve(solver="CLARABEL")
    best = primal(task, w.value, float(b.value))
    assert best == pytest.approx(problem.value, rel=1e-6)
    coef, intercept = Fenchel().fit(task, 1e-9)
    assert primal(task, coef, intercept) == pytest.approx(problem.value, rel=1e-6)


def test_objective_survives_extreme_scores_and_refuses_nonsense():
    task = small("logistic")
    assert primal(task, np.full(6, 1e6)) < np.inf
    assert primal(task, np.full(6, np.nan)) == np.inf
    assert primal(task, np.zeros(5)) == np.inf
    assert primal(task, np.zeros(6), 0.1) == np.inf  # an intercept that was not asked for


class Liar(Entrant):
    """Instant, and sure of its success."""

    name, module, tolerances = "liar", "numpy", (1e-9,)
    converged = True
    objective_ = 0.0

    def handles(self, task):
        return True

    def fit(self, task, tol):
        return np.zeros(task.X.shape[1]), 0.0


class Honest(Liar):
    """Slow but right."""

    name = "honest"

    def fit(self, task, tol):
        return Fenchel().fit(task, tol)


class Broken(Liar):
    name = "broken"

    def fit(self, task, tol):
        raise ValueError("no")


class Sometimes(Honest):
    """Right in the warm-up and the first round only."""

    name = "sometimes"
    calls = 0

    def fit(self, task, tol):
        self.calls += 1
        return super().fit(task, tol) if self.calls <= 2 else (np.zeros(task.X.shape[1]), 0.0)


def test_a_liar_does_not_win():
    outcome = measure(small(), [Fenchel(), Liar(), Honest(), Broken()], repeat=2)
    for target in outcome.targets:
        peer, ours = outcome.fastest_peer(target), outcome.fenchel(target)
        assert peer is not None
        assert peer.entrant == "honest"
        assert ours is not None
        assert ours.tol == target
    liar = next(c for c in outcome.cells if c.entrant == "liar")
    honest = next(c for c in outcome.cells if c.entrant == "honest")
    assert liar.time < honest.time
    assert liar.suboptimality(outcome.best) > 1e-3
    assert "no" in next(c for c in outcome.cells if c.entrant == "broken").error


def test_one_bad_run_spoils_a_cell():
    outcome = measure(
        small(), [Sometimes()], repeat=3, known=Reference(primal(small(), *Fenchel().fit(small(), 1e-9)), 0, "", 0)
    )
    assert outcome.fastest_peer(1e-3) is None


def test_best_is_the_least_of_everybody_and_a_false_reference_does_not_raise_it():
    cells = [Cell("a", 1e-3, [1.0], [2.0]), Cell("b", 1e-3, [3.0], [1.0])]
    outcome = Outcome(small(), cells, Reference(1.5, 0.9, "CERTIFIED", 1.0))
    assert outcome.best == 1.0
    assert [c.entrant for c in outcome.reached(1e-3)] == ["b"]
    assert cells[0].suboptimality(1.0) == 1.0


def test_fenchel_counts_at_the_target_only():
    cells = [Cell(Fenchel.name, 1e-3, [1.0], [1.0]), Cell(Fenchel.name, 1e-6, [2.0], [1.0])]
    assert Outcome(small(), cells, None).fenchel(1e-6) is cells[1]


def test_table_shows_ratio_and_a_dash_for_what_was_not_reached():
    cells = [Cell(Fenchel.name, 1e-3, [1.0], [1.0]), Cell("peer", 0.1, [4.0], [1.0005])]
    found = table.rows(Outcome(small(), cells, None), {("small", "peer", 0.1): 5e6})
    assert found[0]["ratio"] == 0.25
    assert found[0]["peer_bytes"] == 5e6
    assert found[1]["peer"] is None
    lines = table.text(found).splitlines()
    assert " 0.25 " in lines[1]
    assert lines[2].split()[-1] == "-"
    assert "geometric mean of ratios 0.25" in table.summary(found)


KINDS = [(loss, "l2") for loss in LOSSES] + [("logistic", "l1"), ("squared", "elastic_net")]
KINDS += [("squared", "l1"), ("squared", "nonnegative"), ("squared", "group_lasso")]
KINDS += [("hinge", "l1"), ("squared_hinge", "l1"), ("quantile", "l1")]


@pytest.mark.parametrize("entrant", [e for e in ENTRANTS if e is not Fenchel], ids=lambda e: e.name)
def test_every_peer_solves_the_stated_problem(entrant):
    """A wrong scale of C or a regularised intercept would show as a suboptimality that no tolerance removes."""
    if not entrant.installed():
        pytest.skip(f"{entrant.module} is not installed")
    peer, solved = entrant(), 0
    if hasattr(peer, "max_iter"):
        peer.max_iter = 50_000  # saga is slow with an intercept, but it gets there
    for (loss, penalty), fit_intercept, weighted in itertools.product(KINDS, (False, True), (False, True)):
        task = small(loss, fit_intercept, penalty=penalty, weighted=weighted)
        if not peer.handles(task):
            continue
        best = primal(task, *Fenchel().fit(task, 1e-9))
        found = min(primal(task, *peer.fit(task, tol)) for tol in (1e-4, peer.tolerances[-1]))
        assert -1e-9 <= (found - best) / best <= 1e-4, task
        solved += 1
    assert solved > 0


def test_every_task_has_a_source_and_a_peer():
    for spec in tasks.SPECS:
        assert spec.data in data_sets.SOURCES
        task = small(spec.loss, spec.fit_intercept, penalty=spec.penalty, weighted=spec.data == "claims")
        assert any(e().handles(task) for e in ENTRANTS if e is not Fenchel), spec


def test_missing_data_are_named_and_replaced(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("FENCHEL_DATA", str(tmp_path))
    source = data_sets.SOURCES["a9a"]._replace(stand_in=data_sets.sparse_rows(50, 20, 4, True))
    monkeypatch.setitem(data_sets.SOURCES, "a9a", source)
    data_sets.read.cache_clear()
    try:
        task = tasks.TASKS["hinge-a9a"].load()
    finally:
        data_sets.read.cache_clear()
    assert "a9a.svm.xz" in capsys.readouterr().err
    assert task.name == "hinge-a9a (stand-in)"
    assert task.X.indices.dtype == np.int32
    assert set(task.y) == {-1.0, 1.0}


def test_latency_lines_say_whether_the_budget_holds():
    assert latency.line("x", [0.2, 0.4], 0.3).endswith("within")
    assert latency.line("x", [0.4, 0.5], 0.3).endswith("OVER")
    for program in (latency.IMPORT, *latency.CASES.values()):
        compile(program, "program", "exec")
