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
for megabytes in (200, 40, 25, 15, 10, 6, 3, 1, 0.1):
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
    assert len(outcomes) == 9
    assert outcomes[0][1] == "CERTIFIED"
    assert outcomes[-1][1] != "CERTIFIED"
    for megabytes, said in outcomes:
        assert said == "CERTIFIED" or any(unit in said for unit in ("KiB", "MiB", "bytes", "MB")), (megabytes, said)


PEAK = """
X, y = data(400_000, 50)  # 160 MB
few = data(2000, 50)
for loss, solver in [("logistic", "lbfgs"), ("hinge", "dual_ascent"), ("hinge", "bundle"), ("hinge", "auto")]:
    work(*few, loss, solver)
    settle()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the high-water mark begins here
    before = status("VmRSS")
    result = work(X, y, loss, solver)
    assert result.dual_point.shape == y.shape
    print(json.dumps([solver, status("VmHWM") - before, X.nbytes, y.nbytes]), flush=True)
"""
VECTORS = 12  # of one number per row: y, weights, offset, dual variables and scores, their copies while they are made
COPIES = {"auto": 0.6, "dual_ascent": 0.7}  # of X, as semismooth Newton and the phases of dual ascent say they hold


def test_a_solve_takes_a_tenth_of_the_data_more_its_vectors_and_the_copies_it_states():
    """The peak of Problem and solve together, above the data themselves."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pytest.skip("the high-water mark cannot be reset here")
    outcomes = run(PEAK)
    assert len(outcomes) == 4
    for solver, grown, data, row_vector in outcomes:
        assert grown <= max(0.1 * data, 64e6) + VECTORS * row_vector + COPIES.get(solver, 0.0) * data, (solver, grown)


MANY = """
problems = [data(200, 5), data(150, 7)]
def round():
    for X, y in problems:
        for loss, solver in [("logistic", "lbfgs"), ("hinge", "auto"), ("hinge", "bundle")]:
            work(X, y, loss, solver)
for _ in range(20):
    round()
settle()
before = status("VmRSS")
for _ in range(int(sys.argv[1])):
    round()
settle()
print(json.dumps(status("VmRSS") - before))
"""


@pytest.mark.parametrize("rounds", [50, pytest.param(500, marks=pytest.mark.slow)])
def test_many_solves_take_no_more_than_one(rounds):
    (grown,) = run(MANY, str(rounds))
    assert grown < 1_000_000
