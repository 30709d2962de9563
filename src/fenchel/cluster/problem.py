"""Problems whose data are on a cluster and stay there. Here are only the loss, the regularizer and some counts."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from fenchel import losses, measures, multiclass, regularizers
from fenchel.cluster import blocks, certifiers, owners
from fenchel.cluster.blocks import Facts, Spec
from fenchel.cluster.engine import Dask
from fenchel.cluster.owners import Owners
from fenchel.cluster.sources import Source, client_of, sources_of
from fenchel.cluster.team import Team
from fenchel.compile.dispatch import compilable, is_builtin
from fenchel.data.accept import accept_vector, read_only
from fenchel.errors import InputError, SolveError
from fenchel.measures.queries import NothingToRank
from fenchel.problems.families import family_of
from fenchel.problems.kinds_of_loss import AnyLoss
from fenchel.problems.measure import SetProblem
from fenchel.problems.scalar import Problem
from fenchel.problems.structured import StructuredProblem
from fenchel.problems.vector import Unpenalised, VectorProblem
from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.feature_weights import require_penalised


class OnCluster:
    """What every family shares: the blocks, who holds them, and what is known of all of them together."""

    remote: ClassVar[bool] = True
    folder: Any = None
    loss: Any

    def __init__(
        self, X: Any, y: Any = None, loss: str | AnyLoss = "hinge", regularizer: str | Regularizer = "l2",
        alpha: float | None = None, fit_intercept: bool = False, sample_weight: Any = None, offset: Any = None,
        groups: Any = None,
    ):  # fmt: skip
        self.fit_intercept, self.has_offset = False, offset is not None
        self.given: Any = regularizers.make(regularizer, alpha)
        self.regularizer: Any = self.given
        self.accept_loss(loss, bool(fit_intercept), sample_weight, offset, groups)
        spec = Spec(self.loss, self.given, bool(fit_intercept))
        self.facts = self.place(X, (y, sample_weight, offset, groups), spec)
        self.n, self.d = self.facts.n, self.facts.d
        self.total_weight = self.facts.total * self.facts.largest if self.facts.total else float(self.n)
        self.given.validate(self.d)
        require_penalised(self.given, self.d)
        self.complete(X, y, groups)

    def accept_loss(self, loss: Any, fit_intercept: bool, *others: Any) -> None:
        """Set `loss`, or say what cannot go with it; the others are sample weights, offsets and groups."""
        raise NotImplementedError("abstract: every family accepts its own losses")

    def complete(self, X: Any, y: Any, groups: Any) -> None:
        """Set what follows from the blocks' facts."""
        regularizers.check_foreign(self.regularizer, self.d)

    def dual_like(self, u: Any) -> Any:
        """Dual points of data elsewhere are recipes; of other data none can be used."""
        return None

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def place(self, X: Any, others: tuple, spec: Spec) -> Facts:
        """Look at every block where it lies, then make it ready there."""
        own = isinstance(X, Owners)
        client = X.client if own else client_of(X)
        if own and any(other is not None for other in others):
            raise InputError("owners hold targets and weights themselves: give only the loss and the regularizer")
        sources = [Source(None, ())] * len(X.names) if own else sources_of(client, X, *others)
        where = X.addresses if own else holders(client, [source.main for source in sources])
        self.owners = X.names if own else None
        worker_side: Any = owners if own else blocks

        def run(function: str, k: int, worker: str, *arguments: Any) -> Any:
            data = () if own else (sources[k].whole, *sources[k].parts)
            return client.submit(getattr(worker_side, function), *arguments, *data, workers=[worker], pure=False)

        found = in_order([run("look", k, at, spec, k) for k, at in enumerate(where)])
        facts = together(found)
        if facts.weighted:
            totals = client.gather([run("relative_total", k, at, facts.largest) for k, at in enumerate(where)])
            facts = facts._replace(total=math.fsum(totals))

        def hold(k: int, worker: str) -> Any:
            if not own and sources[k].lost:
                raise SolveError(
                    f"block {k} of the data is lost with the worker that held it: it was sent there, and nobody can make it "
                    "again. Give futures of tasks that read it, a Dask array or data frame, or keep copies (client.replicate)"
                )
            return run("make", k, worker, spec, facts)

        self.sizes = [fact.n for fact in found]
        self.home = Dask(client)
        self._team = Team(client, len(sources), hold, where, movable=not own)
        return facts

    def team(self, engine: Dask | None = None) -> Team:
        """Who holds the blocks."""
        return self._team

    def some_targets(self) -> list[float]:
        return [float(target) for target in self.facts.targets]

    @cached_property
    def digest(self) -> str:
        """sha256 of the digests of the blocks, which the workers compute, and of their order."""
        digest = hashlib.sha256(b"fenchel problem on a cluster 1")
        for found in self._team.each("digest"):
            digest.update(found.encode())
        return digest.hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        raise InputError("a problem whose data are on a cluster cannot be copied to another place: they stay there")


