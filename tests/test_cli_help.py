"""Help, usage and exit codes of all commands."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest

import fenchel.cli
from cli_case import TWO, X, run
from fenchel.cli import COMMANDS
from fenchel.readers.svmlight.write import write_svmlight

HEAVY = ("numba", "sklearn", "scipy", "rich", "pandas", "pyarrow", "onnx", "shtab", "matplotlib")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_screen_names_exit_codes_and_ends_with_an_example(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert run(name, "--help") == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    lines = shown.out.rstrip("\n").split("\n")
    assert len(lines) <= 42
    assert max(map(len, lines)) <= 112
    assert "exit status: 0" in shown.out
    tail = shown.out.rstrip("\n").split("\n\n")[-1]
    assert tail.startswith("example")
    assert f"fenchel {name}" in tail


def test_the_first_help_lists_commands_and_all_exit_codes(capsys):
    assert run("--help") == 0
    shown = capsys.readouterr().out
    assert all(f"    {name} " in shown for name in COMMANDS)
    for code in (0, 1, 2, 3, 4, 130, 141):
        assert f"\n    {code} " in shown
    assert len(shown.split("\n")) <= 42


@pytest.mark.parametrize("name", ["train", "path", "compare"])
def test_rare_options_are_in_the_long_help_only(name, capsys):
    assert run(name, "--help") == 0
    short = capsys.readouterr().out
    assert "--max-time" not in short
    assert "--help-all" in short
    assert run(name, "--help-all") == 0
    shown = capsys.readouterr().out
    assert "--max-time" in shown
    assert all(line.split()[0] in shown for line in short.split("\n") if line.startswith("  -"))


def test_help_of_any_command_brings_in_nothing_heavy():
    code = f"""
import sys, io, contextlib
from fenchel.cli import COMMANDS, main
for name in ["", *COMMANDS]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main([name, "--help"] if name else ["--help"]) == 0
    found = set({HEAVY!r}) & set(sys.modules)
    assert not found, (name, found)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr


