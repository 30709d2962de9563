"""Kernels that come with the package: read where they fit and may be trusted, with the bits of those compiled here."""

from __future__ import annotations

import json
import logging
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import fenchel
from fenchel.cli import COMMANDS, main
from fenchel.compile import clock, disk_cache, prebuilt, target
from fenchel.compile.clock import CLOCK
from fenchel.estimators.common_fits import common_fits
from test_jit import RIGHT, count_compilations, entries, flip, folder, run  # noqa: F401

ROOT = Path(__file__).parent.parent


@pytest.fixture
def package(tmp_path, monkeypatch, folder):  # noqa: F811
    """A folder in place of the one beside the code, with the entry of a kernel; the user's own cache is empty."""
    run()
    (entry,) = entries(folder)
    place = tmp_path / "package" / "prebuilt" / entry.parent.name
    place.mkdir(parents=True)
    shutil.move(entry, place / entry.name)
    for path in (place.parent, place, place / entry.name):
        path.chmod(0o755 if path.is_dir() else 0o644)
    monkeypatch.setattr(prebuilt, "HERE", place.parent.parent)
    prebuilt.prebuilt_folder.cache_clear()
    yield place / entry.name
    prebuilt.prebuilt_folder.cache_clear()


def test_an_entry_of_the_package_is_read_and_nothing_is_compiled_or_written(package, folder, monkeypatch):  # noqa: F811
    made = count_compilations(monkeypatch)
    assert run() == (RIGHT, [])
    assert not made
    assert not entries(folder)


def test_the_cache_folder_is_not_needed_for_entries_of_the_package(package, monkeypatch):
    monkeypatch.setenv("FENCHEL_CACHE_DIR", "/dev/null/nowhere")  # a warning if it were asked for
    assert run() == (RIGHT, [])


