"""When a solver counts as stalled, and when `auto` hands on to the next one."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel.result import Iterate
from fenchel.selection import rules
from fenchel.selection.progress import Pace
from fenchel.solvers import DualAscent, NewtonCG, SemismoothNewton
from fenchel.solvers.base import Solver, Start
from fenchel.solving import loop
from fenchel.solving.turns import Turns


def run(gaps, solver=None, allowed=np.inf, last=False, goal=1e-6):
    """(iteration at which it stalls, at which it is too slow); one pass per iteration; None: never."""
    pace = Pace(solver or Solver(), 0, 0.0, allowed, last)
    stalled = slow = None
    for k, gap in enumerate(gaps):
        pace.record(k, float(k + 1), 1.0 + gap, 1.0)
        if stalled is None and pace.stalled(k):
            stalled = k
        if slow is None and pace.too_slow(k, goal):
            slow = k
    return stalled, slow


def test_geometric_progress_is_neither():
    assert run(0.7 ** np.arange(100), allowed=100.0, goal=1e-9) == (None, None)
    assert run(0.9 ** np.arange(100), allowed=100.0, goal=1e-9)[1] is not None  # which would take 197 passes


def test_no_progress_at_all_is_a_stall():
    stalled, _ = run(np.ones(300))
    assert 100 <= stalled <= 130


@pytest.mark.parametrize(("power", "handed_on"), [(1.0, True), (8.0, False)])
def test_sublinear_progress_is_handed_on_if_the_next_solver_would_be_there_sooner(power, handed_on):
    t = np.arange(1, 1000)
    _, slow = run((1.0 / t) ** power, allowed=100.0)
    assert (slow is not None) == handed_on
    if handed_on:
        assert 25 <= slow <= 100  # not before it was tried, not after the next one would have ended
    assert run((1.0 / t) ** power, allowed=100.0, last=True)[1] is None
    assert run((1.0 / t) ** power)[1] is None


def test_a_gap_that_does_not_halve_is_handed_on_unless_there_is_nobody():
    slowly = 0.98 ** np.arange(400)  # halves in 35
    assert run(slowly, solver=NewtonCG()) == (None, None)
    still = np.concatenate([0.5 ** np.arange(10), 0.5**9 * 0.999 ** np.arange(200)])
    assert run(still, solver=NewtonCG())[1] == 10 + NewtonCG.halves
    assert run(still, solver=NewtonCG(), last=True)[1] is None


def problem(n, d, alpha, **options):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * np.arange(1, d + 1) ** -0.3
    y = np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1.0, -1.0)
    return fenchel.Problem(X, y, alpha=alpha, **options)


def test_auto_starts_with_dual_steps_and_ends_with_newton_where_those_come_to_little():
    hard = problem(1200, 200, 1e-6, loss="hinge")
    result = fenchel.solve(hard, tol=1e-6)
    assert result.converged
    assert result.solver == "DualAscent then SemismoothNewton"
    assert len(result.trace) > 2
    easy = fenchel.solve(problem(1200, 200, 1e-2, loss="hinge"), tol=1e-6)
    assert (easy.converged, easy.solver) == (True, "DualAscent")


FIRST = {
    "few features": ({"loss": "hinge"}, 2000, 20, "SemismoothNewton"),
    "curvature": ({"loss": "logistic"}, 300, 20, "NewtonCG"),
    "curvature, wide": ({"loss": "logistic"}, 50, 900, "NewtonCG"),
    "flat parts, wide": ({"loss": "squared_hinge"}, 50, 900, "DualAscent"),
    "kinks, wide": ({"loss": "hinge", "fit_intercept": True}, 50, 900, "DualAscent"),
    "L1": ({"loss": "logistic", "regularizer": "l1"}, 50, 30, "WorkingSet"),
}


@pytest.mark.parametrize("case", FIRST)
def test_first_choice(case):
    options, n, d, name = FIRST[case]
    assert type(rules.candidates(problem(n, d, 1e-3, **options))[0].solver).__name__ == name


def test_dual_steps_come_first_where_the_regularization_is_strong():
    X = sp.random(20_000, 120, 0.1, "csr", rng=np.random.default_rng(0))
    y = np.where(X @ np.ones(120) > 6.0, 1.0, -1.0)
    problems = [fenchel.Problem(X, y, loss="hinge", alpha=alpha) for alpha in (1e-2, 1e-7)]
    assert [type(rules.candidates(p)[0].solver) for p in problems] == [DualAscent, SemismoothNewton]


def wide_and_sparse(alpha):
    X = sp.random(300, 2000, 0.02, "csr", rng=np.random.default_rng(0))
    return fenchel.Problem(X, np.where(X @ np.ones(2000) > 20.0, 1.0, -1.0), loss="logistic", alpha=alpha)


@pytest.mark.parametrize(
    ("alpha", "first"), [(1e-2, [DualAscent, DualAscent]), (1e-3, [DualAscent, NewtonCG]), (1e-4, [NewtonCG, NewtonCG])]
)
def test_dual_steps_on_wide_sparse_rows_come_first_by_tolerance_and_strength(alpha, first):
    assert [type(rules.candidates(wide_and_sparse(alpha), tol=tol)[0].solver) for tol in (1e-3, 1e-4)] == first


def test_a_rough_answer_on_wide_sparse_rows_is_left_to_dual_steps():
    p = wide_and_sparse(1e-3)
    rough, fine = fenchel.solve(p, tol=1e-3), fenchel.solve(p, tol=1e-8)
    assert (rough.solver, fine.solver) == ("DualAscent", "NewtonCG")
    assert rough.certificate.dual <= fine.certificate.primal <= rough.certificate.primal


def test_a_checkpoint_knows_no_tolerance(tmp_path):
    """Whoever resumes with another one finds the same solvers in the same order."""
    p = wide_and_sparse(1e-3)
    first = fenchel.solve(p, tol=1e-3, checkpoint=tmp_path / "kept")
    second = fenchel.solve(p, tol=1e-8, checkpoint=tmp_path / "kept", resume=True)
    assert first.solver == second.solver == "NewtonCG"
    assert second.converged and second.certificate.primal <= first.certificate.primal


def test_newton_and_dual_steps_take_turns_and_newton_has_the_last_one():
    turns = rules.candidates(problem(2000, 20, 1e-7, loss="hinge"))
    assert [type(turn.solver) for turn in turns[:3]] == [SemismoothNewton, DualAscent, SemismoothNewton]
    assert [np.isfinite(turn.passes) for turn in turns[:3]] == [True, True, False]


def test_on_little_data_other_methods_are_tried_before_the_proximal_point_method_goes_on():
    rng, penalty = np.random.default_rng(0), fenchel.regularizers.GroupLasso(0.1, [0, 0, 1])
    for n, tries in ((40, True), (100_000, False)):
        X, y = rng.standard_normal((n, 3)), rng.standard_normal(n)
        turns = rules.candidates(fenchel.Problem(X, y, loss="squared", regularizer=penalty))
        names = [type(turn.solver).__name__ for turn in turns]
        expected = ["ProximalPointNewton", *(["Bundle", "ProximalGradient", "ProximalPointNewton"] if tries else [])]
        assert names[: len(expected)] == expected
        assert [np.isfinite(turn.passes) for turn in turns[: len(expected)]] == [tries, True, True, False][
            : len(expected)
        ]


def test_large_counts_on_few_rows_are_fitted_by_one_of_the_methods_tried():
    """Rows whose curvatures differ by a factor of 1e8: proximal points with one step size for all do not converge."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((28, 438))
    y = rng.poisson(np.exp(0.4 * X @ rng.standard_normal(438))).astype(float)
    penalty = fenchel.regularizers.Bounded(fenchel.regularizers.L2(1e-4 * y.max()), lower=0.0)
    p = fenchel.Problem(X / np.sqrt(438) + rng.standard_normal(438), y, loss="poisson", regularizer=penalty)
    found = fenchel.solve(p, tol=1e-7)
    assert found.converged and found.passes < 2000


