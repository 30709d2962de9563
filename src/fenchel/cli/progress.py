"""A progress line on stderr with primal value, dual value, gap and time of a running solve."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from fenchel.compile.clock import CLOCK

if TYPE_CHECKING:
    from fenchel.solving.loop import State


class Progress:
    """A callback for solves, which prints only to a terminal.

    `with Progress(tol, quiet) as progress: solve(..., callback=progress)`.
    """

    def __init__(self, tol: float, quiet: bool):
        self.tol = tol
        self.shown = not quiet and sys.stderr.isatty()
        self.title = ""
        self.state: Any = None
        self.began = time.perf_counter()
        self._live: Any = None

    def __enter__(self) -> Progress:
        if self.shown:
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True)
            # A separate thread redraws the line, so that the time advances during a long iteration.
            self._live = Live(get_renderable=self._line, console=console, refresh_per_second=8, transient=True)
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, state: State) -> None:
        self.state = state

    def begin(self, title: str) -> None:
        """Note that a new solve begins."""
        self.title, self.state = title, None

    def _line(self) -> Any:
        from rich.text import Text

        return Text(self.text(), no_wrap=True, overflow="ellipsis")

    def text(self) -> str:
        """The current text of the line.

        >>> Progress(1e-6, quiet=True).text().endswith("starting")
        True
        """
        seconds = f"{time.perf_counter() - self.began:.1f} s"
        state = self.state
        if CLOCK.compiling():
            return f"{seconds}  {self.title}compiling {CLOCK.read().kernels + 1}, once on this machine for each kind of fit"
        if state is None:
            return f"{seconds}  {self.title}starting"
        relative = state.gap / abs(state.primal) if state.primal else state.gap
        # The most important numbers come first, because a narrow terminal truncates the line.
        return (
            f"{seconds}  {self.title}{state.solver} {state.iteration}  "
            f"primal {state.primal:.6g}  dual {state.dual:.6g}  gap {state.gap:.1e} "
            f"(relative {relative:.1e}, goal {self.tol:.0e})"
        )
