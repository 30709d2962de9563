"""Checkpoints: the state that a solve needs to continue after a crash, in one file that is replaced atomically.

A solver is a generator, whose internal state cannot be written to a file. There are two solutions:

- A solver whose iterates carry `memory` (L-BFGS its pairs, Bundle its planes, ...) continues from it exactly: a checkpoint may
  be written after any iteration and does not change the solve.
- Any other solver runs in *segments*: after a number of iterations that never depends on the clock, it is closed and restarted
  at the point it had reached (coefficients, intercept, dual point), whether the file is then written or not. A solve that was
  killed and resumed is therefore bit-identical to the solve with `checkpoint=` that was not killed. The first segment is long
  enough for some seconds of work (by the size of the data). Each later one is longer by half, so that restarts are few and
  lose little; for methods whose steps shrink with the iteration number, segments double, which keeps their rate of
  convergence. At a restart the state is converted to the form of the file and back, so that the run in memory continues from
  exactly what would be read later.

The file (`files/container.py`: JSON and raw arrays, with a sha256 of everything) contains the digest of the problem, the solver
with its settings, the versions of Fenchel and NumPy (others may take different steps) and the state: iterates, trace and
progress, but no certificate, which is always recomputed. It is written every `seconds`, or less often if writing would take
more than a few percent of the time. A file that cannot be written or read is logged as a warning, and the solve continues or
starts from the beginning: a checkpoint never makes a fit fail.
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
SHARE = 30.0  # the least time between two checkpoints, relative to the time that writing the last one took
MIN_SEGMENT, MAX_SEGMENT = 10, 1000  # iterations of the first segment
SEGMENT_WORK = 2e9  # stored values read in the first segment, if an iteration is a pass: some seconds


@dataclass(frozen=True)
class Checkpoint:
    """Where a solve writes its state, how often (`seconds`), and after how many iterations a solver that cannot resume
    from its memory is restarted for the first time (`segment`; None: by the size of the data).

    >>> Checkpoint("fit.checkpoint", seconds=10)
    Checkpoint(path='fit.checkpoint', seconds=10, segment=None)
    """

    path: str | os.PathLike[str]
    seconds: float = SECONDS
    segment: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, os.PathLike)) or not os.fspath(self.path):
            raise InputError(f"checkpoint must be a path or a Checkpoint(path, seconds), got {self.path!r}")
        if not (isinstance(self.seconds, (int, float)) and 0.0 <= self.seconds < float("inf")):
            raise InputError(f"checkpoint: seconds must be a number of at least 0, got {self.seconds!r}")
        if self.segment is not None and not (isinstance(self.segment, int) and self.segment >= 1):
            raise InputError(f"checkpoint: segment must be None or an integer of at least 1, got {self.segment!r}")


def checkpoints(checkpoint: Checkpoint | str | os.PathLike[str] | None, count: int) -> list[Checkpoint]:
    """A checkpoint for each of several solves: path.0, path.1, ... if there is more than one.

    >>> [each.path for each in checkpoints("fit", 2)]
    ['fit.0', 'fit.1']
    """
    given = accept_checkpoint(checkpoint)
    path = os.fsdecode(given.path)
    return [given] if count == 1 else [replace(given, path=f"{path}.{k}") for k in range(count)]


def accept_checkpoint(checkpoint: Any) -> Checkpoint:
    """A Checkpoint, from a Checkpoint or a path."""
    return checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)


class CheckpointWriter:
    """Writes and reads the checkpoints of one solve; decides when the next is due, and when a solver is restarted."""

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
        self.segment = settings.segment or first_segment(problem)
        self.next_restart = self.segment
        self.waiting: tuple[Any, Any] | None = None  # a state that is not in the file yet

    def due(self) -> bool:
        """Whether it is time to write."""
        return time.perf_counter() - self.written_at >= max(self.seconds, SHARE * self.cost)

    def begin(self, iteration: int) -> None:
        """Note that a solver starts at this iteration."""
        self.next_restart = iteration + self.segment

    def restart_due(self, iteration: int) -> bool:
        """Whether a solver without memory is to be restarted after this iteration."""
        return iteration >= self.next_restart

    def restart(self, state: dict[str, Any], growth: float) -> dict[str, Any]:
        """The state as it would be read from the file; segments grow by the factor `growth`."""
        done = state["iteration"]
        self.next_restart = state["next_restart"] = max(done + self.segment, int(growth * done))
        self.waiting = pack(state)
        return unpack(*self.waiting)

    def flush(self) -> None:
        """Write the last state, if it is not in the file yet and the next write is due."""
        if self.waiting is not None and self.due():
            waiting, self.waiting = self.waiting, None
            self._write(lambda: waiting)

    def keep(self, make: Callable[[], dict[str, Any]]) -> None:
        """Write a state; the time to make it counts as time for writing."""
        self.waiting = None
        self._write(lambda: pack({**make(), "next_restart": self.next_restart}))

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
                "the checkpoint %s could not be written (%s); the solve continues, and the previous checkpoint is unchanged",
                self.path, error,
            )  # fmt: skip
        self.written_at = time.perf_counter()
        self.cost = self.written_at - began

    def read(self) -> dict[str, Any] | None:
        """The state in the file; None, with a log message, if there is no usable one. CheckpointError if it does not match."""
        try:
            header, arrays = self._content()
        except FileNotFoundError:
            log.info("there is no checkpoint %s yet: the solve starts from the beginning", self.path)
            return None
        except (OSError, ModelFileError) as error:
            log.warning("the checkpoint %s is ignored, and the solve starts from the beginning: %s", self.path, error)
            return None
        if header.get("kind") != KIND:
            raise CheckpointError(
                f"{self.path} is a Fenchel file, but not a checkpoint that this version can read: choose another path"
            )
        if header.get("problem") != self.identity["problem"]:
            raise CheckpointError(
                f"the checkpoint {self.path} is of another problem (data, loss, regularizer, weights or intercept differ): "
                "resume the problem it belongs to, choose another path, or remove the file"
            )
        if header.get("solver") != self.identity["solver"]:
            raise CheckpointError(
                f"the checkpoint {self.path} was written by solver {header.get('solver')}, and {self.identity['solver']} "
                "cannot continue from it: use that solver, choose another path, or remove the file"
            )
        if header.get("versions") != self.identity["versions"]:
            raise CheckpointError(
                f"the checkpoint {self.path} was written by {_shown(header.get('versions'))}, and this is "
                f"{_shown(self.identity['versions'])}, which may take other steps: resume it with the versions that wrote it, "
                "choose another path, or remove the file"
            )
        try:
            state = unpack(header["state"], arrays)
            self.next_restart = state["next_restart"]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            log.warning(
                "the checkpoint %s is ignored, and the solve starts from the beginning: no state in it (%r)",
                self.path,
                error,
            )
            return None
        return state

    def _content(self) -> tuple[dict[str, Any], Any]:
        # Non-blocking, because opening a named pipe would otherwise wait for a writer.
        descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise ModelFileError("it is not a plain file")
            return decode(file, found.st_size)


def _shown(versions: Any) -> str:
    """Versions as text.

    >>> _shown({"fenchel": "0.1.0", "numpy": "2.0"}), _shown(None)
    ('fenchel 0.1.0 and numpy 2.0', 'an unknown version of Fenchel')
    """
    if not isinstance(versions, dict):
        return "an unknown version of Fenchel"
    return " and ".join(f"{name} {number}" for name, number in sorted(versions.items()))


def first_segment(problem: Problem) -> int:
    """Iterations before the first restart: computed from counts, so that they are the same in every run of a problem.

    >>> import fenchel
    >>> first_segment(fenchel.Problem([[1.0], [2.0]], [1, -1]))
    1000
    """
    stored = size(problem.rows) if hasattr(problem, "rows") else problem.n
    return int(min(max(SEGMENT_WORK / max(stored, 1), MIN_SEGMENT), MAX_SEGMENT))