class RowsOnCluster(OnCluster, Problem):
    """Losses of one score per row."""

    certifier = certifiers.ROWS

    def accept_loss(self, loss: Any, fit_intercept: bool, *others: Any) -> None:
        self.loss, self.fit_intercept = losses.make(loss), fit_intercept

    def complete(self, X: Any, y: Any, groups: Any) -> None:
        super().complete(X, y, groups)
        losses.check_foreign(self.loss, self.some_targets())
        self.compiled_loss = compilable(self.loss)

    @cached_property
    def smoothness(self) -> float | None:
        return losses.smoothness(self.loss, self.facts.targets)

    @cached_property
    def y(self) -> np.ndarray:  # type: ignore[override]
        """All targets, brought here: asked for only by methods that look at scores of rows."""
        return read_only(np.concatenate(self._team.each("vector", "y")))

    @cached_property
    def weights(self) -> np.ndarray:  # type: ignore[override]
        """The weights of all rows, brought here."""
        return read_only(np.concatenate(self._team.each("vector", "weights")))

    @cached_property
    def offset(self) -> np.ndarray:  # type: ignore[override]
        """The offsets of all rows, brought here."""
        return read_only(np.concatenate(self._team.each("vector", "offset")) if self.has_offset else np.zeros(self.n))

    def __repr__(self) -> str:
        return f"Problem({self.n} rows in {len(self.sizes)} blocks on a cluster; {self.loss} + {self.regularizer})"


class ScoresOnCluster(RowsOnCluster, VectorProblem):
    """Losses of several scores per row."""

    family = "vector"
    certifier = certifiers.VECTORS

    def accept_loss(self, loss: Any, fit_intercept: bool, *others: Any) -> None:
        self.loss, self.own, self.free = multiclass.make(loss), False, fit_intercept
        if not is_builtin(self.loss):
            raise InputError(
                f"loss {type(self.loss).__name__} of several scores is not one of Fenchel's: of data on a cluster its "
                "tangents cannot be compared with its values; use rows in memory or on disk"
            )

    def complete(self, X: Any, y: Any, groups: Any) -> None:
        self.features, self.outputs, self.has_offset = self.d, self.facts.classes, False
        self.penalty = self.given.for_outputs(self.features, self.outputs)
        regularizers.check_foreign(self.penalty, self.features * self.outputs)
        self.regularizer = Unpenalised(self.penalty, self.outputs) if self.free else self.penalty
        self.d = (self.features + self.free) * self.outputs
        self.compiled_loss = compilable(self.loss)
        if self.free:
            self._check_intercepts()

    smoothness = VectorProblem.smoothness

    def masses(self) -> np.ndarray:
        """The weight of the rows of every class."""
        return self._team.sum("masses")[0]

    def __repr__(self) -> str:
        return f"{RowsOnCluster.__repr__(self)[:-1]}, {self.outputs} scores)"


