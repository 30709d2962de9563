"""Samples of the rows on which the Newton solvers find a starting point."""
