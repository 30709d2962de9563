"""Memory: how much a solve takes, that many of them take no more than one, and what happens where there is none.

Everything is measured in processes of its own, after the libraries are loaded and the kernels compiled.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

resource = pytest.importorskip("resource")
if not os.path.exists("/proc/self/status"):
    pytest.skip("needs /proc", allow_module_level=True)

COMMON = """
import ctypes, gc, json, os, resource, sys
import numpy as np
import fenchel
from fenchel.engines import Local

def status(name):
    return 1024 * int(next(line for line in open("/proc/self/status") if line.startswith(name)).split()[1])

def data(n, d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)

def work(X, y, loss, solver, threads=2, free=True):
    problem = fenchel.Problem(X, y, loss=loss, alpha=1e-3, fit_intercept=free)
    return fenchel.solve(problem, solver=solver, tol=1e-4, max_iter=20, engine=Local(threads))

def settle():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
"""
# Arrays of more than 64 KB come from the system and go back to it, so that what is counted is what is used.
EXACT = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}


def run(program, *words):
    done = subprocess.run(
        [sys.executable, "-c", COMMON + program, *words], capture_output=True, text=True, timeout=300,
        env={**os.environ, **EXACT},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


STEPS = """
X, y = data(60_000, 50)
work(X, y, *sys.argv[1:])
settle()
for megabytes in (200, 80, 50, 30, 25, 20, 15, 12, 10, 8, 6, 4, 3, 2, 1, 0.5, 0.1):
    if os.fork() == 0:
        resource.setrlimit(resource.RLIMIT_AS, (int(status("VmSize") + megabytes * 1e6), resource.RLIM_INFINITY))
        try:
            said = work(X, y, *sys.argv[1:]).status.name
        except MemoryError as error:
            said = str(error) or "nothing"
        except BaseException as error:
            said = f"WRONG {type(error).__name__}: {error}"
        os.write(1, (json.dumps([megabytes, said]) + "\\n").encode())
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.wait()[1])
    if ended:
        print(json.dumps([megabytes, f"WRONG exit {ended}"]), flush=True)
"""


@pytest.mark.parametrize(("loss", "solver"), [("logistic", "lbfgs"), ("hinge", "dual_ascent")])
def test_less_and_less_memory_ends_in_an_error_that_names_bytes(loss, solver):
    outcomes = run(STEPS, loss, solver)
    assert len(outcomes) == 17
    assert outcomes[0][1] == "CERTIFIED"
    assert outcomes[-1][1] != "CERTIFIED"
    for megabytes, said in outcomes:
        assert said == "CERTIFIED" or any(unit in said for unit in ("KiB", "MiB", "bytes", "MB")), (megabytes, said)