WRONG = [
    ["train", "d"], ["train", "d", "--model", "m", "-v", "3"], ["train", "d", "--model", "m", "-s", "x"],
    ["train", "d", "--model", "m", "--loss", "hinge", "-s", "1"], ["train", "d", "--model", "m", "--format", "xml"],
    ["train", "d", "-v", "3", "--report", "r"],
    ["train", "d", "--model", "m", "-w1"], ["train", "d", "--model", "m", "--intercept", "-B", "1"],
    ["predict", "m", "d", "--csv", "--json"], ["evaluate", "m"], ["evaluate", "m", "d", "--level", "x"],
    ["verify", "m"], ["path", "d"], ["path", "d", "--model", "m", "--rule", "worst"], ["compare"],
    ["compare", "d", "--repeat", "0"], ["report", "m"], ["report", "-o", "r.html"], ["export", "m"],
    ["export", "m", "--format", "xml"], ["export", "m", "--format", "onnx"], ["convert", "d"], ["losses", "a", "b"],
    ["solvers", "a", "b"], ["completion"], ["completion", "csh"], ["plan"], ["plan", "--rows", "5"], ["plan", "--workers", "0"],
    ["serve-shard", "d"], ["serve-shard", "--scheduler", "tcp://x:1", "--name", "n"], ["convert", "d", "e", "--float16"],
]  # fmt: skip


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_wrong_usage_exits_2_with_the_usage(words, capsys):
    assert run(*words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "usage: fenchel" in shown.err
    assert "error: " in shown.err


def test_a_word_that_is_not_known_is_refused_by_its_command_with_the_nearest_option(capsys):
    assert run("train", "d", "--modle", "m") == 2
    shown = capsys.readouterr().err
    assert shown.startswith("usage: fenchel train DATA --model OUT")
    assert shown.endswith("unrecognized arguments: --modle m (did you mean --model?)\n")
    assert run("train", "d", "m", "--model", "m") == 2
    assert capsys.readouterr().err.endswith("unrecognized arguments: m\n")


def test_control_characters_of_wrong_usage_do_not_reach_the_terminal(capsys):
    evil = "x\x1b[31m\u202e"
    for words in (["evaluate", "m", "d", evil], ["solvers", "--loss", evil], ["solvers", evil], ["path", "d", "--rule", evil],
                  ["export", evil, "--format", "json"], ["report", evil, "-o", "r"], ["compare", evil],
                  ["completion", evil], ["evaluate", evil, evil], ["path", evil, "--model", evil]):  # fmt: skip
        assert run(*words) in (1, 2)
        shown = capsys.readouterr()
        assert all(c.isprintable() or c == "\n" for c in shown.out + shown.err), words


def test_a_broken_pipe_is_141(monkeypatch, tmp_path):
    code = "from fenchel.cli import main; import sys; sys.exit(main(['losses']))"
    found = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    found.stdout.close()  # before a line is written
    assert found.wait(timeout=60) == fenchel.cli.BROKEN_PIPE
    assert found.stderr.read() == b""
    found.stderr.close()


JSON = {
    "train": ["train", "two", "--alpha", "0.1", "--model", "n"], "validate": ["train", "two", "-v", "2"],
    "predict": ["predict", "m", "two", "--quiet"], "evaluate": ["evaluate", "m", "two", "--resamples", "2"],
    "verify": ["verify", "m", "two"], "path": ["path", "two", "--model", "n", "--alphas", "1", "--folds", "2", "-q"],
    "compare": ["compare", "two", "--solver", "auto,lbfgs", "--repeat", "1"], "losses": ["losses"],
    "one loss": ["losses", "huber"],
    "plan": ["plan", "--rows", "1000", "--columns", "10", "--workers", "1,2"],
    "solvers": ["solvers"], "one solver": ["solvers", "lbfgs"], "pair": ["solvers", "--loss", "hinge", "--penalty", "l1"],
}  # fmt: skip
NAMES_AS_KEYS = {
    "metrics",
    "solvers",
    "within",
    "misfits",
    "parameters",
}  # their keys are names, not words of the format


def keys_of(found, name="", free=False) -> set[str]:
    if isinstance(found, list):
        return set().union(*(keys_of(entry, name) for entry in found))
    if not isinstance(found, dict):
        return set()
    below = set().union(*(keys_of(value, key) for key, value in found.items()))
    return below if free or (name in NAMES_AS_KEYS and name != "misfits") else below | set(found)


@pytest.mark.parametrize("case", JSON)
def test_every_key_of_the_json_is_in_the_help(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_svmlight("two", X, TWO)
    assert run("train", "two", "--alpha", "0.1", "--model", "m") == 0
    capsys.readouterr()
    assert run(*JSON[case], "--json") == 0
    found = json.loads(capsys.readouterr().out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    command = JSON[case][0]
    assert run(command, "--help-all" if command == "train" else "--help") == 0
    told = set(re.findall(r"\w+", capsys.readouterr().out))
    if case == "pair":
        found["misfits"] = sorted(found["misfits"])
    assert keys_of(found, free=case == "losses") <= told


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_option(shell, capsys):
    assert run("completion", shell) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in COMMANDS)
    for option in ("--penalty", "--max-time", "--alphas", "--top-k", "--regularizer", "--resamples"):
        assert option.lstrip("-") in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_bash_script_completes(capsys, tmp_path):
    assert run("completion", "bash") == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    ask = """source "$1"; COMP_WORDS=(fenchel {}); COMP_CWORD={}
$(complete -p fenchel | sed 's/.*-F \\([^ ]*\\) .*/\\1/'); echo "${{COMPREPLY[@]}}\""""
    for words, place, expected in (
        ("ver", 1, ["verify"]),
        ("evaluate --res", 2, ["--resamples"]),
        (f"evaluate {tmp_path}/scr", 2, [f"{tmp_path}/script"]),
    ):
        found = subprocess.run(
            ["bash", "-c", ask.format(words, place), "bash", str(tmp_path / "script")],
            capture_output=True, text=True, timeout=30,
        )  # fmt: skip
        assert found.stdout.split() == expected, found.stderr
