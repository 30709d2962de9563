"""What runs on a worker: blocks of rows that stay there, and answers that are sums over them.

A block is an ordinary problem of some rows (`Problem.part`), and is asked what an oracle is asked. Nothing here knows of Dask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from fenchel.cluster import certificate_shares
from fenchel.data import accept
from fenchel.data.blas import one_blas_thread
from fenchel.engines.local import Block
from fenchel.engines.summation_tree import largest_nodes
from fenchel.oracles import oracle_of
from fenchel.oracles.blockwise import asked
from fenchel.problems.scalar import Problem
from fenchel.problems.structured import StructuredProblem

QUESTIONS: dict[str, Callable[..., Any]] = certificate_shares.QUESTIONS


class Whole:
    """The engine of one block: it is not cut any further."""

    threads = 1
    cut = ()

    def blocks(self, problem: Any) -> list[Any]:
        if problem.is_structured:
            return problem.cut((0, problem.n))
        return [Block(problem.rows, problem.y, problem.weights, problem.offset, 0, problem.n)]

    def map(self, function: Callable[..., Any], blocks: list[Any], *arguments: Any) -> list[Any]:
        return [function(block, *arguments) for block in blocks]

    def sum(self, function: Callable[..., tuple], blocks: list[Any], *arguments: Any) -> tuple:
        (block,) = blocks
        return function(block, *arguments)


class Holder:
    """One block: a question is a function of `QUESTIONS`, or a method of this class, of the block's oracle, or of what that
    keeps (`oracles/blockwise.py`)."""

    def __init__(self, problem: Problem):
        self.problem: Any = problem
        self.oracle = oracle_of(problem, Whole())

    def answer(self, question: str, *arguments: Any) -> Any:
        """What the block says."""
        if question in QUESTIONS:
            return QUESTIONS[question](self, *arguments)
        if hasattr(type(self), question):
            return getattr(self, question)(*arguments)
        return asked(self.oracle, question, *arguments)

    def size(self) -> int:
        """How many rows or examples."""
        (block,) = self.oracle.blocks
        return block.stop - block.start

    def masses(self) -> np.ndarray:
        """The weight of the rows of every class."""
        return self.problem.masses()

    def vector(self, name: str) -> np.ndarray:
        """The targets, weights or offsets of the block's rows."""
        return np.asarray(getattr(self.problem, name))

    def digest(self) -> str:
        """That of the block's problem."""
        return self.problem.digest

    def basis(self) -> str:
        """What a dual value of the block rests on."""
        return self.problem.basis

    def forget(self, name: str) -> None:
        """What is kept under a name is not needed any more."""
        self.oracle.kept.pop(name, None)


class Range(Holder):
    """Some examples of a structured problem, whose model the worker holds as a whole."""

    def __init__(self, problem: StructuredProblem, a: int, b: int):
        super().__init__(problem)
        self.oracle.blocks = [block for block in problem.cut(sorted({0, a, b, problem.n})) if block.start == a]


def hold(problem: Problem) -> Holder:
    """The block, made ready."""
    if problem.rows is None:  # a worker in the same process got it as it is, without a journey
        problem.settle()
    return Holder(problem)


def hold_range(problem: StructuredProblem, a: int, b: int) -> Holder:
    """Some examples of a problem, made ready."""
    return Range(problem, a, b)


def ask(
    holders: Sequence[Holder], numbers: Sequence[int], count: int, summed: bool, question: str, arguments: tuple,
    shares: Sequence[tuple],
) -> dict:  # fmt: skip
    """The answers of the blocks with these numbers: the largest sums of the tree (`summed`), or one by one."""
    arguments, shares = aligned(arguments), [aligned(share) for share in shares]
    with one_blas_thread(), np.errstate(all="ignore"):
        answers = _on_threads(
            lambda holder, share: holder.answer(question, *arguments, *share), holders, shares, _threads()
        )
    if not summed:
        return dict(zip(numbers, answers, strict=True))
    return largest_nodes(count, dict(zip(numbers, map(terms_of, answers), strict=True)))


def terms_of(answer: Any) -> tuple:
    """What is added up of an answer: a tuple of terms, or one term."""
    return answer if isinstance(answer, tuple) else (answer,)


def replay(holder: Holder, questions: Sequence[tuple[str, tuple]]) -> Holder:
    """The block, asked again what it was asked elsewhere, so that it keeps the same."""
    with one_blas_thread(), np.errstate(all="ignore"):
        for question, arguments in questions:
            holder.answer(question, *aligned(arguments))
    return holder


def aligned(arguments: Any) -> Any:
    """Arrays as they were before they travelled: messages may leave them at odd addresses, where BLAS and compiled
    kernels are others, which round otherwise."""
    if isinstance(arguments, tuple):
        inner = map(aligned, arguments)
        return type(arguments)(*inner) if hasattr(arguments, "_fields") else tuple(inner)
    return accept.aligned(arguments) if isinstance(arguments, np.ndarray) else arguments


def _threads() -> int:
    """Those of the worker that this runs on."""
    from distributed import get_worker

    try:
        return int(get_worker().state.nthreads)
    except ValueError:  # not on a worker
        return 1


def _on_threads(function: Callable[..., Any], holders: Sequence[Any], shares: Sequence[Any], threads: int) -> list[Any]:
    if threads == 1 or len(holders) == 1:
        return list(map(function, holders, shares))
    with ThreadPoolExecutor(min(threads, len(holders))) as pool:
        return list(pool.map(function, holders, shares))
