"""Peers and Fenchel side by side (`python -m benchmarks`), waiting times (`.latency`), a projection (`.projection`)."""
