"""Blocks pinned to the workers of a Dask cluster, and rounds of questions to them.

Every task is bound to the worker that holds its blocks, so Dask never moves one. If a worker is lost, its blocks are placed
anew on the others, from where they came from, and only they are asked again; since sums are added in the order of the tree
(`engines/summation_tree.py`), the answer is the same bit for bit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from itertools import count as count_from
from typing import Any

from fenchel.cluster.answers import Shapes, aligned_answer, has_nan, wrong_form
from fenchel.cluster.holder import ask, replay
from fenchel.engines.summation_tree import completed, missing
from fenchel.errors import SolveError

log = logging.getLogger("fenchel")

LOOK = 1.0  # seconds after which a round that is not complete is looked into
LATE, SLOW = 10.0, 20.0  # seconds, and times those of the others, after which a worker is named as slow
VERY_LATE = 60.0  # seconds after which all are, if none has answered: they may be compiling
TRIES = 5  # of a round, each with other workers

Place = Callable[[int, str], Any]  # (number of a block, address of a worker) -> a future of its holder


class Team:
    """Who holds which block. `place(number, worker)` puts a block somewhere, also again after a loss."""

    def __init__(
        self, client: Any, count: int, place: Place, where: Sequence[str] | None = None, timeout: float = 60.0,
        movable: bool = True,
    ):  # fmt: skip
        self.client, self.count, self.place, self.timeout, self.movable = client, count, place, timeout, movable
        workers = self._workers()
        if not workers:
            raise SolveError(f"the cluster at {client.scheduler.address} has no workers", None)
        self.where = list(where) if where is not None else spread(count, workers)
        self.held = [place(k, self.where[k]) for k in range(count)]
        self.refused: set[str] = set()  # workers that gave a wrong answer
        self.late: set[str] = set()  # workers that gave none in time
        self.rounds = 0
        # Questions that made what blocks keep, by its name; each with its arguments and those of every block.
        self.remembered: dict[str, list[tuple[str, tuple, Sequence[tuple] | None]]] = {}
        self.names = count_from(1)

    def sum(
        self, question: str, *arguments: Any, shapes: Shapes = None, shares: Sequence[tuple] | None = None,
        changes: str | None = None,
    ) -> tuple:  # fmt: skip
        """The sum of the blocks' answers, term by term; `shapes` are those that the terms must have.

        `changes`: the name of what the blocks keep that the question changes. A block that is placed anew is asked all
        such questions again first, so that it keeps the same.
        """
        answer = completed(self.count, self._round(question, arguments, shares, shapes, True))
        self._remember(changes, question, arguments, shares)
        return answer

    def new_name(self) -> str:
        """For something that the blocks are to keep."""
        return f"kept {next(self.names)}"

    def forget(self, name: str) -> None:
        """Let the blocks forget what they keep under a name."""
        if self.remembered.pop(name, None) is not None:
            self.each("forget", name)

    def each(
        self, question: str, *arguments: Any, shares: Sequence[tuple] | None = None, changes: str | None = None,
        lengths: Sequence[int] | None = None,
    ) -> list[Any]:  # fmt: skip
        """The answer of every block, in order; `lengths`: of the arrays of numbers that they must be."""
        shapes = None if lengths is None else tuple((int(n),) for n in lengths)
        found = self._round(question, arguments, shares, shapes, False)
        self._remember(changes, question, arguments, shares)
        return [found[k] for k in range(self.count)]

    def _remember(self, changes: str | None, question: str, arguments: tuple, shares: Sequence[tuple] | None) -> None:
        if changes is not None:
            self.remembered.setdefault(changes, []).append((question, arguments, shares))

    def _asked_before(self, k: int) -> list[tuple[str, tuple]]:
        """What a block must be asked again, so that it keeps what it kept elsewhere."""
        return [
            (question, arguments if shares is None else (*arguments, *shares[k]))
            for questions in self.remembered.values()
            for question, arguments, shares in questions
        ]

    def _round(self, question: str, arguments: tuple, shares: Any, shapes: Shapes, summed: bool) -> dict:
        self.rounds += 1
        found: dict = {}
        doubted: set[int] = set()  # blocks for which a worker answered NaN
        for _ in range(TRIES):
            todo = missing(self.count, found) if summed else [k for k in range(self.count) if k not in found]
            if not todo:
                return found
            own = {worker: [k for k in todo if self.where[k] == worker] for worker in dict.fromkeys(self.where)}
            answers, lost = self._ask({w: k for w, k in own.items() if k}, question, arguments, shares, summed)
            faults = self._faults(answers, own, shapes, doubted, summed)
            for worker, answer in answers.items():
                if worker not in faults:
                    found |= answer
                    continue
                doubted |= set(own[worker])
                self.refused.add(worker)
                lost.add(worker)
                log.warning("worker %s answered %s to %r for blocks %s", worker, faults[worker], question, own[worker])
            if lost:
                self._replace(lost)
        raise SolveError(f"no answer to {question!r} from blocks {todo} in {TRIES} tries, each on other workers", None)

    def _faults(
        self, answers: dict[str, dict], own: dict[str, list[int]], shapes: Shapes, doubted: set[int], summed: bool
    ) -> dict[str, str]:
        """{worker: what is wrong with its answer}. NaN from two workers is what the data give."""
        faults = {worker: wrong_form(answer, own[worker], shapes, summed) for worker, answer in answers.items()}
        faults = {worker: fault for worker, fault in faults.items() if fault}
        nan = {w for w, answer in answers.items() if w not in faults and (summed or shapes) and has_nan(answer)}
        if len(nan) == 1 and len(self._workers()) > 1 and doubted.isdisjoint(own[next(iter(nan))]):
            return faults | dict.fromkeys(nan, "NaN")
        if nan:
            self.refused.clear()  # whoever said so before was right
        return faults

    def _ask(
        self, own: dict[str, list[int]], question: str, arguments: tuple, shares: Any, summed: bool
    ) -> tuple[dict, set[str]]:
        """({worker: answer}, workers that gave none)."""
        pending = {}
        if self.client.status != "running":
            self._workers()  # says what is wrong
        for worker, blocks in own.items():
            given = [() if shares is None else shares[k] for k in blocks]
            task = (ask, [self.held[k] for k in blocks], blocks, self.count, summed, question, arguments, given)
            pending[worker] = self.client.submit(*task, workers=[worker], pure=False, retries=0)
        return self._collect(pending, question)

    def _collect(self, pending: dict[str, Any], question: str) -> tuple[dict, set[str]]:
        answers: dict[str, dict] = {}
        lost: set[str] = set()
        named: set[str] = set()
        began, first, patience = time.perf_counter(), None, LOOK
        while pending:
            self._wait(list(pending.values()))
            ready = {worker: future for worker, future in pending.items() if future.done()}
            for worker, answer in self._results(ready, patience).items():
                del pending[worker]
                first = time.perf_counter() - began if first is None else first
                if answer is None:
                    lost.add(worker)
                else:
                    answers[worker] = answer
            if pending:
                patience *= 2.0
                gone = set(pending) - set(self._workers())
                waited = time.perf_counter() - began
                slow = set(pending) if waited > (VERY_LATE if first is None else max(LATE, SLOW * first)) else set()
                for worker in slow - named:
                    log.warning("worker %s is slow: no answer to %r for %.0f s", worker, question, waited)
                named |= slow
                late = set(pending) if waited > self.timeout and first is not None else set()
                self.late |= late
                for worker in gone | late:
                    self.client.cancel([pending.pop(worker)], force=True)
                    lost.add(worker)
        return answers, lost

    def _wait(self, futures: list[Any]) -> None:
        from distributed import wait

        with suppress(TimeoutError, CancelledError):  # who is cancelled is found by its status
            wait(futures, timeout=LOOK)

    def _results(self, ready: dict[str, Any], patience: float) -> dict[str, dict | None]:
        """{worker: its answer, or None if the worker or what it held is gone}, without those that do not come in time."""
        finished = {worker: future for worker, future in ready.items() if future.status == "finished"}
        with suppress(TimeoutError, CancelledError):  # all at once; or else one by one, as one may be in the way
            gather = partial(self.client.gather, finished, asynchronous=True)
            return self._one_by_one({w: f for w, f in ready.items() if w not in finished}, patience) | {
                worker: aligned_answer(answer)
                for worker, answer in self.client.sync(gather, callback_timeout=patience).items()
            }
        return self._one_by_one(ready, patience)

    def _one_by_one(self, ready: dict[str, Any], patience: float) -> dict[str, dict | None]:
        from distributed.scheduler import KilledWorker

        found: dict[str, dict | None] = {}
        for worker, future in ready.items():
            if future.status in ("cancelled", "lost"):
                self._workers()  # says so if it is the scheduler that is gone
                found[worker] = None
                continue
            try:
                found[worker] = aligned_answer(future.result(timeout=patience))
            except (KilledWorker, CancelledError):
                found[worker] = None
            except TimeoutError:
                continue  # computed, but it does not come
        return found

    def _workers(self) -> list[str]:
        """Addresses of the workers that are there."""
        if self.client.status == "closed":
            raise SolveError("the client of the cluster is closed, by its owner or because the scheduler is gone", None)
        try:
            return sorted(self.client.nthreads())
        except (OSError, TimeoutError, RuntimeError) as error:
            raise SolveError(f"the scheduler of the cluster is gone ({error or type(error).__name__})", None) from error

    def _replace(self, lost: set[str]) -> None:
        """Put the blocks of lost workers on the others, the emptiest first."""
        there = self._others(lost)
        blocks = [k for k in range(self.count) if self.where[k] in lost]
        if not self.movable:
            raise SolveError(
                f"worker {', '.join(sorted(lost))} is gone, and nobody else may hold its blocks {blocks}", None
            )
        if not there:
            there = self._wait_for_worker(lost, blocks)
        log.warning("worker %s gave no answer: blocks %s are placed on %s", ", ".join(lost), blocks, ", ".join(there))
        for k in blocks:
            worker = min(there, key=lambda w: (self.where.count(w), w))
            self.where[k] = worker
            self.held[k] = self.place(k, worker)
            if self.remembered:
                asked = self._asked_before(k)
                self.held[k] = self.client.submit(replay, self.held[k], asked, workers=[worker], pure=False)

    def _others(self, lost: set[str]) -> list[str]:
        """Workers to put blocks on: those that were late only if there are no others."""
        there = [w for w in self._workers() if w not in lost and w not in self.refused]
        return [w for w in there if w not in self.late] or there

    def _wait_for_worker(self, lost: set[str], blocks: list[int]) -> list[str]:
        end = time.perf_counter() + min(self.timeout, 25.0)
        while time.perf_counter() < end:
            there = self._others(lost)
            if there:
                return there
            time.sleep(0.2)
        names = ", ".join(sorted(lost))
        raise SolveError(f"no worker is left for blocks {blocks}: lost {names}", None)

    def close(self) -> None:
        """Let go of the blocks."""
        for future in self.held:
            future.release()
        self.held = []


def spread(count: int, workers: Sequence[str]) -> list[str]:
    """A worker for every block: neighbouring blocks together, cut where the tree of sums is cut if that is fair.

    >>> spread(4, ["a", "b"]), spread(3, ["a", "b", "c"])
    (['a', 'a', 'b', 'b'], ['a', 'b', 'c'])
    """
    if len(workers) == 1 or count <= 1:
        return [workers[0]] * count
    half = len(workers) // 2
    first = count // 2 if len(workers) % 2 == 0 else round(count * half / len(workers))
    return spread(first, workers[:half]) + spread(count - first, workers[half:])
