"""What the experiments share: the command line, break-even points, tables and plots."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

OUT = Path(__file__).resolve().parent / "out"

CACHED: dict[str, Any] = {"action": "store_true", "help": "keep what an earlier run has left in the output folder"}


def arguments(description: str | None, **options: dict[str, Any]) -> argparse.ArgumentParser:
    """A parser with --small and --out, and what an experiment adds."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="generated data, seconds instead of minutes")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for the table and the plot")
    for name, settings in options.items():
        parser.add_argument("--" + name.replace("_", "-"), **settings)
    return parser


class Kept(dict[str, Any]):
    """What an experiment has found, by name, kept in the output folder; with --cached, what an earlier run left there."""

    def __init__(self, args: argparse.Namespace, name: str):
        args.out.mkdir(parents=True, exist_ok=True)
        self.file = args.out / f"{name}.json"
        super().__init__(json.loads(self.file.read_text()) if args.cached and self.file.is_file() else {})

    def write(self) -> None:
        """Keep what there is so far."""
        self.file.write_text(json.dumps(self, indent=1))


# ------------------------------------------------------------------------------------------------- break-even point


class BreakEven(NamedTuple):
    """Documents found and documents there, when as many are called positive as there are: found / there is both
    precision and recall."""

    found: float
    there: int

    @property
    def value(self) -> float:
        return self.found / self.there if self.there else float("nan")


def break_even(scores: Any, positive: Any) -> BreakEven:
    """The point at which precision = recall: the threshold that calls as many positive as there are.

    Where the threshold falls among equal scores, a share of them is called positive: the mean over their orders.

    >>> break_even([3.0, 2.0, 1.0, 0.0], [True, False, True, False]).value
    0.5
    >>> break_even([1.0, 1.0, 1.0, 1.0], [True, False, False, False]).value
    0.25
    """
    scores, positive = np.asarray(scores, dtype=float), np.asarray(positive, dtype=bool)
    there = int(positive.sum())
    if there == 0:
        return BreakEven(0.0, 0)
    threshold = np.partition(scores, scores.size - there)[scores.size - there]
    above, level = scores > threshold, scores == threshold
    share = (there - above.sum()) / level.sum()
    return BreakEven(float(positive[above].sum() + share * positive[level].sum()), there)


def micro_average(points: Iterable[BreakEven]) -> float:
    """sum found / sum there: precision and recall of the summed confusion matrices.

    >>> micro_average([BreakEven(1.0, 2), BreakEven(0.0, 0), BreakEven(6.0, 6)])
    0.875
    """
    points = list(points)
    return sum(p.found for p in points) / sum(p.there for p in points)


# --------------------------------------------------------------------------------------------------- tables and plots


def markdown(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A markdown table; None is a dash, floats have as many digits as say something.

    >>> print(markdown(["solver", "gap"], [["Bundle", 1.25e-7], ["none", None]]))
    | solver | gap |
    | --- | --- |
    | Bundle | 1.25e-07 |
    | none | - |
    """
    lines = [list(header), ["---"] * len(header), *([show(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def show(cell: Any) -> str:
    if cell is None or (isinstance(cell, float) and np.isnan(cell)):
        return "-"
    return f"{cell:.4g}" if isinstance(cell, (float, np.floating)) else str(cell)


def spread(values: Sequence[float]) -> str:
    """mean ± standard deviation.

    >>> spread([1.0, 3.0])
    '2.0 ± 1.0'
    """
    return f"{np.mean(values):.1f} ± {np.std(values):.1f}" if len(values) > 1 else f"{np.mean(values):.1f}"


def write(out: Path, name: str, text: str) -> Path:
    """The table, also on the screen."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.md"
    path.write_text(text.rstrip() + "\n", encoding="utf-8")
    print(text.rstrip() + "\n")
    return path


class Curve(NamedTuple):
    """One line of a plot."""

    label: str
    x: Any
    y: Any


class Panel(NamedTuple):
    """One pair of axes."""

    title: str
    curves: Sequence[Curve]
    xlabel: str = ""
    ylabel: str = ""
    log: str = ""  # "x", "y" or "xy"


def plot(out: Path, name: str, panels: Sequence[Panel], columns: int = 3) -> Path:
    """Panels side by side, as PNG; needs matplotlib (`pip install 'fenchel[experiments]'`)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(5.2 * columns, 3.9 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    for place, panel in enumerate(panels):
        draw(figure.add_subplot(rows, columns, place + 1), panel)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.png"
    figure.savefig(path, dpi=110)
    print(f"wrote {path}")
    return path


def draw(axes: Any, panel: Panel) -> None:
    """Every solver keeps its colour and mark over all panels of a figure, because the curves keep their order."""
    marks = "os^vDP*X<>"
    for k, curve in enumerate(panel.curves):
        x, y = np.asarray(curve.x, dtype=float), np.asarray(curve.y, dtype=float)
        keep = np.isfinite(y) & np.isfinite(x)
        keep &= (y > 0.0) | ("y" not in panel.log)
        keep &= (x > 0.0) | ("x" not in panel.log)
        if keep.any():
            mark = marks[k % len(marks)] if keep.sum() < 40 else None
            axes.plot(
                x[keep], y[keep], color=f"C{k % 10}", marker=mark, markersize=3.5, linewidth=1.2, label=curve.label
            )
    axes.set(title=panel.title, xlabel=panel.xlabel, ylabel=panel.ylabel)
    if axes.lines:
        axes.set_xscale("log" if "x" in panel.log else "linear")
        axes.set_yscale("log" if "y" in panel.log else "linear")
        axes.legend(fontsize=7)
    axes.grid(alpha=0.3)


# -------------------------------------------------------------------------------------------------------------- runs


class History:
    """A callback that remembers, for every iteration, what `measure` says of the coefficients, and when.

    The clock stands still while `measure` works.
    """

    def __init__(self, measure: Callable[[np.ndarray, float], float], rarely: bool = False):
        self.measure, self.rarely = measure, rarely
        self.iterations: list[int] = []
        self.seconds: list[float] = []
        self.values: list[float] = []
        self.seconds_with_pauses: list[float] = [0.0]
        self.pauses: list[float] = [0.0]  # seconds spent measuring until then
        self.due = 0

    def __call__(self, state: Any) -> bool:
        if self.rarely and state.iteration < self.due:
            return False
        self.due = state.iteration + 1 + state.iteration // 20
        began = time.perf_counter()
        self.iterations.append(state.iteration)
        self.seconds.append(state.seconds - self.pauses[-1])
        self.values.append(self.measure(state.coef, state.intercept))
        spent = time.perf_counter() - began
        # twice: the pause is a jump, not a slope
        self.seconds_with_pauses += [state.seconds, state.seconds + spent]
        self.pauses += [self.pauses[-1], self.pauses[-1] + spent]
        return False


def running_best(values: Sequence[float]) -> np.ndarray:
    """min over t' <= t.

    >>> running_best([3.0, 4.0, 1.0]).tolist()
    [3.0, 3.0, 1.0]
    """
    return np.minimum.accumulate(np.asarray(values, dtype=float))
