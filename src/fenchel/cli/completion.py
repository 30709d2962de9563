"""fenchel completion bash|zsh|fish"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, _SubParsersAction
from typing import TYPE_CHECKING

from fenchel.cli.terminal import CleanParser

if TYPE_CHECKING:
    from collections.abc import Sequence

SHELLS = ("bash", "zsh", "fish")
PLACES = ("DATA", "MODEL", "OUT", "FILE", "DIR")  # metavars of options and arguments that are file names
EPILOG = """\
Prints a script that completes commands and options. Where shells load it from:
    bash  fenchel completion bash > ~/.local/share/bash-completion/completions/fenchel
    zsh   fenchel completion zsh > ~/.zfunc/_fenchel      (with fpath+=~/.zfunc before compinit in ~/.zshrc)
    fish  fenchel completion fish > ~/.config/fish/completions/fenchel.fish

exit status: 0 done, 1 error, 2 wrong usage

example: eval "$(fenchel completion bash)"
"""


def configure(parser: CleanParser) -> None:
    """Add the options."""
    parser.epilog = EPILOG
    parser.add_argument("shell", choices=SHELLS, help="which shell")


def run(arguments: Namespace) -> int:
    """Print the script."""
    import shtab

    from fenchel.cli import full_parser

    parser = full_parser()
    _mark_files(parser, shtab.FILE)
    print(shtab.complete(parser, arguments.shell))
    return 0


def _mark_files(parser: ArgumentParser, files: Sequence[str]) -> None:
    """Complete file names for arguments that are files."""
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for command in action.choices.values():
                _mark_files(command, files)
        elif action.metavar in PLACES:
            action.complete = files  # type: ignore[attr-defined]
