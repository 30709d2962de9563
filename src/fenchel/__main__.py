"""`python -m fenchel` is the command `fenchel`."""

from fenchel.cli import main

raise SystemExit(main())
