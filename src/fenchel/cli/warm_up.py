"""`fenchel warm-up`: compile the kernels of common fits once, with progress."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fenchel.cli.terminal import as_json

if TYPE_CHECKING:
    from fenchel.cli.terminal import CleanParser


def configure(parser: CleanParser) -> None:
    """Add the options of the command."""
    parser.epilog = (
        "Kernels are compiled once for each machine and version, and kept in the folder $FENCHEL_CACHE_DIR (default:\n"
        "$XDG_CACHE_HOME/fenchel or ~/.cache/fenchel). A wheel may bring those of common fits along.\n\n"
        "exit status: 0 done, 1 error, 2 wrong usage\n\n"
        "example: fenchel warm-up --only logistic hinge"
    )
    parser.add_argument("--only", nargs="+", metavar="FIT", help="these fits only (--list names them)")
    parser.add_argument("--list", action="store_true", help="print the names of the fits, and do nothing")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")


def run(arguments: Namespace) -> int:
    """Make the fits and say what was compiled."""
    from fenchel.compile.clock import CLOCK
    from fenchel.errors import UnknownNameError
    from fenchel.estimators.common_fits import common_fits, warm_up

    names = list(common_fits())
    for name in arguments.only or ():
        if name not in names:
            raise UnknownNameError("fit", name, names)
    if arguments.list:
        print("\n".join(names))
        return 0
    chosen = [name for name in names if arguments.only is None or name in arguments.only]
    began, before = time.perf_counter(), CLOCK.read()
    with _line(chosen, shown=not (arguments.quiet or arguments.json) and sys.stderr.isatty()) as begin:
        warm_up(chosen, begin)
    kernels, seconds = CLOCK.read().kernels - before.kernels, CLOCK.read().seconds - before.seconds
    if arguments.json:
        print(as_json({"fits": chosen, "kernels": kernels, "compile_seconds": seconds}))
    elif not arguments.quiet:
        whole = time.perf_counter() - began
        print(f"{len(chosen)} kinds of fit are ready: {kernels} kernels compiled, {whole:.1f} s")
    return 0


@contextmanager
def _line(chosen: list[str], shown: bool) -> Iterator[Callable[[str], None]]:
    """A line on the terminal that says which fit and which kernel it is at; yields the function that begins a fit."""
    from fenchel.compile.clock import CLOCK

    here = ""

    def write(text: str) -> None:
        if shown:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def begin(name: str) -> None:
        nonlocal here
        here = f"{chosen.index(name) + 1} of {len(chosen)}  {name}"
        write(here)

    def watch(kernel: str) -> None:
        write(f"{here}  compiling {kernel.rpartition('.')[2]}")

    CLOCK.watchers.append(watch)
    try:
        yield begin
    finally:
        CLOCK.watchers.remove(watch)
        write("")
