"""The oracle whose rows are with the workers of a cluster: the same questions, answered by sums that travel."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from fenchel.cluster.judge import Kept, Mixed
from fenchel.cluster.owners import Planes
from fenchel.engines.tree import added
from fenchel.errors import OwnerRefusal
from fenchel.local_dual import Round
from fenchel.oracle import Oracle, Plane
from fenchel.set_oracle import SetOracle
from fenchel.structured_oracle import LabelRecipe, StructuredOracle
from fenchel.vector_oracle import VectorOracle


class Remote:
    """What every family shares. Per question the variables go out once to each worker and a sum comes back from each;
    only `scores`, `combine` and what else is about single rows moves a number per row."""

    def __init__(self, problem: Any, team: Any):
        self.problem, self.team, self.passes = problem, team, 0.0
        self.engine: Any = None
        owners = getattr(problem, "owners", None)
        self.planes = None if owners is None else [Planes(name) for name in owners]
        self.edges = np.concatenate([[0], np.cumsum(team.each("size"))])

    def close(self) -> None:
        if not self.problem.remote:  # otherwise the blocks are the problem's, and stay
            self.team.close()

    def shares(self, vector: np.ndarray) -> list[tuple[np.ndarray]]:
        """Every block's part of a vector with an entry per row."""
        return [(vector[a:b],) for a, b in pairwise(self.edges)]


class RemoteRows(Remote, Oracle):
    """Losses of one score per row."""

    def risk(self, w: np.ndarray, b: float = 0.0) -> tuple[float, np.ndarray, float]:
        self.passes += 1.0
        if self.planes is not None:
            return self._checked_risk(w, b)
        value, gradient, slopes = self.team.sum("risk", w, b, shapes=((), (self.problem.d,), ()))
        return value, gradient, slopes

    def _checked_risk(self, w: np.ndarray, b: float) -> tuple[float, np.ndarray, float]:
        """Each owner's plane is held against its earlier ones before it is added to the others."""
        answers = self.team.each("risk", w, b)
        for planes, answer in zip(self.planes or [], answers, strict=True):
            if np.shape(answer[1]) != (self.problem.d,):
                raise OwnerRefusal(
                    planes.name, f"its gradient has shape {np.shape(answer[1])}, not ({self.problem.d},)"
                )
            planes.check(w, b, *answer)
        value, gradient, slopes = added(answers)
        return value, gradient, slopes

    @cached_property
    def means(self) -> tuple[np.ndarray, float]:
        self.passes += 0.5
        mean, offset = self.team.sum("first_means")
        return mean, offset

    def mix(self, parts: Iterable[tuple[float, Any]]) -> Any:
        """Where the rows are elsewhere, a dual point is the recipe for it."""
        return Mixed(tuple(parts)) if self.problem.remote else super().mix(parts)

    def scores(self, w: np.ndarray) -> np.ndarray:
        self.passes += 0.5
        return np.concatenate(self.team.each("scores", w))

    def combine(self, u: np.ndarray) -> np.ndarray:
        self.passes += 0.5
        shapes = ((self.problem.d,),)
        return self.team.sum("combined", shares=self.shares(np.asarray(u)), shapes=shapes)[0]

    def begin_local_duals(self, transfer: Any, strength: float, seed: int) -> np.ndarray:
        return self.team.sum("begin_local_dual", transfer, strength, seed, remember=True)[0]

    def local_dual_round(self, told: Round) -> Any:
        self.passes += 1.0 + told.epochs
        return self.team.sum("local_dual_round", told, remember=True)

    def local_dual_point(self) -> Any:
        if self.problem.remote:
            return Kept("local_dual")
        return lambda: np.concatenate(self.team.each("local_dual_before"))

    def norms(self) -> np.ndarray:
        self.passes += 0.5
        return np.concatenate(self.team.each("norms"))

    def upper_gram(self, weights: np.ndarray) -> np.ndarray:
        self.passes += 0.5
        return self.team.sum("grams", shares=self.shares(weights))[0]


class RemoteSet(RemoteRows, SetOracle):
    """Measures: scores travel, and the measure's slopes travel back."""

    risk = SetOracle.risk
    mix = SetOracle.mix


class RemoteVector(RemoteRows, VectorOracle):
    """Losses of several scores per row."""

    def risk(self, w: np.ndarray, b: float = 0.0) -> tuple[float, np.ndarray, float]:
        self.passes += 1.0
        if self.planes is not None:
            answers = self.team.each("risk_alone", w)
            for planes, answer in zip(self.planes, answers, strict=True):
                planes.check(w, 0.0, answer[0], answer[1], 0.0)
            value, gradient = added(answers)
        else:
            value, gradient = self.team.sum("risk_alone", w, shapes=((), (self.problem.d,)))
        return value, gradient, 0.0

    def score_matrix(self, w: np.ndarray) -> np.ndarray:
        self.passes += 0.5
        return np.concatenate(self.team.each("score_matrix", w))

    @cached_property
    def mean_row(self) -> np.ndarray:
        return self.team.sum("mean_row")[0]

    @cached_property
    def class_rows(self) -> np.ndarray:
        return self.team.sum("class_rows")[0]

    means = VectorOracle.means


class RemoteStructured(Remote, StructuredOracle):
    """Structured outputs: sums of features come back; the best labels only where planes are mixed for a certificate."""

    def risk(self, w: np.ndarray, b: float = 0.0) -> tuple[float, np.ndarray, float]:
        self.passes += 1.0
        value, gradient = self.team.sum("risk_alone", w, shapes=((), (self.problem.d,)))
        return value, gradient, 0.0

    def plane(self, w: np.ndarray, b: float, centre: Any = None, reach: float = np.inf) -> Plane:
        value, gradient, _ = self.risk(w)
        recipe: Any = LabelRecipe(np.array(w), None)
        return Plane(value, gradient, value - float(gradient @ w), 0.0, recipe)

    def mix(self, parts: Iterable[tuple[float, Any]]) -> Any:
        if self.problem.remote:
            return Mixed(tuple(parts))
        if self.problem.log:
            return super().mix(parts)
        return super().mix((weight, LabelRecipe(recipe.coef, self.labels(recipe.coef))) for weight, recipe in parts)

    def labels(self, w: np.ndarray) -> np.ndarray:
        """The best labels of all examples, flat."""
        self.passes += 1.0
        return np.concatenate(self.team.each("labels", w))


KINDS = {"scalar": RemoteRows, "vector": RemoteVector, "set": RemoteSet, "structured": RemoteStructured}


def oracle_of(problem: Any, team: Any) -> Any:
    """The oracle of a problem's family."""
    return KINDS[problem.family](problem, team)
