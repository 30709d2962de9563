"""Questions to all rows that blocks of rows can answer, each for its own.

A method of an oracle that is marked as `summed` or `collected` is the only definition of its question. Where the rows are in
this process, it runs. Where they are on workers, every block there has an oracle of the same class: it is asked the same
question, by the name of the method, and only the answers travel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])
Passes = float | Callable[..., float]


def summed(
    passes: Passes = 0.0, shapes: Callable[[Any], tuple] | None = None, rows: int = 0, keeps: bool = False
) -> Callable[[Method], Method]:
    """The answer is the sum of those of the blocks: a tuple of terms, or one term.

    Parameters
    ----------
    passes : over the data that an answer takes, or a function of the arguments that says it.
    shapes : of the terms, given the problem: answers of workers are held to them.
    rows : the first so many arguments have an entry per row, of which each block gets its own.
    keeps : the first argument names what the blocks keep and the question changes: where a block is placed anew, it is asked
        all these questions again.
    """

    def mark(method: Method) -> Method:
        @wraps(method)
        def ask(self: Any, *arguments: Any) -> Any:
            self.count(passes(*arguments) if callable(passes) else passes)
            if not self.remote:
                return method(self, *arguments)
            found = self.blocks.sum(
                method.__name__, *arguments, rows=rows, shapes=None if shapes is None else shapes(self.problem),
                changes=arguments[0] if keeps else None,
            )  # fmt: skip
            return found[0] if len(found) == 1 else found

        return cast(Method, ask)

    return mark


def collected(passes: float = 0.0, per_row: bool = True) -> Callable[[Method], Method]:
    """The answer has an entry per row (or, if not `per_row`, any number of entries for each): those of the blocks in order."""

    def mark(method: Method) -> Method:
        @wraps(method)
        def ask(self: Any, *arguments: Any) -> Any:
            self.count(passes)
            if not self.remote:
                return method(self, *arguments)
            return self.blocks.collect(method.__name__, *arguments, per_row=per_row)

        return cast(Method, ask)

    return mark
