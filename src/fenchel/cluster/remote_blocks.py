"""The blocks of an oracle whose rows are with the workers of a cluster: all are asked, and their answers are added."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np

from fenchel.cluster.holder import terms_of
from fenchel.cluster.planes import AnswersOfOwners
from fenchel.cluster.team import Team
from fenchel.engines.summation_tree import added


class RemoteBlocks:
    """Per question the variables go out once to each worker and a sum comes back from each; only `collect` and arguments with
    an entry per row move a number per row."""

    def __init__(self, problem: Any, team: Team):
        self.team, self.stay = team, problem.remote
        self.names: list[str] = []  # of what the blocks keep
        self.lasting: list[str] = []  # those among them that a result may need
        owners = getattr(problem, "owners", None)
        self.checks = None if owners is None else AnswersOfOwners(owners)
        self.edges = np.concatenate([[0], np.cumsum(team.each("size"))])

    def sum(
        self, question: str, *arguments: Any, rows: int = 0, shapes: Any = None, changes: str | None = None
    ) -> tuple:  # fmt: skip
        """The sum of the blocks' answers, term by term; each owner's is held against its earlier ones first."""
        common, shares = arguments[rows:], None
        if rows:
            vectors = [np.asarray(vector) for vector in arguments[:rows]]
            shares = [tuple(vector[a:b] for vector in vectors) for a, b in pairwise(self.edges)]
        if self.checks is None or not self.checks.knows(question):
            return self.team.sum(question, *common, shapes=shapes, shares=shares, changes=changes)
        found = self.team.each(question, *common, shares=shares, changes=changes)
        answers = [terms_of(answer) for answer in found]
        self.checks.check(question, common, answers)
        return added(answers)

    def collect(self, question: str, *arguments: Any, per_row: bool = True) -> np.ndarray:
        """The numbers of all rows, looked at block by block."""
        return np.concatenate(
            self.team.each(question, *arguments, lengths=np.diff(self.edges).tolist() if per_row else None)
        )

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