def test_choices_are_looked_for_when_they_are_asked_for():
    looked = []

    def source():
        for k in range(3):
            looked.append(k)
            yield k

    choices = rules.Choices(source())
    assert choices.get(0) == 0 and looked == [0]
    assert choices.get(2) == 2 and looked == [0, 1, 2]
    assert choices.get(3) is None and choices.get(1) == 1 and looked == [0, 1, 2]


@dataclass(frozen=True)
class Slow(Solver):
    """Gains a little in each of twenty iterations, then has the answer."""

    halves: ClassVar[int] = 3
    answer: Any = None

    def iterates(self, oracle, start):
        for k in range(20):
            yield Iterate(np.zeros(oracle.problem.d), 0.0, 1.0 - 1e-3 * k, 0.0)
        certificate = self.answer.certificate
        yield Iterate(self.answer.coef, 0.0, certificate.primal, certificate.dual, self.answer.dual_point)


@pytest.mark.parametrize("others", [0, 1])
def test_a_slow_solver_is_overtaken_only_if_there_is_another(monkeypatch, others):
    p = problem(50, 3, 1e-2, loss="hinge")
    slow, other = rules.Choice(Slow(fenchel.solve(p)), "slow"), rules.Choice(DualAscent(), "other")
    monkeypatch.setattr(rules, "offers", lambda *arguments: iter([slow, other][: 1 + others]))
    found = fenchel.solve(p)
    assert found.converged and found.solver == ("Slow then DualAscent" if others else "Slow")
    assert found.n_iter < 15 if others else found.n_iter == 20


