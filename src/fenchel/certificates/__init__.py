"""Duality-gap certificates, recomputed from the definitions with loops of their own.

One module for each family of losses; `assemble` puts the parts together, and `independent` is a second implementation in plain
Python. May import problems and their components (losses, regularizers, data), but no oracle, engine or solver.
"""
