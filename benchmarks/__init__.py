"""Peers and Fenchel side by side (`python -m benchmarks`), waiting times (`.latency`), a projection (`.projection`)."""

import sys
from pathlib import Path

# The random problems of `grid` are those of the tests, whose helpers import each other by their plain names.
sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
