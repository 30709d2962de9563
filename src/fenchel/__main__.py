"""`python -m fenchel` is the command `fenchel`."""

from fenchel.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
