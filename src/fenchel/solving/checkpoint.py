"""Checkpoints: what a solve needs to go on after a crash, in one file that is whole at every moment.

A solver is a generator, and where a generator stands cannot be written to a file. There are two ways around that:

- A solver whose iterates carry `memory` (L-BFGS its pairs, Bundle its planes, ...) goes on from it exactly: a checkpoint may be
  made after any iteration, and changes nothing.
- Any other solver is *cut*: at iterations that depend on their count alone, never on the clock, it is closed and started anew
  at the point it had reached (coefficients, intercept, dual point), whether the file is then written or not. A solve that was
  killed and resumed therefore repeats, bit for bit, what the solve with `checkpoint=` would have done without the kill.
  A leg is some seconds of work at least (by the size of the data), and legs grow by half, so that cuts are few and what a
  restart forgets is small beside a leg; for methods whose steps shrink with their number legs double, which keeps their
  rate. A state that has been cut goes through the form of the file at once, so
  that what goes on in memory and what would be read later are the same.

In the file (`files/container.py`: JSON and raw arrays, sha256 over all of it) are the digest of the problem, the solver with
its settings, the versions of Fenchel and NumPy (another one may take other steps) and the state: iterates, trace and pace, but
no certificate, which is always recomputed. It is written every `seconds`, and less often where writing would take more than a
few percent of the time. What cannot be written or read is logged as a warning, and the solve goes on, or starts anew: a
checkpoint never costs a fit.
"""

from __future__ import annotations

import logging
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fenchel.data.accept import size
from fenchel.errors import CheckpointError, InputError, ModelFileError
from fenchel.files.atomic_write import check_writable, replacing
from fenchel.files.container import decode, encode
from fenchel.solving.checkpoint_format import pack, unpack

if TYPE_CHECKING:
    from fenchel.problems.scalar import Problem
    from fenchel.solvers.base import Solver

log = logging.getLogger("fenchel")

KIND = "checkpoint 1"
SECONDS = 60.0
SHARE = 30.0  # times what the last one took, at least, lie between the writing of two
SHORTEST_LEG, LONGEST_LEG = 10, 1000  # iterations of the first leg
LEG_WORK = 2e9  # stored values walked in it, if an iteration is a pass: some seconds


@dataclass(frozen=True)
class Checkpoint:
    """Where a solve keeps its state, after how many seconds it writes the next, and after how many iterations a solver
    that cannot go on from its memory is cut for the first time (None: by the size of the data; the module says why).

    >>> Checkpoint("fit.checkpoint", seconds=10)
    Checkpoint(path='fit.checkpoint', seconds=10, leg=None)
    """

    path: str | os.PathLike[str]
    seconds: float = SECONDS
    leg: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, os.PathLike)) or not os.fspath(self.path):
            raise InputError(f"checkpoint must be a path or a Checkpoint(path, seconds), got {self.path!r}")
        if not (isinstance(self.seconds, (int, float)) and 0.0 <= self.seconds < float("inf")):
            raise InputError(f"checkpoint: seconds must be a number of at least 0, got {self.seconds!r}")
        if self.leg is not None and not (isinstance(self.leg, int) and self.leg >= 1):
            raise InputError(f"checkpoint: leg must be None or an integer of at least 1, got {self.leg!r}")


def checkpoints(checkpoint: Checkpoint | str | os.PathLike[str] | None, count: int) -> list[Checkpoint]:
    """One for each of several solves; path.0, path.1, ... if there are more than one.

    >>> [each.path for each in checkpoints("fit", 2)]
    ['fit.0', 'fit.1']
    """
    given = accept_checkpoint(checkpoint)
    path = os.fsdecode(given.path)
    return [given] if count == 1 else [replace(given, path=f"{path}.{k}") for k in range(count)]


def accept_checkpoint(checkpoint: Any) -> Checkpoint:
    """A Checkpoint, also of a bare path."""
    return checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)


