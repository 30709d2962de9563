"""The directive `program-help`: what `fenchel --help-all` prints, from the program itself."""

from __future__ import annotations

import contextlib
import io
import os
from typing import Any
from unittest import mock

from docutils import nodes
from docutils.parsers.rst import Directive

from fenchel.cli import main


def help_text(*words: str) -> str:
    """What `fenchel WORDS --help-all` prints, or --help where that is all, 100 columns wide."""
    out = io.StringIO()
    with mock.patch.dict(os.environ, {"COLUMNS": "100"}), contextlib.redirect_stdout(out):
        main([*words, "--help"])
        if "--help-all" in out.getvalue():
            out.seek(0), out.truncate()
            main([*words, "--help-all"])
    return out.getvalue()


class ProgramHelp(Directive):
    """`.. program-help:: [COMMAND]`."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """A literal block."""
        text = help_text(*self.arguments)
        return [nodes.literal_block(text, text, language="none")]


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_directive("program-help", ProgramHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