@dataclass(frozen=True)
class Idle(Solver):
    """Yields w = 0 three times."""

    def iterates(self, oracle, start):
        for _ in range(3):
            yield Iterate(np.zeros(oracle.problem.d), 0.0, 1.0, -1.0)


def test_a_solver_with_another_turn_goes_on_from_where_it_was(monkeypatch):
    p = problem(150, 12, 1e-3, loss="hinge", regularizer="l1")
    alone = fenchel.solve(p, solver="proximal_point_newton", tol=1e-9)
    late = 0.9 * alone.passes

    class Until(Pace):
        def too_slow(self, iteration, goal):
            return np.isfinite(self.allowed) and self.gaps[-1][0] >= late

    monkeypatch.setattr(loop, "Pace", Until)
    newton = fenchel.solvers.ProximalPointNewton()
    turns = [rules.Choice(newton, "first", 1.0), rules.Choice(Idle(), "idle"), rules.Choice(newton, "again")]
    monkeypatch.setattr(rules, "offers", lambda *arguments: iter(turns))
    found = fenchel.solve(p, tol=1e-9)
    assert found.solver == "ProximalPointNewton then Idle then ProximalPointNewton" and found.converged
    assert found.n_iter <= alone.n_iter + 6


def test_a_solver_begins_at_a_better_point_that_another_one_has_found():
    turns, begin = Turns(allowed=True), Start(np.zeros(2))
    latest = Iterate(np.ones(2), 0.0, 1.0, 0.0, None, lambda: {"state": 1})
    turns.pause(DualAscent(), latest, 1.0)
    assert turns.start(DualAscent(), begin, 0.9).memory == {"state": 1}
    assert turns.start(DualAscent(), begin, 0.9) is begin  # a pause is good for one turn
    turns.pause(DualAscent(), latest, 1.0)
    assert turns.start(DualAscent(), begin, 0.4) is begin
    turns.pause(DualAscent(), latest._replace(memory=None), 1.0)
    assert turns.start(DualAscent(), begin, 0.9) is begin
    turns.pause(DualAscent(), latest, 1.0)
    assert turns.start(SemismoothNewton(), begin, 1.0) is begin
    forbidden = Turns(allowed=False)
    forbidden.pause(DualAscent(), latest, 1.0)
    assert forbidden.start(DualAscent(), begin, 1.0) is begin


def test_estimates_do_not_depend_on_the_clock():
    choices = [rules.candidates(problem(400, 200, 1e-3, loss="hinge"))[0] for _ in range(3)]
    assert {type(c.solver) for c in choices} == {DualAscent}
    assert len({c.passes for c in choices}) == 1
    assert 0.0 < choices[0].passes < np.inf
