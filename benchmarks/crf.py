"""A chain CRF on CoNLL-2000 chunking beside CRFsuite: `python -m benchmarks.crf [--sentences N] [--c2 C] [--all]`.

Both minimise sum_i -log p(y_i | x_i) + c2 |w|^2 over the same weights, by L-BFGS: words and parts of speech in windows of
five, pairs and triples of them, transitions. CRFsuite stops where it does by default (the objective falls by less than 1e-5
in ten iterations); its last objective is the target, and a row of the table is the time until the objective is so near to
it. Weights are those of the pairs of attribute and label that occur (CRFsuite's default), or of all pairs with --all. Times
are those of training alone, after the sentences have been handed over and the weights numbered; Fenchel is compiled before.
CPU seconds, because others may use the machine, and wall.
"""

from __future__ import annotations

import argparse
import lzma
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import fenchel
from benchmarks.data_sets import data_folder
from benchmarks.table import machine
from fenchel.engines import Local
from fenchel.structured import Chain

WORDS = ((-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1))
TAGS = (*WORDS, (-2, -1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2))
DISTANCES = (1e-1, 1e-2, 1e-3, 1e-4, 0.0)

Sentence = list[list[str]]


class Mark(NamedTuple):
    """An iteration: the objective, and what it had taken until then."""

    objective: float
    cpu: float
    wall: float
    passes: float


def sentences(part: str) -> Iterator[Sentence]:
    """The sentences of "train" or "test": a word, its part of speech and its label per position."""
    with lzma.open(data_folder() / f"structured/conll2000_{part}.txt.xz", "rt") as lines:
        sentence: Sentence = []
        for line in lines:
            if line.strip():
                sentence.append(line.split())
            elif sentence:
                yield sentence
                sentence = []
        if sentence:
            yield sentence


def attributes(sentence: Sentence, t: int) -> list[str]:
    """What is said about position t, as text."""
    found = [
        f"{name}{at}={'|'.join(sentence[t + k][column] for k in at)}"
        for name, column, windows in (("w", 0, WORDS), ("p", 1, TAGS))
        for at in windows
        if t + at[0] >= 0 and t + at[-1] < len(sentence)
    ]
    return found + ["first"] * (t == 0) + ["last"] * (t == len(sentence) - 1)


def matrices(items: list[list[list[str]]]) -> list[sp.csr_matrix]:
    """One sparse matrix per sentence; attributes are numbered as they first occur."""
    numbers: dict[str, int] = {}
    rows = [sorted(numbers.setdefault(name, len(numbers)) for name in names) for item in items for names in item]
    indices = np.concatenate([np.array(row, dtype=np.int32) for row in rows])
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int32)
    X = sp.csr_matrix((np.ones(indices.size), indices, indptr), shape=(len(rows), len(numbers)))
    first = np.concatenate([[0], np.cumsum([len(item) for item in items])])
    return [X[a:b] for a, b in pairwise(first)]


def crfsuite(items: list[list[list[str]]], labels: list[list[str]], c2: float, every: bool, most: int) -> list[Mark]:
    """CRFsuite's own L-BFGS, with its default stopping rule."""
    import pycrfsuite

    marks: list[Mark] = []
    start = [0.0, 0.0]

    class Trainer(pycrfsuite.Trainer):
        def message(self, text: str) -> None:  # parse, do not print
            event = self.logparser.feed(text)
            if event == "featgen_end":
                start[:] = time.process_time(), time.perf_counter()
            if event == "iteration":
                info = self.logparser.last_iteration
                passes = info["linesearch_trials"] + (marks[-1].passes if marks else 1.0)
                marks.append(Mark(info["loss"], time.process_time() - start[0], time.perf_counter() - start[1], passes))

    trainer = Trainer(algorithm="lbfgs", verbose=True)
    began = time.perf_counter()
    for item, label in zip(items, labels, strict=True):
        trainer.append(item, label)
    print(f"CRFsuite took the sentences in {time.perf_counter() - began:.1f} s")
    trainer.set_params({
        "c1": 0.0, "c2": c2, "max_iterations": most, "feature.possible_states": every, "feature.possible_transitions": every,
    })  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "model"))
    return marks


def ours(problem: fenchel.Problem, threads: int, goal: float, memory: int) -> list[Mark]:
    """L-BFGS until the objective is as low as the goal."""
    marks: list[Mark] = []
    engine, solver = Local(threads=threads), fenchel.solvers.LBFGS(memory=memory)
    fenchel.solve(problem, solver=solver, engine=engine, max_iter=2)  # compiled
    cpu, wall = time.process_time(), time.perf_counter()

    def watch(state: Any) -> bool:
        objective = problem.n * state.primal
        marks.append(Mark(objective, time.process_time() - cpu, time.perf_counter() - wall, state.passes))
        return objective <= goal

    fenchel.solve(problem, solver=solver, engine=engine, callback=watch, tol=1e-9, max_iter=2000)
    return marks


def reached(marks: list[Mark], goal: float) -> str:
    """CPU seconds, wall seconds and passes until the objective is at most the goal."""
    for mark in marks:
        if mark.objective <= goal:
            return f"{mark.cpu:.1f} | {mark.wall:.1f} | {mark.passes:.0f}"
    return "- | - | -"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=8936, help="of the training set, at most")
    parser.add_argument("--c2", type=float, default=1.0)
    parser.add_argument("--all", action="store_true", help="weights for all pairs of attribute and label")
    parser.add_argument("--iterations", type=int, default=100_000, help="of CRFsuite, at most")
    parser.add_argument("--memory", type=int, default=20, help="of Fenchel's L-BFGS; CRFsuite's is 6")
    args = parser.parse_args(argv)
    train = list(sentences("train"))[: args.sentences]
    items = [[attributes(sentence, t) for t in range(len(sentence))] for sentence in train]
    words = [[position[2] for position in sentence] for sentence in train]
    names = sorted({name for label in words for name in label})
    X, Y = matrices(items), [np.array([names.index(name) for name in label]) for label in words]
    model = Chain(loss="log", bias=False, ends=False, observed_only=not args.all)
    began = time.perf_counter()
    problem = fenchel.Problem(X, Y, loss=model, alpha=2.0 * args.c2 / len(X))
    print(f"{machine()}\n{len(X)} sentences, {problem.d} weights, {len(names)} labels, c2 = {args.c2:g}")
    print(f"Fenchel took the sentences in {time.perf_counter() - began:.1f} s")
    peer = crfsuite(items, words, args.c2, args.all, args.iterations)
    goal = peer[-1].objective
    runs = {"CRFsuite": peer}
    for threads in (1, 2):
        runs[f"Fenchel, threads={threads}"] = ours(problem, threads, goal, args.memory)
    print(f"CRFsuite's last objective: {goal:.4f} (iteration {len(peer)})\n")
    print("| distance | " + " | ".join(f"{name}: CPU s | wall s | passes" for name in runs) + " |")
    print("| --- " * (1 + 3 * len(runs)) + "|")
    for distance in DISTANCES:
        cells = [reached(marks, goal * (1.0 + distance)) for marks in runs.values()]
        print(f"| {distance:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
