"""Operations over all rows that can be evaluated block by block.

A method of an oracle that is marked as `summed` or `collected` is the only definition of its operation. If the rows are in this
process, it runs here. If they are on workers, every block has an oracle of the same class there: the method is called on each
of them by name, and only the results are sent.

What a solver keeps of every row between two questions, such as scores and curvatures, is a `BlockState`: it lies with the
rows, and its methods are marked in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import pairwise
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from fenchel.errors import SolveError

Method = TypeVar("Method", bound=Callable[..., Any])
Passes = float | Callable[..., float]


def summed(
    passes: Passes = 0.0, shapes: Callable[[Any], tuple] | None = None, rows: int = 0, keeps: bool = False
) -> Callable[[Method], Method]:
    """The result is the sum of the results of the blocks: a tuple of terms, or one term.

    Parameters
    ----------
    passes : the number of passes over the data, or a function of the arguments that returns it.
    shapes : the shapes of the terms for a problem, with which results of workers are compared.
    rows : so many of the first arguments have an entry per row; each block gets its part.
    keeps : the operation changes a state that the blocks keep (for methods of an oracle the first argument is its name); if a
        block is moved to another worker, these operations are repeated there.
    """

    def mark(method: Method) -> Method:
        @wraps(method)
        def ask(self: Any, *arguments: Any) -> Any:
            self.count(passes(*arguments) if callable(passes) else passes)
            if not self.remote:
                return method(self, *arguments)
            found = self.blocks.sum(
                method.__name__, *arguments, rows=rows, shapes=None if shapes is None else shapes(self.problem),
                keeps=keeps,
            )  # fmt: skip
            return found[0] if len(found) == 1 else found

        return cast(Method, ask)

    return mark


def collected(passes: float = 0.0, per_row: bool = True) -> Callable[[Method], Method]:
    """The result has an entry per row (if not `per_row`, any number of entries): the results of the blocks, concatenated."""

    def mark(method: Method) -> Method:
        @wraps(method)
        def ask(self: Any, *arguments: Any) -> Any:
            self.count(passes)
            if not self.remote:
                return method(self, *arguments)
            return self.blocks.collect(method.__name__, *arguments, per_row=per_row)

        return cast(Method, ask)

    return mark


class KeptBlocks:
    """Blocks of rows elsewhere, asked about what each of them keeps under one name: `kind.question` with that name."""

    def __init__(self, blocks: Any, made: Any, *arguments: Any, rows: int = 0, edges: np.ndarray | None = None):
        self.blocks, self.kind, self.name = blocks, made.kind, blocks.new_name()
        self.edges = blocks.edges if edges is None else edges  # of the rows that are kept
        first, rest = arguments[:rows], arguments[rows:]
        blocks.sum(f"{self.kind}.begin", *first, self.name, made, *rest, rows=rows, keeps=True)

    def sum(
        self, question: str, *arguments: Any, rows: int = 0, shapes: Any = None, keeps: bool = False,
        edges: np.ndarray | None = None,
    ) -> tuple:  # fmt: skip
        """The sum of the blocks' answers, term by term."""
        first, rest = arguments[:rows], arguments[rows:]
        edges = self.edges if edges is None else edges
        question = f"{self.kind}.{question}"
        return self.blocks.sum(question, *first, self.name, *rest, rows=rows, shapes=shapes, keeps=keeps, edges=edges)

    def collect(self, question: str, *arguments: Any, per_row: bool = True, edges: np.ndarray | None = None) -> Any:
        """The numbers of all rows that are kept, in order."""
        edges = self.edges if edges is None else edges
        return self.blocks.collect(f"{self.kind}.{question}", self.name, *arguments, per_row=per_row, edges=edges)

    def new_name(self, lasting: bool = False) -> str:
        """For something else that the blocks are to keep."""
        return self.blocks.new_name(lasting)

    def close(self) -> None:
        """Let the blocks forget it."""
        self.blocks.forget(self.name)

    def forget(self, name: str) -> None:
        """Let the blocks forget what lies within it: that goes with it."""


class BlockState:
    """What a solver keeps of every row: it lies with the rows, in this process or in every block elsewhere.

    A subclass has a `kind`, which names it in questions, `begin` instead of a constructor, and methods that are marked as
    `summed` or `collected`. Its `blocks` are those of the oracle.

    >>> class Scores(BlockState):
    ...     kind = "scores"
    ...     def begin(self): self.z = np.zeros(self.problem.n)
    ...     @summed(keeps=True)
    ...     def move(self, step):
    ...         self.z += step
    ...         return float(self.z.sum())
    >>> import fenchel
    >>> from fenchel.oracles.scalar import Oracle
    >>> Scores(Oracle(fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1]))).move(2.0)
    6.0
    """

    kind: ClassVar[str]

    def __init__(self, oracle: Any, *arguments: Any):
        self.oracle, self.problem, self.engine, self.remote = oracle, oracle.problem, oracle.engine, oracle.remote
        if self.remote:
            self.blocks: Any = KeptBlocks(oracle.blocks, type(self), *arguments)
        else:
            self.blocks = oracle.blocks
            self.begin(*arguments)

    @classmethod
    def begin_in(cls, oracle: Any, *arguments: Any) -> BlockState:
        """The state of the rows of one block."""
        return cls(oracle, *arguments)

    def begin(self, *arguments: Any) -> None:
        """Make the state of the rows in this process."""

    def count(self, *visit: Any) -> None:
        """Count passes, as an oracle does."""
        self.oracle.count(*visit)


def asked(oracle: Any, question: str, *arguments: Any) -> Any:
    """The answer of one block: of its oracle, or, to `kind.question`, of what it keeps under the name in the arguments."""
    kind, dot, rest = question.partition(".")
    if not dot:
        return getattr(oracle, question)(*arguments)
    name, *arguments = arguments  # type: ignore[assignment]
    if rest == "begin":
        made, *arguments = arguments  # type: ignore[assignment]
        if made.kind != kind:
            raise SolveError(f"question {question!r} is about a {kind}, not about a {made.kind}", None)
        oracle.kept[name] = made.begin_in(oracle, *arguments)
        return ()
    return asked(oracle.kept[name], rest, *arguments)


def shares_of(edges: Any, vectors: tuple) -> list[tuple]:
    """For every block, its part of vectors with an entry per row.

    >>> shares_of([0, 1, 3], (np.arange(3),))
    [(array([0]),), (array([1, 2]),)]
    """
    vectors = tuple(np.asarray(vector) for vector in vectors)
    return [tuple(vector[a:b] for vector in vectors) for a, b in pairwise(edges)]
