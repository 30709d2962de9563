"""Accelerated proximal gradient: the solver and its settings."""
