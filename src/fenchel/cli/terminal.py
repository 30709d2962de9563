"""Output to a terminal: text without control characters, on the right stream."""

from __future__ import annotations

import argparse
import difflib
import json
import logging
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn


def clean(text: object) -> str:
    """The text in one line, with control, formatting and undecodable characters written as escapes.

    >>> clean("a\\x1b[31mred\\nb \\u202e")
    'a\\\\x1b[31mred\\\\nb \\\\u202e'
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in str(text)
    )


def complain(message: object) -> None:
    """Print one line to stderr."""
    print(f"fenchel: {clean(message)}", file=sys.stderr)


def as_json(outcome: object) -> str:
    """The data as one line of JSON; numbers that are not finite become null, since JSON cannot represent them.

    >>> as_json({"gap": float("inf"), "labels": ["a", 1]})
    '{"gap": null, "labels": ["a", 1]}'
    """
    return json.dumps(_finite(outcome), allow_nan=False)


def _finite(value: object) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    if hasattr(value, "tolist"):  # numpy's numbers and arrays
        return _finite(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A text table without control characters; numbers are aligned right.

    >>> print(table(["name", "gap"], [["hinge", 0.5], ["log", 12]]))
    name   gap
    hinge  0.5
    log     12
    """
    rows = list(rows)
    numeric = [all(not isinstance(row[j], str) for row in rows) for j in range(len(header))]
    cells = [list(header), *([entry if isinstance(entry, str) else f"{entry:.4g}" for entry in row] for row in rows)]
    cells = [[clean(cell) for cell in row] for row in cells]
    widths = [max(len(row[j]) for row in cells) for j in range(len(header))]
    lines = [
        "  ".join(
            cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(row, widths, numeric, strict=True)
        )
        for row in cells
    ]
    return "\n".join(line.rstrip() for line in lines)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """A formatter that includes the indentation of commands when it measures their widths, so that help texts are aligned."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            longest = max(map(len, action.choices)) + self._current_indent + self._indent_increment
            self._action_max_length = max(self._action_max_length, longest)


class CleanParser(argparse.ArgumentParser):
    """An argument parser that cleans what it repeats of the command line, and keeps the lines of epilogs.

    Groups added by `add_rare_group` are shown by --help-all only, so that --help fits on a screen. --help-all also prints
    `long_epilog`.
    """

    def __init__(self, **options: Any):
        options.setdefault("formatter_class", _Formatter)
        super().__init__(allow_abbrev=False, **options)
        self._rare: list[Any] = []
        self.long_epilog = ""

    def error(self, message: str) -> NoReturn:
        super().error(clean(message))

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Report arguments that the command does not know, with its usage and the nearest option."""
        known = [option for option in self._option_string_actions if option.startswith("--")]
        near = difflib.get_close_matches(words[0].partition("=")[0], known, n=1)
        self.error(f"unrecognized arguments: {' '.join(words)}" + (f" (did you mean {near[0]}?)" if near else ""))

    def add_rare_group(self, title: str) -> Any:
        """A group of options that only --help-all shows."""
        if not self._rare:
            self.add_argument("--help-all", action=_HelpAll, nargs=0, help="show all options and details")
        self._rare.append(self.add_argument_group(title))
        return self._rare[-1]

    def format_help(self, everything: bool = False) -> str:
        """The text of --help, or of --help-all."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for group in self._action_groups:
            if everything or group not in self._rare:
                formatter.start_section(group.title)
                formatter.add_text(group.description)
                formatter.add_arguments(group._group_actions)
                formatter.end_section()
        formatter.add_text(self.long_epilog if everything else None)
        formatter.add_text(self.epilog)
        return formatter.format_help()


class _HelpAll(argparse.Action):
    def __call__(self, parser: Any, *rest: Any) -> None:
        print(parser.format_help(everything=True), end="")
        parser.exit()


class _CleanLines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        complain(f"{record.levelname.lower()}: {record.getMessage()}")


@contextmanager
def log_to_stderr() -> Iterator[None]:
    """Print the library's warnings while a command runs, one cleaned line each."""
    log, handler = logging.getLogger("fenchel"), _CleanLines(logging.WARNING)
    propagate = log.propagate
    log.addHandler(handler)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = propagate
