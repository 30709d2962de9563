"""Rows that belong to somebody: each owner's Dask worker holds them, and answers with sums only.

What this does: a block refuses every question whose answer is not a sum over all of its rows, refuses to be copied to
another machine, needs a least number of rows, writes down what it was asked, and stops answering when its own loss has risen
too far. The one who solves checks that the answers of each owner belong to one convex function.

What it does not do: it is no privacy. A gradient tells about rows: that of a single row is the row itself, up to a factor,
and many gradients tell much about few rows. Whoever may send work to the cluster may send any Python code. Nothing here adds
noise or adds up in secret. Use it between people who trust each other's code, so that data do not move by accident.
"""

from __future__ import annotations

import json
import logging
import os
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.certificates.assemble import Share
from fenchel.cluster import blocks
from fenchel.cluster.blocks import Facts, Spec
from fenchel.cluster.holder import Holder
from fenchel.errors import InputError, OwnerRefusal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike
    from fenchel.problems.scalar import Problem

log = logging.getLogger("fenchel")

SHARD = "fenchel_shard"  # the attribute of a Dask worker that holds an owner's rows
FEWEST = 64  # rows
# Questions whose answers are sums over all rows of a block, or say how many there are.
SUMS = frozenset(
    {
        "size", "digest", "basis", "risk", "risk_alone", "first_means", "sum_of_rows", "masses", "forget",
        "row_sizes", "column_squares", "query_newton.begin", "query_newton.sums_at", "query_newton.keep_line",
        "query_newton.risk_on_line", "query_newton.hessian_product", "query_newton.columns_of_hessian",
        "newton.begin", "newton.sums_at", "newton.keep_line", "newton.raise_curvature", "newton.risk_on_line",
        "newton.hessian_product", "newton.upper_gram", "newton.squares",
        "begin_local_dual", "local_dual_round", "balance_sums", "rows_share", "vector_rest", "vector_share", "queries_share",
        "slopes_at_intercepts", "limits_of_slopes",
    }
)  # fmt: skip
# Where in an answer the owner's own loss stands; a question with none of it says nothing of how the owner fares.
RISK = Share._fields.index("risk")
OWN_LOSS = {
    "risk": 0, "risk_alone": 0, "newton.sums_at": 0, "newton.risk_on_line": 0, "local_dual_round": 0,
    "query_newton.sums_at": 0, "query_newton.risk_on_line": 0,
    "rows_share": RISK, "vector_share": RISK, "queries_share": RISK,
}  # fmt: skip


class Rules(NamedTuple):
    """What an owner allows: at least so many rows that count, and its own loss at most so many times that at w = 0.

    A solver that goes much further fits others at this owner's cost. L-BFGS, Newton's method and proximal gradient were never
    seen above the loss at w = 0; Cocoa (squared loss) and Bundle look at points far away where alpha is small, and need more.
    """

    fewest: int = FEWEST
    rise: float = 10.0


