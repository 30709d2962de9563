"""Peak growth of resident memory during one fit, in a process of its own.

The child reads the data, fits a few rows so that imports and compilation are behind it, and then fits the task. On
Linux the kernel's own high-water mark is reset before the fit and read after it (/proc/self/clear_refs, VmHWM): exact.
Elsewhere the parent samples the child's resident size every millisecond with psutil: a short peak may be missed.
"""

from __future__ import annotations

import gc
import multiprocessing
import time
from pathlib import Path
from typing import Any

from benchmarks.tasks import Spec, Task

CLEAR, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
WARM_ROWS = 500


def method() -> str:
    return "kernel high-water mark, own process" if exact() else "sampled every millisecond with psutil, own process"


def exact() -> bool:
    try:
        CLEAR.write_text("5")
    except OSError:
        return False
    return "VmHWM" in STATUS.read_text()


def peak_growth(spec: Spec, entrant: Any, tol: float) -> float:
    """Bytes by which one fit raises the resident memory of a process that holds the data; NaN if the fit failed."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=fit_in_child, args=(there, spec, entrant, tol))
    child.start()
    there.close()
    try:
        before = here.recv()
        return here.recv() if exact() else sample(child.pid, here, before)
    except EOFError:
        return float("nan")
    finally:
        child.join()


def sample(pid: int | None, pipe: Any, before: float) -> float:
    import psutil

    process, highest = psutil.Process(pid), before
    while not pipe.poll():
        highest = max(highest, process.memory_info().rss)
        time.sleep(0.001)
    pipe.recv()
    return highest - before


def fit_in_child(pipe: Any, spec: Spec, entrant: Any, tol: float) -> None:
    import psutil

    task = spec.load()
    entrant.fit(first_rows(task), tol)
    gc.collect()
    resettable = exact()
    before = psutil.Process().memory_info().rss
    pipe.send(before)
    entrant.fit(task, tol)
    pipe.send(high_water() - before if resettable else 0.0)


def first_rows(task: Task) -> Task:
    """A few rows of both classes, spread over the data."""
    step = max(task.X.shape[0] // WARM_ROWS, 1)
    weights = None if task.weights is None else task.weights[::step].copy()
    return task._replace(X=task.X[::step], y=task.y[::step].copy(), weights=weights)


def high_water() -> float:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
    return 1024.0 * float(line.split()[1])
