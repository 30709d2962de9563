"""Peers and Fenchel side by side on the same data to the same true suboptimality.

python -m benchmarks [--tasks a9a hinge-news] [--peers liblinear cyanure] [--alphas 0.1 1 10] [--repeat 5] [--out FOLDER]

Every measurement goes to FOLDER/measurements.json and, if matplotlib is installed, into FOLDER/time-to-accuracy.png.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import memory, plot, table
from benchmarks.entrants import ENTRANTS, Entrant, Fenchel
from benchmarks.measure import Outcome, measure, reference
from benchmarks.tasks import TASKS, Spec, select

PACKAGES = (
    "fenchel", "numpy", "scipy", "numba", "scikit-learn", "liblinear-official", "cyanure", "rehline", "skglm", "celer",
    "glum", "snapml",
)  # fmt: skip


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", nargs="*", help=f"parts of task names; tasks: {', '.join(TASKS)}")
    parser.add_argument("--peers", nargs="*", help="parts of peer names; default: all that are installed")
    parser.add_argument("--repeat", type=int, default=5, help="rounds; a time is the least of them (default 5)")
    parser.add_argument(
        "--limit", type=float, default=20.0, help="seconds after which a peer is asked for no more digits"
    )
    parser.add_argument("--reference-limit", type=float, default=120.0, help="seconds for the run that finds P*")
    parser.add_argument("--no-memory", action="store_true", help="leave out the memory columns")
    parser.add_argument(
        "--alphas", nargs="*", type=float, default=[1.0], help="factors of each task's alpha (default 1)"
    )
    parser.add_argument("--out", default="benchmarks/out", help="folder for the measurements and the plot")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every run of the first round")
    return parser.parse_args(argv)


def take_part(patterns: list[str] | None) -> list[Entrant]:
    """Fenchel and the peers asked for; a peer that is not installed is named and left out."""
    chosen = [e for e in ENTRANTS if e is Fenchel or not patterns or any(p in e.name for p in patterns)]
    missing = sorted({e.module for e in chosen if not e.installed()})
    if missing:
        print(f"not installed, left out: {', '.join(missing)} (pip install 'fenchel[bench]')", file=sys.stderr)
    return [e() for e in chosen if e.installed()]


def versions() -> str:
    def one(package: str) -> str:
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            return f"{package} missing"

    return ", ".join(map(one, PACKAGES))


def measure_memory(spec: Spec, outcome: Outcome, entrants: list[Entrant]) -> dict[tuple[str, str, float], float]:
    """For the cells that stand in the table only."""
    by_name = {e.name: e for e in entrants}
    found = {}
    for target in outcome.targets:
        for cell in (outcome.fastest_peer(target), outcome.fenchel(target)):
            if cell is not None and (key := (outcome.task.name, cell.entrant, cell.tol)) not in found:
                found[key] = memory.peak_growth(spec, by_name[cell.entrant], cell.tol)
    return found


def main(argv: list[str] | None = None) -> None:
    options = arguments(argv)
    entrants = take_part(options.peers)
    print(f"{table.machine()}\n{versions()}")
    print("ratio: Fenchel's time, certificate included, to the fastest peer's; cpu ratio: the same in processor time")
    if not options.no_memory:
        print(f"MB: growth of resident memory during one fit ({memory.method()})")
    say = print if options.verbose else lambda line: None
    found: list[dict] = []
    outcomes, notes = [], []
    for spec in select(options.tasks, tuple(options.alphas)):
        task = spec.load()
        known = reference(task, options.reference_limit)
        outcome = measure(task, entrants, options.repeat, options.limit, known, say)
        grown = {} if options.no_memory else measure_memory(spec, outcome, entrants)
        rows = table.rows(outcome, grown)
        found += rows
        outcomes.append(outcome)
        notes.append(table.about_reference(outcome))
        notes += [f"{task.name}: {c.entrant} at {c.tol:g} failed: {c.error}" for c in outcome.cells if c.error]
        print(table.text(rows, header=len(outcomes) == 1), flush=True)
        write(Path(options.out), found, outcomes)
    print(f"\n{table.text(found)}\n{table.summary(found)}\n\n" + "\n".join(notes))
    plot.draw(Path(options.out) / "time-to-accuracy.png", [table.as_data(outcome) for outcome in outcomes])


def write(folder: Path, found: list[dict], outcomes: list[Outcome]) -> None:
    """Every measurement so far, so that a run that is cut off is not lost."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"machine": table.machine(), "versions": versions(), "rows": found}
    content["tasks"] = [table.as_data(outcome) for outcome in outcomes]
    (folder / "measurements.json").write_text(json.dumps(content, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
