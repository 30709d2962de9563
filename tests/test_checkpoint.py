"""Checkpoints: a stopped solve continues with bit-identical results; damaged files are ignored with a warning."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import fenchel
import structured_problems
import test_set_problems
import test_threads
import vector_problems
from fenchel import regularizers, solvers
from fenchel.cli import main
from fenchel.errors import CheckpointError, InputError, SolveError
from fenchel.readers.svmlight.write import write_svmlight
from fenchel.solving.checkpoint import SHARE, CheckpointWriter, first_segment
from fenchel.solving.checkpoint_format import pack, unpack

EXACT = ("lbfgs", "proximal_gradient", "bundle")  # their iterates carry their memory


def scalar(loss):
    X, y = test_threads.arrays()
    return fenchel.Problem(X, y, loss=loss, alpha=1e-4, fit_intercept=True)


PROBLEMS = {
    "logistic": lambda: scalar("logistic"),
    "hinge": lambda: scalar("hinge"),
    "classes": lambda: vector_problems.problem("max_hinge", regularizers.L2(0.01)),
    "softmax": lambda: vector_problems.problem("softmax", regularizers.L2(0.001), free=True),
    "measure": lambda: test_set_problems.problem("roc_area", "l2"),
    "chain": lambda: structured_problems.problem("chain"),
    "chain_log": lambda: structured_problems.problem("chain", loss="log"),
}
CASES = [
    pytest.param(kind, name, marks=pytest.mark.xdist_group(kind))
    for kind, names in {
        "logistic": ("auto", "lbfgs", "proximal_gradient", "bundle", "dual_ascent", "newton_cg", "pragam"),
        "hinge": ("auto", "bundle", "dual_ascent", "semismooth_newton", "projected_subgradient"),
        "classes": ("auto", "block_ascent", "bundle", "frank_wolfe"),
        "softmax": ("lbfgs", "newton_cg", "proximal_gradient"),
        "measure": ("bundle",),
        "chain": ("block_frank_wolfe", "bundle", "cutting_plane", "extragradient"),
        "chain_log": ("bundle", "lbfgs"),
    }.items()
    for name in names
]


def bits(result):
    """Everything of a result that is not a time."""
    numbers = [result.certificate.primal, result.certificate.dual, result.n_iter]
    plain, stored = pack([result.coef, result.intercept, result.dual_point, numbers, result.solver])
    return repr(plain), {name: array.tobytes() for name, array in stored.items()}


class Crash(Exception):
    """Of the user's code: the loop ends at once, and writes nothing more."""


def crashing(at):
    def callback(state):
        if state.iteration >= at:
            raise Crash

    return callback


def run(problem, solver, **options):
    return fenchel.solve(problem, solver=solver, tol=1e-6, max_iter=120, **options)


@pytest.mark.parametrize(("kind", "solver"), CASES)
def test_a_crash_at_any_iteration_and_resume_give_the_same_bits(tmp_path, kind, solver):
    problem, path = PROBLEMS[kind](), tmp_path / "c"
    keep = fenchel.Checkpoint(path, seconds=0, segment=5)
    whole = run(problem, solver, checkpoint=keep)
    assert whole.n_iter > 3
    stops = sorted({2, whole.n_iter // 3, whole.n_iter // 2, whole.n_iter - 1})
    for at in stops:
        path.unlink()
        with pytest.raises(SolveError):
            run(problem, solver, checkpoint=keep, callback=crashing(at))
        resumed = run(problem, solver, checkpoint=keep, resume=True)
        assert bits(resumed) == bits(whole)
        np.testing.assert_array_equal(*([point[3:] for point in result.trace] for result in (resumed, whole)))
    assert bits(run(problem, solver, checkpoint=keep, resume=True)) == bits(whole)  # it is the answer already
    if solver in EXACT:
        assert bits(run(problem, solver)) == bits(whole)


@pytest.mark.parametrize("solver", ["lbfgs", "dual_ascent"])
@pytest.mark.xdist_group("logistic")
def test_limits_interrupts_and_callbacks_leave_a_checkpoint_to_go_on_from(tmp_path, solver):
    problem, keep = PROBLEMS["logistic"](), fenchel.Checkpoint(tmp_path / "c", seconds=1e6)
    whole = run(problem, solver)

    def interrupted(state):
        if state.iteration == 3:
            raise KeyboardInterrupt

    ways = {
        "MAX_ITER": {"max_iter": 3},
        "STOPPED_BY_CALLBACK": {"callback": lambda state: state.iteration == 3},
        "INTERRUPTED": {"callback": interrupted},
        "MAX_TIME": {"max_time": 0.05, "callback": lambda state: time.sleep(0.02)},
    }
    for status, how in ways.items():
        cut = fenchel.solve(problem, solver=solver, tol=1e-6, checkpoint=keep, **how)
        assert cut.status.name == status
        resumed = fenchel.solve(problem, solver=solver, tol=1e-6, checkpoint=keep, resume=True)
        assert resumed.converged
        assert resumed.n_iter > cut.n_iter and resumed.seconds > cut.seconds
        assert len(resumed.trace) > len(cut.trace)
        if solver in EXACT:
            assert (resumed.coef.tobytes(), resumed.n_iter) == (whole.coef.tobytes(), whole.n_iter)
        assert resumed.certificate.primal == pytest.approx(whole.certificate.primal, rel=2e-6)
        (tmp_path / "c").unlink()


PROGRAM = """
import sys, time
sys.path.insert(0, sys.argv[1])
import fenchel, test_threads
X, y = test_threads.arrays()
problem = fenchel.Problem(X, y, loss="logistic", alpha=1e-4, fit_intercept=True)
result = fenchel.solve(
    problem, sys.argv[3], tol=1e-6, max_iter=120, checkpoint=fenchel.Checkpoint(sys.argv[2], seconds=0, segment=5), resume=True,
    callback=lambda state: time.sleep(0.008),
)
print(result.n_iter, test_threads.bits(result).hex())
"""


@pytest.mark.parametrize("solver", ["bundle", "pragam"])
@pytest.mark.xdist_group("logistic")
def test_kill_9_at_random_moments_and_resume_give_the_same_bits(tmp_path, solver):
    rng, path = np.random.default_rng(0), tmp_path / "c"
    words = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent), str(path), solver]
    for _ in range(2):
        before = path.stat().st_mtime_ns if path.exists() else 0
        child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while not (path.exists() and path.stat().st_mtime_ns > before) and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(rng.uniform(0.0, 0.3))
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    whole = run(PROBLEMS["logistic"](), solver, checkpoint=fenchel.Checkpoint(tmp_path / "other", seconds=0, segment=5))
    assert done.stdout.split() == [str(whole.n_iter), test_threads.bits(whole).hex()]


