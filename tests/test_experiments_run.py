"""`python -m experiments`: what has no data is skipped politely, what fails is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from experiments import __main__ as everything  # noqa: E402
from experiments import data  # noqa: E402


@pytest.mark.parametrize(
    "names", [["usunier_frank_wolfe", "table2_reuters"], ["bmrm_comparison"], ["label_sets", "ocr_letters"]]
)
def test_experiments_without_data_are_skipped_and_named(names, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FENCHEL_DATA", str(tmp_path / "nowhere"))
    assert everything.main([*names, "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert f"{len(names)} skipped for want of data in {tmp_path / 'nowhere'}" in shown and "FENCHEL_DATA" in shown
    assert all(f"{name} needs " in shown for name in names)


def test_an_experiment_that_fails_is_not_skipped(tmp_path, monkeypatch):
    from experiments import table1_winnow

    monkeypatch.setattr(table1_winnow, "main", lambda argv: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        everything.main(["table1_winnow", "--out", str(tmp_path)])


def test_one_script_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.setenv("FENCHEL_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match="FENCHEL_DATA") as caught:
        data.content("binary/a9a")
    assert isinstance(caught.value, data.DataMissing)


def test_make_runs_all_that_there_are():
    scripts = {path.stem for path in (ROOT / "experiments").glob("*.py") if "def main(" in path.read_text()}
    assert set(everything.EXPERIMENTS) == scripts - {"__main__"}
    said = subprocess.run(["make", "-n", "experiments"], cwd=ROOT, capture_output=True, text=True).stdout
    assert "-m experiments" in said
