"""Shared fixtures: problems of every kind, and the independent answers to hold them against."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs with SIGINT ignored, which processes that tests start would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets, or a skip: none of them is part of the repository."""
    named = os.environ.get("FENCHEL_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not (folder / "INDEX.md").exists():
        pytest.skip("no real data: set FENCHEL_DATA")
    return folder


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """A cluster of two worker processes on this machine, for tests that do no harm to it."""
    pytest.importorskip("distributed")
    from cluster_problems import local_client

    with local_client(2) as found:
        yield found


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder, gone into, with the rows of `cli_case` under targets of every kind."""
    from cli_case import COUNTS, GRADES, QID, REAL, THREE, TWO, X
    from fenchel.readers.svmlight.write import write_svmlight

    monkeypatch.chdir(tmp_path)
    for name, y in (("two", TWO), ("three", THREE), ("real", REAL), ("counts", COUNTS)):
        write_svmlight(name, X, y)
    write_svmlight("ranked", X, GRADES, qid=QID)
    return tmp_path
