"""Dual augmented Lagrangian for the free intercept."""
