"""The one place where commands meet `fenchel.report`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def check_report(path: str | None) -> None:
    """Complain before the work rather than after it, if the page could not be written."""
    if path is not None:
        from fenchel.whole_file import check_writable

        check_writable(path)


def write_report(path: str, results: Sequence[Any], title: str) -> None:
    """A page about Results."""
    from fenchel.report import write_page

    write_page(path, list(results), title=title)
