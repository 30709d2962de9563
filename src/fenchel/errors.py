"""The exception tree.

FenchelError
├── InputError (ValueError)      an argument is wrong: which, where, what to do
│   └── UnknownNameError         a name nobody knows, with the nearest known one
├── IncompatibleError (ValueError)   solver and problem do not fit: what is missing, why it is needed, who can
├── SolveError (RuntimeError)    user code failed in the middle of a solve; `.result` keeps the best iterate
│   └── OwnerRefusal             an owner of data refuses to answer, or its answers cannot be true
├── ReadError (ValueError)       a data file is malformed: file, line, column, what was expected
├── ModelFileError (ValueError)  a model file is truncated, tampered with or of another version
└── CheckpointError (ValueError) a checkpoint is of another problem or another solver
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class FenchelError(Exception):
    """Base of every error that Fenchel raises on purpose."""


class InputError(FenchelError, ValueError):
    """An argument is wrong; the message names it, the first bad place and the remedy."""


class UnknownNameError(InputError):
    """A name that is not registered; the nearest known name is suggested."""

    def __init__(self, what: str, name: str, known: Iterable[str]):
        names = sorted(known)
        near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        super().__init__(f"unknown {what} {name!r}.{hint} Known: {', '.join(names)}.")


class IncompatibleError(FenchelError, ValueError):
    """A solver cannot solve this problem; the message says what is missing, why it is needed and who can."""


class SolveError(FenchelError, RuntimeError):
    """User code (a loss, a callback, an oracle) failed during a solve; `result` is the best certified iterate so far."""

    def __init__(self, message: str, result: object | None = None):
        super().__init__(message)
        self.result = result


class OwnerRefusal(SolveError):
    """An owner of data gives no answer, or one that cannot be true; the message names it and its reason."""

    def __init__(self, owner: str, reason: str):
        super().__init__(f"owner {owner!r}: {reason}")
        self.owner, self.reason = owner, reason

    def __reduce__(self) -> Any:
        return OwnerRefusal, (self.owner, self.reason)


class ReadError(FenchelError, ValueError):
    """A data file is malformed; the message starts with file:line:column."""


class ModelFileError(FenchelError, ValueError):
    """A model file cannot be trusted or understood."""


class CheckpointError(FenchelError, ValueError):
    """A checkpoint is sound, but of another problem or another solver: going on from it would answer another question."""
