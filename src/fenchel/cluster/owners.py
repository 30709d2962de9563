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
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fenchel.cluster import blocks
from fenchel.cluster.blocks import Facts, Spec
from fenchel.cluster.holder import Holder
from fenchel.errors import InputError, OwnerRefusal

log = logging.getLogger("fenchel")

SHARD = "fenchel_shard"  # the attribute of a Dask worker that holds an owner's rows
FEWEST = 64  # rows
# Questions whose answers are sums over all rows of a block, or say how many there are.
SUMS = frozenset(
    {
        "size", "digest", "basis", "risk", "risk_alone", "first_means", "mean_row", "masses", "curvature_sums",
        "begin_local_dual", "local_dual_round", "balance_sums", "rows_share", "vector_rest", "vector_share",
    }
)  # fmt: skip
WITH_RISK = ("risk", "risk_alone")


class Rules(NamedTuple):
    """What an owner allows: at least so many rows in a block, and its own loss at most so many times that at w = 0.

    Honest solvers were seen to go up to 3.1 times; a solver that goes much further fits others at this owner's cost.
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

    >>> import numpy as np
    >>> Shard("north", np.ones((100, 2)), np.ones(100))
    Shard('north', 100 rows)
    >>> Shard("south", np.ones((3, 2)), np.ones(3))
    Traceback (most recent call last):
    fenchel.errors.InputError: owner 'south' has 3 rows: sums over fewer than 64 would tell too much of single ones
    """

    def __init__(
        self, name: str, X: Any, y: Any, sample_weight: Any = None, rules: Rules | None = None, diary: Any = None
    ):
        self.name, self.rules = str(name), rules or Rules()
        self.parts = (X, y, sample_weight, None, None)
        self.diary = None if diary is None else Path(diary)
        n = int(np.shape(X)[0])
        if n < self.rules.fewest:
            raise InputError(
                f"owner {self.name!r} has {n} rows: sums over fewer than {self.rules.fewest} would tell too much of single ones"
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

    def __init__(self, problem: Any, shard: Shard):
        super().__init__(problem)
        self.shard = shard
        self.at_zero: float | None = None

    def answer(self, question: str, *arguments: Any) -> Any:
        sizes = [int(np.size(argument)) for argument in arguments if isinstance(argument, np.ndarray)]
        if question not in SUMS:
            self._refuse(question, "its answer would be about single rows, and only sums leave", sizes)
        if question in WITH_RISK and self.at_zero is None:
            self.at_zero = float(super().answer(question, np.zeros_like(arguments[0]))[0])
        found = super().answer(question, *arguments)
        own = float(found[0]) if question in WITH_RISK else None
        if own is not None and self.at_zero is not None and own > self.shard.rules.rise * abs(self.at_zero):
            times = own / abs(self.at_zero) if self.at_zero else np.inf
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
    whole = facts.targets.size <= 2 or np.all(facts.targets == np.round(facts.targets))
    shard.note("look", answer="given", numbers_out=4)
    return facts if whole else facts._replace(targets=np.zeros(0))


def relative_total(largest: float) -> float:
    """The sum of the owner's sample weights."""
    return blocks.relative_total(largest, None, *shard_here().parts)


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


class Planes:
    """What an owner has answered so far: planes of one convex function cannot contradict each other."""

    MOST = 50
    ROUNDING = 1e-9

    def __init__(self, name: str):
        self.name = name
        self.points: list[tuple[np.ndarray, float, float, np.ndarray, float]] = []

    def check(self, w: np.ndarray, b: float, value: float, gradient: np.ndarray, slopes: float) -> None:
        """Every plane lies below every value: raise `OwnerRefusal` naming the owner if one does not."""
        here = (np.array(w), b, value, np.array(gradient), slopes)
        if np.isfinite(value) and np.isfinite(gradient).all():
            for other in self.points:
                for at, of in ((here, other), (other, here)):
                    bound = of[2] + float(of[3] @ (at[0] - of[0])) + of[4] * (at[1] - of[1])
                    size = abs(of[2]) + float(np.abs(of[3]) @ np.abs(at[0] - of[0])) + abs(of[4] * (at[1] - of[1]))
                    if bound > at[2] + self.ROUNDING * (size + abs(at[2])):
                        raise OwnerRefusal(
                            self.name, "its answers contradict each other: no convex loss of the same rows gives "
                            f"{at[2]:.6g} where an earlier or later answer bounds it by {bound:.6g} from below"
                        )  # fmt: skip
            self.points = [*self.points[-self.MOST + 1 :], here]