@pytest.fixture
def small(tmp_path):
    """(problem, checkpoint, its path) after a solve that was cut off."""
    problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="logistic", alpha=0.1)
    keep = fenchel.Checkpoint(tmp_path / "c", seconds=0)
    fenchel.solve(problem, solver="lbfgs", checkpoint=keep, max_iter=2)
    return problem, keep, tmp_path / "c"


def test_every_truncation_and_flipped_bit_is_noticed(small, caplog):
    problem, keep, path = small
    whole = path.read_bytes()
    writer = CheckpointWriter(keep, problem, solvers.LBFGS())
    assert writer.read()["iteration"] == 2
    damaged = [whole[:end] for end in range(len(whole))]
    damaged += [whole[:k] + bytes([whole[k] ^ 1 << k % 8]) + whole[k + 1 :] for k in range(len(whole))]
    damaged += [whole + b"\0", b"", b"words"]
    for content in damaged:
        caplog.clear()
        path.write_bytes(content)
        assert writer.read() is None
        (record,) = caplog.records
        assert (
            record.levelno == logging.WARNING
            and "is ignored" in record.getMessage()
            and str(path) in record.getMessage()
        )


def test_a_damaged_checkpoint_costs_no_fit(small, caplog):
    problem, keep, path = small
    anew = fenchel.solve(problem, solver="lbfgs")
    path.write_bytes(path.read_bytes()[:100])
    resumed = fenchel.solve(problem, solver="lbfgs", checkpoint=keep, resume=True)
    assert "is ignored, and the solve starts from the beginning" in caplog.text
    assert bits(resumed) == bits(anew)
    assert CheckpointWriter(keep, problem, solvers.LBFGS()).read() is not None  # and has left a sound one


def test_a_missing_checkpoint_is_a_start(small, caplog):
    problem, keep, path = small
    path.unlink()
    with caplog.at_level(logging.INFO, "fenchel"):
        assert fenchel.solve(problem, solver="lbfgs", checkpoint=keep, resume=True).converged
    assert "no checkpoint" in caplog.text


def test_a_checkpoint_of_another_problem_solver_or_kind_is_refused(small, tmp_path):
    problem, keep, path = small
    other = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, 1], loss="logistic", alpha=0.1)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match="another problem"):
        fenchel.solve(other, solver="lbfgs", checkpoint=keep, resume=True)
    for solver in ("auto", "bundle", solvers.LBFGS(memory=5)):
        with pytest.raises(CheckpointError, match="written by solver LBFGS"):
            fenchel.solve(problem, solver=solver, checkpoint=keep, resume=True)
    assert path.read_bytes() == before
    fenchel.save(path, fenchel.solve(problem))
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        fenchel.solve(problem, checkpoint=path, resume=True)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe"):
        fenchel.solve(problem, checkpoint=tmp_path / "pipe", resume=True)


@pytest.mark.parametrize(
    ("value", "message"),
    [(3, "must be a path"), ("", "must be a path"), (lambda: fenchel.Checkpoint("c", -1.0), "seconds"),
     (lambda: fenchel.Checkpoint("c", segment=0), "segment")],
)  # fmt: skip
def test_bad_settings_are_named(value, message):
    problem = fenchel.Problem([[1.0], [2.0]], [1, -1])
    with pytest.raises(InputError, match=message):
        fenchel.solve(problem, checkpoint=value() if callable(value) else value)


