"""Time and true accuracy of every (entrant, tolerance), in one process, in turns.

First round: every entrant climbs through its tolerances, loosest first, one step of each entrant in turn, until it has
reached the tightest target or a run took longer than the limit. Later rounds repeat the runs that are within a factor of the
best for a target, each round in another order: what a run leaves behind, memory that was given back and threads that still look
out for work, costs the next one some tenths of a millisecond, and must not fall on the same one again and again. Short ones are
repeated more often, all alike: of few runs of some milliseconds the least says little on a machine that others use too. A time
is the least over the rounds; the accuracy is the worst over them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from benchmarks.entrants import Entrant, Fenchel
from benchmarks.floating import restore
from benchmarks.objective import primal
from benchmarks.tasks import Task

TARGETS = (1e-3, 1e-6)
CONTENDER = 3.0  # repeat what took at most this many times the least time; the others cannot win
REFERENCE_TOL = 1e-9
ENOUGH, MOST_ROUNDS = 1.5, 40  # seconds for the later rounds of a task: beyond `repeat`, they end there


@dataclass
class Cell:
    """All runs of one entrant at one tolerance."""

    entrant: str
    tol: float
    seconds: list[float] = field(default_factory=list)
    primals: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    error: str = ""

    @property
    def time(self) -> float:
        return min(self.seconds, default=np.inf)

    @property
    def cpu_time(self) -> float:
        """Least processor time, all threads together: what is left to compare by when others use the machine too."""
        return min(self.cpu, default=np.inf)

    def suboptimality(self, best: float) -> float:
        """(P - P*) / |P*| of the worst run; infinity after an error."""
        return np.inf if self.error or not self.primals else (max(self.primals) - best) / abs(best)


class Reference(NamedTuple):
    """A Fenchel run at REFERENCE_TOL: the P that the harness computes for it, and the lower bound that it certified."""

    primal: float
    dual: float
    status: str
    seconds: float


@dataclass
class Outcome:
    """Everything measured on one task."""

    task: Task
    cells: list[Cell]
    reference: Reference | None
    targets: tuple[float, ...] = TARGETS

    @property
    def best(self) -> float:
        """P*: the least P that anybody reached, as the harness computed it."""
        seen = [p for cell in self.cells for p in cell.primals]
        return min(seen + ([self.reference.primal] if self.reference else []), default=np.inf)

    def reached(self, target: float) -> list[Cell]:
        """Cells that truly got there, the fastest first. Fenchel counts at tol = target only: it stops on its proof."""
        return sorted((c for c in self.cells if self.counts(c, target)), key=lambda c: c.time)

    def counts(self, cell: Cell, target: float) -> bool:
        own = cell.entrant != Fenchel.name or cell.tol == target
        return own and cell.suboptimality(self.best) <= target

    def fastest_peer(self, target: float) -> Cell | None:
        return next((c for c in self.reached(target) if c.entrant != Fenchel.name), None)

    def fenchel(self, target: float) -> Cell | None:
        return next((c for c in self.reached(target) if c.entrant == Fenchel.name), None)


def run(task: Task, entrant: Entrant, cell: Cell) -> None:
    """One timed fit, judged by the harness's own objective."""
    restore()
    began, cpu = time.perf_counter(), time.process_time()
    try:
        answer = entrant.fit(task, cell.tol)
    except Exception as error:  # an entrant that fails has lost; the others go on
        cell.error = f"{type(error).__name__}: {error}"
        return
    cell.seconds.append(time.perf_counter() - began)
    cell.cpu.append(time.process_time() - cpu)
    cell.primals.append(primal(task, *answer))


def reference(task: Task, limit: float) -> Reference:
    """Fenchel at REFERENCE_TOL; its coefficients are evaluated here, only the lower bound is its own."""
    began = time.perf_counter()
    result = Fenchel().solve(task, REFERENCE_TOL, max_time=limit)
    seconds = time.perf_counter() - began
    value = primal(task, result.coef, result.intercept)
    return Reference(value, result.certificate.dual, result.status.name, seconds)


def measure(
    task: Task,
    entrants: Sequence[Entrant],
    repeat: int = 5,
    limit: float = 20.0,
    known: Reference | None = None,
    say: Callable[[str], Any] = lambda line: None,
) -> Outcome:
    """Run all entrants that handle the task; `known` gives a first P* to stop the climb by."""
    present = [e for e in entrants if e.handles(task)]
    outcome = Outcome(task, [], known)
    for entrant in present:  # compiles what is compiled at first use; not timed
        run(task, entrant, Cell(entrant.name, entrant.tolerances[0]))
    pairs = climb(task, present, outcome, limit, say)
    began, rng = time.perf_counter(), np.random.default_rng(0)
    for done in range(MOST_ROUNDS if repeat > 1 else 0):
        if done >= repeat - 1 and time.perf_counter() - began > ENOUGH:
            break
        for k in rng.permutation(len(pairs)):
            entrant, cell = pairs[k]
            if is_contender(outcome, cell):
                run(task, entrant, cell)
    return outcome


def climb(
    task: Task, entrants: Sequence[Entrant], outcome: Outcome, limit: float, say: Any
) -> list[tuple[Entrant, Cell]]:
    pairs: list[tuple[Entrant, Cell]] = []
    active = {e.name: e for e in entrants}
    for step in range(max((len(e.tolerances) for e in entrants), default=0)):
        for entrant in list(active.values()):
            if step >= len(entrant.tolerances):
                continue
            cell = Cell(entrant.name, entrant.tolerances[step])
            pairs.append((entrant, cell))
            outcome.cells.append(cell)
            run(task, entrant, cell)
            there = cell.suboptimality(outcome.best) <= 0.1 * min(outcome.targets)  # P* may yet fall a little
            say(f"  {entrant.name} {cell.tol:g}: {cell.error or f'{cell.time:.3f} s, P {cell.primals[-1]:.12g}'}")
            if entrant.name != Fenchel.name and (there or cell.error or cell.time > limit):
                del active[entrant.name]
    return pairs


def is_contender(outcome: Outcome, cell: Cell) -> bool:
    """Whether repeating the cell could change a row of the table."""
    if cell.error:
        return False
    if cell.entrant == Fenchel.name:
        return True
    for target in outcome.targets:
        first = outcome.fastest_peer(target)
        if first is not None and outcome.counts(cell, target) and cell.time <= CONTENDER * first.time:
            return True
    return False
