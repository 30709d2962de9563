"""How long a fit takes on n workers, from a few measured constants.

One round of a batch solver on n workers takes

    T(n) = s + c n + t / n        t = work * (per_value * stored + per_row * rows)       the workers' passes over their rows
                                  s = latency + vectors * per_entry * columns            one round trip; the solver's own step
                                  c = per_worker + 8 (2 columns + 1) / bandwidth         w to each worker, its sums back

T(n) = s + t / n is the law of figure 6 of Teo, Smola, Vishwanathan and Le (2007), "A scalable modular convex solver for
regularized risk minimization". The term c n is there because all sums go through one scheduler. It is what ends the scaling.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fenchel.errors import InputError, UnknownNameError

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
BYTES = 8


class Machine(NamedTuple):
    """Measured constants, in seconds and bytes per second; `fenchel plan --measure` finds those of a machine.

    The default was measured on two shared cores: one core's passes, and the messages of Dask between processes. A network
    slower than that bandwidth must be given.
    """

    per_value: float = 1.4e-9  # one core, per stored value and pass
    per_row: float = 3.2e-8  # one core, per row and pass
    per_entry: float = 2.7e-10  # at home, per entry of a vector
    latency: float = 5.8e-3  # per round
    per_worker: float = 2.4e-3  # per round and worker: a task goes out, an answer comes in
    bandwidth: float = 4.2e8  # bytes per second to and from all workers together


class Method(NamedTuple):
    """What a solver needs: rounds on n workers (rounds * n^growth), passes of work in each, vectors that its own step reads.

    The rounds are those to a relative gap of 1e-3 on Reuters money-fx (7770 x 8315), alpha = 1e-4; other tasks need others.
    """

    rounds: float
    growth: float
    work: float
    vectors: float
    about: str


METHODS = {
    "lbfgs": Method(11, 0.0, 1.0, 40, "logistic loss"),
    "bundle": Method(141, 0.0, 1.0, 150, "hinge loss"),
    "cocoa": Method(3, 0.45, 4.0, 8, "logistic loss; a block for each worker, whose number adds rounds"),
}


class Share(NamedTuple):
    """One line of a plan. Seconds of a round: the workers' passes, messages, the solver's own step; then of the whole fit."""

    solver: str
    workers: int
    passing: float
    messages: float
    own: float
    rounds: float

    @property
    def per_round(self) -> float:
        """T(n)."""
        return self.passing + self.messages + self.own

    @property
    def fit(self) -> float:
        return self.rounds * self.per_round


class Plan(NamedTuple):
    """Predicted times; `str` is a table."""

    rows: int
    columns: int
    stored: int
    machine: Machine
    methods: Mapping[str, Method]
    shares: tuple[Share, ...]

    def limit(self, solver: str) -> int:
        """The least number of workers with which messages are at least half of a round."""
        known = (share(self.rows, self.columns, self.stored, self.machine, self.methods, solver, n) for n in COUNTS)
        return next((found.workers for found in known if found.messages >= 0.5 * found.per_round), COUNTS[-1])

    def fastest(self, solver: str) -> int:
        """The number of workers with which the whole fit takes least time."""
        known = [share(self.rows, self.columns, self.stored, self.machine, self.methods, solver, n) for n in COUNTS]
        return min(known, key=lambda found: found.fit).workers

    def __str__(self) -> str:
        head = f"{self.rows} rows, {self.columns} columns, {self.stored} stored values"
        lines = [
            head,
            f"{'solver':8} {'workers':>8} {'s per round':>12} {'rounds':>7} {'s per fit':>10} {'messages':>9}",
        ]
        for found in self.shares:
            part = found.messages / found.per_round
            lines.append(
                f"{found.solver:8} {found.workers:8} {found.per_round:12.4g} {found.rounds:7.0f} {found.fit:10.4g} {part:9.0%}"
            )
        for solver in self.methods:
            lines.append(
                f"{solver}: fastest with {self.fastest(solver)} workers; messages are half of the time from "
                f"{self.limit(solver)} on ({self.methods[solver].about})"
            )
        return "\n".join(lines)


COUNTS = sorted({round(2 ** (k / 8)) for k in range(8 * 16 + 1)})  # up to 65536


def share(
    rows: int, columns: int, stored: int, machine: Machine, methods: Mapping[str, Method], solver: str, n: int
) -> Share:
    """The line of a plan for one solver and a number of workers."""
    method = methods[solver]
    passing = method.work * (machine.per_value * stored + machine.per_row * rows) / n
    messages = machine.latency + n * (machine.per_worker + BYTES * (2 * columns + 1) / machine.bandwidth)
    own = method.vectors * machine.per_entry * columns
    return Share(solver, n, passing, messages, own, math.ceil(method.rounds * n**method.growth))


def plan(
    rows: int, columns: int, stored: int | None = None, workers: Sequence[int] = WORKERS,
    machine: Machine | None = None, rounds: Mapping[str, float] | None = None,
) -> Plan:  # fmt: skip
    """How long fits of data of this size take on a cluster.

    Parameters
    ----------
    rows, columns, stored : the size of X; stored values are all of them if not given.
    workers : numbers of workers, of one core each.
    machine : measured constants, a `Machine`.
    rounds : {solver: rounds of a fit}, where more is known than the defaults say.

    Examples
    --------
    >>> import fenchel
    >>> reuters = fenchel.plan(804_414, 47_236, 60_900_000)
    >>> reuters.limit("lbfgs") < 20  # small data: beyond, a worker adds more messages than it saves work
    True
    >>> fenchel.plan(10**9, 10**6, 10**11).limit("lbfgs") > 50
    True
    """
    stored = rows * columns if stored is None else stored
    for name, value in {"rows": rows, "columns": columns, "stored": stored, "workers": min(workers, default=0)}.items():
        if value < 1:
            raise InputError(f"{name} must be at least 1, got {value!r}")
    methods = dict(METHODS)
    for solver, count in (rounds or {}).items():
        if solver not in METHODS:
            raise UnknownNameError("solver in a plan", solver, METHODS)
        methods[solver] = methods[solver]._replace(rounds=count, growth=0.0, about="rounds as given")
    machine = machine or Machine()
    shares = [share(rows, columns, stored, machine, methods, solver, n) for solver in methods for n in workers]
    return Plan(rows, columns, stored, machine, methods, tuple(shares))
