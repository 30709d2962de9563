"""The directive `row-way`: a picture, drawn from the table of layers, of what happens to a row of data."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from layers import LAYER

# The parts that a row passes, what happens there, and what leaves: (part, what, what goes on)
STATIONS = [
    ("readers", "a file is parsed, or an array validated", "rows, dense or CSR"),
    ("problems", "loss, regularizer and weights are added; all is validated once", "an immutable problem"),
    ("engines", "rows are divided into blocks, which stay where they are", "blocks"),
    ("oracles", "an operation of a solver becomes a sum over blocks", "one pass over the data"),
    ("kernels", "the row is read once: score, loss, slope, gradient", "d + 1 numbers per block"),
    ("solvers", "the next iterate", "w, b, dual variables"),
    ("solving", "stops on gap, time, iterations", "the best iterate"),
    ("certificates", "P and D are recomputed from the definitions", "status and certificate"),
    ("models", "a model predicts, is saved and loaded", "model file, report, estimator"),
]
WIDTH, HEIGHT, STEP, LEFT = 720, 40, 62, 20


def svg() -> str:
    """The picture.

    >>> svg().count("<rect") == len(STATIONS) and svg().startswith("<svg")
    True
    """
    tall = STEP * len(STATIONS)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall}" role="img" '
        'aria-label="The parts of the package that a row of data passes, from top to bottom" '
        'style="max-width: 100%; font: 13px sans-serif; fill: currentColor">'
    ]
    for k, (part, what, leaves) in enumerate(STATIONS):
        y, middle = k * STEP + 2, k * STEP + 2 + HEIGHT / 2
        lines.append(
            f'<rect x="{LEFT}" y="{y}" width="{WIDTH - 2 * LEFT}" height="{HEIGHT}" rx="6" fill="none" stroke="currentColor"/>'
            f'<text x="{LEFT + 12}" y="{middle + 4}" font-weight="bold">{part}/</text>'
            f'<text x="{LEFT + 130}" y="{middle + 4}">{what}</text>'
            f'<text x="{WIDTH - LEFT - 12}" y="{middle + 4}" text-anchor="end">layer {LAYER[part]}</text>'
        )
        if k + 1 < len(STATIONS):
            lines.append(
                f'<path d="M {LEFT + 60} {y + HEIGHT} v {STEP - HEIGHT - 8} l -4 -6 m 4 6 l 4 -6" fill="none" '
                f'stroke="currentColor"/><text x="{LEFT + 76}" y="{y + HEIGHT + 15}" font-size="12">{leaves}</text>'
            )
    return "\n".join([*lines, "</svg>"])


class RowWay(Directive):
    """`.. row-way::`, the picture in the page."""

    def run(self) -> list[nodes.Node]:
        """As HTML."""
        return [nodes.raw("", svg(), format="html")]


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_directive("row-way", RowWay)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
