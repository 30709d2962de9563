"""The blocks of an oracle whose rows are with the workers of a cluster: all are asked, and their answers are added."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from fenchel.cluster.holder import terms_of
from fenchel.cluster.planes import AnswersOfOwners
from fenchel.cluster.team import Team
from fenchel.engines.summation_tree import added
from fenchel.oracles.blockwise import shares_of
from fenchel.problems.scalar import Problem


class RemoteBlocks:
    """Per question the variables go out once to each worker and a sum comes back from each; only `collect` and arguments with
    an entry per row move a number per row."""

    def __init__(self, problem: Problem, team: Team):
        self.team, self.stay = team, problem.remote
        self.names: list[str] = []  # of what the blocks keep
        self.lasting: list[str] = []  # those among them that a result may need
        owners = getattr(problem, "owners", None)
        self.checks = None if owners is None else AnswersOfOwners(owners)
        self.edges = np.concatenate([[0], np.cumsum(team.each("size"))])

    def sum(
        self, question: str, *arguments: Any, rows: int = 0, shapes: Any = None, keeps: bool = False,
        edges: np.ndarray | None = None,
    ) -> tuple:  # fmt: skip
        """The sum of the blocks' answers, term by term; each owner's is held against its earlier ones first.

        The first `rows` arguments have an entry per row; `keeps`: the next one names what the blocks keep and the question
        changes. `edges`: where the blocks begin and end, if not all of their rows are meant.
        """
        edges = self.edges if edges is None else edges
        common, shares = arguments[rows:], shares_of(edges, arguments[:rows]) if rows else None
        changes = common[0] if keeps else None
        if self.checks is None or not self.checks.knows(question):
            return self.team.sum(question, *common, shapes=shapes, shares=shares, changes=changes)
        found = self.team.each(question, *common, shares=shares, changes=changes)
        answers = [terms_of(answer) for answer in found]
        self.checks.check(question, common, answers)
        return added(answers)

    def collect(
        self, question: str, *arguments: Any, per_row: bool = True, edges: np.ndarray | None = None
    ) -> np.ndarray:
        """The numbers of all rows, looked at block by block."""
        edges = self.edges if edges is None else edges
        return np.concatenate(
            self.team.each(question, *arguments, lengths=np.diff(edges).tolist() if per_row else None)
        )

    @property
    def may_sample(self) -> bool:
        """Whether sums over some rows only may be asked for: owners give sums over all of theirs."""
        return self.checks is None

    def forget(self, name: str) -> None:
        """Let the blocks forget what they keep under a name."""
        with suppress(Exception):  # If they cannot be reached, so be it.
            self.team.forget(name)

    def new_name(self, lasting: bool = False) -> str:
        """For something that the blocks are to keep; `lasting`: the last one of these belongs to the result."""
        name = self.team.new_name()
        (self.lasting if lasting else self.names).append(name)
        return name

    def close(self) -> None:
        """Let go of the blocks, or, where they are the problem's and stay, of what they keep."""
        if not self.stay:
            self.team.close()
            return
        with suppress(Exception):  # If they cannot be reached, so be it.
            for name in (*self.names, *self.lasting[:-1]):
                self.team.forget(name)
