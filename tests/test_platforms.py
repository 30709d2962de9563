"""Code paths of other systems, as far as they can be taken on this one."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import joblib
import pytest

from fenchel.compile import disk_cache
from fenchel.data.threads import cores
from fenchel.files import atomic_write


def test_the_number_of_cores_is_what_the_process_may_use():
    assert cores() == joblib.cpu_count()
    if hasattr(os, "sched_setaffinity"):
        code = (
            "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); from fenchel.data.threads import cores"
        )
        done = subprocess.run([sys.executable, "-c", f"{code}; print(cores())"], capture_output=True, text=True)
        assert done.stdout == "1\n", done.stderr


def test_on_macos_files_are_flushed_through_the_cache_of_the_disk(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(sys, "platform", "darwin")
    known = types.SimpleNamespace(F_FULLFSYNC=51, fcntl=lambda descriptor, request: asked.append(request))
    monkeypatch.setitem(sys.modules, "fcntl", known)
    with atomic_write.replacing(tmp_path / "file") as file:
        file.write(b"all")
    assert asked == [51, 51]  # the file and its folder

    def unknown(descriptor, request):
        raise OSError(25, "Inappropriate ioctl for device")

    synced = []
    monkeypatch.setattr(known, "fcntl", unknown)
    monkeypatch.setattr(atomic_write.os, "fsync", synced.append)
    with atomic_write.replacing(tmp_path / "file") as file:
        file.write(b"all of it")
    assert len(synced) == 2
    assert (tmp_path / "file").read_bytes() == b"all of it"


def test_where_times_of_descriptors_cannot_be_set_entries_are_read_nevertheless(monkeypatch):
    monkeypatch.setattr(disk_cache.os, "supports_fd", set())
    monkeypatch.setattr(disk_cache.os, "utime", lambda *arguments: pytest.fail("Windows raises TypeError here"))
    disk_cache._touch(0)


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"FENCHEL_CACHE_DIR": "/a/b"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/a/b"}, "/a/b/fenchel"),
        ({"HOME": "{home}"}, "{home}/.cache/fenchel"),
        ({"HOME": "/nonexistent"}, None),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="the folders of Linux")
def test_cache_folder(variables, folder, tmp_path, monkeypatch):
    for name in ("FENCHEL_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(home=tmp_path))
    assert disk_cache.cache_root() == (None if folder is None else Path(folder.format(home=tmp_path)))