class Shard:
    """An owner's rows.

    Parameters
    ----------
    name : of the owner, as it is shown.
    X, y, sample_weight : its data.
    rules : a `Rules`.
    diary : a file to which one line of JSON is added for every question, with the time and the answer's size; or None.
    groups : the query of every row, for measures by query. Names are the owner's own: queries never span two owners.

    >>> import numpy as np
    >>> Shard("north", np.ones((100, 2)), np.ones(100))
    Shard('north', 100 rows)
    >>> Shard("south", np.ones((3, 2)), np.ones(3))
    Traceback (most recent call last):
    fenchel.errors.InputError: owner 'south' has 3 rows: sums over fewer than 64 would tell too much of single ones
    """

    def __init__(
        self,
        name: str,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        rules: Rules | None = None,
        diary: str | os.PathLike[str] | None = None,
        groups: ArrayLike | None = None,
    ):
        self.name, self.rules = str(name), rules or Rules()
        self.parts = (X, y, sample_weight, None, groups)
        self.diary = None if diary is None else Path(diary)
        n = int(np.shape(X)[0] if sample_weight is None else np.count_nonzero(sample_weight))
        if n < self.rules.fewest:
            counted = "" if sample_weight is None else " with a weight"
            raise InputError(
                f"owner {self.name!r} has {n} rows{counted}: sums over fewer than {self.rules.fewest} would tell too much of "
                "single ones"
            )

    def __repr__(self) -> str:
        return f"Shard({self.name!r}, {np.shape(self.parts[0])[0]} rows)"

    def note(self, question: str, **more: Any) -> None:
        """A line in the diary."""
        line = {"time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "owner": self.name, "question": question} | more
        log.info("owner %s: %s", self.name, line)
        if self.diary is not None:
            with self.diary.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    def __reduce__(self) -> Any:
        raise OwnerRefusal(self.name, "its rows do not leave its worker")


class OwnedBlock(Holder):
    """A block that answers with sums only."""

    def __init__(self, problem: Problem, shard: Shard):
        super().__init__(problem)
        self.shard = shard

    @cached_property
    def at_zero(self) -> float:
        """The owner's own loss at w = 0."""
        question = "risk_alone" if self.problem.is_vector else "risk"
        return abs(float(super().answer(question, np.zeros(self.problem.d))[0]))

    def answer(self, question: str, *arguments: Any) -> Any:
        sizes = [int(np.size(argument)) for argument in arguments if isinstance(argument, np.ndarray)]
        if question not in SUMS:
            self._refuse(question, "its answer would be about single rows, and only sums leave", sizes)
        found = super().answer(question, *arguments)
        own = float(np.sum(found[OWN_LOSS[question]])) if question in OWN_LOSS else None
        if own is not None and not own <= self.shard.rules.rise * self.at_zero:
            if isinstance(arguments[0], str):
                self.oracle.kept.pop(arguments[0], None)  # nor is anything told of that point later
            times = own / self.at_zero if self.at_zero else np.inf
            self._refuse(
                question, f"its own loss is {times:.3g} times that at w = 0, more than {self.shard.rules.rise}", sizes
            )
        out = sum(int(np.size(part)) for part in found) if isinstance(found, tuple) else 1
        self.shard.note(question, numbers_in=sizes, numbers_out=out, own_risk=own, answer="given")
        return found

    def _refuse(self, question: str, reason: str, sizes: list[int]) -> None:
        self.shard.note(question, numbers_in=sizes, answer=f"refused: {reason}")
        raise OwnerRefusal(self.shard.name, f"it refuses {question!r}: {reason}")

    def __reduce__(self) -> Any:
        raise OwnerRefusal(self.shard.name, "its rows do not leave its worker")


def shard_here() -> Shard:
    """The shard of the worker that this runs on."""
    from distributed import get_worker

    shard = getattr(get_worker(), SHARD, None)
    if shard is None:
        raise InputError(f"worker {get_worker().address} serves no shard (start it with fenchel serve-shard)")
    return shard


def look(spec: Spec, number: int) -> Facts:
    """What must be known of an owner's block: targets are told only where they are a few whole numbers, such as classes."""
    shard = shard_here()
    try:
        facts = blocks.look(spec, number, None, *shard.parts)
    except InputError as error:
        raise InputError(f"owner {shard.name!r}: {error}") from None
    whole = np.all(facts.targets == np.round(facts.targets)) and facts.targets.size <= blocks.SAMPLE
    told = facts if whole or facts.targets.size <= 2 else facts._replace(targets=np.zeros(0))
    shard.note("look", answer="given", numbers_out=sum(int(np.size(fact)) for fact in told if fact is not None))
    return told


def relative_total(largest: float) -> float:
    """The sum of the owner's sample weights."""
    shard = shard_here()
    shard.note("relative_total", answer="given", numbers_out=1)
    return blocks.relative_total(largest, None, *shard.parts)


def make(spec: Spec, facts: Facts) -> OwnedBlock:
    """The owner's rows as a block."""
    shard = shard_here()
    return OwnedBlock(blocks.make(spec, facts, None, *shard.parts).problem, shard)


class Owners:
    """The workers of a cluster that serve shards (`fenchel serve-shard`): `Problem(Owners(client), loss=...)`.

    Parameters
    ----------
    client : a `distributed.Client`.
    names : of the owners to ask, in this order; None: all that are there, by name.
    """

    on_cluster = True  # `Problem` sends what says so to the cluster

    def __init__(self, client: Any, names: list[str] | None = None):
        self.client = client
        found = {name: address for address, name in client.run(_name_here).items() if name is not None}
        wanted = sorted(found) if names is None else list(names)
        absent = [name for name in wanted if name not in found]
        if absent or not wanted:
            there = ", ".join(sorted(found)) or "none"
            raise InputError(f"no worker serves the shard of {', '.join(absent) or 'anybody'}; there are: {there}")
        self.names, self.addresses = wanted, [found[name] for name in wanted]

    def __repr__(self) -> str:
        return f"Owners({', '.join(self.names)})"


def _name_here(dask_worker: Any = None) -> str | None:
    shard = getattr(dask_worker, SHARD, None)
    return None if shard is None else shard.name
