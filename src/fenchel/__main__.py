"""`python -m fenchel` runs the command `fenchel`."""

from fenchel.cli import main

raise SystemExit(main())