FAULTS = {
    "damaged": lambda entry: flip(entry, 5000),
    "writable by all": lambda entry: entry.chmod(0o666),
    "a link": lambda entry: (entry.rename(entry.with_suffix(".x")), entry.symlink_to(entry.with_suffix(".x"))),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_entry_that_cannot_be_trusted_is_compiled_again_with_one_warning(package, monkeypatch, fault):
    FAULTS[fault](package)
    made = count_compilations(monkeypatch)
    answer, said = run()
    assert answer == RIGHT
    assert len(made) == 1
    assert len(said) == 1


@pytest.mark.parametrize("level", [0, 1])
def test_a_folder_that_others_may_write_is_not_used(package, monkeypatch, level):
    package.parents[level].chmod(0o777)
    prebuilt.prebuilt_folder.cache_clear()
    reads = []
    monkeypatch.setattr(disk_cache.pickle, "loads", lambda data: reads.append(data))
    assert run()[0] == RIGHT
    assert not reads


def test_the_rule_is_that_of_the_code_beside_it(tmp_path):
    own, other = tmp_path / "code.py", tmp_path / "entry.nbk"
    for path in (own, other):
        path.write_bytes(b"")
    for code, entry, trusted in ((0o644, 0o644, 1), (0o664, 0o664, 1), (0o644, 0o664, 0), (0o664, 0o666, 0)):
        own.chmod(code), other.chmod(entry)
        assert prebuilt.is_like(other.stat(), own) is bool(trusted)
    foreign = os.stat_result((stat.S_IFREG | 0o644, 0, 0, 1, own.stat().st_uid + 1, 0, 0, 0, 0, 0))
    assert not prebuilt.is_like(foreign, own)


def test_an_edit_of_a_source_makes_the_entry_useless(package, monkeypatch):
    monkeypatch.setattr(disk_cache, "digest", lambda modules: "of edited sources")
    made = count_compilations(monkeypatch)
    assert run() == (RIGHT, [])
    assert len(made) == 1


@pytest.mark.parametrize("missing", ["avx2", "fma"])
def test_a_processor_without_the_baseline_does_not_use_the_entry(package, monkeypatch, missing):
    features = dict(target.llvm.get_host_cpu_features()) | {missing: False}
    monkeypatch.setattr(target.llvm, "get_host_cpu_features", lambda: features)
    target.has_baseline.cache_clear()
    assert not target.has_baseline()
    made = count_compilations(monkeypatch)
    assert run() == (RIGHT, [])
    assert len(made) == 1
    monkeypatch.undo()
    target.has_baseline.cache_clear()


def test_naming_a_processor_turns_the_baseline_off():
    code = "from fenchel.compile.target import has_baseline; print(has_baseline())"
    said = [
        subprocess.run([sys.executable, "-c", code], env=os.environ | more, capture_output=True, text=True).stdout
        for more in ({"NUMBA_CPU_NAME": "generic"}, {})
    ]
    assert said[0] == "False\n"
    assert said[1] == f"{target.has_baseline()}\n"


# --- bits do not depend on the way ------------------------------------------------------------------------------------

SOLVES = """
import hashlib, sys
import numpy as np
import fenchel
from fenchel.compile.clock import CLOCK
if {other}:  # as on another processor: code that numba itself compiles, and inlines, is made for the least one
    from numba.core.codegen import JITCPUCodegen
    JITCPUCodegen._get_host_cpu_name = lambda self: "x86-64"
    JITCPUCodegen._get_host_cpu_features = lambda self: ""
rng = np.random.default_rng(3)
X = rng.normal(size=(403, 13))
t = X[:, :3].sum(axis=1) + rng.normal(size=403)
for loss, y in (("logistic", np.sign(t)), ("hinge", np.sign(t)), ("softmax", np.digitize(t, [-1.0, 1.0]))):
    result = fenchel.solve(fenchel.Problem(X, y, loss=loss, alpha=0.01, fit_intercept=True))
    print(hashlib.sha256(np.asarray(result.coef).tobytes() + np.float64(result.certificate.dual).tobytes()).hexdigest())
print(CLOCK.read().kernels, file=sys.stderr)
"""


def solves(cache, other):
    environment = os.environ | {"FENCHEL_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", SOLVES.format(other=other)], env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, int(done.stderr.split()[-1])


@pytest.mark.slow
@pytest.mark.skipif(not target.has_baseline(), reason="kernels have the same bits where the processor has the baseline")
def test_bits_do_not_depend_on_the_processor_that_compiled_nor_on_reading(tmp_path):
    """As the wheel's kernels were compiled on another machine: compiled here, read, compiled there."""
    here, compiled = solves(tmp_path / "here", False)
    assert compiled > 5
    read, compiled = solves(tmp_path / "here", False)
    assert compiled == 0
    there, compiled = solves(tmp_path / "there", True)
    assert compiled > 5
    assert read == here
    assert there == here


# --- warm-up ----------------------------------------------------------------------------------------------------------


def test_warm_up_names_its_fits_and_says_what_it_did(capsys):
    assert "warm-up" in COMMANDS
    assert main(["warm-up", "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == list(common_fits())
    assert main(["warm-up", "--only", "problem", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fits"] == ["problem"]
    assert main(["warm-up", "--only", "problem", "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["warm-up", "--only", "problem"]) == 0
    assert capsys.readouterr().out.startswith("1 kinds of fit are ready: 0 kernels compiled")
    assert main(["warm-up", "--only", "logistik"]) == 1
    assert "Did you mean 'logistic'?" in capsys.readouterr().err


def test_compiling_is_announced_once_in_the_log_and_to_watchers(folder, caplog, monkeypatch):  # noqa: F811
    monkeypatch.setattr(CLOCK, "_announced", -1.0)
    monkeypatch.setattr(clock, "SERIES_SECONDS", 1e9)  # however busy the machine is
    monkeypatch.setattr(logging.getLogger("fenchel"), "propagate", True)
    seen = []
    monkeypatch.setattr(CLOCK, "watchers", [seen.append])
    inside = []
    CLOCK.watchers.append(lambda kernel: inside.append(CLOCK.compiling()))
    with caplog.at_level("INFO", logger="fenchel"):
        run()
        run(fenchel.losses.SquaredHinge())
    assert [record.message.split()[0] for record in caplog.records if record.levelname == "INFO"] == ["compiling"]
    assert "fenchel warm-up" in caplog.text
    assert len(seen) == 2
    assert inside == [True, True]
    assert not CLOCK.compiling()
    caplog.clear()
    with caplog.at_level("INFO", logger="fenchel"):
        run()
    assert not caplog.records  # read from disk


def test_the_progress_line_says_compiling(monkeypatch):
    from fenchel.cli.progress import Progress

    line = Progress(1e-6, quiet=True)
    assert "compiling" not in line.text()
    monkeypatch.setattr(CLOCK, "_compiling", True)
    assert "compiling" in line.text()


@pytest.mark.slow
def test_a_wheel_with_kernels_compiles_nothing_at_the_first_fit(tmp_path):
    """Built as `make wheel` does, for one fit, and used from a site folder with an empty cache."""
    words = [sys.executable, ROOT / "tools" / "build_wheel.py", "--outdir", tmp_path / "dist", "--only", "problem"]
    subprocess.run(words, check=True, timeout=600, stdout=subprocess.DEVNULL)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert f"cp{sys.version_info[0]}{sys.version_info[1]}-none-" in wheel.name
    options = ["--quiet", "--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", tmp_path / "site", wheel], check=True)
    code = (
        "import fenchel, sys; from fenchel.compile.clock import CLOCK\n"
        "from fenchel.estimators.common_fits import warm_up; warm_up(['problem'])\n"
        "assert fenchel.__file__.startswith(sys.argv[1]); print(CLOCK.read().kernels)"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site"), "FENCHEL_CACHE_DIR": str(tmp_path / "cache")}
    words = [sys.executable, "-c", code, str(tmp_path / "site")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "0\n"
    assert not list((tmp_path / "cache").glob("*/*.nbk"))
    shutil.rmtree(tmp_path / "site" / "fenchel" / "compile" / "prebuilt")  # or the test would show nothing
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True, timeout=300)
    assert int(done.stdout) > 0


def test_no_kernels_lie_in_the_sources():
    assert not (ROOT / "src" / "fenchel" / "compile" / "prebuilt").exists()