class CheckpointWriter:
    """Writes and reads the checkpoints of one solve; knows when the next is due, and when a solver is to be cut."""

    def __init__(self, checkpoint: Checkpoint | str | os.PathLike[str] | None, problem: Problem, solver: Solver | str):
        settings = accept_checkpoint(checkpoint)
        self.path, self.seconds = os.fsdecode(settings.path), settings.seconds
        check_writable(self.path)
        self.identity = {
            "problem": problem.digest,
            "solver": solver if isinstance(solver, str) else repr(solver),
            "versions": {name: version(name) for name in ("fenchel", "numpy")},
        }
        self.written_at, self.cost = time.perf_counter(), 0.0
        self.leg = settings.leg or first_leg(problem)
        self.next_cut = self.leg
        self.waiting: tuple[Any, Any] | None = None  # a cut that is not in the file yet

    def due(self) -> bool:
        """Whether it is time to write."""
        return time.perf_counter() - self.written_at >= max(self.seconds, SHARE * self.cost)

    def begin(self, iteration: int) -> None:
        """A solver begins."""
        self.next_cut = iteration + self.leg

    def cut_due(self, iteration: int) -> bool:
        """Whether a solver without memory is to be cut after so many iterations."""
        return iteration >= self.next_cut

    def cut(self, state: dict[str, Any], growth: float) -> dict[str, Any]:
        """The state as it would be read from the file; `growth` is that of the legs."""
        done = state["iteration"]
        self.next_cut = state["next_cut"] = max(done + self.leg, int(growth * done))
        self.waiting = pack(state)
        return unpack(*self.waiting)

    def flush(self) -> None:
        """Write the last cut, if it waits and the time has come."""
        if self.waiting is not None and self.due():
            waiting, self.waiting = self.waiting, None
            self._write(lambda: waiting)

    def keep(self, make: Callable[[], dict[str, Any]]) -> None:
        """Write a state; making it is part of what it costs."""
        self.waiting = None
        self._write(lambda: pack({**make(), "next_cut": self.next_cut}))

    def _write(self, make: Callable[[], tuple[Any, Any]]) -> None:
        began = time.perf_counter()
        try:
            plain, arrays = make()
            parts = encode({"kind": KIND, **self.identity, "state": plain}, arrays)
            with replacing(self.path) as file:
                for part in parts:
                    file.write(part)
        except (OSError, MemoryError, ModelFileError) as error:
            log.warning(
                "the checkpoint %s could not be written (%s); the solve goes on, and the one before is as it was",
                self.path, error,
            )  # fmt: skip
        self.written_at = time.perf_counter()
        self.cost = self.written_at - began

    def read(self) -> dict[str, Any] | None:
        """The state in the file; None, said aloud, if there is none that can be used. CheckpointError if it is another's."""
        try:
            header, arrays = self._content()
        except FileNotFoundError:
            log.info("there is no checkpoint %s yet: the solve starts anew", self.path)
            return None
        except (OSError, ModelFileError) as error:
            log.warning("the checkpoint %s is skipped, and the solve starts anew: %s", self.path, error)
            return None
        if header.get("kind") != KIND:
            raise CheckpointError(
                f"{self.path} is a file of Fenchel, but not a checkpoint that it can read: name another"
            )
        if header.get("problem") != self.identity["problem"]:
            raise CheckpointError(
                f"the checkpoint {self.path} is of another problem (data, loss, regularizer, weights or intercept differ): "
                "resume the one it was made for, name another file, or remove this one"
            )
        if header.get("solver") != self.identity["solver"]:
            raise CheckpointError(
                f"the checkpoint {self.path} was made by solver {header.get('solver')}, and {self.identity['solver']} cannot "
                "go on from it: ask for that solver, name another file, or remove this one"
            )
        if header.get("versions") != self.identity["versions"]:
            raise CheckpointError(
                f"the checkpoint {self.path} was written by {_shown(header.get('versions'))}, and this is "
                f"{_shown(self.identity['versions'])}, which may take other steps: resume it with the versions that wrote it, "
                "name another file, or remove this one"
            )
        try:
            state = unpack(header["state"], arrays)
            self.next_cut = state["next_cut"]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            log.warning(
                "the checkpoint %s is skipped, and the solve starts anew: no state in it (%r)", self.path, error
            )
            return None
        return state

    def _content(self) -> tuple[dict[str, Any], Any]:
        # Not blocking: opening a named pipe would otherwise wait for a writer.
        descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise ModelFileError("it is not a plain file")
            return decode(file, found.st_size)


def _shown(versions: Any) -> str:
    """Versions in words.

    >>> _shown({"fenchel": "0.1.0", "numpy": "2.0"}), _shown(None)
    ('fenchel 0.1.0 and numpy 2.0', 'a Fenchel that did not say its version')
    """
    if not isinstance(versions, dict):
        return "a Fenchel that did not say its version"
    return " and ".join(f"{name} {number}" for name, number in sorted(versions.items()))


def first_leg(problem: Problem) -> int:
    """Iterations before the first cut: from counts, so that every run of this problem has the same.

    >>> import fenchel
    >>> first_leg(fenchel.Problem([[1.0], [2.0]], [1, -1]))
    1000
    """
    stored = size(problem.rows) if hasattr(problem, "rows") else problem.n
    return int(min(max(LEG_WORK / max(stored, 1), SHORTEST_LEG), LONGEST_LEG))
