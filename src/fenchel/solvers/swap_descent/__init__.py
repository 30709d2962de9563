"""Coordinate descent with swaps, for penalties that are not convex."""
