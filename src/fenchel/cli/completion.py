"""fenchel completion bash|zsh|fish"""

from __future__ import annotations

from argparse import Namespace

from fenchel.cli.terminal import CleanParser

SHELLS = ("bash", "zsh", "fish")
EPILOG = """\
Prints a script that completes commands and options. Where shells look for it:
    bash  fenchel completion bash > ~/.local/share/bash-completion/completions/fenchel
    zsh   fenchel completion zsh > ~/.zfunc/_fenchel      (with fpath+=~/.zfunc before compinit in ~/.zshrc)
    fish  fenchel completion fish > ~/.config/fish/completions/fenchel.fish

exit status: 0 done, 1 error, 2 wrong usage

example: eval "$(fenchel completion bash)"
"""


def configure(parser: CleanParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.add_argument("shell", choices=SHELLS, help="which shell")


def run(arguments: Namespace) -> int:
    """Print the script."""
    import shtab

    from fenchel.cli import full_parser

    print(shtab.complete(full_parser(), arguments.shell))
    return 0
