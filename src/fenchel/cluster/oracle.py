"""The oracle whose rows are with the workers of a cluster: the same questions, answered by sums that travel."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from fenchel.cluster.planes import DualPlanes, Planes
from fenchel.engines.summation_tree import added
from fenchel.oracles.intercepts import NarrowingSums, middle, refuse_without_minimum
from fenchel.oracles.local_dual import Round
from fenchel.oracles.measure import SetOracle
from fenchel.oracles.scalar import Kept, Mixed, Oracle, Plane
from fenchel.oracles.structured import LabelRecipe, StructuredOracle
from fenchel.oracles.vector import VectorOracle


class Remote:
    """What every family shares. Per question the variables go out once to each worker and a sum comes back from each;
    only `scores`, `combine` and what else is about single rows moves a number per row."""

    remote = True

    def __init__(self, problem: Any, team: Any):
        self.problem, self.team, self.passes = problem, team, 0.0
        self.engine: Any = None
        self.kept: list[str] = []  # names under which the blocks keep dual variables
        self.passing: list[str] = []  # and what is needed during the solve only
        owners = getattr(problem, "owners", None)
        self.planes = None if owners is None else [Planes(name) for name in owners]
        self.edges = np.concatenate([[0], np.cumsum(team.each("size"))])

    def close(self) -> None:
        if not self.problem.remote:
            self.team.close()
            return
        with suppress(Exception):  # the blocks are the problem's, and stay; if they cannot be reached, so be it
            for name in (*self.passing, *self.kept[:-1]):  # the last dual point belongs to the result
                self.team.forget(name)

    def of_rows(self, question: str, *arguments: Any) -> np.ndarray:
        """The numbers of all rows, looked at block by block."""
        return np.concatenate(self.team.each(question, *arguments, lengths=np.diff(self.edges)))

    def shares(self, vector: np.ndarray) -> list[tuple[np.ndarray]]:
        """Every block's part of a vector with an entry per row."""
        return [(vector[a:b],) for a, b in pairwise(self.edges)]


class RemoteRows(Remote, Oracle):
    """Losses of one score per row."""

    def risk(self, w: np.ndarray, b: float = 0.0) -> tuple[float, np.ndarray, float]:
        self.passes += 1.0
        if self.planes is not None:
            return self.checked(w, b, "risk", w, b)
        value, gradient, slopes = self.team.sum("risk", w, b, shapes=((), (self.problem.d,), ()))
        return value, gradient, slopes

    def checked(self, w: np.ndarray, b: float, question: str, *arguments: Any) -> tuple:
        """The sum of answers (loss at (w, b), its gradient, its derivative in b, ...) of owners: each one's plane is held
        against its earlier ones first."""
        answers = self.team.each(question, *arguments)
        for planes, answer in zip(self.planes or [], answers, strict=True):
            planes.check(w, b, answer[0], answer[1], answer[2] if len(answer) > 2 else 0.0)
        return added(answers)

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
        return self.of_rows("scores", w)

    def combine(self, u: np.ndarray) -> np.ndarray:
        self.passes += 0.5
        shapes = ((self.problem.d,),)
        return self.team.sum("combined", shares=self.shares(np.asarray(u)), shapes=shapes)[0]

    def begin_local_duals(self, transfer: Any, strength: float, seed: int) -> np.ndarray:
        self.kept.append(self.team.new_name())
        asked = ("begin_local_dual", self.kept[-1], transfer, strength, seed)
        if self.planes is None:
            return self.team.sum(*asked, changes=self.kept[-1])[0]
        answers = self.team.each(*asked, changes=self.kept[-1])
        self.duals = [
            DualPlanes(planes, a, transfer, strength) for planes, (a,) in zip(self.planes, answers, strict=True)
        ]
        return added(answers)[0]

    def local_dual_round(self, told: Round) -> Any:
        self.passes += 1.0 + told.epochs
        asked = ("local_dual_round", self.kept[-1], told)
        if self.planes is None:
            return self.team.sum(*asked, changes=self.kept[-1])
        answers = self.team.each(*asked)
        for dual, (losses, _, conjugates, _, change, square) in zip(self.duals, answers, strict=True):
            dual.check(told, losses, conjugates, change, square)
        return added(answers)

    def local_dual_point(self) -> Any:
        if self.problem.remote:
            return Kept(self.kept[-1])
        return lambda: np.concatenate(self.team.each("local_dual_before", self.kept[-1]))

    def norms(self) -> np.ndarray:
        self.passes += 0.5
        return self.of_rows("norms")

    def upper_gram(self, weights: np.ndarray) -> np.ndarray:
        self.passes += 0.5
        return self.team.sum("grams", shares=self.shares(weights))[0]

    def middle_intercept(self, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        if not self._intercept_may_vary():
            return w, b
        ask = lambda bs, brackets: self.team.sum("slopes_at_intercepts", w, bs, brackets)  # noqa: E731
        size = ask(np.empty(0), ())[3]
        return w, middle(NarrowingSums(lambda bs, brackets: ask(bs, brackets)[:3], self.problem.n), b, size)

    def require_minimum(self) -> None:
        if self.problem.fit_intercept:
            falls, rises = self.team.sum("limits_of_slopes")
            if not falls < 0.0 < rises:
                refuse_without_minimum(self.problem.loss, np.unique(self.problem.some_targets()), falls, rises)


class RemoteSet(RemoteRows, SetOracle):
    """Measures: scores travel, and the measure's slopes travel back."""

    risk = SetOracle.risk
    mix = SetOracle.mix


class RemoteVector(RemoteRows, VectorOracle):
    """Losses of several scores per row."""

    def risk(self, w: np.ndarray, b: float = 0.0) -> tuple[float, np.ndarray, float]:
        self.passes += 1.0
        if self.planes is not None:
            value, gradient = self.checked(w, 0.0, "risk_alone", w)
        else:
            value, gradient = self.team.sum("risk_alone", w, shapes=((), (self.problem.d,)))
        return value, gradient, 0.0

    def score_matrix(self, w: np.ndarray) -> np.ndarray:
        self.passes += 0.5
        return self.of_rows("score_matrix", w)

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
