"""What may reach a terminal: text without control characters, on the right stream."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


def clean(text: Any) -> str:
    """The text in one line, with every control, formatting or undecodable character written as an escape.

    >>> clean("a\\x1b[31mred\\nb \\u202e")
    'a\\\\x1b[31mred\\\\nb \\\\u202e'
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in str(text)
    )


def complain(message: Any) -> None:
    """One line on stderr."""
    print(f"fenchel: {clean(message)}", file=sys.stderr)


class CleanParser(argparse.ArgumentParser):
    """argparse, but what it repeats of the command line cannot steer the terminal; epilogs keep their lines."""

    def __init__(self, **options: Any):
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        super().error(clean(message))


class _CleanLines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        complain(f"{record.levelname.lower()}: {record.getMessage()}")


@contextmanager
def log_to_stderr() -> Iterator[None]:
    """Warnings of the library, one clean line each, while a command runs."""
    log, handler = logging.getLogger("fenchel"), _CleanLines(logging.WARNING)
    propagate = log.propagate
    log.addHandler(handler)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = propagate
