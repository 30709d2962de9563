"""What the tests of the command line share: rows, and a way to run a command in this process."""

from __future__ import annotations

import numpy as np

from fenchel.cli import main

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 4))
W = np.array([1.0, -2.0, 0.5, 1.5])
TWO = np.where(X @ W + 0.5 * RNG.normal(size=60) > 0, 7, 3)
THREE = np.argmax(X[:, :3] + 0.3 * RNG.normal(size=(60, 3)), axis=1)
REAL = X @ W + 0.1 * RNG.normal(size=60)
COUNTS = RNG.poisson(np.exp(0.3 * (X @ W))).astype(float)
QID = np.repeat(np.arange(12), 5)
GRADES = np.digitize(REAL, [0.0, 2.0])
WORDS = np.array(["ash", "oak", "yew"])[THREE]
NAMES = ["length", "width", "height", "age"]


def run(*words) -> int:
    return main([str(word) for word in words])


def run_as_is(*words) -> int:
    """A command that uses the numbers of a table as they are."""
    return run(*words, *(["--as-is"] if words[0] in ("train", "path") else []))


def csv_text(targets, delimiter=",", columns=NAMES, target="kind", rows=X) -> str:
    """A table with the target in its last column."""
    lines = [delimiter.join([*columns, target])]
    lines += [delimiter.join([*map(repr, map(float, row)), str(t)]) for row, t in zip(rows, targets, strict=True)]
    return "\n".join(lines) + "\n"


def one_line(capsys) -> str:
    """The only line of an error."""
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1, shown.err
    assert shown.err.startswith("fenchel: ")
    return shown.err
