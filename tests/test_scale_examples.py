"""The examples of scale are run as a user runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples" / "scale_out"


def run(name, *arguments):
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", *arguments], capture_output=True, text=True, timeout=600, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_threads():
    assert run("threads").count("CERTIFIED") == 3


def test_disk():
    found = run("disk")
    assert "CERTIFIED" in found and "of the 5000 rows on disk are on the right side" in found


@pytest.mark.xdist_group("cluster")
def test_local_cluster():
    pytest.importorskip("distributed")
    found = run("local_cluster")
    assert found.count("CERTIFIED") == 2 and "bit for bit: True" in found


@pytest.mark.xdist_group("cluster")
def test_cluster_address(client):
    assert "dask scheduler" in run("cluster_address")
    found = run("cluster_address", client.scheduler.address)
    assert "2 workers" in found and "CERTIFIED" in found
