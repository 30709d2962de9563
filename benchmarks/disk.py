"""Data on disk, and two threads: `python -m benchmarks.disk [--gigabytes 2] [--repeat 7] [--parts ...]`.

    train    rows are written to a temporary folder (removed afterwards) and a process of its own opens them and trains on
             them, with checkpoints: its peak resident size, the kernel's high-water mark, mapped file pages included
    stream   a fused pass over mapped rows beside the same rows in memory, the page cache warm, least of several
    threads  a fused pass with two threads beside one, least of several, on real data

Goals: 2 GB train within 600 MB, streaming at most 1.5 times as slow, two threads at least 1.5 times as fast on covtype
(what its memory allows) and 1.7 on 20 newsgroups.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import fenchel
from benchmarks.bandwidth import least, stored_bytes
from benchmarks.data_sets import noisy_signs, read
from benchmarks.growth import sparse
from benchmarks.memory import high_water
from benchmarks.table import machine
from fenchel.data.write_store import RowBlock, write_store
from fenchel.engines import Local
from fenchel.oracles.scalar import Oracle

ROWS = 20_000  # written at a time
COLUMNS, PER_ROW = 400, 100
TRAIN = {
    "lbfgs": "logistic",
    "bundle": "hinge",
    "newton_cg": "logistic",
}  # solvers that walk blocks, and a loss for each
PARTS = ("train", "stream", "threads")


def blocks(kind: str, size: float) -> Iterator[RowBlock]:
    """Rows of so many bytes together."""
    rng, written = np.random.default_rng(0), 0
    weights = rng.standard_normal(COLUMNS)
    while written < size:
        X: Any = rng.standard_normal((ROWS, COLUMNS)) if kind == "dense" else sparse(ROWS, COLUMNS * 100, PER_ROW)
        score = X @ (weights if kind == "dense" else np.repeat(weights, 100))
        written += stored_bytes(X)
        yield RowBlock(X, np.where(score + score.std() * rng.standard_normal(ROWS) > 0.0, 1.0, -1.0))


def train(folder: str, solver: str) -> None:
    """What the child does: open, train, say how it went and how much was resident."""
    problem = fenchel.Problem(fenchel.open(folder), loss=TRAIN[solver], alpha=1e-3)
    result = fenchel.solve(problem, solver=solver, tol=1e-3, checkpoint=Path(folder) / "checkpoint")
    outcome = {"status": result.status.name, "passes": result.passes, "seconds": result.seconds, "peak": high_water()}
    print(json.dumps(outcome))


def show_training(size: float, place: Path) -> None:
    print("\n| rows on disk | GB | solver | status | passes | seconds | peak resident, MB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind in ("dense", "csr"):
        folder = write_store(place / kind, blocks(kind, size))
        stored = sum(file.stat().st_size for file in folder.iterdir())
        for solver in TRAIN:
            words = [sys.executable, "-m", "benchmarks.disk", "--child", str(folder), solver]
            found = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
            print(
                f"| {kind} | {stored / 1e9:.2f} | {solver} | {found['status']} | {found['passes']:.1f} | "
                f"{found['seconds']:.1f} | {found['peak'] / 1e6:.0f} |",
                flush=True,
            )
        shutil.rmtree(folder)


def seconds_of_a_pass(problem: fenchel.Problem, threads: int, repeat: int) -> float:
    oracle, w = Oracle(problem, Local(threads)), 0.01 * np.random.default_rng(0).standard_normal(problem.d)
    return least(lambda: oracle.risk(w, 0.0), repeat)


def show_streaming(place: Path, repeat: int, size: float = 5e8) -> None:
    print("\n| rows | MB | threads | in memory, ms | mapped, ms | ratio |\n| --- | --- | --- | --- | --- | --- |")
    for kind in ("dense", "csr"):
        stored = fenchel.open(write_store(place / f"{kind} stream", blocks(kind, size)))
        X: Any = sp.csr_matrix(stored.X, copy=True) if kind == "csr" else np.array(stored.X)
        inside, outside = (fenchel.Problem(A, stored.y, loss="logistic") for A in (X, stored))
        for threads in (1, 2):
            memory, mapped = (seconds_of_a_pass(problem, threads, repeat) for problem in (inside, outside))
            print(
                f"| {kind} | {stored_bytes(X) / 1e6:.0f} | {threads} | {1e3 * memory:.1f} | {1e3 * mapped:.1f} | "
                f"{mapped / memory:.2f} |",
                flush=True,
            )


def show_threads(names: list[str], repeat: int) -> None:
    print("\n| data | one thread, ms | two, ms | gain |\n| --- | --- | --- | --- |")
    for name in names:
        X, y, *_ = read(name)
        problem = fenchel.Problem(
            X, y if set(np.unique(y)) == {-1.0, 1.0} else noisy_signs(X, np.random.default_rng(0))
        )
        one, two = (seconds_of_a_pass(problem, threads, repeat) for threads in (1, 2))
        print(f"| {name} | {1e3 * one:.2f} | {1e3 * two:.2f} | {one / two:.2f} |", flush=True)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--data", nargs="*", default=["covtype", "news"])
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.child:
        train(*options.child)
        return
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        if "threads" in options.parts:
            show_threads(options.data, options.repeat)
        if "stream" in options.parts:
            show_streaming(Path(folder), options.repeat)
        if "train" in options.parts:
            show_training(1e9 * options.gigabytes, Path(folder))


if __name__ == "__main__":
    main()
