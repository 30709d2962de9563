"""Crash and full disk: whatever happens while a file is written, the old one or the new one is there, whole."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from datetime import datetime
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import fenchel
from faults import ERRORS, at, failing, short
from fenchel import regularizers
from fenchel.cli import predict
from fenchel.models.model import Model
from fenchel.report import write_page
from fenchel.result import Certificate, Status
from fenchel.solving.checkpoint import CheckpointWriter

X, Y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, -1.0, 1.0])


def problem():
    return fenchel.Problem(X, Y, loss="hinge", alpha=0.1)


def model(value):
    return Model(
        coef=np.full(3000, value), intercept=0.0, loss=fenchel.losses.Hinge(), regularizer=regularizers.L2(0.1),
        fit_intercept=False, labels=None, n=3, certificates=(Certificate(1.0, 0.5, "conjugate"),), statuses=(Status.STALLED,),
        solvers=("none",), tol=1e-6, digests=("0" * 64,),
    )  # fmt: skip


def save(path, value):
    fenchel.save(path, model(value))


def keep(path, value):
    writer = CheckpointWriter(path, problem(), "auto")
    writer.keep(lambda: {"w": np.full(3000, value)})


class Noon(datetime):
    """A clock that stands still: a page bears its minute, and the minute may end between two of them."""

    @classmethod
    def now(cls, tz=None):
        return cls(2000, 1, 1, 12, tzinfo=tz)


def report(path, value):
    with mock.patch("fenchel.report.page.datetime", Noon):
        write_page(path, results()[int(value)])


def lines(path, value):
    predict.write(str(path), (f"{value}\n" for _ in range(3000)))


@cache
def results():
    """Two of them, for two reports."""
    return [fenchel.solve(problem(), solver="bundle", tol=tol) for tol in (1e-1, 1e-6)]


WRITERS = {"save": save, "checkpoint": keep, "report": report, "predictions": lines}


def whole(path, write, folder):
    """The bytes of the old and the new file."""
    found = []
    for value in (0.0, 1.0):
        write(folder / "example", value)
        found.append((folder / "example").read_bytes())
    (folder / "example").unlink()
    assert found[0] != found[1]
    write(path, 0.0)
    return found


def calls(path, write):
    """How many calls writing makes."""
    with at(0, short) as faults:
        write(path, 0.0)
    return faults.count


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("error", ERRORS, ids=errno.errorcode.get)
def test_an_error_at_any_call_leaves_a_whole_file_and_nothing_else(tmp_path, caplog, name, error):
    path, write = tmp_path / "file", WRITERS[name]
    old, new = whole(path, write, tmp_path)
    total = calls(path, write)
    assert total >= 8
    seen = set()
    for k in range(1, total + 1):
        write(path, 0.0)
        caplog.clear()
        with at(k, failing(error)) as faults:
            try:
                write(path, 1.0)
                said = " ".join(record.getMessage() for record in caplog.records)  # a checkpoint only warns
            except OSError as failure:
                said = str(failure)
        assert os.strerror(error) in said
        replaced = faults.happened in ("open", "close", "fsync") and path.read_bytes() == new
        assert replaced or path.read_bytes() == old
        seen.add(path.read_bytes() == new)
        assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert seen == {True, False}  # the folder is forced to the disk after the new file is in place


@pytest.mark.parametrize("name", WRITERS)
def test_short_writes_are_continued(tmp_path, name):
    path, write = tmp_path / "file", WRITERS[name]
    _, new = whole(path, write, tmp_path)
    for k in range(1, calls(path, write) + 1):
        with at(k, short):
            write(path, 1.0)
        assert path.read_bytes() == new


PROGRAM = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import faults, test_crash as t
t.results()
folder = Path(sys.argv[2])
for name, write in t.WRITERS.items():
    path, outcomes = folder / name, []
    old, new = t.whole(path, write, folder)
    for k in range(1, t.calls(path, write) + 2):
        write(path, 0.0)
        child = os.fork()
        if child == 0:
            with faults.at(k, faults.killed):
                write(path, 1.0)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        outcomes.append((status, [old, new].index(path.read_bytes())))
    assert outcomes[-1] == (0, 1), outcomes
    assert set(outcomes[:-1]) == {(-9, 0), (-9, 1)}, outcomes
    print(name, len(outcomes))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kill_9_at_every_call_leaves_a_whole_file(tmp_path):
    words = [sys.executable, "-W", "error", "-c", PROGRAM, str(Path(__file__).parent), str(tmp_path)]
    run = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert [line.split()[0] for line in run.stdout.splitlines()] == list(WRITERS)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 16 KB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_of_16_kb(small_disk, caplog):
    fenchel.save(small_disk / "m", fenchel.solve(problem(), tol=1e-3))
    old = (small_disk / "m").read_bytes()
    with pytest.raises(OSError, match="No space left"):
        save(small_disk / "m", 1.0)
    assert (small_disk / "m").read_bytes() == old
    rng = np.random.default_rng(0)
    wide = fenchel.Problem(rng.standard_normal((3, 4000)), Y, loss="hinge", alpha=0.1)
    result = fenchel.solve(wide, checkpoint=small_disk / "c")
    assert result.converged
    assert "could not be written" in caplog.text and "No space left" in caplog.text
    assert [p.name for p in small_disk.iterdir()] == ["m"]


def test_places_that_cannot_be_written_are_refused_before_the_work(tmp_path):
    for place, message in (("/dev/full", "device"), (tmp_path, "folder"), (tmp_path / "none" / "c", "create it first")):
        with pytest.raises(fenchel.errors.InputError, match=message):
            fenchel.solve(problem(), checkpoint=place)
        with pytest.raises((fenchel.errors.InputError, OSError)):
            save(place, 1.0)
