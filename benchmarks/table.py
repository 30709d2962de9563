"""The table of ratios, as text, and the same as data."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from joblib import cpu_count

from benchmarks.measure import Cell, Outcome

COLUMNS = (
    "task", "alpha", "target", "fastest peer", "(its tol)", "peer ms", "fenchel ms", "ratio", "cpu ratio",
    "peer MB", "fenchel MB",
)  # fmt: skip
LEAST = (34, 6, 6, 24, 9, 9, 10, 5, 9, 7, 10)  # widths, so that tasks printed one by one stand in line
Memory = Mapping[tuple[str, str, float], float]


def rows(outcome: Outcome, memory: Memory) -> list[dict[str, Any]]:
    """One row per target."""
    found = []
    for target in outcome.targets:
        peer, ours = outcome.fastest_peer(target), outcome.fenchel(target)
        found.append({
            "task": outcome.task.name, "alpha": outcome.task.alpha, "target": target,
            "peer": peer.entrant if peer else None, "peer_tol": peer.tol if peer else None,
            "peer_seconds": peer.time if peer else None, "fenchel_seconds": ours.time if ours else None,
            "ratio": ours.time / peer.time if ours and peer else None,
            "cpu_ratio": ours.cpu_time / peer.cpu_time if ours and peer and ours.cpu and peer.cpu else None,
            "peer_bytes": growth(memory, outcome, peer), "fenchel_bytes": growth(memory, outcome, ours),
        })  # fmt: skip
    return found


def growth(memory: Memory, outcome: Outcome, cell: Cell | None) -> float | None:
    value = memory.get((outcome.task.name, cell.entrant, cell.tol)) if cell else None
    return None if value is None or math.isnan(value) else value


def text(found: Sequence[Mapping[str, Any]], header: bool = True) -> str:
    """Columns of equal width; a dash where nothing was measured or the target was not reached."""
    lines = [*([COLUMNS] if header else []), *(cells(row) for row in found)]
    widths = [max([LEAST[k], *(len(line[k]) for line in lines)]) for k in range(len(COLUMNS))]
    return "\n".join("  ".join(map(pad, line, widths, range(len(line)))) for line in lines)


def pad(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if COLUMNS[column] in ("task", "fastest peer") else cell.rjust(width)


def cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    def show(value: float | None, form: str, scale: float = 1.0) -> str:
        return "-" if value is None else format(scale * value, form)

    return (
        row["task"], show(row["alpha"], "g"), show(row["target"], "g"), row["peer"] or "-", show(row["peer_tol"], "g"),
        show(row["peer_seconds"], ".1f", 1e3), show(row["fenchel_seconds"], ".1f", 1e3), show(row["ratio"], ".2f"),
        show(row["cpu_ratio"], ".2f"), show(row["peer_bytes"], ".1f", 1e-6), show(row["fenchel_bytes"], ".1f", 1e-6),
    )  # fmt: skip


def summary(found: Sequence[Mapping[str, Any]]) -> str:
    """Geometric mean and worst ratio per target."""
    lines = []
    for target in sorted({row["target"] for row in found}, reverse=True):
        here = [row for row in found if row["target"] == target]
        ratios = [row["ratio"] for row in here if row["ratio"] is not None]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            count = f"{len(ratios)} of {len(here)} tasks"
            lines.append(f"{target:g}: geometric mean of ratios {mean:.2f}, worst {max(ratios):.2f}, {count}")
    return "\n".join(lines)


def about_reference(outcome: Outcome) -> str:
    """How well P* is known."""
    best, known = outcome.best, outcome.reference
    if known is None:
        return f"{outcome.task.name}: P* = {best:.12g} (least P seen; no reference run)"
    error = (best - known.dual) / abs(best)
    return (
        f"{outcome.task.name}: P* = {best:.12g}, at most {error:.1e} (relative) above the true optimum by the bound of "
        f"a reference run that ended {known.status} after {known.seconds:.1f} s"
    )


def machine() -> str:
    load = f", load {os.getloadavg()[0]:.2f} when started" if hasattr(os, "getloadavg") else ""
    return f"{platform.machine()}, {cpu_count()} cores{load}, Python {platform.python_version()}"


def as_data(outcome: Outcome) -> dict[str, Any]:
    """Every cell of a task with its true suboptimality, for plots."""
    best, known = outcome.best, outcome.reference
    return {
        "task": outcome.task.name, "alpha": outcome.task.alpha, "shape": outcome.task.X.shape, "best": best,
        "reference": known._asdict() if known else None,
        "cells": [
            {**asdict(c), "suboptimality": None if math.isinf(gap := c.suboptimality(best)) else gap}
            for c in outcome.cells
        ],
    }  # fmt: skip