def test_a_changed_claim_in_a_checkpoint_is_not_believed(small):
    """The dual value in the file is a claim like a solver's: what counts is recomputed."""
    problem, keep, _ = small
    writer = CheckpointWriter(keep, problem, solvers.LBFGS())
    state = writer.read()
    state["lower"][3] = state["best"][2]  # "solved"
    state.pop("next_restart")
    writer.keep(lambda: state)
    result = fenchel.solve(problem, solver="lbfgs", checkpoint=keep, resume=True)
    found = fenchel.certify(problem, result.coef, dual_point=result.dual_point)
    assert result.converged and found.holds(1e-6)


def test_writing_takes_a_few_percent_of_the_time_at_most(tmp_path, monkeypatch):
    writer = CheckpointWriter(fenchel.Checkpoint(tmp_path / "c", seconds=2.0), fenchel.Problem([[1.0]], [1.0]), "auto")
    now = [100.0]
    monkeypatch.setattr("fenchel.solving.checkpoint.time.perf_counter", lambda: now[0])

    def slow_state():
        now[0] += 1.0
        return {}

    writer.keep(slow_state)
    written = now[0]
    for now[0] in np.arange(written, written + 60.0, 0.5):
        assert writer.due() == (now[0] - written >= max(2.0, SHARE * 1.0))
    assert 1.0 / SHARE < 0.04


def test_legs_depend_on_counts_alone(tmp_path):
    problem = PROBLEMS["hinge"]()
    assert first_segment(problem) == first_segment(problem) == 1000
    writer = CheckpointWriter(fenchel.Checkpoint(tmp_path / "c", segment=10), problem, "auto")
    cuts = [next(i for i in range(10_000) if writer.restart_due(i))]
    for _ in range(5):
        writer.restart({"iteration": cuts[-1]}, 1.5)
        cuts.append(next(i for i in range(10_000) if writer.restart_due(i)))
    assert cuts == [10, 20, 30, 45, 67, 100]


def test_what_is_packed_comes_back():
    A = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    state = {
        "A": A, "t": (1, 2.5), "n": None, "s": "words", "i": np.int64(3), "f": -0.0, "x": [np.inf, -np.inf],
        "small": np.arange(3, dtype=np.int32), "flags": np.array([True, False]), "none": np.zeros((0, 2)),
        "p": fenchel.structured.Gibbs(np.ones(1), np.ones((1, 2))), "again": A,
    }  # fmt: skip
    back = unpack(*pack(state))
    assert back["A"].flags.f_contiguous and not back["A"].flags.c_contiguous
    np.testing.assert_array_equal(back["A"], A)
    assert (back["t"], back["n"], back["s"], back["i"], back["x"]) == ([1, 2.5], None, "words", 3, [np.inf, -np.inf])
    assert np.signbit(back["f"])
    assert back["small"].dtype == np.int32 and back["flags"].dtype == bool and back["none"].shape == (0, 2)
    assert type(back["p"]).__name__ == "Gibbs" and back["again"] is not back["A"]
    assert np.isnan(unpack(*pack(np.nan)))
    with pytest.raises(TypeError, match="cannot hold"):
        pack(object())


@pytest.mark.xdist_group("hinge")
def test_estimators_go_on(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = (X @ rng.standard_normal((3, 3)) + 0.5 * rng.standard_normal((60, 3))).argmax(axis=1)
    whole = fenchel.Classifier(alpha=1e-3).fit(X, y)
    model = fenchel.Classifier(alpha=1e-3, checkpoint=tmp_path / "c", max_iter=1)
    with pytest.warns(fenchel.estimators.base.ConvergenceWarning):
        model.fit(X, y)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.0", "c.1", "c.2"]
    model.set_params(max_iter=None).fit(X, y)
    assert model.converged_
    np.testing.assert_allclose(model.objective_, whole.objective_, rtol=2e-6)
    with pytest.raises(CheckpointError, match="another problem"):
        model.fit(X[:50], y[:50])


@pytest.mark.xdist_group("hinge")
def test_the_command_line_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = test_threads.arrays()
    write_svmlight("data", X[:200], y[:200])
    train = [
        "train",
        "data",
        "--model",
        "m",
        "--alpha",
        "1e-3",
        "--quiet",
        "--solver",
        "dual_ascent",
        "--checkpoint",
        "c",
    ]
    assert main([*train, "--max-iter", "2"]) == 3
    assert main([*train, "--checkpoint-every", "5", "--resume"]) == 0
    first = Path("m").read_bytes()
    assert main([*train, "--resume"]) == 0
    assert Path("m").read_bytes() == first
    assert main([*train, "--alpha", "1e-2", "--resume"]) == 1
    assert "another problem" in capsys.readouterr().err
    assert main(["train", "data", "--model", "m", "--resume"]) == 1
    assert "--checkpoint FILE" in capsys.readouterr().err
