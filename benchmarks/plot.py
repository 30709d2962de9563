"""Time against true suboptimality, one panel per task."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

COLUMNS = 4
LEAST = 1e-12  # what is plotted for an answer that nobody beat


def draw(path: Path, tasks: list[dict[str, Any]]) -> None:
    """One line per entrant through its tolerances; Fenchel's points are certified."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no plot: matplotlib is not installed (pip install 'fenchel[experiments]')", file=sys.stderr)
        return
    rows = math.ceil(len(tasks) / COLUMNS)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(4.2 * COLUMNS, 3.2 * rows), squeeze=False)
    names = sorted({cell["entrant"] for task in tasks for cell in task["cells"]})
    styles = {name: (f"C{k % 10}", "osv^Dx+"[k % 7]) for k, name in enumerate(names)}
    for axis, task in zip(axes.flat, tasks, strict=False):
        for name in names:
            points = sorted(
                (min(c["seconds"]), max(c["suboptimality"], LEAST))
                for c in task["cells"]
                if c["entrant"] == name and c["seconds"] and c["suboptimality"] is not None
            )
            if points:
                colour, marker = styles[name]
                width = 2.5 if name == "fenchel" else 1.0
                axis.loglog(*zip(*points, strict=True), marker=marker, ms=4, color=colour, lw=width, label=name)
        axis.set_title(f"{task['task']}, alpha {task['alpha']:g}", fontsize=9)
        axis.set_xlabel("seconds", fontsize=8)
        axis.set_ylabel("(P - P*) / P*", fontsize=8)
        axis.legend(fontsize=6)
    for axis in axes.flat[len(tasks) :]:
        axis.set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(f"plot: {path}")
