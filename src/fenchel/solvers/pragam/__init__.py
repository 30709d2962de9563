"""Pragam, the excessive gap technique: the solver, its state for losses of rows and for marginals."""