class SetOnCluster(RowsOnCluster, SetProblem):
    """Measures: the rows stay, targets and queries are brought here once. A mean over queries is added up from what the blocks
    give, if these hold every query whole; for other measures the scores are brought here at every step. Owners send neither
    targets nor scores: their queries are their own, and count as others than those of the same name elsewhere."""

    family = "set"
    certifier = certifiers.SETS
    smoothness = SetProblem.smoothness

    def accept_loss(self, loss: Any, fit_intercept: bool, *others: Any) -> None:
        if fit_intercept or any(other is not None for other in others[:2]):
            raise InputError("a measure of data on a cluster takes no intercept, offset or sample_weight")
        self.loss = measures.make(loss)

    def complete(self, X: Any, y: Any, groups: Any) -> None:
        OnCluster.complete(self, X, y, groups)
        self.__dict__["weights"] = np.full(self.n, 1.0 / self.n)
        self.total_mass = self.facts.mass
        if self.owners is not None:
            self._accept_queries_of_owners()
            return
        targets = self._gathered(X, y, 1)
        found = self._gathered(X, groups, 4)
        self.__dict__["y"] = read_only(accept_vector(targets, self.n, "y"))
        self.groups = None if found is None else self._accept_groups(found)
        self.prepared = self.loss.prepare(self.y, self.groups, None)
        measures.check_foreign(self.loss, self.y, self.groups)

    def _accept_queries_of_owners(self) -> None:
        self.groups, name = None, type(self.loss).__name__
        if self.total_mass is None:
            raise InputError(
                f"measure {name} needs the scores of all rows in one place, and owners give sums only: give each owner's rows "
                "their queries (groups), of which a measure of Fenchel's own is the mean"
            )
        if self.total_mass == 0.0:
            raise NothingToRank(f"the owners have nothing to rank: {name} finds no query that counts")

    @cached_property
    def is_by_query(self) -> bool:
        """Whether the loss is a sum over the blocks."""
        return self.keeps_queries_whole(np.cumsum([0, *self.sizes]).tolist())

    def keeps_queries_whole(self, edges: Sequence[int]) -> bool:
        """Whether no query has rows in two of the blocks."""
        return self.owners is not None or super().keeps_queries_whole(edges)

    def _gathered(self, X: Any, part: Any, place: int) -> np.ndarray | None:
        """A vector with an entry per row, brought here."""
        if isinstance(X, (list, tuple)):
            client = client_of(X)
            parts = client.gather([client.submit(_part, future, place, pure=False) for future in X])
            return None if any(p is None for p in parts) else np.concatenate(parts)
        return None if part is None else np.asarray(part.compute())


class ExamplesOnCluster(OnCluster, StructuredProblem):
    """Structured outputs: examples are never split."""

    certifier = certifiers.EXAMPLES

    def accept_loss(self, loss: Any, fit_intercept: bool, *others: Any) -> None:
        if fit_intercept or any(other is not None for other in others):
            raise InputError("a structured model on a cluster takes no intercept, offset, groups or sample_weight")
        self.loss, self.log = loss, getattr(loss, "loss", "hinge") == "log"

    @property
    def basis(self) -> str:
        return "log partition" if self.log else self._team.each("basis")[0]

    def __repr__(self) -> str:
        return f"Problem({self.n} examples on a cluster, {self.d} features; {self.loss} + {self.regularizer})"


CLASSES: dict[str, type[Problem]] = {
    "scalar": RowsOnCluster, "vector": ScoresOnCluster, "set": SetOnCluster, "structured": ExamplesOnCluster,
}  # fmt: skip


def problem_class(loss: str | AnyLoss) -> type[Problem]:
    """The class for a loss."""
    return CLASSES[family_of(loss)]


def together(found: list[Facts]) -> Facts:
    """What holds of all blocks."""
    widths = sorted({fact.d for fact in found})
    if len(widths) != 1:
        where = next(k for k, fact in enumerate(found) if fact.d != found[0].d)
        raise InputError(
            f"block {where} has {found[where].d} columns and block 0 has {found[0].d}: all blocks need the same ones "
            "(structured models: give the number of classes, so that every block has the same features)"
        )
    targets = np.unique(np.concatenate([fact.targets for fact in found]))
    few = np.unique(np.append(targets[: blocks.SAMPLE], targets[-1:]))
    largest = max(fact.largest for fact in found)
    if not 0.0 < largest < math.inf:
        raise InputError("sample_weight is zero everywhere: at least one weight must be positive")
    masses = [fact.mass for fact in found]
    mass = None if None in masses else math.fsum(float(mass) for mass in masses if mass is not None)
    return Facts(
        sum(f.n for f in found), widths[0], max(f.classes for f in found), few, largest, any(f.weighted for f in found),
        mass=mass,
    )  # fmt: skip


def in_order(futures: list[Any]) -> list[Any]:
    """Their results; where several have failed, the error of the first."""
    from distributed import wait

    wait(futures)
    return [future.result() for future in futures]


def holders(client: Any, futures: list[Any]) -> list[str]:
    """The worker on which each future lies."""
    from distributed import wait

    wait(futures)
    for future in futures:
        if future.status == "error":
            future.result()
    found = client.who_has(futures)
    gone = [k for k, future in enumerate(futures) if not found[future.key]]
    if gone:
        raise InputError(
            f"blocks {gone} of the data are on no worker: whoever held them is lost, or the same data, sent before, were being "
            "let go of; send them again (client.scatter(..., hash=False))"
        )
    return [sorted(found[future.key])[0] for future in futures]


def _part(block: tuple, place: int) -> Any:
    return block[place] if len(block) > place else None
